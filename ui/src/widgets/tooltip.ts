// What the box under the pointer is, beside the pointer: never over it, never outside the window.
import { BOX_REST, type FunctionInfo } from "../engine/protocol";
import { make } from "./dom";
import { formatCount, formatShare, formatSigned, formatSignedShare, formatValue, shareOf }
  from "./format";
import { parentBox, totalOf, type Scene } from "./scene";

const AWAY_PX = 14;
const EDGE_PX = 6;

export interface TooltipFacts {
  scene: Scene;
  box: number;
  func: FunctionInfo | undefined;
  unit: string;
  zoomTotal: number;
  sideNames: string[]; // two in a comparison
  withinNoise: boolean;
}

// "file:line (inlined)" and the like; "" when nothing is known.
export function placeOf(func: FunctionInfo): string {
  if (func.file === "") {
    return "";
  }
  return func.startLine > 0 ? `${func.file}:${func.startLine}` : func.file;
}

export function inlinedWord(func: FunctionInfo): string {
  return func.inlined === "always" ? "inlined" : func.inlined === "sometimes"
    ? "inlined in places" : "";
}

export class Tooltip {
  private readonly element: HTMLDivElement;
  private shown: { scene: Scene; box: number } | null = null;
  private size = { width: 0, height: 0 };

  constructor(host: HTMLElement) {
    this.element = make("div", { class: "vesta-tooltip", testId: "tooltip", role: "tooltip" });
    this.element.hidden = true;
    host.append(this.element);
  }

  get isShown(): boolean {
    return this.shown !== null;
  }

  hide(): void {
    this.element.hidden = true;
    this.shown = null;
  }

  // x, y: the pointer, in the window. The content is made anew for another box only.
  show(facts: TooltipFacts, x: number, y: number): void {
    if (this.shown?.scene !== facts.scene || this.shown.box !== facts.box) {
      this.shown = { scene: facts.scene, box: facts.box };
      this.element.replaceChildren(...contentOf(facts));
      this.element.hidden = false;
      this.element.style.transform = "translate(0, 0)";
      this.size = { width: this.element.offsetWidth, height: this.element.offsetHeight };
    }
    const { left, top } = placeBeside(x, y, this.size,
      { width: window.innerWidth, height: window.innerHeight });
    this.element.style.transform = `translate(${left}px, ${top}px)`;
  }
}

// Right below the pointer, or on the other side of it where the window ends.
export function placeBeside(
  x: number,
  y: number,
  size: { width: number; height: number },
  window: { width: number; height: number },
): { left: number; top: number } {
  const fits = (at: number, length: number, end: number): boolean => at + length + EDGE_PX <= end;
  let left = x + AWAY_PX;
  if (!fits(left, size.width, window.width)) {
    const last = window.width - size.width - EDGE_PX;
    left = Math.max(EDGE_PX, Math.min(x - AWAY_PX - size.width, last));
  }
  let top = y + AWAY_PX;
  if (!fits(top, size.height, window.height)) {
    top = y - AWAY_PX - size.height;
    if (top < EDGE_PX) {
      // Too high for either side: then beside, at the edge, if it is not over the pointer there.
      top = Math.max(EDGE_PX, window.height - size.height - EDGE_PX);
    }
  }
  return { left, top };
}

function row(label: string, values: string[]): Node[] {
  return [
    make("span", { class: "vesta-fact", text: label }),
    ...values.map((text) => make("span", { class: "vesta-number", text })),
  ];
}

function contentOf(facts: TooltipFacts): Node[] {
  const { scene, box, func } = facts;
  const boxes = scene.boxes;
  if (boxes.kind[box] === BOX_REST) {
    const count = formatCount(boxes.restCount[box]);
    const share = formatShare(shareOf(totalOf(boxes, box), scene.rootTotal));
    const value = formatValue(totalOf(boxes, box), facts.unit);
    return [
      make("div", { class: "vesta-tooltip-name",
        text: `${count} more boxes, too narrow to show` }),
      make("div", { class: "vesta-tooltip-place",
        text: `${value}, ${share} of all. Click opens them.` }),
    ];
  }
  const nodes: Node[] = [make("div", { class: "vesta-tooltip-name", text: func?.name ?? "" })];
  const isTwoSided = boxes.total.length === 2;
  nodes.push(make("div", { class: isTwoSided ? "vesta-facts two" : "vesta-facts" },
    isTwoSided ? comparisonRows(facts) : plainRows(facts)));
  if (func !== undefined) {
    const places = [placeOf(func), func.image, inlinedWord(func)].filter((text) => text !== "");
    for (const text of places) {
      nodes.push(make("div", { class: "vesta-tooltip-place", text }));
    }
  }
  return nodes;
}

function plainRows({ scene, box, unit, zoomTotal }: TooltipFacts): Node[] {
  const boxes = scene.boxes;
  const total = totalOf(boxes, box);
  const self = boxes.self[0][box];
  const parent = parentBox(boxes, box);
  const rows = [
    ...row("Total", [formatValue(total, unit), formatShare(shareOf(total, scene.rootTotal))]),
    ...row("Self", [formatValue(self, unit), formatShare(shareOf(self, scene.rootTotal))]),
  ];
  if (parent >= 0) {
    const share = formatShare(shareOf(total, totalOf(boxes, parent)));
    rows.push(...row("Of its caller", ["", share]));
  }
  if (zoomTotal !== scene.rootTotal) {
    rows.push(...row("Of the selection", ["", formatShare(shareOf(total, zoomTotal))]));
  }
  return rows;
}

function comparisonRows({ scene, box, unit, sideNames, withinNoise }: TooltipFacts): Node[] {
  const boxes = scene.boxes;
  const total = boxes.total.map((side) => side[box]);
  const self = boxes.self.map((side) => side[box]);
  const difference = total[1] - total[0];
  const rows = [
    ...row("", [...sideNames, "Difference"]),
    ...row("Total", [formatValue(total[0], unit), formatValue(total[1], unit),
      formatSigned(difference, unit)]),
    ...row("Self", [formatValue(self[0], unit), formatValue(self[1], unit),
      formatSigned(self[1] - self[0], unit)]),
    ...row("Change", ["", "", changeWord(total[0], total[1])]),
  ];
  const parent = parentBox(boxes, box);
  if (parent >= 0) {
    const shares = boxes.total.map((side) => formatShare(shareOf(side[box], side[parent])));
    rows.push(...row("Of its caller", [...shares, ""]));
  }
  const ofAll = boxes.total.map((side) => formatShare(shareOf(side[box], side[0])));
  rows.push(...row("Of all", [...ofAll, ""])); // box 0 is the root
  if (withinNoise) {
    rows.push(make("span", { class: "vesta-noise",
      text: "The difference is within sampling noise" }));
  }
  return rows;
}

// "+12 %", "new", "gone", "no change".
export function changeWord(before: number, after: number): string {
  if (before === after) {
    return "no change";
  }
  if (before === 0) {
    return "new";
  }
  return after === 0 ? "gone" : formatSignedShare((after - before) / before);
}
