// Draws rows of boxes onto a canvas: all boxes of one colour, then the next colour, then the text.
import { BOX_REST } from "../engine/protocol";
import { isHatched, stylesOf, STYLE_COUNT, VARIANTS, type Style, type Theme } from "./palette";
import { labelOf, ROW_PX, type Functions, type Scene } from "./scene";
import { NARROWEST_TEXT_PX, TextFit } from "./text_fit";

export const FONT =
  '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", sans-serif';
const BASELINE_PX = 14;
const HATCHED_FROM_PX = 7;
const HATCH_PX = 6;
// Control characters, and those that turn the direction of what follows: names are foreign.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const PAGE: Record<Theme, string> = { light: "#ffffff", dark: "#16181d" };
const HATCH: Record<Theme, string> = { light: "rgba(0,0,0,0.10)", dark: "rgba(255,255,255,0.09)" };

// Lets the browser load the font and the canvas while there is nothing to draw yet.
export function warmUp(): void {
  const canvas = document.createElement("canvas");
  canvas.width = 64;
  canvas.height = ROW_PX;
  const context = canvas.getContext("2d", { alpha: false });
  if (context !== null) {
    context.font = FONT;
    for (let code = 33; code < 127; code++) {
      context.measureText(String.fromCharCode(code));
    }
    context.fillText("main…", 0, BASELINE_PX);
    context.getImageData(0, 0, 1, 1);
  }
}

export class Painter {
  readonly text: TextFit;
  private styles: Style[];
  private hatch: HTMLCanvasElement;
  // Work space of `draw`, kept between calls.
  private readonly starts = new Uint32Array(STYLE_COUNT * VARIANTS + 1);
  private order = new Uint32Array(0);

  constructor(
    private theme: Theme,
    private readonly functions: Functions,
    shorten: (name: string, charactersMax: number) => string,
  ) {
    this.styles = stylesOf(theme);
    this.hatch = makeHatch(theme);
    const context = document.createElement("canvas").getContext("2d");
    if (context !== null) {
      context.font = FONT;
    }
    const measure = (character: string): number => context?.measureText(character).width ?? 7;
    this.text = new TextFit(measure, shorten);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.styles = stylesOf(theme);
    this.hatch = makeHatch(theme);
  }

  fillOf(paint: number): string {
    return this.styles[paint].fill;
  }

  swatch(style: number): string {
    return this.styles[style * VARIANTS].fill;
  }

  swatchText(style: number): string {
    return this.styles[style * VARIANTS].text;
  }

  // Draws rows [first, end) of a scene; topOf gives the y of a row on this canvas.
  // Cost: two passes over the boxes of these rows, text for those wide enough.
  draw(
    context: CanvasRenderingContext2D,
    size: { widthPx: number; heightPx: number; ratio: number },
    scene: Scene,
    rows: { first: number; end: number; topOf: (row: number) => number },
  ): void {
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    context.fillStyle = PAGE[this.theme];
    context.fillRect(0, 0, size.widthPx, size.heightPx);
    if (rows.first >= rows.end) {
      return;
    }
    const first = scene.boxes.rowStart[rows.first];
    const end = scene.boxes.rowStart[rows.end];
    this.sortByPaint(scene, first, end);
    this.fillBoxes(context, size.ratio, scene, end - first, rows.topOf);
    this.writeLabels(context, size.ratio, scene, first, end, rows.topOf);
  }

  // All boxes small, without gaps and texts, each at least one device pixel wide and high.
  drawSmall(
    context: CanvasRenderingContext2D,
    ratio: number,
    scene: Scene,
    rowPx: number,
    topOf: (row: number) => number,
  ): void {
    const { x, width, row, count } = scene.boxes;
    context.setTransform(1, 0, 0, 1, 0, 0);
    this.sortByPaint(scene, 0, count);
    let paint = -1;
    for (let at = 0; at < count; at++) {
      const box = this.order[at];
      if (scene.paint[box] !== paint) {
        paint = scene.paint[box];
        context.fillStyle = this.styles[paint].fill;
      }
      const left = Math.round(x[box] * ratio);
      const right = Math.round((x[box] + width[box]) * ratio);
      const top = Math.round(topOf(row[box]) * ratio);
      const bottom = Math.round((topOf(row[box]) + rowPx) * ratio);
      context.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    }
  }

