"""Names with files, lines and inlined functions, and the cache of symbol indexes behind them."""
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import PROGRAMS, SOURCES, VESTA, weight

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]

INLINED = os.path.join(PROGRAMS, "inlined")
RATE = ("--frequency", "499")


def line_of(text, source="inlined.cc"):
    """Number of the line of test/programs that ends in this comment."""
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        lines = [number for number, line in enumerate(file, 1) if line.rstrip().endswith("// " + text)]
    assert len(lines) == 1, text
    return lines[0]


def chains(recording, comm="inlined"):
    """Weight of each chain of (function, file, line) in the program's own binary, leaf first."""
    found = {}
    for sample in recording.of(comm):
        chain = tuple((frame.name, os.path.basename(frame.filename), frame.line)
                      for frame in sample.frames
                      if frame.mapping and os.path.basename(frame.mapping.filename) == comm)
        found[chain] = found.get(chain, 0) + weight([sample])
    return found


def share_of_inlined_chain(recording, comm="inlined"):
    """Part of the samples that show Inner < Step < Outer < main with the right lines."""
    found = chains(recording, comm)
    right = 0
    for chain, count in found.items():
        if [name for name, _, _ in chain[:3]] != [
                "unsigned int chain::Inner<unsigned int>(unsigned int)", "chain::Middle::Step()",
                "chain::Outer(double)"]:
            continue
        files = {file for _, file, _ in chain[:4]}
        inner, step, outer = (line for _, _, line in chain[:3])
        right += count * (files == {"inlined.cc"} and abs(inner - line_of("line of Inner")) <= 1
                          and step == line_of("line of Step") and outer == line_of("line of Outer")
                          and chain[3][0] == "main")
    return right / sum(found.values())


def counts(recording, name):
    return recording.book["details"].get(name, 0)


@pytest.fixture
def cache(folder):
    return os.path.join(folder, "symbols")


def test_inlined_functions_have_names_files_and_lines(record, cache):
    recording = record(*RATE, "--symbol-cache", cache, "--", INLINED, "1.5")
    assert share_of_inlined_chain(recording) > 0.95, chains(recording)
    known = next(m.known for m in recording.profile.mappings if m.filename.endswith("/inlined"))
    assert known == (True, True, True, True)
    # As frames of their own where there are no lines: in folded output and in the table.
    stacks = [";".join(frames) for frames, _ in recording.folded]
    assert any("main;chain::Outer(double);chain::Middle::Step();unsigned int chain::Inner" in stack
               for stack in stacks), stacks
    assert "chain::Inner<unsigned int>" in recording.stdout
    assert "without lines" not in recording.stdout


def test_the_second_run_starts_no_process(record, cache):
    first = record(*RATE, "--symbol-cache", cache, "--", INLINED, "1")
    assert counts(first, "symbol_index_built") > 0
    assert counts(first, "symbol_process_cpu_ms") > 0
    # Nobody but us can put names into it.
    assert stat.S_IMODE(os.stat(cache).st_mode) == 0o700
    second = record(*RATE, "--symbol-cache", cache, "--", INLINED, "1")
    assert counts(second, "symbol_cache_hits") > 0
    assert counts(second, "symbol_process_done") == 0
    assert share_of_inlined_chain(second) > 0.95
    doctor = subprocess.run([VESTA, "doctor", "--symbol-cache", cache], capture_output=True,
                            text=True, check=False)
    assert f"names of binaries are kept in {cache}: " in doctor.stdout


def test_stripped_binary_with_a_debug_link(record, folder, cache):
    shutil.copy(INLINED, f"{folder}/whole")
    os.mkdir(f"{folder}/.debug")
    for command in (["objcopy", "--only-keep-debug", "whole", ".debug/linked.debug"],
                    ["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "whole",
                     "inlined"]):
        subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink=.debug/linked.debug", "inlined"], cwd=folder,
                   check=True)
    recording = record(*RATE, "--symbol-cache", cache, "--", f"{folder}/inlined", "1.5")
    assert share_of_inlined_chain(recording) > 0.95, chains(recording)


def test_without_a_cache_names_are_as_good(record, folder):
    recording = record(*RATE, "--symbol-cache", "off", "--", INLINED, "1.5")
    assert share_of_inlined_chain(recording) > 0.95
    assert counts(recording, "symbol_index_built") > 0
    assert not os.path.exists(f"{folder}/recording1.state/symbols")


