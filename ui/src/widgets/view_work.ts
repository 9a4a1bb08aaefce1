// What the view asks the engine: tasks, each of which shows what came back. The order of TASKS is
// the order in which one depends on the other, and in which the reader misses them.
import { BOX_ANCESTOR, BOX_NODE, type Colouring, type DocumentInfo, type FunctionInfo,
  type LayoutAnswer, type SearchAnswer, type Transform, type TreeName, type Zoom }
  from "../engine/protocol";
import type { Target } from "./actions";
import { noiseScaleOf } from "./box_styles";
import { shareOf, sum } from "./format";
import type { GraphPane } from "./graph_pane";
import { MINIMAP_PX } from "./minimap";
import { numberOf, resolveTransform } from "./named_transforms";
import { makeScene, ROW_PX } from "./scene";
import type { Selection, Task, View } from "./view";
import { stateToText, type NamedTransform, type ViewState } from "./view_state";
import { WorkQueue } from "./work_queue";

// Boxes narrower than this are gathered in a rest. A picture of a small tree may have all of its
// boxes; that of a large one must be drawn within a blink.
const NARROWEST_PX: [nodesMost: number, px: number][] =
  [[30_000, 0.5], [200_000, 1], [Infinity, 2]];
const NARROWEST_MINIMAP_PX = 1;
const SANDWICH_ROWS_LEAST = 6; // room of callers or callees, beside the deeper of them
const ROOT: Zoom = { node: 0, below: null };
const TASKS: readonly Task[] = ["document", "valueType", "transforms", "sandwich", "groups",
  "search", "zoom", "legend", "layout", "address", "details", "minimap", "table"];
export type MeasuredStep = "vesta:zoom" | "vesta:search" | "vesta:transform";

// The view as its work sees it: it also keeps what the engine answers.
export interface WorkedView extends View {
  state: ViewState;
  info: DocumentInfo;
  showState(): void;
  documentChanged(info: DocumentInfo): void;
  keepAddress(state: string, isStep: boolean): void;
}

// What is brought over into a new document, by names that hold in both.
interface Swap {
  pane: GraphPane | null;
  address: string | null; // of the selected node
  func: FunctionInfo | null; // the selected one
}

export class ViewWork {
  readonly zooms: Record<TreeName, Zoom> = { main: ROOT, callers: ROOT, callees: ROOT };
  answer: SearchAnswer | null = null;
  pictures = 0;
  reveal = true; // the next picture scrolls to the zoomed box
  isStep = false; // the next address is a step that the way back undoes
  labels: string[] = []; // of the transforms
  private isAddressOld = false; // `state.zoom` is not that of the zoomed node yet
  private isTableNew = true;
  private sandwichFunction: number | null = null;
  private removed: number[] = [];
  private minimapAsked: Promise<LayoutAnswer> | null = null; // of the last picture
  private zoomPath: number[] = [];
  private nextDocument: Uint8Array | null = null;
  private swap: Swap | null = null; // from a new document to its first picture
  private waiting: (() => void)[] = []; // for that picture
  private lostZoom = ""; // address of a zoomed node that the document lacks; it may come back
  private readonly started = new Map<MeasuredStep, number>();
  private readonly queue: WorkQueue<Task>;
  private readonly firstType: number; // what the document shows by itself

  constructor(private readonly view: WorkedView) {
    this.firstType = view.info.valueType;
    this.queue = new WorkQueue<Task>(TASKS, (task) => this.run(task), {
      busy: (isBusy) => {
        view.root.dataset.busy = isBusy ? "1" : "0";
      },
      failed: (error) =>
        view.parts.message.show(error instanceof Error ? error.message : String(error)),
    });
  }

  add(...tasks: Task[]): void {
    this.queue.add(...tasks);
  }

  dispose(): void {
    this.queue.clear();
  }

  get isSwapping(): boolean {
    return this.swap !== null;
  }

  refresh(bytes: Uint8Array): void {
    this.nextDocument = bytes;
    this.queue.add("document");
  }

