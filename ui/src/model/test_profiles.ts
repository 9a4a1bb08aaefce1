// Generated profiles of any size for tests and benches, the same in every run.

import { Random, TestFunction, TestTree } from "./test_documents";

export interface ProfileOptions {
  nodes: number;
  functions: number;
  depthLeast: number; // of a stack's leaf
  depthMost: number;
  sides: 1 | 2;
  seed: number;
}

const BINARIES = ["/usr/bin/server", "/usr/lib/libc.so.6", "/usr/lib/libstdc++.so.6",
  "/usr/lib/libssl.so.3", "/usr/lib/libcrypto.so.3", "/opt/app/lib/libengine.so",
  "/opt/app/lib/libstorage.so", "/opt/app/bin/worker", "/usr/bin/python3.11",
  "/usr/lib/jvm/libjvm.so", "[kernel]", "/usr/lib/libz.so.1"];
const WORDS = ["read", "write", "parse", "encode", "decode", "lookup", "insert", "visit", "merge",
  "Buffer", "Reader", "Writer", "Index", "Table", "Request", "Handler", "Stream", "Session",
  "Cache", "internal", "detail", "storage", "network", "query", "planner", "executor",
  "allocator", "hash"];

// Stacks that grow out of the one before: a stack shares a random part of its beginning, as those
// of a program do, and goes on with functions that few others call.
export function generateProfile(options: ProfileOptions): TestTree {
  const random = new Random(options.seed);
  const functions = generateFunctions(options.functions, random);
  const { nodes, depthLeast, depthMost, sides } = options;
  const depth = new Int32Array(nodes + 1);
  const func = new Int32Array(nodes + 1);
  const self = Array.from({ length: sides }, () => new Float64Array(nodes + 1));
  const lastFunc = new Int32Array(depthMost + 2); // the last function at each depth of the path
  let made = 1;
  let at = 0;
  while (made <= nodes) {
    const leafDepth = depthLeast + random.below(depthMost - depthLeast + 1);
    // Most stacks leave the last one near its leaf, few near the root.
    let from = Math.min(at, leafDepth - 1) - Math.floor(-Math.log(1 - random.next()) * 6);
    // A sibling must have a larger function: siblings are in order.
    while (from > 0 && lastFunc[from + 1] >= functions.length - 1) --from;
    if (from < 0 || lastFunc[from + 1] >= functions.length) from = 0;
    if (lastFunc[from + 1] >= functions.length) break;
    for (at = from; at < leafDepth && made <= nodes; ++at, ++made) {
      const room = functions.length - lastFunc[at + 1];
      const step = 1 + Math.floor(Math.pow(random.next(), 3) * Math.max(room / 500, 1));
      lastFunc[at + 1] = Math.min(lastFunc[at + 1] + step, functions.length);
      lastFunc[at + 2] = random.below(Math.max(functions.length >> 1, 1));
      depth[made] = at + 1;
      func[made] = lastFunc[at + 1];
    }
    for (const values of self) values[made - 1] = (1 + random.below(20)) * 10101010;
  }
  const shape = { depth: depth.slice(0, made), func: func.slice(0, made) };
  return { functions, ...shape, self: [self.map((values) => values.slice(0, made))] };
}

function generateFunctions(count: number, random: Random): TestFunction[] {
  const functions: TestFunction[] = [];
  const seen = new Set<string>();
  while (functions.length < count) {
    const image = BINARIES[random.below(BINARIES.length)];
    const wanted = 20 + random.below(101);
    let name = WORDS[random.below(WORDS.length)];
    while (name.length < wanted) name += `::${WORDS[random.below(WORDS.length)]}`;
    name = `${name.slice(0, wanted - 6)}${random.below(1e6)}`;
    if (seen.has(name)) continue;
    seen.add(name);
    const kind = image.startsWith("[") ? 2 : 1;
    const file = `/src/${WORDS[random.below(8)]}/${WORDS[random.below(8)]}.cc`;
    functions.push({ name, image, file, startLine: random.below(5000), kind });
  }
  return functions.sort((a, b) => (a.name < b.name ? -1 : 1));
}

// A small tree of any shape: few functions, so that they repeat and recur.
export function randomTree(seed: number, sides: 1 | 2): TestTree {
  const random = new Random(seed);
  const nodes = 1 + random.below(200);
  const functionCount = 2 + random.below(12);
  const functions = Array.from({ length: functionCount }, (_, i) => ({
    name: `f${String(i).padStart(2, "0")}`,
    image: `/lib/lib${i % 3}.so`,
  }));
  const depth = [0];
  const func = [0];
  const last: number[] = [0]; // function of the last node at each depth
  for (let i = 0; i < nodes; ++i) {
    let at = 1 + random.below(depth[depth.length - 1] + 1);
    if (random.below(3) > 0) at = depth[depth.length - 1] + 1;
    const known = at < last.length && at <= depth[depth.length - 1] ? last[at] : 0;
    const next = known + 1 + random.below(3);
    if (next > functionCount) continue;
    last.length = at;
    last.push(next);
    depth.push(at);
    func.push(next);
  }
  const self = Array.from({ length: sides }, () =>
    func.map(() => (random.below(3) === 0 ? 0 : random.below(50))),
  );
  return { functions, depth, func, self: [self] };
}
