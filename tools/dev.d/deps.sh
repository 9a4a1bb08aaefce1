# tools/dev deps [test]: install the Debian packages that are missing
#
# Reads tools/packages.txt; with "test" also tools/packages-test.txt. What Debian does not have comes
# into ~/.cache/vesta: the library of DuckDB, with "test" also playwright, speedscope,
# schemathesis, Python's duckdb, OpenTelemetry's messages and, where Go is new enough, its Collector.
# Quick when all are there. Installing needs root. Services of installed packages are not
# started.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"
. "$VESTA_ROOT/tools/dev.d/lib/duckdb.sh"

lists=("$VESTA_ROOT/tools/packages.txt")
[ "${1:-}" != test ] || lists+=("$VESTA_ROOT/tools/packages-test.txt")
install_packages "${lists[@]}"
install_duckdb_library
if [ "${1:-}" = test ]; then
  . "$VESTA_ROOT/tools/dev.d/lib/page_tools.sh"
  install_page_tools
  . "$VESTA_ROOT/tools/dev.d/lib/store_tools.sh"
  install_store_tools
  . "$VESTA_ROOT/tools/dev.d/lib/api_tools.sh"
  install_api_tools
  . "$VESTA_ROOT/tools/dev.d/lib/otlp_tools.sh"
  install_otlp_tools
  install_collector
fi
