// For tests: trees out of test documents, written as text, and what must be true of every tree.

import { FunctionTable } from "./functions";
import { PageDocument } from "./page_data";
import { encodeDocument, TestTree, treeOfFolded } from "./test_documents";
import { Tree } from "./tree";

export interface Loaded {
  document: PageDocument;
  functions: FunctionTable;
  tree: Tree;
}

export function loadTree(tree: TestTree): Loaded {
  const document = new PageDocument(encodeDocument(tree));
  const functions = new FunctionTable(document.strings, document.functions);
  return { document, functions, tree: document.tree(0) };
}

export function loadFolded(...lines: string[]): Loaded {
  return loadTree(treeOfFolded(lines));
}

// The stacks with self value as folded text, in the order of the tree; the root's function is left
// out. Shape: "a;b 3" with one value per side.
export function foldedOf(tree: Tree, functions: FunctionTable): string[] {
  const lines: string[] = [];
  const path: number[] = [];
  for (let node = 0; node < tree.count; ++node) {
    while (path.length > 0 && tree.end[path[path.length - 1]] <= node) path.pop();
    path.push(node);
    const values = tree.self.map((self) => self[node]);
    if (values.every((value) => value === 0)) continue;
    const names = path.slice(1).map((step) => functions.name(tree.func[step]));
    lines.push(`${names.join(";")} ${values.join(" ")}`);
  }
  return lines;
}

// What is wrong with a tree, or null: preorder, order of siblings, totals, depth.
export function faultOf(tree: Tree, functions: FunctionTable): string | null {
  const ranks = functions.ranks();
  const { count, func, end } = tree;
  if (func.length !== count || end.length !== count || end[0] !== count) return "column lengths";
  let deepest = 0;
  const path: number[] = [];
  const below = tree.self.map(() => new Float64Array(count));
  for (let node = 0; node < count; ++node) {
    while (path.length > 0 && end[path[path.length - 1]] <= node) path.pop();
    const outer = path.length > 0 ? end[path[path.length - 1]] : count;
    if (end[node] <= node || end[node] > outer) return `end of ${node}`;
    path.push(node);
    deepest = Math.max(deepest, path.length - 1);
    let last = -1;
    for (let child = node + 1; child < end[node]; child = end[child]) {
      if (ranks[func[child]] <= last) return `order of the children of ${node}`;
      last = ranks[func[child]];
    }
    for (const step of path) below.forEach((sum, side) => (sum[step] += tree.self[side][node]));
  }
  if (tree.depthMax !== deepest) return `depth ${tree.depthMax}, not ${deepest}`;
  for (let side = 0; side < below.length; ++side) {
    const wrong = below[side].findIndex((sum, node) => sum !== tree.total[side][node]);
    if (wrong >= 0) return `total of ${wrong}`;
  }
  return null;
}
