import assert from "node:assert/strict";
import { test } from "node:test";
import { BitSet } from "../base/bit_set";
import { layOut, Layout, LayoutOptions, scalesOf, weightFactors } from "./layout";
import { BOX_ANCESTOR, BOX_NODE, BOX_REST, Boxes, Zoom } from "./nouns";
import { Random } from "./test_documents";
import { generateProfile, randomTree } from "./test_profiles";
import { loadFolded, loadTree } from "./test_trees";
import { pathTo, Tree } from "./tree";

const PRECISION_PX = 0.01; // of places in 32 bits

function optionsOf(tree: Tree, more: Partial<LayoutOptions> = {}): LayoutOptions {
  const scales = tree.total.map(() => 1);
  const zoom: Zoom = { node: 0, below: null };
  const base = { zoom, widthPx: 1000, narrowestPx: 1, widthBy: "both" as const, scales };
  return { ...base, selected: null, ...more };
}

function textOf(boxes: Boxes): string[] {
  return Array.from({ length: boxes.count }, (_, i) => {
    const name = boxes.kind[i] === BOX_REST ? `rest of ${boxes.node[i]}` : `${boxes.node[i]}`;
    return `${boxes.row[i]}: ${name} ${boxes.x[i]}+${boxes.width[i]}`;
  });
}

// The box of the parent of each box below the zoomed row.
function parentBox(tree: Tree, boxes: Boxes, i: number): number {
  const path = pathTo(tree, boxes.node[i]);
  const parent = boxes.kind[i] === BOX_REST ? boxes.node[i] : path[path.length - 2];
  for (let j = boxes.rowStart[boxes.row[i] - 1]; j < boxes.rowStart[boxes.row[i]]; ++j) {
    if (boxes.node[j] === parent && boxes.kind[j] !== BOX_REST) return j;
  }
  return -1;
}

function checkLayout(tree: Tree, options: LayoutOptions): Layout {
  const done = layOut(tree, options);
  const { boxes } = done;
  const zoomRow = pathTo(tree, options.zoom.node).length - 1;
  const widthBelow = new Float64Array(boxes.count);
  for (let i = 0; i < boxes.count; ++i) {
    const row = boxes.row[i];
    assert.ok(i >= boxes.rowStart[row] && i < boxes.rowStart[row + 1], "rowStart");
    if (boxes.row[i - 1] === row) {
      const right = boxes.x[i - 1] + boxes.width[i - 1];
      assert.ok(boxes.x[i] >= right - PRECISION_PX, `box ${i} covers the one before`);
      if (parentBox(tree, boxes, i) === parentBox(tree, boxes, i - 1)) {
        assert.ok(Math.abs(boxes.x[i] - right) < PRECISION_PX, "a gap between siblings");
      }
    }
    if (row <= zoomRow) {
      assert.equal(boxes.width[i], options.widthPx);
      continue;
    }
    const parent = parentBox(tree, boxes, i);
    assert.ok(parent >= 0, `box ${i} has no parent above it`);
    widthBelow[parent] += boxes.width[i];
    const right = boxes.x[i] + boxes.width[i];
    assert.ok(boxes.x[i] >= boxes.x[parent] - PRECISION_PX, "left of its parent");
    assert.ok(right <= boxes.x[parent] + boxes.width[parent] + PRECISION_PX, "right of its parent");
    if (boxes.kind[i] === BOX_NODE) {
      assert.ok(boxes.width[i] >= options.narrowestPx - PRECISION_PX, "too narrow");
    }
    for (const total of boxes.total) {
      assert.ok(total[i] <= total[parent] * (1 + 1e-12), "more than its parent");
    }
  }
  checkSelf(tree, options, done, widthBelow, zoomRow);
  return done;
}

// What children leave free of their parent is the parent's own value.
function checkSelf(
  tree: Tree,
  options: LayoutOptions,
  done: Layout,
  widthBelow: Float64Array,
  zoomRow: number,
): void {
  const { boxes } = done;
  const factors = weightFactors(options.scales, options.widthBy);
  const weigh = (values: Float64Array[], at: number): number =>
    values.reduce((sum, column, side) => sum + column[at] * factors[side], 0);
  const zoomTotals = done.zoomTotals.map((total, side) => total / options.scales[side]);
  const zoomWeight = zoomTotals.reduce((sum, total, side) => sum + total * factors[side], 0);
  for (let i = 0; i < boxes.count && zoomWeight > 0; ++i) {
    if (boxes.kind[i] !== BOX_NODE || boxes.row[i] < zoomRow) continue;
    const selfPx = (weigh(tree.self, boxes.node[i]) / zoomWeight) * options.widthPx;
    const left = boxes.width[i] - widthBelow[i];
    assert.ok(Math.abs(left - selfPx) < PRECISION_PX * 10, `room for itself ${left}, ${selfPx}`);
  }
}

