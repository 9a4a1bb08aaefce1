"""What a program of test/programs/truth says of itself, against what vesta and perf saw of it.

Such a program spends its CPU along known call paths, measures each path's CPU, and prints both as
one JSON line; test/programs/truth/truth.h says how frames are written there.
"""
import collections
import contextlib
import functools
import glob
import json
import os
import re
import subprocess
from dataclasses import dataclass

from conftest import PROGRAMS, ROOT_NAME

# Where every path begins: functions of the programs themselves that belong to no single path.
COMMON = re.compile(r"((\w+(::|\.))?main|main\.(turn|spend|secondWorker)|(first|second)_thread)$")
KERNEL_START = 1 << 63
# How frames without a name of their own are written; see truth.h.
GAPS, ONE, STOP = {"*", "**"}, "?", "!"
# perf copies this much of each stack; 65,528 is the most that it can, and 600 frames need more.
PERF_STACK_BYTES = {"recurse_200": 32768, "recurse_600": 65528}
PERF_STACK_BYTES_DEFAULT = 16384


@dataclass
class Stack:
    names: list  # user frames, leaf first
    weight: int = 1
    kernel: bool = False  # the leaf lay in the kernel
    reason: str = ""  # why the walk ended early, as the profiler says; empty: it does not
    at_root: bool = False  # the outermost frame is where the kernel starts threads or programs


@dataclass
class Path:
    frames: list
    goal_percent: int
    cpu_ns: int
    ends: str = ""  # the reason why a walk may stop at "!"

    @property
    def leaf(self):
        """The innermost function whose name is known."""
        return next(f for f in self.frames if f not in GAPS | {ONE, STOP})


class Truth:
    """What one program said of itself."""

    def __init__(self, said):
        self.program = said["program"]
        self.paths = [Path(**path) for path in said["paths"]]
        frames = {frame for path in self.paths for frame in path.frames} - GAPS - {ONE, STOP}
        self.parts = [frame[1:] for frame in frames if frame[0] == "~"]
        self.names = {frame for frame in frames if frame[0] != "~"}
        self.own_names = {name for name in self.names if not COMMON.match(name)}
        self.leaves = {path.frames[0] for path in self.paths}
        self.cpu_ns = sum(path.cpu_ns for path in self.paths)

    def knows(self, name):
        return name in self.names or any(part in name for part in self.parts)

    def belongs(self, stack):
        """Was taken inside a path: it holds a function of one, or we cannot tell."""
        return bool(stack.reason) or any(
            name in self.own_names or (name not in self.names and self.knows(name))
            for name in stack.names)

    def matches(self, path, stack):
        """Every frame is right, from the leaf to main, and below that there is only start code; or
        every frame up to where no walker need know the caller, and it says why it stopped."""
        if STOP in path.frames:
            at = self.match(path.frames[:path.frames.index(STOP)], stack.names)
            if at == len(stack.names) and stack.reason == path.ends:
                return True
        at = self.match([frame for frame in path.frames if frame != STOP], stack.names)
        return at is not None and not any(map(self.knows, stack.names[at:]))

    def match(self, frames, names):
        """How many of the names these frames cover; None when they do not match."""
        at = 0
        for position, frame in enumerate(frames):
            if frame in GAPS:
                following = frames[position + 1:position + 2]
                while at < len(names) and not (following and is_frame(following[0], names[at])):
                    if frame == "*" and self.knows(names[at]):
                        return None
                    at += 1
            elif at < len(names) and (not self.knows(names[at]) if frame == ONE
                                      else is_frame(frame, names[at])):
                at += 1
            else:
                return None
        return at

    def matches_below(self, path, stack):
        """The leaf is in no path: one of the path's inner functions, or what that called or was
        interrupted by, such as the unwinder of exceptions. All frames from there on are right."""
        first = next((name for name in stack.names if self.knows(name)), None)
        if first is None or stack.names[0] in self.leaves:
            return False
        frames = [frame for frame in path.frames if frame != STOP]
        for start, frame in enumerate(frames):
            if frame in self.own_names and frame == first:
                at = self.match(["*", *frames[start:]], stack.names)
                if at is not None and not any(map(self.knows, stack.names[at:])):
                    return True
        return False

    def path_of(self, stack):
        """(number of the path or None, whether all of it is right)"""
        for matches in (self.matches, self.matches_below):
            for number, path in enumerate(self.paths):
                if matches(path, stack):
                    return number, True
        for number, path in enumerate(self.paths):
            if any(is_frame(path.leaf, name) for name in stack.names):
                return number, False
        return None, False


