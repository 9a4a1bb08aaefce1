// Entry of the page that a server shows at "/": CPU over time by service, and the flame graph of
// what is chosen there. It asks the server that it came from, and nobody else.
//
// What tests may rely on, beside what file_page.ts lists of the flame graph:
// #vesta-page: data-state = "loading" | "ready" | "token" | "error".
// [data-testid=live] says what it shows, as data attributes:
//   connection   ok | away (nobody answers) | trouble
//   refreshes    counts up with each chart that was answered and drawn
//   trees        counts up with each tree that was answered (shown, or found empty)
//   live         "1" while the range follows the clock
//   from, to     of the chart, unix ms; selected: "from,to" or ""
//   mean         rate of all in the chart; rows: how many are shown one by one; rest: how many not
//   query        the selector of the flame graph
//   notice       which one stands in place of the flame graph, or ""
//   theme        light | dark
// Elements: query (input), query-error, range-NAME, live-button, group-by (select), chart,
//   chart-unit, chart-tip, services, service (data-value, aria-pressed), services-rest, selection,
//   selection-zoom, selection-clear, banner (role alert), notice (data-notice), notice-ID
//   (buttons), quality, token-form, token, token-send, token-reason.
// Marks: "vesta:first-chart", and the flame graph's "vesta:first-picture".

import { make } from "../widgets/dom";
import { warmUp } from "../widgets/painter";
import { LivePage } from "./live_view";

const NEEDED = ["Worker", "DecompressionStream", "ResizeObserver", "BigInt64Array"];

function main(): void {
  const page = document.getElementById("vesta-page");
  if (page === null) {
    return;
  }
  const missing = NEEDED.filter((name) => !(name in window));
  if (missing.length > 0) {
    page.dataset.state = "error";
    page.replaceChildren(make("div", { class: "vesta-notice", role: "alert" }, [
      make("h1", { text: "This browser is too old for this page" }),
      make("p", { text: `It lacks ${missing.join(", ")}. Current versions of Firefox, Chrome, `
        + "Edge and Safari have it." })]));
    return;
  }
  page.dataset.state = "loading";
  const live = new LivePage(page);
  live.start();
  setTimeout(warmUp);
}

main();
