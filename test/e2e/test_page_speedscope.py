"""speedscope, the program itself, opens what we write for it and finds the same numbers."""
import functools
import http.server
import json
import os
import re
import threading

import pytest

import page
from page import STACKS


class Files(http.server.SimpleHTTPRequestHandler):
    """speedscope's own files, and below /profile/ the test's."""

    def __init__(self, *arguments, profiles, **options):
        self.profiles = profiles
        super().__init__(*arguments, directory=page.SPEEDSCOPE, **options)

    def translate_path(self, path):
        if path.startswith("/profile/"):
            return os.path.join(self.profiles, os.path.basename(path))
        return super().translate_path(path)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def speedscope(folder, page_browser):
    """speedscope(file) opens a file of the folder; gives {name: (total, self) in seconds}."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Files, profiles=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    tab = page_browser.page().tab

    def functions(name):
        tab.goto(f"{address}/index.html#profileURL={address}/profile/{name}")
        tab.wait_for_function("() => document.title !== 'speedscope'", timeout=page.WAIT_MS)
        tab.keyboard.press("3")  # its table of functions
        tab.get_by_text("Symbol Name").wait_for(timeout=page.WAIT_MS)
        rows = tab.locator("table tr").all_inner_texts()  # as many as the window shows
        tab.get_by_text("Total", exact=True).first.click()
        rows += tab.locator("table tr").all_inner_texts()
        return dict(row_of(row) for row in rows if "(" in row)
    yield functions
    page_browser.close_pages()
    server.shutdown()
    server.server_close()


SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def row_of(text):
    """Of "20.00s (20.0%)  20.00s (20.0%)  parse_json"; minutes are "1:40" or "1m40s"."""
    cells = [cell for cell in re.split(r"[\t\n]+", text.strip()) if cell]
    return cells[2], (seconds(cells[0]), seconds(cells[1]))


def seconds(cell):
    value = cell.split("(")[0].strip()
    if ":" in value:
        minutes, rest = value.split(":")
        return int(minutes) * 60 + float(rest)
    number, unit = re.fullmatch(r"([\d.,]+)\s*(\D+)", value).groups()
    return float(number.replace(",", "")) * SECONDS[unit]


def test_speedscope_opens_our_file_with_the_same_numbers(folder, speedscope):
    source = page.pprof_writer.write(f"{folder}/a.pb.gz", STACKS)
    page.vesta("convert", source, f"{folder}/a.speedscope.json")
    seen = speedscope("a.speedscope.json")
    ours = json.loads(page.vesta("top", source, "--format", "json", "-n", "1000").stdout)
    functions = {row["name"]: (row["total"] / 1e9, row["self"] / 1e9) for row in ours["functions"]}
    named = {name: values for name, values in seen.items() if name in functions}
    assert len(named) >= 30 and {"main", "fib", "query", "db::scan_rows"} <= set(named)
    for name, values in named.items():
        assert values == pytest.approx(functions[name], abs=0.006), name
    assert set(seen) - set(named) <= {"server", "worker"}, "the processes, which are no functions"
    assert seen["server"] == pytest.approx((60, 0), abs=0.006)
    assert seen["main"][0] == ours["total"] / 1e9 == 100