def is_frame(wanted, name):
    return wanted[1:] in name if wanted[0] == "~" else wanted == name


def plain_name(name):
    """A function's name without its result type, parameters and marks of the compiler."""
    name = re.sub(r"( \[clone [^]]*\])+$", "", name)
    name = name.removesuffix(" const")
    if name.endswith(")"):
        depth = 0
        for at in range(len(name) - 1, -1, -1):
            depth += (name[at] == ")") - (name[at] == "(")
            if depth == 0:
                name = name[:at] or name
                break
    return re.sub(r"^(unsigned int|int|void) ", "", name)


def truths(text):
    """The programs' own lines in what they printed."""
    return [Truth(json.loads(line)) for line in text.splitlines()
            if line.startswith("{") and '"paths"' in line and '"frames"' in line]


def is_root(frame):
    """Start code, by name or, where the names are stripped, by the ELF entry point."""
    if ROOT_NAME.match(frame.name):
        return True
    if not frame.mapping or not frame.mapping.filename.startswith("/"):
        return False
    entry = entry_point(frame.mapping.filename)
    return entry is not None and entry <= frame.address < entry + 64


@functools.cache
def entry_point(path):
    with contextlib.suppress(OSError), open(path, "rb") as file:
        head = file.read(32)
        if head[:4] == b"\x7fELF":
            return int.from_bytes(head[24:32], "little")
    return None


def vesta_stacks(samples):
    stacks = []
    for sample in samples:
        frames = [frame for frame in sample.frames
                  if not (frame.mapping and frame.mapping.filename.startswith("[kernel]"))]
        stacks.append(Stack([plain_name(frame.name) for frame in frames], sample.values[0],
                            len(frames) < len(sample.frames), sample.labels.get("incomplete", ""),
                            not frames or is_root(frames[-1])))
    return stacks


def perf_stacks(path, comm):
    """Stacks of `perf script`."""
    command = ["perf", "script", "-i", path, "--comm", comm, "-F", "comm,ip,sym,dso", "--no-inline",
               "--max-stack", "1024"]  # otherwise it shows 127 frames
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    stacks = []
    for event in text.split("\n\n"):
        found = [re.match(r"\s+([0-9a-f]+) (.*)$", line) for line in event.split("\n")]
        frames = [(int(frame[1], 16), frame[2]) for frame in found if frame]
        user = [re.match(r"(.*) \((.*)\)$", name) for ip, name in frames if ip < KERNEL_START]
        names = [plain_name(name[1].rsplit("+0x", 1)[0]) for name in user]
        if frames:
            at_root = not user or bool(ROOT_NAME.match(names[-1])) or "/ld-linux" in user[-1][2]
            stacks.append(Stack(names, 1, len(user) < len(frames), "", at_root))
    return stacks


