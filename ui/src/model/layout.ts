// Tree -> boxes: what of a zoomed part is wide enough to be seen, row by row.

import { BitSet } from "../base/bit_set";
import { GrowingFloat64, GrowingInt32 } from "../base/grow";
import {
  BOX_ANCESTOR,
  BOX_NODE,
  BOX_REST,
  Boxes,
  Comparison,
  WidthBy,
  Zoom,
} from "./nouns";
import { pathTo, Tree } from "./tree";

// A rest whose boxes are all too narrow opens into so many parts.
const REST_PARTS = 24;

export interface LayoutOptions {
  zoom: Zoom;
  widthPx: number;
  narrowestPx: number;
  widthBy: WidthBy;
  // What the values of each side are multiplied by: see scalesOf.
  scales: number[];
  selected: BitSet | null; // nodes; null = no selection
}

export interface Layout {
  boxes: Boxes;
  restNodes: number;
  restTotals: number[];
  zoomTotals: number[];
}

// The factors that make the sides comparable: the second is scaled to the total of the first, as
// `vesta diff --normalize` does.
export function scalesOf(totals: number[], comparison: Comparison): number[] {
  const scales = totals.map(() => 1);
  if (comparison === "normalized" && totals.length === 2 && totals[0] > 0 && totals[1] > 0) {
    scales[1] = totals[0] / totals[1];
  }
  return scales;
}

// The factors that turn the totals of a node into its weight, which its width is proportional to.
export function weightFactors(scales: number[], widthBy: WidthBy): number[] {
  if (scales.length === 1) return [1];
  if (widthBy === "before") return [scales[0], 0];
  if (widthBy === "after") return [0, scales[1]];
  return [scales[0] / 2, scales[1] / 2];
}

// Cost: visits the boxes and their children only; a subtree that is too narrow is jumped over.
export function layOut(tree: Tree, options: LayoutOptions): Layout {
  const walk = new LayoutWalk(tree, options);
  walk.run();
  return walk.result();
}

class LayoutWalk {
  private readonly tree: Tree;
  private readonly options: LayoutOptions;
  private readonly total0: Float64Array;
  private readonly total1: Float64Array;
  private readonly factor0: number;
  private readonly factor1: number;
  private pxPerWeight = 0;
  private narrowest = 0; // weight of the narrowest box
  // Columns of the boxes so far, in their final order.
  private readonly kind = new GrowingInt32(1024);
  private readonly node = new GrowingInt32(1024);
  private readonly x = new GrowingFloat64(1024);
  private readonly weight = new GrowingFloat64(1024);
  private readonly rowStart = new GrowingInt32();
  // Of rest boxes, in their order.
  private readonly rests: Rest[] = [];
  private restNodes = 0;
  private readonly restTotals: number[];
  private zoomTotals: number[] = [];

  constructor(tree: Tree, options: LayoutOptions) {
    this.tree = tree;
    this.options = options;
    const factors = weightFactors(options.scales, options.widthBy);
    this.total0 = tree.total[0];
    this.total1 = tree.total[tree.total.length - 1];
    this.factor0 = factors[0];
    this.factor1 = factors.length === 2 ? factors[1] : 0;
    this.restTotals = tree.total.map(() => 0);
  }

  run(): void {
    const { zoom, widthPx, narrowestPx } = this.options;
    const path = pathTo(this.tree, zoom.node);
    const gathered = zoom.below !== null;
    for (const ancestor of path.slice(0, -1)) this.addFullRow(BOX_ANCESTOR, ancestor);
    const begin = this.node.length;
    this.addFullRow(gathered ? BOX_ANCESTOR : BOX_NODE, zoom.node);
    const children = gathered ? this.gatheredSum() : this.weightOf(zoom.node);
    this.pxPerWeight = children > 0 ? widthPx / children : 0;
    this.narrowest = children > 0 ? narrowestPx / this.pxPerWeight : Infinity;
    if (children > 0) {
      if (gathered) this.addGathered();
      this.addRows(gathered ? begin + 1 : begin);
    }
    this.rowStart.push(this.node.length);
  }

