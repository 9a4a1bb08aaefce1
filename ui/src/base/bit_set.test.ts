import assert from "node:assert/strict";
import { test } from "node:test";
import { BitSet } from "./bit_set";

test("counts and neighbours are those of a plain list", () => {
  for (const size of [1, 31, 32, 33, 64, 500]) {
    const members = Array.from({ length: size }, (_, i) => i).filter((i) => (i * i) % 7 === 2);
    const set = new BitSet(size);
    members.forEach((member) => set.add(member));
    set.seal();
    assert.equal(set.count, members.length);
    for (let at = 0; at < size; ++at) {
      assert.equal(set.has(at), members.includes(at));
      assert.equal(set.next(at), members.find((member) => member >= at) ?? -1);
      assert.equal(set.previous(at), members.filter((member) => member <= at).pop() ?? -1);
      for (const end of [at, at + 1, size]) {
        const inside = members.filter((member) => member >= at && member < end).length;
        assert.equal(set.countIn(at, end), inside);
      }
    }
    assert.equal(set.next(size), -1);
    assert.equal(set.previous(-1), -1);
    assert.equal(set.previous(size + 40), members[members.length - 1] ?? -1);
  }
});

test("nodes by function", () => {
  const func = Int32Array.from({ length: 70 }, (_, i) => i % 3);
  const set = BitSet.ofNodes(func, 70, Uint8Array.of(0, 1, 0));
  for (let node = 0; node < 70; ++node) assert.equal(set.has(node), node % 3 === 1);
  assert.equal(set.count, 23);
});
