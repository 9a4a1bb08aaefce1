"""Kills a server at random moments and holds what it answers against what it acknowledged.

`tools/dev soak store` runs many rounds of it, test_store_soak.py a few. A round: start the server on
the same folder (sometimes killed while it starts), compare everything, send what was not
acknowledged again, push and ask at random, kill -9 or SIGTERM. Parts are tiny and days are closed
after a second, so that kills fall into sealing, compaction and retention.
"""
import random
import threading
import time

import store_http
from store_model import DAY_MS, HOUR_MS, MINUTE_MS, PERIOD_NS, Model, Pusher

SMALL_PARTS = ["--store-part-rows", "300", "--store-part-time", "10m", "--store-idle", "1s",
               "--store-grace", "1s"]
OLDEST_DAYS = 8
RETENTIONS_DAYS = [30, 30, 30, 6, 4]


class Wrong(AssertionError):
    """An answer is not what was acknowledged."""


def series_sums(server, by, start, end, step_ms=HOUR_MS):
    """{(label values, unix ms of the step): nanoseconds} of everything."""
    answer = server.get("series", query="cpu{}", from_=start, to=end, by=",".join(by),
                        step=f"{step_ms}ms", limit=0)
    if answer["rows_behind"]:
        raise Wrong(f"{answer['rows_behind']} rows are behind although all were asked for")
    return {(tuple(row["labels"][name] for name in by), start + step * step_ms): value
            for row in answer["rows"] for step, value in zip(row["steps"], row["values"])}


def folded_sums(body):
    """{stack: nanoseconds}"""
    found = {}
    for line in body.decode().splitlines():
        stack, _, value = line.rpartition(" ")
        found[stack] = found.get(stack, 0) + int(value)
    return found


