// Asks for the server's token, where it wants one.
import { button, make } from "./dom";

export class TokenForm {
  readonly element: HTMLFormElement;
  private readonly input: HTMLInputElement;
  private readonly reason = make("p", { class: "vesta-hint", testId: "token-reason" });

  constructor(onToken: (token: string) => void) {
    this.input = make("input", { testId: "token", type: "password", label: "Token" });
    this.input.autocomplete = "off";
    const send = button({ class: "live-action", testId: "token-send", text: "Show", type: "submit",
      onClick: () => undefined });
    this.element = make("form", { class: "live-notice live-token", testId: "token-form" }, [
      make("h2", { text: "This server asks for a token" }),
      make("p", { text: "It is a line of the file that the server was started with "
        + "(--token-file). It is kept in this tab only, until the tab is closed." }),
      make("div", { class: "live-token-field" }, [this.input, send]), this.reason]);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      const token = this.input.value.trim();
      if (token !== "") {
        this.input.value = "";
        onToken(token);
      }
    });
  }

  open(reason: string): void {
    this.reason.textContent = reason;
    this.input.focus();
  }
}
