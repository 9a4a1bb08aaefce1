"""What must not hurt: broken files, storms, refusals, full disks and kills. Programs are unharmed,
losses are counted, messages say what to do.
"""
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest

import accuracy
import workloads
from conftest import PROGRAMS, VESTA, weight

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]

LOOP_CODE = bytes.fromhex("48ffcf75fbc3")  # what file_mapper runs when it finds it in page two


def assert_book_balances(recording):
    """received == excluded + kept + dropped on each page, and each page continues the last."""
    for stage in recording.book["stages"]:
        assert stage["received"] == (sum(stage["excluded"].values()) + stage["kept"]
                                     + sum(stage["dropped"].values())), recording.book
    assert recording.stage("kernel")["received"] > 0
    assert recording.stage("agent")["received"] == recording.stage("kernel")["kept"]
    assert recording.stage("agent")["kept"] == weight(recording.profile.samples)


def section(data, name):
    """(file offset, size) of a section of an ELF file."""
    sections_at, = struct.unpack_from("<Q", data, 40)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 58)

    def header(index):
        return struct.unpack_from("<IIQQQQ", data, sections_at + index * entry_size)

    names_at = header(names_index)[4]
    for index in range(count):
        name_at, _, _, _, offset, size = header(index)
        end = data.index(b"\0", names_at + name_at)
        if data[names_at + name_at:end] == name.encode():
            return offset, size
    raise KeyError(name)


def write(path, data, mode=0o644):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return path


def with_build_id(data, number):
    """The same file as an image of its own: the agent tells images apart by their build id."""
    data = bytearray(data)
    offset, _ = section(bytes(data), ".note.gnu.build-id")
    data[offset + 16:offset + 36] = number.to_bytes(20, "little")
    return data


def broken_files(folder):
    """ELF files cut at many lengths, flipped, or made up; each has code that runs in page two."""
    with open(f"{PROGRAMS}/spinner", "rb") as file:
        original = file.read()
    seed = random.Random(20261129)
    files = []

    def good():
        return with_build_id(original, 1000 + len(files))

    def add(data):
        data = bytearray(data.ljust(8192, b"\0"))
        data[4096:4096 + len(LOOP_CODE)] = LOOP_CODE
        files.append(write(f"{folder}/broken{len(files)}", bytes(data), 0o755))

    for size in (4, 16, 63, 64, 65, 120, 800, 4095, 9000, len(original) - 1):
        add(good()[:size])
    for _ in range(12):  # a good file with the headers hit
        data = good()
        for _ in range(20):
            data[seed.randrange(16, 1024)] = seed.randrange(256)
        add(data)
    for offset, size, value in ((32, 8, 2**64 - 64), (40, 8, 2**64 - 1), (56, 2, 65535),
                                (60, 2, 65535), (62, 2, 65535), (54, 2, 1), (58, 2, 0)):
        data = good()
        data[offset:offset + size] = value.to_bytes(size, "little")
        add(data)
    for name in (".eh_frame", ".eh_frame_hdr", ".dynsym", ".symtab", ".strtab",
                 ".note.gnu.build-id"):
        data = good()
        offset, size = section(original, name)
        data[offset:offset + size] = b"\xff" * size
        add(data)
    for _ in range(6):
        add(b"\x7fELF\x02\x01\x01" + seed.randbytes(8192))
        add(seed.randbytes(8192))
    return files


def test_broken_elf_files_mapped_executable(record, folder):
    files = broken_files(folder)
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/file_mapper", "4", *files)
    assert recording.stdout.splitlines()[0] == f"{len(files)} {len(files)}"
    samples = recording.of("file_mapper")
    recording.assert_functions(samples, "^main$")
    in_files = {frame.mapping.filename for sample in samples for frame in sample.frames
                if frame.mapping and "/broken" in frame.mapping.filename}
    assert len(in_files) >= 10, in_files
    assert_book_balances(recording)


