import assert from "node:assert/strict";
import { test } from "node:test";
import { Transform } from "./nouns";
import { calleesOf, callersOf } from "./sandwich";
import { Random } from "./test_documents";
import { randomTree } from "./test_profiles";
import { faultOf, foldedOf, Loaded, loadFolded, loadTree } from "./test_trees";
import { labelOf, transformTree } from "./transforms";
import { pathTo, sumFunctions, Tree } from "./tree";

function funcOf({ functions }: Loaded, name: string): number {
  for (let func = 1; func < functions.count; ++func) {
    if (functions.name(func) === name) return func;
  }
  throw new Error(`no function ${name}`);
}

function transformed(loaded: Loaded, transform: Transform): string[] {
  const tree = transformTree(loaded.tree, loaded.functions, transform);
  assert.equal(faultOf(tree, loaded.functions), null);
  return foldedOf(tree, loaded.functions);
}

test("focus keeps what is below the topmost calls, merged", () => {
  const loaded = loadFolded("a;f;x 1", "b;c;f;x 2", "b;c;f;f 3", "d 4");
  const focus = { kind: "focus" as const, func: funcOf(loaded, "f") };
  assert.deepEqual(transformed(loaded, focus), ["f;f 3", "f;x 3"]);
});

test("focus on a node keeps its subtree alone", () => {
  const loaded = loadFolded("a;f 1", "a;f;x 2", "b;f;x 3");
  const path = ["a", "f"].map((name) => funcOf(loaded, name));
  assert.deepEqual(transformed(loaded, { kind: "focusNode", path }), ["f 1", "f;x 2"]);
  const gone = [funcOf(loaded, "x")];
  assert.deepEqual(transformed(loaded, { kind: "focusNode", path: gone }), []);
});

test("keep and hideStacks part the samples", () => {
  const loaded = loadFolded("a 7", "a;f 1", "a;f;x 2", "a;x 3", "b;f;f 4");
  const func = funcOf(loaded, "f");
  assert.deepEqual(transformed(loaded, { kind: "keep", func }), ["a;f 1", "a;f;x 2", "b;f;f 4"]);
  assert.deepEqual(transformed(loaded, { kind: "hideStacks", func }), ["a 7", "a;x 3"]);
});

test("merge gives the function's time to its caller", () => {
  const loaded = loadFolded("a 1", "a;f 2", "a;f;x 3", "a;x 4", "f;f 5");
  const func = funcOf(loaded, "f");
  assert.deepEqual(transformed(loaded, { kind: "merge", func }), [" 5", "a 3", "a;x 7"]);
});

test("collapseRecursion makes direct recursion one call", () => {
  const loaded = loadFolded("a;a;b 1", "a;b;b 2", "a;b;a 3", "a 4");
  const all = transformed(loaded, { kind: "collapseRecursion", func: null });
  assert.deepEqual(all, ["a 4", "a;b 3", "a;b;a 3"]);
  const one = { kind: "collapseRecursion" as const, func: funcOf(loaded, "b") };
  assert.deepEqual(transformed(loaded, one), ["a 4", "a;a;b 1", "a;b 2", "a;b;a 3"]);
});

test("collapseLibrary makes runs of one binary's functions one box", () => {
  const loaded = loadFolded("a;l.so!x;l.so!y;b 1", "a;l.so!y 2", "a;zz 3", "a;m.so!x 4", "a;Z 5");
  const transform = { kind: "collapseLibrary" as const, image: "/usr/lib/l.so" };
  assert.deepEqual(transformed(loaded, transform), [
    "a;Z 5",
    "a;[l.so] 2",
    "a;[l.so];b 1",
    "a;x 4",
    "a;zz 3",
  ]);
  assert.equal(loaded.functions.kind(loaded.functions.count - 1), "folded");
  assert.equal(loaded.functions.image(loaded.functions.count - 1), "/usr/lib/l.so");
});

test("foldChains makes single children without own value one box", () => {
  const loaded = loadFolded("a;b;c 1", "a;b;c;d;e 2", "a;b;c;f 3", "g 4");
  assert.deepEqual(transformed(loaded, { kind: "foldChains" }), [
    "a > b > c 1",
    "a > b > c;d > e 2",
    "a > b > c;f 3",
    "g 4",
  ]);
  const { functions } = loaded;
  const count = functions.count;
  const chain = funcOf(loaded, "a > b > c");
  assert.equal(functions.kind(chain), "folded");
  assert.deepEqual(functions.partsOf(chain).map((part) => functions.name(part)), ["a", "b", "c"]);
  transformed(loaded, { kind: "foldChains" });
  assert.equal(functions.count, count); // the same chains are the same functions
});

