# Sourced by deps.sh: tools of the page's tests that are no Debian packages. They go to a cache
# folder outside of the tree, named by their versions, so that they are downloaded once only.
. "$VESTA_ROOT/tools/dev.d/lib/python_modules.sh"

page_tools=${XDG_CACHE_HOME:-$HOME/.cache}/vesta/page-tools
# npm package, version, and the hash of its archive as npm's registry states it.
speedscope=speedscope@1.25.0
speedscope_sha512=cpf9HWTZf1ijLXBJrk87Ve/54tnYx6rlf0gUThvn3ook6h63hLXVOQiMf44PT+XoV503cPfvfiT5gP5vojp6Ag==

install_playwright() {
  say "installing playwright into $page_tools"
  install_python_modules "$VESTA_ROOT/tools/page-tests.txt" "$1"
}

install_speedscope() {
  local folder=$1 archive
  say "downloading $speedscope"
  archive=$(cd "$folder" && npm pack --silent "$speedscope") &&
    [ "$(openssl dgst -sha512 -binary "$folder/$archive" | base64 -w0)" = "$speedscope_sha512" ] &&
    tar -xzf "$folder/$archive" -C "$folder" --strip-components=3 package/dist/release &&
    rm "$folder/$archive"
}

install_page_tools() {
  local version
  version=$(sha256sum "$VESTA_ROOT/tools/page-tests.txt" | cut -c1-12)
  in_new_folder "$page_tools/playwright-$version" install_playwright ||
    die "could not install playwright (tools/page-tests.txt) from PyPI"
  in_new_folder "$page_tools/$speedscope" install_speedscope ||
    die "could not download $speedscope from npm, or it is another one than expected"
  # What the tests read: without knowing versions.
  ln -sfnT "playwright-$version/modules" "$page_tools/playwright"
  ln -sfnT "$speedscope" "$page_tools/speedscope"
}
