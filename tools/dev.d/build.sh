# tools/dev build [TARGET...]: build vesta; the binary is build/vesta
#
# Installs missing packages first. TARGET: names for ninja, such as base_test; all builds the tests
# as well.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

dev deps
configure dev build
[ $# -gt 0 ] || set -- vesta
say "building $*"
NINJA_STATUS='[%f/%t %es] ' ninja -C build "$@"
