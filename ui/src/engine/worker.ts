// Entry of the worker.

import { EngineHost } from "./host";
import { FromEngine, ToEngine } from "./messages";

interface WorkerScope {
  onmessage: ((event: MessageEvent<ToEngine>) => void) | null;
  postMessage(message: FromEngine, transfer: ArrayBufferLike[]): void;
}

const scope = globalThis as unknown as WorkerScope;
const host = new EngineHost((message, transfer) => scope.postMessage(message, transfer));
scope.onmessage = (event) => host.receive(event.data);
scope.postMessage({ kind: "ready" }, []);
