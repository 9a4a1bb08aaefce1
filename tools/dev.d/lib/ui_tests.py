"""Unit tests of the page: esbuild bundles each ui/src/**/*.test.ts, node runs it, TAP is counted."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / "build" / "ui-test"
SECONDS_MAX = 120
RESULT = re.compile(r"( *)(not ok|ok) \d+(?: - (.*?))?(?: # ([A-Z]+)\b *(.*))?$")


def test_files():
    return sorted((ROOT / "ui/src").rglob("*.test.ts"))


def bundle(run):
    """Text of esbuild's complaint; empty when all is bundled."""
    worker = ROOT / "build/ui/worker.txt"
    command = ["esbuild", *map(str, test_files()), "--bundle", "--platform=node", "--target=node18",
               "--format=cjs", "--sourcemap=inline", "--log-level=warning", f"--outdir={OUT}",
               f"--outbase={ROOT / 'ui/src'}", "--loader:.txt=text",
               f"--alias:worker-source={worker}"]
    status, output = run(command, SECONDS_MAX)
    return output or f"esbuild ended with status {status}" if status else ""


def results(tap):
    """(name, "passed" | "failed" | "skipped", text) of each test that holds no others.

    A line is followed by its details between "---" and "...", and stands after those of its
    subtests, which are indented further."""
    found, names, depth_before, detail_indent = [], [], 0, None
    lines = tap.splitlines()
    for number, line in enumerate(lines):
        if detail_indent is not None:
            if line == detail_indent + "...":
                detail_indent = None
            elif found and found[-1][1] == "failed":
                found[-1][2] += line[len(detail_indent):] + "\n"
            continue
        if line.strip() == "---":
            detail_indent = line[: len(line) - 3]
            continue
        heading = re.match(r"( *)# Subtest: (.*)", line)
        if heading:
            names = names[: len(heading.group(1)) // 4] + [heading.group(2)]
            continue
        match = RESULT.fullmatch(line)
        if not match:
            continue
        depth = len(match.group(1)) // 4
        holds_others, depth_before = depth < depth_before, depth
        own = match.group(2) == "not ok"
        if holds_others and not (own and not any(f[1] == "failed" for f in found)):
            continue
        outcome = "failed" if own else "skipped" if match.group(4) else "passed"
        name = " ".join(names[:depth] + [match.group(3) or str(number)])
        found.append([name.replace("\\#", "#"), outcome, match.group(5) or ""])
    return [tuple(case) for case in found]


def cases(run, make_case):
    """Runs all files; make_case(name, outcome, text) makes one result.

    run(command, seconds): (exit status, output)."""
    files = test_files()
    if not files:
        return [make_case("ui", "failed", "there is no ui/src/**/*.test.ts")]
    complaint = bundle(run)
    if complaint:
        return [make_case("ui.bundle", "failed", complaint)]
    made = []
    for path in files:
        stem = path.relative_to(ROOT / "ui/src").as_posix().removesuffix(".ts")
        status, output = run(["node", "--enable-source-maps", "--test-reporter=tap",
                              str(OUT / f"{stem}.js")], SECONDS_MAX)
        name = "ui." + stem.removesuffix(".test")
        found = results(output)
        made += [make_case(f"{name}: {test}", outcome, text) for test, outcome, text in found]
        if status != 0 and not any(outcome == "failed" for _, outcome, _ in found):
            made.append(make_case(name, "failed", f"exit status {status}\n{output[-6000:]}"))
        elif not found:
            made.append(make_case(name, "failed", "no test ran in it"))
    return made
