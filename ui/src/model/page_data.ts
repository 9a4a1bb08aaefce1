// Page data bytes -> document. The format: docs/formats/page_data.md.

import { ByteReader, PageDataError } from "../base/varint";
import { readStrings, StringTable } from "./strings";
import { sumTotals, Tree } from "./tree";

export interface DocumentMeta {
  title: string;
  valueTypes: { type: string; unit: string; perSample: number }[];
  valueType: number;
  sides: { name: string; timeUnixMs: number; durationMs: number }[];
  notes: string[];
  inverted: boolean; // callers below what they call: a box's self is what came in by it
}

// Columns by function; entry 0 is the root.
export interface FunctionColumns {
  count: number; // root included
  name: Uint32Array; // strings
  image: Uint32Array;
  file: Uint32Array;
  startLine: Uint32Array;
  flags: Uint8Array; // bits 0-2 kind, bits 3-4 inlined
}

// Lines of functions: rows of one function lie together.
export interface LineColumns {
  func: Uint32Array;
  line: Uint32Array;
  self: Float64Array[]; // per side
  total: Float64Array[];
}

interface Section {
  tag: string;
  begin: number;
  end: number;
}

export const DEPTH_MAX = 65000; // rows of boxes are 16 bits

// A whole document. What is shown first is decoded by the constructor and in `tree`; values of
// other types, and lines, when they are asked for.
// Cost: keeps the bytes of values and lines, not those of the tree.
// Errors: PageDataError, from every function.
export class PageDocument {
  readonly meta: DocumentMeta;
  readonly strings: StringTable;
  readonly functions: FunctionColumns;
  private readonly shape: { func: Int32Array; end: Int32Array; depthMax: number };
  private readonly kept: { section: Section; bytes: Uint8Array }[] = [];

  constructor(bytes: Uint8Array) {
    const sections = readSections(bytes);
    const open = (tag: string): ByteReader => {
      const found = sections.find((section) => section.tag === tag);
      if (found === undefined) throw new PageDataError(tag, bytes.length, "is missing");
      return new ByteReader(bytes, tag, found.begin, found.end);
    };
    this.meta = readMeta(open("META"));
    this.strings = readStrings(open("STRS"));
    this.functions = readFunctions(open("FUNC"), this.strings.count);
    this.shape = readTree(open("TREE"), this.functions.count);
    for (const section of sections) {
      if (section.tag !== "SELF" && section.tag !== "LINE") continue;
      this.kept.push({ section, bytes: bytes.slice(section.begin, section.end) });
    }
    this.checkSelfSections();
  }

  get sideCount(): number {
    return this.meta.sides.length;
  }

  // Of all value types.
  get nodeCount(): number {
    return this.shape.func.length;
  }

  // The tree with the values of one value type. Cost: the shape is shared between calls.
  tree(valueType: number): Tree {
    const { func, end, depthMax } = this.shape;
    const self: Float64Array[] = [];
    const total: Float64Array[] = [];
    for (let side = 0; side < this.sideCount; ++side) {
      const reader = this.selfSection(valueType, side);
      const values = readSelf(reader, func.length);
      const sums = sumTotals(end, values, depthMax);
      if (!Number.isFinite(sums[0])) reader.fail("the sum of the values is no number");
      self.push(values);
      total.push(sums);
    }
    return { count: func.length, func, end, self, total, depthMax };
  }

  // Lines with the values of one value type; null = the document has none.
  lines(valueType: number): LineColumns | null {
    const kept = this.kept.find((part) => part.section.tag === "LINE");
    if (kept === undefined) return null;
    const factors: number[][] = this.meta.valueTypes.map((_, type) =>
      this.meta.sides.map((_side, side) => this.selfSection(type, side).float64()),
    );
    return readLines(this.openKept(kept), this.functions.count, factors, valueType);
  }

  private openKept(kept: { section: Section; bytes: Uint8Array }): ByteReader {
    return new ByteReader(kept.bytes, kept.section.tag, 0, kept.bytes.length);
  }