@pytest.mark.parametrize("harm", ["writable by others", "of another user", "a link", "a file"])
def test_a_cache_that_others_control_is_refused(record, folder, cache, harm):
    os.mkdir(cache)
    if harm == "writable by others":
        os.chmod(cache, 0o777)
    elif harm == "of another user":
        os.chown(cache, 12345, 12345)
    else:
        os.rmdir(cache)
        if harm == "a link":
            os.mkdir(f"{folder}/real", 0o700)
            os.symlink(f"{folder}/real", cache)
        else:
            with open(cache, "w", encoding="utf-8"):
                pass
    recording = record(*RATE, "--symbol-cache", cache, "--", INLINED, "1.5")
    assert f"the symbol cache is not used, binaries are read anew each time: {cache}" in recording.stderr
    assert share_of_inlined_chain(recording) > 0.95
    assert counts(recording, "symbol_cache_refused") == 1
    doctor = subprocess.run([VESTA, "doctor", "--symbol-cache", cache], capture_output=True,
                            text=True, check=False)
    assert "symbol-cache" in doctor.stdout and "why: " + cache in doctor.stdout


def test_damaged_files_are_built_again(record, cache):
    record(*RATE, "--symbol-cache", cache, "--", INLINED, "1")
    indexes = [os.path.join(cache, name) for name in os.listdir(cache) if name.endswith(".index")]
    assert indexes
    for number, path in enumerate(indexes):
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            if number % 2:
                file.truncate(size // 2)
            else:
                file.seek(size // 2)
                file.write(b"hostile")
    recording = record(*RATE, "--symbol-cache", cache, "--", INLINED, "1.5")
    assert counts(recording, "symbol_index_damaged") > 0
    assert share_of_inlined_chain(recording) > 0.95


def helpers_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if parent == pid and b"index-image" in file.read():
                    found.append(int(entry))
        except (OSError, ValueError, IndexError):
            continue
    return found


def test_a_killed_process_costs_its_index_only(record, cache):
    process, base = record.start(*RATE, "--symbol-cache", cache, "--", INLINED, "2")
    start, killed = time.monotonic(), 0
    while process.poll() is None and time.monotonic() - start < 60:
        for pid in helpers_of(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except OSError:
                pass
    recording = record.result(process, base, start)
    assert recording.code == 0, recording.stderr
    assert killed > 0
    assert counts(recording, "symbol_process_crashed") > 0
    # The functions of the symbol table are there still.
    assert recording.share(r"^chain::Outer\(double\)$", recording.of("inlined")) > 0.9


def stand_still(pid):
    """Whether it does; one that has ended does not."""
    try:
        os.kill(pid, signal.SIGSTOP)
        for _ in range(100):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
            if state in "TZX":
                return state == "T"
            time.sleep(0.01)
    except OSError:
        pass
    return False


def test_another_ctrl_c_ends_the_wait(record, cache):
    with subprocess.Popen([INLINED, "30"], stdout=subprocess.DEVNULL) as program:
        try:
            process, base = record.start(*RATE, "--symbol-cache", cache, "--pid", str(program.pid))
            start, stopped = time.monotonic(), False
            while not stopped and process.poll() is None and time.monotonic() - start < 60:
                stopped = any(stand_still(pid) for pid in helpers_of(process.pid))
            assert stopped, "none was seen"
            process.send_signal(signal.SIGINT)
            time.sleep(1)
            assert process.poll() is None, "it waits for the one that stands still"
            process.send_signal(signal.SIGINT)
            recording = record.result(process, base, start, timeout=20)
        finally:
            program.kill()
    assert recording.code == 130
    assert "without lines: reading them was not finished" in recording.stdout
    assert recording.share(r"^chain::Outer\(double\)$", recording.of("inlined")) > 0.9
    assert not [name for name in os.listdir(cache) if name.endswith(".part")]


def test_the_process_ends_with_the_agent(record, cache):
    process, _ = record.start(*RATE, "--symbol-cache", cache, "--", INLINED, "5")
    helpers, start = [], time.monotonic()
    while not helpers and process.poll() is None and time.monotonic() - start < 60:
        helpers = helpers_of(process.pid)
    assert helpers, "none was seen"
    process.kill()
    process.communicate()
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{pid}") for pid in helpers):
            return
        time.sleep(0.05)
    raise AssertionError("it lives on")


def test_what_is_missing_is_said(record, cache):
    recording = record(*RATE, "--symbol-cache", cache, "--symbol-wait", "0s", "--", INLINED, "0.5")
    assert "without lines: reading them was not finished" in recording.stdout
    assert counts(recording, "symbol_index_not_ready") > 0
    assert recording.share(r"^chain::Outer\(double\)$", recording.of("inlined")) > 0.9
