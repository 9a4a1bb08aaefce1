"""The page that a server shows at "/": the chart, what is chosen in it, and what it says when there
is nothing to show. A list of its parts stands at the top of ui/src/pages/live_page.ts."""
import json
import time

import pytest

import pprof_writer
from conftest import VESTA
from page import Page
from pprof_writer import Frame
from server import running_server

PERIOD = 10_000_000
MAIN = Frame("main", "/usr/bin/shop", "shop.cc", 1, 1)
PARSE = Frame("parse_json", "/usr/bin/shop", "json.cc", 5, 1)
QUERY = Frame("query", "/usr/bin/shop", "db.cc", 7, 1)
# Until an answer is there and drawn.
WAIT_MS = 15_000
LATER_MS = 6_000  # the page asks again within this time
TOKEN = "a-token-of-this-test"


class LivePage(Page):
    """A page that may ask its own server."""

    def __init__(self, tab, url):
        super().__init__(tab)
        self.url = url

    def _on_console(self, message):
        # The browser says this of each answer that is an error, which is what some tests are about.
        if not message.text.startswith("Failed to load resource"):
            super()._on_console(message)

    def go(self, fragment="", state="ready"):
        self.tab.goto(self.url + "/" + fragment)
        self.wait_for_state(state)
        return self

    def said(self, name):
        return self.tab.get_attribute("[data-testid=live]", f"data-{name}")

    def until(self, name, wanted):
        self.tab.wait_for_function(
            """([name, wanted]) => document.querySelector("[data-testid=live]")
                .getAttribute("data-" + name) === wanted""", arg=[name, wanted], timeout=WAIT_MS)

    def until_drawn(self):
        """Until the flame graph is there and owes nothing."""
        self.tab.wait_for_selector("[data-testid=flame-view][data-pictures]", timeout=WAIT_MS)
        self.settle()

    def after(self, act, counter="trees"):
        """Does something, and waits for the next answer."""
        before = int(self.said(counter))
        act()
        self.tab.wait_for_function(
            """([name, before]) => Number(document.querySelector("[data-testid=live]")
                .getAttribute("data-" + name)) > before""", arg=[counter, before],
            timeout=WAIT_MS)
        if self.part("flame-view").count() and not self.said("notice"):
            self.settle()

    def samples(self):
        """How many the flame graph shows."""
        return round(self.number("totals") / PERIOD)

    def services(self):
        return self.tab.evaluate("""() => [...document.querySelectorAll("[data-testid=service]")]
            .map((row) => row.dataset.value)""")

    def service(self, name):
        return self.tab.locator(f"[data-testid=service][data-value='{name}']")

    def drag(self, from_share, to_share):
        """Over the chart, shares of its width."""
        frame = self.tab.locator("[data-testid=chart] .u-over").bounding_box()
        y = frame["y"] + frame["height"] / 2
        self.tab.mouse.move(frame["x"] + frame["width"] * from_share, y)
        self.tab.mouse.down()
        self.tab.mouse.move(frame["x"] + frame["width"] * to_share, y, steps=3)
        self.tab.mouse.up()

    def skip_time(self, ms):
        self.tab.clock.fast_forward(ms)


@pytest.fixture
def live(page_browser):
    """live(server, **options) opens a window; at the end no page may have asked anybody but its
    server, or have run into an error."""
    pages = []

    def make(server, clock=False, **options):
        tab = page_browser.page(**options).tab
        if clock:
            tab.clock.install()
        pages.append(LivePage(tab, server.url))
        return pages[-1]
    yield make
    foreign = [url for page in pages for url in page.requests if not url.startswith(page.url)]
    errors = [error for page in pages for error in page.errors]
    page_browser.close_pages()
    assert not foreign, f"the page asked {foreign}"
    assert not errors, f"the page ran into {errors}"


def push(server, folder, stacks, age_s=5, headers=None, **labels):
    """stacks: [(frames root first, number of samples)], all of one time."""
    path = pprof_writer.write(str(folder / "push.pb.gz"),
                              [(labels.get("service", "x"), frames, count)
                               for frames, count in stacks], period_ns=PERIOD)
    with open(path, "rb") as file:
        body = file.read()
    query = "&".join([f"time={int((time.time() - age_s) * 1000)}"]
                     + [f"label.{name}={value}" for name, value in labels.items()])
    answer = server.push(body, "?" + query, headers=headers or {})
    assert answer.status == 200, answer.body


