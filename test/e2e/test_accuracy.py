"""Shares and stacks against a program that knows its own.

Margins are wide here, since CI shares its
cores; `tools/dev bench accuracy` measures 30 s at 999 Hz against the real ones.
"""
import time

import pytest

import accuracy
import bpf_stats

pytestmark = pytest.mark.needs_bpf


@pytest.mark.needs_program("PROGRAMS/deep_split")
@pytest.mark.needs_program("perf")
def test_shares_and_paths_of_a_program_without_frame_pointers(record, folder):
    result = accuracy.measure(record, folder, seconds=10, frequency=999, perf_frequency=199)
    assert result["vesta"]["complete"] >= 0.98, result
    worst = accuracy.worst_difference(result)
    assert worst["share_from_own"] <= 3 and worst["path_from_own"] <= 3, result
    assert worst["share_from_perf"] <= 5 and worst["path_from_perf"] <= 5, result
    assert 0.8 <= result["vesta"]["samples"] / result["expected_samples"] <= 1.1, result


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
