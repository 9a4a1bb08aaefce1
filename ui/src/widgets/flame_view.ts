// The flame graph as a widget: it draws what the engine answers into a container, and needs nothing
// else; the page around it keeps the address.
import type { Colouring, DocumentInfo, Engine, FunctionInfo, LayoutAnswer, SearchAnswer, SearchQuery,
  TableOrder, TreeName, Zoom } from "../engine/protocol";
import { BOX_ANCESTOR, BOX_REST } from "../engine/protocol";
import { isWithinNoise } from "../model/difference";
import { shortenName } from "../model/names";
import { actionsFor, type ActionId, type Target } from "./actions";
import { BoxStyles, noiseScaleOf } from "./box_styles";
import { Details } from "./details";
import { make } from "./dom";
import { shareOf, sum } from "./format";
import { GraphPane, type GraphPaneEvents } from "./graph_pane";
import { HelpDialog } from "./help";
import { keyOf } from "./keys";
import { Legend } from "./legend";
import { Menu } from "./menu";
import { Minimap, MINIMAP_PX } from "./minimap";
import { numberOf, resolveTransform } from "./named_transforms";
import { Painter } from "./painter";
import { VARIANTS, type Theme } from "./palette";
import { boxOfNode, Functions, labelOf, makeScene, totalOf } from "./scene";
import { SearchBar } from "./search_bar";
import { Stage } from "./stage";
import { Message, Status } from "./status";
import { Table } from "./table";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { Trail } from "./trail";
import { runAction } from "./view_actions";
import { listenToKeys } from "./view_keys";
import { initialState, stateFromText, stateToText, type ColouringChoice, type NamedTransform,
  type ViewState } from "./view_state";
import { WorkQueue } from "./work_queue";

const NARROWEST_PX = 2;
const NARROWEST_MINIMAP_PX = 1;
const ROOT: Zoom = { node: 0, below: null };
const TASKS = ["valueType", "transforms", "sandwich", "groups", "search", "zoom", "legend", "layout",
  "address", "details", "minimap", "table"] as const;
type Task = (typeof TASKS)[number];

export interface FlameViewOptions {
  info: DocumentInfo; // as `load` gave it
  state: string; // of `onState`, "" = none
  // isStep: the reader went somewhere; else an earlier text is replaced.
  onState(state: string, isStep: boolean): void;
  goBack(): void;
}

export interface VisibleBox {
  kind: "node" | "rest" | "ancestor";
  node: number;
  func: number;
  name: string;
  match: number;
  row: number;
  x: number;
  y: number;
  width: number;
  height: number;
  total: number[];
  self: number[];
  fill: string;
}

export interface FlameRoot extends HTMLDivElement {
  flameView?: FlameView;
}

export interface Selection {
  pane: GraphPane | null; // null: chosen in the table
  node: number | null;
  func: FunctionInfo;
}

export class FlameView {
  readonly root: FlameRoot;
  readonly functions = new Functions();
  readonly menu: Menu;
  readonly help = new HelpDialog();
  readonly searchBar: SearchBar;
  readonly table: Table;
  readonly message = new Message();
  state: ViewState;
  info: DocumentInfo;
  selection: Selection | null = null;
  activePane: GraphPane;
  private readonly painter: Painter;
  private readonly styles: BoxStyles;
  private readonly toolbar: Toolbar;
  private readonly trail: Trail;
  private readonly legend: Legend;
  private readonly details: Details;
  private readonly minimap: Minimap;
  private readonly stage: Stage;
  private readonly status = new Status();
  private readonly tooltip: Tooltip;
  private readonly panes: Record<TreeName, GraphPane>;
  private readonly queue: WorkQueue<Task>;
  private readonly zooms: Record<TreeName, Zoom> = { main: ROOT, callers: ROOT, callees: ROOT };
  private readonly dark = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly stopKeys: () => void;
  private readonly onDark = (): void => this.applyTheme();
  private reveal = true; // the next picture scrolls to the zoomed box
  private isStep = false;
  private isAddressOld = false; // of the zoomed node: `state.zoom` is to be asked for
  private isTableNew = true;
  private sandwichFunction: number | null = null;
  private removed: number[] = [];
  private labels: string[] = [];
  private answer: SearchAnswer | null = null;
  private zoomPath: number[] = [];
  private pictures = 0;
  private started = new Map<string, number>();

