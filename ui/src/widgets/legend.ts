// What the colours mean. A click on an entry leaves only its boxes lit, with Ctrl or Shift one
// more, again takes it off. In a comparison: the scale from less to more.
import type { LegendEntry } from "../engine/protocol";
import { button, make, press, show } from "./dom";
import { formatShare, formatValue, shareOf, sum } from "./format";
import { changeStyle, KeyStyles } from "./palette";
import type { Painter } from "./painter";

const ENTRIES_MAX = 200; // more cannot be told apart, nor read
const SCALE = [-1, -0.5, -0.2, -0.05, 0, 0.05, 0.2, 0.5, 1];
const SCALE_LABELS: Record<string, string> = { "-1": "gone", "-0.5": "half", "0": "same",
  "0.5": "double", "1": "new" };

export interface LegendEvents {
  select(keys: string[]): void;
  menu(entry: LegendEntry, x: number, y: number): void;
}

export class Legend {
  readonly element: HTMLDivElement;
  private readonly list: HTMLDivElement;
  private readonly all: HTMLButtonElement;
  private readonly clear: HTMLButtonElement;
  private selected: string[] = [];
  private isOpen = false;
  private count = 0; // of the entries

  constructor(private readonly painter: Painter, private readonly events: LegendEvents) {
    this.list = make("div", { class: "vesta-legend-list", role: "group", label: "Legend" });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.all = button({ class: "vesta-quiet", testId: "legend-all", aria: { expanded: "false" },
      onClick: () => this.toggle() });
    this.clear = button({ class: "vesta-quiet", testId: "legend-clear", text: "Clear",
      title: "Light all boxes again", onClick: () => events.select([]) });
    this.element = make("div", { class: "vesta-legend", testId: "legend" },
      [this.list, this.clear, this.all]);
  }

  // One stop of the tab key; arrows go on from there.
  private onKey(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const entries = [...this.list.querySelectorAll<HTMLElement>("[data-key]")];
    const at = entries.findIndex((entry) => entry === document.activeElement);
    const next = entries[at + step];
    if (step === 0 || at < 0 || next === undefined) {
      return;
    }
    entries[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  private toggle(): void {
    this.isOpen = !this.isOpen;
    this.element.classList.toggle("open", this.isOpen);
    this.all.setAttribute("aria-expanded", String(this.isOpen));
    this.nameAll();
  }

  private nameAll(): void {
    this.all.textContent = this.isOpen ? "Fewer" : `All ${this.count}…`;
    this.all.title = this.isOpen ? "One line of entries" : "Open the list of all entries";
  }

  showEntries(
    entries: LegendEntry[], styles: KeyStyles, selected: string[], unit: string, inverted: boolean,
  ): void {
    this.selected = selected;
    const whole = entries.reduce((all, entry) => all + sum(entry.self), 0);
    const shown = entries.filter((entry) => sum(entry.self) > 0 || selected.includes(entry.key));
    this.element.classList.remove("scale");
    const buttons = shown.slice(0, ENTRIES_MAX).map((entry) => {
      const own = sum(entry.self);
      const swatch = make("span", { class: "vesta-swatch" });
      swatch.style.backgroundColor = this.painter.swatch(styles.swatchOf(entry.key, entry.kind));
      const share = formatShare(shareOf(own, whole));
      const weight = inverted ? `${share} of the boxes`
        : `${formatValue(own, unit)} self, ${share}`;
      const one = button({ class: "vesta-legend-entry", testId: "legend-entry",
        data: { key: entry.key }, title: `${entry.label}: ${weight}`,
        pressed: selected.includes(entry.key), tabIndex: -1,
        onClick: (event) => this.onClick(entry, event) },
        [swatch, make("span", { class: "vesta-legend-label", text: entry.label }),
          make("span", { class: "vesta-legend-share", text: share })]);
      one.addEventListener("contextmenu", (event) => {
        event.preventDefault();
        const frame = one.getBoundingClientRect();
        const isMouse = event.clientX !== 0 || event.clientY !== 0;
        this.events.menu(entry, isMouse ? event.clientX : frame.left,
          isMouse ? event.clientY : frame.bottom);
      });
      return one;
    });
    if (buttons.length > 0) {
      buttons[0].tabIndex = 0;
    }
    this.list.replaceChildren(...buttons);
    if (shown.length > ENTRIES_MAX) {
      const more = shown.length - ENTRIES_MAX;
      this.list.append(make("span", { class: "vesta-legend-share", text: `and ${more} more` }));
    }
    this.mark();
    this.count = shown.length;
    this.nameAll();
    show(this.all, shown.length > 3);
  }

  setSelected(selected: string[]): void {
    this.selected = selected;
    this.mark();
  }

  private mark(): void {
    this.element.classList.toggle("filtered", this.selected.length > 0);
    show(this.clear, this.selected.length > 0);
    for (const one of this.list.querySelectorAll<HTMLElement>("[data-key]")) {
      press(one, this.selected.includes(one.dataset.key ?? ""));
    }
  }

  private onClick(entry: LegendEntry, event: MouseEvent): void {
    const isIn = this.selected.includes(entry.key);
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      this.events.select(isIn ? this.selected.filter((key) => key !== entry.key)
        : [...this.selected, entry.key]);
      return;
    }
    this.events.select(isIn && this.selected.length === 1 ? [] : [entry.key]);
  }

  // The scale of a comparison.
  showScale(sideNames: string[]): void {
    this.selected = [];
    this.mark();
    show(this.all, false);
    this.element.classList.add("scale");
    const steps = SCALE.map((change) => {
      const step = make("span", { class: "vesta-scale-step", text: SCALE_LABELS[change] ?? "" });
      step.style.backgroundColor = this.painter.swatch(changeStyle(change));
      step.style.color = this.painter.swatchText(changeStyle(change));
      return step;
    });
    this.list.replaceChildren(make("div", { class: "vesta-scale", testId: "legend-scale",
      role: "img",
      label: `Blue: less in ${sideNames[1]}; orange: more; grey: the same, or noise` }, [
      make("span", { class: "vesta-legend-share vesta-legend-side",
        text: `less in ${sideNames[1]}`, title: sideNames[1] }),
      make("span", { class: "vesta-scale-steps" }, steps),
      make("span", { class: "vesta-legend-share", text: "more" }),
      make("span", { class: "vesta-legend-note",
        text: "grey: the same, or within sampling noise" }),
    ]));
  }
}
