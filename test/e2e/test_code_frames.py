"""Stacks through code without call frame information: its rules come from the machine code."""
import os
import platform

import pytest

from conftest import PROGRAMS, frames_match, weight
from test_stacks import holds_in_order

pytestmark = [
    pytest.mark.needs_bpf,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="rules from code are for x86-64"),
]


def samples_of(record, name):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/{name}", "3")
    samples = recording.of(name[:15])
    assert weight(samples) >= 100, recording.stderr
    return recording, samples


def whole_share(samples):
    """Part of the stacks that end at a root."""
    return weight(s for s in samples if "incomplete" not in s.labels) / weight(samples)


@pytest.mark.needs_program("PROGRAMS/libc_work_static")
def test_code_of_musl_is_walked(record):
    recording, samples = samples_of(record, "libc_work_static")
    assert whole_share(samples) >= 0.98
    assert recording.complete_share(samples) >= 0.98
    assert recording.book["details"]["code_bytes_scanned_for_rules"] > 10000
    for inside, caller in [("^qsort", "^sort_in_libc$"), ("^printf_core$", "^print_in_libc$"),
                           ("^memset$", "^copy_in_libc$")]:
        part = [s for s in samples if frames_match(s.names, inside)]
        assert weight(part) >= 2, inside
        assert recording.share(caller, part) >= 0.98, inside
        assert recording.share("^main$", part) >= 0.98, inside


# Without names, functions are found by calls, by their addresses, and behind each other.
@pytest.mark.parametrize("name", ["libc_work_stripped", "libc_work_dynamic"])
def test_code_of_stripped_musl_is_walked(name, record):
    if not os.path.exists(f"{PROGRAMS}/{name}"):
        pytest.skip(f"needs the program {name}: its compiler was not there at build time")
    _, samples = samples_of(record, name)
    assert whole_share(samples) >= 0.98


def test_frame_pointer_below_other_registers(record):
    recording, samples = samples_of(record, "pushed_first")
    inside = [s for s in samples if frames_match(s.names, "^pushed_first$")]
    assert weight(inside) >= 100
    assert whole_share(samples) >= 0.98
    in_order = [s for s in inside if holds_in_order(
        s.names, ["pushed_first", "calls_assembly", "main"])]
    assert weight(in_order) / weight(inside) >= 0.98
    assert recording.complete_share(samples) >= 0.98
