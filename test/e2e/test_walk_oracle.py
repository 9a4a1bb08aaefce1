"""Whole walks of copied stacks: ours and those of elfutils, frame by frame, on real recordings."""
import json
import os
import subprocess

import pytest
from conftest import BUILD, PROGRAMS

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_program("perf")]
WALK_ORACLE = os.path.join(BUILD, "bench", "walk_oracle")


def compare(tmp_path, comm, *command):
    """Two seconds of a command, recorded by perf; what the oracle counts for its comm."""
    recording = tmp_path / "perf.data"
    perf = subprocess.run(
        ["perf", "record", "-q", "-o", recording, "--call-graph", "dwarf,65528", "-e", "cpu-clock",
         "-F", "199", "-m", "512", "--", "timeout", "2", *command],
        capture_output=True, text=True, timeout=60, check=False)
    assert recording.exists(), perf.stderr
    walked = subprocess.run([WALK_ORACLE, "--json", recording], capture_output=True, text=True,
                            timeout=120, check=False)
    assert walked.returncode == 0, walked.stderr
    return json.loads(walked.stdout)["comms"][comm]


def check(counts):
    assert counts["samples"] >= 100, counts
    # perf copies less than 64 KiB; where it ends, both walks must have got as far.
    compared = counts["samples"] - counts["truncated_equal"] - counts["guessed"]
    assert compared >= 0.9 * counts["samples"], counts
    assert counts["equal"] >= 0.99 * compared, counts
    assert counts["complete"] >= 0.99 * compared, counts
    assert not counts["odd_ends"], counts


def test_known_call_paths(tmp_path):
    check(compare(tmp_path, "deep_split", os.path.join(PROGRAMS, "deep_split"), "10"))


@pytest.mark.needs_program("/usr/bin/python3")
def test_python(tmp_path):
    work = "import json\nwhile True: json.loads(json.dumps([{'a': i} for i in range(500)]))"
    python = os.path.realpath("/usr/bin/python3")
    check(compare(tmp_path, os.path.basename(python), python, "-c", work))


def test_what_is_no_recording_is_refused(tmp_path):
    recording = tmp_path / "perf.data"
    recording.write_bytes(b"PERFILE2" + bytes(8))
    walked = subprocess.run([WALK_ORACLE, recording], capture_output=True, text=True, timeout=20,
                            check=False)
    assert walked.returncode == 1
    assert "header" in walked.stderr
