import assert from "node:assert/strict";
import { test } from "node:test";
import { PageDataError } from "../base/varint";
import { encodeDocument, TestMeta, TestTree, treeOfFolded } from "../model/test_documents";
import { randomTree } from "../model/test_profiles";
import { createLocalEngine } from "./client";
import { BOX_NODE, Comparison, Engine, LayoutRequest, TableRequest } from "./protocol";

const WHOLE = { node: 0, below: null };
const LAYOUT: LayoutRequest = {
  tree: "main",
  zoom: WHOLE,
  widthPx: 1000,
  narrowestPx: 1,
  widthBy: "both",
  comparison: "absolute",
};
const TABLE: TableRequest = {
  tree: "main",
  order: "self",
  descending: true,
  matchesOnly: false,
  comparison: "absolute",
  first: 0,
  count: 100,
};

async function loaded(tree: TestTree | string[], meta: TestMeta = {}): Promise<Engine> {
  const engine = createLocalEngine();
  await engine.load(encodeDocument(Array.isArray(tree) ? treeOfFolded(tree) : tree, meta));
  return engine;
}

async function gzipped(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

async function functionOf(engine: Engine, name: string, image = ""): Promise<number> {
  const func = await engine.functionNamed(name, image);
  assert.ok(func !== null, `no function ${name}`);
  return func;
}

async function tableNames(engine: Engine, more: Partial<TableRequest>): Promise<string[]> {
  const { rows } = await engine.table({ ...TABLE, ...more });
  return rows.map((row) => row.func.name);
}

test("loads plain bytes, gzip, and base64 text in pieces that still come", async () => {
  const bytes = encodeDocument(treeOfFolded(["a;b 1", "c 2"]), { title: "t", notes: ["lost 1"] });
  const packed = base64Of(await gzipped(bytes));
  async function* coming(): AsyncIterable<string> {
    for (let i = 0; i < packed.length; i += 50) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      yield packed.slice(i, i + 50);
    }
  }
  const shares: number[] = [];
  const load = [
    (engine: Engine) => engine.load(bytes.slice()),
    async (engine: Engine) => engine.load(await gzipped(bytes)),
    (engine: Engine) => engine.loadText([base64Of(bytes)]),
    (engine: Engine) => engine.loadText(coming()),
    (engine: Engine) =>
      engine.loadText([packed.slice(0, 7), packed.slice(7)], (share) => shares.push(share)),
  ];
  for (const way of load) {
    const info = await way(createLocalEngine());
    assert.equal(info.title, "t");
    assert.deepEqual(info.notes, ["lost 1"]);
    assert.equal(info.nodeCount, 4);
    assert.equal(info.depthMax, 2);
    assert.deepEqual(info.totals, [3]);
  }
  assert.deepEqual(shares, [...shares].sort((a, b) => a - b));
  assert.equal(shares[shares.length - 1], 1);
});

test("damaged data is a typed error, and a second load works", async () => {
  const bytes = encodeDocument(treeOfFolded(["a 1"]));
  const packed = await gzipped(bytes);
  const engine = createLocalEngine();
  const isTyped = (error: unknown): boolean => error instanceof PageDataError;
  await assert.rejects(engine.load(packed.slice(0, packed.length - 9)), isTyped);
  const flipped = packed.slice();
  flipped[packed.length >> 1] ^= 0x55;
  await assert.rejects(engine.load(flipped), isTyped);
  await assert.rejects(engine.loadText(["AAAA*"]), /section base64/);
  await assert.rejects(engine.loadText([]), /section head, byte 0/);
  await assert.rejects(engine.load(bytes.slice(0, 30)), isTyped);
  await assert.rejects(engine.layout(LAYOUT), /nothing is loaded/);
  assert.equal((await engine.load(packed)).nodeCount, 2);
});

test("answers about a closed engine never hang", async () => {
  const engine = await loaded(["a 1"]);
  const answer = engine.layout(LAYOUT);
  engine.dispose();
  await assert.rejects(answer, /closed/);
});

test("a layout tells each function once", async () => {
  const engine = await loaded(["p;a;b 5", "p;a 5"]);
  const first = await engine.layout(LAYOUT);
  assert.deepEqual(first.functions.map((func) => func.name), ["all", "p", "a", "b"]);
  assert.deepEqual((await engine.layout(LAYOUT)).functions, []);
  assert.equal(first.functions[1].groups.length, 4);
  assert.deepEqual(first.totals, [10]);
});

