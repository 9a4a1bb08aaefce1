// The live page: what the reader chose, what the server answered, and where each stands.
import workerSource from "worker-source";
import { Server, type Failure, type Outcome, type PageAnswer } from "../api/server";
import { createEngine } from "../engine/client";
import { liveFromText, liveToText, othersOfText, saysRange, type LiveState }
  from "../model/live_state";
import { qualityOf, type AgentFacts, type StatusFacts } from "../model/quality";
import { ratesOf } from "../model/rates";
import { partsOf, textOfParts } from "../model/selector_text";
import type { SeriesAnswer } from "../model/series_answer";
import { firstRange, RANGES, refreshMs, windowOf, type TimeRange, type Window }
  from "../model/time_window";
import { formatClock } from "../widgets/live_format";
import { samplesText } from "../widgets/quality_line";
import { CHART_ROWS_MAX } from "../widgets/time_chart";
import { AddressBar } from "./address_bar";
import { LiveClock } from "./live_clock";
import { FlamePart } from "./live_flame";
import { emptyNotice, tooMuchNotice } from "./live_notices";
import { LiveParts } from "./live_parts";
import { askAgents, askRange, askSeries, askStatus, askTree, effectiveQuery }
  from "./live_questions";

const ROWS_FEW = 12;
const LATE_MS = 15_000; // samples are on their way for so long at most
const STATUS_MS = 15_000; // how often it is asked where nothing else is
const NOTHING_MS = 2000; // while there is no data at all
const NO_STATUS: StatusFacts = { rows: 0, fromMs: null, toMs: null, refusesWrites: null };

// Owner: the page's thread.
export class LivePage {
  private state: LiveState;
  private flameText: string; // the flame graph's part of the address
  private readonly server = new Server();
  private readonly address: AddressBar;
  private readonly clock = new LiveClock(() => void this.ask());
  private readonly parts: LiveParts;
  private readonly flame: FlamePart;
  private readonly dark = window.matchMedia("(prefers-color-scheme: dark)");
  private asking = new AbortController();
  private isRangeChosen: boolean;
  private isChartOld = true; // the reader chose something that it does not show
  private isTreeOld = true;
  private isTreeTooMuch = false; // for the server: it is not asked again by itself
  private rowsMax = ROWS_FEW;
  private window: Window;
  private series: SeriesAnswer | null = null;
  private status: StatusFacts = NO_STATUS;
  private agents: AgentFacts[] = [];
  private lastLengthMs: number;
  private drawnMs = 0; // when the last picture came
  private trees = 0;
  private refreshes = 0;

  constructor(private readonly page: HTMLElement) {
    this.state = liveFromText(location.hash);
    this.flameText = othersOfText(location.hash);
    this.isRangeChosen = saysRange(location.hash);
    const { range } = this.state;
    this.lastLengthMs = range.kind === "last" ? range.lengthMs : RANGES[2].lengthMs;
    this.window = windowOf(range, this.server.nowMs());
    this.address = new AddressBar((text) => this.moved(text));
    this.parts = new LiveParts({
      bar: {
        query: (text) => void this.setQuery(text),
        range: (lengthMs) => this.setRange({ kind: "last", lengthMs }),
        by: (by) => this.change({ by, picks: [] }, true),
        live: (isLive) => this.setLive(isLive),
      },
      chart: {
        select: (selection) => this.change({ selection }, false),
        zoom: (range) => this.zoomInTime(range),
        drag: (isDragging) => this.clock.hold(isDragging),
      },
      services: {
        pick: (picks) => this.change({ picks }, false),
        more: () => {
          this.rowsMax = CHART_ROWS_MAX;
          this.change({}, true);
        },
      },
      selectionZoom: () => this.zoomInTime(this.state.selection ?? this.window),
      selectionClear: () => this.change({ selection: null }, false),
      token: (token) => {
        this.server.setToken(token);
        this.change({}, true);
      },
    });
    this.flame = new FlamePart(this.parts.flame, createEngine(workerSource), {
      state: () => this.flameText,
      onState: (text, isStep) => {
        this.flameText = text;
        this.showTheme();
        this.write(isStep);
      },
      goBack: () => this.address.goBack(),
    });
    this.dark.addEventListener("change", () => this.showTheme());
  }

