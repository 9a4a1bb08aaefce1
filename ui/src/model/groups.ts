// The key by which a function is coloured, and listed in the legend, for each colouring.
// Keys are told from names, binaries and files alone: a guess where those say little.

import { Colouring, FunctionKind } from "./nouns";
import { baseName } from "./functions";

// What a key is made from.
export interface GroupedFunction {
  name: string;
  image: string;
  file: string;
  kind: FunctionKind;
}

// Stands for what a server cut from its caller (flame::kRestName); no binary has it.
export const REST_KEY = "[rest]";

export function groupOf(func: GroupedFunction, colouring: Colouring): string {
  if (func.name === REST_KEY && func.image === "" && func.kind === "other") return REST_KEY;
  switch (colouring) {
    case "binary":
      return binaryOf(func);
    case "kind":
      return languageOf(func);
    case "package":
      return packageOf(func, languageOf(func)) || binaryOf(func);
    case "module":
      return moduleOf(func) || binaryOf(func);
  }
}

// The short name of the binary; the kernel and its modules as [name].
export function binaryOf(func: GroupedFunction): string {
  if (func.kind === "root") return "";
  if (func.kind === "process") return "process";
  const name = baseName(func.image);
  if (func.kind === "kernel") return name.startsWith("[") ? name : `[${kernelModule(name)}]`;
  if (name === "") return "unknown";
  return name;
}

function kernelModule(name: string): string {
  if (name === "" || name.startsWith("vmlinu")) return "kernel";
  return name.replace(/\.ko(\.[a-z0-9]+)?$/, "");
}

const LANGUAGE_OF_ENDING = new Map<string, string>([
  ["go", "Go"],
  ["java", "Java/Kotlin"],
  ["kt", "Java/Kotlin"],
  ["scala", "Java/Kotlin"],
  ["clj", "Java/Kotlin"],
  ["groovy", "Java/Kotlin"],
  ["py", "Python"],
  ["pyx", "Python"],
  ["js", "JavaScript"],
  ["mjs", "JavaScript"],
  ["cjs", "JavaScript"],
  ["ts", "JavaScript"],
  ["jsx", "JavaScript"],
  ["tsx", "JavaScript"],
  ["rb", "Ruby"],
  ["rs", "Rust"],
  ["php", "PHP"],
]);
const SCRIPT_CODE = /^(JS|LazyCompile|Function|Eval|Script)$/;
const V8_NAME =
  /^(JS|LazyCompile|Function|Eval|Script|RegExp|Builtin|BytecodeHandler|Stub):/;
