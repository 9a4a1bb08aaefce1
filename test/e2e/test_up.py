"""`vesta up`: this machine's CPU time in a page and a store, each sample once, whatever ends it."""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import pytest

import always_on
from always_on import WAIT_S, balanced_book, started_for_a_test, wait_for
from conftest import BUILD, PROGRAMS, SOURCES, VESTA
from workloads import find_program

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
# More often and without a limit, so that a slow machine has samples soon as well.
OFTEN = ("--frequency", "99", "--cpu-limit", "100", "--batch-interval", "1s")


def free_port():
    """Below those that the kernel gives to clients, so that nobody takes it between two lives."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Up:
    """One at a time on FOLDER/state, on the same port each time."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.state = os.path.join(folder, "state")
        self.data = arguments[-1] if "--data" in arguments else self.state + "/store"
        self.pause_file = os.path.join(folder, "pause")
        self.log_path = os.path.join(folder, "up.log")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.arguments = [VESTA, "up", "--state-dir", self.state, "--pause-file", self.pause_file,
                          "--listen", self.url.split("//")[1], *arguments]
        self.environment = {"PATH": os.environ["PATH"], "HOME": folder}
        self.start()

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stderr=log,
                                            stdout=subprocess.PIPE, text=True, env=self.environment)
        assert self.process.stdout.readline() == f"open {self.url}\n", self.log()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.stdout.close()

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def run(self, *arguments, code=0):
        done = subprocess.run([VESTA, *arguments], capture_output=True, text=True, timeout=120,
                              check=False, env={**self.environment, "VESTA_SERVER": self.url})
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def stored(self):
        return json.loads(self.get("/api/v1/status"))["store"]["rows"]

    def sender(self):
        """What the server knows of its agent, which is there a moment after the page."""
        return wait_for(lambda: json.loads(self.get("/api/v1/agents"))["agents"])[0]

    def services(self):
        """{service: samples}"""
        rows = json.loads(self.run("series", "cpu", "--by", "service", "--from", "-1h", "--json",
                                   "-n", "1000"))["rows"]
        return {row["labels"]["service.name"]: row["total"]["count"] for row in rows}

    def functions(self, selector):
        """{(function, binary): samples that it is in}; the function is "" where it has no name."""
        rows = json.loads(self.run("query", selector, "--from", "-1h", "--json", "-n", "10000",
                                   "--sort", "total"))["rows"]
        return {(row["name"], os.path.basename(row["binary"])): row["total"]["count"]
                for row in rows}

    def book(self):
        return balanced_book(self.state)


@pytest.fixture(name="up")
def fixture_up(tmp_path):
    """up(*ARGUMENTS) starts one; none outlives the test."""
    yield from started_for_a_test(lambda *arguments: Up(str(tmp_path), *arguments))


@pytest.fixture(name="program")
def fixture_program():
    """program(COMMAND..., NAME=VALUE of its environment); all are ended with the test."""
    yield from started_for_a_test(always_on.program)


def batches_of(sender):
    return sender["rows"]["batches"]


def check_books(up, rows_before):
    """After its end: from the kernel's ticks to the rows of the store nothing is missing, and
    nothing counts twice. Returns the store's rows. What a slow machine did not deliver in the few
    seconds of an end waits in the spool."""
    stages, details = up.book()
    assert stages["kernel"]["kept"] == stages["agent"]["received"] + details["ring_waiting"]
    assert stages["agent"]["kept"] == stages["queue"]["received"]
    assert stages["queue"]["kept"] + details["spool_found"] == stages["spool"]["received"]
    assert details["queue_waiting"] == 0, details
    assert not any(stages["spool"]["dropped"].values()), stages["spool"]
    rows = json.loads(up.run("query", "cpu", "--from", "-1h", "--json", "--data", up.data,
                             "--by", "service"))["sides"][0]["total"]["count"]
    assert rows == rows_before + stages["spool"]["kept"] - details["spool_waiting"]
    return rows


