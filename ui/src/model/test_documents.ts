// For tests and benches: page data made from trees that are written down or generated.

// Numbers that look like chance and are the same in every run.
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed | 0;
  }

  // In [0, 1).
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  // A whole number in [0, below).
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
}

export interface TestFunction {
  name: string;
  image?: string;
  file?: string;
  startLine?: number;
  kind?: number; // 0 process 1 native 2 kernel 3 unnamed 4 other
  inlined?: number;
}

// A tree as columns, as the format has it; node 0 is the root.
export interface TestTree {
  functions: TestFunction[]; // function 1 is the first; sorted by name, image
  depth: Int32Array | number[];
  func: Int32Array | number[];
  self: (Float64Array | number[])[][]; // by value type, by side, by node
  lines?: TestLine[];
}

export interface TestLine {
  func: number;
  line: number;
  self: number[][]; // by value type, by side
  total: number[][];
}

export interface TestMeta {
  title?: string;
  valueTypes?: { type: string; unit: string; per_sample: number }[];
  sides?: { name: string; time_unix_ms: number; duration_ms: number }[];
  notes?: string[];
  inverted?: boolean;
}

export class ByteWriter {
  private bytes = new Uint8Array(1024);
  length = 0;

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  varint(value: number): void {
    let left = value;
    while (left >= 128) {
      this.byte((left % 128) + 128);
      left = Math.floor(left / 128);
    }
    this.byte(left);
  }

  uint32(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.byte((value >>> shift) & 0xff);
  }

  float64(value: number): void {
    this.append(new Uint8Array(Float64Array.of(value).buffer));
  }

  append(more: Uint8Array): void {
    this.reserve(more.length);
    this.bytes.set(more, this.length);
    this.length += more.length;
  }

  take(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + more));
    grown.set(this.bytes);
    this.bytes = grown;
  }
}

// Page data of a tree, as src/page/page_data.cc writes it.
export function encodeDocument(tree: TestTree, meta: TestMeta = {}): Uint8Array {
  const out = new ByteWriter();
  out.append(new TextEncoder().encode("VSTP"));
  out.uint32(1);
  const section = (tag: string, write: (to: ByteWriter) => void): void => {
    const body = new ByteWriter();
    write(body);
    out.append(new TextEncoder().encode(tag));
    out.uint32(body.length);
    out.append(body.take());
  };
  section("META", (to) => to.append(new TextEncoder().encode(metaText(tree, meta))));
  const strings = new Map<string, number>([["", 0]]);
  const stringOf = (text: string): number => {
    const known = strings.get(text);
    if (known !== undefined) return known;
    strings.set(text, strings.size);
    return strings.size - 1;
  };
  for (const func of tree.functions) {
    for (const text of [func.name, func.image ?? "", func.file ?? ""]) stringOf(text);
  }
  section("STRS", (to) => writeStrings(to, [...strings.keys()]));
  section("FUNC", (to) => writeFunctions(to, tree.functions, stringOf));
  section("TREE", (to) => {
    to.varint(tree.func.length - 1);
    for (let i = 1; i < tree.func.length; ++i) to.varint(1 + tree.depth[i - 1] - tree.depth[i]);
    for (let i = 1; i < tree.func.length; ++i) to.varint(tree.func[i]);
  });
  const factors = tree.self.map((sides) => sides.map(factorOf));
  tree.self.forEach((sides, type) =>
    sides.forEach((self, side) =>
      section("SELF", (to) => {
        to.varint(type);
        to.varint(side);
        to.float64(factors[type][side]);
        writeWithRuns(to, self, factors[type][side]);
      }),
    ),
  );
  const lines = tree.lines;
  if (lines !== undefined) section("LINE", (to) => writeLines(to, lines, factors));
  return out.take();
}

function metaText(tree: TestTree, meta: TestMeta): string {
  const sides = tree.self[0].map((_, side) => ({
    name: `side ${side}`,
    time_unix_ms: 0,
    duration_ms: 0,
  }));
  const types = tree.self.map((_, type) => ({ type: `type${type}`, unit: "count", per_sample: 1 }));
  return JSON.stringify({
    title: meta.title ?? "a test",
    value_types: meta.valueTypes ?? types,
    value_type: 0,
    sides: meta.sides ?? sides,
    notes: meta.notes ?? [],
    ...(meta.inverted === true ? { inverted: true } : {}),
  });
}

