// The legend of the chart: who used how much. A click leaves only that one in the flame graph, with
// Ctrl or Shift one more, again takes it off.
import { button, make, press } from "./dom";
import { formatShare } from "./format";

export interface ServiceRow {
  value: string; // of the label
  name: string; // as it is shown
  fill: string;
  mean: string;
  share: number;
}

export interface RestRow {
  label: string; // "12 more"
  fill: string;
  mean: string;
  share: number;
  isOpen: boolean; // more of them cannot be shown
}

export interface ServiceListEvents {
  pick(values: string[]): void;
  more(): void; // the rest is to be taken apart
}

export class ServiceList {
  readonly element: HTMLDivElement;
  private readonly list: HTMLDivElement;
  private picks: readonly string[] = [];

  constructor(private readonly events: ServiceListEvents) {
    this.list = make("div", { class: "live-services-list", role: "group", label: "Shown by" });
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.element = make("div", { class: "live-services", testId: "services" }, [this.list]);
  }

  show(rows: readonly ServiceRow[], rest: RestRow | null, picks: readonly string[]): void {
    this.picks = picks;
    const focused = document.activeElement;
    const hadFocus = focused instanceof HTMLElement && this.list.contains(focused)
      ? focused.dataset.value : undefined;
    const buttons = rows.map((row) => button({ class: "live-service", testId: "service",
      data: { value: row.value }, title: `${row.name}: ${row.mean}, ${formatShare(row.share)}`,
      pressed: picks.includes(row.value), tabIndex: -1,
      onClick: (event) => this.onClick(row.value, event) },
      partsOf(row.fill, row.name, row.mean, row.share)));
    this.list.classList.toggle("filtered", picks.length > 0);
    this.list.replaceChildren(...buttons);
    if (rest !== null) {
      const parts = partsOf(rest.fill, rest.label, rest.mean, rest.share);
      this.list.append(rest.isOpen
        ? make("div", { class: "live-service", testId: "services-rest" }, parts)
        : button({ class: "live-service", testId: "services-rest", tabIndex: -1,
          title: "Show more of them one by one", onClick: () => this.events.more() }, parts));
    }
    const entries = this.entries();
    const at = hadFocus === undefined ? -1
      : entries.findIndex((entry) => entry.dataset.value === hadFocus);
    const first = entries[Math.max(0, at)];
    if (first !== undefined) {
      first.tabIndex = 0;
      if (at >= 0) {
        first.focus({ preventScroll: true });
      }
    }
  }

  private entries(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>("button")];
  }

  // One stop of the tab key; arrows go on from there.
  private onKey(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" || event.key === "ArrowRight" ? 1
      : event.key === "ArrowUp" || event.key === "ArrowLeft" ? -1 : 0;
    const entries = this.entries();
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

  private onClick(value: string, event: MouseEvent): void {
    const isIn = this.picks.includes(value);
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      this.events.pick(isIn ? this.picks.filter((one) => one !== value) : [...this.picks, value]);
      return;
    }
    this.events.pick(isIn && this.picks.length === 1 ? [] : [value]);
  }

  mark(picks: readonly string[]): void {
    this.picks = picks;
    this.list.classList.toggle("filtered", picks.length > 0);
    for (const one of this.list.querySelectorAll<HTMLElement>("[data-value]")) {
      press(one, picks.includes(one.dataset.value ?? ""));
    }
  }
}

function partsOf(fill: string, name: string, mean: string, share: number): Node[] {
  const swatch = make("span", { class: "vesta-swatch" });
  swatch.style.backgroundColor = fill;
  return [swatch, make("span", { class: "live-service-name", text: name }),
    make("span", { class: "vesta-number", text: mean }),
    make("span", { class: "vesta-number live-share", text: formatShare(share) })];
}
