"""Keeping and asking: `vesta server`, import, query, series, labels, diff, export, as users see them.

Two versions of a service are imported, of which the second one is known to differ, and each answer
is held against what the files themselves say.
"""
import json
import os
import pty
import re
import signal
import socket
import subprocess
import time
from collections import Counter

import pytest

import page
import pprof
import pprof_writer
from conftest import PROGRAMS, VESTA
from pprof_writer import Frame
from store_server import StoreServer

NOW_S = int(time.time())
FIRST_S, SECOND_S = NOW_S - 1800, NOW_S - 900
SHOP = 'cpu{service="shop"}'
PERIOD_NS = 10_000_000


def alone(folder, *arguments, code=0, **options):
    """vesta without a server in its environment."""
    done = subprocess.run([VESTA, *arguments], capture_output=True, text=True, timeout=120,
                          check=False, **{"env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                                                  "HOME": folder}, **options})
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done


def write_versions(folder):
    """Files of version 1 and 2 of the service."""
    return [pprof_writer.write(f"{folder}/v{version}.pb.gz", stacks, time_unix_s=start_s)
            for version, stacks, start_s in (("1", page.STACKS, FIRST_S),
                                             ("2", page.STACKS_AFTER, SECOND_S))]


def import_versions(run, files):
    for version, path in zip("12", files):
        run("import", path, "--label", "service=shop", "--label", f"version={version}")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A server with both versions in it; no test adds to it."""
    folder = str(tmp_path_factory.mktemp("shop"))
    server = StoreServer(folder)
    server.files = write_versions(folder)
    import_versions(server.run, server.files)
    yield server
    server.stop()


@pytest.fixture
def fresh(folder):
    """A server of the test's own: fresh(*arguments) starts it, or starts it again."""
    servers = []

    def start(*arguments):
        servers.append(StoreServer(folder, *arguments))
        return servers[-1]
    yield start
    for server in servers:
        server.stop()


def self_and_total(*stacks):
    """Samples by name of function, of the stacks of page.STACKS."""
    own, total = Counter(), Counter()
    for of in stacks:
        for _, frames, count in of:
            own[frames[-1].name] += count
            total.update({frame.name: count for frame in frames})
    return own, total


def assert_functions(report, *stacks):
    own, total = self_and_total(*stacks)
    for row in report["rows"]:
        assert row["self"]["value"] == own[row["name"]] * PERIOD_NS, row
        assert row["total"]["value"] == total[row["name"]] * PERIOD_NS, row


# --- query ---------------------------------------------------------------------------------------

def test_the_table_says_what_the_files_say(shop):
    report = json.loads(shop.run("query", SHOP, "--json", "-n", "1000").stdout)
    assert_functions(report, page.STACKS, page.STACKS_AFTER)
    one = json.loads(shop.run("query", 'cpu{service="shop",version=~"1|x"}', "--json").stdout)
    assert_functions(one, page.STACKS)
    lines = shop.run("query", SHOP, "-n", "3").stdout.splitlines()
    assert any("parse_json" in line for line in lines), lines


def test_a_table_by_label_has_a_line_per_value(shop):
    report = json.loads(shop.run("query", SHOP, "--by", "version", "--json").stdout)
    own = {row["name"]: row["self"]["value"] for row in report["rows"]}
    assert own == {version: sum(count for _, _, count in stacks) * PERIOD_NS
                   for version, stacks in (("1", page.STACKS), ("2", page.STACKS_AFTER))}


def test_a_cut_table_says_what_is_behind(shop):
    report = json.loads(shop.run("query", SHOP, "--json", "-n", "2").stdout)
    own, _ = self_and_total(page.STACKS, page.STACKS_AFTER)
    shown = sum(row["self"]["value"] for row in report["rows"])
    assert shown + report["self_behind"]["value"] == sum(own.values()) * PERIOD_NS
    text = shop.run("query", SHOP, "-n", "2").stdout
    assert re.search(r"\.\.\. \d+ more", text), text


def test_folded_stacks_are_those_of_the_files(shop):
    def folded(text):
        return Counter({stack: int(count) for stack, _, count in
                        (line.rpartition(" ") for line in text.splitlines())})
    ours = folded(shop.run("query", 'cpu{version="1"}', "--format", "folded").stdout)
    theirs = folded(alone(shop.folder, "convert", shop.files[0], "-", "--to", "folded", "--type",
                          "cpu").stdout)
    assert ours == theirs


def test_pprof_comes_over_http_and_the_tools_of_pprof_agree(shop, folder):
    path = f"{folder}/x.pb.gz"
    shop.run("query", SHOP, "-o", path)
    profile = pprof.load(path)
    own, _ = self_and_total(page.STACKS, page.STACKS_AFTER)
    cpu = profile.value_index("cpu")
    assert profile.total(cpu) == sum(own.values()) * PERIOD_NS
    if not os.path.exists("/usr/local/go/bin/go") and not any(
            os.access(os.path.join(place, "go"), os.X_OK)
            for place in os.environ["PATH"].split(":")):
        pytest.skip("needs go")
    target = f"{shop.url}/api/v1/profile?query=cpu%7Bservice%3D%22shop%22%7D"
    done = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=100000",
                           "-nodefraction=0", target], capture_output=True, text=True, timeout=120,
                          check=False, env={"GOCACHE": os.path.expanduser("~/.cache/go-build"),
                                            **os.environ, "PPROF_TMPDIR": folder, "HOME": folder,
                                            "PPROF_BINARY_PATH": folder})
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\s*([\d.]+)(?:ns)?\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)(?:ns)?\s+[\d.]+%\s+(\S.*)$",
                      done.stdout, re.M)
    theirs = {name.removesuffix(" (inline)"): float(flat) for flat, _, name in rows}
    assert len(theirs) > 100, done.stdout
    for name, count in own.items():
        assert theirs[name] == pytest.approx(count * PERIOD_NS, rel=1e-3), name


