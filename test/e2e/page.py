"""Drives the page in a real browser: makes it with vesta, opens it, reads what it says of itself.

The page states what it shows as data attributes of its widget and finds its parts by data-testid;
the list stands at the top of ui/src/pages/file_page.ts. Playwright and speedscope come with
`tools/dev deps test` into ~/.cache/vesta.
"""
import os
import subprocess
import sys
import time

import pprof_writer
from pprof_writer import Frame

TOOLS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "vesta", "page-tools")
SPEEDSCOPE = os.path.join(TOOLS, "speedscope")
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update",
                  "--disable-sync", "--force-color-profile=srgb"]
WAIT_MS = 20_000

# Resolves when the page owes no picture and two frames brought no new one.
SETTLE = """async () => {
  const view = document.querySelector("[data-testid=flame-view]");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let quiet = 0, before = ""; quiet < 3; ) {
    await frame();
    const now = view.dataset.pictures;
    quiet = view.dataset.busy !== "1" && now === before ? quiet + 1 : 0;
    before = now;
  }
}"""

SERVER, DATABASE, KERNEL = "/usr/bin/server", "/usr/lib/libdb.so.2", "[kernel]"
MAIN = Frame("main", SERVER, "server.cc", 12, 10)
SERVE = Frame("serve(Request const&)", SERVER, "server.cc", 40, 30)
PARSE = Frame("parse_json", SERVER, "json.cc", 7, 5)
QUERY = Frame("query", SERVER, "server.cc", 77, 70)
QUERY_LATER = Frame("query", SERVER, "server.cc", 79, 70)
SCAN = Frame("db::scan_rows", DATABASE, "scan.cc", 100, 90)
READ = Frame("db::read", DATABASE, "scan.cc", 200, 190)
VFS_READ = Frame("vfs_read", KERNEL)
WORK = Frame("work", SERVER, "work.cc", 5, 1)
FIB = Frame("fib", SERVER, "work.cc", 20, 18)
COMPUTE = Frame("compute", SERVER, "work.cc", 33, 30)
IDLE = [Frame(f"idle_{letter}", SERVER, "work.cc", 50, 50) for letter in "abc"]
SPREAD = Frame("spread", SERVER, "work.cc", 60, 60)
TINY = [Frame(f"tiny_{number:03}", SERVER, "tiny.cc", number + 1, 1) for number in range(400)]

# 10,000 samples: every kind of box. tiny_*: each a hundredth of a percent, together 4 %.
STACKS = [
    ("server", [MAIN, SERVE, PARSE], 2000),
    ("server", [MAIN, SERVE, QUERY, SCAN], 2600),
    ("server", [MAIN, SERVE, QUERY, READ, VFS_READ], 1000),
    ("server", [MAIN, SERVE, QUERY], 300),
    ("server", [MAIN, SERVE, QUERY_LATER], 100),
    ("worker", [MAIN, WORK, FIB, FIB, FIB], 2000),
    ("worker", [MAIN, WORK, FIB, COMPUTE], 600),
    ("worker", [MAIN, *IDLE], 1000),
] + [("worker", [MAIN, SPREAD, tiny], 1) for tiny in TINY]
TOTAL = sum(count for _, _, count in STACKS)

# The same, later: parse_json grew, scan_rows shrank, idle_* is gone, poll is new.
STACKS_AFTER = [
    ("server", [MAIN, SERVE, PARSE], 3500),
    ("server", [MAIN, SERVE, QUERY, SCAN], 1500),
    ("server", [MAIN, SERVE, QUERY, READ, VFS_READ], 1010),
    ("server", [MAIN, SERVE, QUERY], 300),
    ("server", [MAIN, SERVE, QUERY_LATER], 100),
    ("server", [MAIN, SERVE, Frame("poll", SERVER, "server.cc", 90, 88)], 700),
    ("worker", [MAIN, WORK, FIB, FIB, FIB], 2000),
    ("worker", [MAIN, WORK, FIB, COMPUTE], 600),
] + [("worker", [MAIN, SPREAD, tiny], 1) for tiny in TINY]


def playwright():
    """The module, from where `tools/dev deps test` puts it."""
    if TOOLS not in sys.path[0]:
        sys.path.insert(0, os.path.join(TOOLS, "playwright"))
    from playwright import sync_api
    return sync_api