  constructor(container: HTMLElement, readonly engine: Engine, private readonly options: FlameViewOptions) {
    this.info = options.info;
    this.state = stateFromText(options.state);
    this.painter = new Painter(this.theme, this.functions, shortenName);
    this.styles = new BoxStyles(this.functions);
    this.searchBar = new SearchBar({
      query: (query) => this.search(query),
      step: (step) => void this.stepMatch(step),
      leave: () => this.activePane.element.focus(),
    });
    this.toolbar = this.makeToolbar();
    this.trail = new Trail({
      zoom: (node) => this.zoomTo("main", { node, below: null }),
      removeTransform: (at) => this.setTransforms(this.state.transforms.filter((_, i) => i !== at)),
      leaveSandwich: () => this.setSandwich(null),
    });
    this.legend = new Legend(this.painter, {
      select: (groups) => this.update({ groups }, false, "groups"),
      menu: (entry, x, y) => this.openLegendMenu(entry.key, entry.label, x, y),
    });
    this.details = new Details({ close: () => this.toggleDetails(),
      act: (action, target) => this.act(action, target),
      zoom: (node) => this.zoomTo(this.selection?.pane?.tree ?? "main", { node, below: null }) });
    this.minimap = new Minimap(this.painter, {
      zoom: (node) => this.zoomTo("main", { node, below: null }),
      scroll: (row) => this.panes.main.scrollToRow(row) });
    this.table = this.makeTable();
    this.stage = new Stage(this.table.element, this.details.element);
    this.panes = this.makePanes();
    this.activePane = this.panes.main;
    const frame = make("div", { class: "vesta-frame" }, [this.toolbar.element,
      this.trail.element, this.legend.element, this.stage.element, this.status.element]);
    this.root = make("div", { class: "vesta", testId: "flame-view" },
      [frame, this.message.element, this.help.element]);
    this.menu = new Menu(this.root);
    this.tooltip = new Tooltip(this.root);
    this.queue = new WorkQueue<Task>(TASKS, (task) => this.run(task), {
      busy: (isBusy) => {
        this.root.dataset.busy = isBusy ? "1" : "0";
      },
      failed: (error) => this.message.show(error instanceof Error ? error.message : String(error)),
    });
    this.root.flameView = this;
    container.append(this.root);
    this.toolbar.setDocument(this.info);
    this.stopKeys = listenToKeys(this);
    this.dark.addEventListener("change", this.onDark);
    this.details.showNothing();
    this.showState();
    this.startTasks(initialState());
  }

  dispose(): void {
    this.queue.clear();
    this.stopKeys();
    this.dark.removeEventListener("change", this.onDark);
    this.table.dispose();
    for (const pane of Object.values(this.panes)) {
      pane.dispose();
    }
    this.root.remove();
  }

  // ---- parts

  private makeToolbar(): Toolbar {
    return new Toolbar(this.searchBar.element, {
      colouring: (colouring) => this.update({ colouring, groups: [] }, false, "groups", "legend"),
      valueType: (valueType) => this.update({ valueType }, true, "valueType"),
      comparison: (comparison) => this.update({ comparison }, false, "layout", "minimap", "table"),
      widthBy: (widthBy) => this.update({ widthBy }, false, "layout", "minimap"),
      layout: (layout) => this.setLayout(layout),
      turn: () => this.turn(),
      theme: () => this.switchTheme(),
      details: () => this.toggleDetails(),
      help: () => this.help.open(),
    });
  }

  private makeTable(): Table {
    return new Table({
      fetch: (first, count) => this.engine.table({ tree: "main", order: this.order,
        descending: this.state.descending, matchesOnly: this.state.matchesOnly,
        comparison: this.state.comparison, first, count }),
      sort: (order, descending) => {
        this.isTableNew = true;
        this.update({ order, descending }, false, "table");
      },
      matchesOnly: (matchesOnly) => {
        this.isTableNew = true;
        this.update({ matchesOnly }, false, "table");
      },
      select: (func) => this.selectFunction(func),
      open: (func) => this.setSandwich(func),
      menu: (func, x, y) => this.openMenu({ tree: "main", node: null, func }, x, y),
      counted: (rows) => {
        this.root.dataset.tableRows = String(rows);
      },
    }, this.info.sides.length);
  }

