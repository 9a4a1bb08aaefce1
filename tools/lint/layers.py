"""Who may include whom: the layer rule of the tree as an allowlist, and as a test.

    tools/lint/layers.py [--self-test]

Three rules, checked on every C, C++ and BPF file:
1. A folder sees itself and the folders that MAY_SEE grants it; siblings do not see each other.
2. A header of a third party is seen by its one adapter only (ADAPTERS).
3. A pure folder has bytes or values in, values out: no file, clock, environment, thread or log.
Tests and fuzz targets stand beside their source and obey rule 1 and 2, but not 3.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

GROUND = ["src/base", "abi"]
NOUNS = GROUND + ["src/profile", "src/object", "src/dwarf"]
SHAPES = NOUNS + ["src/symbolize", "src/symbolize/index", "src/symbolize/index_build", "src/wire",
                  "src/flame"]
STAGES = ["src/agent/process", "src/agent/unwind", "src/agent/runtime", "src/agent/aggregate",
          "src/agent/limits", "src/agent/naming"]
SERVER = ["src/batch", "src/spool", "src/uplink", "src/store", "src/store/memory", "src/store/index", "src/store/duck", "src/store/symbols", "src/store/disk",
          "src/ingest", "src/query", "src/client", "src/server"]

# folder -> folders that it may include, lower layers first
MAY_SEE = {
    "abi": [],
    "bpf/compat": ["abi"],
    "bpf/unwind": ["abi", "bpf/compat"],
    "bpf": ["abi", "bpf/compat", "bpf/unwind"],
    "src/base": ["abi"],
    "src/profile": GROUND,
    "src/object": GROUND,
    "src/dwarf": ["src/base"],
    # asks debuginfod servers for files
    "src/symbolize": NOUNS + ["src/client"],
    "src/symbolize/index": ["src/base", "src/dwarf"],
    "src/symbolize/index_build": NOUNS + ["src/symbolize", "src/symbolize/index"],
    "src/wire": NOUNS + ["src/batch"],
    "src/flame": NOUNS,
    "src/batch": ["src/profile"],
    "src/book": ["src/base"],
    "src/store": GROUND + ["src/profile", "src/batch"],
    "src/store/memory": GROUND + ["src/profile", "src/store"],
    "src/store/contract": GROUND + ["src/profile", "src/store", "src/store/memory"],
    "src/store/index": GROUND + ["src/profile", "src/store"],
    "src/store/duck": GROUND + ["src/store"],
    "src/store/symbols": GROUND + ["src/store", "src/store/index"],
    "src/store/disk": GROUND + ["src/profile", "src/store", "src/store/index", "src/store/duck",
                                "src/store/symbols"],
    "src/ingest": NOUNS + ["src/wire", "src/store"],
    "src/query": NOUNS + ["src/flame", "src/store"],
    "src/client": GROUND,
    "src/spool": ["src/base"],
    "src/uplink": GROUND + ["src/profile", "src/batch", "src/book", "src/wire", "src/spool", "src/client"],
    "src/server": SHAPES + ["src/batch", "src/book", "src/page", "ui", "src/store", "src/ingest", "src/query"],
    "ui": [],  # the built page as bytes; tools/lint/page.py has the layers inside
    "src/page": NOUNS + ["src/wire", "src/flame"],
    "src/agent/process": SHAPES,
    # the walker's steps, compiled for the host, and the tables that it reads
    "src/agent/unwind": SHAPES + ["bpf/unwind"],
    "src/agent/runtime": SHAPES,
    "src/agent/aggregate": SHAPES,
    "src/agent/limits": ["src/base"],
    # asks the images for their files
    "src/agent/naming": SHAPES + ["src/agent/process"],
    "src/agent/source": SHAPES + STAGES,
    "src/agent": SHAPES + STAGES + ["src/batch", "src/agent/source"],
    # what the user asks for
    "src/cli/settings": ["src/base", "src/wire"],
    # what runs for as long as it is left on: the agent, the store, and what joins the two
    "src/cli/always_on": SHAPES + STAGES + ["src/book", "src/agent/source", "src/agent", "src/cli/settings"] + SERVER,
    "src/cli": SHAPES + STAGES + ["src/book", "src/agent/source", "src/agent", "src/page", "ui", "src/cli/settings",
                                  "src/cli/always_on"] + SERVER,
    "test/support": SHAPES + STAGES,
    "test/programs": [],
    "bench": SHAPES + STAGES + ["src/agent/source", "src/agent"] + SERVER,
}
# What tests see beyond the folder that they test.
TESTS_SEE = ["test/support", "src/store/memory", "src/store/contract"]
# Single pairs (file, included file) beyond the rule, each with its reason.
EXTRA_PAIRS = {
    ("src/wire/go_pprof_test.cc", "src/flame/top_table.h"):
        "the oracle's table is compared with ours, on files that both have read",
}

# header pattern -> folders that may include it; None = tests only
ADAPTERS = [
    (r"vmlinux\.h|bpf/(bpf_helpers|bpf_core_read|bpf_tracing|bpf_endian)\.h", ["bpf"]),
    (r"linux/(bpf|perf_event)\.h", ["bpf", "src/agent/source", "src/wire"]),
    (r".*\.skel\.h|bpf/(libbpf|bpf|btf)\.h|linux/btf\.h", ["src/agent/source"]),
    (r"protozero/.*", ["src/wire"]),
    (r"zlib\.h", ["src/wire", "src/object"]),
    (r"zstd\.h", ["src/object", "src/wire", "src/store/index"]),
    (r"lzma\.h", ["src/symbolize/debug_file"]),
    (r"curl/.*", ["src/client"]),
    (r"microhttpd\.h|gnutls/.*", ["src/server"]),
    (r"re2/.*", ["src/query"]),
    (r".*duckdb\.h", ["src/store/duck"]),
    (r"(libiberty/)?demangle\.h|cxxabi\.h", ["src/symbolize"]),
    (r"xxhash\.h", ["src/object", "src/spool", "src/symbolize/index", "src/store/index", "src/store/disk",
                      "src/store/symbols", "src/cli"]),
    (r"(Zydis|Zycore)/.*", ["src/object"]),
    (r"elfutils/.*|gelf\.h|libelf\.h|dwarf\.h|libdw.*", None),
    (r"gtest/.*|gmock/.*", None),
]
# (file, header) -> why this file sees a header that ADAPTERS gives to another folder
EXTRA_HEADERS = {
    ("src/spool/spool_fixture.h", "gtest/gtest.h"):
        "a fixture that several tests beside it share",
    ("src/uplink/uplink_fixture.h", "gtest/gtest.h"):
        "a fixture that several tests beside it share",
    ("src/store/disk/store_fixture.h", "gtest/gtest.h"):
        "a fixture that several tests beside it share",
}

PURE = ["src/profile", "src/batch", "src/object", "src/dwarf", "src/wire", "src/flame", "src/page",
        "src/store/index", "src/ingest", "src/query",
        "bpf/unwind", "abi"]
IMPURE_HEADERS = re.compile(
    r"fstream|iostream|filesystem|chrono|ctime|time\.h|thread|mutex|shared_mutex|future|atomic|"
    r"condition_variable|unistd\.h|fcntl\.h|pthread\.h|sys/.*|src/base/log\.h")
IMPURE_CALLS = re.compile(
    r"\b(getenv|clock_gettime|gettimeofday|fopen|std::time|std::system|std::fprintf|std::printf)\s*\(")
# file -> why this file of a pure folder touches the world
IMPURE_FILES = {
    "src/wire/profile_file.cc": "reads and writes files around the pure codecs beside it",
    "src/store/index/chunked.h": "readers of an open dictionary need no lock",
    "src/store/index/page_cache.h": "unpacked pages are shared by all queries",
}


def is_test(path):
    return re.search(r"_(test|fuzz|bench)\.(cc|c)$", path) or path.startswith(
        ("test/", "bench/", "src/store/contract/"))


def folder_of(path):
    """The longest folder of MAY_SEE that holds the path; None when there is none."""
    parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in MAY_SEE), None)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def check_own(path, header):
    if path.startswith("test/programs/"):
        return None  # programs that get profiled: each is a world of its own
    here, there = folder_of(path), folder_of(header)
    if here is None:
        return "the folder is not in MAY_SEE of tools/lint/layers.py"
    if any(re.fullmatch(pattern, header) for pattern, _ in ADAPTERS):
        return None  # generated; ADAPTERS says who sees it
    if there is None or "/" not in header:
        return f'"{header}" is not written from the root of the tree'
    seen = [here] + MAY_SEE[here] + (TESTS_SEE if is_test(path) else [])
    if there in seen or (path, header) in EXTRA_PAIRS:
        return None
    return f"{here} must not see {there} ({header})"


def check_third_party(path, header):
    for pattern, folders in ADAPTERS:
        if not re.fullmatch(pattern, header) or (path, header) in EXTRA_HEADERS:
            continue
        if folders is None:
            if not is_test(path):
                return f"<{header}> is for tests only"
        elif not path.startswith(("test/", "bench/")) and not any(path.startswith(f + "/") for f in folders):
            return f"<{header}> is seen by {', '.join(folders)} only"
    return None


def check_purity(path, text, headers):
    if is_test(path) or path in IMPURE_FILES or folder_of(path) not in PURE:
        return
    for header in headers:
        if IMPURE_HEADERS.fullmatch(header):
            yield f"a pure folder must not include {header}"
    for call in IMPURE_CALLS.finditer(text):
        yield f"a pure folder must not call {call.group(1)}"


def check(path, text):
    """Violations of one file, as texts."""
    text = without_comments(text)
    found = []
    headers = []
    for kind, header in re.findall(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', text, re.M):
        headers.append(header)
        if kind == '"':
            found.append(check_own(path, header))
        found.append(check_third_party(path, header))
    found += check_purity(path, text, headers)
    return [f"{path}: {violation}" for violation in found if violation]


def source_files():
    for top in ("abi", "bpf", "src", "test", "bench", "ui"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".c", ".cc", ".h") and path.is_file():
                yield path.relative_to(ROOT).as_posix()


def stale_exceptions(files):
    texts = {f: (ROOT / f).read_text() for f in files}
    for path, header in list(EXTRA_PAIRS) + list(EXTRA_HEADERS):
        if header not in texts.get(path, ""):
            yield f"tools/lint/layers.py: the exception for {path} and {header} is not needed"
    for path in IMPURE_FILES:
        if path not in texts:
            yield f"tools/lint/layers.py: the exception for {path} is not needed"


SELF_TEST = [  # path, text, what the only violation says; None = allowed
    ("src/profile/a.cc", '#include "src/base/result.h"', None),
    ("src/profile/a.cc", '#include "src/object/elf_file.h"', "src/profile must not see src/object"),
    ("src/base/a.cc", '#include "src/profile/frame.h"', "src/base must not see src/profile"),
    ("src/wire/a.cc", '#include "src/flame/top.h"', "src/wire must not see src/flame"),
    ("src/agent/process/a.cc", '#include "src/agent/source/probe.h"', "must not see src/agent/source"),
    ("src/agent/agent.cc", '#include "src/cli/settings/options.h"', "src/agent must not see src/cli"),
    ("src/cli/a.cc", '#include "src/agent/source/probe.h"', None),
    ("src/cli/a.cc", '#include "options.h"', "not written from the root"),
    ("src/cli/always_on/a.cc", '#include "src/cli/output.h"', "must not see src/cli"),
    ("src/new/a.cc", '#include "src/base/result.h"', "not in MAY_SEE"),
    ("bpf/a.bpf.c", '#include "src/base/result.h"', "bpf must not see src/base"),
    ("bpf/a.bpf.c", "#include <bpf/bpf_helpers.h>", None),
    ("src/agent/agent.cc", "#include <bpf/libbpf.h>", "seen by src/agent/source only"),
    ("src/agent/agent.cc", '#include "on_cpu.skel.h"', "seen by src/agent/source only"),
    ("src/agent/source/a.cc", "#include <bpf/libbpf.h>", None),
    ("src/agent/source/a.cc", '#include "vmlinux.h"', "seen by bpf only"),
    ("src/profile/a.cc", "#include <protozero/pbf_writer.hpp>", "seen by src/wire only"),
    ("src/object/a.cc", "#include <libiberty/demangle.h>", "seen by src/symbolize only"),
    ("src/object/a.cc", "#include <elfutils/libdw.h>", "tests only"),
    ("src/object/a_test.cc", "#include <elfutils/libdw.h>", None),
    ("src/object/a.cc", "#include <unistd.h>", "must not include unistd.h"),
    ("src/flame/a.cc", "#include <chrono>", "must not include chrono"),
    ("src/wire/a.cc", "int x = getenv(\"A\") != nullptr;", "must not call getenv"),
    ("src/wire/a.cc", "// unlike getenv(), this is pure", None),
    ("src/wire/a.cc", "/* #include <thread> */", None),
    ("src/wire/a_test.cc", "#include <fstream>", None),
    ("src/base/a.cc", "#include <unistd.h>", None),
]


def self_test():
    failures = []
    for path, text, expected in SELF_TEST:
        found = check(path, text)
        right = len(found) == 1 and expected in found[0] if expected else not found
        if not right:
            failures.append(f"{path}: {text}\n    expected {expected!r}, found {found}")
    print("\n".join(failures) or f"{len(SELF_TEST)} rules hold")
    return 1 if failures else 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    files = list(source_files())
    found = [violation for f in files for violation in check(f, (ROOT / f).read_text())]
    found += stale_exceptions(files)
    print("\n".join(found) or f"{len(files)} files keep to their layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
