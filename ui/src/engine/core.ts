// The engine itself: holds one document and answers about it. It runs in the worker, or in the page
// where there can be no worker.

import { BitSet } from "../base/bit_set";
import { Addresses } from "../model/addresses";
import { ColourGroups } from "../model/colour_groups";
import { FunctionTable } from "../model/functions";
import { layOut, scalesOf } from "../model/layout";
import { calleesOf, callersOf } from "../model/sandwich";
import { NameSearch } from "../model/search";
import { LineColumns, PageDocument } from "../model/page_data";
import { labelOf, transformTree } from "../model/transforms";
import { pathTo, selfOf, sumBoxes, totalsOf, Tree, withoutNothing } from "../model/tree";
import { describeFunction, FunctionTeller } from "./describe";
import {
  Colouring,
  DocumentInfo,
  LayoutAnswer,
  LayoutRequest,
  LegendEntry,
  NodeDetails,
  SearchAnswer,
  SearchQuery,
  TableAnswer,
  TableRequest,
  Transform,
  TransformAnswer,
  TreeName,
  Zoom,
} from "./protocol";
import { tableRows } from "./table_rows";
import { View } from "./view";

interface LegendChoice {
  colouring: Colouring;
  keys: string[];
}

const NO_SEARCH: SearchQuery = { text: "", regexp: false, matchCase: false };

// Owner: one thread. Every function answers at once; node numbers are those of the shown trees.
// Errors: Error for numbers that are not there, PageDataError for values that do not decode.
export class EngineCore {
  private readonly document: PageDocument;
  private readonly functions: FunctionTable;
  private readonly teller: FunctionTeller;
  private readonly names: NameSearch;
  private readonly groups: ColourGroups;
  private readonly addresses: Addresses;
  private valueType: number;
  private base: Tree;
  private main: View;
  private applied: Transform[] = [];
  private removed: number[];
  private sandwichFunc: number | null = null;
  private sandwich: { callers: View; callees: View } | null = null;
  private query = NO_SEARCH;
  private legendChoice: LegendChoice = { colouring: "binary", keys: [] };
  private lastZoom: { key: string; totals: number[] } | null = null;
  private linesCache: { valueType: number; lines: LineColumns | null } | null = null;

  constructor(bytes: Uint8Array) {
    this.document = new PageDocument(bytes);
    this.functions = new FunctionTable(this.document.strings, this.document.functions);
    this.groups = new ColourGroups(this.functions);
    this.teller = new FunctionTeller(this.functions, this.groups);
    this.names = new NameSearch(this.functions);
    this.addresses = new Addresses(this.functions);
    this.valueType = this.document.meta.valueType;
    this.base = withoutNothing(this.document.tree(this.valueType));
    this.main = new View(this.base, this.functions);
    this.removed = this.base.self.map(() => 0);
  }

  // Makes what the first search and the first table need; to be called when there is time.
  warm(): void {
    this.names.warm();
    this.main.sums();
  }

  info(): DocumentInfo {
    const meta = this.document.meta;
    return {
      title: meta.title,
      valueTypes: meta.valueTypes,
      valueType: this.valueType,
      sides: meta.sides,
      notes: meta.notes,
      nodeCount: this.main.tree.count,
      functionCount: this.main.functionCount(),
      depthMax: this.main.tree.depthMax,
      totals: totalsOf(this.main.tree, 0),
      isEmpty: this.isEmpty(),
      hasBinaries: this.document.functions.image.some((image) => image !== 0),
      inverted: meta.inverted,
    };
  }

  private isEmpty(): boolean {
    if (this.base.total.some((total) => total[0] > 0)) return false;
    return this.document.nodeCount <= 1 || this.document.meta.valueTypes.length === 1;
  }

  setValueType(index: number): DocumentInfo {
    if (this.document.meta.valueTypes[index] === undefined) throw new Error("no such value type");
    this.base = withoutNothing(this.document.tree(index));
    this.valueType = index;
    const transforms = this.applied;
    this.applied = [];
    this.showTransforms(transforms);
    return this.info();
  }

  setTransforms(transforms: Transform[]): TransformAnswer {
    this.showTransforms(transforms);
    return {
      info: this.info(),
      removed: this.removed,
      labels: transforms.map((transform) => labelOf(this.functions, transform)),
    };
  }

  setSandwich(func: number | null): { callers: number; callees: number } {
    this.sandwichFunc = func === null ? null : this.checkFunction(func);
    this.showSandwich();
    if (this.sandwich === null) return { callers: 0, callees: 0 };
    const { callers, callees } = this.sandwich;
    return { callers: callers.tree.depthMax, callees: callees.tree.depthMax };
  }

