# tools/dev kernels [VERSION]...: record under Debian's kernels 5.10, 6.1 and 6.12 in QEMU, without KVM
#
# Builds, downloads Debian's kernel packages once (into build/kernels), boots each, runs
# `vesta record` on a program that knows its own shares, and judges the profile. --probe boots
# without vesta and says what the kernel can do.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

install_packages "$VESTA_ROOT/tools/packages-kernels.txt"
dev build vesta programs
exec /usr/bin/python3 "$VESTA_ROOT/test/kernels/run.py" "$@"
