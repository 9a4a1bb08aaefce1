import assert from "node:assert/strict";
import { test } from "node:test";
import { Base64Decoder, decodeByTable } from "./base64";

const BYTES = Uint8Array.from({ length: 301 }, (_, i) => (i * 37) & 0xff);

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

test("pieces of any length give the bytes", () => {
  const text = base64Of(BYTES);
  for (const size of [1, 2, 3, 4, 5, 64, 1000]) {
    const decoder = new Base64Decoder();
    const got: number[] = [];
    for (let i = 0; i < text.length; i += size) {
      got.push(...decoder.decode(text.slice(i, i + size)));
    }
    decoder.finish();
    assert.deepEqual(Uint8Array.from(got), BYTES);
  }
});

test("every length of padding", () => {
  for (let length = 0; length < 9; ++length) {
    const bytes = BYTES.subarray(0, length);
    assert.deepEqual(decodeByTable(base64Of(bytes), 0), Uint8Array.from(bytes));
  }
});

test("what is not base64 is refused with its place", () => {
  assert.throws(() => new Base64Decoder().decode("AAAAA*AA"), /character 5: not a base64/);
  assert.throws(() => decodeByTable("AA=A", 8), /character 10/);
  const cut = new Base64Decoder();
  cut.decode("AAAAA");
  assert.throws(() => cut.finish(), /character 4: ends inside/);
  const padded = new Base64Decoder();
  padded.decode("AA==");
  assert.throws(() => padded.decode("AAAA"), /after the padding/);
});
