// The flame graph as a widget: it draws what the engine answers into a container, and needs nothing
// else; the page around it keeps the address.
import { BOX_REST, type DocumentInfo, type Engine, type FunctionInfo, type SearchQuery,
  type TableOrder, type TreeName, type Zoom } from "../engine/protocol";
import type { ActionId, Target } from "./actions";
import { formatValue } from "./format";
import type { GraphPane } from "./graph_pane";
import type { Theme } from "./palette";
import { boxOfNode, Functions } from "./scene";
import type { Selection, Task } from "./view";
import { runAction } from "./view_actions";
import { eventsOf } from "./view_events";
import { listenToKeys } from "./view_keys";
import { ViewParts } from "./view_parts";
import { initialState, stateFromText, type ColouringChoice, type NamedTransform, type ViewState }
  from "./view_state";
import { ViewWork, type WorkedView } from "./view_work";
import { visibleBoxesOf, type VisibleBox } from "./visible_boxes";

export interface FlameViewOptions {
  info: DocumentInfo; // as `load` gave it
  state: string; // of `onState`, "" = none
  // isStep: the reader went somewhere; else an earlier text is replaced.
  onState(state: string, isStep: boolean): void;
  goBack(): void;
}

export interface FlameRoot extends HTMLDivElement {
  flameView?: FlameView;
}

// Owner: the page's thread. `dispose` takes the widget out again; the engine stays its maker's.
export class FlameView implements WorkedView {
  readonly root: FlameRoot;
  readonly functions = new Functions();
  readonly parts: ViewParts;
  private readonly work: ViewWork;
  state: ViewState;
  info: DocumentInfo;
  selection: Selection | null = null;
  activePane: GraphPane;
  private readonly dark = window.matchMedia("(prefers-color-scheme: dark)");
  private readonly onDark = (): void => this.applyTheme();
  private readonly stopKeys: () => void;
  private stepped: SearchQuery | null = null; // its first step is done

  constructor(
    container: HTMLElement,
    readonly engine: Engine,
    private readonly options: FlameViewOptions,
  ) {
    this.info = options.info;
    this.state = stateFromText(options.state);
    this.parts = new ViewParts(this.functions, this.info.sides.length, this.theme,
      eventsOf(this));
    this.root = this.parts.root;
    this.root.flameView = this;
    this.activePane = this.parts.panes.main;
    this.work = new ViewWork(this);
    container.append(this.root);
    this.parts.toolbar.setDocument(this.info);
    this.stopKeys = listenToKeys(this);
    this.dark.addEventListener("change", this.onDark);
    this.showState();
    this.work.addChanges(initialState(), this.state);
  }

  dispose(): void {
    this.work.dispose();
    this.stopKeys();
    this.dark.removeEventListener("change", this.onDark);
    this.parts.dispose();
  }

  // ---- what is shown

  get theme(): Theme {
    const choice = this.state.theme;
    return choice === "auto" ? (this.dark.matches ? "dark" : "light") : choice;
  }

  get colouring(): ColouringChoice {
    const isTwoSided = this.info.sides.length === 2;
    const plain = this.info.hasBinaries ? "binary" : "package"; // one colour tells nothing
    const choice = this.state.colouring ?? (isTwoSided ? "difference" : plain);
    return choice === "difference" && !isTwoSided ? plain : choice;
  }

  get order(): TableOrder {
    return this.state.order ?? (this.info.sides.length === 2 ? "selfDiff" : "self");
  }

  // Whether another document may take the place of this one unasked: not while the reader is in the
  // middle of something that is about nodes of this one.
  get canRefresh(): boolean {
    const { callers, callees } = this.work.zooms;
    return !this.parts.menu.isOpen && callers.node === 0 && callees.node === 0;
  }

  // Shows newer data of the same question; all that the reader chose stays. bytes: as `load` takes
  // them.
  refresh(bytes: Uint8Array): void {
    this.parts.menu.close(false);
    this.work.refresh(bytes);
  }

