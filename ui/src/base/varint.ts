// Reads the bytes of a page's data: variable-length numbers, fixed ones, and ranges, each checked.

// What is wrong in page data, and where. Everything that reads foreign bytes throws only this.
export class PageDataError extends Error {
  readonly section: string;
  readonly byte: number;
  readonly what: string;

  // byte: offset in the whole data, after gzip is undone.
  constructor(section: string, byte: number, what: string) {
    super(`page data, section ${section}, byte ${byte}: ${what}`);
    this.name = "PageDataError";
    this.section = section;
    this.byte = byte;
    this.what = what;
  }
}

// A position that moves forward in [begin, end) of some bytes.
// Cost: no allocation.
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly section: string;
  readonly end: number;
  position: number;

  constructor(bytes: Uint8Array, section: string, begin: number, end: number) {
    this.bytes = bytes;
    this.section = section;
    this.position = begin;
    this.end = end;
  }

  get left(): number {
    return this.end - this.position;
  }

  fail(what: string): never {
    throw new PageDataError(this.section, this.position, what);
  }

  // Unsigned LEB128, up to 2^53.
  varint(): number {
    const bytes = this.bytes;
    if (this.position >= this.end) this.fail("ends inside a number");
    const first = bytes[this.position++];
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let scale = 128;
    for (let length = 1; length < 8; ++length) {
      if (this.position >= this.end) this.fail("ends inside a number");
      const byte = bytes[this.position++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER + 1) this.fail("a number above 2^53");
        return value;
      }
      scale *= 128;
    }
    return this.fail("a number longer than 8 bytes");
  }

  // A varint that is at most `max`.
  varintUpTo(max: number, what: string): number {
    const begin = this.position;
    const value = this.varint();
    if (value > max) {
      const text = `${what} is ${value}, at most ${max} is possible`;
      throw new PageDataError(this.section, begin, text);
    }
    return value;
  }

  // A count of things of at least `bytesEach` bytes that follow: never more than can be there.
  count(bytesEach: number, what: string): number {
    const begin = this.position;
    const value = this.varint();
    if (value * bytesEach > this.left) {
      const text = `${value} ${what} do not fit ${this.left} bytes`;
      throw new PageDataError(this.section, begin, text);
    }
    return value;
  }

  uint32(): number {
    if (this.left < 4) this.fail("ends inside a number");
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.position, 4);
    this.position += 4;
    return view.getUint32(0, true);
  }

  float64(): number {
    if (this.left < 8) this.fail("ends inside a number");
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.position, 8);
    this.position += 8;
    return view.getFloat64(0, true);
  }

  take(length: number): Uint8Array {
    if (length > this.left) this.fail(`${length} bytes wanted, ${this.left} left`);
    const part = this.bytes.subarray(this.position, this.position + length);
    this.position += length;
    return part;
  }

  expectEnd(): void {
    if (this.position !== this.end) this.fail(`${this.left} bytes too many`);
  }
}
