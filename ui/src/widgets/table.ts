// All functions as rows: sorted by any column, searched together with the graph, only the visible
// rows made.
import type { FunctionInfo, TableAnswer, TableOrder, TableRow } from "../engine/protocol";
import { button, make, press, show } from "./dom";
import { baseName, formatCount, formatShare, formatSigned, formatValue, shareOf } from "./format";
import { changeWord } from "./tooltip";

const ROW_PX = 24;
const AHEAD_ROWS = 20; // asked for beyond the window

export interface TableEvents {
  rows(first: number, count: number): Promise<TableAnswer>;
  sort(order: TableOrder, descending: boolean): void;
  matchesOnly(only: boolean): void;
  select(func: FunctionInfo): void;
  open(func: FunctionInfo): void; // callers and callees
  menu(func: FunctionInfo, x: number, y: number): void;
  counted(rows: number): void;
}

interface Column {
  id: string;
  title: string;
  order: TableOrder | null;
  className: string;
  cell: (row: TableRow, table: TableShape) => { text: string; bar?: number; title?: string };
}

export interface TableShape {
  unit: string;
  totals: readonly number[];
  order: TableOrder;
  descending: boolean;
  matchesOnly: boolean;
  hasSearch: boolean;
  most: { self: number; total: number }; // largest values seen: what a full bar stands for
}

const NAME: Column = { id: "name", title: "Function", order: "name", className: "name",
  cell: (row) => ({ text: row.func.name, title: row.func.name }) };
const IMAGE: Column = { id: "image", title: "Binary", order: "image", className: "image",
  cell: (row) => ({ text: baseName(row.func.image), title: row.func.image }) };

function valueColumn(which: "self" | "total", title: string): Column {
  return { id: which, title, order: which, className: "number", cell: (row, table) => {
    const share = formatShare(shareOf(row[which][0], table.totals[0]));
    return { text: formatValue(row[which][0], table.unit), title: share,
      bar: shareOf(row[which][0], table.most[which]) };
  } };
}

function shareColumn(which: "self" | "total"): Column {
  return { id: `${which}-share`, title: "%", order: null, className: "share",
    cell: (row, table) => ({ text: formatShare(shareOf(row[which][0], table.totals[0])) }) };
}

function sideColumn(which: "self" | "total", side: number): Column {
  const name = which === "self" ? "Self" : "Total";
  const order: TableOrder | null = side === 1 ? which : null;
  return { id: side === 1 ? which : `${which}-before`, order, className: `number side ${which}`,
    title: `${name} ${side === 0 ? "before" : "after"}`,
    cell: (row, table) => ({ text: formatValue(row[which][side], table.unit),
      title: formatShare(shareOf(row[which][side], table.totals[side])) }) };
}

function differenceColumn(which: "self" | "total"): Column {
  return { id: `${which}Diff`, title: which === "self" ? "Self ±" : "Total ±",
    order: which === "self" ? "selfDiff" : "totalDiff", className: `number difference ${which}`,
    cell: (row, table) => ({
      text: formatSigned(row[which][1] - row[which][0], table.unit),
      title: changeWord(row[which][0], row[which][1]),
    }) };
}

// Descending, ascending.
const SIGNED_WORDS = ["What grew most first", "What shrank most first"] as const;
const SIZE_WORDS = ["The largest changes first", "The smallest changes first"] as const;
const ORDER_WORDS: Partial<Record<TableOrder, readonly [string, string]>> = {
  selfDiff: SIZE_WORDS, totalDiff: SIZE_WORDS,
  selfSigned: SIGNED_WORDS, totalSigned: SIGNED_WORDS };

const CHANGE: Column = { id: "change", title: "Change", order: null, className: "change",
  cell: (row) => {
    const isNoise = row.selfWithinNoise && row.totalWithinNoise;
    const word = row.isNew ? "new" : row.isGone ? "gone" : changeWord(row.total[0], row.total[1]);
    return isNoise ? { text: `${word} ≈`, title: "Within sampling noise" } : { text: word };
  } };

const ONE_SIDE: Column[] = [NAME, valueColumn("self", "Self"), shareColumn("self"),
  valueColumn("total", "Total"), shareColumn("total"), IMAGE];
const TWO_SIDES: Column[] = [NAME, differenceColumn("self"), sideColumn("self", 0),
  sideColumn("self", 1), differenceColumn("total"), sideColumn("total", 0),
  sideColumn("total", 1), CHANGE, IMAGE];

export class Table {
  readonly element: HTMLDivElement;
  private readonly grid: HTMLDivElement;
  private readonly head: HTMLDivElement;
  private readonly scroller: HTMLDivElement;
  private readonly body: HTMLDivElement;
  private readonly onlyMatches: HTMLButtonElement;
  private readonly count: HTMLSpanElement;
  private readonly observer: ResizeObserver;
  private readonly columns: Column[];
  private shape: TableShape | null = null;
  private rows: TableRow[] = []; // from `first` on
  private first = 0;
  private rowCount = 0;
  private active = 0; // row of the keyboard
  private selected: number | null = null; // function
  private asked = 0; // counts requests: late answers are dropped

