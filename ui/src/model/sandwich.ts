// One function in the middle: who calls it, and what it calls, each as a tree with it as the root.

import { FunctionTable } from "./functions";
import { topmostOf } from "./masks";
import { MergeWalk, noChange } from "./merge_walk";
import { Tree } from "./tree";
import { TreeBuilder } from "./tree_builder";

// Both trees have the function's total, in which recursion is counted once: only its topmost calls.

// Callers: the children of a node are those that call it; self is what came in by this whole path.
// Cost: the depth of each topmost call.
export function callersOf(tree: Tree, functions: FunctionTable, func: number): Tree {
  const builder = new TreeBuilder(func, tree.self.length, 1024);
  const open = new Int32Array(tree.depthMax + 2); // nodes on the path, the root first
  let depth = -1;
  for (let node = 0; node < tree.count; ) {
    while (depth >= 0 && tree.end[open[depth]] <= node) --depth;
    if (tree.func[node] !== func) {
      open[++depth] = node++;
      continue;
    }
    let at = 0;
    for (let level = depth; level > 0; --level) at = builder.child(at, tree.func[open[level]]);
    for (let side = 0; side < tree.self.length; ++side) {
      builder.addValue(at, side, tree.total[side][node]);
    }
    node = tree.end[node];
  }
  return builder.finish(functions.ranks());
}

export function calleesOf(tree: Tree, functions: FunctionTable, func: number): Tree {
  const walk = new MergeWalk(tree, noChange(functions.count), functions.ranks(), false);
  return walk.mergedAsRoot(topmostOf(tree, func), func);
}
