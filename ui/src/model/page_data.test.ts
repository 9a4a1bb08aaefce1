import assert from "node:assert/strict";
import { test } from "node:test";
import { PageDataError } from "../base/varint";
import { PageDocument } from "./page_data";
import { encodeDocument, Random, TestTree, treeOfFolded } from "./test_documents";
import { randomTree } from "./test_profiles";
import { faultOf, foldedOf, loadFolded, loadTree } from "./test_trees";

const SMALL: TestTree = {
  functions: [
    { name: "", image: "/lib/a.so", kind: 3 },
    { name: "größe::f", image: "/lib/a.so", file: "a.cc", startLine: 7, inlined: 1 },
    { name: "z", kind: 2, inlined: 2 },
  ],
  depth: [0, 1, 2, 1],
  func: [0, 2, 1, 3],
  self: [
    [
      [0, 0, 6, 4],
      [2, 0, 0, 0],
    ],
    [
      [1, 1, 1, 1],
      [0, 0, 0, 0],
    ],
  ],
  lines: [
    { func: 2, line: 8, self: [[0, 0], [1, 0]], total: [[6, 0], [2, 0]] },
    { func: 2, line: 9, self: [[2, 0], [0, 0]], total: [[4, 0], [1, 0]] },
    { func: 3, line: 1, self: [[4, 0], [1, 0]], total: [[4, 0], [1, 0]] },
  ],
};
const BYTES = encodeDocument(SMALL, { title: "T", notes: ["n"] });

// Everything that a page can ask of a document.
function readAll(bytes: Uint8Array): void {
  const document = new PageDocument(bytes);
  document.meta.valueTypes.forEach((_, type) => {
    document.tree(type);
    document.lines(type);
  });
  for (let i = 0; i < document.strings.count; ++i) document.strings.at(i);
}

test("reads all columns", () => {
  const document = new PageDocument(BYTES);
  assert.equal(document.meta.title, "T");
  assert.deepEqual(document.meta.notes, ["n"]);
  const tree = document.tree(0);
  assert.deepEqual(tree.func, Int32Array.of(0, 2, 1, 3));
  assert.deepEqual(tree.end, Int32Array.of(4, 3, 3, 4));
  assert.deepEqual(tree.self, [Float64Array.of(0, 0, 6, 4), Float64Array.of(2, 0, 0, 0)]);
  assert.deepEqual(tree.total, [Float64Array.of(10, 6, 6, 4), Float64Array.of(2, 0, 0, 0)]);
  assert.deepEqual(document.tree(1).total[0], Float64Array.of(4, 2, 1, 1));
  assert.equal(document.strings.at(document.functions.name[2]), "größe::f");
  assert.equal(document.strings.at(document.functions.file[2]), "a.cc");
  assert.equal(document.functions.startLine[2], 7);
  const lines = document.lines(0);
  assert.deepEqual(lines?.func, Uint32Array.of(2, 2, 3));
  assert.deepEqual(lines?.line, Uint32Array.of(8, 9, 1));
  assert.deepEqual(lines?.self[0], Float64Array.of(0, 2, 4));
  assert.deepEqual(document.lines(1)?.total[0], Float64Array.of(2, 1, 1));
});

test("folded stacks come back as they were", () => {
  const lines = ["a 1", "a;b;c 2", "a;d 3", "e;a;a 4"];
  const { tree, functions } = loadFolded(...lines);
  assert.deepEqual(foldedOf(tree, functions), lines);
});

test("trees of all shapes are valid", () => {
  for (let seed = 0; seed < 200; ++seed) {
    const { tree, functions } = loadTree(randomTree(seed, 2));
    assert.equal(faultOf(tree, functions), null, `seed ${seed}`);
  }
});

test("an unknown section is skipped, a known one must be there once", () => {
  const more = new Uint8Array(BYTES.length + 9);
  more.set(BYTES);
  more.set(new TextEncoder().encode("NEW1"), BYTES.length);
  more.set([1, 0, 0, 0, 0xff], BYTES.length + 4);
  readAll(more);
  const twice = new Uint8Array(BYTES.length * 2 - 8);
  twice.set(BYTES);
  twice.set(BYTES.subarray(8), BYTES.length);
  assert.throws(() => readAll(twice), /section META, byte \d+: is there twice/);
  assert.throws(() => readAll(BYTES.subarray(0, 8)), /section META, byte 8: is missing/);
});

test("other files are refused by their first bytes", () => {
  assert.throws(() => readAll(new Uint8Array(0)), /section head, byte 0: too short/);
  assert.throws(() => readAll(new Uint8Array(100)), /not page data/);
  const later = BYTES.slice();
  later[4] = 2;
  assert.throws(() => readAll(later), /version 2/);
});

test("every truncation is an error with its place", () => {
  const withoutLines = encodeDocument({ ...SMALL, lines: undefined }, { title: "T", notes: ["n"] });
  for (let length = 0; length < BYTES.length; ++length) {
    if (length === withoutLines.length) continue; // whole, since lines may be absent
    assert.throws(
      () => readAll(BYTES.slice(0, length)),
      (error: unknown) => error instanceof PageDataError && error.section !== "" && error.byte >= 0,
      `${length} bytes`,
    );
  }
});

test("random damage ends in an error with its place or in a valid document", () => {
  const random = new Random(6);
  const seeds = [BYTES, encodeDocument(treeOfFolded(["a;b;c 2 0", "a;d 3 1", "e;a;a 0 4"]))];
  let refused = 0;
  for (let round = 0; round < 2000; ++round) {
    const bytes = seeds[round % 2].slice();
    for (let flips = 1 + random.below(4); flips > 0; --flips) {
      bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    }
    try {
      readAll(bytes);
    } catch (error) {
      assert.ok(error instanceof PageDataError, `round ${round}: ${String(error)}`);
      ++refused;
    }
  }
  assert.ok(refused > 500, `${refused} of 2000 refused`);
});

test("a string may not end inside a character", () => {
  const bytes = BYTES.slice();
  const at = new TextDecoder("latin1").decode(BYTES).indexOf("STRS") + 8;
  assert.deepEqual(Array.from(bytes.subarray(at, at + 6)), [5, 0, 9, 10, 4, 1]);
  bytes.set([3, 11], at + 3);
  assert.throws(() => readAll(bytes), /section STRS, byte \d+: a string ends inside a character/);
});

test("a node may not go above the first level", () => {
  const bytes = BYTES.slice();
  const at = new TextDecoder("latin1").decode(BYTES).indexOf("TREE") + 8;
  assert.deepEqual(Array.from(bytes.subarray(at, at + 4)), [3, 0, 0, 2]);
  bytes[at + 3] = 3;
  assert.throws(() => readAll(bytes), /section TREE, byte \d+: node 3 goes up 3 of 2 levels/);
});

test("counts that cannot be are refused before anything is made for them", () => {
  const text = new TextDecoder("latin1").decode(BYTES);
  for (const tag of ["STRS", "FUNC", "TREE", "LINE"]) {
    const bytes = BYTES.slice();
    const at = text.indexOf(tag) + 8;
    bytes.set([0xff, 0xff, 0xff, 0x7f], at); // 268 million
    assert.throws(() => readAll(bytes), new RegExp(`section ${tag}, byte \\d+: 268435455 `));
  }
});
