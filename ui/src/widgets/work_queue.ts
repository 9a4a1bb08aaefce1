// What is still to be asked of the engine, in a fixed order of importance. A task that is added
// again before its turn runs once: a reader who types fast waits for the last picture only.

export class WorkQueue<Task extends string> {
  private readonly wanted = new Set<Task>();
  private isRunning = false;

  constructor(
    private readonly order: readonly Task[],
    private readonly run: (task: Task) => Promise<void>,
    private readonly events: { busy(isBusy: boolean): void; failed(error: unknown): void },
  ) {}

  add(...tasks: Task[]): void {
    for (const task of tasks) {
      this.wanted.add(task);
    }
    if (!this.isRunning && this.wanted.size > 0) {
      this.isRunning = true;
      this.events.busy(true);
      void this.work();
    }
  }

  clear(): void {
    this.wanted.clear();
  }

  private async work(): Promise<void> {
    for (let task = this.next(); task !== undefined; task = this.next()) {
      this.wanted.delete(task);
      try {
        await this.run(task);
      } catch (error) {
        this.events.failed(error);
      }
    }
    this.isRunning = false;
    this.events.busy(false);
  }

  private next(): Task | undefined {
    return this.order.find((task) => this.wanted.has(task));
  }
}