test("a search counts functions, nodes and each sample once; the picture shows it", async () => {
  const engine = await loaded(["a;xa;xb 1", "a;b 2", "xb 4", "c 8"]);
  const query = { text: "X", regexp: false, matchCase: false };
  const answer = await engine.search(query);
  assert.deepEqual(answer, { error: null, functions: 2, nodes: 3, totals: [5] });
  const { boxes } = await engine.layout(LAYOUT);
  assert.deepEqual(Array.from(boxes.match), [2, 2, 0, 1, 0, 1, 1]);
  const matching = { matchesOnly: true, order: "name" as const, descending: false };
  assert.deepEqual(await tableNames(engine, matching), ["xa", "xb"]);
  assert.deepEqual((await engine.search({ ...query, text: "(", regexp: true })).nodes, 0);
  assert.match((await engine.search({ ...query, text: "(", regexp: true })).error ?? "", /group/);
  assert.equal((await engine.search({ ...query, text: "" })).nodes, 0);
  assert.ok((await engine.layout(LAYOUT)).boxes.match.every((match) => match === 1));
});

test("a search answers as a look at every stack would", async () => {
  for (let seed = 0; seed < 80; ++seed) {
    const tree = randomTree(seed, 1);
    const engine = await loaded(tree);
    const answer = await engine.search({ text: "1", regexp: false, matchCase: false });
    const path: number[] = [];
    let nodes = 0;
    let total = 0;
    for (let node = 0; node < tree.func.length; ++node) {
      path.length = tree.depth[node];
      path.push(tree.func[node]);
      const matches = path.map((func) => func > 0 && tree.functions[func - 1].name.includes("1"));
      let value = tree.self[0][0][node]; // a node without one is not there
      for (let below = node + 1; tree.depth[below] > tree.depth[node]; ++below) {
        value += tree.self[0][0][below];
      }
      if (matches[matches.length - 1] && value > 0) ++nodes;
      if (matches.includes(true)) total += tree.self[0][0][node];
    }
    assert.equal(answer.nodes, nodes);
    assert.deepEqual(answer.totals, [total]);
  }
});

test("matches are stepped through in the picture's order, around the end", async () => {
  const engine = await loaded(["a;x 1", "b 1", "x;y;x 3"]);
  await engine.search({ text: "x", regexp: false, matchCase: true });
  const steps: (number | null)[] = [];
  for (let node: number | null = 0, i = 0; i < 4; ++i) {
    node = await engine.matchBeside("main", node ?? 0, 1);
    steps.push(node);
  }
  assert.deepEqual(steps, [2, 4, 6, 2]);
  assert.equal(await engine.matchBeside("main", 2, -1), 6);
  assert.equal(await engine.widestMatch("main", 0), 4);
  assert.equal(await engine.widestMatch("main", 1), 2);
  assert.equal(await engine.widestMatch("main", 3), 4, "none below: of all");
  await engine.search({ text: "nothing", regexp: false, matchCase: true });
  assert.equal(await engine.matchBeside("main", 0, 1), null);
  assert.equal(await engine.widestMatch("main", 0), null);
});

test("the legend's shares sum to the whole, and choosing a key dims the others", async () => {
  const engine = await loaded(["a.so!f;b.so!g 1", "a.so!f 2", "b.so!g;b.so!h 4", "c.so!i 8"]);
  const legend = await engine.legend("binary");
  assert.deepEqual(legend.map(({ key, self }) => [key, self[0]]), [
    ["c.so", 8],
    ["b.so", 5],
    ["a.so", 2],
  ]);
  assert.deepEqual([legend[0].kind, legend[0].image], ["native", "/usr/lib/c.so"]);
  assert.ok((await engine.layout(LAYOUT)).boxes.match.every((match) => match === 1));
  await engine.selectGroups("binary", ["b.so"]);
  const match = (await engine.layout(LAYOUT)).boxes.match;
  assert.deepEqual(Array.from(match), [2, 2, 1, 0, 1, 1]);
  const both = await engine.search({ text: "g", regexp: false, matchCase: false });
  assert.deepEqual(both, { error: null, functions: 1, nodes: 2, totals: [5] });
  const none = await engine.search({ text: "f", regexp: false, matchCase: false });
  assert.equal(none.nodes, 0);
  const legendAlone = await engine.search({ text: "", regexp: false, matchCase: false });
  assert.deepEqual(legendAlone.totals, [5]);
});

test("the legend of callers weighs boxes, as their self values are all at the ends", async () => {
  // f, called by g of b.so, called by the process.
  const tree = ["a.so!f;b.so!g;main 3", "a.so!f;c.so!h;b.so!g;main 1"];
  const legend = await (await loaded(tree, { inverted: true })).legend("binary");
  const weights = legend.map(({ key, self }) => [key, self[0]]);
  assert.deepEqual(new Map(weights as [string, number][]),
    new Map([["a.so", 4], ["b.so", 4], ["unknown", 4], ["c.so", 1]]));
  const plain = await (await loaded(tree)).legend("binary");
  assert.deepEqual(plain.filter(({ self }) => self[0] > 0).map(({ key }) => key), ["unknown"]);
});

