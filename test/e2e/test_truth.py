"""Whole call paths of programs that know them: test/programs/truth.

Margins are wide and runs are short here, since CI shares its cores; `tools/dev bench accuracy`
shows exact values.
"""
import os

import pytest

import accuracy
from conftest import PROGRAMS

pytestmark = pytest.mark.needs_bpf

SECONDS, FREQUENCY = 1.5, 999
NAMES = """asm_cfi_rbp asm_neither asm_other_rbp c_calls_go c_split c_static c_static_musl
c_static_pie c_threads cgo_calls cxx_calls cxx_cet cxx_clang cxx_coroutines
cxx_exceptions cxx_lto cxx_o3 fork_exec go_stripped goroutines jit_anonymous jit_memfd
plt plt_ibt recurse_200 recurse_40 recurse_600 rust_calls signal_stacks stackful
swapcontext syscalls vdso vfork_spawn""".split()


def test_every_program_is_tried():
    assert set(accuracy.programs()) - {"deep_split"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_paths_are_right_as_the_program_knows_them(name, record, folder):
    path = f"{PROGRAMS}/truth/{name}"
    if not os.path.exists(path):
        pytest.skip(f"needs the program {name}: its compiler was not there at build time")
    result = accuracy.measure(record, folder, path, SECONDS, FREQUENCY)
    seen = result["vesta"]
    # The upper bound is wide: a thread's own clock stands still while the hypervisor takes the CPU.
    assert 80 <= result["kept_percent"] <= 150 and seen["inside"] >= 200, result
    assert seen["outside_percent"] <= 20, "start and end of the program, and its own loop"
    assert seen["right_percent"] >= 95, seen["wrong"]
    assert seen["ended_percent"] >= 97, seen["reasons"]
    assert seen["share_error"] <= max(6, 4 * seen["sigma"]), result
    if name == "syscalls":
        assert seen["kernel_percent"] >= 60, seen