def test_a_page_opens_and_shows_the_whole(shop, folder, new_page):
    path = f"{folder}/x.html"
    shop.run("query", SHOP, "-o", path)
    shown = new_page().open(path)
    assert "shop" in shown.tab.title()


def test_other_formats_by_the_name_of_the_file(shop, folder):
    shop.run("query", SHOP, "-o", f"{folder}/x.svg")
    with open(f"{folder}/x.svg", encoding="utf-8") as file:
        assert "parse_json" in file.read()
    shop.run("query", SHOP, "-o", f"{folder}/x.json")
    with open(f"{folder}/x.json", encoding="utf-8") as file:
        assert json.load(file)["rows"]
    done = shop.run("query", SHOP, "-o", f"{folder}/x.mp3", code=125)
    assert "x.mp3" in done.stderr and ".pb.gz" in done.stderr


def test_callers_callees_and_lines_of_a_function(shop):
    callers = shop.run("query", SHOP, "--function", "db::scan_rows", "--callers").stdout
    assert "query" in callers and "work" not in callers
    callees = shop.run("query", SHOP, "--function", "query", "--callees").stdout
    assert "db::scan_rows" in callees and "vfs_read" in callees
    lines = json.loads(shop.run("query", SHOP, "--function", "query", "--lines", "--json").stdout)
    by_line = {row["line"]: row["self"]["value"] for row in lines["rows"]}
    assert by_line == {77: 600 * PERIOD_NS, 79: 200 * PERIOD_NS}
    done = shop.run("query", SHOP, "--function", "no_such", "--callers")
    assert "no function here is called no_such; /no_such/" in done.stdout
    # Cut tables have the largest: not the first by name, nor by number.
    cut = shop.run("query", SHOP, "--function", "/./", "--callees", "-n", "3").stdout
    shares = [line.split()[1] for line in cut.split("frames\n")[1].splitlines()[:3]]
    assert shares == sorted(shares, key=lambda share: -float(share.rstrip("%"))), cut
    one = json.loads(shop.run("query", SHOP, "--function", "/./", "--lines", "-n", "1",
                              "--json").stdout)
    every = json.loads(shop.run("query", SHOP, "--function", "/./", "--lines", "-n", "1000",
                                "--json").stdout)
    assert one["rows"][0]["self"] == max((row["self"] for row in every["rows"]),
                                         key=lambda self: self["value"])
    assert one["rows_behind"] == len(every["rows"]) - 1


def test_explain_says_what_each_step_reads(shop, folder):
    for query in (SHOP, f"{SHOP}@-45m..now"):
        done = shop.run("query", query, "--explain")
        assert "series" in done.stdout and "read" in done.stdout
        assert re.search(r"^all together: \S+, \S+ of memory, \d+ files?\nrow by row: \d+ rows, \S+$",
                         done.stdout, re.M), done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80, done.stdout
    cost = json.loads(shop.run("query", SHOP, "--explain", "--json").stdout)["cost"]
    assert cost["rows"] > 400 and cost["memory_bytes"] > 1000, cost
    done = shop.run("query", SHOP, "--explain", "-o", f"{folder}/x.html", code=125)
    assert "--output" in done.stderr