  constructor(private readonly events: TableEvents, sides: number) {
    this.columns = sides === 2 ? TWO_SIDES : ONE_SIDE;
    this.head = make("div", { class: "vesta-table-head", role: "row" },
      this.columns.map((column) => this.headOf(column)));
    this.body = make("div", { class: "vesta-table-body", role: "rowgroup" });
    this.scroller = make("div", { class: "vesta-table-scroller", role: "presentation" },
      [this.body]);
    this.grid = make("div", { class: `vesta-table-grid ${sides === 2 ? "two" : "one"}`,
      testId: "table", role: "grid", tabIndex: 0, label: "Functions" }, [this.head, this.scroller]);
    this.onlyMatches = button({ class: "vesta-toggle", testId: "table-matches-only",
      text: "Matches only", pressed: false, onClick: () =>
        this.events.matchesOnly(this.shape?.matchesOnly !== true) });
    this.count = make("span", { class: "vesta-table-count" });
    this.element = make("div", { class: "vesta-table" },
      [make("div", { class: "vesta-table-bar" }, [this.count, this.onlyMatches]), this.grid]);
    this.listen();
    this.observer = new ResizeObserver(() => this.fill());
    this.observer.observe(this.scroller);
  }

  dispose(): void {
    this.observer.disconnect();
  }

  private headOf(column: Column): HTMLElement {
    const order = column.order;
    const cell = make("div", { class: `vesta-cell ${column.className}`, role: "columnheader",
      testId: `table-head-${column.id}` });
    if (order === null) {
      cell.textContent = column.title;
      return cell;
    }
    cell.append(button({ class: "vesta-sort", text: column.title, tabIndex: -1, onClick: () => {
      const next = this.shape === null ? null : nextOrder(order, this.shape);
      if (next !== null) {
        this.events.sort(next.order, next.descending);
      }
    } }));
    return cell;
  }

