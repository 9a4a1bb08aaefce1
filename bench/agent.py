#!/usr/bin/env python3
"""What the agent costs: CPU, memory, start-up, BPF time by depth, slow-down of a victim.

  tools/dev bench agent [--quick] [--only PART]... [--json FILE]

Parts: load (1, 50, 200 running processes, against perf), depth, slowdown, expected, startup, tables.
Agent CPU = user + system time of the agent plus run time of its BPF programs, in % of one core;
memory = peak of Pss without mapped BPF maps, plus the memory of its maps and programs. perf's
figures leave out what it does inside of interrupts: nothing counts it.
"""
import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
import bpf_stats  # noqa: E402
from agent_memory import pss_bytes  # noqa: E402
import pprof  # noqa: E402
from conftest import BUILD, PROGRAMS, VESTA  # noqa: E402

TOGGLE = f"{PROGRAMS}/toggle"
GOALS = {"agent_percent_200": 0.6, "memory_mb_200": 40, "startup_s": 0.5, "bpf_us_30_frames": 15}


def cpu_seconds(pid):
    """CPU time of a living process, all threads that ever were, with ns resolution."""
    return time.clock_gettime((~pid << 3) | 2)


class Watch(threading.Thread):
    """Follows one running profiler: its BPF programs and maps, its Pss, its CPU time."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.programs, self.pss_peak, self.map_peak, self.maps = {}, 0, 0, {}
        self.ready_cpu_s = self.ready_after_s = None
        self.cpu_marks = []  # (time, CPU seconds)
        self.started = time.monotonic()
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            with contextlib.suppress(OSError):  # the process may end at any moment
                self.look()
            self.ended.wait(0.05 if self.ready_cpu_s is None else 0.2)

    def look(self):
        now, cpu = time.monotonic(), cpu_seconds(self.pid)
        self.cpu_marks.append((now, cpu))
        program_ids, map_ids = bpf_stats.held_by(self.pid)
        for program_id in program_ids - set(self.programs):
            with contextlib.suppress(OSError):
                self.programs[program_id] = bpf_stats.Program(program_id)
        if self.ready_cpu_s is None and any(
                p.is_sampler and p.runs()[0] for p in self.programs.values()):
            self.ready_cpu_s, self.ready_after_s = cpu, now - self.started
        self.pss_peak = max(self.pss_peak, pss_bytes(self.pid))
        maps = {}
        for map_id in map_ids:
            with contextlib.suppress(OSError):
                name, size = bpf_stats.map_memory(map_id)
                maps[f"{name}#{map_id}"] = size
        if sum(maps.values()) >= self.map_peak:
            self.maps, self.map_peak = maps, sum(maps.values())

    def steady_percent(self, seconds):
        """CPU of the process alone, in % of one core, from half a second after the first sample to
        half a second before the end of the recording: without start-up, naming and writing."""
        ready = self.started + (0.5 if self.ready_after_s is None else self.ready_after_s)
        marks = [mark for mark in self.cpu_marks if ready + 0.5 <= mark[0] <= ready + seconds - 0.5]
        if len(marks) < 2:
            return None
        return 100 * (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])

    def cpu_before_finish(self, seconds):
        """CPU up to the end of the recording; what follows is naming and writing."""
        end = self.started + (self.ready_after_s or 0) + seconds
        return max((cpu for at, cpu in self.cpu_marks if at <= end), default=0.0)

    def finish(self):
        self.ended.set()
        self.join()
        runs = {p.name: p.runs() for p in self.programs.values()}
        sampler = next((p.runs() for p in self.programs.values() if p.is_sampler), (0, 0))
        memory = sum(p.memory_bytes() for p in self.programs.values())
        for program in self.programs.values():
            program.close()
        self.programs = {}
        return runs, sampler, memory


def measure(command, seconds):
    """Runs a profiler to its end; the figures of its whole life and of its steady middle."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    watch.start()
    stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    runs, sampler_runs, program_bytes = watch.finish()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {stderr[-2000:]}")
    bpf_s = sum(ns for _, ns in runs.values()) / 1e9
    steady = watch.steady_percent(seconds)
    own_s = usage.ru_utime + usage.ru_stime
    mib = 1024 * 1024
    return {
        "agent_percent": round(100 * (own_s + bpf_s) / seconds, 3),
        "process_s": round(own_s, 3), "bpf_s": round(bpf_s, 4),
        "bpf_percent": round(100 * bpf_s / seconds, 3),
        "steady_process_percent": steady and round(steady, 3),
        "startup_s": watch.ready_cpu_s and round(watch.ready_cpu_s, 3),
        "finish_s": round(max(own_s - watch.cpu_before_finish(seconds), 0), 3),
        "startup_wall_s": watch.ready_after_s and round(watch.ready_after_s, 2),
        "memory_mb": round((watch.pss_peak + watch.map_peak + program_bytes) / mib, 2),
        "pss_mb": round(watch.pss_peak / mib, 2),
        "maps_mb": round(watch.map_peak / mib, 2),
        "largest_maps": sorted(watch.maps.items(), key=lambda item: -item[1])[:8],
        "bpf_runs": runs, "sampler_runs": sampler_runs,
    }


