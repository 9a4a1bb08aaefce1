// One tree as a picture that scrolls: tiles of some rows each, drawn once when they come into view,
// so that scrolling draws next to nothing; and above them a canvas for hover and selection.
import type { TreeName } from "../engine/protocol";
import { make } from "./dom";
import { measureFrame } from "./measure";
import type { Painter } from "./painter";
import { boxAtX, boxOfNode, ROW_PX, type Scene } from "./scene";
import { Scrollbar } from "./scrollbar";

const TILE_ROWS = 12;
const TILE_PX = TILE_ROWS * ROW_PX;
const KEPT_TILES = 3; // beyond the window, on each side
const ANCESTORS_SHOWN = 3; // above a zoomed box after zooming

export interface GraphPaneEvents {
  click(pane: GraphPane, box: number, event: MouseEvent): void;
  hover(pane: GraphPane, box: number, event: PointerEvent | null): void;
  menu(pane: GraphPane, box: number, x: number, y: number): void;
  resized(pane: GraphPane): void;
  scrolled(pane: GraphPane): void;
  focused(pane: GraphPane): void;
}

export interface PaneOptions {
  tree: TreeName;
  testId: string;
  label: string;
  skipRows: number; // rows at the root that are not drawn
}

export class GraphPane {
  readonly element: HTMLDivElement;
  readonly tree: TreeName;
  scene: Scene | null = null;
  private readonly scroller: HTMLDivElement;
  private readonly scrollbar: Scrollbar;
  private readonly content: HTMLDivElement;
  private readonly overlay: HTMLCanvasElement;
  private readonly tiles = new Map<number, HTMLCanvasElement>();
  private readonly spare: HTMLCanvasElement[] = [];
  private readonly observer: ResizeObserver;
  private rootBelow = false;
  private hovered = -1;
  private selected = -1;
  private marked = -1; // function
  private pointer: PointerEvent | null = null; // where it was last, while it is here
  private prefetch = 0;
  private size = { width: 0, height: 0 };

