// The line at the top of the live page: what is asked for, of which time, and shown by what.
import { type Grouping, GROUPINGS, type LiveState } from "../model/live_state";
import { RANGES } from "../model/time_window";
import { button, fillSelect, make, press, show } from "./dom";

export interface LiveBarEvents {
  query(text: string): void;
  range(lengthMs: number): void;
  by(grouping: Grouping): void;
  live(isLive: boolean): void;
}

export class LiveBar {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly error = make("div", { class: "vesta-search-error", testId: "query-error",
    role: "alert" });
  private readonly by = make("select", { testId: "group-by", label: "Group by" });
  private readonly ranges: HTMLButtonElement[];
  private readonly live: HTMLButtonElement;
  private shown = ""; // what holds; another text in the field is still being typed

  constructor(events: LiveBarEvents) {
    this.input = make("input", { class: "vesta-search-input", testId: "query", type: "text",
      label: "Which samples: a selector such as cpu{service=\"shop\"}" });
    this.input.placeholder = "cpu{service=\"shop\"}";
    this.input.spellcheck = false;
    this.input.autocomplete = "off";
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        this.shown = this.input.value;
        events.query(this.input.value);
      } else if (event.key === "Escape") {
        this.input.value = this.shown;
        show(this.error, false);
        this.input.blur();
      }
    });
    this.input.addEventListener("change", () => {
      if (this.input.value !== this.shown) {
        this.shown = this.input.value;
        events.query(this.input.value);
      }
    });
    show(this.error, false);
    this.ranges = RANGES.map((range) => button({ class: "vesta-segment", text: range.label,
      testId: `range-${range.name}`, title: `The last ${range.label}`, pressed: false,
      onClick: () => events.range(range.lengthMs) }));
    this.live = button({ class: "vesta-segment live-button", testId: "live-button", pressed: true,
      onClick: () => events.live(this.live.getAttribute("aria-pressed") !== "true") },
      [make("span", { class: "live-dot", aria: { hidden: "true" } }),
        make("span", { text: "Live" })]);
    fillSelect(this.by, GROUPINGS.map((value) => ({ value, label: value })), "service");
    this.by.addEventListener("change", () => events.by(this.by.value as Grouping));
    this.element = make("header", { class: "live-bar" }, [
      make("h1", { class: "live-name", text: "vesta" }),
      make("div", { class: "vesta-search", role: "search" },
        [make("div", { class: "vesta-search-field" }, [this.input]), this.error]),
      make("div", { class: "vesta-segments", role: "group", label: "Time" },
        [...this.ranges, this.live]),
      make("label", { class: "vesta-labelled" }, [make("span", { text: "by" }), this.by]),
    ]);
  }

  // query: the selector that holds, with what was clicked.
  setState(state: LiveState, query: string): void {
    if (document.activeElement !== this.input || this.input.value === this.shown) {
      this.input.value = query;
    }
    this.shown = query;
    this.by.value = state.by;
    const { range } = state;
    this.ranges.forEach((one, at) =>
      press(one, range.kind === "last" && RANGES[at].lengthMs === range.lengthMs));
    const isLive = range.kind === "last";
    press(this.live, isLive);
    this.live.title = isLive ? "Stop: keep this time" : "Follow the clock again";
  }

  // "" = none.
  setError(text: string): void {
    this.error.textContent = text;
    show(this.error, text !== "");
    this.input.setAttribute("aria-invalid", String(text !== ""));
  }
}
