// A scroll bar that lies over the right edge of what it scrolls, so that a picture has the same
// width whether it scrolls or not. The keyboard and the wheel scroll without it.
import { make } from "./dom";

const THUMB_LEAST_PX = 24;

// Units: CSS px.
export class Scrollbar {
  readonly element: HTMLDivElement;
  private readonly thumb: HTMLDivElement;
  private windowPx = 0;
  private contentPx = 0;
  private grabbedAt = 0; // place of the pointer on the thumb

  constructor(private readonly scroller: HTMLElement) {
    this.thumb = make("div", { class: "vesta-scrollbar-thumb" });
    this.element = make("div", { class: "vesta-scrollbar", aria: { hidden: "true" } },
      [this.thumb]);
    this.element.hidden = true;
    this.listen();
  }

  // Shows where the window stands; to be called after each change of it.
  update(windowPx: number, contentPx: number): void {
    this.windowPx = windowPx;
    this.contentPx = contentPx;
    this.element.hidden = contentPx <= windowPx;
    if (!this.element.hidden) {
      const share = this.scroller.scrollTop / (contentPx - windowPx);
      this.thumb.style.height = `${this.thumbPx()}px`;
      this.thumb.style.transform = `translateY(${share * (windowPx - this.thumbPx())}px)`;
    }
  }

  private thumbPx(): number {
    return Math.max(THUMB_LEAST_PX, this.windowPx * this.windowPx / this.contentPx);
  }

  private listen(): void {
    const element = this.element;
    element.addEventListener("pointerdown", (event) => {
      const thumb = this.thumb.getBoundingClientRect();
      const isOnThumb = event.clientY >= thumb.top && event.clientY < thumb.bottom;
      this.grabbedAt = isOnThumb ? event.clientY - thumb.top : thumb.height / 2;
      element.setPointerCapture(event.pointerId);
      this.moveThumb(event.clientY);
      event.preventDefault();
    });
    element.addEventListener("pointermove", (event) => {
      if (element.hasPointerCapture(event.pointerId)) {
        this.moveThumb(event.clientY);
      }
    });
    element.addEventListener("wheel", (event) => {
      this.scroller.scrollTop += event.deltaY;
    }, { passive: true });
  }

  private moveThumb(clientY: number): void {
    const top = clientY - this.grabbedAt - this.element.getBoundingClientRect().top;
    const room = Math.max(1, this.windowPx - this.thumbPx());
    this.scroller.scrollTop = (top / room) * (this.contentPx - this.windowPx);
  }
}