  // At its factor: type and side are read already.
  private selfSection(valueType: number, side: number): ByteReader {
    for (const kept of this.kept) {
      if (kept.section.tag !== "SELF") continue;
      const reader = this.openKept(kept);
      if (reader.varint() === valueType && reader.varint() === side) return reader;
    }
    throw new PageDataError("SELF", 0, `type ${valueType}, side ${side} is missing`);
  }

  private checkSelfSections(): void {
    const seen = new Set<number>();
    for (const kept of this.kept) {
      if (kept.section.tag !== "SELF") continue;
      const reader = this.openKept(kept);
      const type = reader.varintUpTo(this.meta.valueTypes.length - 1, "value type");
      const side = reader.varintUpTo(this.sideCount - 1, "side");
      const factor = reader.float64();
      if (!(factor > 0 && Number.isFinite(factor))) reader.fail("the factor is not above 0");
      const key = type * 2 + side;
      if (seen.has(key)) reader.fail(`type ${type}, side ${side} is there twice`);
      seen.add(key);
    }
    const wanted = this.meta.valueTypes.length * this.sideCount;
    if (seen.size !== wanted) {
      throw new PageDataError("SELF", 0, `${wanted} sections are needed, ${seen.size} are there`);
    }
  }
}

function readSections(bytes: Uint8Array): Section[] {
  const reader = new ByteReader(bytes, "head", 0, bytes.length);
  if (reader.left < 8) reader.fail("too short");
  if (String.fromCharCode(...reader.take(4)) !== "VSTP") {
    throw new PageDataError("head", 0, "this is not page data of vesta");
  }
  const version = reader.uint32();
  if (version !== 1) {
    throw new PageDataError("head", 4, `version ${version}; this page reads version 1`);
  }
  const sections: Section[] = [];
  const seen = new Set<string>();
  while (reader.left > 0) {
    const at = reader.position;
    const tag = String.fromCharCode(...reader.take(Math.min(4, reader.left)));
    const length = reader.uint32();
    const begin = reader.position;
    if (length > reader.left) {
      throw new PageDataError(tag, at, `${length} bytes are announced, ${reader.left} are left`);
    }
    reader.take(length);
    if (tag !== "SELF" && seen.has(tag)) throw new PageDataError(tag, at, "is there twice");
    seen.add(tag);
    sections.push({ tag, begin, end: begin + length });
  }
  return sections;
}

// META is JSON; a field that is absent has its empty value, one of another kind is an error.
function readMeta(reader: ByteReader): DocumentMeta {
  const begin = reader.position;
  const fail = (what: string): never => {
    throw new PageDataError("META", begin, what);
  };
  let root: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(reader.take(reader.left));
    root = JSON.parse(text);
  } catch {
    return fail("is not JSON");
  }
  const record = (value: unknown): Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : fail("an object is wanted");
  const list = (value: unknown): unknown[] =>
    value === undefined ? [] : Array.isArray(value) ? value : fail("a list is wanted");
  const text = (value: unknown): string =>
    value === undefined ? "" : typeof value === "string" ? value : fail("a text is wanted");
  const number = (value: unknown): number =>
    value === undefined ? 0 : typeof value === "number" ? value : fail("a number is wanted");

  const meta = record(root);
  const valueTypes = list(meta.value_types).map(record).map((type) => ({
    type: text(type.type),
    unit: text(type.unit),
    perSample: Math.max(0, number(type.per_sample)),
  }));
  const sides = list(meta.sides).map(record).map((side) => ({
    name: text(side.name),
    timeUnixMs: number(side.time_unix_ms),
    durationMs: number(side.duration_ms),
  }));
  const valueType = number(meta.value_type);
  if (valueTypes.length === 0 || valueTypes.length > 1000) fail("1 to 1000 value types are wanted");
  if (sides.length < 1 || sides.length > 2) fail("one or two sides are wanted");
  if (valueTypes[valueType] === undefined) fail("the default value type is not there");
  const notes = list(meta.notes).map(text);
  const inverted = meta.inverted === true;
  return { title: text(meta.title), valueTypes, valueType, sides, notes, inverted };
}