@contextlib.contextmanager
def spinners(count):
    """Running processes from the forty binaries, at the lowest priority."""
    processes = [subprocess.Popen(["nice", "-n", "19", f"{PROGRAMS}/spin_{i % 40:02}", "3600"])
                 for i in range(count)]
    time.sleep(0.5)
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def vesta_command(folder, name, *arguments):
    return [VESTA, "record", "--state-dir", f"{folder}/{name}", "-o", f"{folder}/{name}.pb.gz",
            *arguments]


def book_of(folder, name):
    with open(f"{folder}/{name}/last_recording.json", encoding="utf-8") as file:
        return json.load(file)


def bench_load(folder, seconds):
    results = []
    for count in (1, 50, 200):
        with spinners(count):
            row = {"processes": count}
            row["vesta"] = measure(vesta_command(folder, f"load{count}", "--duration",
                                                 f"{seconds}s", "--frequency", "99"), seconds)
            row["vesta"]["samples"] = pprof.load(f"{folder}/load{count}.pb.gz").total(0)
            if shutil.which("perf"):
                for name, graph in (("perf -a -g", "fp"), ("perf --call-graph dwarf", "dwarf")):
                    data = f"{folder}/perf.data"
                    row[name] = measure(["perf", "record", "-q", "-B", "-a", "-F", "99", "-e",
                                         "cpu-clock", "--call-graph", graph, "-o", data, "--",
                                         "sleep", str(seconds)], seconds)
                    row[name]["file_mb"] = round(os.path.getsize(data) / 1024 / 1024, 2)
                    os.remove(data)
        results.append(row)
        print_load(row)
    return results


def print_load(row):
    print(f"\n{row['processes']} running processes, 99 Hz")
    heads = (("agent CPU", 11), ("process", 10), ("steady", 9), ("BPF", 9), ("memory", 10),
             ("start-up", 10), ("finish", 10))
    print(" " * 28 + "".join(f"{head:>{width}}" for head, width in heads))
    for name in [name for name in row if name != "processes"]:
        r = row[name]
        steady = "-" if r["steady_process_percent"] is None else f"{r['steady_process_percent']} %"
        start = "-" if r["startup_s"] is None else f"{r['startup_s']} s"
        print(f"  {name:26}{r['agent_percent']:>9} %{r['process_s']:>8} s{steady:>9}"
              f"{r['bpf_percent']:>7} %{r['memory_mb']:>7} MB{start:>10}"
              f"{r['finish_s']:>8} s")


def bench_startup(folder, _seconds):
    """Start-up with 200 running processes, page cache dropped and not."""
    results = {}
    with spinners(200):
        for name in ("cold", "warm"):
            if name == "cold":
                os.sync()
                with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
                    file.write("3")
            results[name] = measure(vesta_command(folder, name, "--duration", "1s"), 1)
    print("\nstart-up CPU until the first sample, 200 processes: "
          + ", ".join(f"{name} {r['startup_s']} s (wall {r['startup_wall_s']} s)"
                      for name, r in results.items()))
    return results


def bench_depth(folder, seconds):
    results = []
    print("\nBPF time per kept sample by depth (one pinned process, --pid)")
    for frequency in (99, 499):
        for depth in (10, 40, 128, 512):
            victim = subprocess.Popen(["taskset", "-c", str(os.cpu_count() - 1),
                                       f"{PROGRAMS}/deep_recursion", str(depth), "3600"])
            time.sleep(0.2)
            try:
                name = f"depth{depth}at{frequency}"
                result = measure(vesta_command(folder, name, "--pid", str(victim.pid),
                                               "--duration", f"{seconds}s", "--frequency",
                                               str(frequency)), seconds)
                kept = sum(s.values[0] for s in pprof.load(f"{folder}/{name}.pb.gz").samples)
            finally:
                victim.kill()
                victim.wait()
            runs, time_ns = result["sampler_runs"]
            row = {"depth": depth, "frequency_hz": frequency, "runs": runs, "kept": kept,
                   "us_per_kept_sample": round(time_ns / 1000 / max(kept, 1), 2),
                   "us_per_run": round(time_ns / 1000 / max(runs, 1), 2)}
            results.append(row)
            print(f"  depth {depth:4} at {frequency:3} Hz: {row['us_per_kept_sample']:7} us"
                  f"  ({kept} kept of {runs} runs)")
    return results


