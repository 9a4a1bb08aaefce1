# Sourced by deps.sh: the library of DuckDB, which Debian does not have. It goes to a cache folder
# outside of the tree, named by its version; CMake links it beside the binary.

duckdb_version=1.5.6
duckdb_package_version=$duckdb_version-r.1
duckdb_folder=${XDG_CACHE_HOME:-$HOME/.cache}/vesta/duckdb-$duckdb_version

# The registry as npm would choose it, without needing npm.
npm_registry() {
  local registry=${npm_config_registry:-${NPM_CONFIG_REGISTRY:-}} file
  for file in "${npm_config_userconfig:-$HOME/.npmrc}" /etc/npmrc; do
    [ -z "$registry" ] && [ -r "$file" ] || continue
    registry=$(sed -nE 's/^ *registry *= *"?([^"]+[^" ]).*/\1/p' "$file" | tail -1)
  done
  registry=${registry:-https://registry.npmjs.org}
  echo "${registry%/}"
}

# install_duckdb FOLDER: downloads the archive, checks its hash as npm's registry states it, and
# keeps only the library and its licence.
install_duckdb() {
  local folder=$1 machine hash name archive=$1/archive.tgz
  case $(uname -m) in
    x86_64)
      machine=x64
      hash=IXcrZJE6kEqM0Z4wwdVnGBHX/frOS33VPNAwDXQ/Q+Fs84b058Qe94chrCCIcNJlG8Y3UHIUU4eBeCQxW5mN1Q== ;;
    aarch64)
      machine=arm64
      hash=3jnUaDil1BrF/6vAZwVaInJ1xoBaWGHB4PDiUnzJWKCo8a8TLx9j7/gPyPl/UGRBftrYIuTihRZSfF4mWMgtWA== ;;
    *) echo "there is no build of DuckDB for $(uname -m)" >&2; return 1 ;;
  esac
  name=node-bindings-linux-$machine
  say "downloading DuckDB $duckdb_version (npm package @duckdb/$name)"
  curl --fail --silent --show-error --location --retry 3 --max-time 600 --output "$archive" \
    "$(npm_registry)/@duckdb/$name/-/$name-$duckdb_package_version.tgz" || return 1
  if [ "$(sha512sum <"$archive" | cut -d' ' -f1)" != \
    "$(base64 -d <<<"$hash" | od -An -v -tx1 | tr -d ' \n')" ]; then
    echo "the archive has another hash than expected" >&2
    return 1
  fi
  tar -xzf "$archive" -C "$folder" --no-same-owner --strip-components=1 \
    package/libduckdb.so package/LICENSE && rm "$archive"
}

install_duckdb_library() {
  in_new_folder "$duckdb_folder" install_duckdb ||
    die "could not download DuckDB from npm's registry (npm_config_registry names another one)," \
      "or it is another one than expected"
}
