"""Every report of `go tool pprof`, top, peek, traces and list, says what our table, our stacks and
our page say of the same profile; Firefox's file has the same figures."""
import collections
import gzip
import json
import os
import re
import subprocess

import pytest

import page
import page_data
import pprof_writer
from conftest import PROGRAMS
from workloads import find_program

GO = find_program("go", "/usr/local/go/bin/go")
GPERFTOOLS = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
pytestmark = pytest.mark.skipif(not GO, reason="needs the program go")
LIMITS = ["-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]
MARK = re.compile(r" \((partial-)?inline\)$")
VALUE = r"(\.|-?\d+)"


def go_pprof(path, *arguments):
    folder = os.path.dirname(path)
    done = subprocess.run([GO, "tool", "pprof", "-symbolize=none", "-sample_index=samples",
                           *arguments, path], capture_output=True, text=True, timeout=120,
                          check=False, cwd=folder, env={**os.environ, "PPROF_TMPDIR": folder})
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(text):
    return 0 if text == "." else int(text)


def table(path):
    """{function, or [binary] for code without a name: (self, total)} as vesta prints it."""
    report = json.loads(page.vesta("top", path, "--json", "-n", "100000", "--type", "samples")
                        .stdout)
    rows = {}
    for row in report["functions"]:
        name = row["name"] or (f"[{row['binary']}]" if row["binary"] else "<unknown>")
        own, total = rows.get(name, (0, 0))
        rows[name] = own + row["self"], total + row["total"]
    return rows


def go_top(path):
    rows = {}
    for line in go_pprof(path, "-top", *LIMITS).splitlines():
        match = re.match(rf"\s*{VALUE}\s+{{0}}\s+{{0}}\s+{VALUE}\s+{{0}}\s+(.+)$"
                         .format(r"[\d.e+-]+%"), line)
        if match:
            rows[MARK.sub("", match[3])] = int(match[1]), int(match[2])
    return rows


def stacks(path):
    """{names root first: samples} of our folded stacks, with the word of Go's tool for code without
    a name: its binary."""
    text = page.vesta("convert", path, "-", "--to", "folded", "--by", "none", "--type", "samples")
    result = collections.Counter()
    for line in text.stdout.splitlines():
        stack, _, value = line.rpartition(" ")
        names = [re.sub(r"_\[k\]$", "", name) for name in stack.split(";")]
        result[tuple(re.sub(r"^(.+)\+0x[0-9a-f]+$", r"[\1]", name) for name in names)] += int(value)
    return result


def go_traces(path):
    """{names root first: samples}"""
    result = collections.Counter()
    for block in re.split(r"^-+\+-+$", go_pprof(path, "-traces"), flags=re.M)[1:]:
        lines = [line for line in block.splitlines() if line.strip()]
        while lines and not re.match(r"\s*-?\d+   \S", lines[0]):
            del lines[0]  # labels
        if lines:
            first = re.match(r"\s*(-?\d+)   (.+)$", lines[0])
            names = [MARK.sub("", name.strip()) for name in [first[2], *lines[1:]]]
            result[tuple(name.replace(";", ":") for name in reversed(names))] += int(first[1])
    return result


def edges_of(counted):
    """{(caller, callee): samples}: a sample counts once, a function is not its own caller."""
    result = collections.Counter()
    for stack, value in counted.items():
        for edge in set(zip(stack, stack[1:])):
            if value and edge[0] != edge[1]:
                result[edge] += value
    return result


def go_peek(path):
    """{(caller, callee): samples} of the callers, and the same of the callees."""
    above, below = {}, {}
    for block in re.split(r"^-+\+-+$", go_pprof(path, "-peek=.", *LIMITS), flags=re.M)[2:]:
        rows = []
        for line in block.splitlines():
            edge = re.match(r"\s*(-?\d+)\s+[\d.e+-]+% \|   (.+)$", line)
            own = re.match(rf"\s*{VALUE}\s.*%\s+\| (\S.*)$", line)
            if edge:
                rows.append((MARK.sub("", edge[2]), int(edge[1])))
            elif own:
                rows.append((MARK.sub("", own[2]), None))
        here = next((at for at, (_, value) in enumerate(rows) if value is None), None)
        if here is None:
            continue
        name = rows[here][0]
        above |= {(caller, name): value for caller, value in rows[:here]}
        below |= {(name, callee): value for callee, value in rows[here + 1:]}
    return above, below


def go_list(path, sources):
    """{function: (self, sum of the lines' totals)} and {(function, line): (self, total)}"""
    routines, lines, name = {}, {}, ""
    text = go_pprof(path, "-list=.", f"-source_path={sources}")
    for line in text.splitlines():
        if match := re.match(r"ROUTINE =+ (.+) in (.*)$", line):
            name = match[1]
        elif match := re.match(rf"\s*{VALUE}\s+{VALUE} \(flat, cum\)", line):
            own, total = routines.get(name, (0, 0))
            routines[name] = own + number(match[1]), total + number(match[2])
        elif (match := re.match(rf"\s*{VALUE}\s+{VALUE}\s+(\d+):", line)) and \
                (match[1], match[2]) != (".", "."):
            lines[name, int(match[3])] = number(match[1]), number(match[2])
    return routines, lines


def page_lines(path, html):
    """The same out of the page: {(function, line): (self, total)}."""
    page.vesta("convert", path, html)
    data = page_data.load(html)
    index = next(i for i, kind in enumerate(data.meta["value_types"]) if kind["type"] == "samples")
    result = {}
    for (function, line), (own, total) in data.lines[index, 0].items():
        key = data.functions[function].name, line
        before = result.get(key, (0, 0))
        result[key] = before[0] + own, before[1] + total
    return result


def write_sources(folder):
    """Files with as many lines as are asked for, so that Go's tool can list them."""
    for name in {frame.file for _, frames, _ in page.STACKS for frame in frames if frame.file}:
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write("".join(f"line {line}\n" for line in range(1, 500)))


def made_profile(folder, ending):
    """A profile with lines, recursion and the kernel, through one of our outputs, as pprof."""
    source = pprof_writer.write(f"{folder}/source.pb.gz", page.STACKS)
    page.vesta("convert", source, f"{folder}/one.{ending}", "--type", "samples", "--by", "none")
    page.vesta("convert", f"{folder}/one.{ending}", f"{folder}/two.pb.gz")
    return f"{folder}/two.pb.gz"


def go_profile(folder):
    if not os.path.exists(f"{PROGRAMS}/go_validate"):
        pytest.skip("needs the program go_validate")
    subprocess.run([f"{PROGRAMS}/go_validate", f"{folder}/own.prof", "60"], check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    return f"{folder}/own.prof"


def gperftools_profile(folder):
    if not os.path.exists(GPERFTOOLS):
        pytest.skip(f"needs {GPERFTOOLS}")
    subprocess.run([f"{PROGRAMS}/planted", "200"], check=True, timeout=60, capture_output=True,
                   env={**os.environ, "LD_PRELOAD": GPERFTOOLS, "CPUPROFILE": f"{folder}/old.prof",
                        "CPUPROFILE_FREQUENCY": "500"})
    go_pprof(f"{folder}/old.prof", "-proto", f"-output={folder}/new.pb.gz")
    return f"{folder}/new.pb.gz"


MAKERS = {"our pprof": lambda folder: made_profile(folder, "pb.gz"),
          "our folded": lambda folder: made_profile(folder, "folded"),
          "our speedscope": lambda folder: made_profile(folder, "speedscope.json"),
          "Go": go_profile, "gperftools": gperftools_profile}


@pytest.fixture(params=MAKERS)
def profile(request, folder):
    return MAKERS[request.param](folder)


def test_go_top_is_our_table(profile):
    theirs = go_top(profile)
    assert len(theirs) > 1 and theirs == table(profile)


def test_go_traces_are_our_stacks(profile):
    theirs = go_traces(profile)
    ours = stacks(profile)
    assert sum(theirs.values()) == sum(ours.values()) > 0
    assert theirs == ours


def test_go_peek_has_our_callers_and_callees(profile):
    above, below = go_peek(profile)
    assert above == below and len(above) > 1
    assert above == edges_of(stacks(profile))


def test_go_lists_our_lines(folder):
    path = made_profile(folder, "pb.gz")
    write_sources(folder)
    routines, lines = go_list(path, folder)
    ours = page_lines(path, f"{folder}/a.html")
    assert lines == ours and lines["query", 77] == (300, 3900)
    rows = table(path)
    assert {name: own for name, (own, _) in routines.items()} == \
        {name: rows[name][0] for name in routines} and len(routines) > 400


def test_go_lists_our_lines_of_a_profile_of_go(folder):
    path = go_profile(folder)
    routines, lines = go_list(path, "/")
    ours = page_lines(path, f"{folder}/a.html")
    assert lines and {key: ours.get(key) for key in lines} == lines
    for name, (own, total) in routines.items():
        mine = [value for (function, _), value in ours.items() if function == name]
        assert (own, total) == (sum(v[0] for v in mine), sum(v[1] for v in mine)), name


def firefox_figures(profile):
    """{function: (self, total)} by the tables of a processed profile."""
    shared, figures = profile["shared"], {}
    frames, functions = shared["frameTable"], shared["funcTable"]
    tree = shared["stackTable"]
    for thread in profile["threads"]:
        for leaf, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            seen, at = [], leaf
            while at is not None:
                function = functions["name"][frames["func"][tree["frame"][at]]]
                seen.append(shared["stringArray"][function])
                at = tree["prefix"][at]
            for position, name in enumerate(dict.fromkeys(seen)):
                own, total = figures.get(name, (0, 0))
                figures[name] = own + (weight if position == 0 else 0), total + weight
    return figures


def test_firefox_file_has_the_figures_of_go(folder):
    source = pprof_writer.write(f"{folder}/source.pb.gz", page.STACKS)
    page.vesta("convert", source, f"{folder}/a.firefox.json.gz", "--type", "samples")
    with gzip.open(f"{folder}/a.firefox.json.gz") as file:
        assert firefox_figures(json.load(file)) == go_top(source)