def toggle(*arguments):
    done = subprocess.run([TOGGLE, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def bench_slowdown(folder, seconds):
    """Paired blocks of 50 ms, events on and off; vesta against an empty BPF program."""
    rounds = int(seconds * 10)
    results = []
    print(f"\nslow-down of a pinned victim, median of {rounds} pairs of 50 ms blocks")
    for frequency in (99, 999):
        empty = toggle("slowdown", "empty", frequency, rounds)
        agent = subprocess.Popen(vesta_command(folder, f"slow{frequency}", "--frequency",
                                               str(frequency)),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            time.sleep(3)
            vesta = toggle("slowdown", agent.pid, frequency, rounds)
        finally:
            agent.send_signal(signal.SIGINT)
            agent.wait(30)
        row = {"frequency_hz": frequency, "empty": empty, "vesta": vesta}
        results.append(row)
        print(f"  {frequency} Hz: empty {empty['slowdown_percent']} ± {empty['standard_error']} %,"
              f" vesta {vesta['slowdown_percent']} ± {vesta['standard_error']} %")
    return results


def bench_expected(folder, seconds):
    """Samples received against runs of an empty BPF program beside it, both cores busy."""
    with spinners(4):
        command = vesta_command(folder, "expected", "--duration", f"{seconds + 3}s")
        agent = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            held, _ = bpf_stats.held_by(agent.pid)
            programs = [p for p in map(bpf_stats.Program, held) if p.is_sampler]
            before = {p.id: p.runs()[0] for p in programs}
            empty = toggle("count", 99, seconds)
            received = max(p.runs()[0] - before[p.id] for p in programs)
        finally:
            agent.wait(60)
    result = {"empty_runs": empty["runs"], "vesta_runs": received,
              "part": round(received / empty["runs"], 4)}
    print(f"\nexpected samples: empty program {empty['runs']}, vesta {received} "
          f"({100 * result['part']:.2f} %)")
    return result


def table_files():
    """Libraries and programs that are there: the C and C++ libraries, python, node, LLVM."""
    with open("/proc/self/maps", encoding="ascii") as file:
        files = sorted(set(re.findall(r"/\S*libc\.so\.6", file.read())))
    folder = os.path.dirname(files[0])
    names = [f"{folder}/{name}" for name in sorted(os.listdir(folder))
             if re.match(r"libstdc\+\+\.so\.6$|libnode\.so\.\d+$|libLLVM-\d+\.so\.1$", name)]
    programs = [os.path.realpath(path) for path in map(shutil.which, ("python3", "node")) if path]
    return files + names + programs


def bench_tables(_folder, _seconds):
    """Unwind tables of whole files: bytes and build time per MB of .eh_frame."""
    done = subprocess.run([f"{BUILD}/bench/unwind_table_bench", *table_files()],
                          capture_output=True, text=True, check=True)
    header, *lines = done.stdout.splitlines()
    results = []
    print("\nunwind tables     CFI MB   table bytes per byte   ms per MB   rows")
    for line in lines:
        row = dict(zip(header.split(), line.split()))
        megabytes = int(row["cfi_bytes"]) / 1e6
        if megabytes == 0:
            continue
        result = {"file": os.path.basename(row["file"]), "cfi_mb": round(megabytes, 3),
                  "table_bytes_per_byte": float(row["MB_per_MB"]),
                  "ms_per_mb": round(float(row["cpu_ms"]) / megabytes, 1),
                  "rows": int(row["rows"])}
        results.append(result)
        print(f"  {result['file']:14} {megabytes:7.2f}   {result['table_bytes_per_byte']:20}"
              f"   {result['ms_per_mb']:9}   {result['rows']}")
    return results


def steal_ticks():
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    return fields[7], sum(fields)


PARTS = {"load": bench_load, "startup": bench_startup, "depth": bench_depth,
         "expected": bench_expected, "slowdown": bench_slowdown, "tables": bench_tables}


def run_parts(parts, goals, name, description, quick_seconds, seconds):
    """The command line of a bench made of parts: runs them, prints the machine, writes JSON."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{quick_seconds} seconds a point")
    parser.add_argument("--only", action="append", choices=parts, help="this part only")
    parser.add_argument("--json", default=f"{BUILD}/bench/{name}.json", metavar="FILE")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root")
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo", encoding="utf-8").read())
    result = {"date": time.strftime("%Y-%m-%d %H:%M"), "kernel": platform.release(),
              "cpus": os.cpu_count(), "cpu": model[1] if model else "?",
              "load_before": os.getloadavg()[0], "goals": goals}
    stolen, ticks = steal_ticks()
    with tempfile.TemporaryDirectory(prefix="vesta-bench-") as folder, bpf_stats.statistics():
        for part in arguments.only or parts:
            result[part] = parts[part](folder, quick_seconds if arguments.quick else seconds)
    stolen_after, ticks_after = steal_ticks()
    result["steal_percent"] = round(100 * (stolen_after - stolen) / (ticks_after - ticks), 2)
    print(f"\nmachine: {result['cpus']} x {result['cpu']}, Linux {result['kernel']}, load before "
          f"{result['load_before']:.2f}, stolen {result['steal_percent']} %")
    os.makedirs(os.path.dirname(arguments.json), exist_ok=True)
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    print(f"wrote {arguments.json}")


if __name__ == "__main__":
    run_parts(PARTS, GOALS, "agent", __doc__, 3, 10)
