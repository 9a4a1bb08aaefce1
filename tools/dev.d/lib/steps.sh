# Sourced by the commands of tools/dev: messages, packages, and running other commands.

set -euo pipefail

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { echo "tools/dev: $*" >&2; exit 1; }
dev() { "$VESTA_ROOT/tools/dev" "$@"; }

# Packages of the given lists that are neither installed nor replaced by a command in PATH.
missing_packages() {
  local package command installed
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' | grep -o 'ii [^ ]*' |
    cut -c4- | tr '\n' ' ') "
  sed 's/#.*//' "$@" | while read -r package command; do
    [ -n "$package" ] || continue
    [[ $installed != *" $package "* ]] || continue
    [ -z "$command" ] || ! command -v "$command" >/dev/null || continue
    echo "$package"
  done
}

# Services that come with a package must not start on a developer's machine: tests start their own.
without_services() {
  local policy=/usr/sbin/policy-rc.d code=0
  if [ -e $policy ]; then "$@"; return; fi
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
  "$@" || code=$?
  rm -f $policy
  return $code
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  without_services apt-get install -y --no-install-recommends "$@"
}

# install_packages LIST...: installs what is missing; quick when nothing is.
install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is no Debian system: install what $* name by hand"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    die "this needs root. As root, run: apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  apt_install "${missing[@]}" || die "apt-get could not install: ${missing[*]} (see above)"
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] || die "still missing after apt-get install: ${missing[*]}"
}

# in_new_folder FOLDER COMMAND...: runs COMMAND with a temporary folder as its last argument, which
# becomes FOLDER only when all went well.
in_new_folder() {
  local folder=$1 temporary
  shift
  [ ! -d "$folder" ] || return 0
  mkdir -p "$(dirname "$folder")"
  temporary=$(mktemp -d "$folder.XXXXXX")
  if "$@" "$temporary"; then
    mv -T "$temporary" "$folder" 2>/dev/null || [ -d "$folder" ]  # another one was faster
  else
    rm -rf "$temporary"
    return 1
  fi
}

# configure PRESET FOLDER: runs CMake when the folder has no build files yet; ninja does it later.
configure() {
  [ -f "$2/build.ninja" ] || cmake --preset "$1" -B "$2"
}

# run_named FOLDER KIND [NAME] [ARGUMENTS]: runs FOLDER/NAME, .sh or .py; lists them without NAME.
run_named() {
  local folder=$VESTA_ROOT/$1 kind=$2 name=${3:-} file
  if [ -z "$name" ]; then
    echo "tools/dev $kind NAME, where NAME is one of:"
    for file in "$folder"/*.sh "$folder"/*.py; do
      [ -x "$file" ] || continue
      name=$(basename "$file")
      printf '  %-12s %s\n' "${name%.*}" "$(sed -n '2{s/^# *//;s/^"""//;p}' "$file")"
    done
    return 0
  fi
  shift 3
  for file in "$folder/$name" "$folder/$name.sh" "$folder/$name.py"; do
    if [ -f "$file" ] && [ -x "$file" ]; then exec "$file" "$@"; fi
  done
  die "there is no $kind named '$name'; tools/dev $kind lists them"
}
