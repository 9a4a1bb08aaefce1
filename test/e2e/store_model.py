"""What a store must hold: pushes that a seed makes, and sums over the rows of those it took."""
import gzip
from collections import Counter
from dataclasses import dataclass, field as member

from pprof_writer import Frame, Writer, field, varint

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
PERIOD_NS = 10_000_000
FUNCTIONS = ["main", "serve", "dispatch", "parse", "decode", "hash_join", "write_row", "compress",
             "memcpy", "malloc", "lock", "sort"]


@dataclass(frozen=True)
class Row:
    service: str
    version: str
    time_unix_ms: int
    frames: tuple  # names, root first
    count: int

    @property
    def value(self):
        return self.count * PERIOD_NS


@dataclass
class Push:
    batch: str
    service: str
    version: str
    rows: list
    body: bytes = member(repr=False)
    acknowledged: bool = False

    @property
    def labels(self):
        return {"label_service": self.service, "label_version": self.version}


def frame(name, service):
    """Libraries are those of every service, the rest is the service's own."""
    if name in ("memcpy", "malloc"):
        return Frame(name, image="/lib/libc.so.6", file="string.c", line=10, start_line=1)
    return Frame(name, image=f"/srv/{service}", file=f"src/{name}.cc", line=len(name) * 7,
                 start_line=len(name))


def profile_bytes(rows, own_times=True):
    """A pprof of the rows, each with its own time."""
    writer, samples = Writer(), []
    for row in rows:
        ids = b"".join(varint(writer.location(frame(name, row.service)))
                       for name in reversed(row.frames))
        label = field(3, field(1, writer.string("vesta.time")) + field(3, row.time_unix_ms)
                      + field(4, writer.string("milliseconds"))) if own_times else b""
        samples.append(field(2, field(1, ids) + field(2, varint(row.count) + varint(row.value))
                             + label))
    cpu = field(1, writer.string("cpu")) + field(2, writer.string("nanoseconds"))
    number = field(1, writer.string("samples")) + field(2, writer.string("count"))
    head = [field(1, number), field(1, cpu), field(11, cpu), field(12, PERIOD_NS),
            field(9, rows[0].time_unix_ms * 10 ** 6)]
    strings = [field(6, text.encode()) for text in writer.strings]
    return gzip.compress(b"".join(head + writer.out + samples + strings), 1)


class Pusher:
    """Makes pushes of one agent, in the order of its sequence numbers."""

    def __init__(self, random, services=8, agent="soak"):
        self.random, self.agent, self.sequence = random, agent, 0
        self.services = [f"service-{number}" for number in range(services)]

    def make(self, time_unix_ms, rows=None, spread_ms=0):
        """A push whose rows are of that time, or of up to spread_ms before it."""
        service, version = self.random.choice(self.services), self.random.choice(["1.0", "1.1"])
        made = {}
        for _ in range(rows or self.random.randint(3, 60)):
            depth = self.random.randint(1, 8)
            frames = ("main", *self.random.choices(FUNCTIONS, k=depth - 1))
            at = time_unix_ms - self.random.randint(0, spread_ms)
            made[frames, at] = Row(service, version, at, frames,
                                   int(min(1000, self.random.paretovariate(1.1))))
        self.sequence += 1
        content = list(made.values())
        return Push(f"{self.agent}/boot/{self.sequence}", service, version, content,
                    profile_bytes(content))


class Model:
    """Rows that were acknowledged, without those that retention took."""

    def __init__(self):
        self.rows = []

    def add(self, push):
        self.rows += push.rows

    def expire(self, oldest_unix_ms):
        """Days that end before this are gone."""
        self.rows = [row for row in self.rows
                     if (row.time_unix_ms // DAY_MS + 1) * DAY_MS > oldest_unix_ms]

    def sums(self, key, start=None, end=None, service=None):
        """Counter of samples by key(row)."""
        result = Counter()
        for row in self.rows:
            if (start is None or row.time_unix_ms >= start) and (
                    end is None or row.time_unix_ms < end) and (
                    service is None or row.service == service):
                result[key(row)] += row.count
        return result

    def total(self, **selection):
        return sum(self.sums(lambda row: None, **selection).values())

    def self_and_total(self, **selection):
        """{function: [samples with it innermost, samples with it anywhere]}"""
        result = {}
        for frames, count in self.sums(lambda row: row.frames, **selection).items():
            result.setdefault(frames[-1], [0, 0])[0] += count
            for name in set(frames):
                result.setdefault(name, [0, 0])[1] += count
        return result
