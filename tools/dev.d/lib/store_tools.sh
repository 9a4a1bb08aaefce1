# Sourced by deps.sh: what the store's tests need that is no Debian package: DuckDB for Python, which
# must be able to read our files. As page_tools.sh.
. "$VESTA_ROOT/tools/dev.d/lib/python_modules.sh"

store_tools=${XDG_CACHE_HOME:-$HOME/.cache}/vesta/store-tools

install_duckdb_module() {
  say "installing Python's duckdb into $store_tools"
  install_python_modules "$VESTA_ROOT/tools/store-tests.txt" "$1"
}

install_store_tools() {
  local version
  version=$(sha256sum "$VESTA_ROOT/tools/store-tests.txt" | cut -c1-12)
  in_new_folder "$store_tools/python-$version" install_duckdb_module ||
    die "could not install duckdb (tools/store-tests.txt) from PyPI"
  # What the tests read: without knowing versions.
  ln -sfnT "python-$version/modules" "$store_tools/python"
}