  private makePanes(): Record<TreeName, GraphPane> {
    const events: GraphPaneEvents = {
      click: (pane, box, event) => this.onClick(pane, box, event),
      hover: (pane, box, event) => this.onHover(pane, box, event),
      menu: (pane, box, x, y) => this.onMenu(pane, box, x, y),
      resized: (pane) => this.onResized(pane),
      scrolled: (pane) => {
        this.tooltip.hide();
        if (pane.tree === "main") {
          this.minimap.setFrame(this.zoomPath, pane.visibleRows());
        }
      },
      focused: (pane) => {
        this.activePane = pane;
      },
    };
    const pane = (tree: TreeName, testId: string, label: string, skipRows: number): GraphPane =>
      new GraphPane(this.painter, events, { tree, testId, label, skipRows });
    const panes = {
      main: pane("main", "graph", "Flame graph", 0),
      callers: pane("callers", "graph-callers", "Callers", 1),
      callees: pane("callees", "graph-callees", "Function and its callees", 0),
    };
    this.stage.graphs.append(this.minimap.element, panes.callers.element, panes.main.element,
      panes.callees.element);
    return panes;
  }

  // ---- what is shown

  get theme(): Theme {
    const choice = this.state.theme;
    return choice === "auto" ? (this.dark.matches ? "dark" : "light") : choice;
  }

  get colouring(): ColouringChoice {
    const isTwoSided = this.info.sides.length === 2;
    const choice = this.state.colouring ?? (isTwoSided ? "difference" : "binary");
    return choice === "difference" && !isTwoSided ? "binary" : choice;
  }

  get order(): TableOrder {
    return this.state.order ?? (this.info.sides.length === 2 ? "selfDiff" : "self");
  }

  get unit(): string {
    return this.info.valueTypes[this.info.valueType]?.unit ?? "";
  }

  get trees(): TreeName[] {
    return this.state.sandwich === null ? ["main"] : ["callers", "callees"];
  }

  zoomOf(tree: TreeName): Zoom {
    return this.zooms[tree];
  }

  isRootBelow(tree: TreeName): boolean {
    return tree === "callers" || (tree === "main" && this.state.rootBelow);
  }

  // Takes over a state from outside (the way back): does what differs.
  setState(text: string): void {
    const before = this.state;
    this.state = stateFromText(text);
    this.showState();
    this.startTasks(before);
  }

  private startTasks(before: ViewState): void {
    const after = this.state;
    const differs = (...keys: (keyof ViewState)[]): boolean =>
      keys.some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
    const put = (isNeeded: boolean, ...tasks: Task[]): void => {
      if (isNeeded) {
        this.queue.add(...tasks);
      }
    };
    put(differs("valueType"), "valueType");
    put(differs("transforms"), "transforms");
    put(differs("sandwich"), "sandwich");
    put(differs("groups", "colouring"), "groups");
    put(differs("query"), "search");
    put(differs("zoom", "rest"), "zoom");
    put(differs("colouring") || this.pictures === 0, "legend", "layout", "minimap");
    put(true, "layout", "table", "details");
    if (before.theme !== after.theme) {
      this.applyTheme();
    }
  }

  update(change: Partial<ViewState>, isStep: boolean, ...tasks: Task[]): void {
    this.state = { ...this.state, ...change };
    this.isStep = this.isStep || isStep;
    this.showState();
    this.queue.add(...tasks, "address");
  }

