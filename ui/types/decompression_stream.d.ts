// Makes and undoes gzip: every browser and Node 18 have it, TypeScript 4.8's declarations do not.
declare class DecompressionStream {
  constructor(format: "gzip" | "deflate" | "deflate-raw");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

declare class CompressionStream extends DecompressionStream {}
