// The parts of the view: made and put in their places.
import type { TreeName } from "../engine/protocol";
import { shortenName } from "../model/names";
import { BoxStyles } from "./box_styles";
import { Details, type DetailsEvents } from "./details";
import { make } from "./dom";
import { GraphPane, type GraphPaneEvents } from "./graph_pane";
import { HelpDialog } from "./help";
import { Legend, type LegendEvents } from "./legend";
import { Menu } from "./menu";
import { Minimap, type MinimapEvents } from "./minimap";
import { Painter } from "./painter";
import type { Theme } from "./palette";
import type { Functions } from "./scene";
import { SearchBar, type SearchEvents } from "./search_bar";
import { Stage } from "./stage";
import { Message, Status } from "./status";
import { Table, type TableEvents } from "./table";
import { Toolbar, type ToolbarEvents } from "./toolbar";
import { Tooltip } from "./tooltip";
import { Trail, type TrailEvents } from "./trail";

// What the parts ask for when the reader uses them.
export interface PartEvents {
  searchBar: SearchEvents;
  toolbar: ToolbarEvents;
  trail: TrailEvents;
  legend: LegendEvents;
  details: DetailsEvents;
  minimap: MinimapEvents;
  table: TableEvents;
  panes: GraphPaneEvents;
}

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

  constructor(functions: Functions, sides: number, theme: Theme, events: PartEvents) {
    this.painter = new Painter(theme, functions, shortenName);
    this.styles = new BoxStyles(functions);
    this.searchBar = new SearchBar(events.searchBar);
    this.toolbar = new Toolbar(this.searchBar.element, events.toolbar);
    this.trail = new Trail(events.trail);
    this.legend = new Legend(this.painter, events.legend);
    this.details = new Details(events.details);
    this.minimap = new Minimap(this.painter, events.minimap);
    this.table = new Table(events.table, sides);
    this.stage = new Stage(this.table.element, this.details.element);
    this.panes = makePanes(this.painter, events.panes);
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

function makePanes(painter: Painter, events: GraphPaneEvents): Record<TreeName, GraphPane> {
  const pane = (tree: TreeName, testId: string, label: string, skipRows: number): GraphPane =>
    new GraphPane(painter, events, { tree, testId, label, skipRows });
  return {
    main: pane("main", "graph", "Flame graph: arrow keys move, Enter zooms, ? lists all keys", 0),
    callers: pane("callers", "graph-callers", "Callers", 1),
    callees: pane("callees", "graph-callees", "Function and its callees", 0),
  };
}
