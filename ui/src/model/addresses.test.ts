import assert from "node:assert/strict";
import { test } from "node:test";
import { Addresses } from "./addresses";
import { randomTree } from "./test_profiles";
import { loadFolded, loadTree } from "./test_trees";
import { transformTree } from "./transforms";

test("every node is found again by its address", () => {
  for (let seed = 0; seed < 60; ++seed) {
    const { tree, functions } = loadTree(randomTree(seed, 1));
    const addresses = new Addresses(functions);
    for (let node = 0; node < tree.count; ++node) {
      assert.equal(addresses.nodeAt(tree, addresses.addressOf(tree, node)), node);
    }
  }
});

test("an address outlives other stacks, and names a path, not a place", () => {
  const before = loadFolded("a;b 1", "c;b 2");
  const after = loadFolded("0;b 1", "a;b 1", "a;a 1", "c;b 9", "d 1");
  const address = new Addresses(before.functions).addressOf(before.tree, 4);
  const node = new Addresses(after.functions).nodeAt(after.tree, address);
  assert.equal(node, 7);
});

test("what is not there or no address is null", () => {
  const { tree, functions } = loadFolded("a;b 1", "c 2");
  const addresses = new Addresses(functions);
  const other = loadFolded("x;y 1");
  const foreign = new Addresses(other.functions).addressOf(other.tree, 2);
  for (const address of [foreign, "", "x", "1-", "9-0000000000000000", "0-0000000000000001"]) {
    assert.equal(addresses.nodeAt(tree, address), null);
  }
});

test("folded boxes have addresses, too", () => {
  const { tree, functions } = loadFolded("a;b 1", "c;d 2");
  const addresses = new Addresses(functions);
  addresses.addressOf(tree, 1);
  const folded = transformTree(tree, functions, { kind: "foldChains" });
  const address = addresses.addressOf(folded, 2);
  assert.equal(addresses.nodeAt(folded, address), 2);
  assert.equal(addresses.nodeAt(tree, address), null);
});