  start(): void {
    this.page.replaceChildren(this.parts.root);
    this.showTheme();
    this.showState();
    void this.ask();
  }

  // ---- what the reader does

  // isChart: the chart shows something else, too.
  private change(change: Partial<LiveState>, isChart: boolean): void {
    this.state = { ...this.state, ...change };
    this.isRangeChosen = true;
    this.isTreeOld = true;
    this.isTreeTooMuch = false;
    this.isChartOld = this.isChartOld || isChart;
    this.parts.bar.setError("");
    this.showState();
    this.write(true);
    void this.ask();
  }

  private write(isStep: boolean): void {
    this.address.write([liveToText(this.state), this.flameText].filter((text) => text !== "")
      .join("&"), isStep);
  }

  private moved(text: string): void {
    this.state = liveFromText(text);
    this.flameText = othersOfText(text);
    this.isTreeOld = true;
    this.isTreeTooMuch = false;
    this.isChartOld = true;
    this.showTheme();
    this.showState();
    this.flame.setState(this.flameText);
    void this.ask();
  }

  private setRange(range: LiveState["range"]): void {
    if (range.kind === "last") {
      this.lastLengthMs = range.lengthMs;
    }
    this.change({ range, selection: null }, true);
  }

  private zoomInTime({ fromMs, toMs }: TimeRange): void {
    this.setRange({ kind: "fixed", fromMs, toMs });
  }

  private setLive(isLive: boolean): void {
    const { fromMs, toMs } = this.window;
    this.change({ range: isLive ? { kind: "last", lengthMs: this.lastLengthMs }
      : { kind: "fixed", fromMs, toMs } }, true);
  }

  // A selector with a time of its own sets the page's.
  private async setQuery(text: string): Promise<void> {
    const typed = text.trim();
    if (typed === effectiveQuery(this.state)) {
      return;
    }
    const parts = partsOf(typed);
    if (parts === null || parts.range === "") {
      this.change({ query: typed, picks: [] }, true);
      return;
    }
    const range = await askRange(this.server, typed);
    if (!range.ok) {
      this.showFailure(range.failure);
      return;
    }
    this.change({ query: textOfParts({ ...parts, range: "" }), picks: [], selection: null,
      range: { kind: "fixed", ...range.value } }, true);
  }

  // ---- what the server says

  // The time of the flame graph. What is chosen in the chart stays where it is.
  private get treeRange(): TimeRange {
    if (this.state.selection !== null) {
      return this.state.selection;
    }
    const { range } = this.state;
    return range.kind === "fixed" ? range : this.window;
  }

