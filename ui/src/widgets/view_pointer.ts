// The pointer on the view: hover, click, menus.
import { BOX_REST, type LegendEntry } from "../engine/protocol";
import { isWithinNoise } from "../model/difference";
import { actionsFor, type Target } from "./actions";
import { noiseScaleOf } from "./box_styles";
import type { GraphPane } from "./graph_pane";
import { keyOf } from "./keys";
import { measureFrame } from "./measure";
import type { MenuItem } from "./menu";
import { boxOfNode, totalOf } from "./scene";
import type { View } from "./view";

export function clickBox(view: View, pane: GraphPane, box: number, event: MouseEvent): void {
  const boxes = pane.scene?.boxes;
  pane.element.focus({ preventScroll: true });
  if (boxes === undefined || box < 0) {
    return;
  }
  if (boxes.kind[box] === BOX_REST) {
    view.zoomTo(pane.tree, { node: boxes.node[box], below: boxes.below[box],
      from: boxes.from[box], to: boxes.to[box] });
    return;
  }
  view.selectBox(pane, box);
  const zoom = view.zoomOf(pane.tree);
  const isSame = zoom.node === boxes.node[box] && zoom.below === null;
  if (!event.ctrlKey && !event.metaKey && !isSame) {
    view.zoomTo(pane.tree, { node: boxes.node[box], below: null });
  }
}

export function hoverBox(
  view: View, pane: GraphPane, box: number, event: PointerEvent | null,
): void {
  const started = performance.now();
  const tooltip = view.parts.tooltip;
  const scene = pane.scene;
  pane.setHovered(box);
  const isTouch = event?.pointerType === "touch";
  if (box < 0 || scene === null || event === null || view.parts.menu.isOpen || isTouch) {
    tooltip.hide();
    return;
  }
  const { boxes } = scene;
  const noise = noiseScaleOf(view.info, view.state.comparison === "normalized");
  const isTwoSided = boxes.total.length === 2;
  const zoomed = boxOfNode(boxes, view.zoomOf(pane.tree).node);
  tooltip.show({
    scene, box, func: view.functions.get(boxes.func[box]), unit: view.unit,
    zoomTotal: zoomed < 0 ? scene.rootTotal : totalOf(boxes, zoomed),
    sideNames: view.info.sides.map((side) => side.name),
    withinNoise: isTwoSided && isWithinNoise(boxes.total[0][box], boxes.total[1][box], noise),
  }, event.clientX, event.clientY);
  measureFrame(started);
}

export function openBoxMenu(
  view: View, pane: GraphPane, box: number, x: number, y: number,
): void {
  const target = box < 0 ? null : view.targetOf(pane, box);
  if (target !== null) {
    view.selectBox(pane, box);
    openTargetMenu(view, target, x, y);
  }
}

export function openTargetMenu(view: View, target: Target, x: number, y: number): void {
  view.parts.tooltip.hide();
  const items = actionsFor(target).map((action) => ({ id: action.id, label: action.label(target),
    key: keyOf(action.id), run: () => view.act(action.id, target) }));
  view.parts.menu.open(target.func.name, items, x, y);
}

export function openLegendMenu(view: View, entry: LegendEntry, x: number, y: number): void {
  const items: MenuItem[] = [{ id: "only", label: "Show only this", key: "",
    run: () => view.update({ groups: [entry.key] }, false, "groups") }];
  const { image } = entry;
  if (view.colouring === "binary" && image !== "") {
    items.push({ id: "collapseLibrary", label: `Collapse ${entry.label}`, key: "", run: () =>
      view.setTransforms([...view.state.transforms, { kind: "collapseLibrary", image }]) });
  }
  view.parts.menu.open(entry.label, items, x, y);
}
