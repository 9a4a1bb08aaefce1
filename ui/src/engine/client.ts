// The engine as the page sees it: questions go to its thread, answers come as promises.

import { EngineHost } from "./host";
import { CallName, errorOf, FromEngine, ToEngine } from "./messages";
import {
  Colouring,
  DocumentInfo,
  Engine,
  LayoutAnswer,
  LayoutRequest,
  LegendEntry,
  NodeDetails,
  SearchAnswer,
  SearchQuery,
  TableAnswer,
  TableRequest,
  Transform,
  TransformAnswer,
  TreeName,
  Zoom,
} from "./protocol";

// Shares of the progress that the page itself can tell: how much it has handed over.
const HANDED_OVER_SHARE = 0.6;

// workerSource: the text of the bundled worker.ts. Where a worker cannot be made (or the page's
// policy forbids it), the engine runs in the page's own thread.
export function createEngine(workerSource: string): Engine {
  return new EngineClient(new WorkerLine(workerSource));
}

// An engine in the caller's thread.
export function createLocalEngine(): Engine {
  return new EngineClient(new LocalLine());
}

interface Line {
  onMessage: (message: FromEngine) => void;
  onFailure: (what: string) => void;
  post(message: ToEngine, transfer: ArrayBufferLike[]): void;
  close(): void;
}

class LocalLine implements Line {
  onMessage: (message: FromEngine) => void = () => undefined;
  onFailure: (what: string) => void = () => undefined;
  private readonly host = new EngineHost((message) => this.onMessage(message));

  post(message: ToEngine): void {
    this.host.receive(message);
  }

  close(): void {
    this.onMessage = () => undefined;
  }
}

// Holds messages back until the worker says that it runs: when it does not, they go to an engine in
// this thread.
class WorkerLine implements Line {
  onMessage: (message: FromEngine) => void = () => undefined;
  onFailure: (what: string) => void = () => undefined;
  private waiting: { message: ToEngine; transfer: ArrayBufferLike[] }[] | null = [];
  private worker: Worker | null = null;
  private local: LocalLine | null = null;

  constructor(source: string) {
    try {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(url);
      this.worker = worker;
      worker.onmessage = (event: MessageEvent<FromEngine>) => {
        if (event.data.kind !== "ready") {
          this.onMessage(event.data);
          return;
        }
        URL.revokeObjectURL(url);
        this.flush((message, transfer) => worker.postMessage(message, transfer as Transferable[]));
      };
      worker.onerror = (event) => {
        event.preventDefault();
        if (this.waiting !== null) this.goLocal();
        else this.onFailure(event.message || "the engine's thread failed");
      };
    } catch {
      this.goLocal();
    }
  }

  post(message: ToEngine, transfer: ArrayBufferLike[]): void {
    if (this.waiting !== null) this.waiting.push({ message, transfer });
    else if (this.local !== null) this.local.post(message);
    else this.worker?.postMessage(message, transfer as Transferable[]);
  }

  close(): void {
    this.worker?.terminate();
    this.local?.close();
    this.waiting = [];
  }

  private goLocal(): void {
    this.worker?.terminate();
    this.worker = null;
    const local = new LocalLine();
    local.onMessage = (message) => this.onMessage(message);
    this.local = local;
    this.flush((message) => local.post(message));
  }

  private flush(post: (message: ToEngine, transfer: ArrayBufferLike[]) => void): void {
    const waiting = this.waiting ?? [];
    this.waiting = null;
    for (const { message, transfer } of waiting) post(message, transfer);
  }
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  onProgress: ((share: number) => void) | undefined;
}

class EngineClient implements Engine {
  private readonly line: Line;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;

  constructor(line: Line) {
    this.line = line;
    line.onMessage = (message) => this.receive(message);
    line.onFailure = (what) => this.rejectAll(what);
  }

  load(bytes: Uint8Array, onProgress?: (share: number) => void): Promise<DocumentInfo> {
    const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
    this.line.post({ kind: "bytes", bytes: whole }, [whole.buffer]);
    onProgress?.(HANDED_OVER_SHARE);
    return this.loaded(onProgress);
  }

  async loadText(
    pieces: Iterable<string> | AsyncIterable<string>,
    onProgress?: (share: number) => void,
  ): Promise<DocumentInfo> {
    const count = Array.isArray(pieces) ? pieces.length : 0;
    let handedOver = 0;
    for await (const text of pieces) {
      this.line.post({ kind: "text", text }, []);
      ++handedOver;
      if (count > 0) onProgress?.((HANDED_OVER_SHARE * handedOver) / count);
    }
    return this.loaded(onProgress);
  }

  setValueType(index: number): Promise<DocumentInfo> {
    return this.call("setValueType", index);
  }

  setTransforms(transforms: Transform[]): Promise<TransformAnswer> {
    return this.call("setTransforms", transforms);
  }

  setSandwich(func: number | null): Promise<{ callers: number; callees: number }> {
    return this.call("setSandwich", func);
  }

  layout(request: LayoutRequest): Promise<LayoutAnswer> {
    return this.call("layout", request);
  }

  search(query: SearchQuery): Promise<SearchAnswer> {
    return this.call("search", query);
  }

  matchBeside(tree: TreeName, node: number, step: 1 | -1): Promise<number | null> {
    return this.call("matchBeside", tree, node, step);
  }

  legend(colouring: Colouring): Promise<LegendEntry[]> {
    return this.call("legend", colouring);
  }

  selectGroups(colouring: Colouring, keys: string[]): Promise<void> {
    return this.call("selectGroups", colouring, keys);
  }

  details(tree: TreeName, node: number, zoom: Zoom): Promise<NodeDetails> {
    return this.call("details", tree, node, zoom);
  }

  table(request: TableRequest): Promise<TableAnswer> {
    return this.call("table", request);
  }

  stackNames(tree: TreeName, node: number): Promise<string[]> {
    return this.call("stackNames", tree, node);
  }

  addressOf(node: number): Promise<string> {
    return this.call("addressOf", node);
  }

  nodeAt(address: string): Promise<number | null> {
    return this.call("nodeAt", address);
  }

  functionNamed(name: string, image: string): Promise<number | null> {
    return this.call("functionNamed", name, image);
  }

  dispose(): void {
    this.line.close();
    this.rejectAll("the engine is closed");
  }

  private loaded(onProgress?: (share: number) => void): Promise<DocumentInfo> {
    return this.ask((id) => ({ kind: "loaded", id }), onProgress) as Promise<DocumentInfo>;
  }

  private call<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    return this.ask((id) => ({ kind: "call", id, name, args })) as ReturnType<Engine[Name]>;
  }

  private ask(
    message: (id: number) => ToEngine,
    onProgress?: (share: number) => void,
  ): Promise<unknown> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, onProgress });
      this.line.post(message(id), []);
    });
  }

  private receive(message: FromEngine): void {
    if (message.kind === "ready") return;
    const pending = this.pending.get(message.id);
    if (pending === undefined) return;
    if (message.kind === "progress") {
      pending.onProgress?.(message.share);
      return;
    }
    this.pending.delete(message.id);
    if (message.kind === "error") {
      pending.reject(errorOf(message.error));
      return;
    }
    pending.onProgress?.(1);
    pending.resolve(message.value);
  }

  private rejectAll(what: string): void {
    for (const { reject } of this.pending.values()) reject(new Error(what));
    this.pending.clear();
  }
}
