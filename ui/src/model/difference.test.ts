import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceOf, isWithinNoise } from "./difference";

test("differences, absolute and relative", () => {
  const grown = differenceOf(100, 150, [0, 0]);
  assert.deepEqual(grown, {
    delta: 50,
    relative: 0.5,
    isNew: false,
    isGone: false,
    withinNoise: false,
  });
  assert.equal(differenceOf(0, 5, [0, 0]).isNew, true);
  assert.equal(differenceOf(0, 5, [0, 0]).relative, Infinity);
  assert.equal(differenceOf(5, 0, [0, 0]).isGone, true);
  assert.equal(differenceOf(0, 0, [0, 0]).relative, 0);
});

test("two standard deviations of the counts are noise", () => {
  // 100 and 125 samples: two standard deviations of their difference are 2 * sqrt(225) = 30.
  assert.equal(isWithinNoise(100, 125, [1, 1]), true);
  assert.equal(isWithinNoise(1000, 1250, [10, 10]), true); // the same in another unit
  assert.equal(isWithinNoise(100, 132, [1, 1]), false);
  assert.equal(isWithinNoise(100, 131, [1, 1]), false);
  assert.equal(isWithinNoise(100, 130, [1, 1]), true);
  assert.equal(isWithinNoise(100, 101, [0, 1]), false); // unknown
});