  private showState(): void {
    const { state, root } = this;
    this.toolbar.setState(state, this.colouring, this.info.valueType, this.theme);
    this.searchBar.set(state.query);
    this.stage.setLayout(state.layout, state.details);
    this.trail.showChips(this.labels, state.sandwich?.name ?? null);
    const isSandwich = state.sandwich !== null;
    this.panes.main.element.hidden = isSandwich;
    this.minimap.element.hidden = isSandwich;
    this.panes.callers.element.hidden = !isSandwich;
    this.panes.callees.element.hidden = !isSandwich;
    if (!this.trees.includes(this.activePane.tree)) {
      this.activePane = this.panes[isSandwich ? "callees" : "main"];
    }
    Object.assign(root.dataset, {
      theme: this.theme, layout: state.layout, root: state.rootBelow ? "below" : "above",
      comparison: state.comparison, widthBy: state.widthBy, colouring: this.colouring,
      groups: state.groups.join(","), sandwich: state.sandwich?.name ?? "",
      transforms: String(state.transforms.length), sides: String(this.info.sides.length),
    });
  }

  // ---- work, one task at a time

  private async run(task: Task): Promise<void> {
    switch (task) {
      case "valueType":
        this.info = await this.engine.setValueType(this.state.valueType ?? this.options.info.valueType);
        this.select(null);
        this.queue.add("sandwich", "search", "zoom", "legend", "layout", "minimap", "table");
        return;
      case "transforms":
        return this.runTransforms();
      case "sandwich":
        return this.runSandwich();
      case "groups":
        await this.engine.selectGroups(this.groupColouring, this.state.groups);
        this.legend.setSelected(this.state.groups);
        this.queue.add("search");
        return;
      case "search":
        return this.runSearch();
      case "zoom":
        return this.runZoom();
      case "legend":
        return this.runLegend();
      case "layout":
        return this.runLayout();
      case "address":
        return this.runAddress();
      case "details":
        return this.runDetails();
      case "minimap":
        return this.runMinimap();
      case "table":
        return this.runTable();
    }
  }

  private get groupColouring(): Colouring {
    return this.colouring === "difference" ? "binary" : this.colouring;
  }

  private async runTransforms(): Promise<void> {
    if (this.isAddressOld) {
      await this.runAddress();
    }
    const transforms = [];
    const known: NamedTransform[] = [];
    for (const one of this.state.transforms) {
      const transform = await resolveTransform(this.engine, this.functions, one);
      if (transform === null) {
        this.message.show("A change of this link is about a function that this profile lacks");
      } else {
        transforms.push(transform);
        known.push(one);
      }
    }
    this.state = { ...this.state, transforms: known };
    const answer = await this.engine.setTransforms(transforms);
    this.info = answer.info;
    this.removed = answer.removed;
    this.labels = answer.labels;
    this.select(null);
    this.showState();
    this.queue.add("sandwich", "search", "zoom", "legend", "layout", "minimap", "table");
  }

  private async runSandwich(): Promise<void> {
    const of = this.state.sandwich;
    const func = of === null ? null : await numberOf(this.engine, this.functions, of);
    if (of !== null && func === null) {
      this.message.show(`This profile has no function ${of.name}`);
      this.state = { ...this.state, sandwich: null };
    }
    if (func !== null || this.sandwichFunction !== null) {
      await this.engine.setSandwich(func);
    }
    this.sandwichFunction = func;
    this.zooms.callers = ROOT;
    this.zooms.callees = ROOT;
    this.reveal = true;
    this.select(null);
    this.showState();
    this.queue.add("layout");
  }

  private async runSearch(): Promise<void> {
    const { query, groups } = this.state;
    const isNeeded = query.text !== "" || groups.length > 0 || this.answer !== null;
    const answer = isNeeded ? await this.engine.search(query) : null;
    this.answer = query.text === "" && groups.length === 0 ? null : answer;
    this.searchBar.showAnswer(this.answer, this.info.totals);
    const has = this.answer !== null && this.answer.error === null;
    Object.assign(this.root.dataset, {
      matches: has ? String(this.answer?.nodes) : "",
      matchFunctions: has ? String(this.answer?.functions) : "",
      matchShare: has ? String(shareOf(sum(this.answer?.totals ?? []), sum(this.info.totals))) : "",
    });
    this.isTableNew = true;
    this.queue.add("layout", "table", "minimap");
  }

