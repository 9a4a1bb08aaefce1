"""A store's folder that was damaged, is full, read-only, newer than we are, or older than the clock.

The server starts and serves the rest, or refuses with a clear word; it never crashes, and never
gives a wrong answer without saying that something is missing.
"""
import glob
import json
import os
import random
import shutil
import socket
import subprocess
import time

import pytest

import store_http
from store_crashes import SMALL_PARTS, folded_sums, series_sums
from store_model import DAY_MS, MINUTE_MS, PERIOD_NS, Model, Pusher, Row, profile_bytes

FAILURE = 125  # of our own, as all commands have it
NOW = int(time.time() * 1000)
DAY = NOW // DAY_MS * DAY_MS
START, END = DAY - 20 * DAY_MS, DAY + 2 * DAY_MS


def fill(server, model, days, seed=5, pushes=40):
    """Pushes of those days (0 = today), spread over them."""
    pusher = Pusher(random.Random(seed), services=3, agent=f"agent{seed}")
    for number in range(pushes):
        at = DAY - days[number % len(days)] * DAY_MS + number * 7 * MINUTE_MS
        push = pusher.make(min(at, NOW), spread_ms=1000)
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        assert status == 200, answer
        model.add(push)


def wanted_days(model):
    return {(service, day): count * PERIOD_NS for (service, day), count in model.sums(
        lambda row: ((row.service,), row.time_unix_ms // DAY_MS * DAY_MS)).items()}


def found_days(server):
    return series_sums(server, ["service.name"], START, END, DAY_MS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(folder, model): a store with two closed days and an open one that was not shut down."""
    folder = str(tmp_path_factory.mktemp("store") / "data")
    model = Model()
    server = store_http.StoreServer(folder, *SMALL_PARTS)
    fill(server, Model(), [15], seed=3, pushes=1)
    fill(server, model, [2, 1], seed=1)
    store_http.wait_until_settled(server, 60)
    server.stop()
    # What retention took is remembered in state.json.
    server = store_http.StoreServer(folder, *SMALL_PARTS, "--retention", "10d")
    while found_days(server) != wanted_days(model):
        time.sleep(0.1)
    server.stop()
    # Today's parts are sealed as they fill up, but nothing of today is closed.
    server = store_http.StoreServer(folder, *SMALL_PARTS[:2], "--store-part-time", "10m")
    fill(server, model, [0], seed=2)
    deadline = time.monotonic() + 30
    while not list(files(folder, "seg-", ".parquet")) and time.monotonic() < deadline:
        time.sleep(0.2)
    fill(server, model, [0], seed=4, pushes=3)  # these are in the log only
    assert found_days(server) == wanted_days(model)
    server.kill()
    return folder, model


def files(folder, prefix, suffix=""):
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.startswith(prefix) and name.endswith(suffix):
                yield os.path.join(path, name)


def flip(path, share):
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(min(size - 1, int(size * share)))
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x41]))


def truncate(path, share):
    os.truncate(path, int(os.path.getsize(path) * share))


def garbage(path):
    with open(path, "wb") as file:
        file.write(random.Random(3).randbytes(5000))


DAMAGES = {"empty": lambda path: truncate(path, 0), "half": lambda path: truncate(path, 0.5),
           "short": lambda path: os.truncate(path, os.path.getsize(path) - 1),
           "flip_begin": lambda path: flip(path, 0.01), "flip_middle": lambda path: flip(path, 0.5),
           "flip_end": lambda path: flip(path, 0.999), "removed": os.remove, "garbage": garbage}
KINDS = ["rows.parquet", "volume.idx", "manifest.json", "ledger.json", "stacks.parquet",
         "frames.parquet", "functions.parquet", "series.parquet", "seg-*.parquet", "seg-*.idx",
         "seg-*.names",
         "hot.duckdb", "hot.duckdb.wal", "state.json", "FORMAT"]


def victim(folder, kind):
    prefix, _, suffix = kind.partition("*")
    found = [path for path in files(folder, prefix, suffix)
             if "*" in kind or os.path.basename(path) == kind]
    return found[0] if found else None


def starts_or_refuses(data):
    """A server, or nothing when it refused with a word and without a crash."""
    try:
        return store_http.StoreServer(data, *SMALL_PARTS)
    except store_http.ServerEnded as error:
        text = str(error)
        assert f"no server: {FAILURE} " in text, text
        assert "vesta" in text and len(text) > 60, text
        return None


def is_torn_log(kind, damage):
    """A log that ends early looks like one whose last commit was never finished; nobody can tell
    that it had been acknowledged. So does one that says of its first entry that it is longer than
    the file."""
    return kind == "hot.duckdb.wal" and damage in ("short", "half", "empty", "removed",
                                                   "flip_begin", "garbage")


def is_said(server, data):
    """Whether the server tells that something is missing: in its answer, its counts or its words."""
    answer = server.get("series", query="cpu{}", from_=START, to=END, by="service.name", step="1d")
    status = server.get("status")
    return (bool(answer["notes"]) or "quarantine" in server.stderr() or "lost" in server.stderr()
            or status["book"]["rows_quarantined"] > 0
            or os.path.isdir(os.path.join(data, "quarantine")))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_costs_no_more_than_itself(made, folder, kind, damage):
    source, source_model = made
    data, model = f"{folder}/data", copy_of(source_model)
    shutil.copytree(source, data)
    path = victim(data, kind)
    assert path is not None, f"this store has no {kind}"
    DAMAGES[damage](path)
    server = starts_or_refuses(data)
    if server is None:
        assert kind == "FORMAT"
        assert "FORMAT" in store_stderr(data) or "version" in store_stderr(data)
        return
    damaged_day = os.path.basename(os.path.dirname(os.path.dirname(path)))
    for _ in range(2):  # the first question may be what finds the damage
        found, wanted = found_days(server), wanted_days(model)
        for key, value in wanted.items():
            day = time.strftime("%Y-%m-%d", time.gmtime(key[1] / 1000))
            if day != damaged_day:
                assert found.get(key) == value, (key, kind, damage)
        if is_torn_log(kind, damage):
            assert all(value <= wanted[key] for key, value in found.items()), (found, wanted)
        elif found != wanted:
            assert is_said(server, data), f"{kind} {damage}: {found} instead of {wanted}"
        check_stacks(server, data, model, is_torn_log(kind, damage))
    assert server.process.poll() is None, server.stderr()
    fill(server, model, [0], seed=9, pushes=2)
    assert server.stop() == 0, server.stderr()
    again = store_http.StoreServer(data, *SMALL_PARTS)
    # What was told to be missing may be there again: an index is made anew from the rows.
    assert found_days(again) in (found_after(found, model, source_model), wanted_days(model))
    assert again.stop() == 0


def copy_of(model):
    copy = Model()
    copy.rows = list(model.rows)
    return copy


def found_after(found, model, before):
    """What was found, and what was pushed since."""
    result = dict(found)
    for key, value in wanted_days(model).items():
        more = value - wanted_days(before).get(key, 0)
        if more:
            result[key] = result.get(key, 0) + more
    return result


def check_stacks(server, data, model, may_lack=False):
    """Stacks of a range that is cut within a minute come from the rows: right, or said to be not."""
    start, end = DAY - 3 * DAY_MS + 12_345, DAY + DAY_MS - 999
    status, _, body = server.ask("GET", store_http.target(
        "profile", query="cpu{}", from_=start, to=end, format="folded"))
    assert status == 200, body
    wanted = {";".join(frames): count * PERIOD_NS for frames, count in model.sums(
        lambda row: row.frames, start=start, end=end).items()}
    found = folded_sums(body)
    if may_lack:
        assert all(value <= wanted.get(stack, 0) for stack, value in found.items()), (found, wanted)
    else:
        assert found == wanted or is_said(server, data), (found, wanted)


def store_stderr(data):
    with open(data + ".stderr", encoding="utf-8", errors="replace") as file:
        return file.read()


@pytest.mark.parametrize("kind", ["FORMAT", "manifest.json", "volume.idx"])
def test_a_newer_version_is_refused_or_left_alone(made, folder, kind):
    source, model = made
    data = f"{folder}/data"
    shutil.copytree(source, data)
    path = victim(data, kind)
    with open(path, "rb") as file:
        content = file.read()
    if kind == "volume.idx":
        content = content[:4] + bytes([content[4] + 77]) + content[5:]
    else:
        content = content.replace(b"1", b"99", 1)
    with open(path, "wb") as file:
        file.write(content)
    server = starts_or_refuses(data)
    if server is None:
        assert "version" in store_stderr(data)
        return
    assert kind != "FORMAT", "a folder of a newer vesta must not be touched"
    assert found_days(server) == wanted_days(model) or is_said(server, data)
    assert server.stop() == 0


@pytest.mark.needs_root
def test_a_read_only_folder_is_refused_with_a_word(made, folder):
    data = f"{folder}/data"
    shutil.copytree(made[0], data)
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    with pytest.raises(store_http.ServerEnded) as failure:
        store_http.StoreServer(data, command=("unshare", "-m", "sh", "-c", script, data))
    assert "ead-only" in str(failure.value) or "cannot be written" in str(failure.value)


@pytest.mark.needs_root
def test_a_second_server_is_refused_and_told_who_has_the_folder(folder):
    server = store_http.StoreServer(f"{folder}/data")
    with pytest.raises(store_http.ServerEnded) as failure:
        store_http.StoreServer(f"{folder}/data")
    assert str(server.pid) in str(failure.value)
    assert server.stop() == 0


def test_connections_leave_the_store_the_files_that_it_needs(made, folder):
    source, model = made
    data = f"{folder}/data"
    shutil.copytree(source, data)
    server = store_http.StoreServer(data, *SMALL_PARTS, command=("prlimit", "--nofile=256:256"))
    idle = []
    for _ in range(300):  # some wait, and none is answered
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", server.port))
        idle.append(connection)
    deadline = time.monotonic() + 8  # all files are looked at meanwhile, one a second
    while time.monotonic() < deadline:
        assert not os.path.isdir(os.path.join(data, "quarantine")), server.stderr()
        time.sleep(0.2)
    assert len(os.listdir(f"/proc/{server.pid}/fd")) < 240
    for connection in idle:
        connection.close()
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0, server.stderr()
    assert "Too many open files" not in server.stderr()


@pytest.fixture
def small_disk(folder):
    """A file system of 64 MB of its own."""
    disk = f"{folder}/disk"
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.needs_root
def test_on_a_full_disk_pushes_are_refused_and_questions_are_answered(small_disk):
    model = Model()
    server = store_http.StoreServer(f"{small_disk}/data", *SMALL_PARTS)
    fill(server, model, [1, 0], seed=1)
    filler = f"{small_disk}/filler"
    with open(filler, "wb") as file:
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError:
            pass
    pusher = Pusher(random.Random(3), agent="late")
    push = pusher.make(NOW)
    deadline = time.monotonic() + 20
    while True:  # until the server has noticed
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        if status != 200:
            break
        model.add(push)
        push = pusher.make(NOW)
        assert time.monotonic() < deadline, "pushes are taken on a full disk"
    assert status == 503, answer
    assert "disk" in answer["error"]["message"] or "space" in answer["error"]["message"], answer
    assert found_days(server) == wanted_days(model)
    os.remove(filler)
    deadline = time.monotonic() + 30
    while True:  # taken again as soon as there is room, and counted once
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        if status == 200:
            break
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
    model.add(push)
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0, server.stderr()
    server = store_http.StoreServer(f"{small_disk}/data", *SMALL_PARTS)
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0


def faked(offset):
    """The environment of a server whose clock is off."""
    library, = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    return {"env": os.environ | {"LD_PRELOAD": library, "FAKETIME": offset,
                                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"}}


@pytest.mark.needs_program("faketime")
def test_a_clock_that_goes_backward_loses_nothing(folder):
    data, model = f"{folder}/data", Model()
    server = store_http.StoreServer(data, *SMALL_PARTS)
    fill(server, model, [1, 0], seed=1)
    assert server.stop() == 0
    # Two hours back: rows lie ahead of the clock, less than a day.
    server = store_http.StoreServer(data, *SMALL_PARTS, **faked("-2h"))
    fill(server, model, [1, 0], seed=2)
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0
    # Three days back: what is there is served, what comes from now on is said to be too new.
    server = store_http.StoreServer(data, *SMALL_PARTS, **faked("-3d"))
    assert found_days(server) == wanted_days(model)
    push = Pusher(random.Random(4), agent="ahead").make(NOW)
    status, answer = server.push(push.body, batch=push.batch, **push.labels)
    assert (status, answer["rows_too_new"]) == (200, len(push.rows)), answer
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0
    server = store_http.StoreServer(data, *SMALL_PARTS)
    assert found_days(server) == wanted_days(model)
    # What was refused as too new was not counted: it may come again.
    status, answer = server.push(push.body, batch=push.batch, **push.labels)
    assert (status, answer["rows_kept"]) == (200, len(push.rows)), answer
    assert server.stop() == 0


def test_weeks_that_are_filled_in_later_are_found(folder):
    data, model = f"{folder}/data", Model()
    server = store_http.StoreServer(data, *SMALL_PARTS)
    days = list(range(1, 20))
    random.Random(6).shuffle(days)
    for turn in range(3):  # closed days get late rows, out of order
        fill(server, model, days, seed=10 + turn, pushes=60)
        assert found_days(server) == wanted_days(model)
    store_http.wait_until_settled(server, 120)
    assert found_days(server) == wanted_days(model)
    assert server.stop() == 0
    server = store_http.StoreServer(data, *SMALL_PARTS)
    assert found_days(server) == wanted_days(model)
    check_stacks(server, data, model)
    assert server.stop() == 0


def test_a_hundred_thousand_label_values_overflow_into_one_counted_series(folder):
    server = store_http.StoreServer(f"{folder}/data", "--max-series", "20000")
    rows = [Row("shop", "1", NOW - 60_000, ("main", "serve"), 1)]
    body = profile_bytes(rows)
    connection = store_http.Connection(server.port)
    overflowed, pushed = 0, 0
    for number in range(0, 100_000, 500):
        many = many_values(rows[0], range(number, number + 500))
        status, _, answer = connection.ask("POST", store_http.target(
            "profiles", label_service="shop"), many)
        assert status == 200, answer
        overflowed += json.loads(answer)["rows_overflowed"]
        pushed += 500
    status, answer = server.push(body, label_service="shop")
    assert status == 200, answer
    pushed += 1
    assert 79_000 < overflowed <= 80_100
    total = series_sums(server, [], START, END, DAY_MS)
    assert sum(total.values()) == pushed * PERIOD_NS
    values = server.get("labels/request/values", query="cpu{}", from_=START, to=END, limit=10)
    assert len(values["rows"]) == 10 and values["rows_behind"] > 19_000
    with open(f"/proc/{server.pid}/status", encoding="utf-8") as file:
        peak_kb = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak_kb < 500_000
    assert server.stop() == 0


def many_values(row, numbers):
    """One profile with a sample for each value of the label `request`."""
    from pprof_writer import Writer, field, varint
    from store_model import frame
    writer, samples = Writer(), []
    ids = b"".join(varint(writer.location(frame(name, row.service)))
                   for name in reversed(row.frames))
    for number in numbers:
        label = field(3, field(1, writer.string("request"))
                      + field(2, writer.string(f"request-{number}")))
        samples.append(field(2, field(1, ids) + field(2, varint(1) + varint(PERIOD_NS)) + label))
    cpu = field(1, writer.string("cpu")) + field(2, writer.string("nanoseconds"))
    count = field(1, writer.string("samples")) + field(2, writer.string("count"))
    head = [field(1, count), field(1, cpu), field(9, row.time_unix_ms * 10 ** 6)]
    return b"".join(head + writer.out + samples
                    + [field(6, text.encode()) for text in writer.strings])
