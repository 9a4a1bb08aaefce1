"""Two profiles in one page: what grew, what shrank, what is new and what is gone."""
import pytest

import page
from page import STACKS, STACKS_AFTER, TOTAL

PERIOD = 10_000_000
TOTAL_AFTER = sum(count for _, _, count in STACKS_AFTER)


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page.make_comparison(str(tmp_path_factory.mktemp("page")))


@pytest.fixture
def opened(html, new_page):
    return new_page().open(html)


def test_both_sides_have_their_totals(opened):
    assert opened.fact("sides") == "2"
    totals = [float(total) for total in opened.fact("totals").split(",")]
    assert totals == [TOTAL * PERIOD, TOTAL_AFTER * PERIOD]
    assert opened.box("parse_json")["total"] == [2000 * PERIOD, 3500 * PERIOD]
    assert opened.box("idle_a")["total"] == [1000 * PERIOD, 0], "what is gone is still seen"
    assert opened.box("poll")["total"] == [0, 700 * PERIOD]


def warmth(colour):
    return colour[0] - colour[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_growth_and_shrinking_differ_in_hue_also_for_the_colour_blind(html, new_page, theme):
    """Orange against blue: hues that the common kinds of colour blindness tell apart."""
    tab = new_page(theme=theme).open(html)
    assert tab.fact("colouring") == "difference"
    grown, shrunk, same = (tab.colour(tab.box(name)) for name in ("parse_json", "db::scan_rows",
                                                                  "compute"))
    assert warmth(grown) > warmth(same) + 20 > warmth(shrunk) + 40, (grown, same, shrunk)
    assert abs(warmth(same)) < 40
    # As one without red cones sees them (Vienot 1999, simplified): still apart.
    def protan(colour):
        return 0.11 * colour[0] + 0.89 * colour[1], colour[2]
    apart = [abs(a - b) for a, b in zip(protan(grown), protan(shrunk))]
    assert max(apart) > 40, (grown, shrunk)
    assert tab.part("legend-scale").is_visible()


def test_normalized_compares_shares(html, new_page, folder):
    twice = [(process, frames, count * 2) for process, frames, count in STACKS]
    tab = new_page().open(page.make_comparison(folder, STACKS, twice))
    same = tab.colour(tab.box("parse_json"))
    assert warmth(same) > 20, "twice the time is growth"
    tab.choose("comparison", "normalized")
    assert tab.fact("comparison") == "normalized"
    assert abs(warmth(tab.colour(tab.box("parse_json")))) < 40, "the share is the same"


def test_width_is_of_both_or_of_one_side(opened):
    assert opened.fact("width-by") == "both"
    opened.choose("width-by", "before")
    assert "poll" not in opened.names() and "idle_a" in opened.names()
    opened.choose("width-by", "after")
    assert "poll" in opened.names() and "idle_a" not in opened.names()


def test_table_is_sorted_by_difference_and_marks_new_gone_and_noise(opened):
    opened.click("layout-table")
    opened.part("table-row").first.wait_for()
    assert opened.table()[0]["name"] == "parse_json", "the largest difference of self"
    rows = {row["name"]: row for row in opened.table()}
    opened.sort_by("selfDiff")
    opened.eventually(lambda: opened.table()[0]["name"], "db::scan_rows", "the other way")
    rows |= {row["name"]: row for row in opened.table()}
    assert rows["poll"]["change"] == "new" and rows["idle_c"]["change"] == "gone"
    assert rows["parse_json"]["change"] == ""
    assert rows["vfs_read"]["noise"] == "true", "10 of 1,000 samples more say nothing"
    assert rows["parse_json"]["noise"] == "false"
    text = " ".join(rows["parse_json"]["cells"])
    assert "+" in text and "15" in text, text
    assert "−11 s" in rows["db::scan_rows"]["cells"]


def test_tooltip_has_before_after_and_difference(opened):
    opened.hover("parse_json")
    text = opened.part("tooltip").inner_text().replace(" s", "s").replace("\u202f", "")
    for wanted in ("20", "35", "+", "15"):
        assert wanted in text, text


def test_search_and_transforms_work_on_both_sides(opened):
    opened.search("parse_json")
    assert opened.number("match-functions") == 1
    opened.click("search-clear")
    opened.transform("serve(Request const&)", "focus")
    totals = [float(total) for total in opened.fact("totals").split(",")]
    assert totals == [6000 * PERIOD, (3500 + 1500 + 1010 + 400 + 700) * PERIOD]
