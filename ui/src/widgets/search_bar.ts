// The search box with its switches, its count and its way from match to match.
import type { SearchAnswer, SearchQuery } from "../engine/protocol";
import { button, icon, make, press, show } from "./dom";
import { formatCount, formatShare, shareOf, sum } from "./format";

// Where a search is quick, each letter is searched for; else the next one is waited for.
const QUICK_MS = 20;
const WAIT_MS = 15;

export interface SearchEvents {
  query(query: SearchQuery): void;
  step(step: 1 | -1): void;
  leave(): void; // back to the graph
}

export class SearchBar {
  readonly element: HTMLDivElement;
  private readonly input: HTMLInputElement;
  private readonly regexp: HTMLButtonElement;
  private readonly matchCase: HTMLButtonElement;
  private readonly clear: HTMLButtonElement;
  private readonly count: HTMLSpanElement;
  private readonly error: HTMLDivElement;
  private readonly steps: HTMLDivElement;
  private query: SearchQuery = { text: "", regexp: false, matchCase: false };
  private timer = 0;
  private tookMs = 0; // the last search, as far as is known

  constructor(private readonly events: SearchEvents) {
    this.input = make("input", { class: "vesta-search-input", testId: "search-input", type: "text",
      label: "Search functions and binaries" });
    this.input.placeholder = "Search  /";
    this.input.spellcheck = false;
    this.input.autocomplete = "off";
    this.regexp = this.toggle("search-regexp", ".*", "Regular expression", "regexp");
    this.matchCase = this.toggle("search-case", "Aa", "Match upper and lower case", "matchCase");
    this.clear = button({ class: "vesta-quiet", testId: "search-clear", label: "Clear the search",
      onClick: () => this.take("") }, [icon("M4 4l8 8M12 4l-8 8")]);
    this.count = make("span", { class: "vesta-search-count", testId: "search-count",
      role: "status" });
    this.steps = make("div", { class: "vesta-search-steps" }, [
      button({ class: "vesta-quiet", testId: "search-previous", label: "Previous match",
        title: "Previous match (N)", onClick: () => events.step(-1) }, [icon("M4 10l4-4 4 4")]),
      button({ class: "vesta-quiet", testId: "search-next", label: "Next match",
        title: "Next match (n)", onClick: () => events.step(1) }, [icon("M4 6l4 4 4-4")]),
    ]);
    this.error = make("div", { class: "vesta-search-error", testId: "search-error",
      role: "alert" });
    this.element = make("div", { class: "vesta-search", role: "search" }, [
      make("div", { class: "vesta-search-field" },
        [this.input, this.count, this.clear, this.matchCase, this.regexp]),
      this.steps, this.error]);
    this.listen();
    this.showAnswer(null, [0]);
  }

  private toggle(
    testId: string, text: string, title: string, which: "regexp" | "matchCase",
  ): HTMLButtonElement {
    return button({ class: "vesta-quiet vesta-toggle", testId, text, title, label: title,
      pressed: false, onClick: () => {
        this.set({ ...this.query, [which]: !this.query[which] });
        this.send();
      } });
  }

  private listen(): void {
    this.input.addEventListener("input", () => {
      this.query = { ...this.query, text: this.input.value };
      show(this.clear, this.query.text !== "");
      window.clearTimeout(this.timer);
      if (this.tookMs < QUICK_MS) {
        this.send();
      } else {
        this.timer = window.setTimeout(() => this.send(), WAIT_MS);
      }
    });
    this.input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        this.events.step(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        if (this.query.text === "") {
          this.events.leave();
        } else {
          this.take("");
        }
      } else if (event.key === "ArrowDown") {
        this.events.leave();
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  // Searches for this text, as if it were typed.
  take(text: string): void {
    this.set({ ...this.query, text });
    this.send();
  }

  private send(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.events.query(this.query);
  }

  // Asks for what was typed last, if that is still waiting.
  ask(): void {
    if (this.timer !== 0) {
      this.send();
    }
  }

  // tookMs: how long the engine had for the last search.
  setPace(tookMs: number): void {
    this.tookMs = tookMs;
  }

  set(query: SearchQuery): void {
    this.query = query;
    if (this.input.value !== query.text) {
      this.input.value = query.text;
    }
    press(this.regexp, query.regexp);
    press(this.matchCase, query.matchCase);
    show(this.clear, query.text !== "");
  }

  // null = no search.
  showAnswer(answer: SearchAnswer | null, totals: readonly number[]): void {
    const error = answer?.error ?? null;
    const has = answer !== null && error === null;
    show(this.steps, has && answer.nodes > 0);
    show(this.error, error !== null);
    this.error.textContent = error ?? "";
    this.input.setAttribute("aria-invalid", String(error !== null));
    if (!has) {
      this.count.textContent = "";
      return;
    }
    const share = formatShare(shareOf(sum(answer.totals), sum(totals)));
    this.count.textContent =
      answer.nodes === 0 ? "no match" : `${formatCount(answer.nodes)} · ${share}`;
    const functions = answer.functions === 1 ? "function" : "functions";
    this.count.title = `${formatCount(answer.nodes)} boxes of ${formatCount(answer.functions)} `
      + `${functions}; ${share} of all is in stacks with a match`;
  }
}
