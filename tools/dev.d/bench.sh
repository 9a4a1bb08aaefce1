# tools/dev bench [NAME] [ARGUMENTS]: measure; without NAME, list what can be measured
#
# Builds first. Each bench prints a table and writes JSON; see the file bench/NAME itself.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

[ $# -eq 0 ] || { dev deps test; dev build all; }
run_named bench bench "$@"
