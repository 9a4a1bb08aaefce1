"""Sends pushes to a server and measures what that costs it; for bench/store.py."""
import os
import threading
import time
from collections import namedtuple

import store_http

Push = namedtuple("Push", "offset bytes service version host time_unix_ms rows samples")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def read_pushes(folder):
    with open(os.path.join(folder, "pushes.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [Push(int(row[0]), int(row[1]), *row[2:5], *map(int, row[5:])) for row in rows]


def cpu_by_thread(pid):
    """CPU seconds of each thread name that lives now; threads of one name together."""
    times = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        fields = text[text.rindex(")") + 2:].split()
        times[name] = times.get(name, 0) + (int(fields[11]) + int(fields[12])) * TICK_S
    return times


def cpu_s(pid):
    """User and system time of a process, with the threads that have ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Memory:
    """Looks at a process four times a second: the highest Pss, and of that what is not files."""

    def __init__(self, pid):
        self.pid, self.pss_kb, self.anonymous_kb = pid, 0, 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.done.wait(0.25):
            try:
                with open(f"/proc/{self.pid}/smaps_rollup", encoding="utf-8") as file:
                    lines = dict(line.split(":", 1) for line in file if ":" in line[:20])
            except OSError:
                return
            self.pss_kb = max(self.pss_kb, int(lines["Pss"].split()[0]))
            self.anonymous_kb = max(self.anonymous_kb, int(lines["Pss_Anon"].split()[0]))

    def stop(self):
        self.done.set()
        self.thread.join()
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            status = dict(line.split(":", 1) for line in file)
        return {"pss_mb": self.pss_kb / 1000, "pss_anonymous_mb": self.anonymous_kb / 1000,
                "rss_peak_mb": int(status["VmHWM"].split()[0]) / 1000}


class Sender:
    """Sends pushes over several connections; each push is sent until it is acknowledged."""

    def __init__(self, port, folder, pushes, connections=16, rows_per_s=None, restamp=False):
        self.port, self.pushes = port, pushes
        self.rows_per_s, self.restamp = rows_per_s, restamp
        self.file = os.open(os.path.join(folder, "pushes.bin"), os.O_RDONLY)
        self.lock, self.next, self.rows = threading.Lock(), 0, 0
        self.waits_s, self.errors, self.retries = [], [], 0
        self.stopped = threading.Event()
        self.started = time.monotonic()
        self.threads = [threading.Thread(target=self._run, daemon=True)
                        for _ in range(connections)]
        for thread in self.threads:
            thread.start()

    def _take(self):
        with self.lock:
            if self.stopped.is_set() or self.errors or (
                    not self.restamp and self.next == len(self.pushes)):
                return None
            push = self.pushes[self.next % len(self.pushes)]
            self.next += 1
            due = self.started + self.rows / self.rows_per_s if self.rows_per_s else 0
            self.rows += push.rows
        if due > time.monotonic():
            time.sleep(due - time.monotonic())
        return push

    def _run(self):
        connection = store_http.Connection(self.port)
        try:
            while (push := self._take()) is not None:
                labels = {"service": push.service, "version": push.version, "host": push.host}
                where = store_http.target(
                    "profiles", time=int(time.time() * 1000) if self.restamp else None,
                    **{f"label_{name}": value for name, value in labels.items() if value})
                self._send(connection, where, push)
        except Exception as error:  # told by finish()
            self.errors.append(error)
        finally:
            connection.close()

    def _send(self, connection, where, push):
        while True:
            started = time.monotonic()
            status, _, body = connection.send_file(where, self.file, push.offset, push.bytes, {})
            if status == 200:
                self.waits_s.append(time.monotonic() - started)
                return
            if status not in (429, 503):
                raise RuntimeError(f"a push was answered {status}: {body[:500]!r}")
            self.retries += 1
            time.sleep(0.05)

    def finish(self, stop=False):
        """Waits until everything is acknowledged, or stops; gives what was measured."""
        if stop:
            self.stopped.set()
        for thread in self.threads:
            thread.join()
        os.close(self.file)
        if self.errors:
            raise self.errors[0]
        wall_s = time.monotonic() - self.started
        return {"rows": self.rows, "pushes": len(self.waits_s), "wall_s": wall_s,
                "rows_per_s": self.rows / wall_s, "retries": self.retries,
                "acknowledge_p50_ms": 1000 * quantile(self.waits_s, 0.5),
                "acknowledge_p99_ms": 1000 * quantile(self.waits_s, 0.99)}