  private async runZoom(): Promise<void> {
    const { zoom, rest } = this.state;
    const node = zoom === "" ? 0 : await this.engine.nodeAt(zoom);
    if (node === null) {
      this.state = { ...this.state, zoom: "", rest: null };
      this.zooms.main = ROOT;
    } else {
      this.zooms.main = { node, below: rest?.below ?? null, from: rest?.from, to: rest?.to };
    }
    this.reveal = true;
    this.queue.add("layout");
  }

  private async runLegend(): Promise<void> {
    if (this.colouring === "difference") {
      this.legend.showScale(this.info.sides.map((side) => side.name));
    } else {
      const colouring = this.groupColouring;
      const entries = await this.engine.legend(colouring);
      this.styles.setColouring(colouring, entries);
      this.legend.showEntries(entries, this.styles.keys, this.state.groups, this.unit);
    }
    this.queue.add("layout", "minimap");
  }

  private async runLayout(): Promise<void> {
    const { comparison, widthBy, layout } = this.state;
    if (layout === "table") {
      this.showPicture(null, performance.now());
      return;
    }
    const panes = this.trees.map((tree) => this.panes[tree]);
    const answers = await Promise.all(panes.map((pane) => this.engine.layout({ tree: pane.tree,
      zoom: this.zooms[pane.tree], widthPx: pane.widthPx, narrowestPx: NARROWEST_PX, comparison,
      widthBy })));
    const started = performance.now();
    const noise = noiseScaleOf(this.info, comparison === "normalized");
    answers.forEach((answer, at) => {
      this.functions.add(answer.functions);
      const styleOf = this.styles.styleOf(this.colouring, answer.boxes, noise);
      panes[at].setScene(makeScene(answer.boxes, answer.totals, styleOf),
        this.isRootBelow(panes[at].tree), this.reveal);
    });
    this.reveal = false;
    this.keepSelection();
    this.showPicture(answers[answers.length - 1], started);
  }

  // After a picture: everything around it that tells of it.
  private showPicture(answer: LayoutAnswer | null, started: number): void {
    const { root, info } = this;
    const zoom = this.zooms.main;
    const restShare = answer === null ? 0 : shareOf(sum(answer.restTotals), sum(answer.zoomTotals));
    this.status.show({ info, unit: this.unit, boxes: answer?.boxes.count ?? 0,
      restNodes: answer?.restNodes ?? 0, restShare, removed: this.removed });
    const names = this.state.sandwich === null && answer !== null ? this.showPath() : [];
    Object.assign(root.dataset, {
      nodes: String(info.nodeCount), functions: String(info.functionCount),
      depth: String(info.depthMax), totals: info.totals.join(","),
      zoom: String(zoom.node), zoomName: names[names.length - 1] ?? "",
      zoomBelow: zoom.below === null ? "" : String(zoom.below),
      boxes: String(answer?.boxes.count ?? 0), restNodes: String(answer?.restNodes ?? 0),
      restShare: String(restShare), frameMs: (performance.now() - started).toFixed(2),
      pictures: String(++this.pictures),
    });
    if (this.pictures === 1 && answer !== null) {
      performance.mark("vesta:first-picture");
      performance.measure("vesta:first-picture", { start: 0, end: performance.now() });
    }
    for (const [name, start] of this.started) {
      performance.measure(name, { start, end: performance.now() });
    }
    this.started.clear();
  }

  // The names on the way to the zoomed box, and the trail made of them.
  private showPath(): string[] {
    const scene = this.panes.main.scene;
    if (scene === null) {
      return [];
    }
    const { boxes, zoomRow } = scene;
    const zoom = this.zooms.main;
    const path: number[] = [];
    for (let box = 0; box < boxes.count && boxes.row[box] <= zoomRow; box++) {
      if (boxes.kind[box] === BOX_ANCESTOR || boxes.node[box] === zoom.node) {
        path.push(box);
      }
    }
    const names = path.map((box) => this.functions.get(boxes.func[box])?.name ?? "");
    this.zoomPath = path.map((box) => boxes.node[box]);
    this.trail.showPath(path.map((box, at) => ({ label: names[at], node: boxes.node[box] })),
      zoom.below === null ? "" : "narrow boxes");
    this.minimap.setFrame(this.zoomPath, this.panes.main.visibleRows());
    return names;
  }

