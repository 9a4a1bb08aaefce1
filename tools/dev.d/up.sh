# tools/dev up [--check] [ARGUMENTS]: build, then show where this machine's CPU time goes, live
#
# Runs `vesta up` (agent, store and page in one process) until Ctrl-C; needs root. The page is at
# http://127.0.0.1:7171 and fills within a minute. ARGUMENTS go to `vesta up`, for example:
# tools/dev up --listen 127.0.0.1:8080 --retention 7d
# --check: at any free port, and ends by itself as soon as functions of this machine are shown with
# their names; status 1 when none are within two minutes.
. "$VESTA_ROOT/tools/dev.d/lib/steps.sh"

is_check=
if [ "${1:-}" = --check ]; then
  is_check=yes
  shift
  set -- --listen 127.0.0.1:0 "$@"
fi
[ "$(id -u)" -eq 0 ] || die "up samples the whole machine, which needs root: sudo tools/dev up"
dev build
say "build/vesta up $*"
[ -n "$is_check" ] || exec build/vesta up "$@"

said=$(mktemp)
build/vesta up "$@" >"$said" &
vesta=$!
trap 'kill $vesta 2>/dev/null || true; wait $vesta || true; rm -f "$said"' EXIT
for ((tried = 0; tried < 120; ++tried)); do
  sleep 1
  kill -0 $vesta 2>/dev/null || die "vesta up ended: what it says above tells why"
  url=$(sed -n 's/^open //p' "$said")
  [ -n "$url" ] || continue
  table=$(build/vesta query cpu --from -5m --server "$url") || continue
  # A row has a percentage and ends in its binary; a name is not an address.
  named=$(grep -E '%.* \[[^]]+\]$' <<<"$table" | grep -cvE '% +0x[0-9a-f]+ \[' || true)
  [ "$named" -gt 0 ] || continue
  echo "$table"
  say "up: $named functions have names after $((tried + 1)) s"
  kill -TERM $vesta
  wait $vesta
  exit
done
die "no function of this machine had a name after $tried s"