  // Counting sort of boxes [first, end) by their paint, into `order`.
  private sortByPaint(scene: Scene, first: number, end: number): void {
    const starts = this.starts;
    if (this.order.length < end - first) {
      this.order = new Uint32Array((end - first) * 2);
    }
    starts.fill(0);
    for (let i = first; i < end; i++) {
      starts[scene.paint[i] + 1]++;
    }
    for (let paint = 1; paint < starts.length; paint++) {
      starts[paint] += starts[paint - 1];
    }
    for (let i = first; i < end; i++) {
      this.order[starts[scene.paint[i]]++] = i;
    }
  }

  private fillBoxes(
    context: CanvasRenderingContext2D,
    ratio: number,
    scene: Scene,
    count: number,
    topOf: (row: number) => number,
  ): void {
    const { x, width, row } = scene.boxes;
    const pixel = 1 / ratio;
    let paint = -1;
    for (let at = 0; at < count; at++) {
      const box = this.order[at];
      if (scene.paint[box] !== paint) {
        paint = scene.paint[box];
        context.fillStyle = this.styles[paint].fill;
      }
      // Edges on whole device pixels: sharp, and cheap to fill.
      const left = Math.round(x[box] * ratio) / ratio;
      const end = Math.round((x[box] + width[box]) * ratio) / ratio;
      const right = Math.max(end, left + pixel); // what is there is seen
      const gap = right - left >= 3 ? 1 : right - left >= 2 * pixel ? pixel : 0;
      context.fillRect(left, topOf(row[box]), right - left - gap, ROW_PX - 1);
    }
    this.hatchBoxes(context, scene, count, topOf);
  }

  private hatchBoxes(
    context: CanvasRenderingContext2D,
    scene: Scene,
    count: number,
    topOf: (row: number) => number,
  ): void {
    const { x, width, row } = scene.boxes;
    let pattern: CanvasPattern | null = null;
    for (let at = 0; at < count; at++) {
      const box = this.order[at];
      if (width[box] < HATCHED_FROM_PX || !isHatched(Math.floor(scene.paint[box] / VARIANTS))) {
        continue;
      }
      if (pattern === null) {
        pattern = context.createPattern(this.hatch, "repeat");
        if (pattern === null) {
          return;
        }
        context.fillStyle = pattern;
      }
      context.fillRect(x[box], topOf(row[box]), width[box] - 1, ROW_PX - 1);
    }
  }

  private writeLabels(
    context: CanvasRenderingContext2D,
    ratio: number,
    scene: Scene,
    first: number,
    end: number,
    topOf: (row: number) => number,
  ): void {
    const { x, width, row, kind } = scene.boxes;
    context.font = FONT;
    context.textBaseline = "alphabetic";
    let colour = "";
    for (let box = first; box < end; box++) {
      if (width[box] < NARROWEST_TEXT_PX) {
        continue;
      }
      const label = labelOf(scene, box, this.functions).replace(UNSEEN, "\ufffd");
      const isRest = kind[box] === BOX_REST;
      const text = isRest ? this.restLabel(label, width[box]) : this.text.fit(label, width[box]);
      if (text === "") {
        continue;
      }
      const wanted = this.styles[scene.paint[box]].text;
      if (wanted !== colour) {
        colour = wanted;
        context.fillStyle = wanted;
      }
      const left = Math.round(x[box] * ratio) / ratio;
      context.fillText(text, left + 4, topOf(row[box]) + BASELINE_PX);
    }
  }

  // A rest's label loses whole words, not letters.
  private restLabel(label: string, widthPx: number): string {
    const room = widthPx - 8;
    for (const text of [label, label.slice(0, label.indexOf(",")), label.split(" ")[0]]) {
      if (this.text.widthOf(text) <= room) {
        return text;
      }
    }
    return "";
  }
}

function makeHatch(theme: Theme): HTMLCanvasElement {
  const tile = document.createElement("canvas");
  tile.width = HATCH_PX;
  tile.height = HATCH_PX;
  const context = tile.getContext("2d");
  if (context !== null) {
    context.strokeStyle = HATCH[theme];
    context.lineWidth = 1.5;
    context.beginPath();
    for (const shift of [-HATCH_PX, 0, HATCH_PX]) {
      context.moveTo(shift - 1, HATCH_PX + 1);
      context.lineTo(shift + HATCH_PX + 1, -1);
    }
    context.stroke();
  }
  return tile;
}
