// Entry of the self-contained page: reads the profile out of the page's own text, starts the engine
// in a worker and hands both to the widget. The page asks nothing of any network.
//
// What the HTML holds, in this order: <style>, <div id="vesta-page">, <noscript>, this script, then
// the data, gzip and base64, as <script type="text/plain" id="vesta-data-0"> ... "vesta-data-N-1",
// and at last <script>document.documentElement.dataset.vestaPieces = "N"</script>: a file that was
// cut off lacks it.
//
// What tests and later pages may rely on (browser tests find things by these only):
//
// #vesta-page: data-state = "loading" | "ready" | "empty" | "error".
//   [data-testid=loading] (role progressbar), [error-page] (role alert), [empty-page].
// The widget's root, [data-testid=flame-view], says what it shows, as data attributes:
//   nodes, functions, depth   of the shown tree (depth: root = 0)
//   sides                     1 | 2
//   totals                    per side, comma between, in the unit of the value type
//   zoom, zoom-name, zoom-below   node that fills the width (0 = all), its name, threshold or ""
//   boxes, rest-nodes, rest-share  of the last picture; share of the zoomed part, 0..1
//   selected, selected-name, selected-tree   "" = nothing
//   matches, match-functions, match-share   of the search; "" without one; share of all, 0..1
//   colouring                 binary | kind | package | module | difference
//   groups                    selected legend keys, comma between
//   theme                     light | dark (what is drawn)
//   layout                    graph | both | table
//   root                      above | below
//   comparison, width-by      absolute | normalized; both | before | after
//   sandwich                  name of the function, or ""
//   transforms                number of transforms
//   table-rows                rows of the table (after "matches only"), when it is shown
//   frame-ms                  time that drawing the last picture took on the main thread
//   pictures                  counts up with each finished picture (layout answered and drawn)
//   busy                      "1" while the engine owes an answer to a layout, search or transform
// The root has the property `flameView` (class FlameView); for tests in the page's own scripts:
//   flameView.visibleBoxes(tree = "main") -> [{kind, node, func, name, match, row, x, y, width,
//   height, total: number[], self: number[], fill}], in client px; only what is inside the window.
//   kind: "node" | "rest" | "ancestor".
// Elements by data-testid (buttons are <button>, switches carry aria-pressed):
//   toolbar, title, search-input, search-regexp, search-case, search-count, search-error,
//   search-previous, search-next, search-clear, colouring (select), value-type (select),
//   comparison (select), width-by (select), layout-graph, layout-both, layout-table, root-button,
//   theme-button, details-button, help-button, more-button (narrow windows: opens the toolbar),
//   breadcrumb (nav; buttons, the last has aria-current), chips (list), chip, chip-remove,
//   legend, legend-entry (data-key, aria-pressed, right click or its menu key: menu),
//   legend-scale (comparison), legend-all, legend-clear, notes,
//   graph, graph-callers, graph-callees (each: tabindex 0, role application; scrolls inside),
//   minimap, sandwich-title, sandwich-close, splitter (role separator),
//   table (role grid), table-head-name|self|total|image|selfDiff|totalDiff|... (aria-sort),
//   table-row (aria-rowindex, data-func, data-name, aria-selected; comparison: data-noise,
//   data-change = "new" | "gone" | ""), table-matches-only,
//   tooltip (role tooltip), details (complementary), details-close, details-path, details-lines,
//   action-ID buttons of the details and menuitems of the menu, ID as in `data-action`: zoom,
//   focus, focusNode, keep, hideStacks, merge, collapseRecursion, collapseAllRecursion,
//   collapseLibrary, foldChains, sandwich, copyName, copyStack; menu (role menu),
//   help-dialog (dialog), status, message (role status).
// Marks and measures of performance: "vesta:first-picture" (mark; and measure from the navigation),
// measures "vesta:zoom", "vesta:search", "vesta:transform" (input to drawn), "vesta:frame" (one
// hover or scroll step on the main thread).

import workerSource from "worker-source";
import { createEngine } from "../engine/client";
import type { DocumentInfo, Engine } from "../engine/protocol";
import { FlameView } from "../widgets/flame_view";
import { make } from "../widgets/dom";
import { warmUp } from "../widgets/painter";
import { AddressBar } from "./address_bar";
import { pieceTexts } from "./pieces";

const NEEDED = ["Worker", "DecompressionStream", "ResizeObserver", "BigInt64Array"];

function main(): void {
  const page = document.getElementById("vesta-page");
  if (page === null) {
    return;
  }
  const missing = NEEDED.filter((name) => !(name in window));
  if (missing.length > 0) {
    showError(page, "This browser is too old for this page",
      `It lacks ${missing.join(", ")}. Current versions of Firefox, Chrome, Edge and Safari `
      + "have it.");
    return;
  }
  void open(page);
}

async function open(page: HTMLElement): Promise<void> {
  const bar = make("div", { class: "vesta-progress-bar" });
  const loading = make("div", { class: "vesta-loading", testId: "loading", role: "progressbar",
    label: "Reading the profile", aria: { valuemin: "0", valuemax: "100", valuenow: "0" } },
    [make("p", { text: "Reading the profile…" }), make("div", { class: "vesta-progress" }, [bar])]);
  page.dataset.state = "loading";
  page.replaceChildren(loading);
  const engine = createEngine(workerSource);
  setTimeout(warmUp);
  try {
    const info = await engine.loadText(pieceTexts(document), (share) => {
      bar.style.width = `${share * 100}%`;
      loading.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    });
    if (info.isEmpty) {
      showEmpty(page, info);
      return;
    }
    page.replaceChildren();
    showView(page, engine, info);
    page.dataset.state = "ready";
  } catch (error) {
    showError(page, "This file cannot be shown", error instanceof Error ? error.message : "");
  }
}

function showView(page: HTMLElement, engine: Engine, info: DocumentInfo): void {
  const address = new AddressBar((text) => view.setState(text));
  const view: FlameView = new FlameView(page, engine, {
    info,
    state: location.hash,
    onState: (state, isStep) => address.write(state, isStep),
    goBack: () => address.goBack(),
  });
}

function showEmpty(page: HTMLElement, info: DocumentInfo): void {
  page.dataset.state = "empty";
  page.replaceChildren(make("div", { class: "vesta-notice", testId: "empty-page" }, [
    make("h1", { text: info.title }),
    make("p", { text: "This profile is empty: not one sample was taken." }),
    ...info.notes.map((text) => make("p", { class: "vesta-hint", text })),
  ]));
}

function showError(page: HTMLElement, heading: string, text: string): void {
  page.dataset.state = "error";
  page.replaceChildren(make("div", { class: "vesta-notice", testId: "error-page", role: "alert" }, [
    make("h1", { text: heading }),
    make("p", { text }),
    make("p", { class: "vesta-hint", text: "If the file was mailed or downloaded, it may have been "
      + "cut off or changed on the way: fetch it again, or make it anew." }),
  ]));
}

main();
