"""Lines, inlined functions and names of programs that know them, in every form in which names come.

Nearly all forms run at the same time; margins are wide, `tools/dev bench accuracy --names` shows
exact values.
"""
import os
import tempfile

import pytest

import name_truth
from conftest import Recorder
from pprof import Frame, Mapping, Sample

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]

CPU_SECONDS, FREQUENCY = 0.4, 999


@pytest.fixture(scope="module")
def results():
    with tempfile.TemporaryDirectory(prefix="vesta-e2e-") as folder:
        os.chmod(folder, 0o755)
        yield name_truth.measure(Recorder(folder), folder, list(name_truth.FORMS),
                                 CPU_SECONDS, FREQUENCY)


@pytest.mark.parametrize("form", name_truth.FORMS)
def test_names_are_right_as_the_program_knows_them(form, results):
    result = results[form]
    if "missing" in result:
        pytest.skip(result["missing"])
    assert result["inside"] >= 200, result
    assert result["inside_percent"] >= 85, "start and end of the program, and its main"
    assert result["right_percent"] >= 98, result["wrong"]
    assert result["named_percent"] >= 99.8, result["wrong"]
    if result["wants"] == name_truth.LINES:
        assert result["share_error"] <= max(6, 4 * result["sigma"]), result


# --- The judge itself ----------------------------------------------------------------------------


def line_of(mark):
    return next(line for line, of in name_truth.marks_of("lines.cc").items() if of == mark)


def frames_of(text, file="program"):
    """Frames of "FUNCTION:MARK", leaf first."""
    frames = []
    for part in text.split():
        name, _, mark = part.partition(":")
        frames.append(Frame(name, 0, Mapping(0, 0, 0, f"/x/{file}", ""),
                            line_of(mark) if mark else 0, "/src/lines.cc" if mark else ""))
    return frames


TRUTH = name_truth.LineTruth({"pid": 1, "function": "hot", "source": "lines.cc", "lines": [
    {"at": ["forty"], "cpu_ns": 600}, {"at": ["spin", "spin_call"], "cpu_ns": 300},
    {"at": ["spin", "nested", "nested_call"], "cpu_ns": 100}]})


@pytest.mark.parametrize("frames, wants, is_right", [
    ("hot(unsigned):forty", "lines", True),
    ("hot(unsigned):thirty", "lines", False),
    ("hot(unsigned):spin", "lines", False),
    ("hot(unsigned)", "lines", False),
    ("hot(unsigned)", "functions", True),
    ("spin:spin hot(unsigned):spin_call", "lines", True),
    ("spin:spin hot(unsigned):nested_call", "lines", False),
    ("spin:spin nested:nested hot(unsigned):nested_call", "lines", True),
    ("spin:spin other:nested hot(unsigned):nested_call", "lines", False),
    ("clock_gettime hot(unsigned):beside", "lines", True),
    ("wrong hot(unsigned)", "functions", False),
])
def test_judge_knows_right_lines(frames, wants, is_right):
    frames = [*frames_of(frames), *frames_of("main _start")]
    seen = name_truth.judge(TRUTH, [Sample(frames, [10])], wants)
    assert (seen["inside"], seen["right_percent"]) == (10, 100 * is_right)
    assert seen["named_percent"] == 100


def test_judge_counts_shares_and_names():
    samples = [Sample(frames_of(text), [count]) for text, count in [
        ("hot:forty main", 50), ("spin:spin hot:spin_call main", 50), ("main", 25),
        ("program+0x10 main", 75)]]
    seen = name_truth.judge(TRUTH, samples, "lines")
    assert seen["shares"] == [0.5, 0.5, 0]
    assert seen["share_error"] == 20
    assert seen["inside_percent"] == 50
    assert seen["named_percent"] == round(100 * (1 - 75 / 425), 3)
    assert seen["wrong"] == {"no name: program+0x10": 75}


def test_libraries_may_be_without_names():
    samples = [Sample([*frames_of("hot:forty"), *frames_of("libc.so.6+0x10", "libc.so.6")], [1])]
    assert name_truth.judge(TRUTH, samples, "lines")["named_percent"] == 100
