#!/usr/bin/env python3
"""A day in an hour of agent and server: tools/dev soak agent [--minutes N | --kills N] [--up].

20 times the usual rate of samples beside 200 processes, with the server away in the middle; every
ten seconds memory, descriptors and files of everything. At the end nothing may have grown that has
no reason to, and the book balances from the kernel to the store. With --kills instead: kill -9 at
random moments, and each acknowledged sample is in the store once. --up does it with `vesta up`.
See test/e2e/agent_soak.py for the rules.
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
from agent_soak import KillLoop, Soak, Wrong  # noqa: E402


def say(line):
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, metavar="N")
    parser.add_argument("--kills", type=int, metavar="N")
    parser.add_argument("--up", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()), metavar="N")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root")
    folder = tempfile.mkdtemp(prefix="vesta-soak-")
    made = None
    try:
        if arguments.kills is None:
            made = Soak(folder, arguments.minutes * 60, arguments.up, say)
            made.run()
            made.parts.close()
        else:
            say(f"seed {arguments.seed}")
            made = KillLoop(folder, arguments.seed, arguments.up)
            for turn in range(arguments.kills):
                made.round()
                say(f"round {turn + 1}: {dict(made.counts)}")
            say("\n".join(made.finish()))
            made.close()
    except (Wrong, OSError) as error:
        sys.exit(f"{error}\neverything is in {folder}")
    finally:
        if made is not None:
            (made if isinstance(made, KillLoop) else made.parts).close()
    shutil.rmtree(folder)
    say("well: nothing lost without a reason, nothing doubled"
        + ("" if arguments.kills else ", nothing grows"))


if __name__ == "__main__":
    main()
