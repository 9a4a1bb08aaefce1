"""What a reader asks the page: search, transforms, callers and callees, the table."""
import pytest

import page
from page import STACKS, TOTAL

PERIOD = 10_000_000


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page.make_page(str(tmp_path_factory.mktemp("page")), STACKS)


@pytest.fixture
def opened(html, new_page):
    return new_page().open(html)


def test_search_counts_hits_and_gives_their_share(opened):
    opened.search("fib")
    assert opened.number("match-functions") == 1
    assert opened.number("matches") == 3
    assert abs(opened.number("match-share") - 2600 / TOTAL) < 1e-6, "each sample once"
    text = opened.part("search-count").inner_text()
    assert "26" in text and "3" in text, text
    opened.search("db::")
    assert opened.number("match-functions") == 2
    assert abs(opened.number("match-share") - 3600 / TOTAL) < 1e-6
    opened.search("nothing has this name")
    assert opened.number("matches") == 0 and opened.number("match-share") == 0
    opened.click("search-clear")
    assert opened.fact("matches") == ""


def test_search_dims_the_rest(opened):
    before = {name: opened.colour(opened.box(name)) for name in ("parse_json", "db::scan_rows")}
    opened.search("scan_rows")
    assert opened.colour(opened.box("parse_json")) != before["parse_json"]
    hit, rest = (opened.colour(opened.box(name)) for name in ("db::scan_rows", "parse_json"))
    ground = opened.pixels([(1436, 895)])[0]
    assert page.contrast(hit, ground) > page.contrast(rest, ground), "the hit stands out"
    assert opened.box("db::scan_rows")["match"] == 1
    opened.click("search-clear")
    assert opened.colour(opened.box("parse_json")) == before["parse_json"]


def test_search_by_regular_expression_and_case(opened):
    opened.search("^(parse|scan)_")
    assert opened.number("matches") == 0
    opened.click("search-regexp")
    assert opened.number("match-functions") == 1
    opened.search("(")
    assert opened.part("search-error").is_visible()
    assert len(opened.part("search-error").inner_text()) > 5
    opened.search("PARSE")
    assert opened.number("match-functions") == 1
    opened.click("search-case")
    assert opened.number("match-functions") == 0


def test_details_list_the_callers_nearest_first_and_lead_there(opened):
    opened.select("parse_json")
    opened.click("details-button")
    steps = opened.part("details-path").locator("button")
    opened.eventually(steps.all_inner_texts, ["serve(Request const&)", "main", "server", "all"])
    steps.nth(1).click()
    opened.settle()
    assert opened.fact("zoom-name") == "main"


def test_an_expression_that_never_ends_is_stopped_and_nothing_is_lost(opened):
    opened.transform("db::read", "hideStacks")
    opened.zoom("query")
    totals, before = opened.fact("totals"), opened.names()
    opened.click("search-regexp")
    opened.search("((((.+)+)+)+)+#")
    opened.eventually(lambda: opened.part("search-error").is_visible(), True, "it is said")
    assert "too long" in opened.part("search-error").inner_text()
    opened.settle()
    assert opened.fact("totals") == totals and opened.names() == before
    opened.search("^db::scan")
    opened.eventually(lambda: opened.number("match-functions"), 1, "the next search works")
    assert not opened.part("search-error").is_visible()


def test_enter_before_the_answer_goes_to_the_widest_match_once_it_is_there(opened):
    opened.part("search-input").focus()
    opened.tab.evaluate("""() => {  // in one turn: no answer can come between
        const input = document.querySelector("[data-testid=search-input]");
        input.value = "db::";
        input.dispatchEvent(new Event("input"));
        input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    }""")
    opened.eventually(lambda: opened.fact("selected-name"), "db::scan_rows", "not the first one")
    opened.press("Enter")
    opened.eventually(lambda: opened.fact("selected-name"), "db::read", "around the end")


def test_next_and_previous_go_through_all_hits(opened):
    opened.search("fib")
    seen = [""]
    for _ in range(4):
        opened.part("search-next").click()
        opened.tab.wait_for_function("""(before) => document.querySelector(
            "[data-testid=flame-view]").dataset.selected !== before""", arg=seen[-1])
        seen.append(opened.fact("selected"))
    del seen[0]
    assert len(set(seen[:3])) == 3 and seen[3] == seen[0], "around the end"
    opened.click("search-previous")
    opened.eventually(lambda: opened.fact("selected"), seen[2])


def test_focus_makes_a_function_the_root(opened):
    opened.transform("query", "focus")
    assert opened.fact("transforms") == "1"
    assert opened.number("totals") == 4000 * PERIOD
    assert "parse_json" not in opened.names()
    chip = opened.part("chip").inner_text()
    assert "query" in chip
    opened.click("chip-remove")
    assert opened.fact("transforms") == "0" and opened.number("totals") == TOTAL * PERIOD


def test_focus_on_a_subtree_takes_only_that_place(opened):
    inner = [box for box in opened.boxes() if box["name"] == "fib"]
    deepest = max(inner, key=lambda box: box["row"])
    opened.click_at(deepest, key="Control")
    opened.press("F")
    assert opened.number("totals") == 2000 * PERIOD


def test_keep_and_hide_choose_whole_stacks(opened):
    opened.transform("db::read", "keep")
    assert opened.number("totals") == 1000 * PERIOD
    assert "server" in opened.names()
    opened.click("chip-remove")
    opened.transform("serve(Request const&)", "hideStacks")
    assert opened.number("totals") == (TOTAL - 6000) * PERIOD
    assert "server" not in opened.names()
    assert "1 min hidden" in opened.part("status").inner_text(), "what was taken away is said"


