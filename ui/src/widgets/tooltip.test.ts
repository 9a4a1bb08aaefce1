import { test } from "node:test";
import assert from "node:assert/strict";
import { changeWord, placeBeside } from "./tooltip";

test("stays inside the window and off the pointer, wherever the pointer is", () => {
  const window = { width: 360, height: 640 };
  const size = { width: 300, height: 120 };
  for (let x = 0; x <= window.width; x += 20) {
    for (let y = 0; y <= window.height; y += 20) {
      const { left, top } = placeBeside(x, y, size, window);
      assert.ok(left >= 0 && left + size.width <= window.width, `${x} ${y}`);
      assert.ok(top >= 0 && top + size.height <= window.height, `${x} ${y}`);
      const isOver = x >= left && x <= left + size.width && y >= top && y <= top + size.height;
      assert.ok(!isOver, `${x} ${y}`);
    }
  }
});

test("a change is told in words where a percentage makes no sense", () => {
  assert.equal(changeWord(0, 3), "new");
  assert.equal(changeWord(3, 0), "gone");
  assert.equal(changeWord(3, 3), "no change");
  assert.equal(changeWord(100, 112), "+12.0 %");
  assert.equal(changeWord(100, 50), "−50.0 %");
});
