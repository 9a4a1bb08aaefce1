// Where graph, table and details stand beside each other, and the bar between that can be moved.
import { make } from "./dom";
import type { LayoutChoice } from "./view_state";

const STEP = 0.04; // of the keyboard
const LEAST_SHARE = 0.2;

export class Stage {
  readonly element: HTMLDivElement;
  readonly graphs: HTMLDivElement; // panes go in here
  private readonly splitter: HTMLDivElement;
  private share = 0.6; // of the graph

  constructor(private readonly table: HTMLElement, private readonly details: HTMLElement) {
    this.graphs = make("div", { class: "vesta-graphs" });
    this.splitter = make("div", { class: "vesta-splitter", testId: "splitter", role: "separator",
      tabIndex: 0, label: "Width of the graph",
      aria: { orientation: "vertical", valuemin: "20", valuemax: "80" } });
    this.element = make("div", { class: "vesta-stage" },
      [this.graphs, this.splitter, table, details]);
    this.listen();
    this.setShare(this.share);
  }

  setLayout(layout: LayoutChoice, hasDetails: boolean): void {
    this.element.dataset.layout = layout;
    this.graphs.hidden = layout === "table";
    this.splitter.hidden = layout !== "both";
    this.table.hidden = layout === "graph";
    this.details.hidden = !hasDetails;
  }

  private setShare(share: number): void {
    this.share = Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share));
    this.element.style.setProperty("--vesta-graph-share", String(this.share));
    this.splitter.setAttribute("aria-valuenow", String(Math.round(this.share * 100)));
  }

  private listen(): void {
    const splitter = this.splitter;
    splitter.addEventListener("pointerdown", (event) => {
      splitter.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    splitter.addEventListener("pointermove", (event) => {
      if (!splitter.hasPointerCapture(event.pointerId)) {
        return;
      }
      const graph = this.graphs.getBoundingClientRect();
      const table = this.table.getBoundingClientRect();
      const isStacked = table.top >= graph.bottom - 1;
      this.setShare(isStacked
        ? (event.clientY - graph.top) / (table.bottom - graph.top)
        : (event.clientX - graph.left) / (table.right - graph.left));
    });
    splitter.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowLeft" || event.key === "ArrowUp" ? -STEP
        : event.key === "ArrowRight" || event.key === "ArrowDown" ? STEP : 0;
      if (step !== 0) {
        this.setShare(this.share + step);
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }
}
