// What can be done with a box or a function: for the menu, the details and the keys alike.
import type { FunctionInfo, TreeName } from "../engine/protocol";
import { baseName } from "./format";

export type ActionId =
  | "zoom" | "focus" | "focusNode" | "keep" | "hideStacks" | "merge" | "collapseRecursion"
  | "collapseAllRecursion" | "collapseLibrary" | "foldChains" | "sandwich" | "copyName"
  | "copyStack";

// node is null where only the function is known (a row of the table).
export interface Target {
  tree: TreeName;
  node: number | null;
  func: FunctionInfo;
}

export interface Action {
  id: ActionId;
  label: (target: Target) => string;
  isPossible: (target: Target) => boolean;
}

const isCode = (target: Target): boolean => target.func.kind !== "root";
const isMainNode = (target: Target): boolean =>
  isCode(target) && target.node !== null && target.tree === "main";
const isReal = (target: Target): boolean => isCode(target) && target.func.kind !== "folded";

export const ACTIONS: readonly Action[] = [
  { id: "zoom", label: () => "Zoom to this box", isPossible: (target) => target.node !== null },
  { id: "sandwich", label: () => "Callers and callees", isPossible: isReal },
  { id: "focus", label: () => "Focus on this function", isPossible: isReal },
  { id: "focusNode", label: () => "Focus on this subtree only", isPossible: isMainNode },
  { id: "keep", label: () => "Keep only stacks with it", isPossible: isReal },
  { id: "hideStacks", label: () => "Hide stacks with it", isPossible: isReal },
  { id: "merge", label: () => "Merge into its callers", isPossible: isReal },
  { id: "collapseRecursion", label: () => "Collapse its recursion", isPossible: isReal },
  { id: "collapseAllRecursion", label: () => "Collapse all recursion", isPossible: () => true },
  { id: "collapseLibrary", label: (target) => `Collapse ${baseName(target.func.image)}`,
    isPossible: (target) => isReal(target) && target.func.image !== "" },
  { id: "foldChains", label: () => "Fold chains of single calls", isPossible: () => true },
  { id: "copyName", label: () => "Copy name", isPossible: isCode },
  { id: "copyStack", label: () => "Copy stack", isPossible: (target) => target.node !== null },
];

export function actionsFor(target: Target): Action[] {
  return ACTIONS.filter((action) => action.isPossible(target));
}
