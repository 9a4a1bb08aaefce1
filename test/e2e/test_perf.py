"""Recordings of perf and of the JVM, read by `vesta convert`, against an own reading of what perf
and the JDK's jfr print from them."""
import collections
import json
import os
import re
import subprocess

import pytest

from conftest import PROGRAMS, SOURCES, VESTA
from workloads import find_program

needs_perf = pytest.mark.needs_program("perf")
needs_root = pytest.mark.needs_root
SPINNER = os.path.join(PROGRAMS, "spinner")


def folded(path, *arguments):
    """{frames root first, as one text: value}"""
    done = subprocess.run([VESTA, "convert", path, "-", "--to", "folded", *arguments],
                          capture_output=True, text=True, timeout=120, check=True)
    stacks = collections.Counter()
    for line in done.stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    return stacks


def collapse(text, event):
    """What a flame graph shows of perf script's text: {comm;root;...;leaf: samples} of one event.

    Knows only the plain form of perf script -F comm,tid,time,event,ip,sym,symoff,dso.
    """
    stacks = collections.Counter()
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and line[0] != "#"]
        if not lines:
            continue
        header = re.fullmatch(r"(.*?)\s+-?\d+\s+\d+\.\d+:\s+(\S+):\s*", lines[0])
        assert header, lines[0]
        if header[2].split(":")[0] != event:
            continue
        frames = []
        for line in lines[1:]:
            frame = re.fullmatch(r"\s*[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)", line)
            assert frame, line
            name, dso = frame[1], frame[2].removesuffix(" (deleted)")
            kernel = dso.startswith("[") and dso not in ("[unknown]", "[vdso]", "[vsyscall]")
            if name == "[unknown]" and dso != "[unknown]":
                name = "[kernel]" if dso.startswith("[kernel.kallsyms]") else dso.split("/")[-1]
                name = name if name[0] == "[" else f"[{name}]"
            frames.append(name.replace(";", ":") + ("_[k]" if kernel else ""))
        stacks[";".join([header[1].strip().replace(";", ":"), *reversed(frames)])] += 1
    return stacks


def record(folder, *arguments):
    path = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-o", path, *arguments], check=True, timeout=120,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def script(path, *arguments):
    return subprocess.run(["perf", "script", "-i", path, *arguments], check=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


@needs_perf
@needs_root
@pytest.mark.parametrize("how", [["-g"], ["--call-graph", "dwarf,4096"]])
def test_text_of_perf_script_is_its_flame_graph(folder, how):
    # The command's name has what headers are hard to read with.
    program = os.path.join(folder, "spin (1 2)")
    os.symlink(SPINNER, program)
    path = record(folder, *how, "-F", "499", "-e", "cpu-clock,page-faults", "--", program, "2")
    text = script(path, "-F", "comm,tid,time,event,ip,sym,symoff,dso")
    wanted = collapse(text, "cpu-clock")
    assert sum(wanted.values()) > 10, text[:500]
    full = os.path.join(folder, "full.txt")
    with open(full, "w", encoding="utf-8") as file:
        file.write(script(path))
    found = folded(full)
    if how == ["-g"]:
        assert found == wanted
    else:
        # Inlined functions have lines of their own only in the full text.
        assert found == collapse(re.sub(r"(\d+\.\d+:) +\d+ ", r"\1 ", script(path)), "cpu-clock")
    assert sum(folded(full, "--type", "page-faults").values()) > 0


@needs_perf
@needs_root
def test_perf_data_has_the_names_that_perf_shows(folder):
    program = os.path.join(PROGRAMS, "frame_pointer")
    path = record(folder, "-g", "-F", "499", "-e", "cpu-clock", "--", program, "2")
    wanted = collapse(script(path, "-F", "comm,tid,time,event,ip,sym,symoff,dso"), "cpu-clock")

    def functions(stacks):
        counts = collections.Counter()
        for stack, count in stacks.items():
            for frame in set(stack.split(";")[1:]):
                counts[frame] += count
        return counts

    found = folded(path)
    assert sum(found.values()) == sum(wanted.values()) > 10
    ours, theirs = functions(found), functions(wanted)
    own = [f"spin_{name}_frame_pointer" for name in ("leaf", "middle", "outer")] + ["main"]
    assert all(ours[name] == theirs[name] > 5 for name in own), (ours, theirs)
    # Of several names at one place of the kernel, perf shows another one at times.
    kernel = {name: count for name, count in theirs.items() if name.endswith("_[k]")}
    same = sum(min(count, ours[name]) for name, count in kernel.items())
    assert same >= 0.9 * sum(kernel.values()), (ours - theirs, theirs - ours)


@needs_perf
@needs_root
def test_copied_stacks_of_perf_data_are_refused_with_the_way_out(folder):
    path = record(folder, "--call-graph", "dwarf,4096", "-e", "cpu-clock", "--", SPINNER, "0.2")
    done = subprocess.run([VESTA, "top", path], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode != 0 and "perf script -i" in done.stderr, done.stderr


@pytest.mark.needs_program("jfr")
def test_jfr_has_the_stacks_that_the_jdk_prints(folder):
    """Needs a JDK (its jfr), which is no package of the tests: the unit tests make files by hand."""
    java = find_program("java")
    path = os.path.join(folder, "hot.jfr")
    subprocess.run([java, f"-XX:StartFlightRecording=filename={path},settings=profile",
                    f"{SOURCES}/JavaHot.java", "2"], check=True, timeout=120,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = subprocess.run(["jfr", "print", "--json", "--stack-depth", "1000", "--events",
                           "jdk.ExecutionSample", path], check=True, timeout=120,
                          capture_output=True, text=True).stdout
    wanted = collections.Counter()
    for event in json.loads(text)["recording"]["events"]:
        frames = [f"{frame['method']['type']['name']}.{frame['method']['name']}"
                  for frame in event["values"]["stackTrace"]["frames"]]
        frames = [re.sub(r"[+/]0x[^;]*(?=\.[^.]*$)", "", name).replace("/", ".") for name in frames]
        wanted[";".join(reversed(frames))] += 1
    assert any("JavaHot.hotMethod" in stack for stack in wanted)
    assert folded(path) == wanted
