// The tree of all stacks: the noun that every other part of the model works on.

// Shape: preorder, node 0 = root; siblings in alphabetical order. The children of a node begin at
// node + 1 and go on by `end` until its own `end`. There is no parent column: see pathTo.
// Units: values as the document has them, per side (0 = before or only, 1 = after).
// Cost: 8 bytes per node and 16 per node and side.
export interface Tree {
  count: number;
  func: Int32Array;
  end: Int32Array; // one past the last node of the subtree
  self: Float64Array[];
  total: Float64Array[];
  depthMax: number; // of the root: 0
}

// The tree without the nodes that have no value on any side, as those of other value types: they
// have no box. The root stays.
// Cost: one pass over the nodes, and a copy when some go.
export function withoutNothing(tree: Tree): Tree {
  const { count, end, total } = tree;
  const last = total[total.length - 1];
  const kept = new Int32Array(count + 1); // nodes kept before this one
  let keptCount = 0;
  for (let node = 0; node < count; ++node) {
    kept[node] = keptCount;
    if (node === 0 || total[0][node] > 0 || last[node] > 0) ++keptCount;
  }
  kept[count] = keptCount;
  if (keptCount === count) return tree;
  const isKept = (_: number, node: number): boolean => kept[node + 1] > kept[node];
  const keptEnd = end.filter(isKept).map((node) => kept[node]);
  return {
    count: keptCount,
    func: tree.func.filter(isKept),
    end: keptEnd,
    self: tree.self.map((self) => self.filter(isKept)),
    total: total.map((values) => values.filter(isKept)),
    depthMax: depthOfAll(keptEnd),
  };
}

// Depth of the deepest node; the root's is 0.
function depthOfAll(end: Int32Array): number {
  const open: number[] = [];
  let depthMax = 0;
  for (let node = 0; node < end.length; ++node) {
    while (open.length > 0 && open[open.length - 1] <= node) open.pop();
    depthMax = Math.max(depthMax, open.length);
    open.push(end[node]);
  }
  return depthMax;
}

// The nodes from the root to this one, both included.
// Cost: visits the siblings left of each node on the path.
export function pathTo(tree: Tree, node: number): number[] {
  const path = [0];
  let at = 0;
  while (at !== node) {
    let child = at + 1;
    while (tree.end[child] <= node) child = tree.end[child];
    at = child;
    path.push(at);
  }
  return path;
}

// The child of a node that has this function, or -1.
export function childOf(tree: Tree, node: number, func: number): number {
  for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
    if (tree.func[child] === func) return child;
  }
  return -1;
}

export function totalsOf(tree: Tree, node: number): number[] {
  return tree.total.map((total) => total[node]);
}

export function selfOf(tree: Tree, node: number): number[] {
  return tree.self.map((self) => self[node]);
}

// Makes the totals from the self values. Cost: one pass backwards over the nodes.
// depthMax: of the tree; bounds the work space.
export function sumTotals(end: Int32Array, self: Float64Array, depthMax: number): Float64Array {
  const count = end.length;
  const total = new Float64Array(count);
  const open = new Int32Array(depthMax + 2); // nodes whose subtree is not over yet
  let depth = -1;
  for (let node = 0; node < count; ++node) {
    while (depth >= 0 && end[open[depth]] <= node) {
      const done = open[depth--];
      total[open[depth]] += total[done];
    }
    total[node] += self[node];
    open[++depth] = node;
  }
  while (depth > 0) {
    const done = open[depth--];
    total[open[depth]] += total[done];
  }
  return total;
}

// The depth of the deepest node, the root's being 0.
export function depthOf(end: Int32Array): number {
  const open: number[] = []; // ends of the path's nodes
  let deepest = 0;
  for (let node = 0; node < end.length; ++node) {
    while (open.length > 0 && open[open.length - 1] <= node) open.pop();
    open.push(end[node]);
    if (open.length > deepest) deepest = open.length;
  }
  return deepest - 1;
}

// Self and total of each function over a whole tree, recursion counted once.
// Shape: indexed by function.
export interface FunctionSums {
  self: Float64Array[];
  total: Float64Array[];
  instances: Uint32Array;
}

// What the boxes of each function are wide, all of them together, per side.
export function sumBoxes(tree: Tree, functionCount: number): Float64Array[] {
  return tree.total.map((total) => {
    const sums = new Float64Array(functionCount);
    for (let node = 0; node < tree.count; ++node) sums[tree.func[node]] += total[node];
    return sums;
  });
}

export function sumFunctions(tree: Tree, functionCount: number): FunctionSums {
  const { func, end, count } = tree;
  const instances = new Uint32Array(functionCount);
  const self = tree.self.map(() => new Float64Array(functionCount));
  const total = tree.self.map(() => new Float64Array(functionCount));
  const covered = new Int32Array(functionCount); // end of the last topmost instance
  for (let side = 0; side < self.length; ++side) {
    const selfSum = self[side];
    const totalSum = total[side];
    const nodeSelf = tree.self[side];
    const nodeTotal = tree.total[side];
    covered.fill(0);
    for (let node = 0; node < count; ++node) {
      const f = func[node];
      selfSum[f] += nodeSelf[node];
      if (node >= covered[f]) {
        covered[f] = end[node];
        totalSum[f] += nodeTotal[node];
      }
    }
  }
  for (let node = 0; node < count; ++node) ++instances[func[node]];
  return { self, total, instances };
}
