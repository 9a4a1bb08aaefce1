// The keyboard on the view: from key to command (keys.ts) to what it does.
import { BOX_REST } from "../engine/protocol";
import type { ActionId } from "./actions";
import { commandOf, LETS_KEYS_THROUGH, type Command } from "./keys";
import { boxOfNode, parentBox, widestChild } from "./scene";
import type { View } from "./view";
import { openTargetMenu } from "./view_pointer";
import type { LayoutChoice } from "./view_state";

const NEXT_LAYOUT: Record<LayoutChoice, LayoutChoice> =
  { graph: "both", both: "table", table: "graph" };

// Keys count when the focus is in the view, or nowhere, or in a part of the page that lets those
// through which it has no use for (LETS_KEYS_THROUGH). Gives a function that ends it.
export function listenToKeys(view: View): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const at = event.target;
    const isOurs = at === document.body || (at instanceof Node && view.root.contains(at))
      || (at instanceof HTMLElement && at.dataset[LETS_KEYS_THROUGH] !== undefined);
    const isText = at instanceof HTMLInputElement || at instanceof HTMLSelectElement;
    const isTaken = view.parts.menu.isOpen || view.parts.help.element.open;
    if (!isOurs || isText || event.defaultPrevented || isTaken) {
      return;
    }
    const command = commandOf(event);
    const isPressOfButton = at instanceof HTMLButtonElement
      && (event.key === "Enter" || command === "menu");
    if (command === null || isPressOfButton) {
      return;
    }
    let isDone = true;
    view.whenSettled(() => {
      isDone = runCommand(view, command);
    });
    if (isDone) {
      event.preventDefault();
    }
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

// false = nothing to do: the key goes on to the browser.
export function runCommand(view: View, command: Command): boolean {
  switch (command) {
    case "parent":
    case "child": {
      const below = view.isRootBelow(view.activePane.tree);
      return move(view, (command === "child") !== below ? "child" : "parent");
    }
    case "left":
    case "right":
    case "first":
    case "last":
      return move(view, command);
    case "zoom":
      return onTarget(view, command);
    case "out":
      return leave(view);
    case "back":
      view.goBack();
      return true;
    case "zoomIn":
      return zoomIn(view);
    case "zoomOut":
      return zoomOut(view);
    case "pageUp":
    case "pageDown":
      view.activePane.scrollPage(command === "pageUp" ? -1 : 1);
      return true;
    case "search":
      view.parts.searchBar.focus();
      return true;
    case "nextMatch":
    case "previousMatch":
      void view.stepMatch(command === "nextMatch" ? 1 : -1);
      return true;
    case "undo":
      if (view.state.transforms.length > 0) {
        view.setTransforms(view.state.transforms.slice(0, -1));
      }
      return true;
    case "table":
      view.setLayout(NEXT_LAYOUT[view.state.layout]);
      return true;
    case "details":
      view.toggleDetails();
      return true;
    case "invert":
      view.turn();
      return true;
    case "theme":
      view.switchTheme();
      return true;
    case "help":
      view.parts.help.open();
      return true;
    case "foldChains":
      return foldChains(view);
    case "collapseAllRecursion":
      view.setTransforms([...view.state.transforms, { kind: "collapseRecursion", on: null }]);
      return true;
    case "menu":
      return openMenu(view);
    default:
      return onTarget(view, command);
  }
}

function onTarget(view: View, action: ActionId): boolean {
  const target = view.target();
  if (target === null) {
    view.parts.message.show("Select a box first: arrow keys, or the pointer");
    return true;
  }
  view.act(action, target);
  return true;
}

// Folding again unfolds.
function foldChains(view: View): boolean {
  const others = view.state.transforms.filter((one) => one.kind !== "foldChains");
  const has = others.length < view.state.transforms.length;
  view.setTransforms(has ? others : [...others, { kind: "foldChains" }]);
  return true;
}

function openMenu(view: View): boolean {
  const target = view.target();
  if (target !== null) {
    const rect = view.activePane.rectOf(view.activePane.selectedBox);
    openTargetMenu(view, target, rect.left + 8, rect.bottom);
  }
  return true;
}

function leave(view: View): boolean {
  if (view.state.sandwich !== null) {
    view.setSandwich(null);
  } else if (view.zoomOf("main").node !== 0 || view.zoomOf("main").below !== null) {
    view.zoomTo("main", { node: 0, below: null });
  } else if (view.selection !== null) {
    view.select(null);
  }
  return true;
}

type Direction = "parent" | "child" | "left" | "right" | "first" | "last";

function move(view: View, direction: Direction): boolean {
  const pane = view.activePane;
  const boxes = pane.scene?.boxes;
  if (boxes === undefined || boxes.count === 0) {
    return true;
  }
  const zoomed = Math.max(0, boxOfNode(boxes, view.zoomOf(pane.tree).node));
  const from = pane.selectedBox;
  if (from < 0 || direction === "first") {
    view.selectBox(pane, zoomed);
    return true;
  }
  let to = -1;
  if (direction === "parent") {
    to = parentBox(boxes, from);
  } else if (direction === "child") {
    to = widestChild(boxes, from);
  } else if (direction === "last") {
    to = from;
    for (let next = widestChild(boxes, to); next >= 0; next = widestChild(boxes, to)) {
      to = next;
    }
  } else {
    const step = direction === "left" ? -1 : 1;
    to = from + step;
    while (to >= 0 && to < boxes.count && boxes.kind[to] === BOX_REST) {
      to += step;
    }
    if (to < 0 || to >= boxes.count || boxes.row[to] !== boxes.row[from]) {
      to = -1;
    }
  }
  if (to >= 0) {
    view.selectBox(pane, to);
  }
  return true;
}

function zoomIn(view: View): boolean {
  const pane = view.activePane;
  const boxes = pane.scene?.boxes;
  if (boxes === undefined) {
    return true;
  }
  const zoomed = boxOfNode(boxes, view.zoomOf(pane.tree).node);
  const isElsewhere = pane.selectedBox >= 0 && pane.selectedBox !== zoomed;
  const to = isElsewhere ? pane.selectedBox : widestChild(boxes, zoomed);
  if (to >= 0) {
    view.selectBox(pane, to);
    view.zoomTo(pane.tree, { node: boxes.node[to], below: null });
  }
  return true;
}

function zoomOut(view: View): boolean {
  const pane = view.activePane;
  const boxes = pane.scene?.boxes;
  const zoom = view.zoomOf(pane.tree);
  if (boxes === undefined) {
    return true;
  }
  if (zoom.below !== null) {
    view.zoomTo(pane.tree, { node: zoom.node, below: null });
    return true;
  }
  const parent = parentBox(boxes, boxOfNode(boxes, zoom.node));
  if (parent >= 0) {
    view.zoomTo(pane.tree, { node: boxes.node[parent], below: null });
  }
  return true;
}
