// Makes a tree of another one whose functions change or whose subtrees come together: equal
// siblings become one. Siblings are in order already, so that what is single is copied as a whole.

import { BitSet } from "../base/bit_set";
import { GrowingInt32 } from "../base/grow";
import { depthOf, Tree } from "./tree";

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

const CLOSE = -1; // on the stack: the node below it is whole
const COPY_BY_HAND = 24; // nodes; larger parts are copied by the runtime
const SORT_BY_HAND = 24;

// Cost: visits what changes or comes together, and the nodes above it; the rest is copied. Room for
// one more tree of the same size meanwhile.
export class MergeWalk {
  private readonly tree: Tree;
  private readonly change: FunctionChange;
  private readonly ranks: Int32Array;
  private readonly changed: BitSet | null; // nodes; null = none
  private made = 0;
  private readonly func: Int32Array;
  private readonly end: Int32Array;
  private readonly self: Float64Array[];
  private readonly total: Float64Array[];
  // Groups of nodes that become one, the next one on top: nodes, then their number.
  private readonly stack = new GrowingInt32(1024);
  private readonly sources = new GrowingInt32(256); // nodes that are now becoming one
  private keys = new Float64Array(256); // of their children: rank * nodes + node

  // ranks: alphabetical place of each function.
  constructor(tree: Tree, change: FunctionChange, ranks: Int32Array, changes: boolean) {
    this.tree = tree;
    this.change = change;
    this.ranks = ranks;
    this.changed = changes ? changedNodes(tree, change) : null;
    const capacity = tree.count + 1;
    this.func = new Int32Array(capacity);
    this.end = new Int32Array(capacity);
    this.self = tree.self.map(() => new Float64Array(capacity));
    this.total = tree.self.map(() => new Float64Array(capacity));
  }

  // The tree whose root is all of these nodes in one, with another function.
  mergedAsRoot(nodes: ArrayLike<number>, rootFunc: number): Tree {
    for (let i = 0; i < nodes.length; ++i) this.sources.push(nodes[i]);
    this.emit(rootFunc);
    return this.finish();
  }

  // The tree whose root has these nodes, of one function, below it as one.
  mergedBelowRoot(nodes: ArrayLike<number>): Tree {
    this.openNode(0);
    if (nodes.length > 0) {
      this.pushAll(nodes);
      this.total.forEach((total, side) => {
        for (let i = 0; i < nodes.length; ++i) total[0] += this.tree.total[side][nodes[i]];
      });
    }
    return this.finish();
  }

  private finish(): Tree {
    const { stack, tree } = this;
    while (stack.length > 0) {
      const size = stack.values[--stack.length];
      if (size === CLOSE) {
        this.end[stack.values[--stack.length]] = this.made;
        continue;
      }
      const first = stack.values[stack.length - size];
      const whole = this.changed === null || this.changed.countIn(first, tree.end[first]) === 0;
      if (size === 1 && whole) {
        --stack.length;
        this.copy(first);
        continue;
      }
      this.sources.length = 0;
      for (let i = stack.length - size; i < stack.length; ++i) this.sources.push(stack.values[i]);
      stack.length -= size;
      this.emit(this.change.to[tree.func[first]]);
    }
    const count = this.made;
    const end = this.end.slice(0, count);
    return {
      count,
      func: this.func.slice(0, count),
      end,
      self: this.self.map((self) => self.slice(0, count)),
      total: this.total.map((total) => total.slice(0, count)),
      depthMax: depthOf(end),
    };
  }

  // Makes a node, whose end comes when all that is pushed after it is done.
  private openNode(func: number): number {
    const out = this.made++;
    this.func[out] = func;
    this.stack.push(out);
    this.stack.push(CLOSE);
    return out;
  }

  private pushAll(nodes: ArrayLike<number>): void {
    for (let i = 0; i < nodes.length; ++i) this.stack.push(nodes[i]);
    this.stack.push(nodes.length);
  }

