"""The agent's own limits: CPU, memory, and what a large or busy machine asks of it."""
import contextlib
import os
import re
import subprocess
import time

import pytest

import workloads
from agent_memory import MemoryWatch
from conftest import PROGRAMS, weight
from test_robustness import assert_book_balances

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]


def record_watched(record, *arguments, timeout=120):
    """(recording, peak of the agent's memory in MiB, its CPU seconds)."""
    start = time.monotonic()
    process, base = record.start(*arguments)
    watch = MemoryWatch(process.pid)
    before = os.times()
    recording = record.result(process, base, start, timeout)
    after = os.times()
    peak = watch.stop()
    assert recording.code == 0, recording.stderr
    assert_book_balances(recording)
    return recording, peak, (after.children_user - before.children_user
                             + after.children_system - before.children_system)


def whole_share(samples):
    """Part of the samples whose stack reaches its root, whether that has a name or not."""
    return weight(s for s in samples if "incomplete" not in s.labels) / weight(samples)


@contextlib.contextmanager
def spinners(count, seconds=120):
    processes = [subprocess.Popen(["nice", "-n", "19", f"{PROGRAMS}/spin_{i % 40:02}",
                                   str(seconds)]) for i in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def test_cpu_limit_slows_sampling_down_says_so_and_up_again(record):
    """Deep stacks at 999 Hz cost the agent many times the limit; when they end, it costs little."""
    victims = [subprocess.Popen(["nice", "-n", "-15", f"{PROGRAMS}/deep_recursion", "500", "30"])
               for _ in range(2)]
    idle = subprocess.Popen(["sleep", "80"])
    chosen = [word for victim in (*victims, idle) for word in ("--pid", str(victim.pid))]
    start = time.monotonic()
    process, base = record.start("--frequency", "999", "--cpu-limit", "0.6", "--duration", "65s",
                                 *chosen)
    before = os.times()
    for victim in victims:
        victim.wait()
    after = os.times()
    recording = record.result(process, base, start)
    idle.kill()
    idle.wait()
    assert recording.code == 0, recording.stderr
    details = recording.book["details"]
    assert details["cpu_limit_step_downs"] >= 1, details
    assert details["cpu_limit_step_ups"] >= 1, details
    assert any(re.fullmatch(r"cpu_limit_ms_at_rate_1_\d+", name) for name in details), details
    said = [line for line in recording.stderr.splitlines() if "--cpu-limit 0.6%" in line]
    assert any("more than" in line and "samples per second now" in line for line in said), said
    assert any("well below" in line for line in said), said
    assert "to stay within --cpu-limit 0.6% fewer samples were taken" in recording.stdout

    # What the programs used, although part of it was seen at a fraction of the rate; they had begun
    # before the recording.
    assert weight(recording.profile.samples) > recording.stage("agent")["kept"]
    used_s = sum(s.values[1] for s in recording.of("deep_recursion")) / 1e9
    own_s = after.children_user - before.children_user
    assert used_s == pytest.approx(own_s, rel=0.3)


def test_no_limit_is_reached_at_the_usual_rate(record):
    with spinners(4, seconds=10):
        recording = record("--duration", "4s")
    assert recording.book["details"]["cpu_limit_step_downs"] == 0
    assert "cpu-limit" not in recording.stdout + recording.stderr


def test_five_hundred_processes_fit_the_memory_limit(record):
    """Forty that run all the time, of a file each, and others that wake ten times a second."""
    others = [subprocess.Popen([f"{PROGRAMS}/threads10k", "1", "20"], stdout=subprocess.DEVNULL)
              for _ in range(460)]
    with spinners(40):
        recording, peak, _ = record_watched(record, "--duration", "8s", "--memory-limit", "40M",
                                            "--frequency", "199")
    for process in others:
        process.kill()
        process.wait()
    assert peak <= 40, recording.book["details"]
    samples = [s for s in recording.profile.samples
               if s.labels["process"].startswith(("spin_", "threads10k"))]
    assert len({s.labels["pid"] for s in samples}) >= 100
    assert whole_share(samples) >= 0.97, recording.book["incomplete"]
    assert recording.book["details"]["processes_without_room"] == 0


def test_small_memory_limit_costs_tables_but_not_stacks(record):
    """Less room for tables than they need: they come and go, and copies of stacks, walked by the rules
    of the files themselves, make up for it."""
    programs = ("perl -e 'for (1..2e6) { $x += $_ }'; "
                "bash -c 'for ((i = 0; i < 150000; i++)); do :; done'; "
                "awk 'BEGIN { while (i++ < 2e6) x += i }'; "
                "/usr/bin/python3 -c 'sum(i * i for i in range(10 ** 6))'; "
                "cmake --version >/dev/null; git --version >/dev/null")
    with spinners(4), workloads.running("sh", "-c", f"while :; do {programs}; done"):
        recording, peak, _ = record_watched(record, "--duration", "8s", "--memory-limit", "40M",
                                            "--table-budget", "1M", "--frequency", "199")
    details = recording.book["details"]
    assert peak <= 40, details
    assert details["tables_evicted"] >= 5, details
    assert details["walks_finished_by_agent"] >= 5, details
    own = [s for s in recording.profile.samples if s.labels["process"] in
           ("perl", "bash", "awk", "mawk", "python3", "cmake", "git") or
           s.labels["process"].startswith("spin_")]
    assert whole_share(own) >= 0.97, recording.book["incomplete"]


@pytest.mark.parametrize("count", [2000, 20000])
def test_many_mappings_in_one_process(count, record):
    recording, peak, cpu_s = record_watched(
        record, "--frequency", "199", "--", "nice", "-n", "-5", f"{PROGRAMS}/many_mappings",
        str(count), "5")
    assert peak <= 100
    samples = recording.of("many_mappings")
    recording.assert_functions(samples, "^mapped_work$", "^main$")
    assert whole_share(samples) >= 0.97, recording.book["incomplete"]
    details = recording.book["details"]
    assert details["mappings_beyond_limit"] == 0, details
    too_many = details["processes_with_too_many_mappings"]
    assert too_many > 0 if count > 16384 else too_many == 0, details
    # The program's own time is in it, too.
    assert cpu_s < 5 + 2, "it costs no more than some tenths of a second per second"


@pytest.fixture
def many_pids():
    """The largest number of threads that the machine allows."""
    def read(name):
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
            return int(file.read())

    def write(name, value):
        with open(f"/proc/sys/kernel/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    before = read("pid_max"), read("threads-max")
    try:
        write("pid_max", 4194304)
        write("threads-max", max(before[1], 120000))
    except OSError:
        pass  # the test takes what there is
    with open("/proc/meminfo", encoding="ascii") as file:
        available_kb = int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1))
    yield min(100000, read("pid_max") - 4000, read("threads-max") - 4000, available_kb // 2 // 40)
    write("threads-max", before[1])
    write("pid_max", before[0])


def test_a_hundred_thousand_threads(record, many_pids):
    """Two pages of stack and 24 KiB of the kernel's memory each; fewer threads where that is more
    than half of the memory."""
    if many_pids < 30000:
        pytest.skip(f"this machine allows only {many_pids} more threads")
    program = subprocess.Popen([f"{PROGRAMS}/threads10k", str(many_pids), "45"],
                               stdout=subprocess.PIPE, text=True)
    try:
        workloads.wait_for(lambda: len(os.listdir(f"/proc/{program.pid}/task")) >= many_pids,
                           f"{many_pids} threads", seconds=40)
        recording, peak, cpu_s = record_watched(record, "--duration", "6s")
    finally:
        out, _ = program.communicate(timeout=120)
    assert out.split() == [str(many_pids), str(many_pids)], "all threads ran and ended unharmed"
    assert peak <= 100
    assert cpu_s < 6 * 0.5, "half a core, start-up and names included"
    samples = recording.of("threads10k")
    assert len({sample.labels["tid"] for sample in samples}) >= 20
    assert whole_share(samples) >= 0.97, recording.book["incomplete"]
    assert sum(recording.stage("kernel")["dropped"].values()) == 0, recording.book


def test_ten_seconds_of_a_fork_storm_leave_nothing_behind(record):
    with workloads.running(f"{PROGRAMS}/fork_storm", "500", "60"):
        start = time.monotonic()
        process, base = record.start("--duration", "12s")
        watch = MemoryWatch(process.pid)
        time.sleep(11)
        looks = list(watch.looks)
        recording = record.result(process, base, start)
        watch.stop()
    assert recording.code == 0, recording.stderr
    assert_book_balances(recording)
    third = len(looks) // 3
    first, last = max(looks[third:2 * third]), max(looks[2 * third:])
    assert last - first < 4 * 2**20, f"{first / 2**20:.1f} MiB, later {last / 2**20:.1f} MiB"
    details = recording.book["details"]
    assert details["processes_beyond_limit"] == 0, details
    assert details["process_events"] > 3000, details
    assert recording.stage("kernel")["dropped"]["ring_full"] == 0, recording.book
