import assert from "node:assert/strict";
import { test } from "node:test";
import { initialLiveState, LiveState, liveFromText, liveToText, othersOfText, saysRange }
  from "./live_state";

const CHOSEN: LiveState = {
  query: 'cpu{service="a&b#c"}',
  range: { kind: "fixed", fromMs: 1_790_000_000_000, toMs: 1_790_000_100_000 },
  selection: { fromMs: 1_790_000_010_000, toMs: 1_790_000_020_000 },
  by: "version",
  picks: ["1.0", "", "ü,&="],
};

test("what was chosen comes back out of its text", () => {
  assert.deepEqual(liveFromText(`#${liveToText(CHOSEN)}`), CHOSEN);
  const day: LiveState = { ...initialLiveState(), range: { kind: "last", lengthMs: 86_400_000 } };
  assert.deepEqual(liveFromText(liveToText(day)), day);
  assert.equal(liveToText(initialLiveState()), "range=1h");
  assert.deepEqual(["", "#by=node", "#range=5m", "from=1&to=2"].map(saysRange),
    [false, false, true, true]);
});

test("the flame graph's part is left over", () => {
  const text = `${liveToText(CHOSEN)}&zoom=2-abc&do=${encodeURIComponent('["focus","a&b",""]')}`;
  assert.equal(new URLSearchParams(othersOfText(`#${text}`)).get("do"), '["focus","a&b",""]');
  assert.deepEqual([...new URLSearchParams(othersOfText(text)).keys()], ["zoom", "do"]);
});

test("what cannot be read is as if it were not there", () => {
  for (const text of ["from=2&to=1", "from=a&to=b", "from=1", "range=9y", "selected=5",
    "selected=9,3", "selected=1e3,2e3", "by=colour"]) {
    assert.deepEqual(liveFromText(text), initialLiveState(), text);
  }
});
