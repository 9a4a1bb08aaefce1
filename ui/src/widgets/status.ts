// The line at the bottom: what the picture is of, what it does not show, and what is known to be
// missing from the profile. And short messages that go away.
import type { DocumentInfo } from "../engine/protocol";
import { button, make, show } from "./dom";
import { formatCount, formatShare, formatSigned, formatTimes, formatValue } from "./format";
import { changeWord } from "./tooltip";

const MESSAGE_MS = 4000;

export interface StatusFacts {
  info: DocumentInfo;
  unit: string;
  restNodes: number;
  restShare: number; // of the zoomed part
  removed: readonly number[]; // per side, by transforms
}

export class Status {
  readonly element: HTMLElement;
  private readonly line = make("span", { class: "vesta-status-line", testId: "status" });
  private readonly notes: HTMLDivElement;
  private readonly notesButton: HTMLButtonElement;

  constructor() {
    this.notes = make("div", { class: "vesta-notes", testId: "notes", role: "note" });
    this.notes.hidden = true;
    this.notesButton = button({ class: "vesta-notes-button",
      aria: { expanded: "false" }, onClick: () => {
        this.notes.hidden = !this.notes.hidden;
        this.notesButton.setAttribute("aria-expanded", String(!this.notes.hidden));
      } });
    this.element = make("footer", { class: "vesta-status" },
      [this.notes, this.line, this.notesButton]);
  }

  show(facts: StatusFacts): void {
    const { info, unit } = facts;
    const parts: string[] = [totalsText(info, unit),
      `${formatCount(info.nodeCount)} boxes, ${formatCount(info.functionCount)} functions`];
    if (facts.restNodes > 0 && facts.restShare > 0) {
      const boxes = facts.restNodes === 1 ? "1 narrow box is"
        : `${formatCount(facts.restNodes)} narrow boxes are`;
      parts.push(`${boxes} gathered in grey (${formatShare(facts.restShare)}): click grey to open`);
    }
    const removed = facts.removed.reduce((all, one) => all + one, 0);
    if (removed > 0) {
      parts.push(`${formatValue(removed, unit)} hidden by changes to the picture`);
    }
    parts.push(...timesOf(info));
    this.line.replaceChildren(...parts.map((text) => make("span", { text })));
    show(this.notesButton, info.notes.length > 0);
    const count = info.notes.length;
    this.notesButton.textContent = count === 1 ? "1 note" : `${count} notes`;
    this.notes.replaceChildren(...info.notes.map((text) => make("p", { text })));
  }
}

// What time a profile is of; a comparison says it of both sides where it is not the same.
function timesOf(info: DocumentInfo): string[] {
  const times = info.sides.filter((side) => isTime(side.timeUnixMs)
    && isTime(side.timeUnixMs + side.durationMs))
    .map((side) => formatTimes(side.timeUnixMs, side.durationMs));
  if (times.length < info.sides.length) return [];
  return [times[0] === times[times.length - 1] ? times[0] : times.join(" → ")];
}

// Of the years that have four digits.
function isTime(unixMs: number): boolean {
  return unixMs > 0 && unixMs < 253402300800000;
}

function totalsText(info: DocumentInfo, unit: string): string {
  const [one, other] = info.totals;
  const type = info.valueTypes[info.valueType]?.type ?? "";
  if (other === undefined) {
    const noun = type === "samples" && one === 1 ? "sample" : type;
    return `${formatValue(one, unit)} ${noun}`.trim();
  }
  return `${type}: ${formatValue(one, unit)} → ${formatValue(other, unit)} `
    + `(${formatSigned(other - one, unit)}, ${changeWord(one, other)})`;
}

export class Message {
  readonly element = make("div", { class: "vesta-message", testId: "message", role: "status" });
  private timer = 0;

  show(text: string): void {
    this.element.textContent = text;
    this.element.classList.add("shown");
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.element.classList.remove("shown"), MESSAGE_MS);
  }
}