  private async runAddress(): Promise<void> {
    const { node, below, from, to } = this.zooms.main;
    const zoom = node === 0 ? "" : await this.engine.addressOf(node);
    this.isAddressOld = false;
    const rest = below === null ? null : { below, from: from ?? 0, to: to ?? 0 };
    this.state = { ...this.state, zoom, rest };
    this.options.onState(stateToText(this.state), this.isStep);
    this.isStep = false;
  }

  private async runDetails(): Promise<void> {
    const selection = this.selection;
    if (!this.state.details) {
      return;
    }
    if (selection === null) {
      this.details.showNothing();
      return;
    }
    const { pane, node, func } = selection;
    const tree = pane?.tree ?? "main";
    const target: Target = { tree, node, func };
    if (node === null) {
      this.details.show({ target, details: null, path: [], unit: this.unit });
      return;
    }
    const [details, names] = await Promise.all([
      this.engine.details(tree, node, this.zooms[tree]), this.engine.stackNames(tree, node)]);
    const path = details.path.map((step, at) => ({ label: names[at] ?? "", node: step }));
    this.details.show({ target, details, path, unit: this.unit });
  }

  private async runMinimap(): Promise<void> {
    const widthPx = this.minimap.widthPx;
    if (widthPx === 0) {
      return;
    }
    const { comparison, widthBy } = this.state;
    const answer = await this.engine.layout({ tree: "main", zoom: ROOT, widthPx,
      narrowestPx: NARROWEST_MINIMAP_PX, comparison, widthBy });
    this.functions.add(answer.functions);
    const noise = noiseScaleOf(this.info, comparison === "normalized");
    const styleOf = this.styles.styleOf(this.colouring, answer.boxes, noise);
    this.minimap.element.style.height = `${MINIMAP_PX}px`;
    this.minimap.setScene(makeScene(answer.boxes, answer.totals, styleOf), this.state.rootBelow);
    this.minimap.setFrame(this.zoomPath, this.panes.main.visibleRows());
  }

  private async runTable(): Promise<void> {
    if (this.state.layout === "graph") {
      return;
    }
    const { matchesOnly, descending, query, groups } = this.state;
    const toTop = this.isTableNew;
    this.isTableNew = false;
    await this.table.refresh({ unit: this.unit, totals: this.info.totals, order: this.order,
      descending, matchesOnly, hasSearch: query.text !== "" || groups.length > 0 }, toTop);
  }

  // ---- what the reader does

  // Time from here to the next picture counts as `name`.
  measureFrom(name: "vesta:zoom" | "vesta:search" | "vesta:transform"): void {
    this.started.set(name, performance.now());
  }

  zoomTo(tree: TreeName, zoom: Zoom): void {
    this.measureFrom("vesta:zoom");
    this.zooms[tree] = zoom;
    this.isAddressOld = this.isAddressOld || tree === "main";
    this.reveal = true;
    this.tooltip.hide();
    this.isStep = this.isStep || tree === "main";
    this.queue.add("layout", "address");
  }

  search(query: SearchQuery): void {
    this.measureFrom("vesta:search");
    this.update({ query }, false, "search");
  }

  setTransforms(transforms: NamedTransform[]): void {
    this.measureFrom("vesta:transform");
    this.update({ transforms }, true, "transforms");
  }

  setSandwich(func: FunctionInfo | null): void {
    const sandwich = func === null ? null : { name: func.name, image: func.image };
    const layout = this.state.layout === "table" && func !== null ? "both" : this.state.layout;
    this.measureFrom("vesta:transform");
    this.update({ sandwich, layout }, true, "sandwich", "table");
  }

  setLayout(layout: ViewState["layout"]): void {
    this.isTableNew = this.isTableNew || this.state.layout === "graph";
    this.update({ layout }, false, "layout", "table", "minimap");
  }

  turn(): void {
    this.reveal = true;
    this.update({ rootBelow: !this.state.rootBelow }, false, "layout", "minimap");
  }

  toggleDetails(): void {
    this.update({ details: !this.state.details }, false, "details");
  }

