// The parts of the view: made, put in their places, and wired to what the view does.
import type { TreeName } from "../engine/protocol";
import { shortenName } from "../model/names";
import { BoxStyles } from "./box_styles";
import { Details } from "./details";
import { make } from "./dom";
import type { FlameView } from "./flame_view";
import { GraphPane, type GraphPaneEvents } from "./graph_pane";
import { HelpDialog } from "./help";
import { Legend } from "./legend";
import { Menu } from "./menu";
import { Minimap } from "./minimap";
import { Painter } from "./painter";
import { SearchBar } from "./search_bar";
import { Stage } from "./stage";
import { Message, Status } from "./status";
import { Table } from "./table";
import { Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { Trail } from "./trail";
import { clickBox, hoverBox, openBoxMenu, openLegendMenu, openTargetMenu } from "./view_pointer";

export class ViewParts {
  readonly root: HTMLDivElement;
  readonly painter: Painter;
  readonly styles: BoxStyles;
  readonly searchBar: SearchBar;
  readonly toolbar: Toolbar;
  readonly trail: Trail;
  readonly legend: Legend;
  readonly details: Details;
  readonly minimap: Minimap;
  readonly table: Table;
  readonly stage: Stage;
  readonly panes: Record<TreeName, GraphPane>;
  readonly status = new Status();
  readonly message = new Message();
  readonly help = new HelpDialog();
  // What is selected, for who does not see the picture.
  readonly spoken = make("div", { class: "vesta-spoken", role: "status" });
  readonly menu: Menu;
  readonly tooltip: Tooltip;

  constructor(view: FlameView) {
    this.painter = new Painter(view.theme, view.functions, shortenName);
    this.styles = new BoxStyles(view.functions);
    this.searchBar = new SearchBar({
      query: (query) => view.search(query),
      step: (step) => void view.stepMatch(step),
      leave: () => view.activePane.element.focus(),
    });
    this.toolbar = makeToolbar(view, this.searchBar.element);
    this.trail = new Trail({
      zoom: (node) => view.zoomTo("main", { node, below: null }),
      removeTransform: (at) => view.setTransforms(view.state.transforms.filter((_, i) => i !== at)),
      leaveSandwich: () => view.setSandwich(null),
    });
    this.legend = new Legend(this.painter, {
      select: (groups) => view.update({ groups }, false, "groups"),
      menu: (entry, x, y) => openLegendMenu(view, entry, x, y),
    });
    this.details = new Details({
      close: () => view.toggleDetails(),
      act: (action, target) => view.act(action, target),
      zoom: (node) => view.zoomTo(view.selection?.pane?.tree ?? "main", { node, below: null }),
    });
    this.minimap = new Minimap(this.painter, {
      zoom: (node) => view.zoomTo("main", { node, below: null }),
      scroll: (row) => this.panes.main.scrollToRow(row),
    });
    this.table = makeTable(view);
    this.stage = new Stage(this.table.element, this.details.element);
    this.panes = makePanes(view, this.painter);
    this.stage.graphs.append(this.minimap.element, this.panes.callers.element,
      this.panes.main.element, this.panes.callees.element);
    const frame = make("div", { class: "vesta-frame" }, [this.toolbar.element,
      this.trail.element, this.legend.element, this.stage.element, this.status.element]);
    this.root = make("div", { class: "vesta", testId: "flame-view" },
      [frame, this.message.element, this.spoken, this.help.element]);
    this.menu = new Menu(this.root);
    this.tooltip = new Tooltip(this.root);
    this.details.showNothing();
  }

  get allPanes(): GraphPane[] {
    return Object.values(this.panes);
  }

  dispose(): void {
    this.menu.close(false);
    this.table.dispose();
    for (const pane of this.allPanes) {
      pane.dispose();
    }
    this.root.remove();
  }
}

function makeToolbar(view: FlameView, search: HTMLElement): Toolbar {
  return new Toolbar(search, {
    colouring: (colouring) => view.update({ colouring, groups: [] }, false, "groups", "legend"),
    valueType: (valueType) => view.update({ valueType }, true, "valueType"),
    comparison: (comparison) => view.update({ comparison }, false, "layout", "minimap", "table"),
    widthBy: (widthBy) => view.update({ widthBy }, false, "layout", "minimap"),
    layout: (layout) => view.setLayout(layout),
    turn: () => view.turn(),
    theme: () => view.switchTheme(),
    details: () => view.toggleDetails(),
    help: () => view.parts.help.open(),
  });
}

function makeTable(view: FlameView): Table {
  return new Table({
    rows: (first, count) => view.engine.table({ tree: "main", order: view.order,
      descending: view.state.descending, matchesOnly: view.state.matchesOnly,
      comparison: view.state.comparison, first, count }),
    sort: (order, descending) => {
      view.work.startTable();
      view.update({ order, descending }, false, "table");
    },
    matchesOnly: (matchesOnly) => {
      view.work.startTable();
      view.update({ matchesOnly }, false, "table");
    },
    select: (func) => view.selectFunction(func),
    open: (func) => view.setSandwich(func),
    menu: (func, x, y) => openTargetMenu(view, { tree: "main", node: null, func }, x, y),
    counted: (rows) => {
      view.root.dataset.tableRows = String(rows);
    },
  }, view.info.sides.length);
}

function makePanes(view: FlameView, painter: Painter): Record<TreeName, GraphPane> {
  const events: GraphPaneEvents = {
    click: (pane, box, event) => clickBox(view, pane, box, event),
    hover: (pane, box, event) => hoverBox(view, pane, box, event),
    menu: (pane, box, x, y) => openBoxMenu(view, pane, box, x, y),
    resized: (pane) => view.work.resized(pane),
    scrolled: (pane) => {
      view.parts.tooltip.hide();
      view.work.frameMinimap(pane);
    },
    focused: (pane) => {
      view.activePane = pane;
    },
  };
  const pane = (tree: TreeName, testId: string, label: string, skipRows: number): GraphPane =>
    new GraphPane(painter, events, { tree, testId, label, skipRows });
  return {
    main: pane("main", "graph", "Flame graph: arrow keys move, Enter zooms, ? lists all keys", 0),
    callers: pane("callers", "graph-callers", "Callers", 1),
    callees: pane("callees", "graph-callees", "Function and its callees", 0),
  };
}
