// Where the reader is: the way from the root to the zoomed box, and the changes to the picture,
// each of which can be taken back.
import { button, icon, make } from "./dom";

export interface Crumb {
  label: string;
  node: number;
}

export interface TrailEvents {
  zoom(node: number): void;
  removeTransform(index: number): void;
  leaveSandwich(): void;
}

const CRUMBS_AT_ENDS = [2, 4]; // kept where the way is long

export class Trail {
  readonly element: HTMLDivElement;
  private readonly crumbs: HTMLElement;
  private readonly chips: HTMLDivElement;
  private isWhole = false;
  private path: Crumb[] = [];

  constructor(private readonly events: TrailEvents) {
    this.crumbs = make("nav", { class: "vesta-crumbs", testId: "breadcrumb",
      label: "Path to the zoomed box" });
    this.chips = make("div", { class: "vesta-chips", testId: "chips", role: "list",
      label: "Changes to the picture" });
    this.element = make("div", { class: "vesta-trail" }, [this.chips, this.crumbs]);
  }

  // rest: what a zoomed rest box is called, else "".
  showPath(path: Crumb[], rest: string): void {
    this.path = path;
    this.isWhole = false;
    this.makeCrumbs(rest);
  }

  private makeCrumbs(rest: string): void {
    const [atStart, atEnd] = CRUMBS_AT_ENDS;
    const isCut = !this.isWhole && this.path.length > atStart + atEnd + 1;
    const nodes: Node[] = [];
    this.path.forEach((crumb, index) => {
      const isHidden = isCut && index >= atStart && index < this.path.length - atEnd;
      if (isHidden) {
        if (index === atStart) {
          const count = this.path.length - atStart - atEnd;
          nodes.push(button({ class: "vesta-crumb", text: `… ${count} …`,
            label: `${count} callers between`, onClick: () => {
              this.isWhole = true;
              this.makeCrumbs(rest);
            } }));
        }
        return;
      }
      const isLast = index === this.path.length - 1 && rest === "";
      nodes.push(button({ class: "vesta-crumb", text: crumb.label, title: crumb.label,
        aria: isLast ? { current: "location" } : {},
        onClick: () => this.events.zoom(crumb.node) }));
    });
    if (rest !== "") {
      nodes.push(make("span", { class: "vesta-crumb", text: rest, aria: { current: "location" } }));
    }
    this.crumbs.replaceChildren(...nodes);
    this.crumbs.scrollLeft = this.crumbs.scrollWidth;
  }

  showChips(transforms: string[], sandwich: string | null): void {
    const chips = transforms.map((label, index) =>
      chip(label, "chip", "chip-remove", () => this.events.removeTransform(index)));
    if (sandwich !== null) {
      chips.push(chip(`Callers and callees of ${sandwich}`, "sandwich-title", "sandwich-close",
        () => this.events.leaveSandwich()));
    }
    this.chips.replaceChildren(...chips);
    this.chips.hidden = chips.length === 0;
    this.crumbs.hidden = sandwich !== null;
    this.element.classList.toggle("alone", sandwich !== null);
  }
}

function chip(label: string, testId: string, removeId: string, remove: () => void): HTMLElement {
  return make("span", { class: "vesta-chip", testId, role: "listitem" }, [
    make("span", { class: "vesta-chip-label", text: label, title: label }),
    button({ class: "vesta-chip-remove", testId: removeId, label: `Remove: ${label}`,
      onClick: remove }, [icon("M5 5l6 6M11 5l-6 6")]),
  ]);
}
