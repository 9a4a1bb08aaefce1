// Undoes gzip: every browser and Node 18 have it, the declarations of TypeScript 4.8 not yet.
declare class DecompressionStream {
  constructor(format: "gzip" | "deflate" | "deflate-raw");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}
