"""perf's own stackcollapse.py, which perf ships for FlameGraph, finds the same tree in a recording as
vesta does in the text of perf script."""
import collections
import os
import re
import subprocess

import pytest

import page
from conftest import PROGRAMS

pytestmark = [pytest.mark.needs_program("perf"), pytest.mark.needs_root]


def run_perf(*arguments):
    return subprocess.run(["perf", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True, timeout=120).stdout


def counted(text):
    """{frames root first: samples}, code without a name as perf's script calls it."""
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [re.sub(r"^\[.*\](_\[k\])?$", "[unknown]", frame) for frame in stack.split(";")]
        stacks[tuple(frames)] += int(count)
    return stacks


@pytest.mark.parametrize("program", ["frame_pointer", "planted"])
def test_perf_collapses_to_our_tree(folder, program):
    script = f"{run_perf('--exec-path').strip()}/scripts/python/stackcollapse.py"
    if not os.path.exists(script) or "on" not in re.findall(
            r"libpython: \[\s*(\w+)", run_perf("version", "--build-options")):
        pytest.skip("this perf has no stackcollapse.py")
    data = f"{folder}/perf.data"
    run_perf("record", "-q", "-g", "-F", "499", "-e", "cpu-clock", "-o", data, "--",
             f"{PROGRAMS}/{program}", "1" if program == "frame_pointer" else "600")
    theirs = counted(run_perf("script", "-i", data, "-s", script, "--", "--kernel"))
    with open(f"{folder}/perf.txt", "w", encoding="utf-8") as file:
        file.write(run_perf("script", "-i", data))
    ours = counted(page.vesta("convert", f"{folder}/perf.txt", "-", "--to", "folded").stdout)
    assert sum(theirs.values()) > 10
    assert ours == theirs