  switchTheme(): void {
    this.update({ theme: this.theme === "dark" ? "light" : "dark" }, false);
    this.applyTheme();
  }

  private applyTheme(): void {
    this.showState();
    this.painter.setTheme(this.theme);
    for (const pane of Object.values(this.panes)) {
      pane.redraw();
    }
    this.minimap.redraw();
    this.queue.add("legend");
  }

  back(): void {
    this.options.goBack();
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    for (const pane of Object.values(this.panes)) {
      pane.selectNode(pane === selection?.pane ? selection.node : null);
    }
    this.table.setSelected(selection?.func.func ?? null);
    Object.assign(this.root.dataset, {
      selected: selection?.node === null || selection === null ? "" : String(selection.node),
      selectedName: selection?.func.name ?? "", selectedTree: selection?.pane?.tree ?? "",
    });
    this.queue.add("details");
  }

  selectBox(pane: GraphPane, box: number): void {
    const boxes = pane.scene?.boxes;
    const func = boxes === undefined ? undefined : this.functions.get(boxes.func[box]);
    if (boxes !== undefined && func !== undefined) {
      this.activePane = pane;
      this.select({ pane, node: boxes.node[box], func });
      pane.bringIntoView(box);
    }
  }

  private keepSelection(): void {
    if (this.selection !== null) {
      this.selection.pane?.selectNode(this.selection.node);
    }
  }

  // From the table: lit in the graph by a search for its name.
  private selectFunction(func: FunctionInfo): void {
    this.select({ pane: null, node: null, func });
    this.search({ text: func.name, regexp: false, matchCase: true });
  }

  async stepMatch(step: 1 | -1): Promise<void> {
    if (this.answer === null || this.answer.error !== null) {
      return;
    }
    const pane = this.activePane;
    const isHere = this.selection?.pane === pane;
    const from = (isHere ? this.selection?.node : null) ?? this.zooms[pane.tree].node;
    const node = await this.engine.matchBeside(pane.tree, from, step);
    if (node === null) {
      this.message.show("No match");
      return;
    }
    await this.goTo(pane, node);
  }

  // Selects a node and brings it into view; zooms where it is not in the picture.
  private async goTo(pane: GraphPane, node: number): Promise<void> {
    const isShown = (): boolean => pane.scene !== null && boxOfNode(pane.scene.boxes, node) >= 0;
    if (!isShown()) {
      const details = await this.engine.details(pane.tree, node, this.zooms[pane.tree]);
      const zoomed = this.zooms[pane.tree].node;
      const around = details.path.includes(zoomed) ? [] : [0];
      for (const at of [...around, details.path[details.path.length - 2] ?? 0, node]) {
        this.zoomTo(pane.tree, { node: at, below: null });
        await this.picture();
        if (isShown()) {
          break;
        }
      }
    }
    if (pane.scene !== null) {
      this.selectBox(pane, boxOfNode(pane.scene.boxes, node));
    }
  }

  private async picture(): Promise<void> {
    const before = this.pictures;
    while (this.pictures === before) {
      await new Promise((done) => setTimeout(done, 1));
    }
  }

  act(action: ActionId, target: Target): void {
    runAction(this, action, target);
  }

  // The box under the hand: selected, or under the pointer.
  target(): Target | null {
    if (this.selection !== null) {
      const { pane, node, func } = this.selection;
      return { tree: pane?.tree ?? "main", node, func };
    }
    const pane = this.activePane;
    return pane.hoveredBox >= 0 ? this.targetOf(pane, pane.hoveredBox) : null;
  }

  private targetOf(pane: GraphPane, box: number): Target | null {
    const boxes = pane.scene?.boxes;
    const func = boxes === undefined ? undefined : this.functions.get(boxes.func[box]);
    return boxes === undefined || func === undefined || boxes.kind[box] === BOX_REST
      ? null : { tree: pane.tree, node: boxes.node[box], func };
  }

  openMenu(target: Target, x: number, y: number): void {
    this.tooltip.hide();
    const items = actionsFor(target).map((action) => ({ id: action.id,
      label: action.label(target), key: keyOf(action.id), run: () => this.act(action.id, target) }));
    this.menu.open(target.func.name, items, x, y);
  }

