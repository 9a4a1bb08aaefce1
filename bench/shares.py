#!/usr/bin/env python3
"""Shares, paths and whole stacks of deep_split, 30 s at 999 Hz, against itself and against perf.

  tools/dev bench shares [SECONDS] [HZ]
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import accuracy  # noqa: E402
from conftest import BUILD, Recorder  # noqa: E402

COMPLETE_PERCENT, POINTS = 99.5, 1.0


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    frequency = int(sys.argv[2]) if len(sys.argv) > 2 else 999
    with tempfile.TemporaryDirectory(prefix="vesta-bench-") as folder:
        result = accuracy.measure(Recorder(folder), folder, seconds, frequency, frequency)
    worst = accuracy.worst_difference(result)
    print(f"{'':12}{'itself':>10}{'vesta':>10}{'path':>10}{'perf':>10}{'path':>10}")
    for leaf in accuracy.LEAVES:
        cells = [result["own"][leaf], result["vesta"]["share"][leaf],
                 result["vesta"]["path_share"][leaf], result["perf"]["share"][leaf],
                 result["perf"]["path_share"][leaf]]
        print(f"{leaf:12}" + "".join(f"{100 * cell:>8.2f} %" for cell in cells))
    complete = 100 * result["vesta"]["complete"]
    print(f"whole stacks: vesta {complete:.3f} % of {result['vesta']['samples']}, perf "
          f"{100 * result['perf']['complete']:.3f} % of {result['perf']['samples']}; expected "
          f"{result['expected_samples']:.0f} samples")
    print("largest distance in points: " + json.dumps({k: round(v, 3) for k, v in worst.items()}))
    os.makedirs(f"{BUILD}/bench", exist_ok=True)
    with open(f"{BUILD}/bench/shares.json", "w", encoding="utf-8") as file:
        json.dump({**result, "worst_points": worst}, file, indent=1)
    good = complete >= COMPLETE_PERCENT and max(worst.values()) <= POINTS
    print("within the goal" if good else "OUTSIDE the goal")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
