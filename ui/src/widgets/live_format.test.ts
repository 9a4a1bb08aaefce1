import assert from "node:assert/strict";
import { test } from "node:test";
import { formatClock, formatMarks, formatRange, formatRate } from "./live_format";

const NOON = Date.UTC(2026, 10, 30, 12, 0, 0);

test("rates of CPU time are cores, others are per second", () => {
  const cores = [0, 0.0004, 0.0123, 0.5, 1, 12.34, 250.4].map((rate) => formatRate(rate, true, ""));
  assert.deepEqual(cores, ["0 cores", "< 0.001 cores", "0.012 cores", "0.50 cores", "1.00 core",
    "12.3 cores", "250 cores"]);
  assert.equal(formatRate(0.30000000000000004, true, "", true), "0.3");
  assert.equal(formatRate(2048, false, "bytes"), "2 KiB/s");
});

test("marks of an axis tell seconds where they are close, and each new day", () => {
  const at = NOON / 1000;
  assert.deepEqual(formatMarks([at, at + 60], 60), ["12:00 UTC", "12:01"]);
  assert.deepEqual(formatMarks([at, at + 30], 30), ["12:00:00 UTC", "12:00:30"]);
  assert.deepEqual(formatMarks([at, at + 43_200], 43_200), ["12:00 UTC", "12-01"]);
});

test("times are told in full, with the day again where it is another", () => {
  assert.equal(formatRange(NOON, NOON + 60_000), "2026-11-30 12:00:00 to 12:01:00 UTC");
  assert.equal(formatRange(NOON, NOON + 86_400_000),
    "2026-11-30 12:00:00 to 2026-12-01 12:00:00 UTC");
  assert.equal(formatClock(NOON, 1000), "12:00:00");
  assert.equal(formatClock(NOON, 7_200_000), "11-30 12:00");
});
