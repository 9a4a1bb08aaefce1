// Makes trees out of stacks that come in any order: equal siblings become one.

import { GrowingFloat64, GrowingInt32, grownInt32 } from "../base/grow";
import { sumTotals, Tree } from "./tree";

// Nodes are made parents first and numbered in the order of making; 0 is the root.
// Cost: about 24 bytes per node of one side, as much again while it finishes.
export class TreeBuilder {
  readonly func: GrowingInt32;
  private readonly parent: GrowingInt32;
  private readonly self: GrowingFloat64[];
  private slots: Int32Array; // open addressing: node, by parent and function; 0 = free

  constructor(rootFunc: number, sides: number, capacity: number) {
    this.func = new GrowingInt32(capacity);
    this.parent = new GrowingInt32(capacity);
    this.self = Array.from({ length: sides }, () => new GrowingFloat64(capacity));
    this.slots = new Int32Array(slotsFor(capacity));
    this.append(-1, rootFunc);
  }

  get count(): number {
    return this.func.length;
  }

  // The child of `parent` with this function, made if it is not there.
  child(parent: number, func: number): number {
    const slots = this.slots;
    const mask = slots.length - 1;
    const parents = this.parent.values;
    const funcs = this.func.values;
    let slot = hashOf(parent, func) & mask;
    for (let node = slots[slot]; node !== 0; node = slots[slot]) {
      if (parents[node] === parent && funcs[node] === func) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.append(parent, func);
    slots[slot] = node;
    if (node * 2 > slots.length) this.growSlots();
    return node;
  }

  addValue(node: number, side: number, value: number): void {
    this.self[side].values[node] += value;
  }

  // ranks: alphabetical place of each function. The builder is of no use afterwards.
  finish(ranks: Int32Array): Tree {
    const count = this.count;
    this.slots = new Int32Array(0);
    const { first, next } = this.sortSiblings(ranks);
    const func = new Int32Array(count);
    const end = new Int32Array(count);
    const self = this.self.map(() => new Float64Array(count));
    const open = new GrowingInt32(); // preorder numbers of the path
    const parents = this.parent.values;
    const funcs = this.func.values;
    let depthMax = 0;
    let made = 0;
    for (let node = 0; node >= 0; ) {
      func[made] = funcs[node];
      self.forEach((values, side) => (values[made] = this.self[side].values[node]));
      open.push(made++);
      if (open.length - 1 > depthMax) depthMax = open.length - 1;
      let step = first[node];
      while (step < 0 && node >= 0) {
        end[open.values[--open.length]] = made;
        step = next[node];
        node = parents[node];
      }
      node = step;
    }
    const total = self.map((values) => sumTotals(end, values, depthMax));
    return { count, func, end, self, total, depthMax };
  }

  // Lists of children in alphabetical order: the first child and the next sibling of each node.
  private sortSiblings(ranks: Int32Array): { first: Int32Array; next: Int32Array } {
    const count = this.count;
    const funcs = this.func.values;
    const parents = this.parent.values;
    const starts = new Int32Array(ranks.length + 1); // of each rank in `order`
    for (let node = 0; node < count; ++node) ++starts[ranks[funcs[node]] + 1];
    for (let rank = 0; rank < ranks.length; ++rank) starts[rank + 1] += starts[rank];
    const order = new Int32Array(count);
    for (let node = 0; node < count; ++node) order[starts[ranks[funcs[node]]]++] = node;
    const first = new Int32Array(count).fill(-1);
    const next = new Int32Array(count).fill(-1);
    for (let i = count - 1; i >= 0; --i) {
      const node = order[i];
      if (node === 0) continue;
      next[node] = first[parents[node]];
      first[parents[node]] = node;
    }
    return { first, next };
  }

  private append(parent: number, func: number): number {
    this.parent.push(parent);
    this.func.push(func);
    for (const self of this.self) self.push(0);
    return this.func.length - 1;
  }

  private growSlots(): void {
    this.slots = new Int32Array(grownInt32(this.slots, 0).length);
    const mask = this.slots.length - 1;
    for (let node = 1; node < this.count; ++node) {
      let slot = hashOf(this.parent.values[node], this.func.values[node]) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = node;
    }
  }
}

function slotsFor(capacity: number): number {
  let slots = 64;
  while (slots < capacity * 2) slots *= 2;
  return slots;
}

function hashOf(parent: number, func: number): number {
  const hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(func, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
