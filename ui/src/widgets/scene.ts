// A laid out tree with the colour of each box: what a pane draws and looks the pointer up in.
import { BOX_ANCESTOR, BOX_REST, type Boxes, type FunctionInfo } from "../engine/protocol";
import { formatShare, shareOf, sum } from "./format";
import { DIM, FADED, NORMAL, REST_STYLE, VARIANTS } from "./palette";

export const ROW_PX = 20;

// Functions that the engine has told of; it tells each once.
export class Functions {
  private readonly known = new Map<number, FunctionInfo>();
  private readonly byName = new Map<string, number>();
  private isOld = false;

  // Functions have other numbers now. What is known of the old ones is there until the first new
  // ones come, since the picture is still theirs.
  forget(): void {
    this.byName.clear();
    this.isOld = true;
  }

  add(infos: readonly FunctionInfo[]): void {
    if (this.isOld) {
      this.known.clear();
      this.isOld = false;
    }
    for (const info of infos) {
      this.known.set(info.func, info);
      this.byName.set(`${info.name}\0${info.image}`, info.func);
    }
  }

  get(func: number): FunctionInfo | undefined {
    return this.known.get(func);
  }

  named(name: string, image: string): number | undefined {
    return this.byName.get(`${name}\0${image}`);
  }
}

export interface Scene {
  boxes: Boxes;
  paint: Uint16Array; // per box: style * VARIANTS + variant
  rows: number;
  zoomRow: number; // row of the node that fills the width; those before are its ancestors
  rootTotal: number; // of both sides
}

// styleOf: style of a box that is a node. Cost: one pass, no allocation per box.
export function makeScene(
  boxes: Boxes,
  totals: readonly number[],
  styleOf: (box: number) => number,
): Scene {
  const paint = new Uint16Array(boxes.count);
  let ancestors = 0;
  for (let i = 0; i < boxes.count; i++) {
    const kind = boxes.kind[i];
    let variant = boxes.match[i] === 1 ? NORMAL : boxes.match[i] === 2 ? FADED : DIM;
    if (kind === BOX_ANCESTOR) {
      ancestors++;
      variant = FADED;
    }
    paint[i] = (kind === BOX_REST ? REST_STYLE : styleOf(i)) * VARIANTS + variant;
  }
  const rows = boxes.rowStart.length - 1;
  return { boxes, paint, rows, zoomRow: ancestors, rootTotal: sum(totals) };
}

// The box of a row at this x, or -1.
export function boxAtX(boxes: Boxes, row: number, x: number): number {
  if (row < 0 || row + 1 >= boxes.rowStart.length) {
    return -1;
  }
  let low = boxes.rowStart[row];
  let high = boxes.rowStart[row + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes.x[middle] <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const found = low - 1;
  return found >= boxes.rowStart[row] && x < boxes.x[found] + boxes.width[found] ? found : -1;
}

// The box of the caller, or -1 for the topmost row.
export function parentBox(boxes: Boxes, box: number): number {
  return boxAtX(boxes, boxes.row[box] - 1, boxes.x[box] + boxes.width[box] / 2);
}

// The widest box right below this one that is no rest, or -1.
export function widestChild(boxes: Boxes, box: number): number {
  const row = boxes.row[box] + 1;
  if (row + 1 >= boxes.rowStart.length) {
    return -1;
  }
  const end = boxes.x[box] + boxes.width[box];
  let widest = -1;
  for (let i = boxes.rowStart[row]; i < boxes.rowStart[row + 1]; i++) {
    const middle = boxes.x[i] + boxes.width[i] / 2;
    const isBelow = middle >= boxes.x[box] && middle < end && boxes.kind[i] !== BOX_REST;
    if (isBelow && (widest < 0 || boxes.width[i] > boxes.width[widest])) {
      widest = i;
    }
  }
  return widest;
}

// The box of a node, or -1 when it is not in the picture. Cost: one pass.
export function boxOfNode(boxes: Boxes, node: number): number {
  for (let i = 0; i < boxes.count; i++) {
    if (boxes.node[i] === node && boxes.kind[i] !== BOX_REST) {
      return i;
    }
  }
  return -1;
}

// Boxes from the topmost row to this one.
export function pathOfBox(boxes: Boxes, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at >= 0; at = parentBox(boxes, at)) {
    path.unshift(at);
  }
  return path;
}

export function totalOf(boxes: Boxes, box: number): number {
  let total = 0;
  for (const side of boxes.total) {
    total += side[box];
  }
  return total;
}

// What is written into a box.
export function labelOf(scene: Scene, box: number, functions: Functions): string {
  const boxes = scene.boxes;
  if (boxes.kind[box] === BOX_REST) {
    const share = formatShare(shareOf(totalOf(boxes, box), scene.rootTotal));
    return `${boxes.restCount[box]} more, ${share}`;
  }
  return functions.get(boxes.func[box])?.name ?? "";
}
