// A menu at a point of the window; arrows, Enter, Escape, and a click elsewhere closes it.
import { make } from "./dom";

export interface MenuItem {
  id: string;
  label: string;
  key: string; // of the keyboard, "" = none
  run: () => void;
}

const EDGE_PX = 8;

export class Menu {
  private element: HTMLDivElement | null = null;
  private before: Element | null = null;
  private readonly onPointer = (event: PointerEvent): void => {
    if (event.target instanceof Node && this.element?.contains(event.target) !== true) {
      this.close(false);
    }
  };

  constructor(private readonly host: HTMLElement) {}

  get isOpen(): boolean {
    return this.element !== null;
  }

  open(title: string, items: MenuItem[], x: number, y: number): void {
    this.close(false);
    this.before = document.activeElement;
    const rows = items.map((item) => this.row(item));
    const element = make("div", { class: "vesta-menu", testId: "menu", role: "menu", label: title },
      [make("div", { class: "vesta-menu-title", text: title, title }), ...rows]);
    element.addEventListener("keydown", (event) => this.onKey(event, rows));
    this.element = element;
    this.host.append(element);
    const size = element.getBoundingClientRect();
    const left = Math.min(x, window.innerWidth - size.width - EDGE_PX);
    const top = Math.min(y, window.innerHeight - size.height - EDGE_PX);
    element.style.left = `${Math.max(EDGE_PX, left)}px`;
    element.style.top = `${Math.max(EDGE_PX, top)}px`;
    rows[0]?.focus();
    document.addEventListener("pointerdown", this.onPointer, true);
  }

  private row(item: MenuItem): HTMLButtonElement {
    const row = make("button", { class: "vesta-menu-item", role: "menuitem", tabIndex: -1,
      testId: `action-${item.id}`, data: { action: item.id } },
      [make("span", { text: item.label }), make("kbd", { text: item.key })]);
    row.addEventListener("click", () => {
      this.close(true);
      item.run();
    });
    row.addEventListener("pointermove", () => row.focus());
    return row;
  }

  private onKey(event: KeyboardEvent, rows: HTMLButtonElement[]): void {
    const at = rows.findIndex((row) => row === document.activeElement);
    const go = (to: number): void => rows[(to + rows.length) % rows.length]?.focus();
    switch (event.key) {
      case "ArrowDown":
        go(at + 1);
        break;
      case "ArrowUp":
        go(at - 1);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(-1);
        break;
      case "Escape":
      case "Tab":
        this.close(true);
        break;
      default:
        event.stopPropagation();
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  close(giveFocusBack: boolean): void {
    if (this.element === null) {
      return;
    }
    document.removeEventListener("pointerdown", this.onPointer, true);
    this.element.remove();
    this.element = null;
    if (giveFocusBack && this.before instanceof HTMLElement) {
      this.before.focus();
    }
  }
}
