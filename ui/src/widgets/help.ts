// The list of all keys.
import { button, icon, make } from "./dom";
import { KEYS, shownKey, type KeyHelp, type KeyLine } from "./keys";

const GROUPS: KeyHelp["group"][] = ["Move", "Search", "Change the picture", "View"];

export class HelpDialog {
  readonly element: HTMLDialogElement;
  private readonly groups = make("div", { class: "vesta-help-groups" });

  constructor() {
    for (const group of GROUPS) {
      this.addGroup(group, KEYS.filter((entry) => entry.group === group)
        .map(({ keys, help }) => ({ keys: keys.map(shownKey), help })));
    }
    this.element = make("dialog", { class: "vesta-help", testId: "help-dialog", label: "Keys" }, [
      make("div", { class: "vesta-details-head" }, [make("h2", { text: "Keys" }),
        button({ class: "vesta-quiet", label: "Close", onClick: () => this.element.close() },
          [icon("M4 4l8 8M12 4l-8 8")])]),
      this.groups,
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

  // Keys of the page around the view, too.
  addGroup(name: string, lines: readonly KeyLine[]): void {
    this.groups.append(make("section", {}, [
      make("h3", { text: name }),
      make("dl", {}, lines.flatMap(({ keys, help }) => [
        make("dt", {}, keys.map((key) => make("kbd", { text: key }))),
        make("dd", { text: help }),
      ])),
    ]));
  }

  open(): void {
    if (!this.element.open) {
      this.element.showModal();
    }
  }
}
