// One shown tree with what was worked out about it.

import { BitSet } from "../base/bit_set";
import { FunctionTable } from "../model/functions";
import { FunctionSums, sumFunctions, Tree } from "../model/tree";

export class View {
  readonly tree: Tree;
  // What search and legend select: functions and the nodes that have them; null = neither is in
  // use; undefined = not worked out.
  selected: { functions: Uint8Array; nodes: BitSet } | null | undefined = undefined;
  // The last order of the table, and what it was made for.
  rows: { key: string; functions: Int32Array } | null = null;
  private readonly functions: FunctionTable;
  private sumsCache: FunctionSums | null = null;

  constructor(tree: Tree, functions: FunctionTable) {
    this.tree = tree;
    this.functions = functions;
  }

  // Values of each function, made on first use. Cost: one pass over the tree.
  sums(): FunctionSums {
    const cached = this.sumsCache;
    if (cached !== null && cached.instances.length === this.functions.count) return cached;
    this.sumsCache = sumFunctions(this.tree, this.functions.count);
    return this.sumsCache;
  }

  // Functions that have a box, the root left out: the rows of the table.
  functionCount(): number {
    const { instances } = this.sums();
    let count = 0;
    for (let func = 1; func < instances.length; ++func) count += instances[func] > 0 ? 1 : 0;
    return count;
  }

  select(marks: Uint8Array | null): void {
    const { func, count } = this.tree;
    this.selected =
      marks === null ? null : { functions: marks, nodes: BitSet.ofNodes(func, count, marks) };
    this.rows = null;
  }
}
