import assert from "node:assert/strict";
import { test } from "node:test";
import { orderByKeys } from "./sort";

test("the order is that of a stable comparison sort", () => {
  const keys = Float64Array.from({ length: 5000 }, (_, i) => {
    const value = ((i * 7919) % 613) - 300;
    return i % 11 === 0 ? value / 7 : i % 13 === 0 ? value * 1e12 : value;
  });
  keys[3] = Infinity;
  keys[4] = -Infinity;
  keys[5] = -0;
  keys[6] = 0;
  const wanted = Array.from(keys.keys()).sort((a, b) => keys[a] - keys[b] || a - b);
  assert.deepEqual(Array.from(orderByKeys(keys)), wanted);
});
