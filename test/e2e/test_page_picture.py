"""The page's picture: widths, order, zoom, rests, colours, legend, details, themes, keys."""
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


def rows_of(boxes):
    rows = {}
    for box in boxes:
        rows.setdefault(box["row"], []).append(box)
    return rows


def test_width_is_the_share_of_the_total(opened):
    whole = sum(box["width"] for box in opened.boxes() if box["row"] == 1)
    for name, samples in (("server", 6000), ("parse_json", 2000), ("query", 4000),
                          ("db::scan_rows", 2600), ("vfs_read", 1000), ("spread", 400)):
        box = opened.box(name)
        assert box["total"] == [samples * PERIOD]
        assert abs(box["width"] / whole - samples / TOTAL) < 0.002, name
    assert opened.box("query")["self"] == [400 * PERIOD], "both lines of query are one box"


def test_siblings_are_alphabetical_and_inside_of_their_caller(opened):
    boxes = opened.boxes()
    for row, here in rows_of(boxes).items():
        here.sort(key=lambda box: box["x"])
        for left, right in zip(here, here[1:]):
            assert left["x"] + left["width"] <= right["x"] + 0.01, (left, right)
        above = [box for box in boxes if box["row"] == row - 1]
        for box in here if above else []:
            assert any(other["x"] - 0.01 <= box["x"] and
                       box["x"] + box["width"] <= other["x"] + other["width"] + 0.01
                       for other in above), box
    assert opened.box("idle_a")["x"] < opened.box("spread")["x"] < opened.box("work")["x"]
    assert opened.box("server")["x"] < opened.box("worker")["x"]


def test_root_stands_above_or_below(opened):
    assert opened.fact("root") == "above"
    assert opened.box("server")["y"] < opened.box("parse_json")["y"]
    opened.click("root-button")
    assert opened.fact("root") == "below"
    assert opened.box("server")["y"] > opened.box("parse_json")["y"]
    assert opened.box("server")["y"] + 40 > opened.part("graph").bounding_box()["height"]


def test_what_is_too_narrow_is_one_labelled_rest_that_zoom_opens(html, new_page):
    opened = new_page(width=800).open(html)
    rests = [box for box in opened.boxes() if box["kind"] == "rest"]
    assert len(rests) == 1
    assert rests[0]["total"] == [400 * PERIOD]
    assert "400" in rests[0]["name"] or int(opened.number("rest-nodes")) == 400
    assert int(opened.number("rest-nodes")) == 400
    assert abs(opened.number("rest-share") - 400 / TOTAL) < 1e-6
    assert not any(name.startswith("tiny_") for name in opened.names())
    opened.tab.mouse.move(*opened.at(rests[0]))
    opened.settle()
    assert "400" in opened.part("tooltip").inner_text()
    opened.click_at(rests[0])
    shown = [box for box in opened.boxes() if box["name"].startswith("tiny_")]
    assert len({box["name"] for box in shown}) == 400
    assert sum(box["total"][0] for box in shown) == 400 * PERIOD, "nothing is lost"
    assert int(opened.number("rest-nodes")) == 0
    crumbs = opened.part("breadcrumb").locator("button").all_inner_texts()
    assert crumbs == ["all", "worker", "main", "spread"], crumbs


def test_every_row_keeps_what_its_callers_gave(opened):
    """Self and children of each box, rests included, add up to its total."""
    boxes = opened.boxes()
    for box in boxes:
        if box["kind"] == "rest":
            continue
        begin, end = box["x"] - 0.01, box["x"] + box["width"] + 0.01
        below = [other["total"][0] for other in boxes if other["row"] == box["row"] + 1
                 and begin <= other["x"] and other["x"] + other["width"] <= end]
        assert box["self"][0] + sum(below) == box["total"][0], box["name"]


def test_zoom_keeps_faded_callers_and_a_breadcrumb_leads_back(opened):
    plain = opened.colour(opened.box("serve(Request const&)"))
    opened.zoom("query")
    whole = opened.part("graph").bounding_box()["width"]
    assert opened.box("query")["width"] > 0.97 * whole
    for caller in ("server", "main", "serve(Request const&)"):
        box = opened.box(caller, kind="ancestor")
        assert box["width"] > 0.97 * whole and box["y"] < opened.box("query")["y"]
    assert opened.colour(opened.box("serve(Request const&)")) != plain, "callers are faded"
    assert "parse_json" not in opened.names()
    crumbs = opened.part("breadcrumb").locator("button")
    assert crumbs.last.get_attribute("aria-current")
    assert "query" in crumbs.last.inner_text()
    crumbs.first.click()
    opened.settle()
    assert opened.fact("zoom") == "0" and "parse_json" in opened.names()


def test_back_and_reload_show_the_same_picture(opened):
    opened.zoom("query")
    opened.search("scan")
    opened.click("root-button")
    opened.tab.reload()
    opened.wait_for_state("ready")
    opened.settle()
    assert opened.fact("zoom-name") == "query"
    assert opened.part("search-input").input_value() == "scan"
    assert abs(opened.number("match-share") - 2600 / TOTAL) < 1e-6
    assert opened.fact("root") == "below"