def test_a_file_of_stacks_that_would_be_empty_is_not_written(shop, folder):
    none = 'cpu{service="none"}'
    for name in ("x.html", "x.pb.gz", "x.svg", "x.folded"):
        done = shop.run("query", none, "-o", f"{folder}/{name}", code=125)
        assert done.stderr.startswith("vesta query: no series match in this range"), done.stderr
        assert not os.path.exists(f"{folder}/{name}")
    assert shop.run("query", none, "-f", "folded", code=125).stdout == ""
    done = shop.run("query", SHOP, "--callers", "--function", "no_such", "-o", f"{folder}/x.html",
                    code=125)
    assert "no function here is called no_such" in done.stderr
    done = shop.run("export", none, "-o", f"{folder}/x.tar", code=125)
    assert "no series match in this range" in done.stderr
    # A table says so itself.
    assert "no series match" in shop.run("query", none).stdout


def test_notes_are_said_where_the_file_has_no_place_for_them(shop, folder):
    shop.run("query", SHOP, "--by", "nope", "-o", f"{folder}/x.pb.gz")
    for arguments in (("-o", f"{folder}/x.pb.gz"), ("-o", f"{folder}/x.svg"), ("-f", "folded")):
        done = shop.run("query", SHOP, "--by", "nope", *arguments)
        assert "vesta query: no series here has the label nope" in done.stderr, done.stderr


def test_a_page_says_what_was_asked_and_of_which_time(shop, folder, new_page):
    path = f"{folder}/x.html"
    shop.run("query", SHOP, "--function", "query", "--callers", "-o", path, "--from",
             "2026-01-01", "--to", "now")
    shown = new_page().open(path)
    title = shown.tab.title()
    assert title.startswith(
        'callers of query, cpu{service.name="shop"}, 2026-01-01T00:00:00Z to '), title
    # Whole also where the title is cut.
    assert "2026-01-01 00:00:00 to " in shown.part("status").inner_text()
    entries = shown.part("legend-entry").all_inner_texts()
    assert len(entries) > 1 and "100 %" not in " ".join(entries), entries


def test_the_tree_of_calls_is_a_table_too(shop):
    text = shop.run("query", SHOP, "--tree", "-n", "9").stdout
    rows = [line.split() for line in text.split("frames\n")[1].splitlines()[:9]]
    assert rows[0][1] == "100.00%" and any(row[-1] == "parse_json" for row in rows), text
    tree = json.loads(shop.run("query", SHOP, "--tree", "--json").stdout)
    assert tree["nodes"]["values"][1]["total"][0][0] == sum(
        count for stacks in (page.STACKS, page.STACKS_AFTER) for _, _, count in stacks) * PERIOD_NS


def test_an_import_in_another_unit_leaves_questions_as_they_were(fresh, folder):
    server = fresh()
    server.run("import", write_versions(folder)[0], "--label", "service=a")
    path = f"{folder}/a.folded"
    with open(path, "w", encoding="utf-8") as file:
        file.write("main;work 5\n")
    for service in "bcd":
        server.run("import", path, "--label", f"service={service}", "--type", "cpu")
    done = server.run("query", "cpu")
    assert "parse_json" in done.stdout
    assert "this is cpu:nanoseconds; there is also cpu:count" in done.stdout
    assert "work" in server.run("query", "cpu:count").stdout
    server.run("query", "cpu", "-o", f"{folder}/x.html")


def test_tables_fit_the_terminal(shop):
    for columns in (80, 200):
        for arguments in (("query", SHOP), ("query", SHOP, "--by", "version"),
                          ("series", SHOP, "--by", "version"), ("labels",), ("labels", "version"),
                          ("query", SHOP, "--function", "query", "--callers")):
            text = on_terminal(shop, columns, *arguments)
            assert text and max(map(len, text.splitlines())) <= columns, (arguments, text)


