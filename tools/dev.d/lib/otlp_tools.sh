# Sourced by deps.sh: what the test of OTLP profiles needs that is no Debian package: OpenTelemetry's
# own messages for Python (as page_tools.sh) and, where Go is new enough, its Collector.
. "$VESTA_ROOT/tools/dev.d/lib/python_modules.sh"

otlp_tools=${XDG_CACHE_HOME:-$HOME/.cache}/vesta/otlp-tools

install_otlp_messages() {
  say "installing OpenTelemetry's messages into $otlp_tools"
  install_python_modules "$VESTA_ROOT/tools/otlp-tests.txt" "$1"
}

install_otlp_tools() {
  local version
  version=$(sha256sum "$VESTA_ROOT/tools/otlp-tests.txt" | cut -c1-12)
  in_new_folder "$otlp_tools/python-$version" install_otlp_messages ||
    die "could not install opentelemetry-proto (tools/otlp-tests.txt) from PyPI"
  # What the tests read: without knowing versions.
  ln -sfnT "python-$version/modules" "$otlp_tools/python"
}

build_collector() {
  say "building an OpenTelemetry Collector into $otlp_tools"
  cp "$VESTA_ROOT"/test/otelcol/{go.mod,go.sum,main.go} "$1"
  (cd "$1" && GOFLAGS=-mod=readonly nice go build -trimpath -ldflags '-s -w' -o otelcol .)
}

# Without it one test is skipped: Debian's own Go is too old for it.
install_collector() {
  local version needed
  needed=$(sed -n 's/^go //p' "$VESTA_ROOT/test/otelcol/go.mod")
  version=$(sed -n 's/^go\([0-9.]*\).*/\1/p' <<<"$(go env GOVERSION 2>/dev/null)")
  if [ "$(printf '%s\n' "$needed" "${version:-0}" | sort -V | head -1)" != "$needed" ]; then
    say "no OpenTelemetry Collector: it needs Go $needed, here is ${version:-none}"
    return 0
  fi
  version=$(cat "$VESTA_ROOT"/test/otelcol/{go.mod,go.sum,main.go} | sha256sum | cut -c1-12)
  if in_new_folder "$otlp_tools/collector-$version" build_collector; then
    ln -sfnT "collector-$version" "$otlp_tools/collector"
  else
    say "no OpenTelemetry Collector: its modules could not be had"
  fi
}