  // Asks for all that is old. A question before that is not answered yet is given up.
  private async ask(): Promise<void> {
    this.asking.abort();
    this.clock.stop();
    const asking = new AbortController();
    this.asking = asking;
    await this.chooseRange(asking.signal);
    if (asking.signal.aborted) {
      return;
    }
    const { state, server } = this;
    const started = performance.now();
    const nowMs = server.nowMs();
    const isLive = state.range.kind === "last";
    const window = windowOf(state.range, nowMs);
    const isChart = isLive || this.isChartOld;
    if (isChart) {
      this.window = window;
    }
    const mayGrow = isLive && (state.selection?.toMs ?? nowMs) > nowMs - 4 * LATE_MS;
    const isTree = this.isTreeOld || (mayGrow && this.flame.isFree && !this.isTreeTooMuch);
    const { signal } = asking;
    const statusAsked = askStatus(server, signal);
    const range = this.treeRange;
    const outcomes = await Promise.all([
      statusAsked.then((outcome) => this.took(outcome, signal, (status) => {
        this.status = status;
      })),
      askAgents(server, signal).then((outcome) => this.took(outcome, signal, (agents) => {
        this.agents = agents;
      })),
      isChart ? askSeries(server, signal, state, window, this.rowsMax).then(async (outcome) => {
        await statusAsked;
        return this.took(outcome, signal, (series) => this.showSeries(series));
      }) : null,
      isTree ? askTree(server, signal, state, range).then(async (outcome) => {
        await statusAsked;
        if (!outcome.ok && outcome.failure.kind === "tooMuch" && !signal.aborted) {
          this.showTooMuch(outcome.failure.message);
          return null;
        }
        return this.took(outcome, signal, (tree) => void this.showTree(tree, range));
      }) : null,
    ]);
    if (signal.aborted) {
      return;
    }
    this.showQuality();
    this.showOutcome(outcomes.filter((failure) => failure !== null) as Failure[]);
    const tookMs = performance.now() - started;
    const lengthMs = window.toMs - window.fromMs;
    const isAway = outcomes.some((failure) => failure?.kind === "away");
    if (outcomes.some((failure) => failure?.kind === "token")) return;
    if (isAway) this.clock.away();
    else if (this.status.rows === 0) this.clock.again(NOTHING_MS);
    else this.clock.again(isLive ? refreshMs(lengthMs, tookMs) : STATUS_MS);
  }

  // Where neither the address nor the reader says which time: all that there is, once there is any.
  private async chooseRange(signal: AbortSignal): Promise<void> {
    if (this.isRangeChosen) {
      return;
    }
    const status = await askStatus(this.server, signal);
    if (status.ok && status.value.rows > 0) {
      const range = firstRange(status.value.fromMs, this.server.nowMs());
      this.state = { ...this.state, range };
      this.lastLengthMs = range.lengthMs;
      this.isRangeChosen = true;
    }
  }

  private took<T>(outcome: Outcome<T>, signal: AbortSignal, use: (value: T) => void)
    : Failure | null {
    if (signal.aborted) {
      return { kind: "dropped" };
    }
    if (!outcome.ok) {
      return outcome.failure;
    }
    use(outcome.value);
    return null;
  }

  private showSeries(series: SeriesAnswer): void {
    this.isChartOld = false;
    this.series = series;
    this.drawSeries();
    this.page.dataset.state = "ready";
    this.drawnMs = this.server.nowMs();
    if (++this.refreshes === 1) {
      performance.mark("vesta:first-chart");
    }
    this.showState();
  }

  private drawSeries(): void {
    if (this.series !== null) {
      const nowMs = this.server.nowMs();
      const { fromMs, toMs } = this.status;
      const known = { fromMs: fromMs ?? 0,
        toMs: Math.min(nowMs, Math.max(toMs ?? 0, nowMs - LATE_MS)) };
      const isMore = this.rowsMax === CHART_ROWS_MAX;
      this.parts.showChart(ratesOf(this.series, known), this.state, isMore, this.theme);
    }
  }

  private async showTree(tree: PageAnswer, range: TimeRange): Promise<void> {
    this.isTreeOld = false;
    if (tree.isEmpty) {
      const { state } = this;
      const notice = emptyNotice({ status: this.status, agents: this.agents,
        nowMs: this.server.nowMs(), range, query: effectiveQuery(state),
        isSelection: state.selection !== null, origin: location.origin,
        notes: this.series?.notes ?? [] }, {
        showNewest: (toMs) => this.showNewest(toMs),
        showAll: () => this.change({ query: "", picks: [] }, true),
        clearSelection: () => this.change({ selection: null }, false),
      });
      this.parts.showNotice(notice);
    } else {
      this.parts.showNotice(null);
      const error = await this.flame.show(tree.bytes);
      if (error !== null) {
        this.parts.showBanner(error);
      }
    }
    ++this.trees;
    this.showState();
  }