test("the functions that are counted are those in the shown tree", async () => {
  const engine = await loaded(["a;b;c 1", "a;d 2"]);
  const merge = { kind: "merge" as const, func: await functionOf(engine, "b") };
  const { info } = await engine.setTransforms([merge]);
  assert.equal(info.functionCount, 3);
  assert.equal((await engine.table(TABLE)).rowCount, 3);
  assert.equal((await engine.setTransforms([])).info.functionCount, 4);
});

test("details hold this instance, all instances, and lines", async () => {
  const tree = treeOfFolded(["a;f 1", "a;f;f 2", "b;f 4", "b 8"]);
  const f = tree.functions.findIndex((func) => func.name === "f") + 1;
  tree.functions[f - 1].file = "f.c";
  tree.lines = [
    { func: f, line: 3, self: [[2]], total: [[7]] },
    { func: f, line: 5, self: [[5]], total: [[5]] },
  ];
  const engine = await loaded(tree);
  const details = await engine.details("main", 2, { node: 1, below: null });
  assert.equal(details.func.name, "f");
  assert.deepEqual(details.path, [0, 1, 2]);
  assert.deepEqual(details.names, ["all", "a", "f"]);
  assert.deepEqual([details.self, details.total], [[1], [3]]);
  assert.deepEqual([details.allSelf, details.allTotal, details.instances], [[7], [7], 3]);
  assert.deepEqual([details.parentTotal, details.zoomTotal, details.rootTotal], [[3], [3], [15]]);
  assert.deepEqual(details.lines, [
    { file: "f.c", line: 5, self: [5], total: [5] },
    { file: "f.c", line: 3, self: [2], total: [7] },
  ]);
  assert.deepEqual(await engine.stackNames("main", 3), ["a", "f", "f"]);
  await assert.rejects(engine.details("main", 99, WHOLE), /no node 99/);
});

test("the share of a zoomed rest is that of the rest", async () => {
  const engine = await loaded(["a 5", "b 3", "c 9992"]);
  const { boxes } = await engine.layout({ ...LAYOUT, narrowestPx: 2 });
  const rest = boxes.kind.indexOf(1);
  const zoom = { node: 0, below: boxes.below[rest], from: boxes.from[rest], to: boxes.to[rest] };
  await engine.layout({ ...LAYOUT, zoom });
  assert.deepEqual((await engine.details("main", 1, zoom)).zoomTotal, [8]);
});

test("tables in every order, in parts", async () => {
  const engine = await loaded(["z.so!a;y.so!b 5", "z.so!a 1", "x.so!c 2", "b 2"]);
  const names = (more: Partial<TableRequest>): Promise<string[]> => tableNames(engine, more);
  assert.deepEqual(await names({}), ["b", "b", "c", "a"]);
  assert.deepEqual(await names({ order: "total" }), ["a", "b", "b", "c"]);
  assert.deepEqual(await names({ order: "total", descending: false }), ["b", "c", "b", "a"]);
  assert.deepEqual(await names({ order: "image", descending: false }), ["b", "c", "b", "a"]);
  assert.deepEqual(await names({ order: "name", descending: false }), ["a", "b", "b", "c"]);
  assert.deepEqual(await names({ order: "name", first: 1, count: 2 }), ["b", "b"]);
  assert.equal((await engine.table(TABLE)).rowCount, 4);
});

test("comparison: rows by difference, what is new and gone, what is noise", async () => {
  const valueTypes = [{ type: "samples", unit: "count", per_sample: 1 }];
  const lines = ["grown 100 200", "same 100 104", "gone 50 0", "new 0 70"];
  const engine = await loaded(lines, { valueTypes });
  const { rows } = await engine.table({ ...TABLE, order: "totalDiff" });
  const told = rows.map((row) => [row.func.name, row.isNew, row.isGone, row.totalWithinNoise]);
  assert.deepEqual(told, [
    ["grown", false, false, false],
    ["new", true, false, false],
    ["gone", false, true, false],
    ["same", false, false, true],
  ]);
  const signed = await tableNames(engine, { order: "totalSigned" });
  assert.deepEqual(signed, ["grown", "new", "same", "gone"]);
});

test("normalised comparison scales the side after", async () => {
  const engine = await loaded(["a 10 60", "b 30 20"]);
  const comparison: Comparison = "normalized";
  const { boxes, totals } = await engine.layout({ ...LAYOUT, comparison });
  assert.deepEqual(totals, [40, 40]);
  assert.deepEqual(Array.from(boxes.width), [1000, 500, 500]);
  const { rows } = await engine.table({ ...TABLE, comparison, order: "selfDiff" });
  assert.deepEqual(rows.map((row) => row.self), [[10, 30], [30, 10]]);
});

