import { test } from "node:test";
import assert from "node:assert/strict";
import {
  baseName, formatCount, formatShare, formatSigned, formatTimes, formatValue,
} from "./format";

test("values carry the unit that suits their size", () => {
  assert.equal(formatValue(1230000, "nanoseconds"), "1.23 ms");
  assert.equal(formatValue(90e9, "nanoseconds"), "1.50 min");
  assert.equal(formatValue(15, "milliseconds"), "15 ms");
  assert.equal(formatValue(2048, "bytes"), "2 KiB");
  assert.equal(formatValue(9999, "count"), "9999");
  assert.equal(formatValue(1234567, "samples"), "1.23 M");
  assert.equal(formatValue(12, "widgets"), "12 widgets");
  assert.equal(formatValue(0, "nanoseconds"), "0");
});

test("differences have a sign", () => {
  assert.equal(formatSigned(-1000, "nanoseconds"), "−1 µs");
  assert.equal(formatSigned(5, "count"), "+5");
  assert.equal(formatSigned(0, "count"), "0");
});

test("a small share is not nothing", () => {
  assert.equal(formatShare(0), "0 %");
  assert.equal(formatShare(0.00001), "< 0.01 %");
  assert.equal(formatShare(0.0012), "0.12 %");
  assert.equal(formatShare(0.1234), "12.3 %");
  assert.equal(formatShare(1), "100 %");
});

test("a range of times says its day once, or both days", () => {
  const noon = Date.UTC(2026, 10, 30, 12, 0, 5);
  assert.equal(formatTimes(noon, 0), "2026-11-30 12:00:05 UTC");
  assert.equal(formatTimes(noon, 60_000), "2026-11-30 12:00:05 to 12:01:05 UTC");
  assert.equal(formatTimes(noon, 86_400_000),
    "2026-11-30 12:00:05 to 2026-12-01 12:00:05 UTC");
});

test("long counts are grouped, paths cut to their last part", () => {
  assert.equal(formatCount(1234567), "1\u202f234\u202f567");
  assert.equal(formatCount(12), "12");
  assert.equal(baseName("/usr/lib/libz.so.1"), "libz.so.1");
  assert.equal(baseName("[kernel]"), "[kernel]");
});