def test_unwind_tables_full_of_0xff(record, folder):
    with open(f"{PROGRAMS}/spin_05", "rb") as file:
        data = with_build_id(file.read(), 5)
    for name in (".eh_frame", ".eh_frame_hdr"):
        offset, size = section(bytes(data), name)
        data[offset:offset + size] = b"\xff" * size
    program = write(f"{folder}/spin_ff", bytes(data), 0o755)
    recording = record("--frequency", "499", "--", program, "2")
    recording.assert_functions(recording.of("spin_ff"), "^spin_leaf_05$")


def test_ten_thousand_threads(record):
    recording = record("--", f"{PROGRAMS}/threads10k", "10000", "5", timeout=120)
    assert recording.stdout.splitlines()[0] == "10000 10000"
    samples = recording.of("threads10k")
    recording.assert_functions(samples, "^(thread_work|thread_main|main)$")
    assert len({sample.labels["tid"] for sample in samples}) > 20


def test_fork_storm(record):
    recording = record("--frequency", "499", "--", f"{PROGRAMS}/fork_storm", "500", "4")
    started, well = map(int, recording.stdout.splitlines()[0].split())
    assert started == well and started >= 200
    samples = recording.of("fork_storm")
    recording.assert_functions(samples, "^storm_child$", "^main$")
    children = [s for s in samples if "storm_child" in s.names]
    assert recording.complete_share(children) >= 0.9
    assert len({s.labels["pid"] for s in children}) >= 20


@pytest.fixture
def public_vesta(folder):
    """A copy that an unprivileged user may run."""
    path = f"{folder}/vesta"
    shutil.copy(VESTA, path)
    os.chmod(path, 0o755)
    return path


REFUSALS = {
    "another user": ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--"],
    "root without capabilities": ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin",
                                  "--inh-caps", "-bpf,-perfmon,-sys_admin", "--"],
}


@pytest.mark.parametrize("who", REFUSALS)
def test_refused_bpf_says_what_is_missing(who, public_vesta, folder):
    state = f"{folder}/state"
    os.mkdir(state)
    os.chmod(state, 0o777)
    done = subprocess.run([*REFUSALS[who], public_vesta, "record", "--duration", "1s",
                           "--state-dir", state], capture_output=True, text=True, timeout=60)
    assert done.returncode == 125, done
    assert "CAP_BPF" in done.stderr or "root" in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) <= 12, done.stderr


