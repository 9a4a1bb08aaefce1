// Addresses of nodes that survive a reload and small changes elsewhere: a hash of the names on the
// path, so that they hold as long as the path exists.

import { FunctionTable } from "./functions";
import { pathTo, Tree } from "./tree";

// Hashes of 64 bits, in two columns by function, each made on first use.
// Cost: 9 bytes per function.
export class Addresses {
  private readonly functions: FunctionTable;
  private low = new Int32Array(0);
  private high = new Int32Array(0);
  private isKnown = new Uint8Array(0);

  constructor(functions: FunctionTable) {
    this.functions = functions;
  }

  // "depth-hash" of a node.
  addressOf(tree: Tree, node: number): string {
    this.makeRoom();
    const path = pathTo(tree, node);
    let low = 0;
    let high = 0;
    for (const step of path.slice(1)) {
      this.hashName(tree.func[step]);
      low = mix(low, this.low[tree.func[step]]);
      high = mix(high, this.high[tree.func[step]]);
    }
    return `${path.length - 1}-${hex(high)}${hex(low)}`;
  }

  // Cost: one pass over the tree; the first one reads every name.
  nodeAt(tree: Tree, address: string): number | null {
    const parts = /^(\d{1,6})-([0-9a-f]{8})([0-9a-f]{8})$/.exec(address);
    if (parts === null) return null;
    const wantedDepth = Number(parts[1]);
    const wantedHigh = parseInt(parts[2], 16) | 0;
    const wantedLow = parseInt(parts[3], 16) | 0;
    if (wantedDepth > tree.depthMax) return null;
    if (wantedDepth === 0) return wantedHigh === 0 && wantedLow === 0 ? 0 : null;
    this.makeRoom();
    for (let func = 1; func < this.functions.count; ++func) this.hashName(func);
    const low = new Int32Array(wantedDepth + 1); // of the path to each open node
    const high = new Int32Array(wantedDepth + 1);
    const ends = new Int32Array(wantedDepth + 1);
    ends[0] = tree.count;
    let depth = 0;
    for (let node = 1; node < tree.count; ) {
      while (ends[depth] <= node) --depth;
      ++depth;
      low[depth] = mix(low[depth - 1], this.low[tree.func[node]]);
      high[depth] = mix(high[depth - 1], this.high[tree.func[node]]);
      ends[depth] = tree.end[node];
      if (depth < wantedDepth) {
        ++node;
        continue;
      }
      if (low[depth] === wantedLow && high[depth] === wantedHigh) return node;
      node = tree.end[node]; // what is deeper is not looked at
    }
    return null;
  }

  private makeRoom(): void {
    const count = this.functions.count;
    if (this.isKnown.length === count) return;
    const { low, high, isKnown } = this;
    this.low = new Int32Array(count);
    this.high = new Int32Array(count);
    this.isKnown = new Uint8Array(count);
    this.low.set(low);
    this.high.set(high);
    this.isKnown.set(isKnown);
  }

  private hashName(func: number): void {
    if (this.isKnown[func] === 1) return;
    this.isKnown[func] = 1;
    const name = this.functions.name(func);
    this.low[func] = hashText(name, 0x811c9dc5);
    this.high[func] = hashText(this.functions.image(func), hashText(name, 0x2545f491));
  }
}

function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; ++i) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return finish(hash ^ text.length);
}

function mix(path: number, func: number): number {
  return finish(Math.imul(path, 31) + func + 1);
}

function finish(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}
