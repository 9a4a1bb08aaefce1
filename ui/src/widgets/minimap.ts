// The whole tree, small, with a frame around what the graph shows. A click zooms there, dragging
// scrolls.
import { BOX_REST } from "../engine/protocol";
import { make } from "./dom";
import type { Painter } from "./painter";
import { boxAtX, type Scene } from "./scene";

export const MINIMAP_PX = 44;
const ROW_MOST_PX = 3;
const CLICK_PX = 4; // less movement than this is no drag

export interface MinimapEvents {
  zoom(node: number): void;
  scroll(row: number): void; // of the main tree; a fraction counts
}

export class Minimap {
  readonly element: HTMLDivElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly frame: HTMLDivElement;
  private scene: Scene | null = null;
  private rootBelow = false;
  private startY: number | null = null;
  private startX = 0;
  private isDrag = false;

  constructor(private readonly painter: Painter, private readonly events: MinimapEvents) {
    this.canvas = make("canvas", { aria: { hidden: "true" } });
    this.frame = make("div", { class: "vesta-minimap-frame" });
    this.element = make("div", { class: "vesta-minimap", testId: "minimap", role: "img",
      label: "The whole tree, small" }, [this.canvas, this.frame]);
    this.listen();
  }

  get widthPx(): number {
    return this.element.clientWidth;
  }

  private listen(): void {
    const element = this.element;
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) {
        element.setPointerCapture(event.pointerId);
        this.startX = event.clientX;
        this.startY = event.clientY;
        this.isDrag = false;
      }
    });
    element.addEventListener("pointermove", (event) => {
      if (this.startY === null) {
        return;
      }
      const way = Math.hypot(event.clientX - this.startX, event.clientY - this.startY);
      if (this.isDrag || way > CLICK_PX) {
        this.isDrag = true;
        this.events.scroll(this.rowAt(event.clientY));
      }
    });
    element.addEventListener("pointerup", (event) => {
      if (this.startY !== null && !this.isDrag) {
        this.click(event.clientX, event.clientY);
      }
      this.startY = null;
    });
    element.addEventListener("pointercancel", () => {
      this.startY = null;
    });
  }

  private rowPx(): number {
    return Math.min(ROW_MOST_PX, MINIMAP_PX / Math.max(1, this.scene?.rows ?? 1));
  }

  private rowAt(clientY: number): number {
    const y = clientY - this.element.getBoundingClientRect().top;
    return (this.rootBelow ? MINIMAP_PX - y : y) / this.rowPx();
  }

  // The node there, or the nearest caller of it that the small picture has.
  private click(clientX: number, clientY: number): void {
    const boxes = this.scene?.boxes;
    if (boxes === undefined) {
      return;
    }
    const x = clientX - this.element.getBoundingClientRect().left;
    const from = Math.min(boxes.rowStart.length - 2, Math.floor(this.rowAt(clientY)));
    for (let row = from; row >= 0; row--) {
      const box = boxAtX(boxes, row, x);
      if (box >= 0 && boxes.kind[box] !== BOX_REST) {
        this.events.zoom(boxes.node[box]);
        return;
      }
    }
  }

  // Cost: one rectangle per box wider than a pixel of the small picture.
  setScene(scene: Scene | null, rootBelow: boolean): void {
    this.scene = scene;
    this.rootBelow = rootBelow;
    this.redraw();
  }

  redraw(): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.widthPx;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(MINIMAP_PX * ratio);
    const context = this.canvas.getContext("2d");
    if (context === null || this.scene === null) {
      return;
    }
    const rowPx = this.rowPx();
    this.painter.drawSmall(context, ratio, this.scene, rowPx, (row) =>
      this.rootBelow ? MINIMAP_PX - (row + 1) * rowPx : row * rowPx);
  }

  // path: nodes from the root to the zoomed one; the deepest that the small picture has is framed.
  // rows: what the graph's window shows of them.
  setFrame(path: readonly number[], rows: { first: number; end: number }): void {
    const boxes = this.scene?.boxes;
    if (boxes === undefined) {
      return;
    }
    let left = 0;
    let width = this.widthPx;
    for (let row = 1; row < path.length && row + 1 < boxes.rowStart.length; row++) {
      const end = boxes.rowStart[row + 1];
      let box = boxes.rowStart[row];
      while (box < end && (boxes.node[box] !== path[row] || boxes.kind[box] === BOX_REST)) {
        box++;
      }
      if (box === end) {
        width = Math.min(width, 3);
        break;
      }
      left = boxes.x[box];
      width = boxes.width[box];
    }
    const rowPx = this.rowPx();
    const top = this.rootBelow ? MINIMAP_PX - rows.end * rowPx : rows.first * rowPx;
    const style = this.frame.style;
    style.left = `${left}px`;
    style.width = `${Math.max(3, width)}px`;
    style.top = `${Math.max(0, top)}px`;
    style.height = `${Math.min(MINIMAP_PX, Math.max(4, (rows.end - rows.first) * rowPx))}px`;
  }
}