test("transforms apply in order and say what they took away", async () => {
  const engine = await loaded(["a;f;x 1", "a;f 2", "b;x 4", "c 8"]);
  const f = await functionOf(engine, "f");
  const x = await functionOf(engine, "x");
  const focus = await engine.setTransforms([{ kind: "focus", func: f }]);
  assert.deepEqual(focus.removed, [12]);
  assert.deepEqual(focus.info.totals, [3]);
  const both = await engine.setTransforms([
    { kind: "focus", func: f },
    { kind: "merge", func: x },
  ]);
  assert.deepEqual(both.labels, ["Focus: f", "Merged: x"]);
  assert.equal(both.info.nodeCount, 2);
  const other = await engine.setTransforms([{ kind: "hideStacks", func: x }]);
  assert.deepEqual([other.removed, other.info.totals], [[5], [10]]);
  const none = await engine.setTransforms([]);
  assert.deepEqual([none.removed, none.info.nodeCount], [[0], 7]);
  await assert.rejects(engine.setTransforms([{ kind: "focus", func: 99 }]), /no function 99/);
});

test("nodes without a value of the shown type are not there", async () => {
  const engine = await loaded(["a;b;c 0", "a;d 2", "e;f;g;h 0", "e;i 1"]);
  const info = await engine.setTransforms([]).then((answer) => answer.info);
  assert.deepEqual([info.nodeCount, info.functionCount, info.depthMax], [5, 4, 2]);
  assert.deepEqual(await tableNames(engine, { order: "name", descending: false }),
    ["a", "d", "e", "i"]);
  assert.deepEqual(await engine.stackNames("main", 4), ["e", "i"]);
  assert.equal(info.isEmpty, false);
  assert.equal((await (await loaded(["a;b 0"])).setTransforms([])).info.isEmpty, true);
});

test("the sandwich follows the transforms", async () => {
  const engine = await loaded(["a;f;x 1", "b;f;y 2", "b;z 4"]);
  const f = await functionOf(engine, "f");
  await assert.rejects(engine.layout({ ...LAYOUT, tree: "callers" }), /no sandwich/);
  assert.deepEqual(await engine.setSandwich(f), { callers: 1, callees: 1 });
  const callers = await engine.layout({ ...LAYOUT, tree: "callers" });
  assert.deepEqual(Array.from(callers.boxes.total[0]), [3, 1, 2]);
  assert.deepEqual(await engine.stackNames("callers", 2), ["b", "f"]);
  assert.deepEqual(await engine.stackNames("callees", 2), ["f", "y"]);
  await engine.setTransforms([{ kind: "hideStacks", func: await functionOf(engine, "y") }]);
  const less = await engine.layout({ ...LAYOUT, tree: "callers" });
  assert.deepEqual(Array.from(less.boxes.total[0]), [1, 1]);
  assert.deepEqual(await engine.setSandwich(null), { callers: 0, callees: 0 });
});

test("another value type keeps transforms and functions", async () => {
  const tree = treeOfFolded(["a;f 1", "b 2"]);
  const engine = await loaded({ ...tree, self: [tree.self[0], [[0, 0, 10, 20]]] });
  const f = await functionOf(engine, "f");
  await engine.setTransforms([{ kind: "hideStacks", func: f }]);
  const info = await engine.setValueType(1);
  assert.equal(info.valueType, 1);
  assert.deepEqual(info.totals, [20]);
  assert.equal(await engine.functionNamed("f", ""), f);
  await assert.rejects(engine.setValueType(7), /no such value type/);
});

test("folded stacks are named in full", async () => {
  const engine = await loaded(["a;b;c 1", "d 1"]);
  await engine.setTransforms([{ kind: "foldChains" }]);
  const { boxes, functions } = await engine.layout(LAYOUT);
  assert.equal(boxes.kind[1], BOX_NODE);
  assert.equal(functions[1].name, "a > b > c");
  assert.equal(functions[1].kind, "folded");
  assert.deepEqual(await engine.stackNames("main", 1), ["a", "b", "c"]);
});

test("addresses lead back, functions are found by name and binary", async () => {
  const engine = await loaded(["a;l.so!f 1", "b;m.so!f 2"]);
  const address = await engine.addressOf(4);
  assert.equal(await engine.nodeAt(address), 4);
  assert.equal(await engine.nodeAt("nonsense"), null);
  const inL = await engine.functionNamed("f", "/usr/lib/l.so");
  const inM = await engine.functionNamed("f", "/usr/lib/m.so");
  assert.ok(inL !== null && inM !== null && inL !== inM);
  assert.equal(await engine.functionNamed("f", ""), null);
  assert.equal(await engine.functionNamed("a", "/usr/lib/l.so"), null);
});
