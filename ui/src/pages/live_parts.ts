// The parts of the live page: made, put in their places, and given what they show.
import type { LiveState } from "../model/live_state";
import type { RateChart } from "../model/rates";
import { durationText, type TimeRange } from "../model/time_window";
import { css } from "../widgets/colour";
import { button, make, show } from "../widgets/dom";
import { formatRange, formatRate } from "../widgets/live_format";
import { LiveBar, type LiveBarEvents } from "../widgets/live_bar";
import { Notice, type NoticeContent } from "../widgets/notice";
import { DIM, KeyStyles, NORMAL, REST_STYLE, styleColours, type Theme } from "../widgets/palette";
import { QualityLine } from "../widgets/quality_line";
import { ServiceList, type ServiceListEvents, type ServiceRow } from "../widgets/service_list";
import { TimeChart, type TimeChartEvents } from "../widgets/time_chart";
import { TokenForm } from "../widgets/token_form";

export interface LivePartEvents {
  bar: LiveBarEvents;
  chart: TimeChartEvents;
  services: ServiceListEvents;
  selectionZoom(): void;
  selectionClear(): void;
  token(token: string): void;
}

export class LiveParts {
  readonly root: HTMLDivElement;
  readonly bar: LiveBar;
  readonly chart: TimeChart;
  readonly services: ServiceList;
  readonly flame = make("div", { class: "live-flame" });
  readonly quality = new QualityLine();
  shownPicks = "";
  private readonly banner = make("div", { class: "live-banner", testId: "banner", role: "alert" });
  private readonly notice = new Notice();
  private readonly token: TokenForm;
  private readonly selection: HTMLDivElement;
  private readonly selectionText = make("span", { testId: "selection", role: "status" });
  private readonly overview: HTMLDivElement;
  // A value keeps its colour while the page is open.
  private readonly keys = new KeyStyles();

  constructor(events: LivePartEvents) {
    this.bar = new LiveBar(events.bar);
    this.chart = new TimeChart(events.chart);
    this.services = new ServiceList(events.services);
    this.token = new TokenForm((token) => events.token(token));
    this.selection = make("div", { class: "live-selection" }, [this.selectionText,
      button({ class: "live-action", testId: "selection-zoom", text: "Zoom in",
        title: "Let this time fill the chart (Enter)", onClick: () => events.selectionZoom() }),
      button({ class: "live-action", testId: "selection-clear", text: "Whole range",
        title: "Choose all again (Escape, or a double click)",
        onClick: () => events.selectionClear() })]);
    this.overview = make("div", { class: "live-overview" },
      [this.chart.element, this.services.element]);
    const frame = make("div", { class: "live-frame" }, [this.bar.element, this.banner,
      this.token.element, this.overview, this.selection, this.notice.element, this.flame,
      this.quality.element]);
    this.root = make("div", { class: "vesta live", testId: "live" }, [frame]);
    show(this.banner, false);
    show(this.token.element, false);
    show(this.notice.element, false);
    Object.assign(this.root.dataset, { connection: "ok", notice: "" });
  }

  // isMore: the rest cannot be taken apart any further.
  showChart(chart: RateChart, state: LiveState, isMore: boolean, theme: Theme): void {
    const { picks } = state;
    const fill = (style: number, isLit: boolean): string =>
      css(styleColours(theme, style, isLit ? NORMAL : DIM).fill);
    const isLit = (value: string): boolean => picks.length === 0 || picks.includes(value);
    const style = (value: string): number => value === ""
      ? this.keys.swatchOf("unnamed", "unnamed") : this.keys.swatchOf(value, "native");
    const nameOf = (value: string): string => (value === "" ? `(no ${state.by})` : value);
    const rate = (mean: number): string => formatRate(mean, chart.isCores, chart.unit);
    const rows = chart.rows.map((row): ServiceRow => ({ value: row.name, name: nameOf(row.name),
      fill: fill(style(row.name), isLit(row.name)), mean: rate(row.mean), share: row.share }));
    for (const value of picks) { // of a link, or no more among the largest
      if (!chart.rows.some((row) => row.name === value)) {
        rows.push({ value, name: nameOf(value), fill: fill(style(value), true), mean: "",
          share: 0 });
      }
    }
    const rest = chart.rest === null ? null : { label: `${chart.rest.count} more`,
      fill: fill(REST_STYLE, picks.length === 0), mean: rate(chart.rest.mean),
      share: chart.rest.share, isOpen: isMore };
    this.chart.show(chart, [...rows.slice(0, chart.rows.length),
      ...(rest === null ? [] : [{ name: rest.label, fill: rest.fill }])]);
    this.services.show(rows, rest, picks);
    this.shownPicks = picks.join("\n");
    Object.assign(this.root.dataset, { mean: String(chart.mean), rows: String(chart.rows.length),
      rest: String(chart.rest?.count ?? 0) });
  }

  // shown: what the chart shows.
  showSelection(selection: TimeRange | null, shown: TimeRange): void {
    this.chart.setSelection(selection);
    show(this.selection, selection !== null);
    if (selection !== null) {
      const { fromMs, toMs } = selection;
      const isAway = toMs <= shown.fromMs || fromMs >= shown.toMs;
      this.selectionText.textContent = `Chosen: ${formatRange(fromMs, toMs)} `
        + `(${durationText(toMs - fromMs)})${isAway ? ", which the chart does not show" : ""}`;
    }
  }

  // "" = none.
  showBanner(text: string): void {
    if (this.banner.textContent !== text) {
      this.banner.textContent = text;
    }
    show(this.banner, text !== "");
  }

  // In place of the flame graph; null = none.
  showNotice(content: NoticeContent | null): void {
    show(this.notice.element, content !== null);
    show(this.flame, content === null);
    this.root.dataset.notice = content?.id ?? "";
    if (content !== null) {
      this.notice.show(content);
    }
  }

  // reason: why the last one was no good, "" = there was none; null = none is needed.
  showToken(reason: string | null): void {
    const isNew = this.token.element.hidden;
    show(this.token.element, reason !== null);
    for (const part of [this.overview, this.flame, this.selection, this.notice.element]) {
      part.classList.toggle("live-locked", reason !== null);
    }
    if (reason !== null && (isNew || reason !== "")) {
      this.token.open(reason);
    }
  }
}
