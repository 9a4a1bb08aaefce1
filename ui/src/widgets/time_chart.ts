// Rates over time, stacked; a range is chosen by dragging, or with the arrow keys. uPlot draws axes
// and canvas, and only this file knows it.
import uPlot from "uplot";
import { axisEnd, type RateChart, stacked } from "../model/rates";
import { clipped, type TimeRange } from "../model/time_window";
import { make } from "./dom";
import { LETS_KEYS_THROUGH, type KeyLine } from "./keys";
import { formatClock, formatMarks, formatRate } from "./live_format";

export const CHART_ROWS_MAX = 30;
const SERIES = CHART_ROWS_MAX + 1; // and the rest
const DRAG_PX = 4; // less movement is a click
const AXIS_PX = 54;

// While it has the focus; other keys are for the view below it.
export const CHART_KEYS: readonly KeyLine[] = [
  { keys: ["←", "→"], help: "Move the chosen time" },
  { keys: ["Shift →"], help: "Move its end; Shift ← moves it back" },
  { keys: ["Enter"], help: "Zoom to the chosen time" },
  { keys: ["Esc"], help: "Choose the whole range again" },
];

export interface ChartRow {
  name: string; // as it is shown
  fill: string;
}

export interface TimeChartEvents {
  select(range: TimeRange | null): void;
  zoom(range: TimeRange): void; // the chosen range is to fill the picture
  drag(isDragging: boolean): void;
}

// Owner: the page's thread.
export class TimeChart {
  readonly element: HTMLDivElement;
  private readonly plot: uPlot;
  private readonly tip = make("div", { class: "vesta-tooltip live-tip", testId: "chart-tip" });
  private readonly unit = make("div", { class: "live-unit", testId: "chart-unit" });
  private readonly observer: ResizeObserver;
  private chart: RateChart | null = null;
  private rows: ChartRow[] = [];
  private selection: TimeRange | null = null;
  private dragFrom: { x: number; at: number } | null = null;
  private dragged: TimeRange | null = null;

  constructor(private readonly events: TimeChartEvents) {
    this.element = make("div", { class: "live-chart", testId: "chart", tabIndex: 0,
      role: "application", label: "CPU over time: left and right arrow keys move the chosen range, "
      + "with Shift its end, Enter zooms to it, Escape takes it away" });
    this.element.dataset[LETS_KEYS_THROUGH] = "";
    const nothing: uPlot.AlignedData = [[], ...Array.from({ length: SERIES }, () => [])];
    this.plot = new uPlot(this.options(), nothing, this.element);
    this.tip.hidden = true;
    this.element.append(this.unit, this.tip);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
  }

  get isDragging(): boolean {
    return this.dragFrom !== null;
  }

  private colour(name: string): string {
    return getComputedStyle(this.element).getPropertyValue(name);
  }

