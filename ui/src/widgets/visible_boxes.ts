// The boxes inside the window as values: for tests, which cannot read a canvas.
import { BOX_ANCESTOR, BOX_REST } from "../engine/protocol";
import type { GraphPane } from "./graph_pane";
import type { Painter } from "./painter";
import { labelOf, type Functions } from "./scene";

// Units: px of the window.
export interface VisibleBox {
  kind: "node" | "rest" | "ancestor";
  node: number;
  func: number;
  name: string;
  match: number;
  row: number;
  x: number;
  y: number;
  width: number;
  height: number;
  total: number[];
  self: number[];
  fill: string;
}

export function visibleBoxesOf(
  pane: GraphPane, functions: Functions, painter: Painter,
): VisibleBox[] {
  const scene = pane.scene;
  const found: VisibleBox[] = [];
  if (scene === null || pane.element.hidden) {
    return found;
  }
  const { boxes } = scene;
  const frame = pane.rectOf(-1);
  for (let box = 0; box < boxes.count; box++) {
    const rect = pane.rectOf(box);
    if (!pane.isDrawn(box) || rect.top < frame.top - 1 || rect.bottom > frame.bottom + 1) {
      continue;
    }
    const kind = boxes.kind[box];
    found.push({
      kind: kind === BOX_REST ? "rest" : kind === BOX_ANCESTOR ? "ancestor" : "node",
      node: boxes.node[box], func: boxes.func[box], name: labelOf(scene, box, functions),
      match: boxes.match[box], row: boxes.row[box], x: rect.x, y: rect.y, width: rect.width,
      height: rect.height, total: boxes.total.map((side) => side[box]),
      self: boxes.self.map((side) => side[box]), fill: painter.fillOf(scene.paint[box]),
    });
  }
  return found;
}
