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
const SEARCH_MS_MOST = 2000;
const TOO_LONG = "This expression takes too long: it was stopped after 2 seconds";
// Calls that change what later ones are about, in the order in which they can be made again.
const STATES: readonly CallName[] = ["setValueType", "setTransforms", "setSandwich",
  "selectGroups"];

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
  // Ends the engine in the middle of what it does and starts an empty one; false: it cannot.
  restart(): boolean;
  close(): void;
}

class LocalLine implements Line {
  onMessage: (message: FromEngine) => void = () => undefined;
  onFailure: (what: string) => void = () => undefined;
  private readonly host = new EngineHost((message) => this.onMessage(message));

  post(message: ToEngine): void {
    this.host.receive(message);
  }

  restart(): boolean {
    return false;
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

  constructor(private readonly source: string) {
    this.start();
  }

  private start(): void {
    try {
      const url = URL.createObjectURL(new Blob([this.source], { type: "text/javascript" }));
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

  restart(): boolean {
    if (this.worker === null) return false;
    this.worker.terminate();
    this.waiting = [];
    this.start();
    return true;
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
  message: ToEngine;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  onProgress: ((share: number) => void) | undefined;
}

class EngineClient implements Engine {
  private readonly line: Line;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  // What another engine needs to be where this one is: the data, and the last call of each state.
  private data: ToEngine[] = [];
  private readonly states = new Map<CallName, unknown[]>();
  private readonly refused = new Set<string>(); // expressions that took too long

  constructor(line: Line) {
    this.line = line;
    line.onMessage = (message) => this.receive(message);
    line.onFailure = (what) => this.rejectAll(what);
  }

  load(bytes: Uint8Array, onProgress?: (share: number) => void): Promise<DocumentInfo> {
    const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
    this.data = [{ kind: "bytes", bytes: whole.slice() }];
    this.states.clear();
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
    const data: ToEngine[] = [];
    this.data = data;
    this.states.clear();
    for await (const text of pieces) {
      data.push({ kind: "text", text });
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

  // A regular expression that backtracks without end cannot be stopped from within: its engine is
  // ended, and another put in its place.
  search(query: SearchQuery): Promise<SearchAnswer> {
    if (!query.regexp || query.text === "") return this.call("search", query);
    const tooLong: SearchAnswer = { error: TOO_LONG, functions: 0, nodes: 0, totals: [] };
    const key = JSON.stringify(query);
    if (this.refused.has(key)) {
      const none: SearchQuery = { ...query, text: "" };
      return this.call("search", none).then(() => tooLong);
    }
    const id = this.nextId;
    const answer = this.call("search", query);
    const timer = setTimeout(() => {
      const pending = this.pending.get(id);
      if (pending === undefined || !this.line.restart()) return;
      this.refused.add(key);
      this.pending.delete(id);
      this.bringBack();
      pending.resolve(tooLong);
    }, SEARCH_MS_MOST);
    return answer.finally(() => clearTimeout(timer));
  }

  matchBeside(tree: TreeName, node: number, step: 1 | -1): Promise<number | null> {
    return this.call("matchBeside", tree, node, step);
  }

  widestMatch(tree: TreeName, within: number): Promise<number | null> {
    return this.call("widestMatch", tree, within);
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

  // Puts a new engine where the old one was, and asks it what that one still owed.
  private bringBack(): void {
    const owed = [...this.pending.values()];
    for (const message of this.data) this.line.post(message, []);
    this.line.post({ kind: "loaded", id: this.nextId++ }, []);
    for (const name of STATES) {
      const args = this.states.get(name);
      if (args !== undefined) this.line.post({ kind: "call", id: this.nextId++, name, args }, []);
    }
    for (const { message } of owed) this.line.post(message, []);
  }

  private loaded(onProgress?: (share: number) => void): Promise<DocumentInfo> {
    return this.ask((id) => ({ kind: "loaded", id }), onProgress) as Promise<DocumentInfo>;
  }

  private call<Name extends CallName>(
    name: Name,
    ...args: Parameters<Engine[Name]>
  ): ReturnType<Engine[Name]> {
    if (STATES.includes(name)) this.states.set(name, args);
    return this.ask((id) => ({ kind: "call", id, name, args })) as ReturnType<Engine[Name]>;
  }

  private ask(
    messageOf: (id: number) => ToEngine,
    onProgress?: (share: number) => void,
  ): Promise<unknown> {
    const id = this.nextId++;
    const message = messageOf(id);
    return new Promise((resolve, reject) => {
      this.pending.set(id, { message, resolve, reject, onProgress });
      this.line.post(message, []);
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
