// Leaving samples out of a tree.

import { GrowingInt32 } from "../base/grow";
import { depthOf, sumTotals, Tree } from "./tree";

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

// The nodes of a function that have none of it above, in order.
export function topmostOf(tree: Tree, func: number): Int32Array {
  const found = new GrowingInt32();
  for (let node = 0; node < tree.count; ) {
    if (tree.func[node] === func) {
      found.push(node);
      node = tree.end[node];
    } else {
      ++node;
    }
  }
  return found.values.subarray(0, found.length);
}
