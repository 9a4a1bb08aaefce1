// When the live page asks again: while somebody looks, and not while they drag.

const AWAY_FIRST_MS = 1000;
const AWAY_MOST_MS = 10_000;

export class LiveClock {
  private timer = 0;
  private isHeld = false;
  private isDue = false; // while it was held
  private failures = 0;

  // tick: asks; it calls `again` or `away` when all is answered.
  constructor(private readonly tick: () => void) {
    document.addEventListener("visibilitychange", () => this.look());
  }

  get isStopped(): boolean {
    return this.isHeld || document.hidden;
  }

  // While the reader is in the middle of something.
  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.look();
  }

  again(afterMs: number): void {
    this.failures = 0;
    this.set(afterMs);
  }

  // Nobody answered: asks again soon, then less often.
  away(): void {
    this.set(Math.min(AWAY_MOST_MS, AWAY_FIRST_MS * 2 ** this.failures));
    ++this.failures;
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.isDue = false;
  }

  private set(afterMs: number): void {
    this.stop();
    this.timer = window.setTimeout(() => {
      this.isDue = true;
      this.look();
    }, afterMs);
  }

  private look(): void {
    if (this.isDue && !this.isStopped) {
      this.isDue = false;
      this.tick();
    }
  }
}