def on_terminal(server, columns, *arguments):
    """What a command prints on a terminal so wide."""
    controller, terminal = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "50"], stdin=terminal, check=True)
    done = subprocess.Popen([VESTA, *arguments], stdin=subprocess.DEVNULL, stdout=terminal,
                            stderr=subprocess.PIPE, env=server.environment(server.url))
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:
        pass  # the terminal's other end is closed
    os.close(controller)
    assert done.wait(timeout=60) == 0, done.stderr.read()
    done.stderr.close()
    return shown.decode().replace("\r\n", "\n")


# --- series and labels ---------------------------------------------------------------------------

def test_series_add_up_to_what_was_imported(shop):
    report = json.loads(shop.run("series", SHOP, "--by", "version", "--step", "1m",
                                 "--json").stdout)
    totals = {row["labels"]["service.version"]: row["total"]["value"] for row in report["rows"]}
    assert totals == {"1": 10_000 * PERIOD_NS,
                      "2": sum(count for _, _, count in page.STACKS_AFTER) * PERIOD_NS}
    assert report["step_ms"] == 60_000
    text = shop.run("series", SHOP, "--by", "version").stdout
    assert "█" in text, text


def test_labels_and_their_values(shop):
    names = {row["name"] for row in json.loads(shop.run("labels", "--json").stdout)["rows"]}
    assert {"service.name", "service.version", "process"} <= names
    values = json.loads(shop.run("labels", "version", "--json").stdout)
    assert [row["value"] for row in values["rows"]] == ["1", "2"]
    assert "service.version" in shop.run("labels").stdout
    one = json.loads(shop.run("labels", "process", 'cpu{version="1"}', "--json").stdout)
    every = json.loads(shop.run("labels", "process", "--json").stdout)
    assert [row["series"] for row in one["rows"]] == [1, 1]
    assert [row["series"] for row in every["rows"]] == [2, 2]
    assert "service.version" in shop.run("labels", SHOP).stdout
    before = json.loads(shop.run("labels", "version", "--to", "-1d", "--json").stdout)
    assert before["rows"] == []


# --- diff ----------------------------------------------------------------------------------------

def test_diff_of_queries_is_that_of_the_files(shop):
    queries = ('cpu{version="1"}', 'cpu{version="2"}')
    by_query = json.loads(shop.run("diff", *queries, "--json").stdout)
    by_file = json.loads(alone(shop.folder, "diff", *shop.files, "--json").stdout)
    assert by_query["functions"] == by_file["functions"]
    assert by_query["before"]["name"] == queries[0]
    mixed = json.loads(shop.run("diff", shop.files[0], queries[1], "--json").stdout)
    assert mixed["functions"] == by_file["functions"]
    ranged = f"{SHOP}@{FIRST_S - 60}..{FIRST_S + 120}", f"{SHOP}@{SECOND_S - 60}..{SECOND_S + 120}"
    assert json.loads(shop.run("diff", *ranged, "--json").stdout)["functions"] == \
        by_file["functions"]


@pytest.mark.needs_root
@pytest.mark.needs_bpf
def test_a_planted_change_between_two_versions_stands_first(fresh, folder):
    """The program of test_diff.py, recorded twice and kept as two versions."""
    server = fresh()
    for version, extra in (("1", []), ("2", ["120"])):
        path = f"{folder}/{version}.pb.gz"
        server.run("record", "-q", "-F", "997", "-o", path, "--state-dir", folder, "--",
                   f"{PROGRAMS}/planted", "2000", *extra)
        server.run("import", path, "--label", "service=planted", "--label", f"version={version}")
    report = json.loads(server.run("diff", 'cpu{version="1",process="planted"}',
                                   'cpu{version="2",process="planted"}', "--json").stdout)
    first = report["functions"][0]
    assert first["name"] == "sort_rows" and first["binary"] == "planted", report
    assert not first["self"]["within_noise"] and first["self"]["difference"] > 0
    assert 0.06 < first["self"]["difference"] / report["before"]["sum"] < 0.18


# --- import, export, restart ---------------------------------------------------------------------

def test_a_file_counts_once_whoever_sends_it_again(fresh, folder):
    server = fresh()
    path = write_versions(folder)[0]
    first = server.run("import", path, "--label", "service=a")
    rows = int(re.search(r": (\d+) rows kept", first.stdout)[1])
    again = server.run("import", path, "--label", "service=a")
    assert f"{rows} rows are there already, nothing was added" in again.stdout
    # Other labels make it other rows.
    assert f"{rows} rows kept" in server.run("import", path, "--label", "service=b").stdout
    report = json.loads(server.run("query", "cpu", "--by", "service", "--json").stdout)
    assert {row["name"]: row["total"]["value"] for row in report["rows"]} == \
        {"a": 10_000 * PERIOD_NS, "b": 10_000 * PERIOD_NS}