  // The engine holds another document.
  documentChanged(info: DocumentInfo): void {
    const facts = ({ valueTypes, sides }: DocumentInfo): string =>
      JSON.stringify([valueTypes.map(({ type, unit }) => [type, unit]), sides.map((s) => s.name)]);
    const isSame = facts(info) === facts(this.info);
    this.info = info;
    this.functions.forget();
    if (!isSame) {
      this.parts.toolbar.setDocument(info); // else an open list would close
    }
    this.showState();
  }

  get unit(): string {
    return this.info.valueTypes[this.info.valueType]?.unit ?? "";
  }

  get trees(): TreeName[] {
    return this.state.sandwich === null ? ["main"] : ["callers", "callees"];
  }

  zoomOf(tree: TreeName): Zoom {
    return this.work.zooms[tree];
  }

  isRootBelow(tree: TreeName): boolean {
    return tree === "callers" || (tree === "main" && this.state.rootBelow);
  }

  // Takes over a state from outside (the way back): does what differs.
  setState(text: string): void {
    const before = this.state;
    this.state = stateFromText(text);
    this.showState();
    this.work.addChanges(before, this.state);
    if (before.theme !== this.state.theme) {
      this.applyTheme();
    }
  }

  update(change: Partial<ViewState>, isStep: boolean, ...tasks: Task[]): void {
    this.state = { ...this.state, ...change };
    this.work.isStep = this.work.isStep || isStep;
    this.showState();
    this.work.add(...tasks, "address");
  }

  // Everything that follows from the state alone, without the engine.
  showState(): void {
    const { state, root, parts } = this;
    const isSandwich = state.sandwich !== null;
    parts.toolbar.setState(state, this.colouring, this.info.valueType, this.theme);
    parts.searchBar.set(state.query);
    parts.stage.setLayout(state.layout, state.details);
    parts.trail.showChips(this.work.labels, state.sandwich?.name ?? null);
    parts.minimap.element.hidden = isSandwich;
    for (const pane of parts.allPanes) {
      pane.element.hidden = !this.trees.includes(pane.tree);
    }
    if (!this.trees.includes(this.activePane.tree)) {
      this.activePane = parts.panes[isSandwich ? "callees" : "main"];
    }
    Object.assign(root.dataset, {
      theme: this.theme, layout: state.layout, root: state.rootBelow ? "below" : "above",
      comparison: state.comparison, widthBy: state.widthBy, colouring: this.colouring,
      groups: state.groups.join(","), sandwich: state.sandwich?.name ?? "",
      transforms: String(state.transforms.length), sides: String(this.info.sides.length),
    });
  }

  // ---- what the reader does

  zoomTo(tree: TreeName, zoom: Zoom): void {
    if (this.work.isSwapping) {
      return; // of a node that is gone
    }
    this.work.measureFrom("vesta:zoom");
    this.parts.tooltip.hide();
    this.work.setZoom(tree, zoom);
  }

  search(query: SearchQuery): void {
    this.work.measureFrom("vesta:search");
    const matchesOnly = this.state.matchesOnly && query.text !== "";
    this.update({ query, matchesOnly }, false, "search");
  }

  setTransforms(transforms: NamedTransform[]): void {
    this.work.measureFrom("vesta:transform");
    this.update({ transforms }, true, "transforms");
  }

  setSandwich(func: FunctionInfo | null): void {
    const sandwich = func === null ? null : { name: func.name, image: func.image };
    const layout = this.state.layout === "table" && func !== null ? "both" : this.state.layout;
    this.work.measureFrom("vesta:transform");
    this.update({ sandwich, layout }, true, "sandwich", "table");
  }

  setLayout(layout: ViewState["layout"]): void {
    if (this.state.layout === "graph") {
      this.restartTable();
    }
    this.update({ layout }, false, "layout", "table", "minimap");
  }

  turn(): void {
    this.work.reveal = true;
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
    this.parts.painter.setTheme(this.theme);
    for (const pane of this.parts.allPanes) {
      pane.redraw();
    }
    this.parts.minimap.redraw();
    this.work.add("legend");
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    for (const pane of this.parts.allPanes) {
      pane.select(pane === selection?.pane ? selection.node : null, selection?.func.func ?? -1);
    }
    this.parts.table.setSelected(selection?.func.func ?? null);
    const node = selection?.node ?? null;
    Object.assign(this.root.dataset, { selected: node === null ? "" : String(node),
      selectedName: selection?.func.name ?? "", selectedTree: selection?.pane?.tree ?? "" });
    this.work.add("details");
  }

