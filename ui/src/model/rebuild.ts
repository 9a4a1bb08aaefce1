// Two ways to make one tree of another: leaving samples out, and giving nodes other functions.

import { sumTotals, Tree } from "./tree";
import { TreeBuilder } from "./tree_builder";

// The tree with other self values and without the subtrees that then have no value.
export function withSelf(tree: Tree, self: Float64Array[]): Tree {
  const totals = self.map((values) => sumTotals(tree.end, values, tree.depthMax));
  const place = new Int32Array(tree.count + 1); // new number of each node, or of the next kept one
  let count = 0;
  for (let node = 0; node < tree.count; ++node) {
    place[node] = count;
    if (node === 0 || totals.some((total) => total[node] > 0)) ++count;
  }
  place[tree.count] = count;
  const func = new Int32Array(count);
  const end = new Int32Array(count);
  const newSelf = self.map(() => new Float64Array(count));
  const newTotal = self.map(() => new Float64Array(count));
  for (let node = 0; node < tree.count; ++node) {
    const to = place[node];
    if (place[node + 1] === to) continue;
    func[to] = tree.func[node];
    end[to] = place[tree.end[node]];
    for (let side = 0; side < self.length; ++side) {
      newSelf[side][to] = self[side][node];
      newTotal[side][to] = totals[side][node];
    }
  }
  return { count, func, end, self: newSelf, total: newTotal, depthMax: depthOf(end) };
}

export function depthOf(end: Int32Array): number {
  const open: number[] = [];
  let deepest = 0;
  for (let node = 0; node < end.length; ++node) {
    while (open.length > 0 && open[open.length - 1] <= node) open.pop();
    open.push(end[node]);
    if (open.length > deepest) deepest = open.length;
  }
  return deepest - 1;
}

// What becomes of a function.
export interface FunctionChange {
  // By function: the function that its nodes get; -1 = they vanish into their parents.
  to: Int32Array;
  // By function (as in `to`): 1 = a node whose parent has the same one becomes part of the parent.
  joins: Uint8Array;
}

export function noChange(functionCount: number): FunctionChange {
  const to = new Int32Array(functionCount);
  for (let func = 0; func < functionCount; ++func) to[func] = func;
  return { to, joins: new Uint8Array(functionCount) };
}

// Adds subtrees of one tree to another, functions changed on the way.
export class SubtreeAdder {
  private readonly builder: TreeBuilder;
  private readonly tree: Tree;
  private readonly change: FunctionChange;
  private readonly ends: Int32Array; // of the open nodes of `tree`
  private readonly made: Int32Array; // and what they became

  constructor(builder: TreeBuilder, tree: Tree, change: FunctionChange) {
    this.builder = builder;
    this.tree = tree;
    this.change = change;
    this.ends = new Int32Array(tree.depthMax + 2);
    this.made = new Int32Array(tree.depthMax + 2);
  }

  // Adds the nodes [begin, end), which are whole subtrees beside each other, below a node.
  add(under: number, begin: number, end: number): void {
    const { builder, tree, ends, made } = this;
    const { to, joins } = this.change;
    ends[0] = end;
    made[0] = under;
    let depth = 0;
    for (let node = begin; node < end; ++node) {
      while (ends[depth] <= node) --depth;
      const parent = made[depth];
      const func = to[tree.func[node]];
      const joined = func < 0 || (joins[func] === 1 && builder.func.values[parent] === func);
      const place = joined ? parent : builder.child(parent, func);
      builder.addSelf(place, tree, node);
      ++depth;
      ends[depth] = tree.end[node];
      made[depth] = place;
    }
  }
}

// Calls back for each node of a function that has none of it above.
export function forTopmost(tree: Tree, func: number, visit: (node: number) => void): void {
  for (let node = 0; node < tree.count; ) {
    if (tree.func[node] === func) {
      visit(node);
      node = tree.end[node];
    } else {
      ++node;
    }
  }
}
