// Changed since the first version: Zoom and Boxes have `from`, `to` (parts of a rest whose boxes
// are all too narrow); nouns that the model needs, too, are in ../model/nouns; new is `loadText`;
// a request for "callers" or "callees" needs `setSandwich` first; SearchAnswer counts what search
// and legend select together; "normalized" scales the side after to the total of the one before, as
// `vesta diff --normalize` does.
//
// What the page asks the engine and what it answers. The engine holds the profile (in a worker, off
// the main thread) and gives out what is visible only: boxes, rows, details; never the whole tree.
//
// Words: a *node* is one function on one path from the root; a *side* is 0 = before, 1 = after in a
// comparison, and the only one, 0, otherwise. Values are per side, in the unit of the value type;
// they are never negative. Node 0 is the root. Node numbers hold until the next `setTransforms` or
// `setValueType`; function numbers hold for the whole document, and their order is alphabetical.

import {
  Boxes,
  Colouring,
  Comparison,
  FunctionKind,
  Inlined,
  SearchQuery,
  Side,
  TableOrder,
  Transform,
  ValueType,
  WidthBy,
  Zoom,
} from "../model/nouns";

export * from "../model/nouns";

// How to read the bytes of a page: docs/formats/page_data.md.
export interface DocumentInfo {
  title: string;
  valueTypes: ValueType[];
  valueType: number; // index that is shown
  sides: Side[]; // 1, or 2 for a comparison
  notes: string[]; // what a reader must know: lost samples, incomplete stacks, ...
  nodeCount: number; // that have a value
  functionCount: number; // that have a box in the shown tree, the root left out
  depthMax: number; // of the shown tree, root = 0
  totals: number[]; // per side, of the shown tree
  isEmpty: boolean; // not one value of any type
  hasBinaries: boolean; // some function's binary is known
  inverted: boolean; // callers below what they call
}

export interface FunctionInfo {
  func: number;
  name: string;
  image: string; // path of the binary; "" = unknown
  file: string; // source file; "" = unknown
  startLine: number; // 0 = unknown
  kind: FunctionKind;
  inlined: Inlined;
  groups: string[]; // colour key of each colouring, in the order of `Colouring`
}
// main = the profile as the transforms leave it; callers and callees belong to one function, whose
// box is their root.
export type TreeName = "main" | "callers" | "callees";

export interface LayoutRequest {
  tree: TreeName;
  zoom: Zoom;
  widthPx: number;
  narrowestPx: number; // siblings narrower than this are gathered in one rest box
  widthBy: WidthBy;
  comparison: Comparison;
}

export interface LayoutAnswer {
  boxes: Boxes;
  functions: FunctionInfo[]; // those in the boxes that no answer of this engine gave before
  // Everything in the zoomed part that no box wider than the narrowest shows: number of nodes and
  // value per side of the rest boxes.
  restNodes: number;
  restTotals: number[];
  zoomTotals: number[]; // value of the zoomed part per side
  totals: number[]; // of all: the root of "main"
}

// Of what search and legend select together (an empty text: the legend alone).
export interface SearchAnswer {
  error: string | null; // of a regular expression
  functions: number; // that match
  nodes: number; // boxes in the whole shown tree that match
  totals: number[]; // per side: samples with at least one match on their stack, each once
}

// Sums that transforms took away are in `removed`: nothing vanishes without a word.
export interface TransformAnswer {
  info: DocumentInfo;
  removed: number[]; // per side
  labels: string[]; // one per transform, for its chip
}

// A legend entry of a colouring: its key, and the self value that it has (so shares add up to 1);
// of an inverted tree, whose self values are all at its ends, how wide its boxes are together.
// image, kind: of the function with the most of it.
export interface LegendEntry {
  key: string;
  label: string;
  self: number[];
  image: string; // "" = unknown
  kind: FunctionKind; // the hue family of the entry
}

export interface NodeDetails {
  node: number;
  func: FunctionInfo;
  path: number[]; // nodes root first, ends with this one
  names: string[]; // of the path's functions
  self: number[]; // this instance, per side
  total: number[];
  allSelf: number[]; // all instances
  allTotal: number[]; // recursion counted once
  instances: number;
  parentTotal: number[];
  zoomTotal: number[];
  rootTotal: number[]; // of all: the root of "main"
  // Lines of the function, most self value first; empty when the profile has none.
  lines: { file: string; line: number; self: number[]; total: number[] }[];
}

export interface TableRequest {
  tree: TreeName;
  order: TableOrder;
  descending: boolean;
  matchesOnly: boolean; // of the search
  comparison: Comparison;
  first: number; // rows [first, first + count)
  count: number;
}
export interface TableRow {
  func: FunctionInfo;
  self: number[];
  total: number[];
  match: boolean;
  isNew: boolean; // only after
  isGone: boolean; // only before
  // Comparison: the difference of self (and total) is within what sampling alone would show.
  selfWithinNoise: boolean;
  totalWithinNoise: boolean;
}
export interface TableAnswer {
  rowCount: number;
  rows: TableRow[];
}

export interface Engine {
  // gzip or plain; the bytes are taken (their buffer may be detached). Errors: PageDataError.
  load(bytes: Uint8Array, onProgress?: (share: number) => void): Promise<DocumentInfo>;
  // The same from base64 text in pieces of any length, which may still be coming.
  loadText(
    pieces: Iterable<string> | AsyncIterable<string>,
    onProgress?: (share: number) => void,
  ): Promise<DocumentInfo>;
  setValueType(index: number): Promise<DocumentInfo>;
  setTransforms(transforms: Transform[]): Promise<TransformAnswer>;
  // Makes the trees "callers" and "callees" of this function out of "main".
  setSandwich(func: number | null): Promise<{ callers: number; callees: number }>; // depths
  layout(request: LayoutRequest): Promise<LayoutAnswer>;
  search(query: SearchQuery): Promise<SearchAnswer>;
  // The next (+1) or previous (-1) match in the order of the picture, wrapping around; null = none.
  matchBeside(tree: TreeName, node: number, step: 1 | -1): Promise<number | null>;
  // The match that has the most value, in the subtree of `within` if that has any; null = none.
  widestMatch(tree: TreeName, within: number): Promise<number | null>;
  legend(colouring: Colouring): Promise<LegendEntry[]>;
  // Boxes of other keys are dimmed; empty = no selection. Together with a search both must match.
  selectGroups(colouring: Colouring, keys: string[]): Promise<void>;
  details(tree: TreeName, node: number, zoom: Zoom): Promise<NodeDetails>;
  table(request: TableRequest): Promise<TableAnswer>;
  // Names root first, for the clipboard.
  stackNames(tree: TreeName, node: number): Promise<string[]>;
  // Addresses that survive a reload: a hash of the names on the path; null = not in this tree.
  addressOf(node: number): Promise<string>;
  nodeAt(address: string): Promise<number | null>;
  functionNamed(name: string, image: string): Promise<number | null>;
  dispose(): void;
}