def judge(truth, stacks):
    """How right these stacks of one program are.

    share_error: largest distance of a path's share from what the program measured, in points;
    sigma: one standard deviation of that share, for so many independent samples.
    right: whole paths, of the samples inside of paths. complete: stacks that reach a known root.
    ended: complete, or stopped where the program says that it may, for the reason it names.
    """
    total = inside = complete = ended = kernel = outside = 0
    found = [(stack, *truth.path_of(stack)) for stack in stacks]
    # The start of threads has no name in a stripped C library: it is where right paths end.
    roots = {stack.names[-1] for stack, _, is_right in found if is_right and not stack.reason}
    by_path, right = collections.Counter(), collections.Counter()
    reasons, wrong = collections.Counter(), collections.Counter()
    for stack, number, is_right in found:
        total += stack.weight
        kernel += stack.weight * stack.kernel
        reaches_root = not stack.reason and (stack.at_root or stack.names[-1] in roots)
        may_stop = is_right and bool(stack.reason)
        complete += stack.weight * reaches_root
        ended += stack.weight * (reaches_root or may_stop)
        if not reaches_root:
            reasons[stack.reason or f"unmarked, ends at {stack.names[-1]}"] += stack.weight
        if not truth.belongs(stack):
            outside += stack.weight
            continue
        inside += stack.weight
        if number is not None:
            by_path[number] += stack.weight
            right[number] += stack.weight * is_right
        if not is_right:
            wrong[";".join(shorten(stack.names)) + (f" ({stack.reason})" if stack.reason else "")] \
                += stack.weight
    attributed = sum(by_path.values())
    errors = []
    for number, path in enumerate(truth.paths):
        share = by_path[number] / (attributed or 1)
        own = path.cpu_ns / (truth.cpu_ns or 1)
        sigma = (own * (1 - own) / (attributed or 1)) ** 0.5
        errors.append((100 * abs(share - own), 100 * sigma))
    share_error, sigma = max(errors)
    return {
        "samples": total, "inside": inside, "outside_percent": percent(outside, total),
        "share_error": round(share_error, 3), "sigma": round(sigma, 3),
        "right_percent": percent(sum(right.values()), inside),
        "complete_percent": percent(complete, total), "ended_percent": percent(ended, total),
        "kernel_percent": percent(kernel, total),
        "shares": [round(by_path[n] / (attributed or 1), 5) for n in range(len(truth.paths))],
        "reasons": dict(reasons.most_common(8)), "wrong": dict(wrong.most_common(8)),
    }


def percent(part, whole):
    return round(100 * part / whole, 3) if whole else 0.0


def shorten(names):
    return names if len(names) <= 14 else [*names[:6], f"({len(names) - 12} more)", *names[-6:]]


def oracle(build, data, comm):
    """Counts of the oracle's comparison of our walks with those of elfutils over perf's copied
    stacks, for this program; None without the oracle."""
    tool = f"{build}/bench/walk_oracle"
    if not os.path.exists(tool):
        return None
    done = subprocess.run([tool, "--json", data], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["comms"].get(comm)


def oracle_percent(counts):
    """Equal walks, of those where elfutils has rules all the way and does not guess; None when
    there is none."""
    compared = counts["samples"] - counts["guessed"]
    return percent(counts["equal"] + counts["truncated_equal"], compared) if compared else None


def programs():
    """{name: path} of the programs that were built."""
    paths = [f"{PROGRAMS}/deep_split", *sorted(glob.glob(f"{PROGRAMS}/truth/*"))]
    return {os.path.basename(path): path for path in paths
            if os.access(path, os.X_OK) and not path.endswith(".so")}


def measure(record, folder, path, seconds, frequency, perf_frequency=None, build=None):
    """Runs a program under vesta, and under perf under vesta when perf_frequency is given, so that
    all saw the same run."""
    name = os.path.basename(path)
    command, data = [path, str(seconds)], f"{folder}/perf.data"
    if perf_frequency:
        size = PERF_STACK_BYTES.get(name, PERF_STACK_BYTES_DEFAULT)
        command = ["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", str(perf_frequency),
                   "--call-graph", f"dwarf,{size}", "-o", data, "--", *command]
    recording = record("--frequency", str(frequency), "--", *command, timeout=seconds + 120)
    truth, = truths(recording.stdout)
    seen = judge(truth, vesta_stacks(recording.of(name)))
    expected = truth.cpu_ns * frequency / 1e9
    result = {"program": name, "cpu_s": round(truth.cpu_ns / 1e9, 3),
              "own_shares": [round(p.cpu_ns / (truth.cpu_ns or 1), 5) for p in truth.paths],
              "leaves": [p.leaf for p in truth.paths],
              "expected_samples": round(expected),
              "kept_percent": percent(seen["inside"], expected), "vesta": seen,
              "dropped": {f"{stage['name']}: {reason}": count for stage in recording.book["stages"]
                          for reason, count in stage["dropped"].items() if count}}
    if perf_frequency:
        result["perf"] = judge(truth, perf_stacks(data, name))
        result["oracle"] = oracle(build, data, name) if build else None
        with contextlib.suppress(FileNotFoundError):
            os.remove(data)
    return result