class CrashLoop:
    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.data = f"{folder}/data"
        self.model, self.pusher = Model(), Pusher(self.random)
        self.unacknowledged, self.acknowledged = [], []
        self.now = int(time.time() * 1000)
        self.retention_days, self.expiry_pending = 30, False
        self.lock = threading.Lock()
        self.counts = {"kills": 0, "terms": 0, "kills_at_start": 0, "pushes": 0, "repeated": 0,
                       "questions": 0, "expired_rows": 0}

    def start(self):
        return store_http.StoreServer(self.data, "--retention", f"{self.retention_days}d",
                                        *SMALL_PARTS)

    def round(self):
        self._choose_retention()
        if self.random.random() < 0.2:
            self._kill_at_start()
        server = self.start()
        try:
            self._await_expiry(server)
            self.compare(server)
            for push in list(self.unacknowledged):
                self._send(server, push)
            self._load(server, self.random.uniform(0.3, 3.0))
        except store_http.ServerEnded as error:
            if server.process.poll() is not None:
                raise Wrong(f"the server ended by itself: {server.process.returncode} {error} "
                            f"{server.stderr()[-3000:]}") from error
            raise
        finally:
            if server.process.poll() is None:
                server.kill()

    def finish(self):
        """Everything is sent, closed and compared once more, also by a new process."""
        server = self.start()
        self._await_expiry(server)
        for push in list(self.unacknowledged):
            self._send(server, push)
        self.compare(server)
        store_http.wait_until_settled(server, 120)
        self.compare(server)
        if server.stop() != 0:
            raise Wrong(f"SIGTERM gave {server.process.returncode}: {server.stderr()[-2000:]}")
        server = self.start()
        self.compare(server)
        server.stop()

    def _choose_retention(self):
        # One that may have been interrupted must come to its end first: till then nobody can say
        # which days are there.
        if not self.expiry_pending:
            self.retention_days = self.random.choice(RETENTIONS_DAYS)
            self.expiry_pending = True

    @property
    def oldest(self):
        return int(time.time() * 1000) - self.retention_days * DAY_MS

    def _await_expiry(self, server):
        before = len(self.model.rows)
        self.model.expire(self.oldest)
        # The book of batches goes with its day: what is gone would be counted again.
        self.acknowledged = [push for push in self.acknowledged if min(
            row.time_unix_ms for row in push.rows) // DAY_MS > self.oldest // DAY_MS]
        self.counts["expired_rows"] += before - len(self.model.rows)
        first_kept = self.oldest // DAY_MS * DAY_MS
        deadline = time.monotonic() + 30
        while series_sums(server, ["service.name"], first_kept - 20 * DAY_MS, first_kept, DAY_MS):
            if time.monotonic() > deadline:
                raise Wrong(f"rows from before {first_kept} are still there")
            time.sleep(0.1)
        self.expiry_pending = False

    def _kill_at_start(self):
        try:
            process = store_http.StoreServer(self.data, "--retention", f"{self.retention_days}d",
                                               *SMALL_PARTS, wait_s=self.random.uniform(0.01, 0.3))
            process.kill()
        except store_http.ServerEnded:
            pass  # it was killed before it was ready
        self.counts["kills_at_start"] += 1

    def _time(self):
        now = int(time.time() * 1000)
        if self.random.random() < 0.5:
            return now - self.random.randint(0, 20) * MINUTE_MS
        return now - self.random.randint(0, OLDEST_DAYS * DAY_MS)

    def _expect(self, push, answer):
        """What the book must say, and what the model then holds."""
        kept = [row for row in push.rows if row.time_unix_ms >= self.oldest + 60_000]
        unsure = [row for row in push.rows
                  if self.oldest - 60_000 <= row.time_unix_ms < self.oldest + 60_000]
        if unsure:
            raise Wrong("a row at the very edge of retention; pushes must avoid it")
        received, duplicate = answer["rows_received"], answer["rows_duplicate"]
        if received != len(push.rows) or received != (
                answer["rows_kept"] + duplicate + answer["rows_too_old"] + answer["rows_too_new"]):
            raise Wrong(f"the book of {push.batch} does not add up: {answer}")
        return kept, duplicate

    def _send(self, server, push):
        """Sends a push that was not acknowledged yet, in whole."""
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        if status == 503:
            return
        if status != 200:
            raise Wrong(f"a push was answered {status}: {answer}")
        kept, duplicate = self._expect(push, answer)
        # A batch may be durable although its acknowledgement was lost: then it is a duplicate, or
        # that part of it is which belongs to another day.
        if answer["rows_kept"] > len(kept) or (not duplicate
                                               and answer["rows_kept"] != len(kept)):
            raise Wrong(f"{push.batch}: {len(kept)} rows to keep, answered {answer}")
        with self.lock:
            self.unacknowledged.remove(push)
            if len(kept) == len(push.rows):  # what was too old once may be taken another day
                self.acknowledged.append(push)
            self.model.rows += kept
            self.counts["pushes"] += 1

    def _repeat(self, server):
        push = self.random.choice(self.acknowledged[-200:])
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        if status == 200 and answer["rows_kept"] != 0:
            raise Wrong(f"{push.batch} was counted twice: {answer}")
        self.counts["repeated"] += 1

    def _load(self, server, seconds):
        """Pushes from here, questions from another thread, then the end at a random moment."""
        failures, stop = [], threading.Event()
        asker = threading.Thread(target=self._ask_around, args=(server.port, stop, failures))
        asker.start()
        killer = threading.Timer(seconds, server.process.kill)
        with_term = self.random.random() < 0.3
        deadline = time.monotonic() + seconds
        if not with_term:
            killer.start()
        try:
            while time.monotonic() < deadline:
                if self.acknowledged and self.random.random() < 0.15:
                    self._repeat(server)
                    continue
                push = self.pusher.make(self._time(), spread_ms=30_000)
                if min(abs(row.time_unix_ms - self.oldest) for row in push.rows) < 120_000:
                    continue
                with self.lock:
                    self.unacknowledged.append(push)
                self._send(server, push)
            if not with_term:
                server.process.wait(10)
        except store_http.ServerEnded:
            if with_term:
                raise
            server.process.wait(10)
        finally:
            killer.cancel()
            stop.set()
            asker.join()
        if failures:
            raise failures[0]
        if with_term and server.stop() != 0:
            raise Wrong(f"SIGTERM gave {server.process.returncode}: {server.stderr()[-2000:]}")
        self.counts["terms" if with_term else "kills"] += 1

    def _ask_around(self, port, stop, failures):
        """Totals asked while rows come lie between what was there before and what was sent since."""
        try:
            connection = store_http.Connection(port)
            while not stop.is_set():
                with self.lock:
                    least = self.model.total()
                start = self.now - 20 * DAY_MS
                status, _, body = connection.ask("GET", store_http.target(
                    "profile", query="cpu{}", from_=start, to=self.now + DAY_MS,
                    format="folded"))
                if status == 503:
                    continue
                if status != 200:
                    raise Wrong(f"a question was answered {status}: {body[:500]!r}")
                found = sum(folded_sums(body).values())
                with self.lock:
                    most = self.model.total() + sum(row.count for push in self.unacknowledged
                                                    for row in push.rows)
                if not least * PERIOD_NS <= found <= most * PERIOD_NS:
                    raise Wrong(f"a total is {found}, not from {least} to {most}")
                self.counts["questions"] += 1
                stop.wait(0.02)
            connection.close()
        except store_http.ServerEnded:
            pass
        except Exception as error:
            failures.append(error)

    def compare(self, server):
        """Sums per service and hour, stacks of each service, one range that is cut by minutes.

        Pushes that were not acknowledged may be there or not, each as a whole."""
        with_unknown = self._settle_unknown(server)
        start = self.now // DAY_MS * DAY_MS - (OLDEST_DAYS + 2) * DAY_MS
        end = self.now // DAY_MS * DAY_MS + 2 * DAY_MS
        found = series_sums(server, ["service.name"], start, end)
        wanted = {((service,), hour): count * PERIOD_NS for (service, hour), count in self.model.sums(
            lambda row: (row.service, row.time_unix_ms // HOUR_MS * HOUR_MS)).items()}
        if found != wanted:
            raise Wrong(self._difference("hours", found, wanted) + f" (unknown: {with_unknown})")
        cut = start + self.random.randint(1, 1000) * 97 * 1013
        self._compare_stacks(server, start, end)
        self._compare_stacks(server, cut, cut + self.random.randint(1, 4000) * 100_003)

    def _settle_unknown(self, server):
        """Sends again what was not acknowledged: after that it is known to be there, once."""
        count = len(self.unacknowledged)
        for push in list(self.unacknowledged):
            self._send(server, push)
        return count

    def _compare_stacks(self, server, start, end):
        for service in self.pusher.services:
            status, _, body = server.ask("GET", store_http.target(
                "profile", query=f'cpu{{service="{service}"}}', from_=start, to=end,
                format="folded"))
            wanted = {";".join(frames): count * PERIOD_NS for frames, count in self.model.sums(
                lambda row: row.frames, start=start, end=end, service=service).items()}
            if status == 404 and not wanted:
                continue
            if status != 200:
                raise Wrong(f"stacks of {service}: {status} {body[:500]!r}")
            found = folded_sums(body)
            if found != wanted:
                raise Wrong(self._difference(f"stacks of {service} in [{start}, {end})", found,
                                             wanted))

    @staticmethod
    def _difference(what, found, wanted):
        keys = [key for key in {*found, *wanted} if found.get(key) != wanted.get(key)]
        lines = [f"{key}: {found.get(key)} instead of {wanted.get(key)}" for key in keys[:10]]
        return f"{what}: {len(keys)} differ; " + "; ".join(lines)