test("children are alphabetical, then the rest, then room for the parent itself", () => {
  const { tree } = loadFolded("a 50", "a;b 20", "a;c 1", "a;d 28", "a;e 1", "f 900");
  const { boxes, restNodes, restTotals } = layOut(tree, optionsOf(tree, { narrowestPx: 2 }));
  assert.deepEqual(textOf(boxes), [
    "0: 0 0+1000",
    "1: 1 0+100",
    "1: 6 100+900",
    "2: 2 0+20",
    "2: 4 20+28",
    "2: rest of 1 48+2",
  ]);
  assert.equal(restNodes, 2);
  assert.deepEqual(restTotals, [2]);
  assert.equal(boxes.restCount[5], 2);
  assert.equal(boxes.func[5], -1);
  assert.deepEqual(boxes.rowStart, Uint32Array.of(0, 1, 3, 6));
});

test("zoom shows ancestors over the full width, and only the zoomed part below", () => {
  const { tree } = loadFolded("a;b;c 3", "a;b;d 1", "a;e 9", "f 90");
  const { boxes, zoomTotals } = layOut(tree, optionsOf(tree, { zoom: { node: 2, below: null } }));
  assert.deepEqual(textOf(boxes), [
    "0: 0 0+1000",
    "1: 1 0+1000",
    "2: 2 0+1000",
    "3: 3 0+750",
    "3: 4 750+250",
  ]);
  const kinds = [BOX_ANCESTOR, BOX_ANCESTOR, BOX_NODE, BOX_NODE, BOX_NODE];
  assert.deepEqual(Array.from(boxes.kind), kinds);
  assert.deepEqual(zoomTotals, [4]);
});

test("a rest opens into its children alone", () => {
  const { tree } = loadFolded("a 5", "b;x 2", "c 3", "d 9990");
  const closed = layOut(tree, optionsOf(tree)).boxes;
  const rest = closed.kind.indexOf(BOX_REST);
  const zoom = { node: 0, below: closed.below[rest], from: closed.from[rest], to: closed.to[rest] };
  const open = layOut(tree, optionsOf(tree, { zoom }));
  assert.deepEqual(textOf(open.boxes), [
    "0: 0 0+1000",
    "1: 1 0+500",
    "1: 2 500+200",
    "1: 4 700+300",
    "2: 3 500+200",
  ]);
  assert.deepEqual(open.zoomTotals, [10]);
  assert.equal(open.boxes.kind[0], BOX_ANCESTOR);
});

test("a rest of equal boxes opens part by part until each is seen", () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `f${String(i).padStart(4, "0")} 1`);
  const { tree } = loadFolded(...lines);
  const open = (zoom: Zoom): Layout => checkLayout(tree, optionsOf(tree, { zoom }));
  const seen = new Set<number>();
  const visit = (zoom: Zoom, level: number): void => {
    assert.ok(level < 4, "no end");
    const { boxes } = open(zoom);
    for (let i = 1; i < boxes.count; ++i) {
      if (boxes.kind[i] === BOX_NODE) seen.add(boxes.node[i]);
      else if (boxes.kind[i] === BOX_REST) {
        visit({ node: 0, below: boxes.below[i], from: boxes.from[i], to: boxes.to[i] }, level + 1);
      }
    }
  };
  visit({ node: 0, below: null }, 0);
  assert.equal(seen.size, 5000);
});

test("boxes lie inside their parents, in order, and their widths sum", () => {
  for (let seed = 0; seed < 300; ++seed) {
    const random = new Random(seed);
    const sides = seed % 2 === 0 ? 1 : 2;
    const { tree } = loadTree(randomTree(seed, sides));
    const comparison = seed % 3 === 0 ? "normalized" : "absolute";
    const scales = scalesOf(tree.total.map((total) => total[0]), comparison);
    const widthBy = (["both", "before", "after"] as const)[random.below(3)];
    const narrowestPx = [0.5, 3, 40, 300][random.below(4)];
    const zoom = { node: random.below(3) === 0 ? random.below(tree.count) : 0, below: null };
    const options = optionsOf(tree, { scales, widthBy, narrowestPx, zoom });
    const { boxes, restNodes, restTotals } = checkLayout(tree, options);
    checkRests(tree, boxes, restNodes, restTotals, options);
  }
});

