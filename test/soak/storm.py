#!/usr/bin/env python3
"""Short-lived processes for a while: tools/dev soak storm [SECONDS] [PER_SECOND].

The agent's memory must be flat in the second half, its book must balance, nothing may be lost, and
every process must be forgotten again.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from agent_memory import MemoryWatch  # noqa: E402
from conftest import PROGRAMS, VESTA  # noqa: E402

GROWTH_MB = 4


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rate = sys.argv[2] if len(sys.argv) > 2 else "500"
    storm = subprocess.Popen([f"{PROGRAMS}/fork_storm", rate, str(seconds + 10)],
                             stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory(prefix="vesta-soak-") as folder:
        agent = subprocess.Popen([VESTA, "record", "--quiet", "--duration", f"{seconds}s",
                                  "--state-dir", folder], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        watch = MemoryWatch(agent.pid)
        _, said = agent.communicate()
        peak_mb = watch.stop()
        if agent.returncode != 0:
            sys.exit(f"the agent ended with {agent.returncode}: {said}")
        with open(f"{folder}/last_recording.json", encoding="utf-8") as file:
            book = json.load(file)
    started, well = map(int, storm.communicate()[0].split())
    # The last second belongs to naming.
    looks = watch.looks[:-10]
    middle, end = max(looks[len(looks) // 4:len(looks) // 2]), max(looks[len(looks) // 2:])
    print(f"{started} processes, {book['details']['process_events']} events; memory at most "
          f"{peak_mb:.1f} MB, {(end - middle) / 2**20:+.1f} MB in the second half")
    for stage in book["stages"]:
        out = sum(stage["excluded"].values()) + stage["kept"] + sum(stage["dropped"].values())
        if stage["received"] != out:
            sys.exit(f"the book does not balance: {stage}")
        if sum(stage["dropped"].values()) != 0:
            sys.exit(f"samples were lost: {stage}")
    if started != well:
        sys.exit(f"{started} processes began, {well} ended well")
    if end - middle > GROWTH_MB * 2**20:
        sys.exit(f"memory grows: {middle} bytes, later {end}")
    if book["details"]["processes_beyond_limit"] != 0:
        sys.exit("processes are not forgotten")


if __name__ == "__main__":
    main()
