# tools/dev deps [test]: install the Debian packages that are missing
#
# Reads tools/packages.txt; with "test" also tools/packages-test.txt. Quick when all are there.
# Installing needs root. Services of installed packages are not started.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

lists=("$VESTA_ROOT/tools/packages.txt")
[ "${1:-}" != test ] || lists+=("$VESTA_ROOT/tools/packages-test.txt")
install_packages "${lists[@]}"