def vesta(*arguments, home="/nonexistent"):
    """Runs vesta away from the settings of whoever runs the tests; it must succeed."""
    from conftest import VESTA
    done = subprocess.run([VESTA, *arguments], capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": home})
    assert done.returncode == 0, done.stderr
    return done


def make_page(folder, stacks, name="page", **pprof_options):
    """Path of the HTML that vesta makes of these stacks."""
    source = pprof_writer.write(os.path.join(folder, name + ".pb.gz"), stacks, **pprof_options)
    html = os.path.join(folder, name + ".html")
    vesta("convert", source, html)
    return html


def make_comparison(folder, before=STACKS, after=STACKS_AFTER, name="comparison"):
    files = [pprof_writer.write(os.path.join(folder, f"{name}_{side}.pb.gz"), stacks)
             for side, stacks in (("before", before), ("after", after))]
    html = os.path.join(folder, name + ".html")
    vesta("diff", *files, "-o", html)
    return html


class Page:
    """One opened page. Names of parts are data-testid, names of facts data attributes."""

    def __init__(self, tab):
        self.tab = tab
        self.requests = []  # everything but the file itself and what the page made itself
        self.errors = []
        tab.on("request", self._on_request)
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("console", self._on_console)

    def _on_request(self, request):
        if not request.url.startswith(("file:", "data:", "blob:", "about:")):
            self.requests.append(request.url)

    def _on_console(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def open(self, path, fragment="", ready=True):
        self.tab.goto(f"file://{path}{fragment}")
        if ready:
            self.wait_for_state("ready")
            self.settle()
        return self

    def wait_for_state(self, state):
        self.tab.wait_for_selector(f"#vesta-page[data-state={state}]", state="attached",
                                   timeout=WAIT_MS)

    def settle(self):
        self.tab.evaluate(SETTLE)

    def eventually(self, look, wanted, what=""):
        """Waits until look() gives what is wanted: for what the page does not count as a picture."""
        end = time.monotonic() + 5
        while (seen := look()) != wanted and time.monotonic() < end:
            self.tab.wait_for_timeout(20)
        assert seen == wanted, (what, seen)

    def fact(self, name):
        """What the widget says in data-NAME."""
        return self.tab.get_attribute("[data-testid=flame-view]", f"data-{name}")

    def number(self, name):
        return float(self.fact(name))

    def part(self, testid):
        return self.tab.locator(f"[data-testid={testid}]")

    def click(self, testid):
        self.part(testid).first.click()
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.tab.keyboard.press(key)
        self.settle()

    def boxes(self, tree="main"):
        """What is drawn, by flameView.visibleBoxes."""
        return self.tab.evaluate("""(tree) => document.querySelector("[data-testid=flame-view]")
            .flameView.visibleBoxes(tree)""", tree)

    def box(self, name, tree="main", kind=None):
        """The widest box of this function."""
        found = [box for box in self.boxes(tree)
                 if box["name"] == name and (kind is None or box["kind"] == kind)]
        assert found, f"no box {name}; there are {sorted({b['name'] for b in self.boxes(tree)})}"
        return max(found, key=lambda box: box["width"])

    def names(self, tree="main"):
        return {box["name"] for box in self.boxes(tree) if box["kind"] != "rest"}

    def at(self, box):
        """A point inside of a box, for the mouse."""
        return box["x"] + min(box["width"] / 2, 200), box["y"] + box["height"] / 2

    def hover(self, name, tree="main"):
        self.tab.mouse.move(*self.at(self.box(name, tree)))
        self.settle()

    def click_at(self, box, button="left", key=""):
        if key:
            self.tab.keyboard.down(key)
        self.tab.mouse.click(*self.at(box), button=button)
        if key:
            self.tab.keyboard.up(key)
        self.settle()

    def select(self, name, tree="main"):
        self.click_at(self.box(name, tree), key="Control")
        assert self.fact("selected-name") == name

    def zoom(self, name):
        self.click_at(self.box(name))
        assert self.fact("zoom-name") == name

    def transform(self, name, action):
        """Applies an action of the details to the selected box's function."""
        self.select(name)
        if not self.part("details").is_visible():
            self.click("details-button")
        self.click(f"action-{action}")

    def focus_graph(self):
        self.part("graph").evaluate("(graph) => graph.focus()")

    def search(self, text):
        self.part("search-input").fill(text)
        self.settle()

    def choose(self, testid, value):
        self.part(testid).select_option(value)
        self.settle()

    def sort_by(self, column):
        self.part(f"table-head-{column}").locator("button").click()
        self.settle()

    def table(self):
        """The rows of the table that are in the document, as [{name, func, cells}]."""
        return self.tab.evaluate("""() => [...document.querySelectorAll("[data-testid=table-row]")]
            .map((row) => ({...row.dataset, index: Number(row.getAttribute("aria-rowindex")),
                            cells: [...row.children].map((cell) => cell.textContent)}))
            .sort((a, b) => a.index - b.index)""")

    def pixels(self, points):
        """Colours (red, green, blue) on the screen at these points in CSS pixels."""
        import base64
        picture = base64.b64encode(self.tab.screenshot()).decode()
        return [tuple(colour) for colour in self.tab.evaluate("""async ([picture, points]) => {
            const bytes = Uint8Array.from(atob(picture), (c) => c.charCodeAt(0));
            const bitmap = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
            const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
            const context = canvas.getContext("2d", {willReadFrequently: true});
            context.drawImage(bitmap, 0, 0);
            return points.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data.slice(0, 3)]);
          }""", [picture, [list(point) for point in points]])]

    def colour(self, box):
        """What a box is filled with on the screen: its lower left corner, beside the text."""
        return self.pixels([(box["x"] + 2, box["y"] + box["height"] - 3)])[0]


class Browser:
    """Chromium without a window; each page has a context, so a storage, of its own."""

    def __init__(self):
        self.driver = playwright().sync_playwright().start()
        self.chromium = self.driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        self.contexts = []

    def page(self, width=1440, height=900, theme="light", before=""):
        """before: a script that runs before the page's own."""
        context = self.chromium.new_context(viewport={"width": width, "height": height},
                                            color_scheme=theme, reduced_motion="reduce")
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.contexts.append(context)
        if before:
            context.add_init_script(before)
        return Page(context.new_page())

    def close_pages(self):
        for context in self.contexts:
            context.close()
        self.contexts = []

    def close(self):
        self.close_pages()
        self.chromium.close()
        self.driver.stop()


def luminance(colour):
    """Relative luminance, 0 to 1. Source: WCAG 2."""
    linear = [c / 255 / 12.92 if c / 255 <= 0.03928 else ((c / 255 + 0.055) / 1.055) ** 2.4
              for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """1 to 21. Source: WCAG 2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
