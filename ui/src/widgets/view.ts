// The view as its modules see it: what it shows, and what they may ask it to do. Types only:
// flame_view.ts, which is on top of them all, is what has them.
import type { DocumentInfo, Engine, FunctionInfo, SearchQuery, TableOrder, TreeName, Zoom }
  from "../engine/protocol";
import type { ActionId, Target } from "./actions";
import type { GraphPane } from "./graph_pane";
import type { Functions } from "./scene";
import type { ViewParts } from "./view_parts";
import type { ColouringChoice, LayoutChoice, NamedTransform, ViewState } from "./view_state";

export type Task = "document" | "valueType" | "transforms" | "sandwich" | "groups" | "search"
  | "zoom" | "legend" | "layout" | "address" | "details" | "minimap" | "table";

export interface Selection {
  pane: GraphPane | null; // null: chosen in the table
  node: number | null;
  func: FunctionInfo;
}

// What is shown, and out of what.
export interface ViewModel {
  readonly root: HTMLElement;
  readonly engine: Engine;
  readonly functions: Functions;
  readonly parts: ViewParts;
  readonly state: ViewState;
  readonly info: DocumentInfo;
  readonly selection: Selection | null;
  readonly activePane: GraphPane;
  readonly colouring: ColouringChoice;
  readonly order: TableOrder;
  readonly unit: string;
  readonly trees: TreeName[];
  zoomOf(tree: TreeName): Zoom;
  isRootBelow(tree: TreeName): boolean;
  // What a key is about: the selected box, else the one under the pointer.
  target(): Target | null;
  targetOf(pane: GraphPane, box: number): Target | null;
}

// What the reader does.
export interface ViewCommands {
  // isStep: the way back undoes it.
  update(change: Partial<ViewState>, isStep: boolean, ...tasks: Task[]): void;
  zoomTo(tree: TreeName, zoom: Zoom): void;
  search(query: SearchQuery): void;
  stepMatch(step: 1 | -1): Promise<void>;
  setTransforms(transforms: NamedTransform[]): void;
  setSandwich(func: FunctionInfo | null): void;
  setLayout(layout: LayoutChoice): void;
  turn(): void;
  toggleDetails(): void;
  switchTheme(): void;
  select(selection: Selection | null): void;
  selectBox(pane: GraphPane, box: number): void;
  selectFunction(func: FunctionInfo): void;
  activate(pane: GraphPane): void; // keys are about this one
  act(action: ActionId, target: Target): void;
  goBack(): void;
  restartTable(): void; // it shows its first rows next time
  resized(pane: GraphPane): void;
  scrolled(pane: GraphPane): void;
  // Runs it at once, or after the picture of a new document that is on its way: the numbers of
  // nodes in the one that is shown do not hold any more.
  whenSettled(run: () => void): void;
}

export interface View extends ViewModel, ViewCommands {}
