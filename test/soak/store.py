#!/usr/bin/env python3
"""Kills the server of a store at random moments: tools/dev soak store [--rounds N] [--seed N].

After each restart all sums must be those of the acknowledged pushes; see test/e2e/store_crashes.py.
"""
import argparse
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from store_crashes import CrashLoop, Wrong  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=int(time.time()), metavar="N")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="vesta-soak-")
    loop = CrashLoop(folder, arguments.seed)
    try:
        for turn in range(arguments.rounds):
            loop.round()
            print(f"round {turn + 1}: {loop.counts}", flush=True)
        loop.finish()
    except (Wrong, AssertionError) as error:
        sys.exit(f"seed {arguments.seed}: {error}\nthe store is in {folder}")
    shutil.rmtree(folder)
    print(f"{arguments.rounds} rounds, seed {arguments.seed}: nothing lost, nothing doubled; "
          f"{loop.counts}")


if __name__ == "__main__":
    main()
