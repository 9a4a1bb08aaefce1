import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteReader, PageDataError } from "./varint";

function readerOf(...bytes: number[]): ByteReader {
  return new ByteReader(Uint8Array.from(bytes), "TEST", 0, bytes.length);
}

test("numbers of every length", () => {
  assert.equal(readerOf(0).varint(), 0);
  assert.equal(readerOf(0x7f).varint(), 127);
  assert.equal(readerOf(0x80, 1).varint(), 128);
  assert.equal(readerOf(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f).varint(), 2 ** 53 - 1);
  assert.equal(readerOf(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10).varint(), 2 ** 53);
});

test("numbers that are cut, too long or too large", () => {
  const cases: [ByteReader, RegExp][] = [
    [readerOf(), /TEST, byte 0: ends inside/],
    [readerOf(0x80, 0x80), /byte 2: ends inside/],
    [readerOf(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), /above 2\^53/],
    [readerOf(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), /longer than 8/],
  ];
  for (const [reader, message] of cases) assert.throws(() => reader.varint(), message);
});

test("counts and lengths are held against what is left", () => {
  const count = (): number => readerOf(0xff, 0x7f, 1).count(1, "things");
  assert.throws(count, /16383 things do not fit 1 bytes/);
  assert.throws(() => readerOf(1).take(2), PageDataError);
  assert.throws(() => readerOf(1).expectEnd(), /1 bytes too many/);
  assert.throws(() => readerOf(9).varintUpTo(8, "it"), /it is 9, at most 8/);
});
