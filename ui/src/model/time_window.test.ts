import assert from "node:assert/strict";
import { test } from "node:test";
import { clipped, durationText, firstRange, RANGES, refreshMs, stepOf, windowOf }
  from "./time_window";

test("each range has about a hundred steps, and a window of whole ones that holds it", () => {
  for (const { lengthMs } of RANGES) {
    const nowMs = 1_790_000_000_123;
    const { fromMs, toMs, stepMs } = windowOf({ kind: "last", lengthMs }, nowMs);
    const count = (toMs - fromMs) / stepMs;
    assert.ok(count >= 60 && count <= 122, `${lengthMs}: ${count}`);
    assert.ok(fromMs <= nowMs - lengthMs && toMs >= nowMs && toMs < nowMs + stepMs);
    assert.equal(fromMs % stepMs, 0);
    assert.equal(toMs % stepMs, 0);
  }
  assert.ok(30 * 365 * 86_400_000 / stepOf(30 * 365 * 86_400_000) <= 120, "decades, too");
});

test("steps stay where they are while the window moves on", () => {
  const one = windowOf({ kind: "last", lengthMs: 3_600_000 }, 1_790_000_000_000);
  const later = windowOf({ kind: "last", lengthMs: 3_600_000 }, 1_790_000_007_000);
  assert.equal((later.fromMs - one.fromMs) % one.stepMs, 0);
  const fixed = windowOf({ kind: "fixed", fromMs: 1_000, toMs: 61_000 }, 1_790_000_000_000);
  assert.deepEqual(fixed, { fromMs: 1_000, toMs: 61_000, stepMs: 1_000 });
});

test("short ranges are asked for every few seconds, slow answers less often", () => {
  assert.equal(refreshMs(300_000, 10), 5_000);
  assert.equal(refreshMs(3_600_000, 10), 5_000);
  assert.equal(refreshMs(6 * 3_600_000, 10), 30_000);
  assert.equal(refreshMs(7 * 86_400_000, 10), 60_000);
  assert.equal(refreshMs(300_000, 4_000), 16_000);
});

test("a store that has just begun is shown by minutes, an old one by its last hour", () => {
  const lengths = [null, 0, 60_000, 300_000, 301_000, 3_000_000, 9e9].map((ageMs) => {
    return firstRange(ageMs === null ? null : 1e12 - ageMs, 1e12).lengthMs / 60_000;
  });
  assert.deepEqual(lengths, [5, 5, 5, 5, 15, 60, 60]);
});

test("durations are told by their two largest parts", () => {
  const texts = [0, 400, 3_000, 60_000, 200_000, 3_600_000, 3_605_000, 90_000_000]
    .map((ms) => durationText(ms));
  assert.deepEqual(texts, ["less than 1 s", "less than 1 s", "3 s", "1 min", "3 min 20 s", "1 h",
    "1 h", "1 d 1 h"]);
});

test("a range is cut to another", () => {
  const within = { fromMs: 10, toMs: 20 };
  assert.deepEqual(clipped({ fromMs: 0, toMs: 15 }, within), { fromMs: 10, toMs: 15 });
  assert.equal(clipped({ fromMs: 20, toMs: 30 }, within), null);
});
