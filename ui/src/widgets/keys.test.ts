import { test } from "node:test";
import assert from "node:assert/strict";
import { commandOf, keyOf, KEYS } from "./keys";

const press = (key: string, held: { ctrlKey?: boolean; shiftKey?: boolean } = {}) => ({
  key, ctrlKey: held.ctrlKey ?? false, altKey: false, metaKey: false,
  shiftKey: held.shiftKey ?? false,
});

test("no key does two things", () => {
  const all = KEYS.flatMap((entry) => entry.keys);
  assert.equal(new Set(all).size, all.length);
});

test("every key does what the help says", () => {
  for (const entry of KEYS) {
    for (const key of entry.keys) {
      assert.equal(commandOf(press(key)), entry.command);
    }
  }
});

test("keys held with Ctrl are the browser's, others are nobody's", () => {
  assert.equal(commandOf(press("f", { ctrlKey: true })), null);
  assert.equal(commandOf(press("q")), null);
  assert.equal(commandOf(press("F10")), null);
  assert.equal(commandOf(press("F10", { shiftKey: true })), "menu");
});

test("buttons show the key as people call it", () => {
  assert.equal(keyOf("out"), "Esc");
  assert.equal(keyOf("merge"), "m");
  assert.equal(keyOf("unheard-of"), "");
});