  layout(request: LayoutRequest): LayoutAnswer {
    const view = this.view(request.tree);
    const { tree } = view;
    this.checkNode(tree, request.zoom.node);
    const scales = scalesOf(totalsOf(this.main.tree, 0), request.comparison);
    const { zoom, widthPx, narrowestPx, widthBy } = request;
    const selected = this.selection(view);
    const done = layOut(tree, { zoom, widthPx, narrowestPx, widthBy, scales, selected });
    this.lastZoom = {
      key: JSON.stringify([request.tree, zoom]),
      totals: done.zoomTotals.map((total, side) => total / scales[side]),
    };
    return {
      boxes: done.boxes,
      functions: this.teller.news(done.boxes.func),
      restNodes: done.restNodes,
      restTotals: done.restTotals,
      zoomTotals: done.zoomTotals,
      totals: totalsOf(this.main.tree, 0).map((total, side) => total * scales[side]),
    };
  }

  search(query: SearchQuery): SearchAnswer {
    const none = { functions: 0, nodes: 0, totals: this.base.self.map(() => 0) };
    if (query.text !== "") {
      const error = this.names.errorOf(query);
      if (error !== null) {
        this.query = NO_SEARCH;
        this.forgetSelections();
        return { error, ...none };
      }
    }
    this.query = query;
    this.forgetSelections();
    const selected = this.selection(this.main);
    if (selected === null) return { error: null, ...none };
    const { nodes, functions } = this.main.selected ?? { nodes: selected, functions: null };
    const instances = this.main.sums().instances;
    let count = 0;
    functions?.forEach((mark, func) => (count += mark === 1 && instances[func] > 0 ? 1 : 0));
    return {
      error: null,
      functions: count,
      nodes: nodes.count,
      totals: topmostTotals(this.main.tree, nodes),
    };
  }

  matchBeside(name: TreeName, node: number, step: 1 | -1): number | null {
    const view = this.view(name);
    const selected = this.selection(view);
    if (selected === null || selected.count === 0) return null;
    const found = step === 1 ? selected.next(node + 1) : selected.previous(node - 1);
    if (found >= 0) return found;
    return step === 1 ? selected.next(0) : selected.previous(view.tree.count - 1);
  }

  widestMatch(name: TreeName, within: number): number | null {
    const view = this.view(name);
    const selected = this.selection(view);
    if (selected === null) return null;
    this.checkNode(view.tree, within);
    const here = widestOf(view.tree, selected, within);
    const found = here >= 0 ? here : widestOf(view.tree, selected, 0);
    return found >= 0 ? found : null;
  }

  legend(colouring: Colouring): LegendEntry[] {
    const sums = this.document.meta.inverted
      ? { ...this.main.sums(), self: sumBoxes(this.main.tree, this.functions.count) }
      : this.main.sums();
    return this.groups.sums(colouring, sums).map((group) => ({
      key: group.key,
      label: group.key,
      image: this.functions.image(group.func),
      self: group.self,
      kind: this.functions.kind(group.func),
    }));
  }

  selectGroups(colouring: Colouring, keys: string[]): void {
    this.legendChoice = { colouring, keys };
    this.forgetSelections();
  }

  details(name: TreeName, node: number, zoom: Zoom): NodeDetails {
    const view = this.view(name);
    const { tree } = view;
    this.checkNode(tree, node);
    const path = pathTo(tree, node);
    const func = tree.func[node];
    const sums = view.sums();
    const parent = path[Math.max(path.length - 2, 0)];
    this.checkNode(tree, zoom.node);
    const isLast = this.lastZoom?.key === JSON.stringify([name, zoom]); // it may be of a rest
    const zoomTotal = isLast && this.lastZoom !== null ? this.lastZoom.totals : null;
    return {
      node,
      func: describeFunction(this.functions, this.groups, func),
      path,
      names: path.map((step) => this.functions.name(tree.func[step])),
      self: selfOf(tree, node),
      total: totalsOf(tree, node),
      allSelf: sums.self.map((self) => self[func]),
      allTotal: sums.total.map((total) => total[func]),
      instances: sums.instances[func],
      parentTotal: totalsOf(tree, parent),
      zoomTotal: zoomTotal ?? totalsOf(tree, zoom.node),
      rootTotal: totalsOf(this.main.tree, 0),
      lines: this.linesOf(func),
    };
  }

  table(request: TableRequest): TableAnswer {
    const view = this.view(request.tree);
    this.selection(view);
    const scales = scalesOf(totalsOf(this.main.tree, 0), request.comparison);
    const { perSample } = this.document.meta.valueTypes[this.valueType];
    const answer = tableRows(view, this.functions, request, scales, perSample);
    return {
      rowCount: answer.rowCount,
      rows: answer.rows.map((row) => ({
        ...row,
        func: describeFunction(this.functions, this.groups, row.func),
      })),
    };
  }

  stackNames(name: TreeName, node: number): string[] {
    const { tree } = this.view(name);
    this.checkNode(tree, node);
    const funcs = pathTo(tree, node).map((step) => tree.func[step]);
    const shown = name === "main" ? funcs.slice(1) : funcs;
    // The root of callers is called by what is below it.
    const rootFirst = name === "callers" ? shown.reverse() : shown;
    return rootFirst.flatMap((func) =>
      this.functions.partsOf(func).map((part) => this.functions.name(part)),
    );
  }