  private options(): uPlot.Options {
    const axis = {
      stroke: () => this.colour("--vesta-quiet"),
      grid: { stroke: () => this.colour("--vesta-line"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    return {
      width: 300,
      height: 160,
      padding: [19, 30, 0, 0], // the unit stands above the topmost mark
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      legend: { show: false },
      cursor: { drag: { x: false, y: false, setScale: false }, points: { show: false },
        y: false, x: false },
      scales: {
        x: { time: true, range: () => this.timeScale() },
        y: { range: (_plot, _least, most) => [0, axisEnd(most)] },
      },
      axes: [
        { ...axis, size: 24, gap: 3, space: 70,
          values: (_plot, marks, _axis, _space, apart) => formatMarks(marks, apart) },
        { ...axis, size: AXIS_PX, gap: 5, space: 28,
          values: (_plot, marks) => marks.map((mark) => this.chart === null
            ? "" : formatRate(mark, this.chart.isCores, this.chart.unit, true)) },
      ],
      series: [{}, ...Array.from({ length: SERIES }, (_, at): uPlot.Series => ({
        fill: () => this.rows[this.rows.length - 1 - at]?.fill ?? "transparent",
        width: 0,
        points: { show: false },
        paths: (plot, series, from, to) => this.stepsPath(plot, series, from, to),
      }))],
    };
  }

  private timeScale(): [number, number] {
    const { fromMs, stepMs, stepCount } = this.chart ?? { fromMs: 0, stepMs: 1000, stepCount: 1 };
    return [fromMs / 1000, (fromMs + stepMs * stepCount) / 1000];
  }

  // A step is as wide as its time; its edges are whole pixels, so that no seams are seen.
  private stepsPath(plot: uPlot, series: number, from: number, to: number): uPlot.Series.Paths {
    const fill = new Path2D();
    const times = plot.data[0];
    const values = plot.data[series];
    const zero = plot.valToPos(0, "y", true);
    const width = (this.chart?.stepMs ?? 0) / 1000;
    for (let step = from; step <= to; step++) {
      const value = values[step];
      if (value !== null && value !== undefined) {
        const left = Math.round(plot.valToPos(times[step], "x", true));
        const right = Math.round(plot.valToPos(times[step] + width, "x", true));
        const top = plot.valToPos(value, "y", true);
        fill.rect(left, top, Math.max(1, right - left), zero - top);
      }
    }
    return { fill, stroke: null };
  }

  // rows: one for each of the chart's, and at last the rest's if it has one.
  show(chart: RateChart, rows: ChartRow[]): void {
    this.chart = chart;
    this.rows = rows;
    this.unit.textContent = chart.isCores ? "cores" : ""; // other units stand at each mark
    const columns = chart.rows.map((row) => row.rates);
    if (chart.rest !== null) {
      columns.push(chart.rest.rates);
    }
    // The highest sum is drawn first, each of the others over it.
    const sums = stacked(columns).reverse().map((column) =>
      Array.from(column, (value) => (Number.isNaN(value) ? null : value)));
    const times = Array.from({ length: chart.stepCount },
      (_, step) => (chart.fromMs + step * chart.stepMs) / 1000);
    const none = times.map(() => null);
    this.plot.setData([times, ...Array.from({ length: SERIES }, (_, at) => sums[at] ?? none)]);
    this.placeSelection();
    this.tip.hidden = true;
  }

  redraw(): void {
    this.plot.redraw(false, true);
  }

  setSelection(selection: TimeRange | null): void {
    this.selection = selection;
    this.placeSelection();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth > 0 && clientHeight > 0) {
      this.plot.setSize({ width: clientWidth, height: clientHeight });
      this.placeSelection();
    }
  }

  private get whole(): TimeRange | null {
    const chart = this.chart;
    return chart === null ? null
      : { fromMs: chart.fromMs, toMs: chart.fromMs + chart.stepMs * chart.stepCount };
  }

  private placeSelection(): void {
    const chosen = this.dragged ?? this.selection;
    const whole = this.whole;
    const shown = chosen === null || whole === null ? null : clipped(chosen, whole);
    const height = this.plot.over.clientHeight;
    if (shown === null) {
      this.plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      return;
    }
    const left = this.plot.valToPos(shown.fromMs / 1000, "x");
    const right = this.plot.valToPos(shown.toMs / 1000, "x");
    this.plot.setSelect({ left, top: 0, width: Math.max(1, right - left), height }, false);
  }

  private timeAt(clientX: number): number {
    const x = clientX - this.plot.over.getBoundingClientRect().left;
    const whole = this.whole ?? { fromMs: 0, toMs: 0 };
    const atMs = Math.round(this.plot.posToVal(x, "x") * 1000);
    return Math.min(whole.toMs, Math.max(whole.fromMs, atMs));
  }

  private listen(): void {
    const over = this.plot.over;
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.chart === null) {
        return;
      }
      over.setPointerCapture(event.pointerId);
      this.dragFrom = { x: event.clientX, at: this.timeAt(event.clientX) };
      this.events.drag(true);
    });
    over.addEventListener("pointermove", (event) => {
      if (this.dragFrom === null) {
        this.hover(event.clientX);
        return;
      }
      this.tip.hidden = true;
      if (this.dragged !== null || Math.abs(event.clientX - this.dragFrom.x) >= DRAG_PX) {
        const at = this.timeAt(event.clientX);
        this.dragged = { fromMs: Math.min(at, this.dragFrom.at),
          toMs: Math.max(at, this.dragFrom.at) };
        this.placeSelection();
      }
    });
    over.addEventListener("pointerup", () => this.drop(true));
    over.addEventListener("pointercancel", () => this.drop(false));
    over.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    over.addEventListener("dblclick", () => this.events.select(null));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  private drop(isDone: boolean): void {
    const { dragFrom, dragged } = this;
    this.dragFrom = null;
    this.dragged = null;
    if (dragFrom === null) {
      return;
    }
    if (isDone && dragged !== null && dragged.toMs > dragged.fromMs) {
      this.selection = dragged;
      this.events.select(dragged);
    }
    this.placeSelection();
    this.events.drag(false);
  }

