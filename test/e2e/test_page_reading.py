"""The page of a real recording, damage inside of its data, and what long profiles need."""
import base64
import gzip
import re

import pytest

import page
from conftest import PROGRAMS
from page import Frame


def repacked(html, target, change):
    """The same page with other data: change(bytes) of what gzip holds."""
    with open(html, encoding="utf-8") as file:
        text = file.read()
    parts = re.findall(r'<script type="text/plain" id="vesta-data-\d+">([^<]*)</script>', text)
    assert len(parts) == 1
    data = gzip.decompress(base64.b64decode(parts[0]))
    packed = base64.b64encode(gzip.compress(change(data))).decode()
    with open(target, "w", encoding="utf-8") as file:
        file.write(text.replace(parts[0], packed))
    return target


def section(data, tag):
    """Offset of a section's payload."""
    return data.index(tag) + 8


DAMAGES = {
    "cut in the middle": lambda data: data[:len(data) // 2],
    "cut near the end": lambda data: data[:-3],
    "another file": lambda data: b"PK\x03\x04" + data[4:],
    "a later version": lambda data: data[:4] + b"\x63\0\0\0" + data[8:],
    "a huge count": lambda data: (lambda at: data[:at] + b"\xff\xff\xff\x7f" + data[at + 4:])(
        section(data, b"TREE")),
    "a section of no end": lambda data: (lambda at: data[:at - 4] + b"\xff\xff\xff\x7f"
                                         + data[at:])(section(data, b"FUNC")),
}


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page.make_page(str(tmp_path_factory.mktemp("page")), page.STACKS)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_inside_of_the_data_is_told_with_its_place(html, folder, new_page, damage):
    tab = new_page().open(repacked(html, f"{folder}/x.html", DAMAGES[damage]), ready=False)
    tab.wait_for_state("error")
    message = tab.part("error-page").inner_text()
    assert re.search(r"byte \d+|version 99|not .*page|no .*page", message), message
    assert not re.search(r"undefined|NaN|\[object|TypeError|RangeError", message), message


def test_the_same_data_packed_again_open(html, folder, new_page):
    tab = new_page().open(repacked(html, f"{folder}/x.html", lambda data: data))
    assert tab.number("totals") == page.TOTAL * 10_000_000


@pytest.mark.needs_root
@pytest.mark.needs_bpf
def test_the_page_of_a_recording_shows_where_the_time_went(folder, record, new_page):
    record("-F", "299", "-o", f"{folder}/x.html", "--", f"{PROGRAMS}/planted", "400")
    tab = new_page().open(f"{folder}/x.html")
    tab.search("parse")
    assert tab.number("match-share") > 0.2
    tab.click("search-clear")
    tab.select("parse")
    box = tab.box("parse")
    assert box["self"][0] > 0 and "planted" in tab.names() and "main" in tab.names()
    tab.hover("parse")
    assert "planted" in tab.part("tooltip").inner_text()


def test_all_recursion_collapses_at_once(folder, new_page):
    one, other = Frame("walk", page.SERVER), Frame("visit", page.SERVER)
    stacks = [("", [page.MAIN, one, one, one, other, other], 60), ("", [page.MAIN, one, one], 40)]
    tab = new_page().open(page.make_page(folder, stacks))
    assert sum(box["name"] == "walk" for box in tab.boxes()) == 3
    tab.focus_graph()
    tab.press("R")
    names = [box["name"] for box in tab.boxes()]
    assert names.count("walk") == names.count("visit") == 1, names
    assert tab.box("walk")["self"] == [400_000_000]
    assert tab.part("chip").count() == 1
    tab.click("chip-remove")
    assert sum(box["name"] == "walk" for box in tab.boxes()) == 3


def test_minimap_follows_the_graph_both_ways(folder, new_page):
    deep = [Frame(f"level_{number:03}", page.SERVER) for number in range(300)]
    tab = new_page().open(page.make_page(folder, [("", deep, 10)]))
    frame = tab.part("minimap").bounding_box()
    middle = frame["x"] + frame["width"] / 2
    points = [(middle, frame["y"] + y) for y in range(1, int(frame["height"]) - 1)]
    at_top = tab.pixels(points)
    graph = tab.part("graph").bounding_box()
    tab.tab.mouse.move(graph["x"] + 300, graph["y"] + 200)
    tab.tab.mouse.wheel(0, 100_000)
    tab.eventually(lambda: "level_299" in tab.names(), True)
    tab.settle()
    assert tab.pixels(points) != at_top, "what is seen is marked elsewhere"
    tab.tab.mouse.move(middle, frame["y"] + frame["height"] - 2)
    tab.tab.mouse.down()
    tab.tab.mouse.move(middle, frame["y"] + 1, steps=5)
    tab.tab.mouse.up()
    tab.eventually(lambda: "level_001" in tab.names(), True)


def test_table_of_20000_functions_has_few_rows_in_the_document(folder, new_page):
    stacks = [("", [page.MAIN, Frame(f"function_{number:05}", page.SERVER)], 1 + number % 7)
              for number in range(20_000)]
    tab = new_page().open(page.make_page(folder, stacks))
    tab.click("layout-table")
    assert tab.number("table-rows") >= 20_001
    tab.sort_by("name")
    tab.eventually(lambda: tab.table()[0]["name"], "function_00000")
    assert len(tab.table()) < 120
    tab.part("table-row").first.click()
    tab.press("End")
    tab.eventually(lambda: "function_19999" in {row["name"] for row in tab.table()}, True)
    assert len(tab.table()) < 120
    tab.search("function_1234")
    tab.click("table-matches-only")
    tab.eventually(lambda: tab.number("table-rows"), 10.0)
