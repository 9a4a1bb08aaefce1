// The list of all keys.
import { button, icon, make } from "./dom";
import { KEYS, shownKey, type KeyHelp } from "./keys";

const GROUPS: KeyHelp["group"][] = ["Move", "Search", "Change the picture", "View"];

export class HelpDialog {
  readonly element: HTMLDialogElement;

  constructor() {
    const groups = GROUPS.map((group) => make("section", {}, [
      make("h3", { text: group }),
      make("dl", {}, KEYS.filter((entry) => entry.group === group).flatMap((entry) => [
        make("dt", {}, entry.keys.map((key) => make("kbd", { text: shownKey(key) }))),
        make("dd", { text: entry.help }),
      ])),
    ]));
    this.element = make("dialog", { class: "vesta-help", testId: "help-dialog", label: "Keys" }, [
      make("div", { class: "vesta-details-head" }, [make("h2", { text: "Keys" }),
        button({ class: "vesta-quiet", label: "Close", onClick: () => this.element.close() },
          [icon("M4 4l8 8M12 4l-8 8")])]),
      make("div", { class: "vesta-help-groups" }, groups),
      make("p", { class: "vesta-hint", text: "Mouse: click zooms, Ctrl-click selects only, right "
        + "click opens the menu; in the table a click selects and searches, a double click shows "
        + "callers and callees." }),
    ]);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) {
        this.element.close(); // the backdrop
      }
    });
  }

  open(): void {
    if (!this.element.open) {
      this.element.showModal();
    }
  }
}