const RUST_CLOSURE = /^::\{(\{closure\}\}|(closure|impl|shim)[#:])/;
const RUST_HASH = /^::h[0-9a-f]{16}$/;
const ANONYMOUS = "(anonymous namespace)";
const GENERATED_IMAGE = /^(\[?(jit|anon|heap|stack)\b|\/\/anon|\/memfd:|perf-\d+\.map|jitted-)/;

// The kind of code: kernel, native, or the language where it can be told.
export function languageOf(func: GroupedFunction): string {
  switch (func.kind) {
    case "root":
      return "";
    case "process":
    case "kernel":
    case "unnamed":
      return func.kind;
    default:
  }
  const ending = func.file.slice(func.file.lastIndexOf(".") + 1);
  const byFile = LANGUAGE_OF_ENDING.get(ending.toLowerCase());
  if (byFile !== undefined) return byFile;
  const byName = languageOfName(func.name);
  return byName ?? (GENERATED_IMAGE.test(func.image) ? "generated code" : "native");
}

const JAVA_NAME = /^([a-z_][\w]*[./])+[A-Z$][\w$]*\.[\w$<>]+/;
const GO_NAME = /^[\w-]+(\.[\w-]+)+\/[\w./~%-]*\.(\(\*?\w+(\[.*\])?\)\.)?\w/;

function languageOfName(name: string): string | undefined {
  const v8 = V8_NAME.exec(name);
  if (v8 !== null) return SCRIPT_CODE.test(v8[1]) ? "JavaScript" : "generated code";
  if (name.startsWith("py::") || name === "<module>") return "Python";
  const brace = name.indexOf("::{");
  if (brace >= 0 && RUST_CLOSURE.test(name.slice(brace))) return "Rust";
  if (name.charAt(name.length - 17) === "h" && RUST_HASH.test(name.slice(-19))) return "Rust";
  if (name.startsWith("<") && /^<.+ as .+>::/.test(name)) return "Rust";
  if (!name.includes(".")) return undefined; // all that follows has a dot
  if (JAVA_NAME.test(name) && !name.includes("(*")) return "Java/Kotlin";
  if (/^(runtime|main|syscall|reflect|sync|net)\./.test(name)) return "Go";
  if (GO_NAME.test(name)) return "Go";
  return undefined;
}

// The package, crate, namespace or module that the function belongs to; "" = not known.
export function packageOf(func: GroupedFunction, language: string): string {
  const name = func.name;
  switch (language) {
    case "Go":
      return goPackage(name);
    case "Java/Kotlin":
      return javaPackage(name);
    case "Rust":
      return rustCrate(name);
    case "Python":
      return pythonModule(func);
    case "native":
      return func.kind === "folded" ? "" : outerNamespace(name);
    default:
      return "";
  }
}

function goPackage(name: string): string {
  const generic = name.indexOf("[");
  const head = generic < 0 ? name : name.slice(0, generic);
  const slash = head.lastIndexOf("/");
  const dot = head.indexOf(".", slash + 1);
  return dot < 0 ? "" : head.slice(0, dot).replace(/%2e/g, ".");
}

function javaPackage(name: string): string {
  const head = name.replace(/\(.*$/, "").replace(/\//g, ".");
  const match = /^((?:[a-z_][\w]*\.)+)[A-Z$]/.exec(head);
  return match === null ? "" : match[1].slice(0, -1);
}

function rustCrate(name: string): string {
  const match = /^[<&*\s]*(?:mut |dyn |impl )*([A-Za-z_]\w*)::/.exec(name);
  return match === null ? "" : match[1];
}

function pythonModule(func: GroupedFunction): string {
  const file = func.file.replace(/\.pyx?$/, "");
  const inside = /(?:site-packages|dist-packages|python3?(?:\.\d+)?)\/(.*)$/.exec(file);
  const path = inside === null ? baseName(file) : inside[1];
  return path.replace(/\/__init__$/, "").split("/").slice(0, 2).join(".");
}

// The first one or two namespaces of a C++ name. What has template arguments is a class.
function outerNamespace(name: string): string {
  if (!name.includes("::")) return "";
  const outer = scopesOf(name, name.includes(" ") ? Infinity : 4).slice(0, -1);
  const known = outer.filter((scope) => scope !== ANONYMOUS);
  const template = known.findIndex((scope) => scope.includes("<"));
  const spaces = template < 0 ? known : known.slice(0, template);
  const short = spaces[0] === "std" || known.length < 3 ? 1 : 2;
  return spaces.slice(0, short).join("::");
}

// The parts of a qualified name between its `::`, the function's own name last; what stands in
// brackets is not looked into, a return type before the name and parameters after it are left out.
// most: the looking ends with so many parts; the last one is then all that is left.
export function scopesOf(name: string, most = Infinity): string[] {
  const scopes: string[] = [];
  let begin = 0;
  let angle = 0;
  let at = 0;
  for (; at < name.length && scopes.length < most - 1; ++at) {
    const c = name.charCodeAt(at);
    if (c === 0x3c) ++angle;
    else if (c === 0x3e && angle > 0) --angle;
    else if (angle > 0) continue;
    else if (c === 0x28) {
      if (!name.startsWith(ANONYMOUS, at)) break;
      at += ANONYMOUS.length - 1;
    } else if (c === 0x20) {
      if (scopes.length > 0 && /operator$/.test(name.slice(begin, at))) continue;
      scopes.length = 0;
      begin = at + 1;
    } else if (c === 0x3a && name.charCodeAt(at + 1) === 0x3a) {
      if (at > begin) scopes.push(name.slice(begin, at));
      begin = at + 2;
      ++at;
    }
  }
  const end = scopes.length < most - 1 ? at : name.length;
  if (end > begin) scopes.push(name.slice(begin, end));
  return scopes;
}

// The folder of the source file, or of the binary.
function moduleOf(func: GroupedFunction): string {
  if (func.kind === "root" || func.kind === "process") return "";
  const path = func.file !== "" ? func.file : func.image;
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "" : path.slice(0, slash);
}
