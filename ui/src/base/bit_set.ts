// A set of small whole numbers that answers "how many in this range" at once.
// Shape: one bit each, and the number of bits before each word. Cost: 2 bits per possible member.
export class BitSet {
  readonly size: number; // members are below it
  private readonly words: Uint32Array;
  private readonly before: Uint32Array; // members before each word; valid after seal()

  constructor(size: number) {
    this.size = size;
    this.words = new Uint32Array((size >>> 5) + 1);
    this.before = new Uint32Array(this.words.length + 1);
  }

  // The nodes whose function is selected.
  static ofNodes(func: Int32Array, count: number, selected: Uint8Array): BitSet {
    const set = new BitSet(count);
    const words = set.words;
    let word = 0;
    for (let node = 0; node < count; ++node) {
      word |= selected[func[node]] << (node & 31);
      if ((node & 31) === 31) {
        words[node >>> 5] = word;
        word = 0;
      }
    }
    words[count >>> 5] |= word;
    set.seal();
    return set;
  }

  add(member: number): void {
    this.words[member >>> 5] |= 1 << (member & 31);
  }

  // To be called after the last add().
  seal(): void {
    let sum = 0;
    for (let i = 0; i < this.words.length; ++i) {
      this.before[i] = sum;
      sum += bitsIn(this.words[i]);
    }
    this.before[this.words.length] = sum;
  }

  get count(): number {
    return this.before[this.words.length];
  }

  has(member: number): boolean {
    return ((this.words[member >>> 5] >>> (member & 31)) & 1) !== 0;
  }

  // Members in [begin, end).
  countIn(begin: number, end: number): number {
    return end <= begin ? 0 : this.countBelow(end) - this.countBelow(begin);
  }

  // The smallest member >= from, or -1.
  next(from: number): number {
    if (from >= this.size) return -1;
    let index = from >>> 5;
    let word = (this.words[index] >>> (from & 31)) << (from & 31);
    while (word === 0) {
      if (++index >= this.words.length) return -1;
      word = this.words[index];
    }
    return index * 32 + (31 - Math.clz32(word & -word));
  }

  // The largest member <= from, or -1.
  previous(from: number): number {
    if (from < 0) return -1;
    let index = Math.min(from, this.size - 1) >>> 5;
    const last = Math.min(from, this.size - 1) & 31;
    let word = (this.words[index] << (31 - last)) >>> (31 - last);
    while (word === 0) {
      if (--index < 0) return -1;
      word = this.words[index];
    }
    return index * 32 + (31 - Math.clz32(word));
  }

  private countBelow(end: number): number {
    const word = this.words[end >>> 5];
    const mask = (1 << (end & 31)) - 1;
    return this.before[end >>> 5] + bitsIn(word & mask);
  }
}

function bitsIn(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
