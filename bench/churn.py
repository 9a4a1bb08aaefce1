#!/usr/bin/env python3
"""Processes that come and go: what is kept, whole and named of their samples, and what that costs.

  tools/dev bench churn [--quick] [--only PART]... [--json FILE]

Parts:
  forks  100 forks and 100 programs a second and `make -j2` of C++: samples kept of expected
         (what an empty BPF program on the same events counted meanwhile), whole stacks, agent CPU
  short  programs that live 51 ms, by exec of forty binaries: samples of expected (their own CPU
         time by the kernel's account, times the rate), whole stacks; cold = tables, symbols and
         page cache absent, warm = the same binaries again in the same recording
"""
import collections
import contextlib
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import bpf_stats  # noqa: E402
import pprof  # noqa: E402
import workloads  # noqa: E402
from agent import book_of, measure, run_parts, toggle, vesta_command  # noqa: E402
from conftest import PROGRAMS  # noqa: E402

HZ = 99
SHORT_SECONDS = 0.051
GOALS = {"forks_kept_percent": 99, "short_kept_percent": 97, "agent_percent": 2}


def incomplete(samples):
    """Weight of the samples whose walk did not reach a root, by reason."""
    reasons = collections.Counter()
    for sample in samples:
        if "incomplete" in sample.labels:
            reasons[sample.labels["incomplete"]] += sample.values[0]
    return reasons


@contextlib.contextmanager
def churn(folder):
    """fork_storm, a shell that starts programs, and a compiler that is started again and again."""
    with workloads.make_cxx(folder), \
            workloads.running(f"{PROGRAMS}/fork_storm", "100", "3600"), \
            workloads.running("sh", "-c", "while :; do /bin/true; /bin/sleep 0.007; done"):
        yield


def forks_now():
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes"))


def bench_forks(folder, seconds):
    os.mkdir(f"{folder}/make")
    with churn(f"{folder}/make"):
        time.sleep(1)
        forks, start = forks_now(), time.monotonic()
        cost = measure(vesta_command(folder, "forks", "--duration", f"{seconds}s"), seconds)
        rate = (forks_now() - forks) / (time.monotonic() - start)
        # A second recording, beside which an empty program counts: one measures cost, one loss.
        recording = subprocess.Popen(
            vesta_command(folder, "expected", "--duration", f"{seconds + 3}s"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1.5)
            programs = [program for program in map(bpf_stats.Program,
                                                   bpf_stats.held_by(recording.pid)[0])
                        if program.is_sampler]
            before = {program.id: program.runs()[0] for program in programs}
            empty_runs = toggle("count", HZ, seconds)["runs"]
            runs = max(program.runs()[0] - before[program.id] for program in programs)
        finally:
            recording.wait(120)
    stages = book_of(folder, "expected")["stages"]
    received = stages[0]["received"]
    excluded = sum(stages[0]["excluded"].values())
    kept = stages[-1]["kept"]
    samples = pprof.load(f"{folder}/forks.pb.gz").samples
    total = sum(sample.values[0] for sample in samples)
    reasons = incomplete(samples)
    result = {
        "forks_per_second": round(rate, 1), "samples": total,
        "received_of_expected_percent": round(100 * runs / empty_runs, 2),
        "kept_of_received_percent": round(100 * kept / (received - excluded), 3),
        "whole_percent": round(100 * (1 - sum(reasons.values()) / total), 3),
        "incomplete": dict(reasons.most_common()),
        "agent_percent": cost["agent_percent"], "bpf_percent": cost["bpf_percent"],
        "steady_process_percent": cost["steady_process_percent"],
        "memory_mb": cost["memory_mb"], "book": book_of(folder, "forks")["details"],
    }
    result["kept_of_expected_percent"] = round(
        result["received_of_expected_percent"] * result["kept_of_received_percent"] / 100, 2)
    print(f"forks: {result['forks_per_second']:.0f} forks/s; kept "
          f"{result['kept_of_expected_percent']} % of expected (received "
          f"{result['received_of_expected_percent']} %, of these kept "
          f"{result['kept_of_received_percent']} %)\n"
          f"  whole stacks {result['whole_percent']} % of {total}: {dict(reasons.most_common())}\n"
          f"  agent CPU: steady {result['steady_process_percent']} % + BPF "
          f"{result['bpf_percent']} % of a core; with start-up and naming "
          f"{result['agent_percent']} %; memory {result['memory_mb']} MB")
    return result


def run_short(count):
    """Runs programs one after the other; gives pid -> CPU seconds."""
    cpu = {}
    for number in range(count):
        pid = os.posix_spawn(f"{PROGRAMS}/spin_{number % 40:02}",
                             ["spin", str(SHORT_SECONDS)], os.environ)
        _, _, usage = os.wait4(pid, 0)
        cpu[pid] = usage.ru_utime + usage.ru_stime
    return cpu


def bench_short(folder, seconds):
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    recording = subprocess.Popen(vesta_command(folder, "short"), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        workloads.wait_for(
            lambda: any(program.is_sampler and program.runs()[0] > 0 for program in
                        map(bpf_stats.Program, bpf_stats.held_by(recording.pid)[0])), "vesta")
        rounds = {"cold": run_short(40), "warm": run_short(int(seconds * 12))}
    finally:
        recording.send_signal(2)
        recording.wait(120)
    samples = pprof.load(f"{folder}/short.pb.gz").samples
    result = {}
    for name, cpu in rounds.items():
        own = [sample for sample in samples if sample.labels.get("pid") in cpu]
        total = sum(sample.values[0] for sample in own)
        expected = sum(cpu.values()) * HZ
        reasons = incomplete(own)
        named = sum(sample.values[0] for sample in own
                    if str(sample.labels.get("process", "")).startswith("spin"))
        result[name] = {
            "programs": len(cpu), "expected": round(expected, 1), "samples": total,
            "kept_of_expected_percent": round(100 * total / expected, 1),
            "noise_percent": round(100 / expected ** 0.5, 1),
            "whole_percent": round(100 * (1 - sum(reasons.values()) / (total or 1)), 2),
            "incomplete": dict(reasons), "named_percent": round(100 * named / (total or 1), 2)}
        row = result[name]
        print(f"short, {name}: {row['programs']} programs of {1000 * SHORT_SECONDS:.0f} ms: "
              f"{total} samples, {row['kept_of_expected_percent']} % (± {row['noise_percent']}) of "
              f"{row['expected']} expected; whole {row['whole_percent']} % {dict(reasons)}; with "
              f"the program's name {row['named_percent']} %")
    return result


PARTS = {"forks": bench_forks, "short": bench_short}


if __name__ == "__main__":
    run_parts(PARTS, GOALS, "churn", __doc__, 5, 20)
