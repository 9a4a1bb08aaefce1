"""Rules for the page (ui/): who imports whom, and how its TypeScript and CSS are written.

    tools/lint/page.py [--self-test]

The layers, lowest first: base, model, engine, api, widgets, pages; each sees itself and those below
it. Only api asks a network, and only one file sees uPlot.
No file sees itself by way of others, types included.
Types are checked by tsc (ui/tsconfig.json).
"""
import pathlib
import posixpath
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["ui/src/base", "ui/src/model", "ui/src/engine", "ui/src/api", "ui/src/widgets",
          "ui/src/pages"]
ASKS_NETWORK = "ui/src/api"
SEES_UPLOT = "ui/src/widgets/time_chart.ts"
# What runs in the worker, too, or is pure: no element, no clock, no request.
PURE = LAYERS[:2]
WORKER = LAYERS[:3]
LINES_MAX = 600
COLUMNS_MAX = 100

IMPORT = re.compile(r'^\s*(?:import|export)\b[^"\';]*?\bfrom\s*["\']([^"\']+)["\']|'
                    r'^\s*import\s*["\']([^"\']+)["\']|\bimport\(["\']([^"\']+)["\']\)', re.M)
FORBIDDEN = [  # pattern, what is wrong with it
    (r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment)\b",
     "makes elements out of text; names of functions are hostile: use textContent"),
    (r"\beval\(|\bnew Function\(|\b(setTimeout|setInterval)\(\s*[\"'`]", "runs text as code"),
    (r"(:|<|\bas|\||&|=>)\s*any\b(?!\s*[:(.])|,\s*any\s*>|\bany\[\]",
     "`any` switches the types off"),
    (r"@ts-(ignore|nocheck|expect-error)", "switches the types off"),
    (r"\bconsole\.", "writes to the console"),
    (r"(?<![.\w])(?<!private )(fetch|importScripts)\(|\b(window|self|globalThis)\.fetch\b|"
     r"\bXMLHttpRequest\b|\bWebSocket\b|\bsendBeacon\b|\bEventSource\b",
     "asks the network; only ui/src/api does"),
]
IN_PURE = [(r"\bMath\.random\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bsetTimeout\(",
            "a pure folder has no clock and no chance")]
IN_WORKER = [(r"\bdocument\.(createElement|body|documentElement|querySelector|getElementById|"
              r"addEventListener)|\bwindow\.|\blocalStorage\b|\bHTML\w*Element\b",
              "has no element to see: it also runs in the worker")]
CSS_FORBIDDEN = [(r"@import(?! \"\.\.?/)|url\(\s*[\"']?(?!data:)", "loads another file")]


