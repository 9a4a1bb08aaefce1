// What stands where a picture would be: why there is none, and what to do.
import { button, make } from "./dom";

export interface NoticeAction {
  id: string;
  label: string;
  run: () => void;
}

export interface NoticeContent {
  id: string; // says to tests which one it is
  heading: string;
  texts: string[];
  commands: string[]; // to be pasted into a shell
  actions: NoticeAction[];
}

export class Notice {
  readonly element = make("section", { class: "live-notice", testId: "notice", role: "status" });
  private shown = "";

  show(content: NoticeContent): void {
    const key = JSON.stringify(content);
    if (key === this.shown) {
      return;
    }
    this.shown = key;
    this.element.dataset.notice = content.id;
    this.element.replaceChildren(
      make("h2", { text: content.heading }),
      ...content.texts.map((text) => make("p", { text })),
      ...content.commands.map((text) => make("pre", { text })),
      make("div", { class: "live-actions" }, content.actions.map((action) =>
        button({ class: "live-action", testId: `notice-${action.id}`, text: action.label,
          onClick: action.run }))));
  }
}