  selectBox(pane: GraphPane, box: number): void {
    const target = this.targetOf(pane, box);
    if (target !== null) {
      this.activePane = pane;
      this.select({ pane, node: target.node, func: target.func });
      pane.bringIntoView(box);
      const values = pane.scene?.boxes.total.map((side) => formatValue(side[box], this.unit)) ?? [];
      this.parts.spoken.textContent = `${target.func.name}, ${values.join(" before, ")}`;
    }
  }

  // From the table: lit in the graph by a search for its name. A table of matches only would lose
  // its other rows by that: then it is but marked.
  selectFunction(func: FunctionInfo): void {
    this.select({ pane: null, node: null, func });
    if (!this.state.matchesOnly) {
      this.search({ text: func.name, regexp: false, matchCase: true });
    }
  }

  // The first step of a search goes to the widest match, the others on from there as the picture
  // has them.
  async stepMatch(step: 1 | -1): Promise<void> {
    this.parts.searchBar.ask();
    const answer = await this.work.searched();
    if (answer === null || answer.error !== null) {
      return;
    }
    const pane = this.activePane;
    const isHere = this.selection?.pane === pane;
    const from = (isHere ? this.selection?.node : null) ?? this.zoomOf(pane.tree).node;
    const isFirst = this.stepped !== this.state.query;
    this.stepped = this.state.query;
    const node = isFirst && step === 1
      ? await this.engine.widestMatch(pane.tree, this.zoomOf(pane.tree).node)
      : await this.engine.matchBeside(pane.tree, from, step);
    if (node === null) {
      this.parts.message.show("No match");
      return;
    }
    await this.goTo(pane, node);
  }

  // Selects a node and brings it into view: zooms out to where it is, then in to where it is wide
  // enough to be seen.
  private async goTo(pane: GraphPane, node: number): Promise<void> {
    const isShown = (): boolean => pane.scene !== null && boxOfNode(pane.scene.boxes, node) >= 0;
    if (!isShown()) {
      const { path } = await this.engine.details(pane.tree, node, this.zoomOf(pane.tree));
      const around = path.includes(this.zoomOf(pane.tree).node) ? [] : [0];
      for (const at of [...around, path[path.length - 2] ?? 0, node]) {
        this.zoomTo(pane.tree, { node: at, below: null });
        await this.work.nextPicture();
        if (isShown()) {
          break;
        }
      }
    }
    if (pane.scene !== null) {
      this.selectBox(pane, boxOfNode(pane.scene.boxes, node));
    }
  }

  activate(pane: GraphPane): void {
    this.activePane = pane;
  }

  goBack(): void {
    this.options.goBack();
  }

  keepAddress(state: string, isStep: boolean): void {
    this.options.onState(state, isStep);
  }

  restartTable(): void {
    this.work.startTable();
  }

  resized(pane: GraphPane): void {
    this.work.resized(pane);
  }

  whenSettled(run: () => void): void {
    this.work.whenSettled(run);
  }

  scrolled(pane: GraphPane): void {
    this.parts.tooltip.hide();
    this.work.frameMinimap(pane);
  }

  act(action: ActionId, target: Target): void {
    runAction(this, action, target);
  }

  target(): Target | null {
    if (this.selection !== null) {
      const { pane, node, func } = this.selection;
      return { tree: pane?.tree ?? "main", node, func };
    }
    return this.targetOf(this.activePane, this.activePane.hoveredBox);
  }

  targetOf(pane: GraphPane, box: number): Target | null {
    const boxes = pane.scene?.boxes;
    if (boxes === undefined || box < 0 || boxes.kind[box] === BOX_REST) {
      return null;
    }
    const func = this.functions.get(boxes.func[box]);
    return func === undefined ? null : { tree: pane.tree, node: boxes.node[box], func };
  }

  // For tests.
  visibleBoxes(tree: TreeName = "main"): VisibleBox[] {
    return visibleBoxesOf(this.parts.panes[tree], this.functions, this.parts.painter);
  }
}