// Every node of the zoomed part is in a box or in exactly one rest.
function checkRests(
  tree: Tree,
  boxes: Boxes,
  restNodes: number,
  restTotals: number[],
  options: LayoutOptions,
): void {
  const zoomed = options.zoom.node;
  const total = tree.total.map((values) => values[zoomed]);
  let shown = 0;
  const selfShown = tree.self.map(() => 0);
  for (let i = 0; i < boxes.count; ++i) {
    if (boxes.kind[i] !== BOX_NODE) continue;
    ++shown;
    tree.self.forEach((self, side) => (selfShown[side] += self[boxes.node[i]]));
  }
  if (boxes.count === pathTo(tree, zoomed).length && restNodes === 0) return; // no width at all
  assert.equal(shown + restNodes, tree.end[zoomed] - zoomed);
  restTotals.forEach((rest, side) => {
    const whole = (selfShown[side] * options.scales[side] + rest) / options.scales[side];
    assert.ok(Math.abs(whole - total[side]) < 1e-6, `${whole} of ${total[side]}`);
  });
}

test("there are no more boxes than pixels can hold", () => {
  const generated = generateProfile({
    nodes: 30000,
    functions: 3000,
    depthLeast: 20,
    depthMost: 60,
    sides: 1,
    seed: 3,
  });
  const { tree } = loadTree(generated);
  for (const [widthPx, narrowestPx] of [[1600, 1], [800, 2], [50, 4]]) {
    const { boxes } = checkLayout(tree, optionsOf(tree, { widthPx, narrowestPx }));
    for (let row = 0; row + 1 < boxes.rowStart.length; ++row) {
      const inRow = boxes.kind.subarray(boxes.rowStart[row], boxes.rowStart[row + 1]);
      const nodes = inRow.filter((kind) => kind === BOX_NODE).length;
      assert.ok(nodes <= widthPx / narrowestPx + 1, `${nodes} in row ${row}`);
      assert.ok(inRow.length - nodes <= widthPx / narrowestPx + 1, "rests");
    }
  }
});

test("matches are told from subtrees that hold one", () => {
  const { tree } = loadFolded("a;b;c 3", "a;d 1", "e 1");
  const selected = new BitSet(tree.count);
  selected.add(2);
  selected.seal();
  const { boxes } = layOut(tree, optionsOf(tree, { selected }));
  const match = (node: number): number => boxes.match[boxes.node.indexOf(node)];
  assert.deepEqual([0, 1, 2, 3, 4, 5].map(match), [2, 2, 1, 0, 0, 0]);
  const all = layOut(tree, optionsOf(tree)).boxes;
  assert.ok(all.match.every((value) => value === 1));
});

test("a rest says whether it holds a match", () => {
  const { tree } = loadFolded("a;b 1", "c 1", "d 9998");
  const selected = new BitSet(tree.count);
  selected.add(2);
  selected.seal();
  const { boxes } = layOut(tree, optionsOf(tree, { selected }));
  assert.equal(boxes.match[boxes.kind.indexOf(BOX_REST)], 2);
});

test("normalised sides have equal totals, and the width is the mean of both", () => {
  const { tree } = loadFolded("a 10 30", "b 30 10");
  const absolute = layOut(tree, optionsOf(tree)).boxes;
  assert.deepEqual(Array.from(absolute.width), [1000, 500, 500]);
  const scaled = loadFolded("a 10 60", "b 30 20").tree;
  const scales = scalesOf([40, 80], "normalized");
  assert.deepEqual(scales, [1, 0.5]);
  const boxes = layOut(scaled, optionsOf(scaled, { scales })).boxes;
  assert.deepEqual(Array.from(boxes.width), [1000, 500, 500]);
  assert.deepEqual(boxes.total, [Float64Array.of(40, 10, 30), Float64Array.of(40, 30, 10)]);
  const before = layOut(scaled, optionsOf(scaled, { scales, widthBy: "before" })).boxes;
  assert.deepEqual(Array.from(before.width), [1000, 250, 750]);
});

test("what has no value on the chosen side is counted as rest, not drawn", () => {
  const { tree } = loadFolded("a 10 0", "b 0 10");
  const { boxes, restNodes, restTotals } = layOut(tree, optionsOf(tree, { widthBy: "after" }));
  assert.deepEqual(textOf(boxes), ["0: 0 0+1000", "1: 2 0+1000"]);
  assert.equal(restNodes, 1);
  assert.deepEqual(restTotals, [10, 0]);
});

test("a box that is just wide enough is drawn", () => {
  const { tree } = loadFolded("a 4", "b 5", "c 991");
  const { boxes } = layOut(tree, optionsOf(tree, { narrowestPx: 5 }));
  assert.deepEqual(textOf(boxes), ["0: 0 0+1000", "1: 2 0+5", "1: 3 5+991", "1: rest of 0 996+4"]);
});

test("an empty profile is one empty box", () => {
  const { tree } = loadFolded(" 0");
  assert.deepEqual(textOf(layOut(tree, optionsOf(tree)).boxes), ["0: 0 0+1000"]);
});