  whenSettled(run: () => void): void {
    if (this.swap === null) run();
    else this.waiting.push(run);
  }

  // What a change of state from outside asks for.
  addChanges(before: ViewState, after: ViewState): void {
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
    put(differs("colouring") || this.pictures === 0, "legend", "minimap");
    put(true, "layout", "table", "details");
  }

  setZoom(tree: TreeName, zoom: Zoom): void {
    this.zooms[tree] = zoom;
    if (tree === "main") {
      this.lostZoom = "";
    }
    this.isAddressOld = this.isAddressOld || tree === "main";
    this.isStep = this.isStep || tree === "main";
    this.reveal = true;
    this.queue.add("layout", "address", "details");
  }

  // The table shows its first rows next time.
  startTable(): void {
    this.isTableNew = true;
  }

  resized(pane: GraphPane): void {
    if (this.pictures > 0 && this.view.trees.includes(pane.tree)) {
      this.queue.add("layout", "minimap");
    }
  }

  // The answer to what was asked for last.
  async searched(): Promise<SearchAnswer | null> {
    await this.queue.whenDone("valueType", "transforms", "groups", "search");
    return this.answer;
  }

  // Time from here to the next picture counts as `name`.
  measureFrom(name: MeasuredStep): void {
    this.started.set(name, performance.now());
  }

  async nextPicture(): Promise<void> {
    const before = this.pictures;
    while (this.pictures === before) {
      await new Promise((done) => setTimeout(done, 1));
    }
  }

  frameMinimap(pane: GraphPane): void {
    if (pane.tree === "main") {
      this.view.parts.minimap.setFrame(this.zoomPath, pane.visibleRows());
    }
  }

