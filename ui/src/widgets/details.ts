// The panel beside the graph: all that is known of the selected box, and what can be done with it.
import type { FunctionInfo, NodeDetails, TreeName } from "../engine/protocol";
import { actionsFor, type ActionId, type Target } from "./actions";
import { button, icon, make } from "./dom";
import { formatCount, formatShare, formatSigned, formatValue, shareOf, sum } from "./format";
import { keyOf } from "./keys";
import { changeWord, inlinedWord, placeOf } from "./tooltip";

const LINES_MAX = 30;

export interface DetailsFacts {
  target: Target;
  details: NodeDetails | null; // null: a function without a place in the tree
  path: { label: string; node: number }[]; // root first
  unit: string;
}

export interface DetailsEvents {
  close(): void;
  act(action: ActionId, target: Target): void;
  zoom(node: number): void;
}

export class Details {
  readonly element: HTMLElement;
  private readonly body: HTMLDivElement;

  constructor(private readonly events: DetailsEvents) {
    this.body = make("div", { class: "vesta-details-body" });
    this.element = make("aside", { class: "vesta-details", testId: "details",
      role: "complementary", label: "Details of the selected box" }, [
      make("div", { class: "vesta-details-head" }, [
        make("h2", { text: "Details" }),
        button({ class: "vesta-quiet", testId: "details-close", label: "Close the details",
          onClick: () => events.close() }, [icon("M4 4l8 8M12 4l-8 8")]),
      ]),
      this.body,
    ]);
  }

  showNothing(): void {
    this.body.replaceChildren(make("p", { class: "vesta-hint",
      text: "Select a box: click it, or use the arrow keys." }));
  }

  show(facts: DetailsFacts): void {
    const { target, details } = facts;
    const parts: Node[] = [headOf(target.func)];
    if (details !== null) {
      parts.push(numbersOf(details, facts.unit));
    }
    parts.push(this.actionsOf(target));
    if (details !== null && details.lines.length > 0) {
      parts.push(linesOf(details, facts.unit));
    }
    if (facts.path.length > 1) {
      parts.push(this.pathOf(facts.path, facts.target.tree));
    }
    this.body.replaceChildren(...parts);
  }

  private actionsOf(target: Target): HTMLElement {
    const buttons = actionsFor(target).map((action) => {
      const key = keyOf(action.id);
      return button({ class: "vesta-action", testId: `action-${action.id}`,
        data: { action: action.id }, onClick: () => this.events.act(action.id, target) },
        [make("span", { text: action.label(target) }), make("kbd", { text: key })]);
    });
    return make("div", { class: "vesta-actions", role: "group", label: "What to do with it" },
      buttons);
  }

  private pathOf(path: { label: string; node: number }[], tree: TreeName): HTMLElement {
    const steps = path.slice(0, -1).reverse().map((step) => make("li", {}, [
      button({ class: "vesta-path-step", text: step.label, title: step.label,
        onClick: () => this.events.zoom(step.node) })]));
    const title = tree === "callers" ? "Calls" : "Called by";
    return make("section", {}, [make("h3", { text: title }),
      make("ol", { class: "vesta-path", testId: "details-path" }, steps)]);
  }
}

function headOf(func: FunctionInfo): HTMLElement {
  const lines = [placeOf(func), func.image, inlinedWord(func)].filter((text) => text !== "");
  return make("header", { class: "vesta-details-name" }, [
    make("strong", { text: func.name }),
    ...lines.map((text) => make("div", { class: "vesta-tooltip-place", text })),
  ]);
}

function cell(text: string, className = "vesta-number"): HTMLElement {
  return make("td", { class: className, text });
}

function numbersOf(details: NodeDetails, unit: string): HTMLElement {
  const isTwoSided = details.total.length === 2;
  const all = sum(details.rootTotal);
  const rows: HTMLElement[] = [];
  const put = (label: string, values: number[]): void => {
    const cells = isTwoSided
      ? [cell(formatValue(values[0], unit)), cell(formatValue(values[1], unit)),
        cell(formatSigned(values[1] - values[0], unit))]
      : [cell(formatValue(values[0], unit)), cell(formatShare(shareOf(values[0], all)))];
    rows.push(make("tr", {}, [make("th", { text: label }), ...cells]));
  };
  const heading = (label: string, [before, after]: number[]): void => {
    const columns = isTwoSided ? ["Before", "After", changeWord(before, after)] : ["", "Of all"];
    rows.push(make("tr", { class: "vesta-subhead" }, [make("th", { text: label }),
      ...columns.map((text) => cell(text))]));
  };
  heading("This box", details.total);
  put("Total", details.total);
  put("Self", details.self);
  const boxes = details.instances === 1 ? "1 box" : `${formatCount(details.instances)} boxes`;
  heading(`All of it: ${boxes}`, details.allTotal);
  put("Total", details.allTotal);
  put("Self", details.allSelf);
  const shares: HTMLElement[] = [];
  const share = (label: string, whole: number[]): void => {
    const values = details.total.map((value, side) => formatShare(shareOf(value, whole[side])));
    const cells = isTwoSided ? [...values.map((text) => cell(text)), cell("")]
      : [cell(""), cell(values[0])];
    shares.push(make("tr", {}, [make("th", { text: label }), ...cells]));
  };
  share("Of its caller", details.parentTotal);
  share("Of the selection", details.zoomTotal);
  return make("table", { class: "vesta-numbers" }, [make("tbody", {}, [...rows, ...shares])]);
}

function linesOf(details: NodeDetails, unit: string): HTMLElement {
  const both = (values: number[]): string =>
    values.map((value) => formatValue(value, unit)).join(" → ");
  const most = Math.max(...details.lines.map((line) => sum(line.self)), 1);
  const items = details.lines.slice(0, LINES_MAX).map((line) => {
    const bar = make("i", { class: "vesta-bar", aria: { hidden: "true" } });
    bar.style.width = `${(100 * sum(line.self)) / most}%`;
    const place = `${line.file.slice(line.file.lastIndexOf("/") + 1)}:${line.line}`;
    const total = `${both(line.total)} total`;
    return make("li", { title: `${line.file}:${line.line}: ${total}` },
      [bar, make("span", { text: place }),
        make("span", { class: "vesta-number", text: both(line.self) })]);
  });
  const rest = details.lines.length - LINES_MAX;
  const more = rest > 0
    ? [make("p", { class: "vesta-hint", text: `and ${formatCount(rest)} more lines` })] : [];
  return make("section", {}, [make("h3", { text: "Lines (self)" }),
    make("ol", { class: "vesta-lines", testId: "details-lines" }, items), ...more]);
}
