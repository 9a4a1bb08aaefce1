"""Our files in other people's tools, their files in ours."""
import json
import os
import re
import subprocess

import pytest

import pprof
from conftest import PROGRAMS, VESTA
from workloads import find_program

GO = find_program("go", "/usr/local/go/bin/go")
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "mins": 60e9, "hrs": 3600e9}


def go_pprof(*arguments):
    """Runs `go tool pprof`; what it misses it says on stderr, which does not matter."""
    done = subprocess.run([GO, "tool", "pprof", "-symbolize=none", *arguments], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "GOTOOLCHAIN": "local"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def nanoseconds(text):
    number, unit = re.fullmatch(r"(-?[0-9.]+)([a-z]*)", text).groups()
    return float(number) * UNITS[unit or "ns"]


def go_top(path):
    """{name: (flat ns, cum ns)} of every function, unrounded as far as pprof prints it."""
    rows = {}
    for line in go_pprof("-top", "-unit=ns", "-nodecount=100000", "-nodefraction=0",
                         "-edgefraction=0", path).splitlines():
        match = re.match(r"\s*(\S+)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%\s+(.+)$", line)
        if match:
            name = re.sub(r" \(inline\)$| \(partial-inline\)$", "", match[3])
            rows[name] = (nanoseconds(match[1]), nanoseconds(match[2]))
    return rows


@pytest.fixture
def go_profile(folder):
    """The CPU profile that the Go program wrote of itself."""
    path = f"{folder}/cpu.prof"
    subprocess.run([f"{PROGRAMS}/go_validate", path, "40"], check=True, capture_output=True,
                   timeout=120)
    return path


@pytest.mark.needs_program("PROGRAMS/go_validate")
@pytest.mark.skipif(GO is None, reason="needs the program go")
def test_table_of_a_go_profile_equals_go_tool_pprof(go_profile):
    done = subprocess.run([VESTA, "top", "--format", "json", "--rows", "100000", go_profile],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    ours = {row["name"]: (row["self"], row["total"]) for row in table["functions"]}
    theirs = go_top(go_profile)
    assert "main.slowValidate" in theirs
    assert {name: ours.get(name) for name in theirs} == theirs
    assert set(ours) == set(theirs)


@pytest.mark.needs_program("PROGRAMS/go_validate")
def test_go_profile_shows_the_slow_validation(go_profile):
    done = subprocess.run([VESTA, "top", "--sort", "total", go_profile], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "main.slowValidate" in done.stdout and "regexp.(*Regexp)" in done.stdout
    totals = pprof.self_and_total(pprof.load(go_profile).samples, 1)
    whole = sum(self_ns for self_ns, _ in totals.values())
    assert totals["main.slowValidate"][1] >= 0.9 * whole


@pytest.mark.needs_bpf
@pytest.mark.needs_program("PROGRAMS/go_validate")
def test_go_program_recorded_from_outside_shows_the_same(record, folder):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/go_validate", f"{folder}/own.prof",
                       "60")
    samples = recording.of("go_validate")
    assert recording.share(r"^main\.slowValidate$", samples) >= 0.85
    assert recording.share(r"^regexp(/syntax)?\.", samples) >= 0.85
    assert recording.share(r"^main\.fastValidate$", samples) <= 0.1
    assert recording.complete_share(samples) >= 0.97
    assert "main.slowValidate" in recording.stdout


@pytest.mark.needs_bpf
@pytest.mark.skipif(GO is None, reason="needs the program go")
def test_go_tool_pprof_reads_what_we_write(record):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/deep_split", "2")
    top = go_top(recording.path)
    samples, index = recording.profile.samples, recording.profile.value_index("cpu")
    ours = pprof.self_and_total(samples, index)
    for name, (flat, cum) in top.items():
        if name.startswith("["):  # addresses without a name, joined by binary
            continue
        assert (flat, cum) == pytest.approx(ours[name]), name
    hot = next(name for name in top if "hot_leaf" in name)
    assert "Type: cpu" in go_pprof("-top", recording.path)
    assert "hot_step<38>" in go_pprof("-peek", "hot_leaf", recording.path)
    traces = go_pprof("-traces", recording.path)
    assert "hot_leaf" in traces and "_start" in traces
    assert "hot_leaf" in go_pprof("-raw", recording.path)
    assert re.search(r"process: .*deep_split", go_pprof("-tags", recording.path).replace("\n", " "))
    assert hot in ours


@pytest.mark.needs_bpf
def test_folded_lines_are_what_flame_graph_tools_read(record):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/deep_split", "1")
    with open(recording.path.replace(".pb.gz", ".folded"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines == sorted(set(lines)) or len(lines) == len(set(lines))
    for line in lines:
        assert re.fullmatch(r"[^;]+(;[^;]+)* [0-9]+", line), line
    hot = [line for line in lines if "hot_leaf" in line]
    assert hot and all(line.startswith("deep_split;_start;") for line in hot)
    assert any(re.search(r"main;.*hot_step<0>.*hot_step<38>.*;.*hot_leaf", line) for line in hot)