  private copy(node: number): void {
    const { tree, made } = this;
    const end = tree.end[node];
    const count = end - node;
    const shift = made - node;
    if (count <= COPY_BY_HAND) {
      for (let i = node; i < end; ++i) this.func[i + shift] = tree.func[i];
      for (let side = 0; side < this.self.length; ++side) {
        const self = this.self[side];
        const total = this.total[side];
        for (let i = node; i < end; ++i) {
          self[i + shift] = tree.self[side][i];
          total[i + shift] = tree.total[side][i];
        }
      }
    } else {
      this.func.set(tree.func.subarray(node, end), made);
      for (let side = 0; side < this.self.length; ++side) {
        this.self[side].set(tree.self[side].subarray(node, end), made);
        this.total[side].set(tree.total[side].subarray(node, end), made);
      }
    }
    for (let i = node; i < end; ++i) this.end[i + shift] = tree.end[i] + shift;
    this.made += count;
  }

  // Makes one node of all sources, and pushes the groups of their children.
  private emit(func: number): void {
    const { tree, sources, change } = this;
    const out = this.openNode(func);
    for (let i = 0; i < sources.length; ++i) this.addTotal(out, sources.values[i]);
    let children = 0;
    let inOrder = true;
    for (let i = 0; i < sources.length; ++i) {
      const source = sources.values[i];
      this.addSelf(out, source);
      const end = tree.end[source];
      for (let child = source + 1; child < end; child = tree.end[child]) {
        const to = change.to[tree.func[child]];
        if (to < 0 || (change.joins[to] === 1 && to === func)) {
          sources.push(child);
          continue;
        }
        const key = this.ranks[to] * tree.count + child;
        if (children === this.keys.length) this.growKeys();
        if (children > 0 && this.keys[children - 1] > key) inOrder = false;
        this.keys[children++] = key;
      }
    }
    if (!inOrder) sortKeys(this.keys, children);
    this.pushGroups(children);
  }

  // Pushes groups of children of equal rank, the last one first.
  private pushGroups(children: number): void {
    const count = this.tree.count;
    const { keys, stack } = this;
    for (let last = children - 1; last >= 0; ) {
      const rank = Math.floor(keys[last] / count);
      let size = 0;
      for (; last >= 0 && keys[last] >= rank * count; --last, ++size) {
        stack.push(keys[last] - rank * count);
      }
      stack.push(size);
    }
  }

  private addSelf(out: number, node: number): void {
    for (let side = 0; side < this.self.length; ++side) {
      this.self[side][out] += this.tree.self[side][node];
    }
  }

  private addTotal(out: number, node: number): void {
    for (let side = 0; side < this.self.length; ++side) {
      this.total[side][out] += this.tree.total[side][node];
    }
  }

  private growKeys(): void {
    const grown = new Float64Array(this.keys.length * 2);
    grown.set(this.keys);
    this.keys = grown;
  }
}

// The nodes that get another function, vanish, or become part of their parents.
function changedNodes(tree: Tree, change: FunctionChange): BitSet {
  const { func, end, count } = tree;
  const { to, joins } = change;
  const changed = new BitSet(count);
  const ends = new Int32Array(tree.depthMax + 2);
  const funcs = new Int32Array(tree.depthMax + 2); // new ones of the path
  ends[0] = count;
  let depth = 0;
  for (let node = 1; node < count; ++node) {
    while (ends[depth] <= node) --depth;
    const next = to[func[node]];
    if (next !== func[node] || (joins[next] === 1 && next === funcs[depth])) changed.add(node);
    ++depth;
    ends[depth] = end[node];
    funcs[depth] = next;
  }
  changed.seal();
  return changed;
}

function sortKeys(keys: Float64Array, count: number): void {
  if (count > SORT_BY_HAND) {
    keys.subarray(0, count).sort();
    return;
  }
  for (let i = 1; i < count; ++i) {
    const key = keys[i];
    let at = i;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}