def test_merge_gives_the_time_to_the_caller(opened):
    opened.transform("query", "merge")
    assert "query" not in opened.names()
    assert opened.box("serve(Request const&)")["self"] == [400 * PERIOD]
    assert opened.box("db::scan_rows")["row"] == opened.box("parse_json")["row"]
    assert opened.number("totals") == TOTAL * PERIOD


def test_collapse_recursion_makes_one_of_many(opened):
    assert sum(box["name"] == "fib" for box in opened.boxes()) == 3
    opened.transform("fib", "collapseRecursion")
    fibs = [box for box in opened.boxes() if box["name"] == "fib"]
    assert len(fibs) == 1 and fibs[0]["total"] == [2600 * PERIOD]
    assert fibs[0]["self"] == [2000 * PERIOD]


def test_collapse_library_makes_one_box_of_its_frames(opened):
    opened.transform("db::scan_rows", "collapseLibrary")
    names = opened.names()
    assert "db::scan_rows" not in names and "db::read" not in names
    made = [box for box in opened.boxes() if "libdb" in (box["name"] or "")]
    assert len(made) == 1 and made[0]["total"] == [3600 * PERIOD]
    assert "vfs_read" in names


def test_fold_chains_makes_one_box_with_a_count(opened):
    opened.select("idle_a")
    opened.press("c")
    assert opened.fact("transforms") == "1"
    folded = [box for box in opened.boxes() if "idle_" in (box["name"] or "")]
    assert len(folded) == 1 and folded[0]["total"] == [1000 * PERIOD]
    assert all(name in folded[0]["name"] for name in ("idle_a", "idle_b", "idle_c"))
    opened.press("c")
    assert opened.fact("transforms") == "0" and "idle_b" in opened.names()


def test_transforms_stack_and_come_off_one_by_one(opened):
    opened.transform("serve(Request const&)", "focus")
    opened.transform("query", "merge")
    assert opened.part("chip").count() == 2
    opened.part("chip-remove").first.click()
    opened.settle()
    assert opened.fact("transforms") == "1"
    assert opened.number("totals") == TOTAL * PERIOD and "query" not in opened.names()
    opened.tab.reload()
    opened.wait_for_state("ready")
    opened.settle()
    assert opened.fact("transforms") == "1" and "query" not in opened.names()


def test_sandwich_has_all_callers_and_callees(opened):
    opened.transform("main", "sandwich")
    assert opened.fact("sandwich") == "main"
    assert {"server", "worker"} <= opened.names("callers")
    assert {"serve(Request const&)", "work", "idle_a", "spread"} <= opened.names("callees")
    assert opened.box("server", "callers")["total"] == [6000 * PERIOD]
    assert opened.box("work", "callees")["total"] == [2600 * PERIOD]
    callers = opened.part("graph-callers").bounding_box()
    callees = opened.part("graph-callees").bounding_box()
    assert callers["y"] < callees["y"]
    opened.click("sandwich-close")
    assert opened.fact("sandwich") == "" and "parse_json" in opened.names()


def test_sandwich_of_a_recursive_function_counts_each_sample_once(opened):
    opened.transform("fib", "sandwich")
    top = min(opened.boxes("callees"), key=lambda box: box["row"])
    assert top["total"] == [2600 * PERIOD]


def test_table_has_each_function_with_self_and_total(opened):
    opened.click("layout-both")
    opened.part("table-row").first.wait_for()
    rows = {row["name"]: row for row in opened.table()}
    assert rows["fib"]["cells"], rows
    text = " ".join(rows["fib"]["cells"]).replace(" s", "s")
    assert "20" in text and "26" in text
    functions = int(opened.fact("table-rows"))
    assert functions >= 400
    assert len(rows) < 120, "only what can be seen is in the document"


def test_table_sorts_by_each_column(opened):
    opened.click("layout-table")
    assert opened.fact("layout") == "table"
    def first():
        return opened.table()[0]["name"]
    opened.eventually(first, "db::scan_rows", "most self value first")
    opened.sort_by("total")
    opened.eventually(first, "main")
    opened.sort_by("name")
    opened.eventually(first, "compute")
    names = [row["name"] for row in opened.table()]
    assert names == sorted(names)
    head = opened.part("table-head-name")
    assert head.get_attribute("aria-sort") in ("ascending", "descending")
    assert opened.part("table-head-self").get_attribute("aria-sort") in (None, "none")


def test_table_shares_search_and_selection_with_the_picture(opened):
    opened.click("layout-both")
    opened.search("db::")
    opened.click("table-matches-only")
    opened.eventually(lambda: {row["name"] for row in opened.table()},
                      {"db::scan_rows", "db::read"})
    assert opened.number("table-rows") == 2
    opened.part("table-row").and_(opened.tab.locator('[data-name="db::read"]')).click()
    opened.eventually(lambda: opened.fact("selected-name"), "db::read")


def test_table_of_many_rows_scrolls(opened):
    opened.click("layout-table")
    opened.sort_by("name")
    opened.eventually(lambda: opened.table()[0]["name"], "compute")
    assert "tiny_399" not in {row["name"] for row in opened.table()}
    opened.part("table-row").first.click()
    opened.press("End")
    opened.eventually(lambda: opened.table()[-1]["name"], "worker")