  private showTooMuch(message: string): void {
    this.isTreeOld = false;
    this.isTreeTooMuch = true;
    const names = (this.series?.rows ?? []).map((row) => row.name).filter((name) => name !== "");
    this.parts.showNotice(tooMuchNotice(message, names.slice(0, 3),
      (name) => this.change({ picks: [name] }, false)));
    ++this.trees;
    this.showState();
  }

  private showNewest(toMs: number): void {
    const lengthMs = this.window.toMs - this.window.fromMs;
    this.zoomInTime({ fromMs: toMs - lengthMs, toMs: toMs + 1 });
  }

  // One sentence for all that went wrong: what the reader can do something about comes first.
  private showOutcome(failures: readonly Failure[]): void {
    const worst = ["token", "refused", "away", "tooMuch", "trouble"].flatMap((kind) =>
      failures.filter((failure) => failure.kind === kind))[0];
    this.page.dataset.state = worst?.kind === "token" ? "token"
      : this.refreshes > 0 || worst !== undefined ? "ready" : "loading";
    this.parts.showToken(worst?.kind === "token" ? (this.server.hasToken
      ? worst.message : "") : null);
    this.parts.root.dataset.connection = worst?.kind === "away" ? "away"
      : worst?.kind === "trouble" || worst?.kind === "tooMuch" ? "trouble" : "ok";
    if (worst !== undefined) {
      this.showFailure(worst);
      return;
    }
    this.parts.bar.setError("");
    const refuses = this.status.refusesWrites;
    this.parts.showBanner(refuses === null ? ""
      : `The server takes no more samples: ${refuses}. What it has can be read.`);
  }

  private showFailure(failure: Failure): void {
    const isOfQuery = failure.kind === "refused" && /^(query|position)\b/.test(failure.message);
    this.parts.bar.setError(isOfQuery ? failure.message.replace(/^query: /, "") : "");
    if (failure.kind === "away") {
      const old = this.drawnMs === 0 ? ""
        : ` What is shown is of ${formatClock(this.drawnMs, 0)} UTC.`;
      this.parts.showBanner(`The server at ${location.host} does not answer: this page keeps `
        + `trying.${old}`);
    } else {
      this.parts.showBanner("message" in failure && !isOfQuery && failure.kind !== "token"
        ? `The server says: ${failure.message}` : "");
    }
  }

  // ---- what follows from all of it

  private get theme(): "light" | "dark" {
    const chosen = new URLSearchParams(this.flameText).get("theme");
    return chosen === "light" || chosen === "dark" ? chosen
      : this.dark.matches ? "dark" : "light";
  }

  private showTheme(): void {
    if (this.parts.root.dataset.theme !== this.theme) {
      this.parts.root.dataset.theme = this.theme;
      this.drawSeries();
      this.parts.chart.redraw();
    }
  }

  private showQuality(): void {
    const samples = this.series?.samples ?? 0;
    const drawn = this.drawnMs === 0 ? []
      : [...(samples > 0 ? [`${samplesText(samples)} in the chart`] : []),
        `as of ${formatClock(this.drawnMs, 0)} UTC`];
    this.parts.quality.show(qualityOf(this.agents, this.server.nowMs()), drawn);
  }

  private showState(): void {
    const { state, window, parts, series } = this;
    const query = effectiveQuery(state);
    parts.bar.setState(state, query);
    parts.services.mark(state.picks);
    parts.showSelection(state.selection, window);
    if (series !== null && state.picks.join("\n") !== parts.shownPicks) {
      this.drawSeries();
    }
    Object.assign(parts.root.dataset, {
      refreshes: String(this.refreshes), trees: String(this.trees),
      live: state.range.kind === "last" ? "1" : "0",
      from: String(window.fromMs), to: String(window.toMs), query,
      selected: state.selection === null ? ""
        : `${state.selection.fromMs},${state.selection.toMs}`,
    });
  }
}