def without_comments(text):
    """Comments become blanks; strings stay, since a request's address is one."""
    strings = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`'
    return re.sub(rf"({strings})|//[^\n]*|/\*.*?\*/",
                  lambda m: m.group(1) or "\n" * m.group().count("\n"), text, flags=re.S)


def layer_of(path):
    return next((layer for layer in LAYERS if path.startswith(layer + "/")), None)


def check_import(path, name):
    here = layer_of(path)
    if path.endswith(".test.ts") and name in ("node:test", "node:assert/strict"):
        return None
    if name == "worker-source":
        return None if here in LAYERS[3:] else "only a page starts the worker"
    if name == "uplot":
        return None if path == SEES_UPLOT else f"only {SEES_UPLOT} sees it"
    if not name.startswith("."):
        return f'"{name}" is not of this tree: the page has no dependency'
    there = layer_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), name)))
    if there is None:
        return f'"{name}" is in none of the layers'
    if LAYERS.index(there) > LAYERS.index(here):
        return f"{here} must not see {there}"
    return None


def imports_of(path, text):
    """Files of this tree that a file imports."""
    for match in IMPORT.finditer(without_comments(text)):
        name = match.group(1) or match.group(2) or match.group(3)
        if name.startswith("."):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) + ".ts"


def circles(files):
    """Ways from a file back to it, each once; files: path to text."""
    imports = {path: sorted(set(imports_of(path, text)) & set(files))
               for path, text in files.items()}
    done = set()

    def follow(path, way):
        if path in way:
            yield "a circle of imports: " + " -> ".join([*way[way.index(path):], path])
        elif path not in done:
            for other in imports[path]:
                yield from follow(other, [*way, path])
            done.add(path)

    for path in sorted(files):
        yield from follow(path, [])


def check_lines(path, text):
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        yield f"{path}: {len(lines)} lines, at most {LINES_MAX}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS_MAX}"
        if line != line.rstrip():
            yield f"{path}:{number}: space at the end"
        if "\t" in line:
            yield f"{path}:{number}: has a tab"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield f"{path}: must end in one new line"


def check_forbidden(path, text, rules):
    for pattern, reason in rules:
        for match in re.finditer(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match.group().strip()}: {reason}"


def check(path, text):
    """Violations of one file, as texts."""
    yield from check_lines(path, text)
    if path.endswith(".css"):
        yield from check_forbidden(path, text, CSS_FORBIDDEN)
        return
    if layer_of(path) is None:
        if not path.endswith(".d.ts"):
            yield f"{path}: is in none of the layers"
        return
    code = without_comments(text)
    for match in IMPORT.finditer(code):
        wrong = check_import(path, match.group(1) or match.group(2) or match.group(3))
        if wrong:
            yield f"{path}: {wrong}"
    yield from check_forbidden(path, text, [rule for rule in FORBIDDEN if "@ts" in rule[0]])
    rules = [rule for rule in FORBIDDEN if "@ts" not in rule[0]]
    if layer_of(path) == ASKS_NETWORK:
        rules = [rule for rule in rules if "fetch" not in rule[0]]
    test = path.endswith(".test.ts")
    if not test:
        rules += IN_PURE if layer_of(path) in PURE else []
        rules += IN_WORKER if layer_of(path) in WORKER else []
    yield from check_forbidden(path, code, [r for r in rules if not (test and "console" in r[0])])


SELF_TEST = [  # path, text, what the only violation says; None = allowed
    ("ui/src/model/a.ts", 'import { a } from "../base/b";\n', None),
    ("ui/src/model/a.ts", 'import {\n  a,\n} from "../engine/b";\n', "must not see ui/src/engine"),
    ("ui/src/base/a.ts", 'export * from "../model/b";\n', "must not see ui/src/model"),
    ("ui/src/model/a.ts", 'import { a } from "react";\n', "no dependency"),
    ("ui/src/model/a.ts", 'import { a } from "node:test";\n', "no dependency"),
    ("ui/src/model/a.test.ts", 'import { a } from "node:test";\n', None),
    ("ui/src/engine/a.ts", 'import w from "worker-source";\n', "only a page"),
    ("ui/src/pages/a.ts", 'import w from "worker-source";\n', None),
    ("ui/other/a.ts", "let a = 1;\n", "none of the layers"),
    ("ui/src/pages/a.ts", "a.innerHTML = b;\n", "hostile"),
    ("ui/src/pages/a.ts", "// innerHTML is not used\n", None),
    ("ui/src/pages/a.ts", "let a: any = 1;\n", "any"),
    ("ui/src/pages/a.ts", "let a: Map<string, any>;\n", "any"),
    ("ui/src/pages/a.ts", "const anyOf = [any, any.b];\n", None),
    ("ui/src/pages/a.ts", 'export type A = "b" | "c";\n', None),
    ("ui/src/pages/a.ts", "if (count > any(b)) return;\n", None),
    ("ui/src/pages/a.ts", "// @ts-ignore\n", "types off"),
    ("ui/src/pages/a.ts", "let a; \n", "space at the end"),
    ("ui/src/pages/a.ts", "let a;", "new line"),
    ("ui/src/pages/a.ts", "//" + "a" * 99 + "\n", "101 columns"),
    ("ui/src/pages/a.ts", 'const a = fetch("b");\n', "network"),
    ("ui/src/api/a.ts", 'const a = fetch("b");\n', None),
    ("ui/src/api/a.ts", 'import { a } from "../widgets/b";\n', "must not see ui/src/widgets"),
    ("ui/src/widgets/time_chart.ts", 'import uPlot from "uplot";\n', None),
    ("ui/src/widgets/a.ts", 'import uPlot from "uplot";\n', "only ui/src/widgets/time_chart.ts"),
    ("ui/src/pages/a.ts", "  private fetch(a: number) {\n    this.fetch(1);\n  }\n", None),
    ("ui/src/model/a.ts", "const a = Date.now();\n", "no clock"),
    ("ui/src/engine/a.ts", "document.body.append(a);\n", "worker"),
    ("ui/src/pages/a.css", "a { background: url(b.png); }\n", "another file"),
    ("ui/src/pages/a.css", "a { background: url(data:a); }\n", None),
]


CIRCLE_SELF_TEST = [  # the imports of each file, the only circle; None = none
    ({"a": ["b", "c"], "b": ["c"], "c": []}, None),
    ({"a": ["a"]}, "ui/src/base/a.ts -> ui/src/base/a.ts"),
    ({"a": ["b"], "b": ["c"], "c": ["b"]}, "ui/src/base/b.ts -> ui/src/base/c.ts -> "
                                           "ui/src/base/b.ts"),
]


def self_test():
    failures = []
    for imports, expected in CIRCLE_SELF_TEST:
        found = list(circles({
            f"ui/src/base/{name}.ts": "".join(f'import type {{\n  T }} from "./{other}";\n'
                                              for other in others)
            for name, others in imports.items()}))
        if found != ([f"a circle of imports: {expected}"] if expected else []):
            failures.append(f"{imports}\n    expected {expected!r}, found {found}")
    for path, text, expected in SELF_TEST:
        found = list(check(path, text))
        right = len(found) == 1 and expected in found[0] if expected else not found
        if not right:
            failures.append(f"{path}: {text}\n    expected {expected!r}, found {found}")
    print("\n".join(failures) or f"{len(SELF_TEST) + len(CIRCLE_SELF_TEST)} rules hold")
    return 1 if failures else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    files = [path for path in sorted((ROOT / "ui").rglob("*")) if path.suffix in (".ts", ".css")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    found = [violation for path, text in texts.items() for violation in check(path, text)]
    found += circles(texts)
    print("\n".join(found) or f"{len(files)} files of the page keep the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
