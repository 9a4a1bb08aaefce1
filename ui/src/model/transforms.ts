// What a user does to the tree: focus, hide, merge, collapse, fold. Each makes a new tree, of which
// the root's total is the sum of all self values, and leaves the old one as it is.

import { baseName, FunctionTable } from "./functions";
import { topmostOf, withSelf } from "./masks";
import { FunctionChange, MergeWalk, noChange } from "./merge_walk";
import { Transform } from "./nouns";
import { childOf, depthOf, Tree } from "./tree";

// Cost: a few passes over the tree; room for one more tree meanwhile.
export function transformTree(tree: Tree, functions: FunctionTable, transform: Transform): Tree {
  switch (transform.kind) {
    case "focus":
      return focus(tree, functions, transform.func);
    case "focusNode":
      return focusNode(tree, transform.path);
    case "keep":
      return maskSamples(tree, transform.func, true);
    case "hideStacks":
      return maskSamples(tree, transform.func, false);
    case "merge": {
      const change = noChange(functions.count);
      if (transform.func > 0) change.to[transform.func] = -1;
      return rebuilt(tree, functions, change);
    }
    case "collapseRecursion": {
      const change = noChange(functions.count);
      if (transform.func === null) change.joins.fill(1);
      else change.joins[transform.func] = 1;
      return rebuilt(tree, functions, change);
    }
    case "collapseLibrary":
      return collapseLibrary(tree, functions, transform.image);
    case "foldChains":
      return foldChains(tree, functions);
  }
}

// What the chip of a transform says.
export function labelOf(functions: FunctionTable, transform: Transform): string {
  switch (transform.kind) {
    case "focus":
      return `Focus: ${functions.name(transform.func)}`;
    case "focusNode":
      return `Subtree: ${functions.name(transform.path[transform.path.length - 1] ?? 0)}`;
    case "keep":
      return `Only stacks with: ${functions.name(transform.func)}`;
    case "hideStacks":
      return `Without stacks of: ${functions.name(transform.func)}`;
    case "merge":
      return `Merged: ${functions.name(transform.func)}`;
    case "collapseRecursion":
      return transform.func === null
        ? "Recursion collapsed"
        : `Recursion collapsed: ${functions.name(transform.func)}`;
    case "collapseLibrary":
      return `Library collapsed: ${baseName(transform.image)}`;
    case "foldChains":
      return "Chains folded";
  }
}

function rebuilt(tree: Tree, functions: FunctionTable, change: FunctionChange): Tree {
  return new MergeWalk(tree, change, functions.ranks(), true).mergedAsRoot([0], 0);
}

function focus(tree: Tree, functions: FunctionTable, func: number): Tree {
  if (func === 0) return tree;
  const walk = new MergeWalk(tree, noChange(functions.count), functions.ranks(), false);
  return walk.mergedBelowRoot(topmostOf(tree, func));
}

function focusNode(tree: Tree, path: number[]): Tree {
  let node = 0;
  for (const func of path) {
    node = childOf(tree, node, func);
    if (node < 0) return nothing(tree);
  }
  if (node === 0) return tree;
  const count = tree.end[node] - node + 1;
  const func = new Int32Array(count);
  const end = new Int32Array(count);
  func.set(tree.func.subarray(node, tree.end[node]), 1);
  end[0] = count;
  for (let i = 1; i < count; ++i) end[i] = tree.end[node + i - 1] - node + 1;
  const part = (from: Float64Array, root: number): Float64Array => {
    const to = new Float64Array(count);
    to.set(from.subarray(node, tree.end[node]), 1);
    to[0] = root;
    return to;
  };
  const self = tree.self.map((values) => part(values, 0));
  const total = tree.total.map((values) => part(values, values[node]));
  return { count, func, end, self, total, depthMax: depthOf(end) };
}

function nothing(tree: Tree): Tree {
  const none = (): Float64Array[] => tree.self.map(() => new Float64Array(1));
  const end = Int32Array.of(1);
  return { count: 1, func: new Int32Array(1), end, self: none(), total: none(), depthMax: 0 };
}

// Only the samples whose stack has the function, or only those whose stack has it not.
function maskSamples(tree: Tree, func: number, inside: boolean): Tree {
  const self = tree.self.map((values) =>
    inside ? new Float64Array(values.length) : values.slice(),
  );
  for (const node of topmostOf(tree, func)) {
    const end = tree.end[node];
    for (let side = 0; side < self.length; ++side) {
      if (inside) self[side].set(tree.self[side].subarray(node, end), node);
      else self[side].fill(0, node, end);
    }
  }
  return withSelf(tree, self);
}

function collapseLibrary(tree: Tree, functions: FunctionTable, image: string): Tree {
  const imageString = functions.strings.indexOf(image);
  if (image === "" || imageString < 0) return tree;
  const library = functions.makeLibrary(imageString);
  const change = noChange(functions.count);
  for (let func = 1; func < functions.columns.count; ++func) {
    const collapses = functions.imageString(func) === imageString;
    if (collapses && functions.kind(func) !== "process") change.to[func] = library;
  }
  change.joins[library] = 1;
  return rebuilt(tree, functions, change);
}

// A node without self value and with one child is one with that child. The process stays apart.
function foldChains(tree: Tree, functions: FunctionTable): Tree {
  const { func, end, count } = tree;
  const place = new Int32Array(count + 1); // new number of the box that each node is in
  const starts: number[] = [];
  const isLink = (node: number): boolean =>
    node + 1 < end[node] &&
    end[node + 1] === end[node] &&
    tree.self.every((self) => self[node] === 0);
  for (let node = 0; node < count; ) {
    let last = node;
    const stays = node === 0 || functions.kind(func[node]) === "process";
    while (!stays && isLink(last)) ++last;
    place.fill(starts.length, node, last + 1);
    starts.push(node);
    node = last + 1;
  }
  place[count] = starts.length;
  const made = starts.length;
  const newFunc = new Int32Array(made);
  const newEnd = new Int32Array(made);
  const self = tree.self.map(() => new Float64Array(made));
  const total = tree.self.map(() => new Float64Array(made));
  for (let to = 0; to < made; ++to) {
    const node = starts[to];
    const next = to + 1 < made ? starts[to + 1] : count;
    newFunc[to] = next - node === 1 ? func[node] : functions.makeChain(func, node, next);
    newEnd[to] = place[end[node]];
    for (let side = 0; side < self.length; ++side) {
      self[side][to] = tree.self[side][next - 1];
      total[side][to] = tree.total[side][node];
    }
  }
  return { count: made, func: newFunc, end: newEnd, self, total, depthMax: depthOf(newEnd) };
}