  constructor(
    private readonly painter: Painter,
    private readonly events: GraphPaneEvents,
    private readonly options: PaneOptions,
  ) {
    this.tree = options.tree;
    this.content = make("div", { class: "vesta-graph-content" });
    this.scroller = make("div", { class: "vesta-graph-scroller" }, [this.content]);
    this.scrollbar = new Scrollbar(this.scroller);
    this.overlay = make("canvas", { class: "vesta-graph-overlay", aria: { hidden: "true" } });
    this.element = make("div", { class: "vesta-graph", testId: options.testId, tabIndex: 0,
      role: "application", label: options.label, aria: { roledescription: "flame graph" } },
      [this.scroller, this.overlay, this.scrollbar.element]);
    this.listen();
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.scroller);
  }

  dispose(): void {
    this.observer.disconnect();
    window.clearTimeout(this.prefetch);
    this.element.remove();
  }

  // Width that a layout must have. Reads the page's layout: not for hot loops.
  get widthPx(): number {
    return this.scroller.clientWidth;
  }

  get selectedBox(): number {
    return this.selected;
  }

  get hoveredBox(): number {
    return this.hovered;
  }

  private listen(): void {
    const { scroller, element, events } = this;
    scroller.addEventListener("pointermove", (event) => {
      const box = this.boxAt(event.clientX, event.clientY);
      this.pointer = event;
      events.hover(this, box, event);
    });
    scroller.addEventListener("pointerleave", () => {
      this.pointer = null;
      events.hover(this, -1, null);
    });
    scroller.addEventListener("click", (event) => {
      events.click(this, this.boxAt(event.clientX, event.clientY), event);
    });
    element.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      if (event.target !== element) { // else it is the keyboard's: view_keys.ts
        events.menu(this, this.boxAt(event.clientX, event.clientY), event.clientX, event.clientY);
      }
    });
    scroller.addEventListener("scroll", () => {
      const started = performance.now();
      this.drawTiles();
      this.drawOverlay();
      this.scrollbar.update(this.size.height, this.heightPx());
      events.scrolled(this);
      measureFrame(started);
    }, { passive: true });
    element.addEventListener("focus", () => events.focused(this));
  }

  private measure(): void {
    const width = this.scroller.clientWidth;
    const height = this.scroller.clientHeight;
    if (width === this.size.width && height === this.size.height) {
      return;
    }
    const isWider = width !== this.size.width;
    const fromRoot = this.heightPx() - this.scroller.scrollTop - this.size.height;
    this.size = { width, height };
    if (this.scene !== null) {
      this.place();
      if (this.rootBelow) {
        this.scroller.scrollTop = this.heightPx() - fromRoot - height;
      }
      this.redraw();
    }
    if (isWider) {
      this.events.resized(this);
    }
  }

  // Shows a new layout. reveal: scroll so that the zoomed box stands near the edge of the root.
  setScene(scene: Scene | null, rootBelow: boolean, reveal: boolean): void {
    const turned = rootBelow !== this.rootBelow || this.scene === null;
    this.scene = scene;
    this.rootBelow = rootBelow;
    this.hovered = -1;
    this.size = { width: this.scroller.clientWidth, height: this.scroller.clientHeight };
    this.place();
    if (scene !== null && (reveal || turned)) {
      const rows = Math.max(0, scene.zoomRow - ANCESTORS_SHOWN - this.options.skipRows);
      this.scroller.scrollTop = rootBelow
        ? this.heightPx() - rows * ROW_PX - this.size.height
        : rows * ROW_PX;
    }
    this.redraw();
  }

  private rowsShown(): number {
    return this.scene === null ? 0 : Math.max(0, this.scene.rows - this.options.skipRows);
  }

  private heightPx(): number {
    return Math.max(this.rowsShown() * ROW_PX, this.size.height);
  }

  private place(): void {
    this.content.style.height = `${this.heightPx()}px`;
  }

  // Top of a row within the content.
  private topOf(row: number): number {
    const at = row - this.options.skipRows;
    return this.rootBelow ? this.heightPx() - (at + 1) * ROW_PX : at * ROW_PX;
  }

  private rowAt(contentY: number): number {
    const at = this.rootBelow
      ? Math.floor((this.heightPx() - contentY) / ROW_PX - 1e-6)
      : Math.floor(contentY / ROW_PX);
    return at < 0 ? -1 : at + this.options.skipRows;
  }

  // Draws all again: a new layout, size, theme or colouring.
  redraw(): void {
    for (const [at, tile] of this.tiles) {
      this.release(at, tile);
    }
    this.drawTiles();
    this.drawOverlay();
    this.scrollbar.update(this.size.height, this.heightPx());
  }

  private release(at: number, tile: HTMLCanvasElement): void {
    this.tiles.delete(at);
    tile.hidden = true;
    this.spare.push(tile);
  }

  private drawTiles(): void {
    const top = this.scroller.scrollTop;
    const last = Math.ceil(this.heightPx() / TILE_PX) - 1;
    const from = Math.max(0, Math.floor(top / TILE_PX));
    const to = Math.min(last, Math.floor((top + this.size.height - 1) / TILE_PX));
    for (const [at, tile] of this.tiles) {
      if (at < from - KEPT_TILES || at > to + KEPT_TILES) {
        this.release(at, tile);
      }
    }
    for (let at = from; at <= to; at++) {
      this.drawTile(at);
    }
    // The neighbours, when there is time, so that scrolling finds them there.
    window.clearTimeout(this.prefetch);
    const next = [to + 1, from - 1].find((at) => at >= 0 && at <= last && !this.tiles.has(at));
    if (next !== undefined && this.scene !== null) {
      this.prefetch = window.setTimeout(() => {
        this.drawTile(next);
        this.drawTiles();
      }, 60);
    }
  }

  private drawTile(at: number): void {
    if (this.tiles.has(at) || this.size.width === 0) {
      return;
    }
    const tile = this.spare.pop() ?? this.content.appendChild(
      make("canvas", { class: "vesta-graph-tile", aria: { hidden: "true" } }));
    tile.hidden = false;
    this.tiles.set(at, tile);
    tile.style.top = `${at * TILE_PX}px`;
    const ratio = window.devicePixelRatio || 1;
    const heightPx = Math.min(TILE_PX, this.heightPx() - at * TILE_PX);
    resize(tile, this.size.width, heightPx, ratio);
    const context = tile.getContext("2d", { alpha: false });
    if (context === null) {
      return;
    }
    const size = { widthPx: this.size.width, heightPx, ratio };
    const scene = this.scene;
    const shift = at * TILE_PX;
    const one = this.rowAt(shift);
    const other = this.rowAt(shift + heightPx - 1);
    const least = Math.max(this.options.skipRows, Math.min(one, other));
    const most = Math.min(scene === null ? -1 : scene.rows - 1, Math.max(one, other));
    const rows = { first: least, end: most + 1, topOf: (row: number) => this.topOf(row) - shift };
    if (scene === null) {
      context.clearRect(0, 0, tile.width, tile.height);
    } else {
      this.painter.draw(context, size, scene, rows);
    }
  }

  // The box under a point of the window, or -1.
  boxAt(clientX: number, clientY: number): number {
    if (this.scene === null) {
      return -1;
    }
    const frame = this.scroller.getBoundingClientRect();
    const row = this.rowAt(clientY - frame.top + this.scroller.scrollTop);
    return boxAtX(this.scene.boxes, row, clientX - frame.left);
  }

  isDrawn(box: number): boolean {
    return this.scene !== null && this.scene.boxes.row[box] >= this.options.skipRows;
  }

  // Where a box is in the window; -1: where the graph is.
  rectOf(box: number): DOMRect {
    const frame = this.scroller.getBoundingClientRect();
    const boxes = this.scene?.boxes;
    if (boxes === undefined || box < 0) {
      return frame;
    }
    const y = frame.top + this.topOf(boxes.row[box]) - this.scroller.scrollTop;
    return new DOMRect(frame.left + boxes.x[box], y, boxes.width[box], ROW_PX - 1);
  }

  // Part of the rows that the window shows, and its share of the height: for the minimap.
  visibleRows(): { first: number; end: number } {
    const top = this.scroller.scrollTop / ROW_PX;
    const rows = this.size.height / ROW_PX;
    const first = this.rootBelow ? this.heightPx() / ROW_PX - top - rows : top;
    return { first: Math.max(0, first), end: Math.min(this.rowsShown(), first + rows) };
  }

  // Scrolls so that this row (a fraction counts) is in the middle.
  scrollToRow(row: number): void {
    const middle = this.rootBelow ? this.heightPx() - row * ROW_PX : row * ROW_PX;
    this.scroller.scrollTop = middle - this.size.height / 2;
  }

  scrollPage(direction: 1 | -1): void {
    this.scroller.scrollTop += direction * Math.max(ROW_PX, this.size.height - 3 * ROW_PX);
  }

  bringIntoView(box: number): void {
    if (this.scene === null || box < 0) {
      return;
    }
    const top = this.topOf(this.scene.boxes.row[box]);
    const shown = this.scroller.scrollTop;
    if (top < shown || top + ROW_PX > shown + this.size.height) {
      this.scroller.scrollTop = top - this.size.height / 2;
    }
  }

  // After another picture has come under the pointer.
  hoverAgain(): void {
    const at = this.pointer;
    if (at !== null) {
      this.events.hover(this, this.boxAt(at.clientX, at.clientY), at);
    }
  }

  setHovered(box: number): void {
    if (box !== this.hovered) {
      this.hovered = box;
      this.scroller.style.cursor = box >= 0 ? "pointer" : "";
      this.drawOverlay();
    }
  }

  // The box of a node gets a frame, all boxes of a function (-1 = none) a line.
  select(node: number | null, func: number): void {
    this.selected = node === null || this.scene === null ? -1 : boxOfNode(this.scene.boxes, node);
    this.marked = func;
    this.drawOverlay();
  }

  private drawOverlay(): void {
    const ratio = window.devicePixelRatio || 1;
    resize(this.overlay, this.size.width, this.size.height, ratio);
    const context = this.overlay.getContext("2d");
    if (context === null) {
      return;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.size.width, this.size.height);
    const scene = this.scene;
    if (scene === null) {
      return;
    }
    const style = getComputedStyle(this.element);
    context.strokeStyle = style.getPropertyValue("--vesta-accent");
    this.underlineMarked(context);
    if (this.selected >= 0 && this.selected < scene.boxes.count) {
      this.ring(context, this.selected, 2.5);
    }
    if (this.hovered >= 0 && this.hovered < scene.boxes.count) {
      context.strokeStyle = style.getPropertyValue("--vesta-hover");
      this.ring(context, this.hovered, 1.5);
    }
  }

  // All places of the selected function get a line below.
  private underlineMarked(context: CanvasRenderingContext2D): void {
    const boxes = this.scene?.boxes;
    const func = this.marked;
    if (boxes === undefined || func < 0) {
      return;
    }
    context.fillStyle = context.strokeStyle;
    const { first, end } = this.visibleRows();
    const firstRow = Math.max(0, Math.floor(first) + this.options.skipRows);
    const endRow = Math.min(boxes.rowStart.length - 1, Math.ceil(end) + this.options.skipRows);
    for (let i = boxes.rowStart[firstRow]; i < boxes.rowStart[endRow]; i++) {
      if (boxes.func[i] === func) {
        const top = this.topOf(boxes.row[i]) - this.scroller.scrollTop;
        context.fillRect(boxes.x[i], top + ROW_PX - 3, Math.max(1, boxes.width[i] - 1), 2);
      }
    }
  }

  private ring(context: CanvasRenderingContext2D, box: number, line: number): void {
    const boxes = this.scene?.boxes;
    if (boxes === undefined) {
      return;
    }
    const top = this.topOf(boxes.row[box]) - this.scroller.scrollTop;
    context.lineWidth = line;
    const width = Math.max(line, boxes.width[box] - 1 - line);
    context.strokeRect(boxes.x[box] + line / 2, top + line / 2, width, ROW_PX - 1 - line);
  }
}

function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const deviceWidth = Math.round(width * ratio);
  const deviceHeight = Math.round(height * ratio);
  if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
    canvas.width = deviceWidth;
    canvas.height = deviceHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
}