  private async run(task: Task): Promise<void> {
    switch (task) {
      case "document":
        return this.runDocument();
      case "valueType":
        return this.runValueType();
      case "transforms":
        return this.runTransforms();
      case "sandwich":
        return this.runSandwich();
      case "groups":
        await this.view.engine.selectGroups(this.groupColouring, this.view.state.groups);
        this.view.parts.legend.setSelected(this.view.state.groups);
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
    return this.view.colouring === "difference" ? "binary" : this.view.colouring;
  }

  private async runDocument(): Promise<void> {
    const { view } = this;
    const bytes = this.nextDocument;
    if (bytes === null) {
      return;
    }
    this.nextDocument = null;
    let swap = this.swap; // there already: the document before could not be read
    while (swap === null || this.isAddressOld) { // until nothing was zoomed meanwhile
      if (this.isAddressOld) {
        await this.runAddress();
      }
      const kept = view.selection;
      const isNode = kept?.pane?.tree === "main" && kept.node !== null;
      swap = { pane: kept?.pane ?? null, func: kept?.func ?? null,
        address: isNode ? await view.engine.addressOf(kept.node ?? 0) : null };
    }
    this.swap = swap;
    const info = await view.engine.load(bytes);
    const { state } = view;
    Object.assign(this.zooms, { main: ROOT, callers: ROOT, callees: ROOT });
    this.sandwichFunction = null;
    view.documentChanged(info);
    this.queue.add("zoom", "legend", "layout", "minimap", "table", "details");
    if (state.valueType !== null) this.queue.add("valueType");
    if (state.transforms.length > 0) this.queue.add("transforms");
    if (state.sandwich !== null) this.queue.add("sandwich");
    if (state.groups.length > 0) this.queue.add("groups");
    if (state.query.text !== "") this.queue.add("search");
  }

  // The first picture of a new document is there.
  private settle(): void {
    const waiting = this.waiting;
    this.waiting = [];
    this.swap = null;
    for (const run of waiting) {
      run();
    }
  }

  // What was selected in the document before; null = it is not in this one.
  private async selectedBefore({ pane, address, func }: Swap): Promise<Selection | null> {
    const { engine } = this.view;
    if (pane === null && func !== null) {
      const number = await engine.functionNamed(func.name, func.image);
      return number === null ? null : { pane, node: null, func: { ...func, func: number } };
    }
    const node = address === null ? null : await engine.nodeAt(address);
    if (pane === null || node === null) {
      return null;
    }
    return { pane, node, func: (await engine.details("main", node, ROOT)).func };
  }

  // Nodes have other numbers now.
  private treeChanged(): void {
    this.view.select(null);
    this.view.showState();
    this.queue.add("sandwich", "search", "zoom", "legend", "layout", "minimap", "table");
  }

  private async runValueType(): Promise<void> {
    const view = this.view;
    view.info = await view.engine.setValueType(view.state.valueType ?? this.firstType);
    this.treeChanged();
  }

  private async runTransforms(): Promise<void> {
    const view = this.view;
    if (this.isAddressOld) {
      await this.runAddress();
    }
    const found: { one: NamedTransform; transform: Transform | null }[] = [];
    for (const one of view.state.transforms) {
      found.push({ one, transform: await resolveTransform(view.engine, view.functions, one) });
    }
    const known = found.filter(({ transform }) => transform !== null);
    const answer = await view.engine.setTransforms(
      known.map(({ transform }) => transform as Transform));
    const labels = [...answer.labels];
    if (this.swap !== null) { // what is not in this document may be in the next
      this.labels = found.map(({ transform }) =>
        (transform === null ? "of a function that is not here" : labels.shift() ?? ""));
    } else {
      if (known.length < found.length) {
        view.parts.message.show("A change of this link is about a function that is not here");
      }
      view.state = { ...view.state, transforms: known.map(({ one }) => one) };
      this.labels = labels;
    }
    view.info = answer.info;
    this.removed = answer.removed;
    this.treeChanged();
  }

  private async runSandwich(): Promise<void> {
    const view = this.view;
    const of = view.state.sandwich;
    const func = of === null ? null : await numberOf(view.engine, view.functions, of);
    if (of !== null && func === null) {
      view.parts.message.show(`This profile has no function ${of.name}`);
      view.state = { ...view.state, sandwich: null };
    }
    if (func !== null || this.sandwichFunction !== null) {
      await view.engine.setSandwich(func);
    }
    this.sandwichFunction = func;
    this.zooms.callers = ROOT;
    this.zooms.callees = ROOT;
    this.reveal = this.reveal || this.swap === null;
    view.select(null);
    view.showState();
    this.queue.add("layout");
  }

  private async runSearch(): Promise<void> {
    const view = this.view;
    const { query, groups } = view.state;
    const isOff = query.text === "" && groups.length === 0;
    const started = performance.now();
    const answer = isOff && this.answer === null ? null : await view.engine.search(query);
    view.parts.searchBar.setPace(performance.now() - started);
    this.answer = isOff ? null : answer;
    view.parts.searchBar.showAnswer(this.answer, view.info.totals);
    const shown = this.answer !== null && this.answer.error === null ? this.answer : null;
    const share = shown === null ? "" : String(shareOf(sum(shown.totals), sum(view.info.totals)));
    Object.assign(view.root.dataset, { matches: shown === null ? "" : String(shown.nodes),
      matchFunctions: shown === null ? "" : String(shown.functions), matchShare: share });
    this.isTableNew = this.isTableNew || view.state.matchesOnly;
    this.queue.add("layout", "table", "minimap");
  }

  private async runZoom(): Promise<void> {
    const view = this.view;
    const { zoom, rest } = view.state;
    const node = zoom === "" ? 0 : await view.engine.nodeAt(zoom);
    if (node === null && this.swap !== null) {
      if (this.lostZoom === "") {
        view.parts.message.show("The zoomed box is not in this time: all is shown until it is");
      }
      this.lostZoom = zoom;
    } else if (node === null) {
      view.state = { ...view.state, zoom: "", rest: null };
      this.zooms.main = ROOT;
    } else {
      this.zooms.main = { node, below: rest?.below ?? null, from: rest?.from, to: rest?.to };
      this.reveal = this.reveal || this.lostZoom !== "";
      this.lostZoom = "";
    }
    this.isAddressOld = false;
    this.reveal = this.reveal || this.swap === null;
    this.queue.add("layout");
  }

  private async runLegend(): Promise<void> {
    const view = this.view;
    const { legend, styles } = view.parts;
    if (view.colouring === "difference") {
      legend.showScale(view.info.sides.map((side) => side.name));
    } else {
      const entries = await view.engine.legend(this.groupColouring);
      styles.setColouring(this.groupColouring, entries);
      const { state, unit, info } = view;
      legend.showEntries(entries, styles.keys, state.groups, unit, info.inverted);
    }
    this.queue.add("layout", "minimap");
  }

  private async runLayout(): Promise<void> {
    const view = this.view;
    const { comparison, widthBy, layout } = view.state;
    if (layout === "table") {
      if (this.swap !== null) {
        view.select(await this.selectedBefore(this.swap));
      }
      this.showPicture(null, performance.now());
      this.settle();
      return;
    }
    const panes = view.trees.map((tree) => view.parts.panes[tree]);
    const narrowestPx = NARROWEST_PX.find(([most]) => view.info.nodeCount <= most)?.[1] ?? 2;
    const answers = await Promise.all(panes.map((pane) => view.engine.layout({ tree: pane.tree,
      zoom: this.zooms[pane.tree], widthPx: pane.widthPx, narrowestPx, comparison, widthBy })));
    const selected = this.swap === null ? null : await this.selectedBefore(this.swap);
    // The engine lays out the small picture while the large one is drawn here.
    this.minimapAsked = this.queue.isWanted("minimap") ? this.askMinimap() : null;
    const started = performance.now();
    const scenes = answers.map((answer) => this.sceneOf(answer));
    panes.forEach((pane, at) => {
      const rows = Math.max(SANDWICH_ROWS_LEAST, scenes[at].rows);
      pane.element.style.flexGrow = String(rows);
      pane.element.style.minHeight = `min(${rows * ROW_PX}px, 40%)`;
    });
    panes.forEach((pane, at) => {
      pane.setScene(scenes[at], view.isRootBelow(pane.tree), this.reveal);
    });
    this.reveal = false;
    if (this.swap !== null) {
      view.select(selected);
    }
    if (view.state.sandwich !== null && view.selection === null) {
      view.selectBox(view.parts.panes.callees, 0); // the function itself
    }
    for (const pane of panes) {
      const selection = view.selection;
      pane.select(pane === selection?.pane ? selection.node : null, selection?.func.func ?? -1);
    }
    this.showPicture(answers[answers.length - 1], started);
    if (this.swap !== null) {
      this.settle();
      if (view.parts.tooltip.isShown) {
        for (const pane of panes) {
          pane.hoverAgain();
        }
      }
    }
  }

  private sceneOf(answer: LayoutAnswer): ReturnType<typeof makeScene> {
    const view = this.view;
    view.functions.add(answer.functions);
    const noise = noiseScaleOf(view.info, view.state.comparison === "normalized");
    const styleOf = view.parts.styles.styleOf(view.colouring, answer.boxes, noise);
    return makeScene(answer.boxes, answer.totals, styleOf);
  }

  // After a picture: everything around it that tells of it.
  private showPicture(answer: LayoutAnswer | null, started: number): void {
    const { root, info, unit, state, parts } = this.view;
    const zoom = this.zooms.main;
    const restNodes = answer?.restNodes ?? 0;
    const restShare = answer === null ? 0 : shareOf(sum(answer.restTotals), sum(answer.zoomTotals));
    parts.status.show({ info, unit, restNodes, restShare, removed: this.removed });
    const names = state.sandwich === null && answer !== null ? this.showPath() : [];
    Object.assign(root.dataset, {
      nodes: String(info.nodeCount), functions: String(info.functionCount),
      depth: String(info.depthMax), totals: info.totals.join(","),
      zoom: String(zoom.node), zoomName: names[names.length - 1] ?? "",
      zoomBelow: zoom.below === null ? "" : String(zoom.below),
      boxes: String(answer?.boxes.count ?? 0), restNodes: String(restNodes),
      restShare: String(restShare), frameMs: (performance.now() - started).toFixed(2),
      pictures: String(++this.pictures),
    });
    if (this.pictures === 1) {
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
    const { panes, trail } = this.view.parts;
    const scene = panes.main.scene;
    if (scene === null) {
      return [];
    }
    const { boxes, zoomRow } = scene;
    const zoom = this.zooms.main;
    const path: number[] = [];
    for (let box = 0; box < boxes.count && boxes.row[box] <= zoomRow; box++) {
      const isZoomed = boxes.kind[box] === BOX_NODE && boxes.node[box] === zoom.node;
      if (boxes.kind[box] === BOX_ANCESTOR || isZoomed) {
        path.push(box);
      }
    }
    const names = path.map((box) => this.view.functions.get(boxes.func[box])?.name ?? "");
    this.zoomPath = path.map((box) => boxes.node[box]);
    trail.showPath(path.map((box, at) => ({ label: names[at], node: boxes.node[box] })),
      zoom.below === null ? "" : "narrow boxes");
    this.frameMinimap(panes.main);
    return names;
  }

  private async runAddress(): Promise<void> {
    const view = this.view;
    const { node, below, from, to } = this.zooms.main;
    const zoom = node === 0 ? this.lostZoom : await view.engine.addressOf(node);
    const rest = below === null ? null : { below, from: from ?? 0, to: to ?? 0 };
    view.state = { ...view.state, zoom, rest };
    this.isAddressOld = false;
    view.keepAddress(stateToText(view.state), this.isStep);
    this.isStep = false;
  }

  private async runDetails(): Promise<void> {
    const { selection, state, parts, engine, unit } = this.view;
    if (!state.details) {
      return;
    }
    if (selection === null) {
      parts.details.showNothing();
      return;
    }
    const { pane, node, func } = selection;
    const tree = pane?.tree ?? "main";
    const target: Target = { tree, node, func };
    if (node === null) {
      parts.details.show({ target, details: null, path: [], unit });
      return;
    }
    const details = await engine.details(tree, node, this.zooms[tree]);
    const path = details.path.map((step, at) => ({ label: details.names[at], node: step }));
    parts.details.show({ target, details, path, unit });
  }

  // null = there is no room for it.
  private askMinimap(): Promise<LayoutAnswer> | null {
    const { engine, parts, state, functions } = this.view;
    const widthPx = parts.minimap.widthPx;
    if (widthPx === 0) {
      return null;
    }
    const answer = engine.layout({ tree: "main", zoom: ROOT, widthPx,
      narrowestPx: NARROWEST_MINIMAP_PX, comparison: state.comparison, widthBy: state.widthBy });
    answer.then((got) => functions.add(got.functions), () => undefined); // used or not
    return answer;
  }

  private async runMinimap(): Promise<void> {
    const { parts, state } = this.view;
    const minimap = parts.minimap;
    const asked = this.minimapAsked ?? this.askMinimap();
    this.minimapAsked = null;
    const answer = await asked;
    if (answer === null) {
      return;
    }
    minimap.element.style.height = `${MINIMAP_PX}px`;
    minimap.setScene(this.sceneOf(answer), state.rootBelow);
    this.frameMinimap(parts.panes.main);
  }

  private async runTable(): Promise<void> {
    const { state, info, unit, order, parts } = this.view;
    if (state.layout === "graph") {
      return;
    }
    const toTop = this.isTableNew;
    this.isTableNew = false;
    await parts.table.refresh({ unit, totals: info.totals, order, descending: state.descending,
      matchesOnly: state.matchesOnly,
      hasSearch: state.query.text !== "" || state.groups.length > 0 }, toTop);
  }
}
