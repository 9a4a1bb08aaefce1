// The part of the address behind "#": written by the page, so that a link, a reload and the way
// back show the same.

export class AddressBar {
  private steps = stepsOf(history.state); // of this page: the way back must not leave it

  // onMove: the reader went back or forward.
  constructor(onMove: (text: string) => void) {
    window.addEventListener("popstate", (event) => {
      this.steps = stepsOf(event.state);
      onMove(location.hash);
    });
  }

  // isStep: the way back comes to what was before; else that is replaced.
  write(text: string, isStep: boolean): void {
    const hash = text === "" ? "#" : `#${text}`;
    if (hash === (location.hash || "#")) {
      return;
    }
    this.steps += isStep ? 1 : 0;
    history[isStep ? "pushState" : "replaceState"]({ steps: this.steps }, "", hash);
  }

  goBack(): void {
    if (this.steps > 0) {
      history.back();
    }
  }
}

function stepsOf(state: unknown): number {
  return typeof state === "object" && state !== null && "steps" in state
    ? Number((state as { steps: unknown }).steps) : 0;
}
