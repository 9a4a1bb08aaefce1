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
    result = accuracy.measure(record, folder, accuracy.programs()["deep_split"], seconds=10,
                              frequency=999, perf_frequency=199)
    seen, perf = result["vesta"], result["perf"]
    assert seen["complete_percent"] >= 98 and seen["right_percent"] >= 98, result
    assert seen["share_error"] <= 3, result
    assert perf["right_percent"] >= 90, "perf walks the same stacks: " + str(perf["wrong"])
    assert max(abs(a - b) for a, b in zip(seen["shares"], perf["shares"])) <= 0.05, result
    assert 80 <= result["kept_percent"] <= 110, result


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
