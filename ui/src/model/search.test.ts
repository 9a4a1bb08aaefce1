import assert from "node:assert/strict";
import { test } from "node:test";
import { NameSearch } from "./search";
import { Loaded, loadFolded, loadTree } from "./test_trees";
import { transformTree } from "./transforms";

function found({ functions }: Loaded, text: string, more: object = {}): string[] {
  const query = { text, regexp: false, matchCase: false, ...more };
  const marks = new NameSearch(functions).match(query);
  return Array.from(marks.keys())
    .filter((func) => marks[func] === 1)
    .map((func) => functions.name(func));
}

const NAMES = loadFolded("Read;reader;lib.so!READ;x;read.so!other 1", "ad;re;dre 1");

test("text is found anywhere in a name, with or without case, not across names", () => {
  assert.deepEqual(found(NAMES, "read"), ["READ", "Read", "reader"]);
  assert.deepEqual(found(NAMES, "Read", { matchCase: true }), ["Read"]);
  assert.deepEqual(found(NAMES, "adre"), []);
  assert.deepEqual(found(NAMES, "usr/lib"), []);
  assert.deepEqual(found(NAMES, "re"), ["READ", "Read", "dre", "re", "reader"]);
});

test("regular expressions see whole names", () => {
  assert.deepEqual(found(NAMES, "^re", { regexp: true }), ["READ", "Read", "re", "reader"]);
  assert.deepEqual(found(NAMES, "^re..$", { regexp: true, matchCase: true }), []);
  assert.deepEqual(found(NAMES, "re$", { regexp: true }), ["dre", "re"]);
});

test("a regular expression that is wrong says why", () => {
  const search = new NameSearch(NAMES.functions);
  const query = { text: "(", regexp: true, matchCase: false };
  assert.match(search.errorOf(query) ?? "", /Unterminated group/);
  assert.equal(search.errorOf({ ...query, text: "a" }), null);
  assert.equal(search.errorOf({ ...query, regexp: false }), null);
});

test("names of other scripts", () => {
  const names = loadFolded("größe;GRÖSSE;İstanbul;日本語;a 1");
  assert.deepEqual(found(names, "GRÖ"), ["GRÖSSE", "größe"]);
  assert.deepEqual(found(names, "本"), ["日本語"]);
  assert.deepEqual(found(names, "stanbul"), ["İstanbul"]); // lower case is longer here
});

test("the text answer is that of a look at each name", () => {
  const functions = Array.from({ length: 300 }, (_, i) => {
    const name = `${"abc"[i % 3]}${"xyz"[(i * 7) % 3]}${i.toString(5)}`;
    return { name, image: i % 2 === 0 ? name : "" };
  }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const depth = [0, ...functions.map(() => 1)];
  const func = [0, ...functions.map((_, i) => i + 1)];
  const loaded = loadTree({ functions, depth, func, self: [[func]] });
  // Pieces of names, and what stands across the border of two strings.
  const { text: whole, starts } = loaded.functions.strings;
  const across = Array.from(starts.subarray(2, 40), (start) => whole.slice(start - 1, start + 1));
  for (const text of ["a", "x1", "bx", "22", "c", ...across]) {
    const wanted = functions.map((f) => f.name).filter((name) => name.includes(text));
    assert.deepEqual(found(loaded, text), wanted);
  }
});

test("folded boxes match by their parts, a library by its own name", () => {
  const loaded = loadFolded("a;b;c 1", "d;l.so!x;l.so!y 1");
  transformTree(loaded.tree, loaded.functions, { kind: "foldChains" });
  const image = "/usr/lib/l.so";
  transformTree(loaded.tree, loaded.functions, { kind: "collapseLibrary", image });
  assert.deepEqual(found(loaded, "b"), ["b", "a > b > c"]);
  assert.deepEqual(found(loaded, "^c$", { regexp: true }), ["c", "a > b > c"]);
  assert.deepEqual(found(loaded, "[l."), ["[l.so]"]);
});