test("every chip has words", () => {
  const loaded = loadFolded("a;l.so!x 1");
  const { functions } = loaded;
  const x = funcOf(loaded, "x");
  const label = (transform: Transform): string => labelOf(functions, transform);
  assert.equal(label({ kind: "focus", func: x }), "Focus: x");
  assert.equal(label({ kind: "focusNode", path: [1, x] }), "Subtree: x");
  assert.equal(label({ kind: "collapseLibrary", image: "/a/l.so" }), "Library collapsed: l.so");
  assert.equal(label({ kind: "collapseRecursion", func: null }), "Recursion collapsed");
});

function randomTransform(loaded: Loaded, tree: Tree, random: Random): Transform {
  const func = 1 + random.below(loaded.functions.columns.count - 1);
  const node = random.below(tree.count);
  const path = pathTo(tree, node).slice(1).map((step) => tree.func[step]);
  const choices: Transform[] = [
    { kind: "focus", func },
    { kind: "focusNode", path },
    { kind: "keep", func },
    { kind: "hideStacks", func },
    { kind: "merge", func },
    { kind: "collapseRecursion", func: null },
    { kind: "collapseRecursion", func },
    { kind: "collapseLibrary", image: loaded.functions.image(func) },
    { kind: "foldChains" },
  ];
  return choices[random.below(choices.length)];
}

// What a transform must leave of the whole, told from the stacks alone.
function expectedTotal(tree: Tree, transform: Transform, side: number, count: number): number {
  const whole = tree.total[side][0];
  const withFunc = (func: number): number => sumFunctions(tree, count).total[side][func];
  switch (transform.kind) {
    case "focus":
    case "keep":
      return withFunc(transform.func);
    case "hideStacks":
      return whole - withFunc(transform.func);
    case "focusNode": {
      let node = 0;
      for (const func of transform.path) {
        let child = node + 1;
        while (tree.func[child] !== func) child = tree.end[child];
        node = child;
      }
      return tree.total[side][node];
    }
    default:
      return whole;
  }
}

test("any transforms on any tree keep sums and order", () => {
  for (let seed = 0; seed < 300; ++seed) {
    const random = new Random(seed + 1000);
    const loaded = loadTree(randomTree(seed, seed % 2 === 0 ? 1 : 2));
    let tree = loaded.tree;
    for (let step = 0; step < 4; ++step) {
      const transform = randomTransform(loaded, tree, random);
      const before = tree;
      const untouched = foldedOf(before, loaded.functions);
      tree = transformTree(before, loaded.functions, transform);
      const place = `seed ${seed}, ${JSON.stringify(transform)}`;
      assert.equal(faultOf(tree, loaded.functions), null, place);
      for (let side = 0; side < tree.total.length; ++side) {
        const wanted = expectedTotal(before, transform, side, loaded.functions.count);
        assert.equal(tree.total[side][0], wanted, place);
      }
      assert.deepEqual(foldedOf(before, loaded.functions), untouched, "the old tree changed");
    }
  }
});

test("callers and callees of a function", () => {
  const loaded = loadFolded("a;f;x 1", "b;a;f 2", "b;a;f;f;y 3", "c 4");
  const { tree, functions } = loaded;
  const func = funcOf(loaded, "f");
  const callers = callersOf(tree, functions, func);
  assert.equal(functions.name(callers.func[0]), "f");
  assert.deepEqual(foldedOf(callers, functions), ["a 1", "a;b 5"]);
  const callees = calleesOf(tree, functions, func);
  assert.deepEqual(foldedOf(callees, functions), [" 2", "f;y 3", "x 1"]);
});

test("a sandwich has the function's total with recursion counted once", () => {
  for (let seed = 0; seed < 150; ++seed) {
    const { tree, functions } = loadTree(randomTree(seed, seed % 2 === 0 ? 1 : 2));
    const sums = sumFunctions(tree, functions.count);
    for (let func = 1; func < functions.count; ++func) {
      const callers = callersOf(tree, functions, func);
      const callees = calleesOf(tree, functions, func);
      for (const side of [callers, callees]) {
        assert.equal(faultOf(side, functions), null);
        const wanted = sums.total.map((total) => total[func]);
        assert.deepEqual(side.total.map((total) => total[0]), wanted);
      }
    }
  }
});
