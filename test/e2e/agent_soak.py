"""The always-on parts for long, or killed again and again; see test/soak/agent.py and
test_agent_soak.py.

A day in an hour: 20 times the usual rate of samples and of batches. What goes in must be in the store
once, and nothing may grow that has no reason to.
"""
import collections
import contextlib
import io
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

import pprof
from conftest import PROGRAMS, VESTA
from workloads import free_port

HZ, INTERVAL = 380, "1s"  # 20 x 19 Hz; 10 s / 20 would be less than the shortest interval
WAIT_S = 180
MB = 2**20
BUSY = "import time\nwhile True:\n    sum(range(1000))\n"
# Growth from the second to the last third of the time that is no trend yet: MB, share.
GROWTH = {"agent": (4, 0.05), "server": (16, 0.15), "up": (16, 0.15)}
MEMORY_MB = {"agent": 100, "server": 400, "up": 400}
DESCRIPTORS_GROWTH = 24
STORE_BYTES_PER_ROW = 100
LOST_SHARE = 0.01  # of the kernel's samples, with a reason in the book
CACHE_BYTES = 256 * MB


class Wrong(AssertionError):
    """What must hold does not."""


def check(holds, *words):
    if not holds:
        raise Wrong(" ".join(map(str, words)))


def wait_for(what, seconds=WAIT_S, name="it"):
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, urllib.error.URLError):
            if found := what():
                return found
        check(time.monotonic() < end, name, "did not come about in time")
        time.sleep(0.1)


def as_important_as_usual():
    """Whatever the priority of the test: the load has the lowest."""
    os.setpriority(os.PRIO_PROCESS, 0, 0)


@dataclass
class Life:
    """One process that sampled, and its last book: {} when it ended before it had one."""
    number: int
    book: dict = field(default_factory=dict)

    def detail(self, name):
        return self.book.get("details", {}).get(name, 0)

    def stage(self, name):
        empty = {"received": 0, "kept": 0, "excluded": {}, "dropped": {}}
        return next((s for s in self.book.get("stages", []) if s["name"] == name), empty)


