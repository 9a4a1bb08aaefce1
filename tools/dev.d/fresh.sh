# tools/dev fresh [up|test]: prove the README on a bare Debian 12
#
# Makes a minimal Debian 12 root with debootstrap in a temporary folder (under $TMPDIR, else
# /var/tmp; needs about 6 GB), gives it this machine's apt sources, keys, proxy and pip settings,
# clones the last commit into it and runs the two commands that README.md names there (or the one
# given); `tools/dev up` with --check, which ends it once it shows this machine's functions.
# Needs root. Everything is unmounted and removed at the end, also after a failure or Ctrl-C.
# VESTA_TEST_KEEP=1 keeps the folder and says where it is.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

# The commands that the README tells a new user to run.
readme_commands() { grep -E '^(\./)?tools/dev (up|test)$' "$VESTA_ROOT/README.md"; }

# First mirror of Debian itself in this machine's sources, both file formats.
mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
    2>/dev/null | sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' |
    grep -v security | head -1
}

copy_client_settings() {
  local root=$1 path
  rm -f "$root/etc/apt/sources.list"  # of debootstrap; ours come instead
  for path in /etc/apt /etc/ssl/certs /usr/local/share/ca-certificates /usr/share/keyrings; do
    [ ! -d $path ] || { mkdir -p "$root$path"; cp -aL $path/. "$root$path/" 2>/dev/null || true; }
  done
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  [ ! -f /etc/pip.conf ] || cp -L /etc/pip.conf "$root/etc/"
}

# Runs one command line in the root, with nothing of this shell's environment but the network's.
inside() {
  local root=$1 name settings=()
  shift
  while read -r name; do settings+=("$name=${!name}"); done < <(compgen -e |
    grep -iE -e '(_|^)(https?|ftp|no|all)_proxy$' \
      -e '(CA|CERT|SSL).*(FILE|BUNDLE|INFO|DIR|CERT|CERTS)$' \
      -e '^(pip_(cert|index_url)|npm_config_(cafile|registry))$')
  env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    "${settings[@]}" chroot "$root" /bin/bash -c "cd /root/vesta && $*"
}

# In a mount namespace of its own, so that no mount outlives this process.
inner() {
  local root=$1 wanted=$2 line started code=0
  say "debootstrap of Debian 12 (bookworm, minbase) from $(mirror)"
  debootstrap --variant=minbase bookworm "$root" "$(mirror)" >"$root.log" 2>&1 ||
    { tail -20 "$root.log"; die "debootstrap failed"; }
  copy_client_settings "$root"
  # A mount, as a machine's root is: namespaces can be made private only from one.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  git -c safe.directory='*' clone --quiet "$VESTA_ROOT" "$root/root/vesta"
  while read -r line; do
    [ -z "$wanted" ] || [[ $line == *" $wanted" ]] || continue
    [[ $line != *" up" ]] || line+=" --check"
    say "in the fresh root: $line"
    started=$SECONDS
    inside "$root" "$line" || code=$?
    say "$line: exit status $code after $((SECONDS - started)) s"
    [ $code -eq 0 ] || return $code
  done < <(readme_commands)
}

case ${1:-} in
  '' | up | test) ;;
  --inner) inner "$2" "$3"; exit ;;
  *) die "fresh takes 'up', 'test' or nothing, not '$1'" ;;
esac
[ "$(id -u)" -eq 0 ] || die "fresh needs root: it makes a chroot and mounts /proc, /sys and /dev"
[ "$(readme_commands | wc -l)" -eq 2 ] || die "README.md must name two commands for a new user"
command -v debootstrap >/dev/null || apt_install debootstrap
[ -z "$(git status --porcelain)" ] || say "note: changes that are not committed are not in the clone"
root=$(mktemp -d "${TMPDIR:-/var/tmp}/vesta-fresh-XXXXXX")
chmod 755 "$root"

clean_up() {
  local process
  # What was left running inside holds files open and would go on without its binary.
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/root" 2>/dev/null)" != "$root" ] || kill -9 "${process#/proc/}" || true
  done
  if [ -n "${VESTA_TEST_KEEP:-}" ]; then say "kept: $root"; return; fi
  rm -rf --one-file-system "$root" "$root.log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

unshare --mount --propagation private bash "$VESTA_ROOT/tools/dev.d/fresh.sh" --inner \
  "$root" "${1:-}" </dev/null
say "fresh: both commands of the README work"
