import { test } from "node:test";
import assert from "node:assert/strict";
import { BOX_ANCESTOR, BOX_NODE, BOX_REST, type Boxes } from "../engine/protocol";
import { DIM, FADED, NORMAL, REST_STYLE, VARIANTS } from "./palette";
import { boxAtX, boxOfNode, labelOf, Functions, makeScene, parentBox, pathOfBox, widestChild }
  from "./scene";

// all 100 px: a (60: c 20, d 30, rest 10), b (40)
function boxes(): Boxes {
  return {
    count: 6,
    kind: Uint8Array.of(BOX_ANCESTOR, BOX_NODE, BOX_NODE, BOX_NODE, BOX_NODE, BOX_REST),
    node: Int32Array.of(0, 1, 9, 2, 4, 1), func: Int32Array.of(0, 1, 2, 3, 4, -1),
    row: Uint16Array.of(0, 1, 1, 2, 2, 2), x: Float32Array.of(0, 0, 60, 0, 20, 50),
    width: Float32Array.of(100, 60, 40, 20, 30, 10), restCount: Uint32Array.of(0, 0, 0, 0, 0, 7),
    below: Float64Array.of(0, 0, 0, 0, 0, 3), from: new Int32Array(6), to: new Int32Array(6),
    total: [Float64Array.of(100, 60, 40, 20, 30, 10)], self: [new Float64Array(6)],
    match: Uint8Array.of(1, 2, 0, 0, 1, 0), rowStart: Uint32Array.of(0, 1, 3, 6),
  };
}

test("the pointer finds the box under it, and nothing where nothing is", () => {
  const all = boxes();
  assert.equal(boxAtX(all, 2, 0), 3);
  assert.equal(boxAtX(all, 2, 19.9), 3);
  assert.equal(boxAtX(all, 2, 20), 4);
  assert.equal(boxAtX(all, 2, 60), -1);
  assert.equal(boxAtX(all, 1, 99), 2);
  assert.equal(boxAtX(all, 3, 5), -1);
  assert.equal(boxAtX(all, -1, 5), -1);
});

test("callers, callees and the way from the root", () => {
  const all = boxes();
  assert.equal(parentBox(all, 4), 1);
  assert.equal(parentBox(all, 0), -1);
  assert.equal(widestChild(all, 0), 1);
  assert.equal(widestChild(all, 1), 4);
  assert.equal(widestChild(all, 2), -1);
  assert.deepEqual(pathOfBox(all, 4), [0, 1, 4]);
});

test("a rest is not its parent", () => {
  assert.equal(boxOfNode(boxes(), 1), 1);
  assert.equal(boxOfNode(boxes(), 77), -1);
});

test("paint: matches in full, their callers faded, the rest dim, ancestors faded", () => {
  const scene = makeScene(boxes(), [100], () => 10);
  assert.deepEqual([...scene.paint], [FADED, FADED, DIM, DIM, NORMAL].map((v) => 10 * VARIANTS + v)
    .concat(REST_STYLE * VARIANTS + DIM));
  assert.equal(scene.zoomRow, 1);
  assert.equal(scene.rows, 3);
  assert.equal(labelOf(scene, 5, new Functions()), "7 more, 10.0 %");
});