  private openLegendMenu(key: string, label: string, x: number, y: number): void {
    const items = [{ id: "only", label: "Show only this", key: "",
      run: () => this.update({ groups: [key] }, false, "groups") }];
    const image = this.colouring === "binary" ? this.functions.imageOf(key) : undefined;
    if (image !== undefined) {
      items.push({ id: "collapseLibrary", label: `Collapse ${label}`, key: "", run: () =>
        this.setTransforms([...this.state.transforms, { kind: "collapseLibrary", image }]) });
    }
    this.menu.open(label, items, x, y);
  }

  private onClick(pane: GraphPane, box: number, event: MouseEvent): void {
    const boxes = pane.scene?.boxes;
    pane.element.focus({ preventScroll: true });
    if (boxes === undefined || box < 0) {
      return;
    }
    if (boxes.kind[box] === BOX_REST) {
      this.zoomTo(pane.tree, { node: boxes.node[box], below: boxes.below[box],
        from: boxes.from[box], to: boxes.to[box] });
      return;
    }
    this.selectBox(pane, box);
    const zoom = this.zooms[pane.tree];
    const isSame = zoom.node === boxes.node[box] && zoom.below === null;
    if (!event.ctrlKey && !event.metaKey && !isSame) {
      this.zoomTo(pane.tree, { node: boxes.node[box], below: null });
    }
  }

  private onHover(pane: GraphPane, box: number, event: PointerEvent | null): void {
    const started = performance.now();
    pane.setHovered(box);
    const scene = pane.scene;
    if (box < 0 || scene === null || event === null || this.menu.isOpen
      || event.pointerType === "touch") {
      this.tooltip.hide();
      return;
    }
    const { boxes } = scene;
    const noise = noiseScaleOf(this.info, this.state.comparison === "normalized");
    const isTwoSided = boxes.total.length === 2;
    const zoomed = boxOfNode(boxes, this.zooms[pane.tree].node);
    this.tooltip.show({ scene, box, func: this.functions.get(boxes.func[box]), unit: this.unit,
      zoomTotal: zoomed < 0 ? scene.rootTotal : totalOf(boxes, zoomed),
      sideNames: this.info.sides.map((side) => side.name),
      withinNoise: isTwoSided && isWithinNoise(boxes.total[0][box], boxes.total[1][box], noise) },
    event.clientX, event.clientY);
    performance.measure("vesta:frame", { start: started, end: performance.now() });
  }

  private onMenu(pane: GraphPane, box: number, x: number, y: number): void {
    const target = box < 0 ? null : this.targetOf(pane, box);
    if (target !== null) {
      this.selectBox(pane, box);
      this.openMenu(target, x, y);
    }
  }

  private onResized(pane: GraphPane): void {
    if (this.pictures > 0 && this.trees.includes(pane.tree)) {
      this.queue.add("layout", "minimap");
    }
  }

  // ---- for tests

  visibleBoxes(tree: TreeName = "main"): VisibleBox[] {
    const pane = this.panes[tree];
    const scene = pane.scene;
    const found: VisibleBox[] = [];
    if (scene === null || pane.element.hidden) {
      return found;
    }
    const { boxes } = scene;
    const frame = pane.rectOf(-1);
    for (let box = 0; box < boxes.count; box++) {
      const rect = pane.rectOf(box);
      if (rect.top < frame.top - 1 || rect.bottom > frame.bottom + 1) {
        continue;
      }
      const kind = boxes.kind[box];
      found.push({
        kind: kind === BOX_REST ? "rest" : kind === BOX_ANCESTOR ? "ancestor" : "node",
        node: boxes.node[box], func: boxes.func[box], name: labelOf(scene, box, this.functions),
        match: boxes.match[box], row: boxes.row[box], x: rect.x, y: rect.y, width: rect.width,
        height: rect.height, total: boxes.total.map((side) => side[box]),
        self: boxes.self.map((side) => side[box]),
        fill: this.painter.swatch(Math.floor(scene.paint[box] / VARIANTS)),
      });
    }
    return found;
  }
}
