# tools/dev install [ROOT]: put what was built into a system, as docs/deploy.md has it
#
# Into ROOT (default /): usr/bin/vesta, DuckDB's library in usr/lib/vesta, the units of systemd, which it
# does not start, and settings in etc/vesta that are not there yet.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

root=${1:-/}
root=${root%/}
[ -x build/vesta ] || dev build
install -D -m 755 build/vesta "$root/usr/bin/vesta"
install -D -m 644 build/libduckdb.so "$root/usr/lib/vesta/libduckdb.so"
for unit in deploy/systemd/*.service; do
  install -D -m 644 "$unit" "$root/usr/lib/systemd/system/$(basename "$unit")"
done
for settings in deploy/systemd/*.env; do
  target=$root/etc/vesta/$(basename "$settings")
  [ -e "$target" ] || install -D -m 600 "$settings" "$target"
done
say "installed into ${root:-/}; start one with: systemctl enable --now vesta"
