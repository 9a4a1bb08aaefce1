// Does what a menu, the details or a key asks for with a box.
import type { ActionId, Target } from "./actions";
import { copyText } from "./dom";
import { pathOfBox } from "./scene";
import type { View } from "./view";
import type { FunctionName, NamedTransform } from "./view_state";

export function runAction(view: View, action: ActionId, target: Target): void {
  switch (action) {
    case "zoom":
      if (target.node !== null) {
        view.zoomTo(target.tree, { node: target.node, below: null });
      }
      return;
    case "sandwich":
      view.setSandwich(target.func);
      return;
    case "copyName":
      void copy(view, target.func.name, "Name");
      return;
    case "copyStack":
      void copyStack(view, target);
      return;
    default: {
      const transform = transformOf(view, action, target);
      if (transform !== null) {
        view.setTransforms([...view.state.transforms, transform]);
      }
    }
  }
}

function transformOf(view: View, action: ActionId, target: Target): NamedTransform | null {
  const on: FunctionName = { name: target.func.name, image: target.func.image };
  switch (action) {
    case "focus":
    case "keep":
    case "hideStacks":
    case "merge":
      return { kind: action, on };
    case "focusNode": {
      const path = namesOnPath(view);
      return path.length > 0 ? { kind: "focusNode", path } : null;
    }
    case "collapseRecursion":
      return { kind: "collapseRecursion", on };
    case "collapseAllRecursion":
      return { kind: "collapseRecursion", on: null };
    case "collapseLibrary":
      return on.image === "" ? null : { kind: "collapseLibrary", image: on.image };
    case "foldChains": {
      const has = view.state.transforms.some((one) => one.kind === "foldChains");
      return has ? null : { kind: "foldChains" };
    }
    default:
      return null;
  }
}

// Functions from below the root to the selected box. A box that is drawn has its callers drawn.
function namesOnPath(view: View): FunctionName[] {
  const pane = view.selection?.pane ?? view.activePane;
  const boxes = pane.scene?.boxes;
  const box = view.selection === null ? pane.hoveredBox : pane.selectedBox;
  if (boxes === undefined || box < 0) {
    return [];
  }
  return pathOfBox(boxes, box).slice(1).map((step) => {
    const func = view.functions.get(boxes.func[step]);
    return { name: func?.name ?? "", image: func?.image ?? "" };
  });
}

async function copy(view: View, text: string, what: string): Promise<void> {
  const done = await copyText(text);
  view.parts.message.show(done ? `${what} copied`
    : `${what} could not be copied: no clipboard here`);
}

async function copyStack(view: View, target: Target): Promise<void> {
  if (target.node !== null) {
    const names = await view.engine.stackNames(target.tree, target.node);
    await copy(view, names.join("\n"), "Stack");
  }
}