@pytest.mark.needs_program("node")
def test_shows_every_running_program_by_its_service_and_functions(up, program):
    """As a user starts it, with all defaults but the folder and the port."""
    running = up()
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    program(sys.executable, f"{SOURCES}/py_work.py", "1000",
            OTEL_RESOURCE_ATTRIBUTES="service.name=reports,service.version=2.1")
    program(find_program("node"), f"{SOURCES}/node_work.js", "1000")
    wait_for(lambda: {"burner", "reports", "node"} <= set(running.services()))
    wait_for(lambda: ("spin_leaf_plain", "spinner") in running.functions('cpu{service="burner"}'))
    stacks = running.run("query", 'cpu{service="burner"}', "--format", "folded", "--from", "-1h")
    assert "main;spin_outer_plain;spin_middle_plain;spin_leaf_plain" in stacks
    assert "2.1" in running.run("labels", "version", 'cpu{service="reports"}')
    assert "" not in running.services(), "a service without a name says nothing"
    sender = running.sender()
    assert sender["rows"]["received"] == sender["rows"]["kept"] > 0
    assert [stage["name"] for stage in sender["book"]["stages"]] == ["kernel", "agent", "queue",
                                                                     "spool"]
    received = re.search(r'vesta_agent_samples_total\{[^}]*stage="kernel"[^}]*\} (\d+)',
                         running.get("/metrics"))
    assert "<html" in running.get("/") and received and int(received[1]) > 0, running.get("/metrics")


def test_the_book_balances_from_the_kernel_to_the_store_and_over_restarts(up, program):
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    running = up(*OFTEN)
    rows = 0
    for _ in range(2):
        before = rows
        wait_for(lambda: running.stored() > before + 50 and "burner" in running.services())
        began = time.monotonic()
        assert running.stop() == 0, running.log()
        assert time.monotonic() - began < 30, "Ctrl-C ends it within seconds"
        more = check_books(running, rows)
        assert more > rows + 50
        rows = more
        running.start()
    assert running.stored() == rows
    assert running.stop(signal.SIGINT) == 0, running.log()


def test_memory_of_the_store_is_not_counted_against_the_agent(up, program):
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    running = up(*OFTEN, "--memory-limit", "48M")

    def resident_bytes():
        with open(f"/proc/{running.process.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    wait_for(lambda: resident_bytes() > 48 << 20)
    batches = batches_of(running.sender())
    wait_for(lambda: batches_of(running.sender()) > batches + 5)
    stages, details = running.book()
    assert details["tables_evicted"] == 0 and details["windows_cut_early"] == 0, details
    assert stages["agent"]["dropped"]["memory"] == 0, stages
    assert running.stop() == 0


def test_nothing_acknowledged_is_lost_or_doubled_when_it_is_killed(up, program):
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    running = up(*OFTEN)
    for _ in range(3):
        at_start = running.stored()
        wait_for(lambda at_start=at_start: running.stored() > at_start + 60)
        running.process.kill()
        running.process.wait()
        acknowledged = running.book()[1]["spool_acknowledged"]
        running.start()
        assert running.stored() >= at_start + acknowledged
    at_start = running.stored()
    wait_for(lambda: running.stored() > at_start + 60)
    assert running.stop() == 0, running.log()
    check_books(running, at_start)


def test_names_that_come_late_are_shown_for_what_was_sampled_before(up, program, tmp_path):
    """A stripped program has no names until the index of its debug file is there."""
    shutil.copy(f"{PROGRAMS}/inlined", tmp_path / "shop")
    for command in (["objcopy", "--only-keep-debug", "shop", "shop.debug"], ["strip", "shop"],
                    ["objcopy", "--add-gnu-debuglink=shop.debug", "shop"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    running = up(*OFTEN)
    program(str(tmp_path / "shop"), "1000", OTEL_SERVICE_NAME="shop")
    wait_for(lambda: running.services().get("shop", 0) > 20)
    wait_for(lambda: ("main", "shop") in running.functions('cpu{service="shop"}'))
    wait_for(lambda: ("", "shop") not in running.functions('cpu{service="shop"}'))
    assert running.stop() == 0
    assert running.book()[1]["late_names_sent"] > 0, "no names came late: the test shows nothing"


def test_a_pause_stops_it(up, program):
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    running = up(*OFTEN)
    wait_for(lambda: running.stored() > 30)
    running.run("pause", "--pause-file", running.pause_file)
    wait_for(lambda: "paused: nothing is sampled" in running.log())

    def is_still():
        """Two books, one after the other, know of the same ticks."""
        first = running.sender()
        wait_for(lambda: batches_of(running.sender()) > batches_of(first))
        return running.sender()["book"]["stages"][0] == first["book"]["stages"][0]
    wait_for(is_still)
    before = running.stored()
    running.run("resume", "--pause-file", running.pause_file)
    wait_for(lambda: running.stored() > before + 30)
    assert running.stop() == 0


def test_a_second_one_says_who_has_the_folder_or_the_port(up, tmp_path):
    running = up()
    pid = running.process.pid

    def refused(*arguments):
        done = subprocess.run([VESTA, "up", *arguments], capture_output=True, text=True,
                              timeout=60, check=False, env=running.environment)
        assert done.returncode == 125, (done.stdout, done.stderr)
        return done.stderr
    said = refused("--state-dir", running.state, "--listen", "127.0.0.1:0")
    assert f"is open in process {pid}" in said and "stop it" in said
    said = refused("--state-dir", running.state, "--data", str(tmp_path / "other"),
                   "--listen", "127.0.0.1:0")
    assert f"is used by process {pid}" in said and "stop it" in said
    said = refused("--state-dir", str(tmp_path / "second"), "--listen", running.url.split("//")[1])
    assert f"vesta (process {pid}) listens there" in said and "--listen" in said
    assert running.stop() == 0


def test_what_a_full_disk_keeps_out_waits_in_the_spool_and_comes_later(up, program, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], check=True)
    try:
        program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
        running = up(*OFTEN, "--data", str(disk / "store"))
        wait_for(lambda: running.stored() > 0)
        filler = disk / "filler"
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], check=False,
                       stderr=subprocess.DEVNULL)
        wait_for(lambda: running.book()[1]["spool_waiting"] > 50)
        wait_for(lambda: "disk is full" in running.log())
        filler.unlink()
        wait_for(lambda: running.book()[1]["spool_waiting"] == 0)
        assert running.stop() == 0, running.log()
        check_books(running, 0)
    finally:
        if running.process.poll() is None:
            running.stop()
        subprocess.run(["umount", disk], check=True)


