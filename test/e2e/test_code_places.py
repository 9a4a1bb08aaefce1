"""Code in unusual places: what each stack must be is known from the program's source."""
import contextlib
import ctypes
import os
import shutil
import struct
import subprocess
import time

import pytest

from conftest import PROGRAMS, weight
from test_stacks import holds_in_order, part

pytestmark = pytest.mark.needs_bpf

PLACES = f"{PROGRAMS}/code_places"
PLUGIN = f"{PROGRAMS}/libdlopener_plugin.so"
PLUGIN_PATH = ["plugin_spin", "plugin_entry", "call_plugin"]
RATE = ("--frequency", "499")


def spin_path(tag):
    return [f"spin_leaf_{tag}", f"spin_middle_{tag}", f"spin_outer_{tag}", "main"]


def assert_path(recording, samples, path, share=0.95):
    assert weight(samples) >= 10, recording.stderr
    seen = sorted({" < ".join(s.names) for s in samples})[:5]
    assert part(samples, lambda s: holds_in_order(s.names, path)) >= share, seen
    assert part(samples, lambda s: "incomplete" not in s.labels) >= 0.95, recording.stdout
    if path[-1] == "main":
        assert recording.complete_share(samples) >= 0.95, seen


def record_running(record, command, seconds="1s", before=lambda: None, settle=0.3):
    """Starts the command, lets it settle, calls `before`, and records it alone."""
    with subprocess.Popen(command) as process:
        try:
            time.sleep(settle)
            before()
            return record(*RATE, "--duration", seconds, "--pid", str(process.pid))
        finally:
            process.kill()


def test_program_executed_from_memory_is_named(record):
    recording = record(*RATE, "--", PLACES, "memfd-exec", "0", f"{PROGRAMS}/spin_05", "1")
    samples = [s for s in recording.profile.samples if "spin_leaf_05" in s.names]
    assert_path(recording, samples, spin_path("05"))


def test_plugin_loaded_from_memory_is_named(record):
    recording = record(*RATE, "--", PLACES, "memfd-plugin", "1", PLUGIN)
    assert_path(recording, recording.of("code_places"), PLUGIN_PATH)


def test_plugin_in_memory_is_named_when_it_was_there_before(record):
    recording = record_running(record, [PLACES, "memfd-plugin", "30", PLUGIN])
    assert_path(recording, recording.of("code_places"), PLUGIN_PATH)


def test_deleted_program_and_library_keep_their_names(record, folder):
    """They are gone from the disk before the recording, and their process before it is named."""
    program, plugin = f"{folder}/deleted_program", f"{folder}/libdeleted.so"
    shutil.copy(PLACES, program)
    shutil.copy(PLUGIN, plugin)

    def delete():
        os.unlink(program)
        os.unlink(plugin)
    recording = record_running(record, [program, "plugin", "1.2", plugin], before=delete)
    assert_path(recording, recording.of("deleted_program"), PLUGIN_PATH)


def test_library_replaced_on_disk_has_the_names_of_the_mapped_one(record, folder):
    """The old process keeps the old code; a new one gets the new code at the same path."""
    plugin, new_plugin = f"{folder}/libreplaced.so", f"{folder}/new.so"
    shutil.copy(PLUGIN, plugin)
    build_plugin(new_plugin)
    with subprocess.Popen([PLACES, "plugin", "30", plugin]) as old:
        time.sleep(0.3)
        os.rename(new_plugin, plugin)
        with subprocess.Popen([PLACES, "plugin", "30", plugin]) as new:
            try:
                recording = record(*RATE, "--duration", "1s", "--pid", str(old.pid),
                                   "--pid", str(new.pid))
            finally:
                old.kill()
                new.kill()
    samples = recording.of("code_places")
    for process, path in ((old, PLUGIN_PATH), (new, ["new_plugin_spin"] + PLUGIN_PATH[1:])):
        assert_path(recording, [s for s in samples if s.labels["pid"] == process.pid], path)


def build_plugin(path):
    source = path + ".c"
    with open(source, "w", encoding="ascii") as file:
        file.write("""#include "test/programs/spin.h"
NOINLINE void new_plugin_spin(double end) { BURN_UNTIL(end); NO_TAIL_CALL(); }
void plugin_entry(double end) { new_plugin_spin(end); NO_TAIL_CALL(); }
""")
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-I", root, "-o",
                    path, source], check=True)


def test_one_function_mapped_at_three_places_is_one_function(record):
    recording = record(*RATE, "--", PLACES, "twice", "1")
    samples = recording.of("code_places")
    assert_path(recording, samples, ["placed_leaf", "placed_outer", "run_placed"], share=0.95)
    addresses = {f.address for s in samples for f in s.frames if f.name == "placed_outer"}
    assert max(addresses) - min(addresses) < 64, "each place counts as the same place in the file"


