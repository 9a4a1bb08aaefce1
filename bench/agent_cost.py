#!/usr/bin/env python3
"""What leaving vesta on costs: CPU, memory, bytes per sample, time to the first picture.

  tools/dev bench agent_cost [--quick] [--only PART]... [--json FILE]

With the settings that users have, on a machine as idle as it is and beside 200 running processes:
  apart  `vesta agent` and `vesta server`; up: `vesta up`. CPU in % of one core over a minute that
         begins after two batches, the run time of the BPF programs with it; memory is the highest
         Pss of that minute, without BPF maps, plus the memory of maps and programs
  first  from the start of `vesta up` until its page answers, and until the tree that the page draws
         has samples in it
  wire   bytes of the bodies that `vesta agent` sends, per sample, by a receiver that is not ours
  spool  bytes that it keeps per sample while nobody listens
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import bpf_stats  # noqa: E402
from agent import cpu_seconds, run_parts, spinners  # noqa: E402
from agent_memory import pss_bytes  # noqa: E402
from conftest import VESTA  # noqa: E402
from otlp_receiver import OtlpReceiver  # noqa: E402
from workloads import free_port, wait_for  # noqa: E402

GOALS = {"agent_percent_200": 0.6, "agent_mb": 100, "up_mb": 400, "wire_bytes_per_sample": 20}
MB = 2**20


class Parts:
    """Processes of vesta on a folder of their own, with the settings that users have."""

    def __init__(self, folder, name):
        self.folder = f"{folder}/{name}"
        os.mkdir(self.folder)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start(self, name, server=None):
        options = []
        if name != "agent":
            options += ["--data", f"{self.folder}/store", "--listen", f"127.0.0.1:{self.port}"]
        if name != "server":
            options += ["--state-dir", f"{self.folder}/state", "--pause-file",
                        f"{self.folder}/pause"]
        if name == "agent":
            options += ["--server", server or self.url]
        with open(f"{self.folder}/{name}.log", "w", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen([VESTA, name, *options],
                                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def get(self, target):
        with contextlib.suppress(OSError, urllib.error.URLError):
            with urllib.request.urlopen(self.url + target, timeout=30) as answer:
                return answer.read()
        return b""

    def rows(self):
        return json.loads(self.get("/api/v1/status") or '{"store": {"rows": 0}}')["store"]["rows"]

    def book(self):
        with contextlib.suppress(OSError):
            with open(f"{self.folder}/state/agent.json", encoding="utf-8") as file:
                return json.load(file)
        return {"details": {}}

    def stop(self):
        for name in ("agent", "up", "server"):
            if name in self.processes:
                self.processes[name].send_signal(signal.SIGTERM)
                code = self.processes[name].wait(120)
                if code != 0:
                    raise RuntimeError(f"vesta {name} ended with {code}: see {self.folder}")


def bpf_of(pid):
    """(seconds of the programs, bytes of programs and maps) that a process holds."""
    program_ids, map_ids = bpf_stats.held_by(pid)
    seconds = size = 0
    for program_id in program_ids:
        program = bpf_stats.Program(program_id)
        seconds += program.runs()[1] / 1e9
        size += program.memory_bytes()
        program.close()
    return seconds, size + sum(bpf_stats.map_memory(map_id)[1] for map_id in map_ids)


def measure(pids, seconds):
    """{name: its cost over so many seconds}"""
    before = {name: (cpu_seconds(pid), bpf_of(pid)[0]) for name, pid in pids.items()}
    start, peaks = time.monotonic(), dict.fromkeys(pids, 0)
    while time.monotonic() < start + seconds:
        for name, pid in pids.items():
            peaks[name] = max(peaks[name], pss_bytes(pid))
        time.sleep(1)
    wall = time.monotonic() - start
    costs = {}
    for name, pid in pids.items():
        cpu, (bpf_s, bpf_bytes) = cpu_seconds(pid) - before[name][0], bpf_of(pid)
        bpf_s -= before[name][1]
        costs[name] = {"cpu_percent": round(100 * (cpu + bpf_s) / wall, 3),
                       "bpf_percent": round(100 * bpf_s / wall, 3),
                       "memory_mb": round((peaks[name] + bpf_bytes) / MB, 1),
                       "bpf_mb": round(bpf_bytes / MB, 1)}
    return costs


def load(is_loaded):
    return spinners(200) if is_loaded else contextlib.nullcontext()


def bench_running(folder, seconds, names):
    results = {}
    for words, is_loaded in (("idle", False), ("200 processes", True)):
        name_of_folder = f"{names[0]}-{words.replace(' ', '-')}"
        with load(is_loaded), Parts(folder, name_of_folder) as parts:
            for name in names:
                parts.start(name)
            wait_for(lambda: parts.book()["details"].get("deliveries", 0) >= 2, "sampling", 120)
            rows = parts.rows()
            costs = measure({name: process.pid for name, process in parts.processes.items()},
                            seconds)
            rows = parts.rows() - rows
            parts.stop()
        results[words] = {"samples": rows, **costs}
        for name, cost in costs.items():
            print(f"{words:>14}  {name:7}{cost['cpu_percent']:8} % CPU (BPF {cost['bpf_percent']} "
                  f"%){cost['memory_mb']:8} MB (BPF {cost['bpf_mb']}); {rows} samples stored")
    return results


def bench_apart(folder, seconds):
    return bench_running(folder, seconds, ["server", "agent"])


def bench_up(folder, seconds):
    return bench_running(folder, seconds, ["up"])


def tree_has_samples(parts):
    answer = json.loads(parts.get("/api/v1/tree?query=cpu") or '{"sides": []}')
    return any(side["total"]["count"] > 0 for side in answer["sides"])


def bench_first(folder, _seconds):
    results = {}
    for words, is_loaded in (("idle", False), ("200 processes", True)):
        with load(is_loaded), Parts(folder, f"first-{words.replace(' ', '-')}") as parts:
            start = time.monotonic()
            parts.start("up")
            wait_for(lambda: parts.get("/"), "the page", 120)
            page_s = time.monotonic() - start
            wait_for(lambda: tree_has_samples(parts), "the first picture", 120)
            results[words] = {"page_s": round(page_s, 2),
                              "picture_s": round(time.monotonic() - start, 2)}
            parts.stop()
        print(f"{words:>14}  page after {results[words]['page_s']} s, picture after "
              f"{results[words]['picture_s']} s")
    return results


def bench_wire(folder, seconds):
    results = {}
    for words, is_loaded in (("idle", False), ("200 processes", True)):
        with load(is_loaded), Parts(folder, f"wire-{words.replace(' ', '-')}") as parts:
            receiver = OtlpReceiver()
            parts.start("agent", receiver.url)
            time.sleep(seconds + 15)
            parts.stop()
            receiver.close()
        took = receiver.took
        if receiver.problems or not took:
            raise RuntimeError(f"nothing useful arrived: {receiver.problems[:3]}")
        later = took[1:] or took
        results[words] = {
            "batches": len(took), "samples": sum(batch.rows for batch in took),
            "first_bytes_per_sample": round(took[0].packed_bytes / max(took[0].rows, 1), 1),
            "bytes_per_sample": round(sum(batch.packed_bytes for batch in later)
                                      / max(sum(batch.rows for batch in later), 1), 1)}
        row = results[words]
        print(f"{words:>14}  {row['bytes_per_sample']} bytes per sample on the wire "
              f"({row['first_bytes_per_sample']} in the first batch; {row['samples']} samples in "
              f"{row['batches']} batches)")
    return results


def bench_spool(folder, seconds):
    with load(True), Parts(folder, "spool") as parts:
        parts.start("agent", "http://127.0.0.1:9")
        time.sleep(seconds + 15)
        parts.stop()
    details = parts.book()["details"]
    result = {"samples": details["spool_written"], "bytes_per_sample": round(
        details["spool_written_bytes"] / max(details["spool_written"], 1), 1)}
    print(f"{'200 processes':>14}  {result['bytes_per_sample']} bytes per sample in the spool "
          f"({result['samples']} samples)")
    return result


PARTS = {"apart": bench_apart, "up": bench_up, "first": bench_first, "wire": bench_wire,
         "spool": bench_spool}


if __name__ == "__main__":
    run_parts(PARTS, GOALS, "agent_cost", __doc__, 10, 60)