  addressOf(node: number): string {
    this.checkNode(this.main.tree, node);
    return this.addresses.addressOf(this.main.tree, node);
  }

  nodeAt(address: string): number | null {
    return this.addresses.nodeAt(this.main.tree, address);
  }

  functionNamed(name: string, image: string): number | null {
    const { strings, columns } = this.functions;
    const nameString = strings.indexOf(name);
    const imageString = strings.indexOf(image);
    if (nameString < 0 || imageString < 0) return null;
    for (let func = 1; func < columns.count; ++func) {
      if (columns.name[func] === nameString && columns.image[func] === imageString) return func;
    }
    return null;
  }

  private showTransforms(transforms: Transform[]): void {
    transforms.forEach((transform) => this.checkTransform(transform));
    const known = this.applied.length;
    const goesOn =
      known > 0 &&
      known <= transforms.length &&
      JSON.stringify(transforms.slice(0, known)) === JSON.stringify(this.applied);
    let tree = goesOn ? this.main.tree : this.base;
    for (const transform of transforms.slice(goesOn ? known : 0)) {
      tree = transformTree(tree, this.functions, transform);
    }
    this.applied = transforms;
    this.removed = this.base.total.map((total, side) => total[0] - tree.total[side][0]);
    this.main = new View(tree, this.functions);
    this.lastZoom = null;
    this.showSandwich();
  }

  private showSandwich(): void {
    const func = this.sandwichFunc;
    this.sandwich =
      func === null
        ? null
        : {
            callers: new View(callersOf(this.main.tree, this.functions, func), this.functions),
            callees: new View(calleesOf(this.main.tree, this.functions, func), this.functions),
          };
  }

  private view(name: TreeName): View {
    if (name === "main") return this.main;
    if (this.sandwich === null) throw new Error("there is no sandwich");
    return this.sandwich[name];
  }

  // The nodes that search and legend select together; null = neither is in use.
  private selection(view: View): BitSet | null {
    if (view.selected === undefined) {
      let marks: Uint8Array | null = null;
      if (this.query.text !== "") marks = this.names.match(this.query);
      const { colouring, keys } = this.legendChoice;
      if (keys.length > 0) {
        const chosen = this.groups.select(colouring, keys, view.sums());
        if (marks === null) marks = chosen;
        else for (let func = 0; func < marks.length; ++func) marks[func] &= chosen[func];
      }
      view.select(marks);
    }
    return view.selected?.nodes ?? null;
  }

  private forgetSelections(): void {
    this.main.selected = undefined;
    if (this.sandwich !== null) {
      this.sandwich.callers.selected = undefined;
      this.sandwich.callees.selected = undefined;
    }
  }

  private linesOf(func: number): NodeDetails["lines"] {
    if (this.linesCache?.valueType !== this.valueType) {
      this.linesCache = {
        valueType: this.valueType,
        lines: this.document.lines(this.valueType),
      };
    }
    const lines = this.linesCache.lines;
    if (lines === null) return [];
    const found: NodeDetails["lines"] = [];
    for (let i = lines.func.indexOf(func); i >= 0 && lines.func[i] === func; ++i) {
      found.push({
        file: this.functions.file(func),
        line: lines.line[i],
        self: lines.self.map((self) => self[i]),
        total: lines.total.map((total) => total[i]),
      });
    }
    const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
    return found.sort((a, b) => sum(b.self) - sum(a.self) || sum(b.total) - sum(a.total));
  }

  private checkTransform(transform: Transform): void {
    if ("func" in transform && transform.func !== null) this.checkFunction(transform.func);
    if (transform.kind === "focusNode") transform.path.forEach((func) => this.checkFunction(func));
  }

  private checkFunction(func: number): number {
    if (!(func >= 0 && func < this.functions.count)) throw new Error(`no function ${func}`);
    return func;
  }

  private checkNode(tree: Tree, node: number): void {
    if (!(node >= 0 && node < tree.count)) throw new Error(`no node ${node}`);
  }
}

// The node of the set with the most value below `within`, itself included; -1 = none.
function widestOf(tree: Tree, nodes: BitSet, within: number): number {
  const end = tree.end[within];
  let widest = -1;
  let most = -1;
  for (let node = nodes.next(within); node >= 0 && node < end; node = nodes.next(tree.end[node])) {
    let value = 0;
    for (const total of tree.total) value += total[node];
    if (value > most) {
      widest = node;
      most = value;
    }
  }
  return widest;
}

// Value of the samples that have one of the nodes on their stack, each once.
function topmostTotals(tree: Tree, nodes: BitSet): number[] {
  const totals = tree.total.map(() => 0);
  for (let node = nodes.next(0); node >= 0; node = nodes.next(tree.end[node])) {
    for (let side = 0; side < totals.length; ++side) totals[side] += tree.total[side][node];
  }
  return totals;
}