  result(): Layout {
    const tree = this.tree;
    const count = this.node.length;
    const rows = this.rowStart.length - 1;
    const sides = tree.total.length;
    const boxes: Boxes = {
      count,
      kind: Uint8Array.from(this.kind.values.subarray(0, count)),
      node: this.node.values.slice(0, count),
      func: new Int32Array(count),
      row: new Uint16Array(count),
      x: Float32Array.from(this.x.values.subarray(0, count)),
      width: new Float32Array(count),
      restCount: new Uint32Array(count),
      below: new Float64Array(count),
      from: new Int32Array(count),
      to: new Int32Array(count),
      total: tree.total.map(() => new Float64Array(count)),
      self: tree.total.map(() => new Float64Array(count)),
      match: new Uint8Array(count),
      rowStart: Uint32Array.from(this.rowStart.values.subarray(0, rows + 1)),
    };
    for (let row = 0; row < rows; ++row) {
      boxes.row.fill(row, boxes.rowStart[row], boxes.rowStart[row + 1]);
    }
    let rest = 0;
    for (let i = 0; i < count; ++i) {
      const full = this.weight.values[i] < 0; // an ancestor, or the zoomed node
      boxes.width[i] = full ? this.options.widthPx : this.weight.values[i] * this.pxPerWeight;
      if (boxes.kind[i] === BOX_REST) this.fillRest(boxes, i, this.rests[rest++]);
      else this.fillNode(boxes, i, sides);
    }
    return {
      boxes,
      restNodes: this.restNodes,
      restTotals: this.restTotals,
      zoomTotals: this.zoomTotals,
    };
  }

  private weightOf(node: number): number {
    const weight = this.total0[node] * this.factor0;
    return this.factor1 === 0 ? weight : weight + this.total1[node] * this.factor1;
  }

  private addFullRow(kind: number, node: number): void {
    this.rowStart.push(this.node.length);
    this.add(kind, node, 0, -1);
    this.zoomTotals = this.tree.total.map((total, side) => total[node] * this.options.scales[side]);
  }

  private add(kind: number, node: number, x: number, weight: number): void {
    this.kind.push(kind);
    this.node.push(node);
    this.x.push(x);
    this.weight.push(weight);
  }

  // Whether a child of the zoomed node is in the rest that is zoomed.
  private isGathered(child: number, weight: number): boolean {
    const { below, from, to } = this.options.zoom;
    return weight < (below ?? Infinity) && child >= (from ?? 0) && (!to || child < to);
  }

  private gatheredSum(): number {
    const { end, total } = this.tree;
    const zoomed = this.options.zoom.node;
    let sum = 0;
    this.zoomTotals = total.map(() => 0);
    for (let child = zoomed + 1; child < end[zoomed]; child = end[child]) {
      const weight = this.weightOf(child);
      if (!this.isGathered(child, weight)) continue;
      sum += weight;
      for (let side = 0; side < total.length; ++side) {
        this.zoomTotals[side] += total[side][child] * this.options.scales[side];
      }
    }
    return sum;
  }

  // The first row of a zoomed rest.
  private addGathered(): void {
    const end = this.tree.end;
    const zoomed = this.options.zoom.node;
    this.rowStart.push(this.node.length);
    let x = 0;
    let shown = 0;
    let rest = new Rest(zoomed, this.tree.total.length);
    const narrow: number[] = [];
    for (let child = zoomed + 1; child < end[zoomed]; child = end[child]) {
      const weight = this.weightOf(child);
      if (!this.isGathered(child, weight)) continue;
      if (weight >= this.narrowest) {
        this.add(BOX_NODE, child, x, weight);
        x += weight * this.pxPerWeight;
        ++shown;
      } else {
        narrow.push(child);
      }
    }
    const parts = shown === 0 && narrow.length > 1 ? Math.min(REST_PARTS, narrow.length) : 1;
    for (let part = 0; part < parts; ++part) {
      const first = Math.floor((narrow.length * part) / parts);
      const last = Math.floor((narrow.length * (part + 1)) / parts);
      for (let i = first; i < last; ++i) this.gather(rest, narrow[i], this.weightOf(narrow[i]));
      if (parts > 1) {
        rest.from = narrow[first];
        rest.to = end[narrow[last - 1]];
      } else {
        rest.from = this.options.zoom.from ?? 0;
        rest.to = this.options.zoom.to ?? 0;
      }
      rest.below = parts > 1 ? this.options.zoom.below ?? Infinity : this.narrowest;
      x = this.addRest(rest, x);
      rest = new Rest(zoomed, this.tree.total.length);
    }
  }

