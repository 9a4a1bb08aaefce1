import assert from "node:assert/strict";
import { test } from "node:test";
import { cutMiddle, shortenName } from "./names";

const CASES: [string, number, string][] = [
  ["short", 10, "short"],
  ["std::vector<int>::push_back(int const&)", 30, "std::vector<int>::push_back"],
  ["std::vector<int, A<B>>::push_back(int)", 25, "std::vector::push_back"],
  ["a::b::Foo::bar(int) const", 12, "…::Foo::bar"],
  ["a::b::Foo::bar(int) const", 7, "…::bar"],
  ["(anonymous namespace)::f(int)", 25, "(anonymous namespace)::f"],
  ["(anonymous namespace)::f(int)", 12, "…::f"],
  ["a::operator()(int)", 15, "a::operator()"],
  ["ns::operator<<(std::ostream&, T<U> const&)", 20, "ns::operator<<"],
  ["github.com/foo/bar/pkg.(*Type).Method", 27, "…/bar/pkg.(*Type).Method"],
  ["github.com/foo/bar/pkg.(*Type).Method", 17, "…(*Type).Method"],
  ["github.com/foo/bar/pkg.(*Type).Method", 9, "…Method"],
  ["pkg.Map[go.shape.int,go.shape.string]", 10, "pkg.Map"],
  ["com.example.app.Service.run", 16, "…app.Service.run"],
  ["averyveryverylongname", 9, "aver…name"],
  ["libc.so.6+0x27249", 9, "libc…7249"],
  ["foo.part.0", 9, "…part.0"],
  ["a::averyveryverylongname", 9, "aver…name"],
  ["<alloc::vec::Vec<T> as Clone>::clone", 12, "…::clone"],
  ["abc", 1, ""],
  ["abc", 2, "a…"],
];

test("parameters go first, then packages from the left, then the middle", () => {
  for (const [name, width, wanted] of CASES) {
    assert.equal(shortenName(name, width), wanted, `${name} in ${width}`);
  }
});

test("no form is longer than the width, none is empty from two on, no pair is parted", () => {
  const odd = ["😀😀😀😀😀😀", "ns::f😀😀😀😀😀(int)", ">>><<<((", "..//::::", "((((", "a::::::::"];
  const names = [...CASES.map(([name]) => name), ...odd];
  for (const name of names) {
    for (let width = 0; width < name.length + 2; ++width) {
      const short = shortenName(name, width);
      assert.ok(short.length <= width, `${name} in ${width}: ${short}`);
      assert.ok(short !== "" || width < 2, `${name} in ${width} is empty`);
      assert.doesNotMatch(short, /[\ud800-\udbff](?![\udc00-\udfff])/);
      assert.doesNotMatch(short, /(?<![\ud800-\udbff])[\udc00-\udfff]/);
    }
  }
});

test("the middle goes last", () => {
  assert.equal(cutMiddle("abcdefgh", 5), "ab…gh");
  assert.equal(cutMiddle("abc", 3), "abc");
});
