// Runs the engine for messages: in the worker's thread, or in the page's.

import { EngineCore } from "./core";
import { CALL_NAMES, errorText, FromEngine, ToEngine } from "./messages";
import { LayoutAnswer } from "./protocol";
import { DataReceiver } from "./receiver";

// How long the thread is left alone after a picture before it prepares the first search.
const WARM_AFTER_MS = 150;

export class EngineHost {
  private readonly post: (message: FromEngine, transfer: ArrayBufferLike[]) => void;
  private receiver = new DataReceiver();
  private core: EngineCore | null = null;
  private queue: Promise<void> = Promise.resolve();
  private warmed = false;

  constructor(post: (message: FromEngine, transfer: ArrayBufferLike[]) => void) {
    this.post = post;
  }

  // Messages are answered in the order in which they come.
  receive(message: ToEngine): void {
    switch (message.kind) {
      case "text":
        this.receiver.addText(message.text);
        return;
      case "bytes":
        this.receiver.addBytes(message.bytes);
        return;
      case "loaded": {
        const receiver = this.receiver;
        this.receiver = new DataReceiver();
        this.answer(message.id, () => this.load(receiver, message.id));
        return;
      }
      case "call":
        this.answer(message.id, () => this.call(message.name, message.args));
    }
  }

  private answer(id: number, work: () => unknown): void {
    this.queue = this.queue.then(async () => {
      try {
        const value = await work();
        this.post({ kind: "value", id, value }, buffersOf(value));
      } catch (error) {
        this.post({ kind: "error", id, error: errorText(error) }, []);
      }
    });
  }

  private async load(receiver: DataReceiver, id: number): Promise<unknown> {
    this.core = null;
    const bytes = await receiver.finish();
    this.post({ kind: "progress", id, share: 0.8 }, []);
    this.core = new EngineCore(bytes);
    this.warmed = false;
    return this.core.info();
  }

  private call(name: string, args: unknown[]): unknown {
    const core = this.core;
    if (core === null) throw new Error("nothing is loaded");
    const known = CALL_NAMES.find((call) => call === name);
    if (known === undefined) throw new Error(`no function ${name}`);
    const method = core[known] as (...args: unknown[]) => unknown;
    const value = method.apply(core, args);
    if (known === "layout" && !this.warmed) {
      this.warmed = true;
      setTimeout(() => core.warm(), WARM_AFTER_MS);
    }
    return value;
  }
}

// Columns of boxes are handed over, not copied.
function buffersOf(value: unknown): ArrayBufferLike[] {
  if (typeof value !== "object" || value === null || !("boxes" in value)) return [];
  const columns = Object.values((value as LayoutAnswer).boxes) as unknown[];
  return columns.flat().flatMap((column) => (ArrayBuffer.isView(column) ? [column.buffer] : []));
}
