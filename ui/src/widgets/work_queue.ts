// What is still to be asked of the engine, in a fixed order of importance. A task that is added
// again before its turn runs once: a reader who types fast waits for the last picture only.

export class WorkQueue<Task extends string> {
  private readonly wanted = new Set<Task>();
  private isRunning = false;
  private current: Task | null = null;
  private readonly waiters: { tasks: readonly Task[]; resolve: () => void }[] = [];

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

  isWanted(task: Task): boolean {
    return this.wanted.has(task);
  }

  // Comes back when none of these is to be done any more.
  whenDone(...tasks: Task[]): Promise<void> {
    return new Promise((resolve) => {
      this.waiters.push({ tasks, resolve });
      this.wake();
    });
  }

  private wake(): void {
    const isOpen = (task: Task): boolean => this.current === task || this.wanted.has(task);
    const ready = this.waiters.filter(({ tasks }) => !tasks.some(isOpen));
    for (const waiter of ready) {
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }

  clear(): void {
    this.wanted.clear();
    this.wake();
  }

  private async work(): Promise<void> {
    for (let task = this.next(); task !== undefined; task = this.next()) {
      this.wanted.delete(task);
      this.current = task;
      try {
        await this.run(task);
      } catch (error) {
        this.events.failed(error);
      }
      this.current = null;
      this.wake();
    }
    this.isRunning = false;
    this.events.busy(false);
  }

  private next(): Task | undefined {
    return this.order.find((task) => this.wanted.has(task));
  }
}