function readFunctions(reader: ByteReader, stringCount: number): FunctionColumns {
  const count = reader.count(5, "functions") + 1;
  const strings = (what: string): Uint32Array => {
    const column = new Uint32Array(count);
    for (let i = 1; i < count; ++i) column[i] = reader.varintUpTo(stringCount - 1, what);
    return column;
  };
  const name = strings("string of a name");
  const image = strings("string of an image");
  const file = strings("string of a file");
  const startLine = new Uint32Array(count);
  for (let i = 1; i < count; ++i) startLine[i] = reader.varintUpTo(0xffffffff, "a line");
  const flags = new Uint8Array(count);
  for (let i = 1; i < count; ++i) {
    const bits = reader.varintUpTo(31, "flags");
    if ((bits & 7) > 4) reader.fail(`kind ${bits & 7} is not known`);
    if (bits >> 3 > 2) reader.fail(`inlining ${bits >> 3} is not known`);
    flags[i] = bits;
  }
  reader.expectEnd();
  return { count, name, image, file, startLine, flags };
}

// Cost: one pass for the shape, one for the functions; about 15 ns per node together.
function readTree(
  reader: ByteReader,
  functionCount: number,
): { func: Int32Array; end: Int32Array; depthMax: number } {
  const count = reader.count(2, "nodes") + 1;
  const end = new Int32Array(count);
  const func = new Int32Array(count);
  const open = new Int32Array(DEPTH_MAX + 1); // the path to the last node
  let depth = 0;
  let depthMax = 0;
  for (let node = 1; node < count; ++node) {
    const up = reader.varint();
    if (up > depth) reader.fail(`node ${node} goes up ${up} of ${depth} levels`);
    const to = depth + 1 - up;
    if (to > DEPTH_MAX) reader.fail(`deeper than ${DEPTH_MAX}`);
    for (let level = depth; level >= to; --level) end[open[level]] = node;
    depth = to;
    if (depth > depthMax) depthMax = depth;
    open[depth] = node;
  }
  for (let level = depth; level >= 0; --level) end[open[level]] = count;
  for (let node = 1; node < count; ++node) {
    func[node] = reader.varint();
    if (func[node] < 1 || func[node] >= functionCount) {
      reader.fail(`function ${func[node]} of node ${node} is not there`);
    }
  }
  reader.expectEnd();
  return { func, end, depthMax };
}

function readSelf(reader: ByteReader, count: number): Float64Array {
  const factor = reader.float64();
  const values = new Float64Array(count);
  for (let node = 0; node < count; ) {
    const value = reader.varint();
    if (value !== 0) {
      values[node++] = value * factor;
    } else {
      node += 1 + reader.varintUpTo(count - node - 1, "length of a run");
    }
  }
  reader.expectEnd();
  return values;
}

function readLines(
  reader: ByteReader,
  functionCount: number,
  factors: number[][],
  valueType: number,
): LineColumns {
  const count = reader.count(2, "lines");
  const func = new Uint32Array(count);
  const line = new Uint32Array(count);
  let last = 0;
  for (let i = 0; i < count; ++i) {
    last += reader.varintUpTo(functionCount - 1 - last, "function of a line");
    func[i] = last;
  }
  for (let i = 0; i < count; ++i) line[i] = reader.varintUpTo(0xffffffff, "a line");
  const self: Float64Array[] = [];
  const total: Float64Array[] = [];
  for (let type = 0; type < factors.length; ++type) {
    for (const factor of factors[type]) {
      for (const columns of [self, total]) {
        const values = new Float64Array(type === valueType ? count : 0);
        for (let i = 0; i < count; ++i) {
          const value = reader.varint();
          if (type === valueType) values[i] = value * factor;
        }
        if (type === valueType) columns.push(values);
      }
    }
  }
  reader.expectEnd();
  return { func, line, self, total };
}