class AlwaysOn:
    """`vesta agent` and `vesta server`, or `vesta up` for both. Each process that samples labels its
    samples with the number of its life."""

    def __init__(self, folder, together=False, hz=HZ, store_options=()):
        self.folder, self.together = folder, together
        self.state, self.data = f"{folder}/state", f"{folder}/store"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.store_options = ["--data", self.data, "--listen", f"127.0.0.1:{self.port}",
                              *store_options]
        self.agent_options = ["--state-dir", self.state, "--batch-interval", INTERVAL,
                              "--pause-file", f"{folder}/pause", "--frequency", str(hz),
                              "--cpu-limit", "100", "--symbol-cache-size", str(CACHE_BYTES)]
        self.processes, self.lives = {}, []

    @property
    def sampler(self):
        return "up" if self.together else "agent"

    @property
    def keeper(self):
        return "up" if self.together else "server"

    def start(self, name):
        options = []
        if name != "agent":
            options += self.store_options
        if name != "server":
            self.lives.append(Life(len(self.lives)))
            options += [*self.agent_options, "--label", f"life={len(self.lives) - 1}"]
        if name == "agent":
            options += ["--server", self.url]
        with open(self.log_path(name), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(
                [VESTA, name, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": self.folder},
                preexec_fn=as_important_as_usual)

    def start_all(self):
        for name in dict.fromkeys((self.keeper, self.sampler)):
            self.start(name)

    def log_path(self, name):
        return f"{self.folder}/{name}.log"

    def logs(self):
        text = ""
        for name in ("agent", "server", "up"):
            with contextlib.suppress(OSError), open(self.log_path(name), encoding="utf-8") as file:
                text += f"--- {name}\n{file.read()[-3000:]}\n"
        return text

    def stop(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name)
        check(process.poll() is None, name, "ended by itself with", process.poll(), self.logs())
        process.send_signal(how)
        code = process.wait(WAIT_S)
        check(code == (-how if how == signal.SIGKILL else 0), name, "ended with", code, self.logs())
        if name == self.sampler:
            self.lives[-1].book = self._book_of_last_life()

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def book(self):
        with open(f"{self.state}/agent.json", encoding="utf-8") as file:
            return json.load(file)

    def _book_of_last_life(self):
        with contextlib.suppress(OSError):
            book = self.book()
            earlier = [life.book.get("time_unix_ms") for life in self.lives[:-1]]
            if book["time_unix_ms"] not in earlier:  # else it had none yet
                return book
        return {}

    def get(self, target):
        with urllib.request.urlopen(f"{self.url}/api/v1/{target}", timeout=60) as answer:
            return answer.read()

    def stored_rows(self):
        return json.loads(self.get("status"))["store"]["rows"]

    def is_delivered(self):
        """The spool is empty, by the newest book of this life: a batch is under way in each."""
        book = self._book_of_last_life()
        return bool(book) and book["details"]["spool_waiting_records"] == 0

    def stored(self, life):
        """(samples, those of them that are there twice): a thread has one stack at a time."""
        done = subprocess.run([VESTA, "export", f'cpu{{life="{life}"}}', "--server", self.url,
                               "--from", "-1d", "--output", "-"], capture_output=True, check=False,
                              timeout=WAIT_S)
        if done.returncode == 125 and b"no series match" in done.stderr:
            return 0, 0
        check(done.returncode == 0, done.stderr)
        rows = collections.Counter()
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as parts:
            for part in parts:
                for sample in pprof.parse(parts.extractfile(part).read()).samples:
                    rows[(sample.labels["vesta.time"], sample.labels.get("pid"),
                          sample.labels.get("tid"), tuple(sample.names))] += sample.values[0]
        return sum(rows.values()), sum(count - 1 for count in rows.values())


def check_stages(book):
    for stage in book["stages"]:
        out = sum(stage["excluded"].values()) + stage["kept"] + sum(stage["dropped"].values())
        check(stage["received"] == out, "the book does not balance:", stage)


def check_way(life):
    """From the kernel to the spool each stage has what the one before it kept."""
    check_stages(life.book)
    kernel, agent, queue, spool = map(life.stage, ("kernel", "agent", "queue", "spool"))
    check(kernel["kept"] == agent["received"] + life.detail("ring_waiting"), kernel, agent)
    check(agent["kept"] == queue["received"], agent, queue)
    check(queue["kept"] == spool["received"] - life.detail("spool_found"), queue, spool,
          life.detail("spool_found"))


class KillLoop:
    """Rounds in which a random part is killed with -9 at a random moment, then the books and the
    store are held against each other."""

    def __init__(self, folder, seed, together=False):
        self.random = random.Random(seed)
        self.parts = AlwaysOn(folder, together, hz=99, store_options=["--store-part-rows", "1000"])
        self.busy = subprocess.Popen([sys.executable, "-c", BUSY])
        self.counts = collections.Counter()
        self.parts.start_all()

    def round(self):
        parts, moment = self.parts, self.random
        if moment.random() < 0.7:  # else perhaps while it starts
            seen = len(parts.lives)
            wait_for(lambda: parts._book_of_last_life() or len(parts.lives) != seen,
                     name="a first batch")
        time.sleep(moment.uniform(0, 3))
        victims = [parts.sampler, parts.keeper] if moment.random() < 0.2 else [
            moment.choice([parts.sampler, parts.keeper])]
        for name in dict.fromkeys(victims):
            parts.stop(name, signal.SIGKILL)
            self.counts[name] += 1
        if parts.keeper in victims:
            time.sleep(moment.uniform(0, 3))  # away for a while
        for name in dict.fromkeys(reversed(victims)):
            parts.start(name)

    def finish(self):
        """Returns the lines of a table."""
        parts = self.parts
        self._stop_delivered()
        if parts.together:
            parts.together = False
            parts.start("server")
            wait_for(lambda: parts.get("status"), name="the server")
        lines = [f"{'life':>4}{'pushed':>9}{'acknowl.':>9}{'found':>7}{'stored':>8}{'twice':>7}"]
        acknowledged = stored_before = 0
        for life in parts.lives:
            stored, twice = parts.stored(life.number)
            own = life.detail("spool_acknowledged") - life.detail("spool_found")
            pushed = life.stage("queue")["received"]
            lines.append(f"{life.number:>4}{pushed:>9}{life.detail('spool_acknowledged'):>9}"
                         f"{life.detail('spool_found'):>7}{stored:>8}{twice:>7}")
            self.counts["stored"] += stored
            self.counts["twice"] += twice
            where = "\n".join(lines)
            check(stored >= own, "acknowledged samples are not in the store:\n" + where)
            # A thread that changes its CPU may be hit twice in a millisecond; a batch is hundreds.
            check(twice <= 3 + stored // 200, "samples are there twice:\n" + where)
            # What the books of the lives before say they delivered, and what this one found left.
            check(stored_before >= acknowledged + life.detail("spool_found"),
                  f"{stored_before} are stored of {acknowledged} acknowledged and",
                  f"{life.detail('spool_found')} left in the spool:\n" + where)
            if life.book:
                check_stages(life.book)
                check(not any(life.stage("spool")["dropped"].values()), "lost:", life.book)
            acknowledged += life.detail("spool_acknowledged")
            stored_before += stored
        last = parts.lives[-1]
        check_way(last)
        check(stored == last.stage("agent")["kept"], "the last life ended well, but of its",
              last.stage("agent")["kept"], "samples are stored", stored)
        check(stored_before == parts.stored_rows(), "other samples are in the store")
        return lines

    def _stop_delivered(self):
        """A delivery that failed a moment before leaves the rest to the next life."""
        parts = self.parts
        for _ in range(5):
            wait_for(lambda: parts.stored_rows() > 250 and parts.is_delivered(), name="delivery")
            parts.stop(parts.sampler)
            if parts.lives[-1].detail("spool_waiting") == 0:
                return
            parts.start(parts.sampler)
        check(False, "the spool is never empty:", parts.lives[-1].book, parts.logs())

    def close(self):
        self.parts.close()
        self.busy.kill()
        self.busy.wait()


def tree(folder):
    """(files, bytes on disk)"""
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_blocks * 512
                files += 1
    return files, size


def process_look(pid):
    """(MB resident, descriptors)"""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file if ":" in line)
    return int(status["VmRSS"].split()[0]) / 1024, len(os.listdir(f"/proc/{pid}/fd"))


class Load:
    """200 processes of 40 programs at the lowest priority, one of them replaced at each tick."""

    def __init__(self, count=200):
        self.started = 0
        self.processes = collections.deque()
        for _ in range(count):
            self._add()

    def _add(self):
        # Versions come and go, as over days.
        service = f"shop{self.started % 40}"
        version = f"service.version=1.{self.started // 200 % 5}"
        self.processes.append(subprocess.Popen(
            ["nice", "-n", "19", f"{PROGRAMS}/spin_{self.started % 40:02}", "100000"],
            env={"PATH": os.environ["PATH"], "OTEL_SERVICE_NAME": service,
                 "OTEL_RESOURCE_ATTRIBUTES": version}))
        self.started += 1

    def tick(self):
        self._end(self.processes.popleft())
        self._add()

    @staticmethod
    def _end(process):
        process.kill()
        process.wait()

    def close(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


class Soak:
    """Looks at everything now and then; in the middle the store is away for a while."""

    def __init__(self, folder, seconds, together=False, say=print, is_short=False):
        """is_short: too short for all to be warm, on a machine that may be slow; then growth may be
        three times as much, and any number of samples may be lost that the book has a reason for."""
        self.slack, self.lost_share = (3, 1) if is_short else (1, LOST_SHARE)
        options = ["--store-part-time", "3m"]
        if seconds < 900:  # sealed as often as in a long one
            options += ["--store-part-rows", "15000"]
        self.parts = AlwaysOn(folder, together, store_options=options)
        self.seconds, self.say = seconds, say
        self.step_s = min(10, seconds / 24)
        self.away_s = 0 if together else min(90, seconds / 8)
        self.looks, self.spool_peak, self.catch_up = [], (0, 0), []

    def run(self):
        load = Load()
        try:
            self.parts.start_all()
            wait_for(self.parts.stored_rows, name="the first samples")
            self.say(self.header())
            half = time.monotonic() + self.seconds / 2
            self._watch(load, half)
            if self.away_s:
                self._go_away(load)
            self._watch(load, half + self.seconds / 2)
            wait_for(self.parts.is_delivered, name="delivery")
        finally:
            load.close()
        return self._finish()

    def _watch(self, load, end):
        next_look = time.monotonic()
        while time.monotonic() < end:
            load.tick()
            if time.monotonic() >= next_look:
                self.look()
                next_look = time.monotonic() + self.step_s
            time.sleep(max(0, min(1, end - time.monotonic())))

    def _go_away(self, load):
        parts = self.parts
        parts.stop("server")
        self.say(f"the server is away for {self.away_s:.0f} s")
        self._watch(load, time.monotonic() + self.away_s)
        spool = tree(f"{parts.state}/spool")
        check(spool[1] > 0, "nothing is in the spool")
        parts.start("server")
        start = time.monotonic()
        while not self.catch_up or not parts.is_delivered():
            load.tick()
            with contextlib.suppress(OSError):
                agents = json.loads(parts.get("agents"))["agents"]
                if agents:
                    self.catch_up.append((time.monotonic(), agents[0]["rows"]["batches"]))
            check(time.monotonic() < start + WAIT_S + 2 * self.away_s, "it does not catch up")
            time.sleep(0.5)
        self.say(f"caught up in {time.monotonic() - start:.0f} s with at most "
                 f"{self.batches_per_s():.0f} batches/s; the spool had {spool[1] / MB:.2f} MB")

    def batches_per_s(self):
        """The most of any two seconds and more."""
        return max(((b[1] - a[1]) / (b[0] - a[0]) for a in self.catch_up for b in self.catch_up
                    if b[0] - a[0] >= 2), default=0)

    def header(self):
        names = [name for name in ("agent", "server", "up") if name in self.parts.processes]
        return f"{'s':>6}" + "".join(f"{name + ' MB':>10}{'fds':>5}" for name in names) + "".join(
            f"{name + ' files':>13}{'MB':>7}" for name in ("spool", "cache", "store")) + \
            f"{'rows':>10}"

    def look(self):
        parts = self.parts
        row = {"at": time.monotonic()}
        for name, process in parts.processes.items():
            check(process.poll() is None, name, "ended by itself with", process.poll(),
                  parts.logs())
            row[name] = process_look(process.pid)
        row["spool"] = tree(f"{parts.state}/spool")
        row["cache"] = tree(f"{parts.state}/symbols")
        row["store"] = tree(parts.data)
        self.spool_peak = max(self.spool_peak, row["spool"], key=lambda spool: spool[1])
        with contextlib.suppress(OSError):
            row["rows"] = parts.stored_rows()
        check_stages(parts.book())
        self.looks.append(row)
        cells = [f"{row['at'] - self.looks[0]['at']:6.0f}"]
        for name in ("agent", "server", "up"):
            if name in row:
                cells.append(f"{row[name][0]:10.1f}{row[name][1]:5}")
            elif name in self.looks[0]:
                cells.append(f"{'-':>10}{'-':>5}")
        for name in ("spool", "cache", "store"):
            cells.append(f"{row[name][0]:13}{row[name][1] / MB:7.2f}")
        self.say("".join(cells) + f"{row.get('rows', '-'):>10}")

    def _thirds(self, name, index):
        """What it was in the second and in the last third."""
        values = [row[name][index] for row in self.looks if name in row]
        third = len(values) // 3
        check(third >= 2, "it was hardly looked at")
        return values[third:2 * third], values[2 * third:]

    def _finish(self):
        parts = self.parts
        parts.stop(parts.sampler)
        if parts.together:
            parts.together = False
            parts.start("server")
        rows = wait_for(parts.stored_rows, name="the server")
        life = parts.lives[-1]
        check_way(life)
        lines = [f"{'stage':>8}{'received':>10}{'excluded':>10}{'kept':>10}  dropped"]
        dropped = 0
        for stage in life.book["stages"]:
            lost = {reason: count for reason, count in stage["dropped"].items() if count}
            dropped += sum(lost.values())
            lines.append(f"{stage['name']:>8}{stage['received']:>10}"
                         f"{sum(stage['excluded'].values()):>10}{stage['kept']:>10}  "
                         f"{', '.join(f'{r} {n}' for r, n in lost.items()) or '-'}")
        lines.append(f"{'store':>8}{'':>20}{rows:>10}")
        self.say("\n".join(lines))
        check(rows == life.detail("spool_acknowledged") == life.stage("spool")["kept"],
              "the store has", rows, "of", life.detail("spool_acknowledged"), "acknowledged")
        received = life.stage("kernel")["received"]
        check(dropped <= self.lost_share * received, dropped, "of", received, "samples were lost")
        self._check_flat(rows)

    def _check_flat(self, rows):
        for name in (name for name in GROWTH if name in self.looks[0]):
            before, after = map(statistics.median, self._thirds(name, 0))
            allowed = self.slack * max(GROWTH[name][0], GROWTH[name][1] * before)
            check(after <= MEMORY_MB[name], name, "has", after, "MB")
            self.say(f"{name}: memory {after - before:+.1f} MB from the second third of the time "
                     f"to the last (at most {allowed:.1f})")
            check(after - before <= allowed, name, "grows:", before, after)
            before, after = map(max, self._thirds(name, 1))
            check(after - before <= self.slack * DESCRIPTORS_GROWTH, name, "keeps descriptors:", before, after)
        check(tree(f"{self.parts.state}/spool")[1] < MB, "the spool is not empty")
        cache, store = self.looks[-1]["cache"], tree(self.parts.data)
        check(cache[1] <= CACHE_BYTES, "the symbol cache has", cache)
        self.say(f"store: {store[0]} files, {store[1] / rows:.1f} bytes a row")
        check(store[1] <= self.slack * STORE_BYTES_PER_ROW * rows + 4 * MB, "the store has", store, "for", rows)
        if self.away_s:
            check(self.spool_peak[1] > 0, "nothing was in the spool while the server was away")
            # Ten of the spool, and the fresh ones.
            check(self.batches_per_s() <= 15, "it floods:", self.batches_per_s(), "batches/s")