function writeStrings(to: ByteWriter, strings: string[]): void {
  const encoder = new TextEncoder();
  const encoded = strings.map((text) => encoder.encode(text));
  to.varint(encoded.length);
  for (const bytes of encoded) to.varint(bytes.length);
  for (const bytes of encoded) to.append(bytes);
}

function writeFunctions(
  to: ByteWriter,
  functions: TestFunction[],
  stringOf: (text: string) => number,
): void {
  to.varint(functions.length);
  for (const func of functions) to.varint(stringOf(func.name));
  for (const func of functions) to.varint(stringOf(func.image ?? ""));
  for (const func of functions) to.varint(stringOf(func.file ?? ""));
  for (const func of functions) to.varint(func.startLine ?? 0);
  for (const func of functions) to.varint((func.kind ?? 1) | ((func.inlined ?? 0) << 3));
}

function factorOf(values: Float64Array | number[]): number {
  let factor = 0;
  for (let value of values) {
    while (value > 0) [factor, value] = [value, factor % value];
    if (factor === 1) break;
  }
  return factor === 0 ? 1 : factor;
}

function writeWithRuns(to: ByteWriter, values: Float64Array | number[], factor: number): void {
  for (let i = 0; i < values.length; ++i) {
    to.varint(values[i] / factor);
    if (values[i] !== 0) continue;
    let run = 1;
    while (i + run < values.length && values[i + run] === 0) ++run;
    to.varint(run - 1);
    i += run - 1;
  }
}

function writeLines(to: ByteWriter, lines: TestLine[], factors: number[][]): void {
  to.varint(lines.length);
  let last = 0;
  for (const line of lines) {
    to.varint(line.func - last);
    last = line.func;
  }
  for (const line of lines) to.varint(line.line);
  factors.forEach((sides, type) =>
    sides.forEach((factor, side) => {
      for (const line of lines) to.varint(line.self[type][side] / factor);
      for (const line of lines) to.varint(line.total[type][side] / factor);
    }),
  );
}

// "a;b 3" lines -> tree. Shape: one value type; a line may have one value per side. The image of a
// function can stand before its name: "libc.so!malloc".
export function treeOfFolded(lines: string[]): TestTree {
  const parsed = lines.map((line) => {
    const [stack, ...values] = line.split(" ");
    return { frames: stack === "" ? [] : stack.split(";"), values: values.map(Number) };
  });
  const split = (frame: string): TestFunction => {
    const mark = frame.indexOf("!");
    return mark < 0
      ? { name: frame }
      : { name: frame.slice(mark + 1), image: `/usr/lib/${frame.slice(0, mark)}` };
  };
  const frames = [...new Set(parsed.flatMap((line) => line.frames))];
  const key = (frame: string): string => `${split(frame).name}\u0000${split(frame).image ?? ""}`;
  frames.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const number = new Map(frames.map((frame, index) => [frame, index + 1]));
  const sideCount = parsed[0]?.values.length ?? 1;
  interface Node {
    children: Map<number, Node>;
    self: number[];
  }
  const makeNode = (): Node => ({
    children: new Map(),
    self: new Array<number>(sideCount).fill(0),
  });
  const root = makeNode();
  for (const { frames: path, values } of parsed) {
    let node = root;
    for (const frame of path) {
      const func = number.get(frame) ?? 0;
      let child = node.children.get(func);
      if (child === undefined) node.children.set(func, (child = makeNode()));
      node = child;
    }
    values.forEach((value, side) => (node.self[side] += value));
  }
  const tree: TestTree = { functions: frames.map(split), depth: [], func: [], self: [[]] };
  const depth: number[] = [];
  const func: number[] = [];
  const self = Array.from({ length: sideCount }, (): number[] => []);
  const visit = (node: Node, at: number, as: number): void => {
    depth.push(at);
    func.push(as);
    node.self.forEach((value, side) => self[side].push(value));
    const children = [...node.children].sort((a, b) => a[0] - b[0]);
    for (const [child, below] of children) visit(below, at + 1, child);
  };
  visit(root, 0, 0);
  return { ...tree, depth, func, self: [self] };
}
