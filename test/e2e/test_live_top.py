"""`vesta top` without a file: each picture's samples are those of its interval, however late it is."""
import fcntl
import json
import os
import re
import subprocess
import time

import pytest

from conftest import PROGRAMS, VESTA

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]

PIPE_BYTES = 4096
HERTZ = 99


@pytest.fixture
def busy():
    """Something for each CPU to do."""
    spinners = [subprocess.Popen([f"{PROGRAMS}/spin_{i % 40:02}", "300"])
                for i in range(os.cpu_count())]
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


def top(folder, *arguments):
    return subprocess.Popen([VESTA, "top", "--state-dir", folder, "--frequency", str(HERTZ),
                             *arguments], stdout=subprocess.PIPE, text=True,
                            env={"PATH": os.environ["PATH"], "HOME": folder})


def test_samples_and_time_of_an_interval_agree(folder, busy):
    """Nobody reads for a while, so that the first picture stands in the pipe while samples come."""
    process = top(folder, "--json", "-n", "100000", "--interval", "500ms", "--duration", "8s")
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    time.sleep(4)
    reports = [json.loads(line) for line in process.stdout]
    assert process.wait() == 0 and reports
    for report in reports:
        cpus, seconds = report["cpu_count"], report["duration_ns"] / 1e9
        # A tick that is due, and the one that is under way, on each CPU; and a batch's samples end
        # at a moment that is a CPU's own.
        most = cpus * (seconds + 5 / HERTZ)
        assert report["total"] / 1e9 <= most, (report["total"], seconds, cpus)
        assert cpus == len(os.sched_getaffinity(0))
    # The time that nobody looked at is there too, and its samples.
    longest = max(reports, key=lambda report: report["duration_ns"])
    assert longest["total"] > 0.5e9, longest["total"]


def test_the_heading_says_how_many_cpus_there_are(folder, busy):
    process = top(folder, "--interval", "500ms", "--duration", "1s")
    text = process.stdout.read()
    assert process.wait() == 0
    assert re.search(rf"\(\d+\.\d\d of {os.cpu_count()} CPUs\), \d+ samples", text), text
