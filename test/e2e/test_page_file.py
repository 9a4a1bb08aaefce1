"""The page as one file: whole without a request, honest when it is empty, hostile or damaged."""
import json
import re

import page
from page import Frame, MAIN, PARSE, SERVE, SERVER, STACKS, TOTAL

# Names that try to get out of where they are shown.
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "</script></style></title><b>bold</b>",
    "\"quotes\" & 'more' &amp; ]]> -->",
    "مرحبا بالعالم",
    "\u202Eright to left\u202C and back",
    "😀🔥👩‍👩‍👧‍👦 emoji",
    "名前のない関数",
    "long_" + "x" * 10_000,
    "${7 * 7} {{7 * 7}} `ticks`",
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_the_file_asks_for_nothing_and_says_so(folder, new_page):
    html = page.make_page(folder, STACKS)
    text = read(html)
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"\s+content="([^"]*)"', text)
    assert policy and "default-src 'none'" in policy.group(1)
    allowed = re.findall(r"https?:|\*|(?<![\w-])data:", policy.group(1))
    assert set(allowed) <= {"data:"}, policy.group(1)
    loaded = re.findall(r"<(?:script|img|iframe|link|object|embed)[^>]*\s(?:src|href)=\"([^\"]*)",
                        text)
    assert all(address.startswith("data:") for address in loaded), loaded
    tab = new_page()
    tab.open(html)
    tab.click("help-button")
    # The policy holds: even a script of the page itself could not ask.
    refused = tab.tab.evaluate("""() => new Promise((done) => {
        document.addEventListener("securitypolicyviolation", (e) => done(e.blockedURI));
        fetch("http://127.0.0.1:9/x").catch(() => setTimeout(() => done("refused"), 500));
      })""")
    assert "127.0.0.1" in refused
    tab.errors.clear()  # the refusal above is written to the console
    tab.requests = [url for url in tab.requests if "127.0.0.1:9" not in url]


def test_it_opens_by_name_with_title_and_totals(folder, new_page):
    tab = new_page().open(page.make_page(folder, STACKS))
    assert tab.tab.title()
    assert tab.number("totals") == TOTAL * 10_000_000
    assert tab.fact("sides") == "1"
    assert tab.fact("depth") == "6"  # worker; main; work; fib; fib; fib
    names = {frame.name for _, frames, _ in STACKS for frame in frames}
    processes = {process for process, _, _ in STACKS}
    assert int(tab.fact("functions")) in (len(names | processes), len(names | processes) + 1)


def test_loading_is_shown_until_the_picture_is_there(folder, new_page):
    watch = """new MutationObserver(() => {
        const page = document.querySelector("#vesta-page");
        const bar = document.querySelector("[data-testid=loading]");
        const now = `${page?.dataset.state} ${bar?.getAttribute("role")}`;
        window.states ??= [];
        if (window.states.at(-1) !== now) window.states.push(now);
      }).observe(document, {subtree: true, childList: true, attributes: true});"""
    tab = new_page(before=watch).open(page.make_page(folder, STACKS))
    states = tab.tab.evaluate("window.states")
    assert "loading progressbar" in states and states[-1].startswith("ready"), states
    assert not tab.part("loading").is_visible()


def test_names_are_text_wherever_they_are_shown(folder, new_page):
    stacks = [("server", [MAIN, Frame(name, f"/lib/{name[:60]}", name[:200], 3, 1)], 100 - number)
              for number, name in enumerate(HOSTILE)]
    tab = new_page()
    tab.open(page.make_page(folder, stacks))
    shown = tab.names()
    for name in HOSTILE:
        assert any(box == name or box.startswith("long_xxx") for box in shown), name
        tab.hover(name)
        tooltip = tab.part("tooltip")
        assert tooltip.is_visible()
        if len(name) < 200:
            assert name in tooltip.inner_text().replace("\n", " ") or name in tooltip.text_content()
        size = tooltip.bounding_box()
        assert size["x"] >= 0 and size["x"] + size["width"] <= 1440
        assert size["y"] + size["height"] <= 900
    tab.click("layout-both")
    tab.click("details-button")
    for name in HOSTILE:
        tab.select(name)
    assert tab.tab.evaluate("window.hacked") is None
    assert tab.tab.locator("#vesta-page b, #vesta-page img").count() == 0
    assert tab.tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_hostile_title_is_text(folder, new_page):
    source = page.pprof_writer.write(f"{folder}/a.pb.gz", STACKS)
    title = "</title><script>window.hacked = 1</script> & \"x\""
    page.vesta("convert", source, f"{folder}/a.html", "--title", title)
    tab = new_page().open(f"{folder}/a.html")
    assert tab.tab.title() == title
    assert title in tab.part("title").first.text_content()
    assert tab.tab.evaluate("window.hacked") is None


def test_one_function_is_a_whole_page(folder, new_page):
    html = page.make_page(folder, [("", [MAIN], 1)])
    tab = new_page().open(html)
    assert tab.fact("nodes") == "1" or tab.fact("nodes") == "2"
    assert tab.box("main")["width"] > 1300
    tab.search("main")
    assert tab.number("match-share") == 1
    tab.click("search-clear")
    tab.focus_graph()
    tab.press("Home", "ArrowDown", "Enter")
    assert tab.fact("zoom-name") == "main"


def test_no_sample_is_said_not_drawn(folder, new_page):
    html = page.make_page(folder, [])
    tab = new_page()
    tab.open(html, ready=False)
    tab.wait_for_state("empty")
    assert "not one sample" in tab.part("empty-page").inner_text().lower()


def test_a_stack_of_5000_frames_is_whole(folder, new_page):
    deep = [Frame(f"level_{number}", SERVER) for number in range(5000)]
    html = page.make_page(folder, [("server", deep, 10), ("server", [MAIN, SERVE, PARSE], 5)])
    tab = new_page().open(html)
    assert tab.fact("depth") == "5001"
    tab.search("level_4999")
    assert abs(tab.number("match-share") - 2 / 3) < 1e-6
    tab.click("search-next")
    tab.eventually(lambda: tab.fact("selected-name"), "level_4999")
    tab.settle()
    assert "level_4999" in tab.names(), "the next match is scrolled into the window"
    tab.focus_graph()
    tab.press("Enter")
    assert tab.fact("zoom-name") == "level_4999"
    tab.press("f")
    assert tab.fact("depth") in ("1", "2")


def test_without_a_worker_it_still_works(folder, new_page):
    html = page.make_page(folder, STACKS)
    refuse = "window.Worker = class { constructor() { throw new Error('refused'); } };"
    tab = new_page(before=refuse).open(html)
    tab.errors = [error for error in tab.errors if "worker" not in error.lower()]
    assert tab.number("totals") == TOTAL * 10_000_000
    tab.search("parse_json")
    assert abs(tab.number("match-share") - 2000 / TOTAL) < 1e-6


def test_a_worker_that_the_browser_stops_is_replaced(folder, new_page):
    """As a browser does that refuses blob: workers only when they start."""
    html = page.make_page(folder, STACKS)
    refuse = """window.Worker = class extends EventTarget {
        constructor() { super(); setTimeout(() => {
          const event = new Event("error"); this.dispatchEvent(event);
          if (this.onerror) this.onerror(event); }, 10); }
        postMessage() {} terminate() {} };"""
    tab = new_page(before=refuse).open(html)
    assert tab.number("totals") == TOTAL * 10_000_000


def pieces(text):
    return re.findall(r'(<script type="text/plain" id="vesta-data-\d+">)([^<]*)(</script>)', text)


def error_of(new_page, html):
    tab = new_page()
    tab.open(html, ready=False)
    tab.wait_for_state("error")
    alert = tab.part("error-page")
    assert alert.get_attribute("role") == "alert"
    return alert.inner_text()


def test_a_file_that_was_cut_off_says_so(folder, new_page):
    text = read(page.make_page(folder, STACKS))
    at = text.index('id="vesta-data-0"') + 200
    message = error_of(new_page, write(f"{folder}/cut.html", text[:at]))
    assert re.search(r"cut|incomplete|not whole|truncated|ends", message, re.I), message
    whole_data = text[:text.rindex("<script")]
    message = error_of(new_page, write(f"{folder}/cut_late.html", whole_data))
    assert re.search(r"cut|incomplete|not whole|truncated|ends", message, re.I), message


def test_damaged_data_says_what_is_wrong(folder, new_page):
    html = page.make_page(folder, STACKS)
    text = read(html)
    head, data, tail = pieces(text)[0]
    damages = {
        "no_base64": data[:100] + "!!!!" + data[104:],
        "no_gzip": "AAAA" + data[4:],
        "flipped": data[: len(data) // 2] + data[len(data) // 2:][::-1],
        "short": data[: len(data) // 8 * 4],
        "empty": "",
    }
    for name, damaged in damages.items():
        changed = write(f"{folder}/{name}.html", text.replace(head + data + tail,
                                                               head + damaged + tail))
        message = error_of(new_page, changed)
        assert len(message.strip()) > 20, (name, message)
        assert "undefined" not in message and "[object" not in message, (name, message)


def test_without_scripts_the_page_says_what_it_needs(folder, page_browser):
    html = page.make_page(folder, STACKS)
    context = page_browser.chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"file://{html}")
    assert "script" in tab.inner_text("body").lower()
    context.close()


def test_the_data_hold_no_markup(folder):
    """The data are base64: nothing in them can close an element or start one."""
    html = page.make_page(folder, [("</script><b>", [Frame(HOSTILE[0])], 1)])
    text = read(html)
    assert all(re.fullmatch(r"[A-Za-z0-9+/=\s]*", data) for _, data, _ in pieces(text))
    assert "window.hacked" not in text
    assert json.dumps(HOSTILE[1])[1:-1] not in text
