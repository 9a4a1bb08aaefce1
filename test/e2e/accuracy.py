"""What deep_split says of itself, what vesta saw of it, and what perf saw in the same run."""
import collections
import json
import re
import subprocess

from conftest import PROGRAMS

LEAVES = ("hot_leaf", "warm_leaf", "cold_leaf")
DEPTH = 40
PERF_STACK_BYTES = 16384  # deep_split's stack is about 10 KiB deep


def plain_name(name):
    """A function's name without its result type and parameters."""
    name = re.sub(r"\(.*\)$", "", name)
    return re.sub(r"^(unsigned int|uint32_t) ", "", name)


def expected_path(leaf):
    """Leaf first, from the leaf to main."""
    step = leaf.replace("_leaf", "_step")
    return [leaf, *[f"{step}<{level}>" for level in range(DEPTH - 2, -1, -1)], "main"]


def judge(stacks):
    """stacks: [(names leaf first, weight)] of deep_split alone.

    Shares are parts of all samples inside the three paths; a path counts when every frame of it is
    right, from the leaf to main and on to _start.
    """
    by_leaf, whole_path, complete, total = collections.Counter(), collections.Counter(), 0, 0
    for names, weight in stacks:
        names = [plain_name(name) for name in names]
        total += weight
        complete += weight * (bool(names) and names[-1] == "_start")
        for leaf in LEAVES:
            if leaf not in names:
                continue
            by_leaf[leaf] += weight
            path = expected_path(leaf)
            at = names.index(leaf)
            if names[at:at + len(path)] == path and names[-1] == "_start":
                whole_path[leaf] += weight
    inside = sum(by_leaf.values()) or 1
    return {"samples": total, "complete": complete / (total or 1),
            "share": {leaf: by_leaf[leaf] / inside for leaf in LEAVES},
            "path_share": {leaf: whole_path[leaf] / inside for leaf in LEAVES}}


def perf_stacks(path, comm):
    """Stacks of `perf script`, leaf first."""
    text = subprocess.run(["perf", "script", "-i", path, "--comm", comm, "-F", "comm,ip,sym",
                           "--no-inline"], capture_output=True, text=True, check=True).stdout
    stacks = []
    for event in text.split("\n\n"):
        frames = [re.match(r"\s+[0-9a-f]+ (.*)$", line) for line in event.split("\n")]
        names = [frame[1].rsplit("+0x", 1)[0] for frame in frames if frame]
        if names:
            stacks.append((names, 1))
    return stacks


def measure(record, folder, seconds, frequency, perf_frequency, program="deep_split"):
    """Runs deep_split under perf under vesta, so that all three saw the same run."""
    data = f"{folder}/perf.data"
    recording = record(
        "--frequency", str(frequency), "--", "perf", "record", "-q", "-B", "-e", "cpu-clock", "-F",
        str(perf_frequency), "--call-graph", f"dwarf,{PERF_STACK_BYTES}", "-o", data, "--",
        f"{PROGRAMS}/{program}", str(seconds), timeout=seconds + 120)
    own = next(json.loads(line) for line in recording.stdout.splitlines()
               if line.startswith('{"depth"'))
    samples = recording.of(program)
    return {
        "own": {leaf: own[leaf] for leaf in LEAVES},
        "cpu_ns": own["cpu_ns"],
        "expected_samples": own["cpu_ns"] * frequency / 1e9,
        "vesta": judge([(s.names, s.values[0]) for s in samples]),
        "perf": judge(perf_stacks(data, program)),
    }


def worst_difference(result):
    """Largest distance, in points, of vesta's shares from the program's own and from perf's."""
    shares = result["vesta"]["share"]
    return {
        "share_from_own": 100 * max(abs(shares[leaf] - result["own"][leaf]) for leaf in LEAVES),
        "path_from_own": 100 * max(abs(result["vesta"]["path_share"][leaf] - result["own"][leaf])
                                   for leaf in LEAVES),
        "share_from_perf": 100 * max(abs(shares[leaf] - result["perf"]["share"][leaf])
                                     for leaf in LEAVES),
        "path_from_perf": 100 * max(abs(result["vesta"]["path_share"][leaf]
                                        - result["perf"]["path_share"][leaf]) for leaf in LEAVES),
    }
