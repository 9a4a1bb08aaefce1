"""Stacks that the kernel's walker cannot finish by itself: rules over other registers than the stack
and frame pointer. The agent finishes them with all registers, from a copy of the stack."""
import os
import re

import pytest

from conftest import PROGRAMS, weight
from test_stacks import holds_in_order, part, run_program

pytestmark = pytest.mark.needs_bpf


def finished_with_all_registers(recording):
    details = recording.book["details"]
    assert details["walks_with_all_registers_completed"] >= 0.97 * \
        details["walks_with_all_registers"]
    return details["walks_with_all_registers_completed"]


@pytest.mark.parametrize("loop, name", [
    ("bpf_loop", "cfa_by_register"), ("bounded", "cfa_by_register"),
    ("bpf_loop", "cfa_in_debug_frame_none"), ("bpf_loop", "cfa_in_debug_frame_zlib"),
    ("bpf_loop", "cfa_in_debug_frame_zstd")])
def test_frame_addresses_over_saved_registers(loop, name, record):
    if not os.path.exists(f"{PROGRAMS}/{name}"):
        pytest.skip(f"needs the program {name}, which is for x86-64")
    recording = record("--unwind-loop", loop, "--frequency", "99", "--",
                       f"{PROGRAMS}/{name}", "2")
    samples = recording.of(name[:15])
    assert weight(samples) >= 50, recording.stderr
    whole = ["leaf_work", "call_by_expression", "middle_work", "call_by_rbx", "main"]
    assert part(samples, lambda s: holds_in_order(s.names, whole)) >= 0.97
    assert recording.complete_share(samples) >= 0.97
    assert finished_with_all_registers(recording) >= 0.9 * weight(samples)
    assert recording.book["details"]["rule_copies"] >= 0.8 * weight(samples)
    assert recording.book["incomplete"]["rule_unsupported"] == 0


def test_callers_of_lazy_binding_are_found(record):
    recording, samples = run_program(record, "lazy_binder", f"{PROGRAMS}/liblazy_caller.so",
                                     seconds="3", frequency="299")

    def is_binding(sample):
        """The dynamic loader works directly for the library's code."""
        if "lazy_run" not in sample.names:
            return False
        callee = sample.frames[sample.names.index("lazy_run") - 1]
        return bool(callee.mapping and re.search(r"/ld-linux|/ld-2", callee.mapping.filename))

    binding = [s for s in samples if is_binding(s)]
    assert part(samples, is_binding) >= 0.3, "most of the time goes into binding"
    assert part(binding, lambda s: holds_in_order(s.names, ["lazy_run", "bind_once", "main"])) == 1
    assert recording.complete_share(samples) >= 0.97
    # In the resolver itself, interrupted, rbx is known to the walker as well.
    assert finished_with_all_registers(recording) >= 0.15 * weight(binding)


def test_process_that_needs_the_agent_for_each_sample_stays_cheap(record):
    recording = record("--frequency", "999", "--", f"{PROGRAMS}/cfa_by_register", "3")
    details = recording.book["details"]
    assert details["rule_copies_stopped"] >= 2, "more than 200 in each second"
    assert 400 <= details["rule_copies"] <= 1100
    unfinished = recording.book["incomplete"]["rule_unsupported"]
    kept = recording.stage("kernel")["kept"]
    assert details["rule_copies"] + unfinished >= 0.9 * kept, "each is either finished or counted"