@pytest.mark.parametrize("mode", ["moved-text", "written-text"])
@pytest.mark.parametrize("when", ["while recording", "before"])
def test_text_moved_to_anonymous_memory_keeps_its_names(record, mode, when):
    if when == "before":
        recording = record_running(record, [PLACES, mode, "30"])
    else:
        recording = record(*RATE, "--", PLACES, mode, "1")
    assert_path(recording, recording.of("code_places"), ["placed_leaf", "placed_outer",
                                                         "run_placed"])


def test_generated_code_between_native_frames_joins_them(record):
    recording = record(*RATE, "--", PLACES, "between", "1")
    samples = recording.of("code_places")
    inside = [s for s in samples if "called_back" in s.names]
    crossed = part(inside, lambda s: s.names.index("call_generated") - s.names.index("called_back")
                   == 2 if "call_generated" in s.names else False)
    assert weight(inside) >= 40
    assert crossed >= 0.97
    assert recording.complete_share(samples) >= 0.97


@pytest.mark.parametrize("program,tag", [
    ("shifted_text", "shifted"), ("one_segment", "one_segment"),
    ("no_search_table", "no_search_table"), ("exported_names", "exported")])
def test_odd_elf_files(record, program, tag):
    recording = record(*RATE, "--", f"{PROGRAMS}/{program}", "1")
    assert_path(recording, recording.of(program[:15]), spin_path(tag))


def test_two_executable_segments_in_one_file(record):
    recording = record(*RATE, "--", f"{PROGRAMS}/far_text", "1")
    samples = recording.of("far_text")
    assert recording.share("^near_leaf$", samples) >= 0.8
    crossed = part(samples, lambda s: "near_leaf" not in s.names or holds_in_order(
        s.names, ["near_leaf", "far_middle", "near_outer", "main"]))
    assert crossed >= 0.97
    assert recording.complete_share(samples) >= 0.97


def test_file_without_section_headers_has_whole_stacks(record, folder):
    bare = f"{folder}/no_sections"
    shutil.copy(f"{PROGRAMS}/exported_names", bare)
    with open(bare, "r+b") as file:
        file.seek(0x28)
        file.write(bytes(8))  # e_shoff
        file.seek(0x3A)
        file.write(bytes(6))  # e_shentsize, e_shnum, e_shstrndx
    recording = record(*RATE, "--", bare, "1")
    samples = recording.of("no_sections")
    assert weight(samples) >= 40
    assert part(samples, lambda s: "incomplete" not in s.labels) >= 0.98


def test_program_in_shared_memory(record):
    path = "/dev/shm/vesta-e2e-places"
    shutil.copy(f"{PROGRAMS}/spin_06", path)
    try:
        recording = record(*RATE, "--", path, "1")
    finally:
        os.unlink(path)
    assert_path(recording, recording.of("vesta-e2e-place"), spin_path("06"))


@pytest.mark.needs_program("node")
def test_first_sample_of_a_huge_binary_is_whole(record):
    """node's own code has 100 MB: its table must be there for the first sample, too."""
    recording = record("--frequency", "199", "--", "node", "-e",
                       "const t=Date.now();let s=0;"
                       "while(Date.now()-t<1500)s+=JSON.stringify([{a:1}]).length;")
    samples = recording.of("node")
    main = [s for s in samples if s.labels.get("thread") == "node"]
    whole = recording.complete_share(main)
    assert weight(main) >= 40
    assert whole >= 0.95


@contextlib.contextmanager
def probed(path, offset):
    """A uprobe of perf at this place of a file, on all CPUs."""
    with open("/sys/bus/event_source/devices/uprobe/type", encoding="ascii") as file:
        kind = int(file.read())
    name = ctypes.create_string_buffer(path.encode())
    attributes = ctypes.create_string_buffer(128)
    struct.pack_into("<II", attributes, 0, kind, 128)
    struct.pack_into("<QQ", attributes, 56, ctypes.addressof(name), offset)
    libc = ctypes.CDLL(None, use_errno=True)
    opened = [libc.syscall(298, attributes, -1, cpu, -1, 0) for cpu in range(os.cpu_count())]
    try:
        assert min(opened) >= 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        for descriptor in opened:
            if descriptor >= 0:
                os.close(descriptor)


@pytest.mark.skipif(not os.path.exists("/sys/bus/event_source/devices/uprobe/type")
                    or os.uname().machine != "x86_64", reason="needs uprobes of perf")
def test_stack_of_a_thread_that_is_stepped_over_a_probed_instruction(record):
    """The first instruction of plt_target is none that the kernel can do itself, so it is run in
    the page [uprobes]."""
    library = f"{PROGRAMS}/libplt_target.so"
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    place = next(int(line.split()[0], 16) for line in symbols.stdout.splitlines()
                 if line.endswith(" plt_target"))
    with probed(library, place):
        recording = record(*RATE, "--", f"{PROGRAMS}/plt_loop", "1")
    assert_path(recording, recording.of("plt_loop"), ["plt_caller", "main"])
