# tools/dev lint: check the layers, the format and the house rules; part of `test`
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

dev deps test
exec /usr/bin/python3 "$VESTA_ROOT/tools/dev.d/lib/run_tests.py" lint
