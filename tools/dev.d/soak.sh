# tools/dev soak [NAME] [ARGUMENTS]: run a long test; without NAME, list them
#
# For what takes longer than `tools/dev test` may: kill loops, days of load, long fuzzing.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

[ $# -eq 0 ] || { dev deps test; dev build all; }
run_named test/soak soak "$@"
