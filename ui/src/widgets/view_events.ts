// What each part of the view does when it is clicked, dragged or typed into.
import type { TableEvents } from "./table";
import type { ToolbarEvents } from "./toolbar";
import type { View } from "./view";
import type { PartEvents } from "./view_parts";
import { clickBox, hoverBox, openBoxMenu, openLegendMenu, openTargetMenu } from "./view_pointer";

export function eventsOf(view: View): PartEvents {
  return {
    searchBar: {
      query: (query) => view.search(query),
      step: (step) => void view.stepMatch(step),
      leave: () => view.activePane.element.focus(),
    },
    toolbar: toolbarEvents(view),
    trail: {
      zoom: (node) => view.zoomTo("main", { node, below: null }),
      removeTransform: (at) => view.setTransforms(view.state.transforms.filter((_, i) => i !== at)),
      leaveSandwich: () => view.setSandwich(null),
    },
    legend: {
      select: (groups) => view.update({ groups }, false, "groups"),
      menu: (entry, x, y) => openLegendMenu(view, entry, x, y),
    },
    details: {
      close: () => view.toggleDetails(),
      act: (action, target) => view.act(action, target),
      zoom: (node) => view.zoomTo(view.selection?.pane?.tree ?? "main", { node, below: null }),
    },
    minimap: {
      zoom: (node) => view.zoomTo("main", { node, below: null }),
      scroll: (row) => view.parts.panes.main.scrollToRow(row),
    },
    table: tableEvents(view),
    panes: {
      click: (pane, _box, event) => view.whenSettled(() =>
        clickBox(view, pane, pane.boxAt(event.clientX, event.clientY), event)),
      hover: (pane, box, event) => hoverBox(view, pane, box, event),
      menu: (pane, _box, x, y) => view.whenSettled(() =>
        openBoxMenu(view, pane, pane.boxAt(x, y), x, y)),
      resized: (pane) => view.resized(pane),
      scrolled: (pane) => view.scrolled(pane),
      focused: (pane) => view.activate(pane),
    },
  };
}

function toolbarEvents(view: View): ToolbarEvents {
  return {
    colouring: (colouring) => view.update({ colouring, groups: [] }, false, "groups", "legend"),
    valueType: (valueType) => view.update({ valueType }, true, "valueType"),
    comparison: (comparison) => view.update({ comparison }, false, "layout", "minimap", "table"),
    widthBy: (widthBy) => view.update({ widthBy }, false, "layout", "minimap"),
    layout: (layout) => view.setLayout(layout),
    turn: () => view.turn(),
    theme: () => view.switchTheme(),
    details: () => view.toggleDetails(),
    help: () => view.parts.help.open(),
  };
}

function tableEvents(view: View): TableEvents {
  return {
    rows: (first, count) => view.engine.table({ tree: "main", order: view.order,
      descending: view.state.descending, matchesOnly: view.state.matchesOnly,
      comparison: view.state.comparison, first, count }),
    sort: (order, descending) => {
      view.restartTable();
      view.update({ order, descending }, false, "table");
    },
    matchesOnly: (matchesOnly) => {
      view.restartTable();
      view.update({ matchesOnly }, false, "table");
    },
    select: (func) => view.selectFunction(func),
    open: (func) => view.setSandwich(func),
    menu: (func, x, y) => openTargetMenu(view, { tree: "main", node: null, func }, x, y),
    counted: (rows) => {
      view.root.dataset.tableRows = String(rows);
    },
  };
}
