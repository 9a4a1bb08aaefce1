// Which key does what: one table for the handling of keys, for the help dialog and for the hints
// on buttons.

export type Command =
  | "parent" | "child" | "left" | "right" | "zoom" | "out" | "back" | "zoomIn" | "zoomOut"
  | "pageUp" | "pageDown" | "first" | "last"
  | "search" | "nextMatch" | "previousMatch"
  | "focus" | "focusNode" | "keep" | "hideStacks" | "merge" | "collapseRecursion"
  | "collapseAllRecursion" | "collapseLibrary" | "foldChains" | "sandwich" | "undo"
  | "table" | "details" | "invert" | "theme" | "copyName" | "copyStack" | "menu" | "help";

export interface KeyHelp {
  command: Command;
  keys: string[]; // values of KeyboardEvent.key, the first is the one that is shown
  help: string;
  group: "Move" | "Search" | "Change the picture" | "View";
}

// As the help dialog lists them.
export interface KeyLine {
  keys: readonly string[]; // as they are shown
  help: string;
}

export const KEYS: readonly KeyHelp[] = [
  { command: "parent", keys: ["ArrowUp"],
    help: "To the caller (root above) or callee", group: "Move" },
  { command: "child", keys: ["ArrowDown"], help: "To the widest callee, or caller", group: "Move" },
  { command: "left", keys: ["ArrowLeft"], help: "To the box on the left", group: "Move" },
  { command: "right", keys: ["ArrowRight"], help: "To the box on the right", group: "Move" },
  { command: "zoom", keys: ["Enter"], help: "Zoom to the selected box", group: "Move" },
  { command: "out", keys: ["Escape"], help: "Leave: menu, sandwich, zoom", group: "Move" },
  { command: "back", keys: ["Backspace"], help: "Back to the picture before", group: "Move" },
  { command: "zoomIn", keys: ["+", "="], help: "Zoom in, to the widest callee", group: "Move" },
  { command: "zoomOut", keys: ["-", "_"], help: "Zoom out by one caller", group: "Move" },
  { command: "pageUp", keys: ["PageUp"], help: "Scroll up", group: "Move" },
  { command: "pageDown", keys: ["PageDown"], help: "Scroll down", group: "Move" },
  { command: "first", keys: ["Home"], help: "Select the zoomed box", group: "Move" },
  { command: "last", keys: ["End"], help: "Follow the widest callees to the end", group: "Move" },
  { command: "search", keys: ["/"], help: "Search", group: "Search" },
  { command: "nextMatch", keys: ["n"], help: "Next match", group: "Search" },
  { command: "previousMatch", keys: ["N"], help: "Previous match", group: "Search" },
  { command: "focus", keys: ["f"], help: "Focus on the function", group: "Change the picture" },
  { command: "focusNode", keys: ["F"],
    help: "Focus on this subtree only", group: "Change the picture" },
  { command: "keep", keys: ["k"],
    help: "Keep only stacks that have the function", group: "Change the picture" },
  { command: "hideStacks", keys: ["h"],
    help: "Hide the stacks that have the function", group: "Change the picture" },
  { command: "merge", keys: ["m"],
    help: "Merge the function into its callers", group: "Change the picture" },
  { command: "collapseRecursion", keys: ["r"],
    help: "Collapse its direct recursion", group: "Change the picture" },
  { command: "collapseAllRecursion", keys: ["R"],
    help: "Collapse the direct recursion of all functions", group: "Change the picture" },
  { command: "collapseLibrary", keys: ["l"],
    help: "Collapse its library", group: "Change the picture" },
  { command: "foldChains", keys: ["c"],
    help: "Fold chains of single calls", group: "Change the picture" },
  { command: "undo", keys: ["u"], help: "Take the last change back", group: "Change the picture" },
  { command: "sandwich", keys: ["s"], help: "Callers and callees of the function", group: "View" },
  { command: "table", keys: ["t"], help: "Graph, both, table", group: "View" },
  { command: "details", keys: ["o"], help: "Details of the selected box", group: "View" },
  { command: "invert", keys: ["i"], help: "Root above or below", group: "View" },
  { command: "theme", keys: ["d"], help: "Dark or light", group: "View" },
  { command: "copyName", keys: ["y"], help: "Copy the name", group: "View" },
  { command: "copyStack", keys: ["Y"], help: "Copy the stack", group: "View" },
  { command: "menu", keys: ["ContextMenu"], help: "Menu of the selected box", group: "View" },
  { command: "help", keys: ["?"], help: "This list", group: "View" },
];

const BY_KEY = new Map<string, Command>();
for (const entry of KEYS) {
  for (const key of entry.keys) {
    BY_KEY.set(key, entry.command);
  }
}

export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

// Name in the data set of an element.
export const LETS_KEYS_THROUGH = "letsKeysThrough";

// Keys held with Ctrl, Alt or Meta belong to the browser.
export function commandOf(press: KeyPress): Command | null {
  if (press.ctrlKey || press.altKey || press.metaKey) {
    return null;
  }
  if (press.key === "F10" && press.shiftKey) {
    return "menu";
  }
  return BY_KEY.get(press.key) ?? null;
}

const SHOWN: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←",
  ArrowRight: "→", Escape: "Esc", PageUp: "Page ↑", PageDown: "Page ↓", ContextMenu: "Menu" };

export function shownKey(key: string): string {
  return SHOWN[key] ?? key;
}

// The key of a command as it stands on a button; "" = none.
export function keyOf(command: string): string {
  for (const entry of KEYS) {
    if (entry.command === command) {
      return shownKey(entry.keys[0]);
    }
  }
  return "";
}
