"""What schemathesis cannot know (SCHEMATHESIS_HOOKS): valid texts of vesta's own formats, profiles,
and what docs/api.md says of parameters that belong together."""
import gzip

import schemathesis
from hypothesis import strategies as st

FORMATS = {
    "vesta-selector": ["", "cpu", 'cpu{service="shop"}', '{service=~"shop|x",version!="1"}',
                       'cpu:count{node!="1"}', "cpu{service!~`x.*`}@-2h..-1h"],
    "vesta-time": ["now", "-1s", "now-2s", "+1h"],
    "vesta-time-from": ["-5m", "-90s", "-2d", "now-3h30m"],
    "vesta-duration": ["1h", "90m", "1h30m", "7d"],
    "vesta-label-names": ["", "service", "version,node", "x/y"],
    "vesta-label-name": ["service", "service.name", "no such", "a/b"],
    "vesta-label-text": ["shop", "1.2-b", "a b", "ü"],
    "vesta-labels": ["node=a", 'container="x,y", pod = z', ""],
    "vesta-batch": ["agent/boot/0", "a.b/0-1/18446744073709551615"],
    "vesta-function": ["main", "/ma.n/", "no::such(int)"],
    "vesta-word": ["cpu"],
}
PLAIN = b"main;parse 12\n"
ZSTD = bytes.fromhex("28b52ffd04687100006d61696e3b70617273652031320a42c4b33f")  # the same
OTLP = b"\x12\x02\x32\x00"

for name, texts in FORMATS.items():
    schemathesis.openapi.format(name, st.sampled_from(texts))
schemathesis.openapi.media_type("application/octet-stream", st.just(PLAIN))
# A request without profiles, and one whose dictionary has nothing but the empty string.
schemathesis.openapi.media_type("application/x-protobuf", st.sampled_from([b"", OTLP]))


@schemathesis.hook
def before_call(context, case, kwargs):
    encoding = (case.headers or {}).get("Content-Encoding")
    if case.body == PLAIN:
        case.body = {"gzip": gzip.compress(PLAIN), "zstd": ZSTD}.get(encoding, PLAIN)
    if case.path.endswith("/explain"):
        needs = {"diff": {"before": "cpu"}, "values": {"label": "service"}}
        needs |= dict.fromkeys(("callers", "callees", "lines"), {"function": "main"})
        for key, value in needs.get(str(case.query.get("question")), {}).items():
            if not case.query.get(key):
                case.query[key] = value
