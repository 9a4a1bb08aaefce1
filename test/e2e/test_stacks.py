"""Stacks that are hard to walk: what each program's stack must be is known from its source."""
import os
import re

import pytest

from conftest import PROGRAMS, frames_match, weight

pytestmark = pytest.mark.needs_bpf

PATH_ORDER = {
    "spinner": ["spin_leaf_plain", "spin_middle_plain", "spin_outer_plain", "main"],
    "static_glibc": ["spin_leaf_static_glibc", "spin_middle_static_glibc",
                     "spin_outer_static_glibc", "main"],
    "static_pie": ["spin_leaf_static_pie", "spin_middle_static_pie", "spin_outer_static_pie",
                   "main"],
    "static_musl": ["spin_leaf_static_musl", "spin_middle_static_musl", "spin_outer_static_musl",
                    "main"],
    "frame_pointer": ["spin_leaf_frame_pointer", "spin_middle_frame_pointer",
                      "spin_outer_frame_pointer", "main"],
}


def holds_in_order(names, wanted):
    """True when `wanted` occur in `names` one right after the other."""
    size = len(wanted)
    return any(names[i:i + size] == wanted for i in range(len(names) - size + 1))


def run_program(record, name, *arguments, seconds="2", frequency="499"):
    recording = record("--frequency", frequency, "--", f"{PROGRAMS}/{name}", seconds, *arguments)
    samples = recording.of(name[:15])
    assert weight(samples) >= 100, recording.stderr
    return recording, samples


def part(samples, condition):
    return weight(s for s in samples if condition(s)) / (weight(samples) or 1)


@pytest.mark.parametrize("name", PATH_ORDER)
def test_known_path_is_found_whole(name, record):
    if not os.path.exists(f"{PROGRAMS}/{name}"):
        pytest.skip(f"needs the program {name}: its compiler was not there at build time")
    recording, samples = run_program(record, name)
    in_order = part(samples, lambda s: holds_in_order(s.names, PATH_ORDER[name]))
    assert in_order >= 0.98
    assert recording.complete_share(samples) >= 0.97


def test_recursion_600_deep_is_walked_to_the_root(record):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/deep_recursion", "600", "4")
    samples = recording.of("deep_recursion")
    deep = part(samples, lambda s: sum(bool(re.match(r"recurse_\d$", n)) for n in s.names) == 600)
    assert deep >= 0.94, "all but the first moments, when the tables are not there yet"
    for sample in samples:
        if "recursion_leaf" in sample.names:
            assert sample.names[-1] == "_start" or sample.labels.get("incomplete")


def test_fork_without_exec_gives_both_processes_their_own_stacks(record):
    recording, samples = run_program(record, "forker")
    by_pid = {}
    for sample in samples:
        by_pid.setdefault(sample.labels["pid"], []).append(sample)
    functions = {}
    for pid, group in by_pid.items():
        for function in ("parent_spin", "child_spin"):
            if recording.share(f"^{function}$", group) > 0.8:
                functions[function] = pid
    assert set(functions) == {"parent_spin", "child_spin"}
    assert functions["parent_spin"] != functions["child_spin"]
    assert recording.complete_share(samples) >= 0.97


def test_code_generated_after_a_fork_is_named_by_its_own_process(record):
    recording, samples = run_program(record, "code_forker", seconds="3")
    forked = {}
    for sample in samples:
        forked.setdefault("child_code" in sample.names, set()).add(sample.labels["pid"])
    child = forked[True]
    assert len(child) == 1
    of_child = [s for s in samples if s.labels["pid"] in child]
    of_parent = [s for s in samples if s.labels["pid"] not in child]
    for group, own, others in ((of_parent, "parent_late_code", "child_code"),
                               (of_child, "child_code", "parent_late_code")):
        recording.assert_functions(group, "^spin_both$")
        assert recording.share("^parent_code$", group) >= 0.4, "it was there before the fork"
        assert recording.share(f"^{own}$", group) >= 0.4
        assert recording.share(f"^{others}$", group) == 0


def test_generated_code_keeps_its_names_when_its_process_is_long_gone(record):
    recording = record("--frequency", "499", "--", "sh", "-c",
                       f"{PROGRAMS}/code_forker 1; exec sleep 3")
    samples = recording.of("code_forker")
    for name in ("parent_code", "parent_late_code", "child_code"):
        assert recording.share(f"^{name}$", samples) >= 0.1


def test_exec_over_a_running_pid_changes_names_and_keeps_the_pid(record):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/execer", "1.5",
                       f"{PROGRAMS}/static_pie", "1.5")
    before, after = recording.of("execer"), recording.of("static_pie")
    recording.assert_functions(before, "^before_exec_spin$")
    recording.assert_functions(after, "^spin_leaf_static_pie$")
    assert {s.labels["pid"] for s in before} == {s.labels["pid"] for s in after}
    assert recording.share("^before_exec_spin$", after) == 0
    assert recording.share("^spin_leaf_static_pie$", before) == 0
    assert recording.complete_share(before + after) >= 0.95


def test_code_loaded_while_recording_is_named(record):
    recording, samples = run_program(record, "dlopener", f"{PROGRAMS}/libdlopener_plugin.so",
                                     seconds="3")
    assert part(samples, lambda s: holds_in_order(
        s.names, ["plugin_spin", "plugin_entry", "call_plugin", "main"])) >= 0.55
    assert recording.share("^before_dlopen_spin$", samples) >= 0.25
    assert recording.complete_share(samples) >= 0.95


def test_signal_handlers_stand_on_what_they_interrupted(record):
    recording, samples = run_program(record, "signals", seconds="3")
    for handler, work in (("on_prof", "prof_handler_work"), ("on_alarm", "alarm_handler_work")):
        inside = [s for s in samples if work in s.names]
        assert weight(inside) >= 20, f"{work} is in {weight(inside)} samples"
        crossed = part(inside, lambda s: frames_match(s.names, f"^{handler}$")
                       and frames_match(s.names, "^interrupted_spin$")
                       and s.names.index(work) < s.names.index("interrupted_spin"))
        assert crossed >= 0.97, f"{work}: {crossed}"
    assert recording.complete_share(samples) >= 0.97


@pytest.mark.parametrize("name", ["plt_loop", "plt_loop_ibt"])
def test_callers_of_plt_stubs_are_found(name, record):
    recording, samples = run_program(record, name)
    assert recording.share("^plt_caller$", samples) >= 0.97
    assert recording.complete_share(samples) >= 0.97


def test_caller_of_the_vdso_is_found(record):
    recording, samples = run_program(record, "vdso_loop")
    assert recording.share("^vdso_caller$", samples) >= 0.97
    in_vdso = [s for s in samples if any(f.mapping and "vdso" in f.mapping.filename
                                         for f in s.frames)]
    assert weight(in_vdso) >= 20
    assert recording.share("^vdso_caller$", in_vdso) >= 0.97
    assert recording.complete_share(samples) >= 0.97
