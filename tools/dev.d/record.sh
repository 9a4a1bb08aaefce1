# tools/dev record [ARGUMENTS]: build, then record the whole machine for ten seconds
#
# Prints the functions that used the most CPU. ARGUMENTS go to `vesta record` instead of
# --duration 10s, for example: tools/dev record --duration 30s -o cpu.pb.gz
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

dev build
[ $# -gt 0 ] || set -- --duration 10s
say "build/vesta record $*"
exec build/vesta record "$@"