def test_it_is_heard_at_once_and_shows_something_before_a_batch_is_full(up, program):
    program(f"{PROGRAMS}/spinner", OTEL_SERVICE_NAME="burner")
    running = up("--batch-interval", "5m")
    wait_for(lambda: running.stored() > 0)
    assert running.sender()["rows"]["batches"] == 2, "one that says that it is there, one of a second"
    assert running.stop() == 0


@pytest.mark.needs_program("setpriv")
def test_without_rights_it_says_what_it_needs():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        for name in ("vesta", "libduckdb.so"):
            shutil.copy(os.path.join(BUILD, name), os.path.join(folder, name))
        os.chmod(folder, 0o777)
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set",
                               "-all", f"{folder}/vesta", "up", "--listen", "127.0.0.1:0",
                               "--state-dir", f"{folder}/state"], capture_output=True, text=True,
                              timeout=60, check=False, env={"PATH": "/usr/bin", "HOME": folder})
    assert done.returncode == 125 and "run as root" in done.stderr, done.stderr


def test_a_planted_regression_stands_first(up, program):
    """planted takes the same CPU time each time; 1.1 takes 12 % of all more, in one function.
    Some 2800 samples each: the change is 330 at a standard deviation of 38."""
    running = up("--frequency", "199", "--cpu-limit", "100", "--batch-interval", "1s")

    def serve(version, *arguments):
        return program(f"{PROGRAMS}/planted", "14000", *arguments, OTEL_SERVICE_NAME="shop",
                       OTEL_RESOURCE_ATTRIBUTES=f"service.version={version}")
    versions = [serve("1.0"), serve("1.1", "120")]
    for process in versions:
        assert process.wait(timeout=600) == 0
    assert running.stop() == 0  # all is stored
    running.start()
    sides = [f'cpu{{service="shop",version="{version}"}}' for version in ("1.0", "1.1")]
    report = json.loads(running.run("diff", *sides, "--json"))
    first = report["functions"][0]
    assert first["name"] == "sort_rows" and not first["self"]["within_noise"], report
    assert "sort_rows" in running.run("diff", *sides, "-n", "1")
    share = first["self"]["difference"] / report["before"]["sum"]
    assert 0.08 < share < 0.16, share
    assert running.stop() == 0