def test_a_link_to_a_zoomed_box_opens_it_elsewhere(opened, html, new_page):
    opened.zoom("db::scan_rows")
    fragment = opened.tab.evaluate("location.hash")
    assert new_page().open(html, fragment).fact("zoom-name") == "db::scan_rows"


@pytest.mark.parametrize("fragment", [
    "#zoom=0000", "#%", "#" + "x" * 5000, "#zoom=&search=%E0%A4%A", "#transforms=[[",
    "#colouring=none&layout=7&value-type=99"])
def test_a_broken_link_opens_the_whole(html, new_page, fragment):
    tab = new_page().open(html, fragment)
    assert tab.fact("zoom") == "0" and tab.number("totals") == TOTAL * PERIOD


def test_tooltip_names_shares_place_and_binary(opened):
    opened.hover("db::scan_rows")
    text = opened.part("tooltip").inner_text()
    for wanted in ("db::scan_rows", "libdb.so.2", "scan.cc", "26"):
        assert wanted in text, text
    opened.tab.mouse.move(5, 895)
    opened.settle()
    assert not opened.part("tooltip").is_visible()


def test_details_have_this_box_all_boxes_shares_and_lines(opened):
    opened.zoom("serve(Request const&)")
    opened.select("query")
    if not opened.part("details").is_visible():
        opened.click("details-button")
    text = " ".join(opened.part("details").inner_text().split())
    for wanted in ("query", "server.cc:70", page.SERVER, "40 s", "40.0 %", "4 s", "4.0 %"):
        assert wanted in text, (wanted, text)
    assert "Of its caller 66.7 %" in text and "Of the selection 66.7 %" in text, text
    lines = opened.part("details-lines").inner_text()
    assert "server.cc:77" in lines and "server.cc:79" in lines and "3 s" in lines
    opened.press("Escape")
    opened.select("fib")
    details = opened.part("details")
    opened.eventually(lambda: "3 boxes" in details.inner_text(), True)
    assert " ".join(details.inner_text().split()).count("26 s 26.0 %") == 2, "recursion once"
    opened.click("details-close")
    assert not opened.part("details").is_visible()


def legend_keys(view):
    return view.part("legend-entry").evaluate_all("(e) => e.map((x) => x.dataset.key)")


def test_colour_by_kind_package_and_folder(folder, new_page):
    go = page.Frame("example.com/shop/cart.(*Cart).Add", page.SERVER, "/src/cart/cart.go", 3, 1)
    java = page.Frame("org.example.Shop.main", "/app.jar", "/src/java/Shop.java", 3, 1)
    native = page.Frame("db::scan", page.DATABASE, "/src/db/scan.cc", 3, 1)
    stacks = [("", [frame], 10) for frame in (go, java, native, page.VFS_READ)]
    tab = new_page().open(page.make_page(folder, stacks))
    wanted = {"kind": {"Go", "Java/Kotlin", "native", "kernel"},
              "package": {"example.com/shop/cart", "org.example", "db"},
              "module": {"/src/cart", "/src/java", "/src/db"}}
    for colouring, keys in wanted.items():
        tab.choose("colouring", colouring)
        assert tab.fact("colouring") == colouring
        assert keys <= set(legend_keys(tab)), legend_keys(tab)
        fills = {tab.box(frame.name)["fill"] for frame in (go, java, native)}
        assert len(fills) == 3, fills


def test_theme_follows_the_system_and_can_be_switched(html, new_page):
    for theme, is_dark in (("light", False), ("dark", True)):
        tab = new_page(theme=theme).open(html)
        assert tab.fact("theme") == theme
        ground = tab.pixels([(1436, 895)])[0]
        assert (page.luminance(ground) < 0.2) == is_dark
        colours = [tab.colour(tab.box(name)) for name in ("server", "main", "db::scan_rows")]
        assert all(page.contrast(colour, ground) > 1.1 for colour in colours), "boxes can be seen"
        tab.click("theme-button")
        assert tab.fact("theme") != theme
        assert (page.luminance(tab.pixels([(1436, 895)])[0]) < 0.2) != is_dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(html, new_page, theme):
    """What is written in boxes and around them: at least 4.5 to 1 against its ground."""
    tab = new_page(theme=theme).open(html)
    for name in ("server", "main", "db::scan_rows", "vfs_read", "parse_json"):
        box = tab.box(name)
        points = [(box["x"] + x, box["y"] + y) for x in range(2, 60)
                  for y in range(2, int(box["height"]) - 2)]
        seen = tab.pixels(points)
        ground = tab.colour(box)
        assert max(page.contrast(colour, ground) for colour in seen) >= 4.5, name


@pytest.mark.parametrize("width", [360, 800, 1440])
def test_windows_of_any_width(html, new_page, width):
    tab = new_page(width=width, height=740).open(html)
    assert tab.tab.evaluate("document.documentElement.scrollWidth") <= width
    graph = tab.part("graph").bounding_box()
    assert graph["width"] > 0.9 * width and graph["height"] > 300
    if not tab.part("search-input").is_visible():
        tab.click("more-button")
    tab.search("scan")
    assert abs(tab.number("match-share") - 2600 / TOTAL) < 1e-6
    seen = tab.tab.evaluate("""() => [...document.querySelectorAll("[data-testid=toolbar] *")]
        .filter((e) => e.matches("button, input, select") && e.checkVisibility())
        .map((e) => e.getBoundingClientRect()).filter((r) => r.width > 0)
        .map((r) => [r.left, r.right])""")
    assert all(left >= 0 and right <= width + 1 for left, right in seen), seen