def test_import_says_of_each_file_what_became_of_it(fresh, folder):
    server = fresh()
    good = write_versions(folder)
    bad = f"{folder}/bad.pb.gz"
    with open(good[0], "rb") as file, open(bad, "wb") as cut:
        cut.write(file.read()[:300])
    done = server.run("import", good[0], bad, f"{folder}/none.pb.gz", good[1], "--label",
                      "service=a", code=125)
    assert f"{good[0]}: " in done.stdout and f"{good[1]}: " in done.stdout
    assert f"vesta import: {bad}: " in done.stderr and "none.pb.gz" in done.stderr
    done = server.run("import", good[0], "--label", "service=x\x1b[31m", code=0)
    assert "\x1b" not in done.stdout + server.run("labels", "service").stdout


def test_a_time_that_is_given_wins_over_that_of_the_file_but_not_of_an_export(fresh, folder):
    server = fresh()
    files = write_versions(folder)
    day_ago = ("--from", "-25h", "--to", "-23h", "--json")

    def total(service):
        answer = json.loads(server.run("query", f'cpu{{service="{service}"}}', *day_ago).stdout)
        return answer["sides"][0]["total"]["value"]

    server.run("import", files[0], "--label", "service=a", "--at", "-1d")
    assert total("a") == 10_000 * PERIOD_NS
    server.run("import", files[0], "--label", "service=b")
    assert total("b") == 0
    server.run("export", 'cpu{service="b"}', "-o", f"{folder}/b.tar")
    server.run("import", f"{folder}/b.tar", "--label", "service=c", "--at", "-1d")
    assert total("c") == 0


def test_a_folder_that_is_typed_wins_over_the_server_of_the_environment(fresh, folder):
    server = fresh()
    data = f"{folder}/other"
    server.run("import", write_versions(folder)[0], "--label", "service=other", "--data", data)
    assert '"other"' in alone(folder, "labels", "service", "--json", "--data", data).stdout
    assert '"other"' not in server.run("labels", "service", "--json").stdout
    # The server that has the folder open is asked, wherever it listens, and no other.
    assert alone(folder, "labels", "--data", server.data).stdout == server.run("labels").stdout


def test_a_locked_folder_is_answered_for_by_its_own_server_only(fresh, shop, folder):
    server = fresh()
    server.run("import", write_versions(folder)[0], "--label", "service=mine")
    with open(f"{server.data}/SERVER", encoding="utf-8") as file:
        place = json.load(file)
    assert place["url"] == server.url
    assert "mine" in alone(folder, "labels", "service", "--data", server.data).stdout
    # Written over by one of another folder: of a copy, or by chance.
    for url, instance, says in ((shop.url, place["instance"], "has another folder"),
                                (server.url, "0" * 32, "has another folder"),
                                (f"http://127.0.0.1:{free_port()}", "0" * 32, "nobody listens"),
                                ("http://10.0.0.1:1", "0" * 32, "--server http://10.0.0.1:1")):
        with open(f"{server.data}/SERVER", "w", encoding="utf-8") as file:
            json.dump({"url": url, "instance": instance}, file)
        for arguments in (("query", "cpu"), ("import", f"{folder}/v1.pb.gz", "--label", "a=b")):
            done = alone(folder, *arguments, "--data", server.data, "-q", code=125)
            assert f"is open in process {server.process.pid}" in done.stderr, done.stderr
            assert says in done.stderr, done.stderr
    os.unlink(f"{server.data}/SERVER")
    done = alone(folder, "query", "cpu", "--data", server.data, code=125)
    assert "--server" in done.stderr
    server.stop()
    assert not os.path.exists(f"{server.data}/SERVER")
    assert "mine" in alone(folder, "labels", "service", "--data", server.data).stdout


