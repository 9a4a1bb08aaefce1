// The line at the top: title, search and the switches of the picture.
import type { Comparison, DocumentInfo, WidthBy } from "../engine/protocol";
import { button, fillSelect, icon, make, press, show } from "./dom";
import type { Theme } from "./palette";
import type { ColouringChoice, LayoutChoice, ViewState } from "./view_state";

export interface ToolbarEvents {
  colouring(choice: ColouringChoice): void;
  valueType(index: number): void;
  comparison(choice: Comparison): void;
  widthBy(choice: WidthBy): void;
  layout(choice: LayoutChoice): void;
  turn(): void;
  theme(): void;
  details(): void;
  help(): void;
}

const COLOURS: { value: ColouringChoice; label: string }[] = [
  { value: "binary", label: "Binary" }, { value: "kind", label: "Kind" },
  { value: "package", label: "Package" }, { value: "module", label: "Module" },
];
const LAYOUTS: { choice: LayoutChoice; label: string; path: string }[] = [
  { choice: "graph", label: "Graph", path: "M2 3.5h12M2 7h8M2 10.5h5" },
  { choice: "both", label: "Graph and table", path: "M2 3h12v10H2zM9 3v10" },
  { choice: "table", label: "Table", path: "M2 3h12v10H2zM2 6.5h12M2 9.7h12M7 6.5V13" },
];

export class Toolbar {
  readonly element: HTMLElement;
  private readonly title = make("h1", { class: "vesta-title", testId: "title" });
  private readonly colouring = make("select", { testId: "colouring", label: "Colour by" });
  private readonly valueType = make("select", { testId: "value-type", label: "Value" });
  private readonly comparison = make("select", { testId: "comparison", label: "Compare" });
  private readonly widthBy = make("select", { testId: "width-by", label: "Width" });
  private readonly layouts: HTMLButtonElement[];
  private readonly turn: HTMLButtonElement;
  private readonly theme: HTMLButtonElement;
  private readonly details: HTMLButtonElement;
  private readonly labels: Record<"valueType" | "comparison" | "widthBy", HTMLElement>;

  constructor(search: HTMLElement, private readonly events: ToolbarEvents) {
    this.layouts = LAYOUTS.map(({ choice, label, path }) => button({ class: "vesta-segment",
      testId: `layout-${choice}`, label, title: `${label} (t)`, pressed: false,
      onClick: () => events.layout(choice) }, [icon(path)]));
    const tool = (testId: string, label: string, key: string, path: string, run: () => void) =>
      button({ class: "vesta-quiet", testId, label, title: `${label} (${key})`, onClick: run },
        [icon(path)]);
    this.turn = tool("root-button", "Root below", "i", "M8 2v11M4.5 9.5L8 13l3.5-3.5",
      () => events.turn());
    this.theme = tool("theme-button", "Dark or light", "d",
      "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z", () => events.theme());
    this.details = tool("details-button", "Details", "o",
      "M2 3h12v10H2zM10 3v10M11.5 5.5h1M11.5 8h1",
      () => events.details());
    const help = tool("help-button", "Keys", "?",
      "M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1.1M8 11.5v.01", () => events.help());
    this.labels = {
      valueType: labelled("Value", this.valueType),
      comparison: labelled("Compare", this.comparison),
      widthBy: labelled("Width", this.widthBy),
    };
    const tools = make("div", { class: "vesta-tools" }, [
      this.labels.valueType, this.labels.comparison, this.labels.widthBy,
      labelled("Colour", this.colouring),
      make("div", { class: "vesta-segments", role: "group", label: "Layout" }, this.layouts),
      make("div", { class: "vesta-buttons" }, [this.turn, this.details, this.theme, help]),
    ]);
    const more = button({ class: "vesta-quiet vesta-more", testId: "more-button", label: "More",
      aria: { expanded: "false" },
      onClick: () => this.setOpen(more, !this.element.classList.contains("open")),
    }, [icon("M2.5 4.5h11M2.5 8h11M2.5 11.5h11")]);
    this.element = make("header", { class: "vesta-toolbar", testId: "toolbar" },
      [this.title, search, more, tools]);
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.element.classList.contains("open")) {
        this.setOpen(more, false);
        more.focus();
        event.stopPropagation();
      }
    });
    this.listen();
  }

  // In narrow windows: the tools below the bar.
  private setOpen(more: HTMLButtonElement, isOpen: boolean): void {
    this.element.classList.toggle("open", isOpen);
    more.setAttribute("aria-expanded", String(isOpen));
  }

  private listen(): void {
    const { colouring, valueType, comparison, widthBy, events } = this;
    const chosen = <T extends string>(select: HTMLSelectElement, take: (value: T) => void): void =>
      select.addEventListener("change", () => take(select.value as T));
    chosen<ColouringChoice>(colouring, (value) => events.colouring(value));
    chosen<string>(valueType, (value) => events.valueType(Number(value)));
    chosen<Comparison>(comparison, (value) => events.comparison(value));
    chosen<WidthBy>(widthBy, (value) => events.widthBy(value));
  }

  // What stays the same for the document.
  setDocument(info: DocumentInfo): void {
    this.title.textContent = info.title;
    this.title.title = info.title;
    const isTwoSided = info.sides.length === 2;
    show(this.labels.valueType, info.valueTypes.length > 1);
    show(this.labels.comparison, isTwoSided);
    show(this.labels.widthBy, isTwoSided);
    const types = info.valueTypes.map((one) => one.type);
    const isClear = new Set(types).size === types.length;
    fillSelect(this.valueType, info.valueTypes.map((one, index) => ({ value: String(index),
      label: isClear ? one.type : `${one.type}, ${one.unit}` })), String(info.valueType));
    fillSelect(this.comparison, [{ value: "absolute", label: "Absolute" },
      { value: "normalized", label: "Equal totals" }], "absolute");
    const [before, after] = isTwoSided ? info.sides.map((side) => side.name) : ["", ""];
    fillSelect(this.widthBy, [{ value: "both", label: "Both" },
      { value: "before", label: `Before: ${before}` },
      { value: "after", label: `After: ${after}` }],
    "both");
    const difference = { value: "difference", label: "Difference" };
    fillSelect(this.colouring, isTwoSided ? [difference, ...COLOURS] : COLOURS, "binary");
  }

  setState(state: ViewState, colouring: ColouringChoice, valueType: number, theme: Theme): void {
    this.colouring.value = colouring;
    this.valueType.value = String(valueType);
    this.comparison.value = state.comparison;
    this.widthBy.value = state.widthBy;
    this.layouts.forEach((one, at) => press(one, LAYOUTS[at].choice === state.layout));
    press(this.turn, state.rootBelow);
    press(this.details, state.details);
    press(this.theme, theme === "dark");
  }
}

function labelled(text: string, select: HTMLSelectElement): HTMLElement {
  return make("label", { class: "vesta-labelled" }, [make("span", { text }), select]);
}
