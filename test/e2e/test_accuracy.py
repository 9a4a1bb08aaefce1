"""Shares and stacks against a program that knows its own.

Margins are wide here, since CI shares its
cores; `tools/dev bench accuracy` measures 30 s at 999 Hz against the real ones.
"""
import time

import pytest

import accuracy
import bpf_stats

TRUTH = accuracy.Truth({"program": "p", "paths": [
    {"frames": ["leaf", "outer", "main"], "goal_percent": 50, "cpu_ns": 600},
    {"frames": ["called", "*", "caller", "main"], "goal_percent": 20, "cpu_ns": 200},
    {"frames": ["?", "~lambda", "main"], "goal_percent": 20, "cpu_ns": 100},
    {"frames": ["below", "!", "above", "main"], "goal_percent": 10, "cpu_ns": 100,
     "ends": "no_rule"}]})


@pytest.mark.parametrize("names, reason, number, is_right", [
    ("leaf outer main start _start", "", 0, True),
    ("leaf outer main", "no_table", 0, True),
    ("leaf main _start", "", 0, False),
    ("leaf outer", "no_table", 0, False),
    ("leaf outer x main _start", "", 0, False),
    ("signal leaf outer main _start", "", 0, True),
    ("outer main _start", "", 0, True),
    ("throw unwind outer main _start", "", 0, True),
    ("throw unwind caller main _start", "", 1, True),
    ("throw unwind outer caller main _start", "", None, False),
    ("throw unwind main _start", "", None, False),
    ("leaf outer main outer _start", "", 0, False),
    ("called caller main _start", "", 1, True),
    ("called qsort msort caller main _start", "", 1, True),
    ("called qsort outer caller main _start", "", 1, False),
    ("jit f::lambda#1 main _start", "", 2, True),
    ("jit jit f::lambda#1 main _start", "", 2, False),
    ("below", "no_rule", 3, True),
    ("below", "no_mapping", 3, False),
    ("below", "", 3, False),
    ("below garbage", "no_rule", 3, False),
    ("below above main _start", "", 3, True),
    ("below main _start", "", 3, False),
    ("main _start", "", None, False),
])
def test_judge_knows_right_paths(names, reason, number, is_right):
    assert TRUTH.path_of(accuracy.Stack(names.split(), 1, False, reason)) == (number, is_right)


def test_judge_counts_shares_paths_and_ends():
    stacks = [accuracy.Stack(names.split(), weight, False, reason, at_root)
              for names, weight, reason, at_root in [
                  ("leaf outer main libc+1", 50, "", False), ("leaf main _start", 20, "", True),
                  ("called caller main libc+1", 20, "", False), ("below", 5, "no_rule", False),
                  ("garbage", 5, "no_mapping", False), ("main libc+1", 10, "", False),
                  ("leaf nowhere", 10, "", False)]]
    seen = accuracy.judge(TRUTH, stacks)
    assert (seen["samples"], seen["inside"]) == (120, 110)
    assert seen["shares"] == [0.7619, 0.19048, 0, 0.04762]
    assert seen["share_error"] == pytest.approx(16.19, abs=0.01), "600 of 1,000 are its own"
    assert seen["right_percent"] == pytest.approx(100 * 75 / 110, abs=0.01)
    assert seen["complete_percent"] == pytest.approx(100 * 100 / 120, abs=0.01)
    assert seen["ended_percent"] == pytest.approx(100 * 105 / 120, abs=0.01)
    assert seen["reasons"] == {"no_rule": 5, "no_mapping": 5, "unmarked, ends at nowhere": 10}


@pytest.mark.parametrize("name, plain", [
    ("unsigned int step<3>(unsigned int)", "step<3>"),
    ("call(std::function<unsigned int (unsigned int)> const&, int)", "call"),
    ("Square::Area(unsigned int) const", "Square::Area"),
    ("f(int) [clone .cold]", "f"), ("main.(*square).area", "main.(*square).area")])
def test_plain_names(name, plain):
    assert accuracy.plain_name(name) == plain



@pytest.mark.needs_bpf
@pytest.mark.needs_program("PROGRAMS/deep_split")
@pytest.mark.needs_program("perf")
def test_shares_and_paths_of_a_program_without_frame_pointers(record, folder):
    result = accuracy.measure(record, folder, accuracy.programs()["deep_split"], seconds=10,
                              frequency=999, perf_frequency=199)
    seen, perf = result["vesta"], result["perf"]
    assert seen["complete_percent"] >= 98 and seen["right_percent"] >= 98, result
    assert seen["share_error"] <= 3, result
    assert perf["right_percent"] >= 90, "perf walks the same stacks: " + str(perf["wrong"])
    assert max(abs(a - b) for a, b in zip(seen["shares"], perf["shares"])) <= 0.05, result
    assert 80 <= result["kept_percent"] <= 110, result


@pytest.mark.needs_bpf
def test_every_run_of_the_kernel_program_is_in_the_book(record):
    """received == run_cnt, read from outside after the last run."""
    with bpf_stats.statistics():
        process, base = record.start("--duration", "3s")
        programs, start = {}, time.monotonic()
        while process.poll() is None and time.monotonic() < start + 2.5:
            for program_id in bpf_stats.held_by(process.pid)[0] - set(programs):
                programs[program_id] = bpf_stats.Program(program_id)
            time.sleep(0.05)
        recording = record.result(process, base, start)
        runs = [program.runs()[0] for program in programs.values() if program.is_sampler]
    for program in programs.values():
        program.close()
    assert recording.code == 0, recording.stderr
    assert runs == [recording.stage("kernel")["received"]]
