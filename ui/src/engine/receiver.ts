// The data of a page as it comes in: base64 and gzip are undone while more is still coming.

import { Base64Decoder } from "../base/base64";
import { PageDataError } from "../base/varint";

// What unpacks to more is refused: a small file can unpack to any size.
const UNPACKED_BYTES_MAX = 1 << 30;

// Errors: PageDataError, from finish.
export class DataReceiver {
  private readonly base64 = new Base64Decoder();
  private readonly chunks: Uint8Array[] = [];
  private size = 0;
  private head: Uint8Array | null = null; // until it is known whether it is gzip
  private kind: "unknown" | "plain" | "gzip" = "unknown";
  private writer: WritableStreamDefaultWriter<Uint8Array> | null = null;
  private unpacked: Promise<void> = Promise.resolve();
  private failure: PageDataError | null = null;

  addText(text: string): void {
    if (this.failure !== null) return;
    try {
      this.addBytes(this.base64.decode(text));
    } catch (error) {
      this.fail("base64", error);
    }
  }

  addBytes(bytes: Uint8Array): void {
    if (this.failure !== null || bytes.length === 0) return;
    if (this.kind === "unknown") {
      const start = this.head === null ? bytes : joined([this.head, bytes]);
      this.head = start;
      if (start.length < 2) return;
      this.kind = start[0] === 0x1f && start[1] === 0x8b ? "gzip" : "plain";
      this.head = null;
      if (this.kind === "gzip") this.startUnpacking();
      this.take(start);
    } else {
      this.take(bytes);
    }
  }

  // All of it. Nothing may be added afterwards.
  async finish(): Promise<Uint8Array> {
    try {
      this.base64.finish();
    } catch (error) {
      this.fail("base64", error);
    }
    if (this.writer !== null) {
      this.writer.close().catch((error: unknown) => this.fail("gzip", error));
      await this.unpacked;
    }
    if (this.failure !== null) throw this.failure;
    if (this.head !== null) this.chunks.push(this.head);
    return this.chunks.length === 1 ? this.chunks[0] : joined(this.chunks);
  }

  private take(bytes: Uint8Array): void {
    if (this.writer !== null) {
      this.writer.write(bytes).catch((error: unknown) => this.fail("gzip", error));
      return;
    }
    try {
      this.keep(bytes);
    } catch (error) {
      this.fail("head", error);
    }
  }

  private keep(bytes: Uint8Array): void {
    this.size += bytes.length;
    if (this.size > UNPACKED_BYTES_MAX) {
      throw new Error(`unpacks to more than ${UNPACKED_BYTES_MAX} bytes`);
    }
    this.chunks.push(bytes);
  }

  private startUnpacking(): void {
    const stream = new DecompressionStream("gzip");
    const writer = stream.writable.getWriter();
    this.writer = writer;
    writer.closed.catch((error: unknown) => this.fail("gzip", error));
    const reader = stream.readable.getReader();
    const read = async (): Promise<void> => {
      for (;;) {
        const part = await reader.read();
        if (part.value === undefined) return;
        this.keep(part.value);
      }
    };
    this.unpacked = read().catch((error: unknown) => {
      this.fail("gzip", error);
      return reader.cancel().catch(() => undefined);
    });
  }

  private fail(section: string, error: unknown): void {
    const what = error instanceof Error ? error.message : String(error);
    if (this.failure === null) this.failure = new PageDataError(section, this.size, what);
    this.chunks.length = 0;
  }
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
