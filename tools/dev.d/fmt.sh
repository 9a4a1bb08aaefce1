# tools/dev fmt: format the C++ files that differ from HEAD, or all with --all
#
# Uses clang-format 19 and the .clang-format of the tree.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

install_packages "$VESTA_ROOT/tools/packages-test.txt"
exec /usr/bin/python3 "$VESTA_ROOT/tools/lint/format.py" --fix "$@"