@pytest.fixture
def server(tmp_path):
    with running_server(VESTA, tmp_path / "data") as running:
        yield running


@pytest.fixture
def shops(server, tmp_path):
    """shop: parse_json 300 samples ten minutes ago, query 100 just now; mail: 200 just now."""
    push(server, tmp_path, [([MAIN, PARSE], 300)], age_s=600, service="shop", version="1")
    push(server, tmp_path, [([MAIN, QUERY], 100)], age_s=30, service="shop", version="2")
    push(server, tmp_path, [([MAIN], 200)], age_s=30, service="mail", version="1")
    return server


def test_shows_cpu_by_service_over_time_and_the_flame_graph_of_it(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    assert page.services() == ["shop", "mail"], "the largest first"
    assert page.samples() == 600 and {"shop", "mail", "parse_json"} <= page.names()
    cores = 600 * PERIOD / 1e9 / 600  # since the first sample, ten minutes ago
    assert abs(float(page.said("mean")) / cores - 1) < 0.06
    assert page.said("live") == "1" and page.said("connection") == "ok"
    assert "66.7 %" in page.service("shop").inner_text()
    assert "as of" in page.part("quality").inner_text()


def test_a_click_on_a_service_narrows_the_flame_graph_and_the_query_says_so(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.after(lambda: page.service("mail").click())
    assert page.samples() == 200 and page.services() == ["shop", "mail"], "the chart has both"
    assert page.part("query").input_value() == '{service="mail"}'
    page.after(lambda: page.service("shop").click(modifiers=["Control"]))
    assert page.samples() == 600
    page.after(lambda: page.service("mail").click(modifiers=["Control"]))
    assert page.samples() == 400 and page.said("query") == '{service="shop"}'
    page.after(lambda: page.service("shop").click())
    assert page.samples() == 600 and page.part("query").input_value() == ""


def test_dragging_chooses_a_time_and_the_tree_is_of_it(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.after(lambda: page.drag(0.05, 0.6))
    assert page.samples() == 300 and "query" not in page.names()
    begin, end = map(int, page.said("selected").split(","))
    whole = int(page.said("to")) - int(page.said("from"))
    assert abs((end - begin) / whole - 0.55) < 0.02
    assert "Chosen: 20" in page.part("selection").inner_text()
    page.after(lambda: page.part("selection-clear").click())
    assert page.samples() == 600 and page.said("selected") == ""
    page.after(lambda: page.drag(0.98, 0.6))
    assert page.samples() == 300 and "parse_json" not in page.names(), "from right to left, too"
    page.after(lambda: page.part("selection-zoom").click())
    assert page.said("live") == "0" and page.said("selected") == "" and page.samples() == 300


def test_the_keyboard_chooses_a_time(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.part("chart").focus()
    page.after(lambda: page.tab.keyboard.press("ArrowLeft"))
    begin, end = map(int, page.said("selected").split(","))
    page.after(lambda: page.tab.keyboard.press("Shift+ArrowRight"))
    assert int(page.said("selected").split(",")[1]) == 2 * end - begin
    page.after(lambda: page.tab.keyboard.press("Escape"))
    assert page.said("selected") == "" and page.said("live") == "1"
    page.after(lambda: page.tab.keyboard.press("ArrowLeft"))
    begin, end = page.said("selected").split(",")
    page.after(lambda: page.tab.keyboard.press("Enter"))
    assert (page.said("from"), page.said("to")) == (begin, end)


def test_keys_of_the_view_go_through_the_chart_and_the_help_lists_its_own(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.after(lambda: page.drag(0.05, 0.6))
    page.tab.keyboard.press("?")
    assert "Move the chosen time" in page.part("help-dialog").inner_text()
    page.tab.keyboard.press("Escape")
    assert not page.part("help-dialog").is_visible() and page.said("selected") != ""
    page.part("chart").focus()
    page.tab.keyboard.press("/")
    page.tab.keyboard.type("main")
    page.eventually(lambda: page.part("search-input").input_value(), "main")


def test_a_new_push_is_shown_by_itself_and_zoom_and_search_stay(live, shops, tmp_path):
    page = live(shops, clock=True).go("#range=15m")
    page.until_drawn()
    page.zoom("query")
    page.search("main")
    page.part("layout-both").click()
    page.select("query")
    push(shops, tmp_path, [([MAIN, QUERY], 50), ([Frame("aaa")], 7)], service="shop")
    page.after(lambda: page.skip_time(LATER_MS))
    page.eventually(page.samples, 657)
    page.settle()
    assert page.fact("zoom-name") == "query" and page.fact("selected-name") == "query"
    assert page.part("search-input").input_value() == "main" and page.number("matches") == 2
    assert page.fact("layout") == "both"
    assert page.box("query")["total"] == [150 * PERIOD]
    page.after(lambda: page.service("mail").click())
    assert page.fact("transforms") == "0" and page.part("search-input").input_value() == "main"
    assert page.service("shop").count() == 1


def test_changes_to_the_picture_stay_even_where_they_are_about_nothing(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.transform("query", "hideStacks")
    assert page.samples() == 500
    page.after(lambda: page.service("mail").click())
    assert page.fact("transforms") == "1" and page.samples() == 200
    assert "not here" in page.part("chip").inner_text()
    page.after(lambda: page.service("mail").click())
    assert page.fact("transforms") == "1" and page.samples() == 500
    assert "query" in page.part("chip").inner_text()


def test_what_is_zoomed_and_gone_comes_back_when_it_is_there_again(live, server, tmp_path):
    push(server, tmp_path, [([MAIN, QUERY], 10), ([MAIN, PARSE], 10)], age_s=600, service="shop")
    push(server, tmp_path, [([MAIN, PARSE], 20)], age_s=30, service="shop")
    page = live(server).go("#range=15m")
    page.until_drawn()
    page.zoom("query")
    page.after(lambda: page.drag(0.7, 0.99))
    assert page.fact("zoom-name") == "all" and page.samples() == 20
    page.after(lambda: page.part("selection-clear").click())
    assert page.fact("zoom-name") == "query" and page.samples() == 40


def test_it_pauses_while_hidden_and_while_the_reader_drags(live, shops):
    page = live(shops, clock=True).go("#range=15m")
    page.until_drawn()
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.after(lambda: page.skip_time(LATER_MS), "refreshes")
    page.tab.wait_for_timeout(500)
    page.tab.evaluate(hide, True)
    before = page.said("refreshes")
    page.skip_time(60_000)
    page.tab.wait_for_timeout(500)
    assert page.said("refreshes") == before
    page.after(lambda: page.tab.evaluate(hide, False), "refreshes")
    page.tab.wait_for_timeout(500)
    frame = page.tab.locator("[data-testid=chart] .u-over").bounding_box()
    page.tab.mouse.move(frame["x"] + 100, frame["y"] + 50)
    page.tab.mouse.down()
    before = page.said("refreshes")
    page.skip_time(60_000)
    page.tab.wait_for_timeout(500)
    assert page.said("refreshes") == before
    page.after(page.tab.mouse.up, "refreshes")


def test_a_link_shows_the_same(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    page.after(lambda: page.drag(0.05, 0.6))
    page.tab.locator("[data-testid=group-by]").select_option("version")
    page.until_drawn()
    page.after(lambda: page.service("1").click())
    page.zoom("parse_json")
    page.search("main")
    page.after(lambda: page.part("live-button").click())
    facts = ["from", "to", "selected", "query", "rows", "live"]
    seen = {name: page.said(name) for name in facts}
    assert seen["query"] == '{version="1"}' and seen["live"] == "0"
    other = live(shops).go(page.tab.evaluate("location.hash"))
    other.until_drawn()
    assert {name: other.said(name) for name in facts} == seen
    assert other.fact("zoom-name") == "parse_json" and other.samples() == page.samples() == 300
    assert other.part("search-input").input_value() == "main"
    assert other.service("1").get_attribute("aria-pressed") == "true"
    page.after(page.tab.go_back)
    assert page.said("live") == "1", "the way back"


def test_small_services_are_in_a_labelled_rest(live, server, tmp_path):
    for number in range(15):
        push(server, tmp_path, [([MAIN], 100 - number)], service=f"s{number:02}")
    page = live(server).go("#range=15m")
    page.until_drawn()
    assert page.said("rows") == "12" and page.said("rest") == "3"
    assert page.services() == [f"s{number:02}" for number in range(12)]
    rest = page.part("services-rest")
    assert "3 more" in rest.inner_text() and rest.is_visible()
    page.after(rest.click, "refreshes")
    page.until("rest", "0")
    assert len(page.services()) == 15 and rest.count() == 0


def test_without_data_it_says_when_there_will_be_some_and_shows_it_by_itself(live, server,
                                                                             tmp_path):
    page = live(server, clock=True).go()
    page.until("notice", "no-data")
    text = page.part("notice").inner_text()
    assert "first picture comes within 15 seconds" in text
    assert f"vesta agent --server {server.url}" in text
    push(server, tmp_path, [([MAIN], 20)], service="shop")
    page.skip_time(3_000)
    page.until("notice", "")
    page.until_drawn()
    assert page.samples() == 20
    assert page.part("range-5m").get_attribute("aria-pressed") == "true", "all there is, by minutes"


def test_where_nothing_is_it_says_why_and_leads_to_what_there_is(live, server, tmp_path):
    push(server, tmp_path, [([MAIN], 20)], age_s=3 * 3600, service="shop")
    page = live(server).go("#range=15m&pick=none")
    page.until("notice", "empty")
    text = page.part("notice").inner_text()
    assert 'no samples of {service="none"}' in text and "3 h old" in text
    page.after(lambda: page.part("notice-newest").click())
    assert page.said("notice") == "empty" and "none" in page.part("notice").inner_text()
    page.after(lambda: page.part("notice-all").click())
    page.until_drawn()
    assert page.said("notice") == "" and page.samples() == 20


def test_a_selector_is_taken_with_its_time_and_a_wrong_one_is_told(live, shops):
    page = live(shops).go("#range=15m")
    page.until_drawn()
    field = page.part("query")

    def ask(text):
        field.fill(text)
        field.press("Enter")
    page.after(lambda: ask('cpu{version="2"}'))
    assert page.samples() == 100 and page.services() == ["shop"]
    ask("cpu{version=2}")
    page.eventually(lambda: page.part("query-error").is_visible(), True)
    assert "position 13: expected a value in quotes" in page.part("query-error").inner_text()
    assert page.samples() == 100, "the picture stays"
    page.after(lambda: ask("cpu@-20m..-5m"))
    assert page.samples() == 300 and page.said("live") == "0"
    assert field.input_value() == "cpu" and not page.part("query-error").is_visible()
    assert abs(int(page.said("to")) - int(page.said("from")) - 900_000) <= 30_000


def test_more_than_the_server_gives_at_once_is_told_and_can_be_narrowed(live, tmp_path):
    with running_server(VESTA, tmp_path / "data", "--query-memory", "1048576") as server:
        many = [([MAIN, Frame(f"f{number}")], 1) for number in range(20_000)]
        push(server, tmp_path, many, service="shop")
        push(server, tmp_path, [([MAIN], 20)], service="mail")
        page = live(server).go("#range=15m")
        page.until("notice", "too-much")
        text = page.part("notice").inner_text()
        assert "needs more memory" in text and "Only shop" in text
        assert page.services() == ["shop", "mail"], "the chart is there"
        page.after(lambda: page.tab.get_by_text("Only mail").click())
        page.until_drawn()
        assert page.said("notice") == "" and page.samples() == 20


def test_a_server_that_is_away_is_told_and_found_again(live, tmp_path):
    with running_server(VESTA, tmp_path / "data") as first:
        push(first, tmp_path, [([MAIN], 20)], service="shop")
        page = live(first, clock=True).go("#range=15m")
        page.until_drawn()
        first.stop()
        page.skip_time(LATER_MS)
        page.until("connection", "away")
        text = page.part("banner").inner_text()
        assert "does not answer: this page keeps trying" in text and "UTC" in text
        assert page.samples() == 20, "the picture stays"
        page.skip_time(60_000)
    with running_server(VESTA, tmp_path / "data", port=first.address.port) as again:
        push(again, tmp_path, [([MAIN], 30)], service="shop")
        page.skip_time(60_000)
        page.until("connection", "ok")
        page.eventually(page.samples, 50)
        assert not page.part("banner").is_visible()


def test_a_token_is_asked_for_and_kept_for_the_tab_only(live, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n")
    tokens.chmod(0o600)
    with running_server(VESTA, tmp_path / "data", "--token-file", str(tokens)) as server:
        push(server, tmp_path, [([MAIN], 20)], service="shop",
             headers={"Authorization": f"Bearer {TOKEN}"})
        page = live(server).go("#range=15m", state="token")
        assert not page.part("chart").is_visible()
        page.part("token").fill("not-the-token-at-all")
        page.part("token").press("Enter")
        page.eventually(lambda: page.part("token-reason").inner_text() != "", True)
        page.part("token").fill(TOKEN)
        page.part("token-send").click()
        page.wait_for_state("ready")
        page.until_drawn()
        assert page.samples() == 20 and not page.part("token-form").is_visible()
        page.go("#range=15m&by=version")
        page.until_drawn()
        assert page.samples() == 20, "kept over a reload"
        kept = page.tab.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])")
        assert kept == '[{},""]' and TOKEN not in page.tab.url
        assert TOKEN not in "".join(page.requests)


@pytest.mark.parametrize("width,height", [(1440, 860), (700, 600), (400, 700)])
def test_no_row_is_cut_and_no_part_covers_another(live, server, tmp_path, width, height):
    for number in range(20):
        push(server, tmp_path, [([MAIN], 100 - number)], service=f"s{number:02}")
    page = live(server, width=width, height=height).go("#range=15m")
    page.until_drawn()
    services = page.part("services").bounding_box()
    rows = [row.bounding_box() for row in page.tab.locator("[data-testid=service]").all()]
    rest = page.part("services-rest").bounding_box()
    assert abs(rest["y"] + rest["height"] - services["y"] - services["height"]) < 1
    assert any(abs(row["y"] + row["height"] - rest["y"]) < 1 for row in rows), "the last one whole"
    edge = 0
    for part in ["range-5m", "chart", "search-input", "graph", "quality"]:
        box = page.part(part).bounding_box()
        assert box["y"] >= edge, part
        edge = box["y"] + box["height"]
    assert edge <= height, "all of it is in the window"
    assert page.part("chart-unit").inner_text() == "cores"


def test_says_how_far_it_can_be_trusted(live, shops):
    book = {"time_unix_ms": 0, "duration_ns": 0, "incomplete": {"depth": 20},
            "details": {"sampling_millihertz_asked": 19000, "sampling_millihertz_now": 1187},
            "stages": [{"name": "agent", "received": 1000, "excluded": {}, "kept": 950,
                        "dropped": {"ring_full": 50}}]}
    agents = {"agents": [{"agent": "a", "last_seen_unix_ms": int(time.time() * 1000), "book": book},
                         {"agent": "b", "last_seen_unix_ms": 1, "book": None}]}
    page = live(shops)
    page.tab.route("**/api/v1/agents", lambda route: route.fulfill(json=agents))

    def refuses(route):
        status = json.loads(route.fetch().body())
        status["store"]["refuses_writes"] = "the disk is full"
        route.fulfill(json=status)
    page.tab.route("**/api/v1/status", refuses)
    page.go("#range=15m")
    page.until_drawn()
    text = page.part("quality").inner_text()
    for part in ["1 agent heard", "sampled at 1.2 of 19 Hz: the profiler's CPU limit",
                 "600 samples in the chart", "1 agent silent for", "50 samples lost (5.0 %)",
                 "2.1 % of the stacks incomplete"]:
        assert part in text, text
    assert page.part("banner").inner_text() == ("The server takes no more samples: the disk is "
                                                "full. What it has can be read.")


@pytest.mark.parametrize("width,theme", [(1440, "light"), (1440, "dark"), (400, "light")])
def test_fits_its_window_in_light_and_dark(live, shops, width, theme):
    page = live(shops, width=width, height=860, theme=theme).go("#range=15m")
    page.until_drawn()
    assert page.said("theme") == page.fact("theme") == theme
    assert page.tab.evaluate("document.scrollingElement.scrollWidth") <= width
    for part in ["query", "range-5m", "range-7d", "group-by", "chart", "services", "graph",
                 "quality"]:
        box = page.part(part).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width + 0.5, part
        assert box["height"] > 10, part
    page.part("theme-button" if width > 1000 else "more-button").click()
    if width > 1000:
        page.settle()
        assert page.said("theme") != theme, "one switch for all of the page"