def test_refused_bpf_does_not_run_the_command(public_vesta, folder):
    """A recording that cannot start must not leave a half-measured command behind."""
    mark = f"{folder}/ran"
    done = subprocess.run([*REFUSALS["root without capabilities"], public_vesta, "record",
                           "--state-dir", folder, "--", "touch", mark], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 125, done
    assert not os.path.exists(mark)


@pytest.fixture
def tiny_disk(folder):
    path = f"{folder}/tiny"
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


def test_full_disk_is_said_and_leaves_no_broken_file(tiny_disk, folder):
    write(f"{tiny_disk}/filler", b"x" * 12288)
    with workloads.running(f"{PROGRAMS}/deep_split", "20"):
        done = subprocess.run([VESTA, "record", "--duration", "2s", "--state-dir", f"{folder}/s",
                               "--frequency", "999", "-o", f"{tiny_disk}/x.pb.gz", "-o",
                               f"{folder}/good.folded"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 125, done
    assert "No space left" in done.stderr and "x.pb.gz" in done.stderr, done.stderr
    assert os.listdir(tiny_disk) == ["filler"]
    assert os.path.getsize(f"{folder}/good.folded") > 0, "the other file was still written"
    assert "hot_leaf" in done.stdout, "the table was still printed"


def test_file_that_may_not_grow_is_said_and_leaves_nothing(folder):
    os.mkdir(f"{folder}/out")
    with workloads.running(f"{PROGRAMS}/spin_06"):
        done = subprocess.run(["prlimit", "--fsize=100", VESTA, "record", "--duration", "1s",
                               "--state-dir", f"{folder}/s", "-o", f"{folder}/out/a.pb.gz"],
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 125 and "File too large; nothing was saved" in done.stderr, done
    assert os.listdir(f"{folder}/out") == []
    assert "spin_leaf_06" in done.stdout


def test_no_memory_is_said(folder):
    """The names of the kernel do not fit; dd makes sure that they are asked for."""
    done = subprocess.run(["prlimit", "--data=16000000", VESTA, "record", "--state-dir", folder,
                           "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=200000"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 125 and "no more memory" in done.stderr, done


def test_folder_that_is_not_there_is_said_at_once(folder):
    start = time.monotonic()
    done = subprocess.run([VESTA, "record", "--duration", "20s", "--state-dir", f"{folder}/s", "-o",
                           f"{folder}/nowhere/x.pb.gz"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 125 and "nowhere" in done.stderr, done
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("how", ["--pid", "--"])
def test_killed_agent_leaves_the_program_alone(how, record, folder):
    command = [f"{PROGRAMS}/deep_split", "4"]
    with open(f"{folder}/out", "w+", encoding="utf-8") as out:
        if how == "--pid":
            victim = subprocess.Popen(command, stdout=out)
            agent, _ = record.start("--pid", str(victim.pid))
        else:
            marker = f"{folder}/code"
            agent = subprocess.Popen(
                [VESTA, "record", "--state-dir", f"{folder}/s", "--", "sh", "-c",
                 f"{command[0]} 4 > {folder}/out; echo $? > {marker}.part;"
                 f" mv {marker}.part {marker}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.5)
        assert agent.poll() is None
        agent.kill()
        agent.wait()
        if how == "--pid":
            agent.communicate(timeout=20)
            assert victim.wait(30) == 0
        else:
            workloads.wait_for(lambda: os.path.exists(marker), "the command's end")
            with open(marker, encoding="ascii") as code:
                assert code.read().strip() == "0"
        out.seek(0)
        truth, = accuracy.truths(out.read())
    assert truth.paths[0].cpu_ns / truth.cpu_ns == pytest.approx(0.7, abs=0.01)
    again = record("--duration", "1s", "--", f"{PROGRAMS}/spinner", "1")
    again.assert_functions(again.of("spinner"), "^spin_leaf_plain$")


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_keeps_what_was_collected(signal_number, record):
    with workloads.running(f"{PROGRAMS}/spin_06"):
        start = time.monotonic()
        # Whoever runs the tests under nohup has SIGHUP ignored, and vesta respects that.
        process, base = record.start(
            "--frequency", "499",
            preexec_fn=lambda: signal.signal(signal_number, signal.SIG_DFL))
        time.sleep(2)
        process.send_signal(signal_number)
        recording = record.result(process, base, start, timeout=20)
    assert recording.code == 130, recording.stderr
    recording.assert_functions(recording.of("spin_06"), "^spin_leaf_06$")
    assert "spin_leaf_06" in recording.stdout


def test_reader_of_the_table_that_leaves_does_not_cost_the_files(folder):
    """As in `vesta record ... | head -1`."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([VESTA, "record", "--duration", "500ms", "--state-dir", f"{folder}/s",
                           "-o", f"{folder}/a.pb.gz"], stdout=write_end, stderr=subprocess.PIPE,
                          text=True, timeout=60, check=False)
    os.close(write_end)
    assert done.returncode == 128 + signal.SIGPIPE, done
    assert os.path.getsize(f"{folder}/a.pb.gz") > 0


@pytest.mark.parametrize("closed, code", [("<&-", 0), ("2>&-", 0), (">&-", 125),
                                          ("<&- >&- 2>&-", 125)])
def test_closed_standard_streams_go_nowhere_else(closed, code, folder):
    """A descriptor that is opened later must not get their numbers, and our messages."""
    done = subprocess.run(["sh", "-c", f"exec {VESTA} record --duration 500ms --state-dir {folder}"
                           f" -o {folder}/a.folded {closed}"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == code, done
    if closed == ">&-":
        assert "standard output: Bad file descriptor" in done.stderr
    with open(f"{folder}/a.folded", encoding="utf-8") as lines:
        assert all(line.rstrip("\n").rsplit(" ", 1)[1].isdigit() for line in lines)


def test_interruption_with_a_command_ends_both(record, folder):
    """As the terminal does it: Ctrl-C goes to the whole foreground group."""
    start = time.monotonic()
    process, base = record.start("--", f"{PROGRAMS}/spin_06", "60", start_new_session=True)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    recording = record.result(process, base, start, timeout=20)
    assert recording.code == 130, recording.stderr
    recording.assert_functions(recording.of("spin_06"), "^spin_leaf_06$")


def test_chosen_process_that_ends(record):
    victim = subprocess.Popen([f"{PROGRAMS}/spin_08", "1"])
    recording = record("--pid", str(victim.pid), "--duration", "4s", "--frequency", "499")
    victim.wait()
    recording.assert_functions(recording.of("spin_08"), "^spin_leaf_08$")
    assert {s.labels["pid"] for s in recording.profile.samples} == {victim.pid}


def test_program_that_gains_rights_by_its_exec_is_recorded_on(record, folder):
    """Linux reports such an exec as an exit."""
    program = f"{folder}/spin_set_uid"
    shutil.copy(f"{PROGRAMS}/spin_08", program)
    os.chmod(folder, 0o755)
    os.chmod(program, 0o4755)
    recording = record("--frequency", "499", "--", "setpriv", "--reuid", "65534", "--regid",
                       "65534", "--clear-groups", program, "1")
    samples = recording.of("spin_set_uid")
    recording.assert_functions(samples, "^spin_leaf_08$")
    assert weight(samples) > 200, "and not only until it was taken for dead"


def test_recording_ends_with_the_last_chosen_process(record):
    shell = subprocess.run(["sh", "-c", f"{PROGRAMS}/spin_09 2 >/dev/null 2>&1 & echo $!"],
                           capture_output=True, text=True, check=True)
    recording = record("--pid", shell.stdout.strip(), "--frequency", "499", timeout=20)
    recording.assert_functions(recording.of("spin_09"), "^spin_leaf_09$")


def test_process_that_is_not_there_is_said():
    victim = subprocess.Popen(["true"])
    victim.wait()
    done = subprocess.run([VESTA, "record", "--pid", str(victim.pid), "--duration", "1s"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 125
    assert str(victim.pid) in done.stderr


@pytest.mark.parametrize("choice", [["--pid", "1"], ["--", "true"]])
def test_pids_of_a_container_choose_no_process_outside(choice, folder):
    done = subprocess.run(["unshare", "--pid", "--fork", VESTA, "record", "--duration", "1s",
                           "--state-dir", folder, *choice],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 125 and "pid namespace" in done.stderr, done


def test_exit_code_is_the_commands(record):
    assert record("--", "sh", "-c", "exit 7", expect_code=None).code == 7
    started = record("--duration", "500ms", "--", "sh", "-c", "sleep 1.5; exit 3", expect_code=None)
    assert started.code == 3 and started.seconds >= 1.5, "it was waited for"
    missing = record("--", "/nowhere/program", expect_code=None)
    assert missing.code in (125, 127) and "/nowhere/program" in missing.stderr


@pytest.fixture
def two_hundred_spinners():
    processes = [subprocess.Popen(["nice", "-n", "19", f"{PROGRAMS}/spin_{i % 40:02}", "120"])
                 for i in range(200)]
    yield processes
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def test_book_balances_under_overload(record, two_hundred_spinners):
    """A 64 KiB ring at 1000 Hz, and an agent that is stopped for a second: losses are certain."""
    start = time.monotonic()
    process, base = record.start("--ring-size", "64k", "--frequency", "1000", "--duration", "6s")
    time.sleep(3)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    recording = record.result(process, base, start, timeout=90)
    assert recording.code == 0, recording.stderr
    assert_book_balances(recording)
    assert recording.stage("kernel")["dropped"]["ring_full"] > 100, recording.book
    assert "ring" in recording.stdout, "the loss was said below the table"
    spinners = {s.labels["pid"] for s in recording.profile.samples
                if s.labels.get("process", "").startswith("spin_")}
    assert len(spinners) >= 150