def test_files_without_a_time_are_of_when_they_say(fresh, folder):
    server = fresh()
    path = f"{folder}/a.folded"
    with open(path, "w", encoding="utf-8") as file:
        file.write("main;work 5\nmain;rest 3\n")
    os.utime(path, (NOW_S - 7200, NOW_S - 7200))
    server.run("import", path, "--label", "service=a")
    server.run("import", path, "--label", "service=b", "--at", "-2d", "--type", "cpu")

    def total(query, *arguments):
        report = json.loads(server.run("query", query, "--json", *arguments).stdout)
        return sum(row["self"]["value"] for row in report["rows"])
    assert total('samples{service="a"}', "--from", "-3h") == 8
    assert total('cpu{service="b"}', "--from", "-3d", "--to", "-1d") == 8
    done = server.run("import", path, "--at", "noon", code=125)
    assert "--at" in done.stderr and "noon" in done.stderr


def test_what_is_exported_and_imported_again_answers_the_same(shop, fresh, folder):
    path = f"{folder}/all.tar"
    shop.run("export", "", "-o", path)
    other = fresh()
    other.run("import", path)
    assert "nothing was added" in other.run("import", path).stdout
    assert "nothing was added" in shop.run("import", path).stdout, "they came from there"
    for arguments in (("query", SHOP, "-n", "1000"), ("query", SHOP, "--by", "version"),
                      ("series", SHOP, "--by", "version,process", "--step", "10s"), ("labels",),
                      ("labels", "process"), ("query", SHOP, "--by", "process", "-f", "folded")):
        answers = [in_order(arguments, server.run(*arguments, *fixed_range()).stdout)
                   for server in (shop, other)]
        assert answers[0] == answers[1], arguments
    done = shop.run("export", 'cpu{service="none"}', "-o", f"{folder}/none.tar", code=125)
    assert "no series match" in done.stderr and not os.path.exists(f"{folder}/none.tar")


def fixed_range():
    """Answers are compared as texts: they must be of one time."""
    return "--from", str(NOW_S - 3600), "--to", str(NOW_S + 60)


def in_order(arguments, text):
    """Folded stacks come in no order."""
    return sorted(text.splitlines()) if "folded" in arguments else text


def test_a_restart_and_a_signal_keep_everything(fresh, folder):
    server = fresh()
    import_versions(server.run, write_versions(folder))
    before = server.run("query", SHOP, "-n", "1000", *fixed_range()).stdout
    for how in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        code, _ = server.stop(how)
        assert code == (0 if how != signal.SIGKILL else -signal.SIGKILL)
        server = fresh()
        assert server.run("query", SHOP, "-n", "1000", *fixed_range()).stdout == before, how


def test_sigterm_answers_what_was_asked_before(fresh, folder):
    """A push whose body is still on its way when the signal comes is kept and acknowledged."""
    server = fresh()
    with open(write_versions(folder)[0], "rb") as file:
        body = file.read()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"POST /api/v1/profiles?label.service=late HTTP/1.1\r\nHost: {host}\r\n"
                           f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                           + body[:1000])
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.sendall(body[1000:])
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200"), answer
    assert server.stop()[0] == 0
    report = json.loads(fresh().run("query", 'cpu{service="late"}', "--json").stdout)
    assert report["rows"]


# --- a folder without a server -------------------------------------------------------------------

def test_a_folder_answers_as_its_server_does(shop, folder):
    data = f"{folder}/store"
    files = shop.files
    for version, path in zip("12", files):
        alone(folder, "import", path, "--data", data, "--label", "service=shop", "--label",
              f"version={version}")
    assert "nothing was added" in alone(folder, "import", files[0], "--data", data, "--label",
                                        "version=1", "--label", "service=shop").stdout
    for arguments in (("query", SHOP, "-n", "1000"), ("query", SHOP, "--by", "version", "--json"),
                      ("series", SHOP, "--by", "version"), ("labels",), ("labels", "version"),
                      ("query", SHOP, "-f", "folded", "--by", "process"),
                      ("query", SHOP, "--function", "query", "--callers")):
        ours = alone(folder, *arguments, *fixed_range(), "--data", data).stdout
        theirs = shop.run(*arguments, *fixed_range()).stdout
        assert in_order(arguments, ours) == in_order(arguments, theirs), arguments
    # A server that is not there gives way to the folder.
    lonely = f"http://127.0.0.1:{free_port()}"
    assert "parse_json" in alone(folder, "query", SHOP, "--data", data, "--server", lonely).stdout


# --- errors --------------------------------------------------------------------------------------