def test_a_changed_window_is_laid_out_again(opened):
    opened.tab.set_viewport_size({"width": 700, "height": 600})
    opened.settle()
    boxes = opened.boxes()
    assert max(box["x"] + box["width"] for box in boxes) <= 701
    assert opened.box("main")["width"] > 300


def test_minimap_shows_the_window_and_scrolls(folder, new_page):
    deep = [page.Frame(f"level_{number}", page.SERVER) for number in range(300)]
    tab = new_page().open(page.make_page(folder, [("server", deep, 10)]))
    assert "level_280" not in tab.names()
    frame = tab.part("minimap").bounding_box()
    tab.tab.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] - 2)
    tab.settle()
    assert "level_280" in tab.names()


def test_names_are_short_in_narrow_boxes_and_whole_on_hover(folder, new_page):
    long_name = "com.example.very.deeply.nested.packages.of.someone.Handler.handleRequest"
    stacks = [("", [page.MAIN, page.Frame(long_name, page.SERVER)], 10),
              ("", [page.MAIN, page.PARSE], 100)]
    tab = new_page(width=800).open(page.make_page(folder, stacks))
    tab.hover(long_name)
    assert long_name in tab.part("tooltip").text_content()


def test_units_can_be_switched(opened):
    values = opened.part("value-type").locator("option").all_inner_texts()
    assert len(values) == 2, values
    assert opened.number("totals") == TOTAL * PERIOD
    index = next(i for i, text in enumerate(values) if "sample" in text.lower())
    opened.part("value-type").select_option(index=index)
    opened.settle()
    assert opened.number("totals") == TOTAL
    assert opened.box("parse_json")["total"] == [2000]


def test_copies_name_and_stack(opened):
    opened.select("db::scan_rows")
    opened.press("y")
    assert opened.tab.evaluate("navigator.clipboard.readText()") == "db::scan_rows"
    opened.press("Y")
    stack = opened.tab.evaluate("navigator.clipboard.readText()").split("\n")
    names = ["server", "main", "serve(Request const&)", "query", "db::scan_rows"]
    assert [line for line in stack if line] in (names, names[::-1])


def test_right_click_opens_a_menu_that_keys_reach(opened):
    opened.click_at(opened.box("query"), button="right")
    assert opened.part("menu").is_visible()
    assert opened.part("menu").locator("[role=menuitem]").count() >= 8
    opened.press("ArrowDown", "Escape")
    assert not opened.part("menu").is_visible()


def test_all_of_it_by_keys(opened):
    """From opening the page on, without a mouse."""
    for _ in range(40):
        opened.press("Tab")
        if opened.tab.evaluate("document.activeElement.dataset.testid") == "graph":
            break
    else:
        raise AssertionError("Tab does not reach the graph")
    opened.press("Home", "ArrowDown")
    assert opened.fact("selected-name") == "server"
    opened.press("ArrowRight")
    assert opened.fact("selected-name") == "worker"
    opened.press("ArrowLeft", "ArrowDown", "ArrowDown", "ArrowDown")
    assert opened.fact("selected-name") == "query", "the widest callee"
    opened.press("Enter")
    assert opened.fact("zoom-name") == "query"
    opened.press("Escape")
    assert opened.fact("zoom") == "0"
    opened.press("/")
    assert opened.tab.evaluate("document.activeElement.dataset.testid") == "search-input"
    opened.tab.keyboard.type("fib")
    opened.settle()
    opened.press("Enter")
    opened.eventually(lambda: opened.fact("selected-name"), "fib")
    opened.press("Escape", "Escape")
    assert opened.tab.evaluate("document.activeElement.dataset.testid") == "graph"
    opened.press("f")
    assert opened.fact("transforms") == "1"
    opened.press("u")
    assert opened.fact("transforms") == "0"
    opened.press("i")
    assert opened.fact("root") == "below"
    opened.press("d")
    assert opened.fact("theme") == "dark"
    opened.press("t")
    assert opened.fact("layout") == "both"
    opened.press("?")
    dialog = opened.part("help-dialog")
    assert dialog.is_visible() and "Next match" in dialog.inner_text()
    opened.press("Escape")
    assert not dialog.is_visible()


def test_parts_have_names_for_those_who_do_not_see(opened):
    opened.click("layout-both")
    unnamed = opened.tab.evaluate("""() => [...document.querySelectorAll(
        "button, input, select, [role=application], [role=grid], [role=separator]")]
        .filter((e) => e.checkVisibility() && !e.getAttribute("aria-label") && !e.title
                && !e.textContent.trim() && !e.labels?.length)
        .map((e) => e.outerHTML.slice(0, 120))""")
    assert unnamed == []
