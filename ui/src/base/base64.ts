// Base64 text to bytes, piece by piece.

const PAD = 64;
const BAD = 255;
const CODES = makeCodes();

interface NativeBase64 {
  fromBase64(text: string): Uint8Array;
}

// Undoes base64 that comes in pieces of any length.
// Errors: Base64Error for text that is not base64.
export class Base64Decoder {
  private carry = ""; // up to three characters that do not make whole bytes yet
  private position = 0; // characters taken before the carry
  private ended = false; // padding was seen

  decode(piece: string): Uint8Array {
    const text = this.carry + piece;
    const whole = text.length - (text.length % 4);
    this.carry = text.slice(whole);
    const bytes = this.decodeWhole(whole === text.length ? text : text.slice(0, whole));
    this.position += whole;
    return bytes;
  }

  // To be called after the last piece.
  finish(): void {
    if (this.carry !== "") throw new Base64Error(this.position, "ends inside a group of four");
  }

  private decodeWhole(text: string): Uint8Array {
    if (text === "") return new Uint8Array(0);
    if (this.ended) throw new Base64Error(this.position, "text after the padding");
    this.ended = text.endsWith("=");
    const native = Uint8Array as unknown as Partial<NativeBase64>;
    if (native.fromBase64 !== undefined) {
      try {
        return native.fromBase64(text);
      } catch {
        // The loop below finds the place.
      }
    }
    return decodeByTable(text, this.position);
  }
}

export class Base64Error extends Error {
  constructor(character: number, what: string) {
    super(`base64 text, character ${character}: ${what}`);
    this.name = "Base64Error";
  }
}

// Shape: the length of `text` is a multiple of four. at: its first character's place, for errors.
export function decodeByTable(text: string, at: number): Uint8Array {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let to = 0;
  for (let i = 0; i < text.length; i += 4) {
    const a = CODES[text.charCodeAt(i) & 0xff];
    const b = CODES[text.charCodeAt(i + 1) & 0xff];
    const c = CODES[text.charCodeAt(i + 2) & 0xff];
    const d = CODES[text.charCodeAt(i + 3) & 0xff];
    const last = i + 4 === text.length;
    if ((a | b | c | d) > 63) checkGroup(text, i, at, last ? padding : 0);
    const bits = (a << 18) | (b << 12) | ((c & 63) << 6) | (d & 63);
    bytes[to++] = bits >>> 16; // what is past the end is not stored
    bytes[to++] = bits >>> 8;
    bytes[to++] = bits;
  }
  return bytes;
}

function checkGroup(text: string, group: number, at: number, padding: number): void {
  for (let i = group; i < group + 4 - padding; ++i) {
    if (CODES[text.charCodeAt(i) & 0xff] > 63) {
      throw new Base64Error(at + i, "not a base64 character");
    }
  }
}

function makeCodes(): Uint8Array {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const codes = new Uint8Array(256).fill(BAD);
  for (let i = 0; i < alphabet.length; ++i) codes[alphabet.charCodeAt(i)] = i;
  codes["=".charCodeAt(0)] = PAD;
  return codes;
}