def test_without_a_server_both_ways_are_said(folder):
    url = f"http://127.0.0.1:{free_port()}"
    done = alone(folder, "query", "cpu", "--server", url, code=125)
    assert done.stderr.startswith(f"vesta query: nobody listens at {url}: ")
    assert "vesta server --data DIR" in done.stderr and "--data DIR" in done.stderr
    done = alone(folder, "query", "cpu", "--data", f"{folder}/none", code=125)
    assert f"there is no store in {folder}/none" in done.stderr
    assert not os.path.exists(f"{folder}/none")
    done = alone(folder, "diff", "old.pb.gz", "cpu", "--server", url, code=125)
    assert "there is no file old.pb.gz, and as a query: nobody listens" in done.stderr


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_wrong_query_is_told_with_its_place(shop, folder):
    done = shop.run("query", 'cpu{service=shop}', code=125)
    assert done.stderr.startswith("vesta query: position 13: expected a value in quotes"), \
        done.stderr
    assert "there is no gpu here, but cpu" in shop.run("query", "gpu").stdout
    assert "label srvice" in shop.run("query", 'cpu{srvice="shop"}').stdout
    assert "label nope" in shop.run("query", SHOP, "--by", "nope").stdout
    assert "in the future" in shop.run("query", SHOP, "--from", "now+1h", "--to", "now+2h").stdout
    assert "one of" in shop.run("query", SHOP, "--by", "service,version", code=125).stderr
    done = shop.run("query", "cpu", "--from", "yesterday 14:02", "--to", "yesterday 14:05")
    assert "T14:02:00Z to " in done.stdout
    done = shop.run("query", "cpu", "--from", "soon", code=125)
    assert "from" in done.stderr and "soon" in done.stderr
    done = shop.run("query", "cpu", "-o", f"{folder}/no/x.html", code=125)
    assert "its folder" in done.stderr


def test_a_folder_has_one_owner(shop, folder):
    done = alone(folder, "server", "--data", shop.data, "--listen", "127.0.0.1:0", code=125)
    assert str(shop.process.pid) in done.stderr and done.stderr.startswith("vesta server: ")
    done = alone(folder, "query", SHOP, "--data", shop.data, "--server", shop.url)
    assert "parse_json" in done.stdout


def test_a_port_has_one_owner(shop, folder):
    address = shop.url.removeprefix("http://")
    done = alone(folder, "server", "--data", f"{folder}/x", "--listen", address, code=125)
    assert address in done.stderr and "--listen" in done.stderr


def test_other_machines_need_tls_and_a_token(folder):
    done = alone(folder, "server", "--data", f"{folder}/x", "--listen", "0.0.0.0:0", code=125)
    assert "--tls-cert" in done.stderr and "--token-file" in done.stderr
    assert "--insecure" in done.stderr


def test_a_token_closes_it(fresh, folder):
    token = f"{folder}/token"
    with open(token, "w", encoding="utf-8") as file:
        file.write("# for tests\n0123456789abcdef0123456789abcdef\n")
    server = fresh("--token-file", token)
    done = server.run("query", "cpu", code=125)
    assert "--token-file" in done.stderr
    server.run("import", write_versions(folder)[0], "--token-file", token)
    assert "parse_json" in server.run("query", "cpu", "--token-file", token).stdout


def test_a_store_of_a_newer_vesta_is_left_alone(fresh, folder):
    server = fresh()
    server.stop()
    with open(f"{server.data}/FORMAT", encoding="utf-8") as file:
        text = file.read()
    with open(f"{server.data}/FORMAT", "w", encoding="utf-8") as file:
        file.write(re.sub(r"\d+", "99", text))
    done = alone(folder, "server", "--data", server.data, "--listen", "127.0.0.1:0", code=125)
    assert "another version of vesta: vesta store 99" in done.stderr


def test_names_from_the_store_are_harmless(fresh, folder):
    server = fresh()
    evil = "\x1b]0;evil\x07name\u202e\nline"
    path = pprof_writer.write(f"{folder}/e.pb.gz", [(evil, [Frame("main"), Frame(evil, evil)], 9)],
                              time_unix_s=NOW_S - 60)
    server.run("import", path, "--label", f"service={evil}")
    for arguments in (("query", "cpu"), ("query", "cpu", "--by", "service"), ("labels", "service"),
                      ("series", "cpu", "--by", "process"), ("labels", "process"),
                      ("query", "cpu", "--explain"), ("diff", "cpu", "cpu")):
        text = server.run(*arguments).stdout
        assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text, arguments
