// The functions of a document, and those that transforms make (a library as one box, a folded
// chain): their names, files and alphabetical order.

import { GrowingInt32, grownInt32 } from "../base/grow";
import { FunctionKind, Inlined } from "./nouns";
import { FunctionColumns } from "./page_data";
import { StringTable } from "./strings";

export const ROOT_NAME = "all";
const KINDS: readonly FunctionKind[] = ["process", "native", "kernel", "unnamed", "other"];
const INLINED: readonly Inlined[] = ["never", "sometimes", "always"];

// Shape: function numbers 0 (root), then the document's in alphabetical order, then made ones in
// the order of their making; a made one keeps its number as long as the document lives.
// Cost: names are slices made on demand; a made function costs 12 bytes and 4 per part.
export class FunctionTable {
  readonly strings: StringTable;
  readonly columns: FunctionColumns;
  private readonly partStart = new GrowingInt32(); // of each made function in `parts`
  private readonly parts = new GrowingInt32(); // functions, outermost first
  private readonly library = new GrowingInt32(); // string of the image of a library box, or -1
  private slots = new Int32Array(64); // open addressing: made number + 1, by its parts
  private readonly libraries = new Map<number, number>();
  private rankCache: Int32Array | null = null;

  constructor(strings: StringTable, columns: FunctionColumns) {
    this.strings = strings;
    this.columns = columns;
    this.partStart.push(0);
  }

  // Of all functions, the root and made ones included.
  get count(): number {
    return this.columns.count + this.library.length;
  }

  isMade(func: number): boolean {
    return func >= this.columns.count;
  }

  name(func: number): string {
    if (func === 0) return ROOT_NAME;
    if (!this.isMade(func)) return this.strings.at(this.columns.name[func]);
    const image = this.library.values[func - this.columns.count];
    if (image >= 0) return `[${baseName(this.strings.at(image))}]`;
    return this.partsOf(func).map((part) => this.name(part)).join(" > ");
  }

  image(func: number): string {
    return this.strings.at(this.imageString(func));
  }

  // The image of a made function is that of its library, or of its outermost part.
  imageString(func: number): number {
    if (!this.isMade(func)) return this.columns.image[func];
    const image = this.library.values[func - this.columns.count];
    return image >= 0 ? image : this.imageString(this.parts.values[this.firstPart(func)]);
  }

  file(func: number): string {
    return this.isMade(func) ? "" : this.strings.at(this.columns.file[func]);
  }

  startLine(func: number): number {
    return this.isMade(func) ? 0 : this.columns.startLine[func];
  }

  kind(func: number): FunctionKind {
    if (func === 0) return "root";
    return this.isMade(func) ? "folded" : KINDS[this.columns.flags[func] & 7];
  }

  inlined(func: number): Inlined {
    return this.isMade(func) ? "never" : INLINED[this.columns.flags[func] >> 3];
  }

  // The functions of a folded chain, outermost first; of any other function itself alone.
  partsOf(func: number): number[] {
    if (!this.isMade(func) || this.isLibrary(func)) return [func];
    const made = func - this.columns.count;
    const list: number[] = [];
    for (let i = this.partStart.values[made]; i < this.partStart.values[made + 1]; ++i) {
      list.push(...this.partsOf(this.parts.values[i]));
    }
    return list;
  }

  // Marks the chains of which a part is marked.
  markChains(marks: Uint8Array): void {
    for (let made = 0; made < this.library.length; ++made) {
      let mark = marks[this.columns.count + made];
      const end = this.partStart.values[made + 1];
      for (let i = this.partStart.values[made]; i < end; ++i) mark |= marks[this.parts.values[i]];
      marks[this.columns.count + made] = mark;
    }
  }

  // Whether it stands for a whole library.
  isLibrary(func: number): boolean {
    return this.isMade(func) && this.library.values[func - this.columns.count] >= 0;
  }

  // The box that stands for all functions of an image (a string of the document).
  makeLibrary(imageString: number): number {
    const known = this.libraries.get(imageString);
    if (known !== undefined) return known;
    const func = this.append(imageString);
    this.libraries.set(imageString, func);
    return func;
  }

  // The box that stands for a chain of functions. The parts are chain[begin, end).
  makeChain(chain: Int32Array, begin: number, end: number): number {
    if ((this.library.length + 1) * 2 > this.slots.length) this.growSlots();
    const mask = this.slots.length - 1;
    let slot = hashOf(chain, begin, end) & mask;
    for (; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const made = this.slots[slot] - 1;
      if (this.samePart(made, chain, begin, end)) return made + this.columns.count;
    }
    for (let i = begin; i < end; ++i) this.parts.push(chain[i]);
    const func = this.append(-1);
    this.slots[slot] = func - this.columns.count + 1;
    return func;
  }

  // Place of each function in the alphabetical order of all.
  // Cost: nothing for the document's own; made ones are sorted in when there are new ones.
  ranks(): Int32Array {
    if (this.rankCache === null || this.rankCache.length !== this.count) {
      this.rankCache = this.makeRanks();
    }
    return this.rankCache;
  }

  private makeRanks(): Int32Array {
    const own = this.columns.count;
    const made = this.count - own;
    const key = new Float64Array(made); // where it stands among the document's functions
    for (let i = 0; i < made; ++i) {
      const library = this.isLibrary(own + i);
      const first = this.parts.values[this.partStart.values[i]];
      if (library) key[i] = this.placeOfName(this.name(own + i)) - 0.5;
      else key[i] = first < own ? first : key[first - own];
    }
    const order = Array.from(key.keys()).sort((a, b) => key[a] - key[b] || a - b);
    const ranks = new Int32Array(this.count);
    let next = 0;
    for (let func = 0, rank = 0; func < own || next < made; ) {
      const isNext = next < made && (func === own || key[order[next]] < func);
      ranks[isNext ? own + order[next++] : func++] = rank++;
    }
    return ranks;
  }

  // The first of the document's functions whose name does not stand before `name`.
  private placeOfName(name: string): number {
    let low = 1;
    let high = this.columns.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.name(middle) < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private firstPart(func: number): number {
    return this.partStart.values[func - this.columns.count];
  }

  private append(library: number): number {
    this.library.push(library);
    this.partStart.push(this.parts.length);
    return this.columns.count + this.library.length - 1;
  }

  private samePart(made: number, chain: Int32Array, begin: number, end: number): boolean {
    const from = this.partStart.values[made];
    if (this.partStart.values[made + 1] - from !== end - begin) return false;
    for (let i = begin; i < end; ++i) {
      if (this.parts.values[from + i - begin] !== chain[i]) return false;
    }
    return true;
  }

  private growSlots(): void {
    this.slots = new Int32Array(grownInt32(this.slots, 0).length);
    const mask = this.slots.length - 1;
    for (let made = 0; made < this.library.length; ++made) {
      const begin = this.partStart.values[made];
      const end = this.partStart.values[made + 1];
      if (begin === end) continue;
      let slot = hashOf(this.parts.values, begin, end) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = made + 1;
    }
  }
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function hashOf(values: Int32Array, begin: number, end: number): number {
  let hash = end - begin;
  for (let i = begin; i < end; ++i) {
    hash = Math.imul(hash ^ values[i], 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
