"""DuckDB from Python, which knows nothing of us, reads the store's files as docs/formats/store.md
says, and finds what `vesta query` and the pushes say."""
import os
import random
import re
import subprocess
import sys
import time

import pytest

import store_http
from conftest import ROOT, VESTA
from store_crashes import SMALL_PARTS, folded_sums
from store_model import DAY_MS, PERIOD_NS, Model, Pusher

MODULES = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "vesta",
                       "store-tools", "python")
DOCUMENT = os.path.join(ROOT, "docs", "formats", "store.md")
DAY = int(time.time() * 1000) // DAY_MS * DAY_MS - 2 * DAY_MS

STACKS = """
WITH RECURSIVE named AS (
  SELECT stack, parent, functions.name FROM 'stacks.parquet'
  JOIN 'frame_lines.parquet' USING (frame) JOIN 'functions.parquet' AS functions USING (function)
  WHERE stack > 0  -- the stack without frames
), path(stack, parent, names) AS (
  SELECT stack, parent, [name] FROM named
  UNION ALL
  SELECT path.stack, named.parent, list_prepend(named.name, path.names)
  FROM path JOIN named ON named.stack = path.parent
)
SELECT array_to_string(names, ';'), sum(value)
FROM 'rows.parquet' JOIN path USING (stack) WHERE path.parent = 0 GROUP BY 1
"""


@pytest.fixture(scope="module")
def duckdb():
    if not os.path.isdir(MODULES):
        pytest.skip("needs Python's duckdb: tools/dev deps test")
    sys.path.insert(0, MODULES)
    import duckdb as module
    yield module
    sys.path.remove(MODULES)


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """(data folder, folder of the one closed volume, model)"""
    data, model = str(tmp_path_factory.mktemp("store") / "data"), Model()
    server = store_http.StoreServer(data, *SMALL_PARTS)
    pusher = Pusher(random.Random(8), services=3)
    for _ in range(40):
        push = pusher.make(DAY + pusher.random.randrange(DAY_MS // 2, DAY_MS), spread_ms=3_600_000)
        status, answer = server.push(push.body, batch=push.batch, **push.labels)
        assert status == 200, answer
        model.add(push)
    store_http.wait_until_settled(server, 60)
    assert server.stop() == 0
    folder = os.path.join(data, "days", time.strftime("%Y-%m-%d", time.gmtime(DAY / 1000)))
    # Volumes of one day become one.
    assert len(os.listdir(folder)) == 1, os.listdir(folder)
    return data, os.path.join(folder, os.listdir(folder)[0]), model


@pytest.fixture
def sql(duckdb, day, monkeypatch):
    """sql(text): the rows of a query, asked in the volume's folder."""
    monkeypatch.chdir(day[1])
    connection = duckdb.connect()
    yield lambda text: connection.execute(text).fetchall()
    connection.close()


def test_rows_are_sorted_and_complete(sql, day):
    model = day[2]
    rows = sql("SELECT type, series, task, time_unix_ms, stack FROM 'rows.parquet'")
    assert len(rows) == len(model.rows)
    assert rows == sorted(rows)
    assert sql("SELECT sum(value), sum(count), min(weight), max(weight) FROM 'rows.parquet'") == [
        (model.total() * PERIOD_NS, model.total(), 1, 1)]


def test_sums_by_label_are_those_of_the_pushes(sql, day):
    found = sql("""SELECT labels.value, rows.time_unix_ms // 3600000 * 3600000, sum(rows.count)
                   FROM 'rows.parquet' AS rows JOIN 'series.parquet' AS labels USING (series)
                   WHERE labels.name = 'service.name' GROUP BY ALL""")
    assert {(service, hour): count for service, hour, count in found} == dict(day[2].sums(
        lambda row: (row.service, row.time_unix_ms // 3_600_000 * 3_600_000)))


def test_stacks_are_those_that_vesta_query_tells(sql, day):
    data, _, model = day
    found = dict(sql(STACKS))
    assert found == {";".join(frames): count * PERIOD_NS
                     for frames, count in model.sums(lambda row: row.frames).items()}
    told = subprocess.run([VESTA, "query", "cpu{}", "--data", data, "--from", str(DAY), "--to",
                           str(DAY + DAY_MS), "--format", "folded"], check=True,
                          capture_output=True)
    assert folded_sums(told.stdout) == found


def test_the_documents_examples_work_as_they_are_printed(duckdb, sql):
    with open(DOCUMENT, encoding="utf-8") as file:
        blocks = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    statements = duckdb.extract_statements("\n".join(blocks))
    assert len(statements) >= 2
    for statement in statements:
        assert sql(statement), statement.query
