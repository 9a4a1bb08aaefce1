# tools/dev gen: write the files that are made from the sources: docs/config.md
#
# A unit test fails when they are not up to date.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

dev build
build/vesta help --markdown >docs/config.md