  private listen(): void {
    this.scroller.addEventListener("scroll", () => this.fill(), { passive: true });
    this.grid.addEventListener("keydown", (event) => this.onKey(event));
    const rowOf = (event: Event): number => {
      const row = event.target instanceof Element ? event.target.closest("[data-index]") : null;
      return row instanceof HTMLElement ? Number(row.dataset.index) : -1;
    };
    this.body.addEventListener("click", (event) => this.choose(rowOf(event), "select"));
    this.body.addEventListener("dblclick", (event) => this.choose(rowOf(event), "open"));
    this.body.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const row = this.rows[rowOf(event) - this.first];
      if (row !== undefined) {
        this.events.menu(row.func, event.clientX, event.clientY);
      }
    });
  }

  private choose(index: number, what: "select" | "open"): void {
    const row = this.rows[index - this.first];
    if (row === undefined) {
      return;
    }
    this.active = index;
    this.setSelected(row.func.func);
    this.events[what](row.func);
  }

  get activeFunction(): FunctionInfo | null {
    return this.rows[this.active - this.first]?.func ?? null;
  }

  private onKey(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_PX) - 1);
    const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -page,
      PageDown: page, Home: -this.rowCount, End: this.rowCount };
    const step = steps[event.key];
    if (step !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) {
      this.active = Math.max(0, Math.min(this.rowCount - 1, this.active + step));
      this.reveal(this.active);
      this.fill();
    } else if (event.key === "Enter") {
      this.choose(this.active, "select");
    } else {
      return; // the view knows the others
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private reveal(index: number): void {
    const top = index * ROW_PX;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) {
      this.scroller.scrollTop = top;
    } else if (top + ROW_PX > scrollTop + clientHeight) {
      this.scroller.scrollTop = top + ROW_PX - clientHeight;
    }
  }

  // Changes the rows in place: a row that is made anew between two clicks would lose the second.
  setSelected(func: number | null): void {
    this.selected = func;
    for (const row of this.body.querySelectorAll<HTMLElement>("[data-index]")) {
      row.setAttribute("aria-selected", String(Number(row.dataset.func) === func));
      row.classList.toggle("active", Number(row.dataset.index) === this.active);
    }
    this.grid.setAttribute("aria-activedescendant", `vesta-row-${this.active}`);
  }

  focus(): void {
    this.grid.focus();
  }

  // Asks for the visible rows anew: another order, search, tree or value.
  async refresh(wanted: Omit<TableShape, "most">, toTop: boolean): Promise<void> {
    const shape = { ...wanted, most: { self: 0, total: 0 } };
    this.shape = shape;
    press(this.onlyMatches, shape.matchesOnly);
    show(this.onlyMatches, shape.hasSearch);
    this.columns.forEach((column, at) => {
      const isSorted = column.order !== null
        && (column.order === shape.order || signedOf(column.order) === shape.order);
      const cell = this.head.children[at] as HTMLElement;
      cell.title = isSorted ? ORDER_WORDS[shape.order]?.[shape.descending ? 0 : 1] ?? "" : "";
      cell.classList.toggle("signed", isSorted && column.order !== shape.order);
      cell.setAttribute("aria-sort",
        isSorted ? (shape.descending ? "descending" : "ascending") : "none");
    });
    if (toTop) {
      this.scroller.scrollTop = 0;
      this.active = 0;
    }
    await this.ask();
  }

  private visible(): { first: number; count: number } {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_PX) - AHEAD_ROWS);
    return { first, count: Math.ceil(this.scroller.clientHeight / ROW_PX) + 2 * AHEAD_ROWS };
  }

  private async ask(): Promise<void> {
    const asked = ++this.asked;
    const { first, count } = this.visible();
    const answer = await this.events.rows(first, count);
    if (asked !== this.asked) {
      return;
    }
    this.first = first;
    this.rows = answer.rows;
    for (const row of answer.rows) {
      for (const which of ["self", "total"] as const) {
        const most = this.shape?.most;
        if (most !== undefined && row.func.kind !== "process") {
          most[which] = Math.max(most[which], row[which][0]);
        }
      }
    }
    this.rowCount = answer.rowCount;
    this.active = Math.min(this.active, Math.max(0, answer.rowCount - 1));
    this.body.style.height = `${answer.rowCount * ROW_PX}px`;
    this.grid.setAttribute("aria-rowcount", String(answer.rowCount));
    const word = answer.rowCount === 1 ? "function" : "functions";
    this.count.textContent = `${formatCount(answer.rowCount)} ${word}`;
    this.makeRows();
    this.events.counted(answer.rowCount);
  }

  // After scrolling: more rows if those at hand do not do.
  private fill(): void {
    if (this.shape === null || this.scroller.clientHeight === 0) {
      return;
    }
    const first = Math.floor(this.scroller.scrollTop / ROW_PX);
    const end = Math.min(this.rowCount, first + Math.ceil(this.scroller.clientHeight / ROW_PX) + 1);
    if (first < this.first || end > this.first + this.rows.length) {
      void this.ask();
    }
    this.makeRows();
  }

  private makeRows(): void {
    const shape = this.shape;
    if (shape === null) {
      return;
    }
    const from = Math.floor(this.scroller.scrollTop / ROW_PX) - 2;
    const to = from + Math.ceil(this.scroller.clientHeight / ROW_PX) + 4;
    const rows: HTMLElement[] = [];
    this.rows.forEach((row, at) => {
      const index = this.first + at;
      if (index >= from && index < to) {
        rows.push(this.rowElement(row, index, shape));
      }
    });
    this.body.replaceChildren(...rows);
    this.grid.setAttribute("aria-activedescendant", `vesta-row-${this.active}`);
  }

  private rowElement(row: TableRow, index: number, shape: TableShape): HTMLElement {
    const isTwoSided = row.self.length === 2;
    const isNoise = row.selfWithinNoise && row.totalWithinNoise;
    const data: Record<string, string> = { index: String(index), func: String(row.func.func),
      name: row.func.name, match: String(row.match) };
    if (isTwoSided) {
      data.noise = String(isNoise);
      data.change = row.isNew ? "new" : row.isGone ? "gone" : "";
      data.direction = row.total[1] > row.total[0] ? "more" : "less";
    }
    const classes = ["vesta-table-row"];
    if (index === this.active) {
      classes.push("active");
    }
    if (shape.hasSearch && !row.match) {
      classes.push("dim");
    }
    const element = make("div", { class: classes.join(" "), testId: "table-row", role: "row", data,
      aria: { rowindex: String(index + 1), selected: String(row.func.func === this.selected) } },
      this.columns.map((column) => cellOf(column, row, shape)));
    element.id = `vesta-row-${index}`;
    element.style.top = `${index * ROW_PX}px`;
    return element;
  }
}

// What a click on a column's head leads to. A difference has three orders: the largest changes
// first, what shrank most first, what grew most first.
function nextOrder(
  order: TableOrder, now: { order: TableOrder; descending: boolean },
): { order: TableOrder; descending: boolean } {
  const signed = signedOf(order);
  if (now.order === order) {
    return signed !== null ? { order: signed, descending: false }
      : { order, descending: !now.descending };
  }
  if (now.order === signed && !now.descending) {
    return { order: signed, descending: true };
  }
  return { order, descending: order !== "name" && order !== "image" };
}

function signedOf(order: TableOrder): TableOrder | null {
  return order === "selfDiff" ? "selfSigned" : order === "totalDiff" ? "totalSigned" : null;
}

function cellOf(column: Column, row: TableRow, shape: TableShape): HTMLElement {
  const { text, bar, title } = column.cell(row, shape);
  const cell = make("div", { class: `vesta-cell ${column.className}`, role: "gridcell", title },
    [make("span", { text })]);
  if (bar !== undefined) {
    const fill = make("i", { class: "vesta-bar", aria: { hidden: "true" } });
    fill.style.width = `${Math.min(1, bar) * 100}%`;
    cell.prepend(fill);
  }
  return cell;
}
