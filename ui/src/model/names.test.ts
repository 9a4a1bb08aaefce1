import { test } from "node:test";
import assert from "node:assert/strict";
import { shortenName } from "./names";

const CPP = "app::db::Table<std::vector<Row>, int>::insert(Row const&, std::pair<int, int>) const";

test("parameters go first, then template arguments, then namespaces", () => {
  assert.equal(shortenName(CPP, 200), CPP);
  assert.equal(shortenName(CPP, 60), "app::db::Table<std::vector<Row>, int>::insert");
  assert.equal(shortenName(CPP, 30), "app::db::Table::insert");
  assert.equal(shortenName(CPP, 20), "db::Table::insert");
  assert.equal(shortenName(CPP, 10), "insert");
});

test("packages of other languages go from the left", () => {
  assert.equal(shortenName("com.example.shop.Cart.add", 10), "Cart.add");
  assert.equal(shortenName("github.com/foo/bar/pkg.(*Type).Method", 20), "pkg.(*Type).Method");
  assert.equal(shortenName("java.util.ArrayList.<init>", 16), "ArrayList.<init>");
});

test("operators keep their signs", () => {
  assert.equal(shortenName("a::very_long_name::operator()(int)", 33), "a::very_long_name::operator()");
  assert.equal(shortenName("name_space::Type::operator<", 20), "Type::operator<");
});

test("what is left loses its middle, or its end when there is no room", () => {
  assert.equal(shortenName("abcdefghijklmnopqrst", 10), "abcdef…rst");
  assert.equal(shortenName("abcdefghijklmnopqrst", 4), "abc…");
  assert.equal(shortenName("abcdefgh", 2), "");
});

test("never longer than asked, never half a character", () => {
  const names = [CPP, "\u{1f600}\u{1f601}\u{1f602}\u{1f603}\u{1f604}\u{1f605}", "<<<<>>>>(((", "::::::::", ")))))",
    "operator()", "a.b.c.d.e", "//////"];
  for (const name of names) {
    for (let most = 0; most < name.length + 2; most++) {
      const short = shortenName(name, most);
      assert.ok(short.length <= most, `${name} ${most}`);
      assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(short), `${name} ${most}`);
    }
  }
});
