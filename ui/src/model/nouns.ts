// The words that the model shares with the page; ui/src/engine/protocol.ts hands them on.
//
// Words: a *node* is one function on one path from the root; a *side* is 0 = before, 1 = after in a
// comparison, and the only one, 0, otherwise.

export interface ValueType {
  type: string; // "cpu"
  unit: string; // "nanoseconds"
  perSample: number; // value of one sample: gives sampling noise; 0 = not sampled or unknown
}

export interface Side {
  name: string;
  timeUnixMs: number; // 0 = unknown
  durationMs: number; // 0 = unknown
}

export type FunctionKind =
  | "root"
  | "process"
  | "native"
  | "kernel"
  | "unnamed"
  | "folded"
  | "other";
export type Inlined = "never" | "sometimes" | "always";

export type Colouring = "binary" | "kind" | "package" | "module";
export const COLOURINGS: readonly Colouring[] = ["binary", "kind", "package", "module"];

// What fills the width: `below` set = only the children of the node whose total is below it, as a
// rest box gathered them; null = the node. A rest of which not one box would be wide enough comes
// as several rest boxes, each of a part of the children: those from node `from` to before `to`.
// To open a rest box, hand its four values on; `from`, `to` absent or 0 = no such limit.
export interface Zoom {
  node: number;
  below: number | null;
  from?: number;
  to?: number;
}

// Which value is the width: the sum of both sides (so that nothing vanishes), or one side.
export type WidthBy = "both" | "before" | "after";
// Comparison of absolute values, or with the side after scaled to the total of the one before.
export type Comparison = "absolute" | "normalized";

export const BOX_NODE = 0;
export const BOX_REST = 1; // node = the parent, `below` its threshold
export const BOX_ANCESTOR = 2; // above the zoomed node, full width, drawn faded

// Columns of equal length, sorted by row, then x. Rows count from the root (0), ancestors first.
export interface Boxes {
  count: number;
  kind: Uint8Array;
  node: Int32Array;
  func: Int32Array; // -1 for a rest
  row: Uint16Array;
  x: Float32Array; // px from the left edge
  width: Float32Array; // px
  restCount: Uint32Array; // nodes gathered in a rest box, with all that is below them
  below: Float64Array; // of a rest box: hand on to Zoom; else 0
  from: Int32Array; // likewise
  to: Int32Array;
  total: Float64Array[]; // per side
  self: Float64Array[]; // per side; 0 for a rest
  // 0 = not in the selection of search and legend, 1 = in it, 2 = its subtree holds one that is.
  // Without a search and without a selection in the legend, 1 everywhere.
  match: Uint8Array;
  rowStart: Uint32Array; // first box of each row, and the count at the end
}

export interface SearchQuery {
  text: string; // "" = no search
  regexp: boolean;
  matchCase: boolean;
}

export type Transform =
  | { kind: "focus"; func: number } // only stacks with it, from it on: its topmost calls are roots
  | { kind: "focusNode"; path: number[] } // this subtree only; functions from below the root to it
  | { kind: "keep"; func: number } // only samples whose stack has it, whole stacks
  | { kind: "hideStacks"; func: number } // without the samples whose stack has it
  | { kind: "merge"; func: number } // the function vanishes, its time goes to its caller
  | { kind: "collapseRecursion"; func: number | null } // direct recursion; null = of all functions
  | { kind: "collapseLibrary"; image: string } // runs of its frames become one
  | { kind: "foldChains" }; // chains of single children without self value become one box
// In a comparison: Diff = by the size of the difference, up or down, as `vesta diff` has it;
// Signed = what grew apart from what shrank.
export type TableOrder =
  | "name" | "self" | "total" | "image" | "selfDiff" | "totalDiff" | "selfSigned" | "totalSigned";
