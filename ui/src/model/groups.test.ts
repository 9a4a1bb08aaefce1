import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupedFunction, groupOf, scopesOf } from "./groups";
import { Colouring, COLOURINGS } from "./nouns";

function of(name: string, more: Partial<GroupedFunction> = {}): GroupedFunction {
  return { name, image: "/usr/bin/app", file: "", kind: "native", ...more };
}

test("binaries by their short names, the kernel's in brackets", () => {
  const cases: [GroupedFunction, string][] = [
    [of("f"), "app"],
    [of("f", { image: "" }), "unknown"],
    [of("f", { image: "[kernel.kallsyms]", kind: "kernel" }), "[kernel.kallsyms]"],
    [of("f", { image: "/lib/modules/6.1/fs/ext4.ko.xz", kind: "kernel" }), "[ext4]"],
    [of("f", { image: "", kind: "kernel" }), "[kernel]"],
    [of("f", { image: "/boot/vmlinuz-6.1", kind: "kernel" }), "[kernel]"],
    [of("nginx", { kind: "process" }), "process"],
  ];
  for (const [func, wanted] of cases) assert.equal(groupOf(func, "binary"), wanted);
});

test("what a server cut is a group of its own, whatever the colouring", () => {
  const rest = of("[rest]", { image: "", kind: "other" });
  for (const colouring of COLOURINGS) assert.equal(groupOf(rest, colouring), "[rest]");
  assert.equal(groupOf(of("[rest]"), "binary"), "app", "a function of that name is none");
});

test("the kind of code is told from file, image and name", () => {
  const cases: [GroupedFunction, string][] = [
    [of("f", { kind: "kernel" }), "kernel"],
    [of("app+0x12", { kind: "unnamed" }), "unnamed"],
    [of("std::sort"), "native"],
    [of("main.main", { file: "/src/main.go" }), "Go"],
    [of("net/http.(*conn).serve"), "native"],
    [of("github.com/a/b.(*T).Run"), "Go"],
    [of("runtime.mallocgc"), "Go"],
    [of("com.example.Foo.bar"), "Java/Kotlin"],
    [of("java.util.HashMap.get"), "Java/Kotlin"],
    [of("foo", { file: "x/y.py" }), "Python"],
    [of("py::foo:/a/b.py"), "Python"],
    [of("LazyCompile:*render /app/x.js:3"), "JavaScript"],
    [of("Builtin:ArrayMap"), "generated code"],
    [of("core::ptr::drop::h0123456789abcdef"), "Rust"],
    [of("<alloc::Vec<T> as Clone>::clone"), "Rust"],
    [of("f", { file: "lib.rs" }), "Rust"],
    [of("state::layer::sort::{closure#3}"), "Rust"],
    [of("state::run::{{closure}}"), "Rust"],
    [of("f", { file: "a.rb" }), "Ruby"],
    [of("f", { file: "a.php" }), "PHP"],
    [of("tramp", { image: "//anon" }), "generated code"],
    [of("f", { file: "dir.go/noending" }), "native"],
  ];
  for (const [func, wanted] of cases) assert.equal(groupOf(func, "kind"), wanted, func.name);
});

test("packages, namespaces, crates and modules", () => {
  const go = { file: "x.go" };
  const cases: [GroupedFunction, string][] = [
    [of("net/http.(*conn).serve", go), "net/http"],
    [of("github.com/a/b%2ev2.Run", go), "github.com/a/b.v2"],
    [of("pkg.Map[go.shape.int/x.y]", go), "pkg"],
    [of("main.main.func1", go), "main"],
    [of("com.example.app.Foo.bar(int)"), "com.example.app"],
    [of("std::vector<a::b>::push_back(int)"), "std"],
    [of("duckdb::parquet::Reader::Read(int)"), "duckdb::parquet"],
    [of("void ns::f<int>(ns2::T)"), "ns"],
    [of("(anonymous namespace)::f"), "app"],
    [of("malloc"), "app"],
    [of("a::b::c::d::e"), "a::b"],
    [of("a::b::c::d::e f::g()"), "f"],
    [of("hash_table<int, T>::find(int)"), "app"],
    [of("state::layer::sort::{closure#3}"), "state"],
    [of("tokio::runtime::run::h0123456789abcdef"), "tokio"],
    [of("<tokio::Foo as core::Bar>::f"), "tokio"],
    [of("f", { file: "/usr/lib/python3.11/json/decoder.py" }), "json.decoder"],
    [of("f", { file: "/v/site-packages/numpy/__init__.py" }), "numpy"],
  ];
  for (const [func, wanted] of cases) assert.equal(groupOf(func, "package"), wanted, func.name);
});

test("modules are folders", () => {
  assert.equal(groupOf(of("f", { file: "/src/a/b.cc" }), "module"), "/src/a");
  assert.equal(groupOf(of("f"), "module"), "/usr/bin");
  assert.equal(groupOf(of("f", { image: "" }), "module"), "unknown");
});

test("scopes are not looked for inside brackets", () => {
  assert.deepEqual(scopesOf("a::b<c::d>::e(f::g)"), ["a", "b<c::d>", "e"]);
  assert.deepEqual(scopesOf("int a::f(int)"), ["a", "f"]);
  assert.deepEqual(scopesOf("a::operator bool()"), ["a", "operator bool"]);
  assert.deepEqual(scopesOf("f"), ["f"]);
  assert.deepEqual(scopesOf("a::b::c::d"), ["a", "b", "c", "d"]);
  assert.deepEqual(scopesOf("a::b::c::d", 3), ["a", "b", "c::d"]);
  assert.deepEqual(scopesOf("a::b", 3), ["a", "b"]);
});

test("hostile names take no long", () => {
  const names = ["<".repeat(20000), "a.".repeat(20000), "a/".repeat(20000), "::".repeat(20000),
    "(anonymous namespace)".repeat(2000), "a-".repeat(20000) + "!", " ".repeat(20000),
    "operator ".repeat(5000)];
  const colourings: Colouring[] = ["binary", "kind", "package", "module"];
  const begin = performance.now();
  for (const name of names) {
    for (const colouring of colourings) assert.equal(typeof groupOf(of(name), colouring), "string");
    for (const file of ["x.go", "x.java", "x.rs", "x.py"]) groupOf(of(name, { file }), "package");
  }
  assert.ok(performance.now() - begin < 2000);
});
