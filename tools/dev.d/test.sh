# tools/dev test [quick|page]: build and run all tests
#
# The last line is "N passed, N failed, N skipped"; each failure and each skip says why above it.
# The exit status is 0 only when nothing failed and something passed.
# quick: lint and unit tests only, no root needed. page: only unit tests of ui/, without a build.
# Without either also: replay of the fuzz corpora, end-to-end tests on the real binary, the same unit
# tests under ASan and UBSan, ten seconds of each fuzzer, and the threads' tests under TSan. Reports
# stay in build/test-results/.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

case ${1:-} in
  '' | quick | page) ;;
  *) die "test takes 'quick', 'page' or nothing, not '$1'" ;;
esac
dev deps test
exec /usr/bin/python3 "$VESTA_ROOT/tools/dev.d/lib/run_tests.py" "$@"
