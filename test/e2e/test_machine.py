"""What the machine may do or lack while vesta records: CPUs that go and come, no tracefs, an old
kernel's walker, a table budget that is too small, another profiler beside us.
"""
import os
import subprocess
import time

import pytest

from conftest import PROGRAMS, VESTA, weight

pytestmark = pytest.mark.needs_bpf

CPU1 = "/sys/devices/system/cpu/cpu1/online"


def set_online(online):
    with open(CPU1, "w", encoding="ascii") as file:
        file.write("1" if online else "0")


@pytest.fixture
def hot_plug():
    if not os.access(CPU1, os.W_OK):
        pytest.skip("this machine has no second CPU that can be switched off")
    try:
        set_online(False)
    except OSError as error:
        pytest.skip(f"the second CPU cannot be switched off here: {error}")
    finally:
        set_online(True)
    yield set_online
    set_online(True)


def test_cpus_that_go_and_come_are_followed(record, hot_plug):
    """Two spinners have two CPUs at first, then one, then two again."""
    start = time.monotonic()
    process, base = record.start("--duration", "7s", "--frequency", "199", "--",
                                 "sh", "-c", f"{PROGRAMS}/spin_01 7 & {PROGRAMS}/spin_02 7; wait")
    time.sleep(2)
    hot_plug(False)
    time.sleep(1)
    hot_plug(True)
    recording = record.result(process, base, start)
    both = weight(recording.of("spin_01")) + weight(recording.of("spin_02"))
    one_cpu_only = 7 * 199
    assert both > one_cpu_only, "the second CPU ticks before it went and after it came back"


@pytest.mark.skipif(not os.path.ismount("/"), reason="the root folder is no mount (a chroot), so "
                    "a mount namespace cannot be made private")
def test_needs_no_tracefs(folder):
    """tracefs and debugfs taken away, in a mount namespace of its own."""
    script = ("umount -q -l /sys/kernel/debug/tracing; umount -q -l /sys/kernel/tracing;"
              "umount -q -l /sys/kernel/debug; test ! -e /sys/kernel/tracing/trace || exit 99;"
              f'exec "{VESTA}" record -q --state-dir "{folder}/state" -n 3 -- {PROGRAMS}/spin_03 2')
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "spin_leaf_03" in done.stdout


def test_walker_of_old_kernels_reaches_the_root_within_its_depth(record):
    recording = record("--unwind-loop", "bounded", "--frequency", "499", "--",
                       f"{PROGRAMS}/deep_split", "3")
    samples = recording.of("deep_split")
    assert recording.complete_share(samples) >= 0.98
    recording.assert_functions(samples, "^hot_leaf", "^warm_leaf", "^cold_leaf")


def test_walker_of_old_kernels_says_where_it_cuts(record):
    recording = record("--unwind-loop", "bounded", "--frequency", "499", "--",
                       f"{PROGRAMS}/deep_recursion", "300", "3")
    cut = [s for s in recording.of("deep_recursion") if len(s.frames) >= 120]
    assert cut
    for sample in cut:
        assert len(sample.frames) <= 128 + 30 or "incomplete" not in sample.labels
    assert any(sample.labels.get("incomplete") == "depth" for sample in cut)


@pytest.mark.needs_program("node")
def test_table_budget_too_small_costs_stacks_and_says_so(record):
    """Tables of node need more than the one MB that there is for all."""
    recording = record("--table-budget", "1M", "--frequency", "499", "--", "node", "-e",
                       "let s=0;const t=Date.now();"
                       "while(Date.now()-t<3000)s+=JSON.stringify({a:[1,2,3]}).length;")
    details = recording.book["details"]
    assert details.get("tables_too_large", 0) + details.get("tables_evicted", 0) > 0
    assert details["table_bytes"] <= 1 << 20
    assert recording.book["incomplete"].get("no_table", 0) > 0


@pytest.mark.needs_program("perf")
def test_perf_beside_us_reads_its_own_records(folder, record):
    """Linux marks the mmap records of all listeners with build ids when one of them asks for them:
    perf then fails over its own file. So vesta must not ask."""
    data = f"{folder}/perf.data"
    record("--frequency", "199", "--", "perf", "record", "-q", "-B", "-e", "cpu-clock",
           "--call-graph", "fp", "-o", data, "--", f"{PROGRAMS}/spin_04", "1")
    done = subprocess.run(["perf", "script", "-i", data], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "spin_leaf_04" in done.stdout
