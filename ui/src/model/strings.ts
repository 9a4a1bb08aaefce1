// The strings of a document: one text and where each string begins in it.

import { ByteReader, PageDataError } from "../base/varint";

// Shape: string i is text[starts[i], starts[i + 1]). Cost: the text once (one byte per character
// while all are ASCII), 4 bytes per string; `at` makes a slice, which copies nothing.
export class StringTable {
  readonly text: string;
  readonly starts: Uint32Array;

  constructor(text: string, starts: Uint32Array) {
    this.text = text;
    this.starts = starts;
  }

  get count(): number {
    return this.starts.length - 1;
  }

  at(index: number): string {
    return this.text.substring(this.starts[index], this.starts[index + 1]);
  }

  // The index of a string, or -1. Cost: one comparison of lengths per string.
  indexOf(wanted: string): number {
    const starts = this.starts;
    for (let i = 0; i + 1 < starts.length; ++i) {
      if (starts[i + 1] - starts[i] === wanted.length && this.text.startsWith(wanted, starts[i])) {
        return i;
      }
    }
    return -1;
  }
}

// Section STRS: count, a length in bytes for each, then the bytes.
export function readStrings(reader: ByteReader): StringTable {
  const count = reader.count(1, "strings");
  if (count === 0) reader.fail("string 0 is missing");
  const starts = new Uint32Array(count + 1);
  let sum = 0;
  for (let i = 0; i < count; ++i) {
    starts[i] = sum;
    sum += reader.varintUpTo(reader.left, "length of a string");
    if (sum > reader.end) reader.fail("strings longer than the section");
  }
  starts[count] = sum;
  if (starts[1] !== 0) reader.fail("string 0 is not empty");
  const begin = reader.position;
  const bytes = reader.take(sum);
  reader.expectEnd();
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new PageDataError(reader.section, begin + firstBadString(bytes, starts), "not UTF-8");
  }
  if (text.length !== bytes.length) toTextPlaces(bytes, starts, reader.section, begin);
  return new StringTable(text, starts);
}

// Turns places in UTF-8 bytes into places in the UTF-16 text of them.
function toTextPlaces(bytes: Uint8Array, starts: Uint32Array, section: string, at: number): void {
  let place = 0;
  let index = 0;
  for (let i = 0; i <= bytes.length; ++i) {
    const byte = i < bytes.length ? bytes[i] : 0;
    const inside = (byte & 0xc0) === 0x80;
    while (index < starts.length && starts[index] === i) {
      if (inside) throw new PageDataError(section, at + i, "a string ends inside a character");
      starts[index++] = place;
    }
    if (!inside) place += byte >= 0xf0 ? 2 : 1;
  }
}

function firstBadString(bytes: Uint8Array, starts: Uint32Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let i = 0; i + 1 < starts.length; ++i) {
    try {
      decoder.decode(bytes.subarray(starts[i], starts[i + 1]));
    } catch {
      return starts[i];
    }
  }
  return 0;
}