  private onKey(event: KeyboardEvent): void {
    const { chart, whole } = this;
    const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (chart === null || whole === null || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === "Escape" && this.selection !== null) {
      this.events.select(null);
    } else if (event.key === "Enter" && this.selection !== null) {
      this.events.zoom(this.selection);
    } else if (way !== 0) {
      const step = chart.stepMs * way;
      const old = this.selection
        ?? { fromMs: whole.toMs - 2 * chart.stepMs, toMs: whole.toMs - chart.stepMs };
      const next = event.shiftKey
        ? { fromMs: old.fromMs, toMs: Math.max(old.fromMs + chart.stepMs, old.toMs + step) }
        : { fromMs: old.fromMs + step, toMs: old.toMs + step };
      if (next.fromMs >= whole.fromMs && next.toMs <= whole.toMs) {
        this.events.select(next);
      }
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // What was in use in the step under the pointer.
  private hover(clientX: number): void {
    const chart = this.chart;
    if (chart === null) {
      return;
    }
    const step = Math.min(chart.stepCount - 1,
      Math.floor((this.timeAt(clientX) - chart.fromMs) / chart.stepMs));
    const fromMs = chart.fromMs + step * chart.stepMs;
    const all = [...chart.rows.map((row) => row.rates), ...(chart.rest === null
      ? [] : [chart.rest.rates])];
    const parts = all.map((rates, at) => ({ rate: rates[step], row: this.rows[at] }))
      .filter(({ rate }) => rate > 0)
      .sort((a, b) => b.rate - a.rate);
    const text = (rate: number): string => formatRate(rate, chart.isCores, chart.unit);
    const isKnown = all.length === 0 || !Number.isNaN(all[0][step]);
    const total = parts.reduce((sum, part) => sum + part.rate, 0);
    this.tip.replaceChildren(
      make("div", { class: "live-tip-time",
        text: `${formatClock(fromMs, chart.stepMs)} · ${isKnown ? text(total) : "still coming"}` }),
      ...parts.slice(0, 8).map(({ rate, row }) => {
        const swatch = make("span", { class: "vesta-swatch" });
        swatch.style.backgroundColor = row.fill;
        return make("div", { class: "live-tip-row" }, [swatch, make("span", { text: row.name }),
          make("span", { class: "vesta-number", text: text(rate) })]);
      }),
    );
    this.tip.hidden = false;
    const frame = this.element.getBoundingClientRect();
    const width = this.tip.offsetWidth;
    const x = clientX - frame.left;
    this.tip.style.left = `${x + width + 20 > frame.width ? x - width - 12 : x + 14}px`;
    this.tip.style.top = "8px";
  }
}
