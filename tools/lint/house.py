"""House rules that a machine can check: no unfinished marks, licences, seeds for each fuzzer.

    tools/lint/house.py [--self-test]
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = (".c", ".cc", ".h", ".py", ".sh", ".def", ".ts", ".css")
UNFINISHED = re.compile(r"\b(TO" "DO|FIX" "ME|X" "XX|HA" "CK)\\b")
LICENCES = [  # folder, what its files must say
    ("abi/", "SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only"),
    ("bpf/unwind/", "SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only"),
    ("bpf/", "SPDX-License-Identifier: GPL-2.0-only"),
]


def check(path, text):
    suffix = pathlib.PurePosixPath(path).suffix
    if suffix not in CODE and not path.startswith("tools/"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{number}"
        if UNFINISHED.search(line):
            yield f"{place}: marks something unfinished"
        if "\t" in line and path.startswith("src/"):
            yield f"{place}: has a tab"
        if re.match(r"using namespace\b", line) and not re.search(r"_(test|fuzz)\.cc$", path):
            yield f"{place}: using namespace"
    if suffix in (".c", ".h"):
        for folder, licence in LICENCES:
            if path.startswith(folder):
                if licence not in text[:300]:
                    yield f"{path}: must say {licence}"
                break


def check_fuzz(files):
    for path in files:
        if path.endswith("_fuzz.cc"):
            corpus = path.removesuffix(".cc") + "_corpus/"
            if not any(other.startswith(corpus) for other in files):
                yield f"{path}: has no seeds in {corpus}"


SELF_TEST = [  # path, text, number of violations
    ("src/a.cc", "int a;\n", 0),
    ("src/a.cc", "// TO" "DO: more\n", 1),
    ("src/a.cc", "\tint a;\n", 1),
    ("src/a.cc", "using namespace std;\n", 1),
    ("abi/a.h", "#pragma once\n", 1),
    ("abi/a.h", "/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */\n", 0),
    ("bpf/a.bpf.c", "// SPDX-License-Identifier: Apache-2.0\n", 1),
    ("docs/a.md", "TO" "DO\n", 0),
]


def self_test():
    failures = [f"{path}: {text!r} gives {list(check(path, text))}"
                for path, text, count in SELF_TEST if len(list(check(path, text))) != count]
    if len(list(check_fuzz(["src/a_fuzz.cc"]))) != 1:
        failures.append("a fuzz target without seeds is not found")
    print("\n".join(failures) or f"{len(SELF_TEST) + 1} rules hold")
    return 1 if failures else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    files = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    found = []
    for path in files:
        if path.startswith("third_party/") or not (ROOT / path).is_file():
            continue
        if pathlib.PurePosixPath(path).suffix in CODE or path.startswith("tools/"):
            found += check(path, (ROOT / path).read_text())
    found += check_fuzz(files)
    print("\n".join(found) or f"{len(files)} files keep the house rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