  // Rows below: the children of the boxes from `begin` on, until a row is empty.
  private addRows(begin: number): void {
    let rowBegin = begin;
    for (;;) {
      const rowEnd = this.node.length;
      for (let box = rowBegin; box < rowEnd; ++box) {
        if (this.kind.values[box] === BOX_NODE) this.addChildren(box);
      }
      if (this.node.length === rowEnd) return;
      this.rowStart.push(rowEnd);
      rowBegin = rowEnd;
    }
  }

  private addChildren(box: number): void {
    const end = this.tree.end;
    const parent = this.node.values[box];
    const parentEnd = end[parent];
    let x = this.x.values[box];
    let rest: Rest | null = null;
    for (let child = parent + 1; child < parentEnd; child = end[child]) {
      const weight = this.weightOf(child);
      if (weight >= this.narrowest) {
        this.add(BOX_NODE, child, x, weight);
        x += weight * this.pxPerWeight;
      } else {
        if (rest === null) rest = new Rest(parent, this.tree.total.length);
        this.gather(rest, child, weight);
      }
    }
    if (rest !== null) {
      rest.below = this.narrowest;
      this.addRest(rest, x);
    }
  }

  private gather(rest: Rest, child: number, weight: number): void {
    const childEnd = this.tree.end[child];
    rest.weight += weight;
    rest.count += childEnd - child;
    for (let side = 0; side < rest.total.length; ++side) {
      rest.total[side] += this.tree.total[side][child] * this.options.scales[side];
    }
    const selected = this.options.selected;
    if (selected !== null && !rest.match) rest.match = selected.countIn(child, childEnd) > 0;
  }

  // Returns where the next box begins. A rest of no width has no box, but is counted.
  private addRest(rest: Rest, x: number): number {
    this.restNodes += rest.count;
    for (let side = 0; side < rest.total.length; ++side) this.restTotals[side] += rest.total[side];
    if (!(rest.weight > 0)) return x;
    this.rests.push(rest);
    this.add(BOX_REST, rest.parent, x, rest.weight);
    return x + rest.weight * this.pxPerWeight;
  }

  private fillNode(boxes: Boxes, i: number, sides: number): void {
    const tree = this.tree;
    const node = boxes.node[i];
    boxes.func[i] = tree.func[node];
    for (let side = 0; side < sides; ++side) {
      boxes.total[side][i] = tree.total[side][node] * this.options.scales[side];
      boxes.self[side][i] = tree.self[side][node] * this.options.scales[side];
    }
    const selected = this.options.selected;
    if (selected === null || selected.has(node)) boxes.match[i] = 1;
    else boxes.match[i] = selected.countIn(node + 1, tree.end[node]) > 0 ? 2 : 0;
  }

  private fillRest(boxes: Boxes, i: number, rest: Rest): void {
    boxes.func[i] = -1;
    boxes.restCount[i] = rest.count;
    boxes.below[i] = rest.below;
    boxes.from[i] = rest.from;
    boxes.to[i] = rest.to;
    for (let side = 0; side < rest.total.length; ++side) boxes.total[side][i] = rest.total[side];
    boxes.match[i] = this.options.selected === null ? 1 : rest.match ? 2 : 0;
  }
}

class Rest {
  readonly parent: number;
  readonly total: number[];
  weight = 0;
  count = 0;
  below = 0;
  from = 0;
  to = 0;
  match = false;

  constructor(parent: number, sides: number) {
    this.parent = parent;
    this.total = new Array<number>(sides).fill(0);
  }
}
