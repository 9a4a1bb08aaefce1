#!/usr/bin/env python3
"""Kills the agent at random moments, again and again: tools/dev soak kill [TIMES] [SEED].

A victim runs all the while. After each kill it must be alive, and the kernel must hold no program,
map or event of the agent any more; at the end its own count must be right.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import accuracy  # noqa: E402
import bpf_stats  # noqa: E402
from conftest import PROGRAMS, VESTA  # noqa: E402
from workloads import wait_for  # noqa: E402


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print(f"seed {seed}")
    moment = random.Random(seed)
    victim = subprocess.Popen([f"{PROGRAMS}/deep_split", str(3 * times + 60)],
                              stdout=subprocess.PIPE, text=True)
    programs, maps = bpf_stats.program_ids(), bpf_stats.map_ids()
    with tempfile.TemporaryDirectory(prefix="vesta-soak-") as folder:
        for turn in range(times):
            agent = subprocess.Popen([VESTA, "record", "--frequency", "999", "--state-dir", folder,
                                      "-o", f"{folder}/x.pb.gz"], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moment.uniform(0, 2))
            if agent.poll() is not None:
                sys.exit(f"turn {turn}: the agent ended by itself with {agent.returncode}")
            agent.kill()
            agent.wait()
            if victim.poll() is not None:
                sys.exit(f"turn {turn}: the victim ended with {victim.returncode}")
            wait_for(lambda: bpf_stats.program_ids() <= programs and bpf_stats.map_ids() <= maps,
                     f"turn {turn}: the end of the agent's programs and maps")
    victim.send_signal(signal.SIGUSR1)
    truth, = accuracy.truths(victim.stdout.readline())
    victim.kill()
    victim.wait()
    if abs(truth.paths[0].cpu_ns / truth.cpu_ns - 0.7) > 0.01:
        sys.exit(f"the victim's own count is off: {truth.paths[0]}")
    print(f"{times} kills, victim unharmed, nothing left in the kernel")


if __name__ == "__main__":
    main()
