# Sourced by deps.sh: what the test of the HTTP API needs that is no Debian package: schemathesis. As
# page_tools.sh.
. "$VESTA_ROOT/tools/dev.d/lib/python_modules.sh"

api_tools=${XDG_CACHE_HOME:-$HOME/.cache}/vesta/api-tools

install_schemathesis() {
  say "installing schemathesis into $api_tools"
  install_python_modules "$VESTA_ROOT/tools/api-tests.txt" "$1"
}

install_api_tools() {
  local version
  version=$(sha256sum "$VESTA_ROOT/tools/api-tests.txt" | cut -c1-12)
  in_new_folder "$api_tools/python-$version" install_schemathesis ||
    die "could not install schemathesis (tools/api-tests.txt) from PyPI"
  # What the tests read: without knowing versions.
  ln -sfnT "python-$version/modules" "$api_tools/python"
}
