"""What colours say: the legend that filters, and a comparison as the colour-blind see it."""
import pytest

import page
from page import Frame, TOTAL


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page.make_page(str(tmp_path_factory.mktemp("page")), page.STACKS)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    return page.make_comparison(str(tmp_path_factory.mktemp("page")))


def entry(tab, key):
    return tab.tab.locator(f'[data-testid=legend-entry][data-key="{key}"]')


def keys(tab):
    return tab.part("legend-entry").evaluate_all("(e) => e.map((x) => x.dataset.key)")


def lit(tab, names, ground):
    """Of these functions, those whose boxes stand out from the ground as much as without filter."""
    return {name: round(page.contrast(tab.colour(tab.box(name)), ground), 2) for name in names}


def test_one_binary_has_one_hue_and_another_one_another(html, new_page):
    tab = new_page().open(html)
    assert tab.fact("colouring") == "binary"
    assert keys(tab)[:3] == ["server", "libdb.so.2", "[kernel]"], "heaviest first"
    colours = {name: tab.colour(tab.box(name))
               for name in ("parse_json", "compute", "db::scan_rows", "db::read", "vfs_read")}

    def apart(one, other):
        return distance(lab(colours[one]), lab(colours[other]))
    assert apart("parse_json", "compute") < 12 > apart("db::scan_rows", "db::read"), colours
    assert apart("parse_json", "db::scan_rows") > 15 < apart("vfs_read", "db::read"), colours


def test_legend_lights_only_what_was_chosen(html, new_page):
    tab = new_page().open(html)
    names = ["parse_json", "db::scan_rows", "vfs_read"]
    ground = tab.pixels([(1436, 895)])[0]
    plain = lit(tab, names, ground)
    library, kernel = "libdb.so.2", "[kernel]"
    entry(tab, library).click()
    tab.settle()
    assert tab.fact("groups") == library
    assert entry(tab, library).get_attribute("aria-pressed") == "true"
    now = lit(tab, names, ground)
    assert now["db::scan_rows"] == plain["db::scan_rows"]
    assert now["parse_json"] < plain["parse_json"] and now["vfs_read"] < plain["vfs_read"]
    assert now["db::scan_rows"] > now["parse_json"], "the chosen one stands out"
    entry(tab, kernel).click(modifiers=["Control"])
    tab.settle()
    assert set(tab.fact("groups").split(",")) == {library, kernel}
    both = lit(tab, names, ground)
    assert both["vfs_read"] == plain["vfs_read"] and both["parse_json"] < plain["parse_json"]
    entry(tab, kernel).click(modifiers=["Control"])
    entry(tab, library).click()
    tab.settle()
    assert tab.fact("groups") == "" and lit(tab, names, ground) == plain


def test_legend_has_the_self_share_of_each_binary(html, new_page):
    tab = new_page().open(html)
    texts = [text.replace("\u202f", " ") for text in tab.part("legend-entry").all_inner_texts()]
    shares = dict(zip(keys(tab), texts))
    assert "64.0 %" in shares["server"] and "26.0 %" in shares["libdb.so.2"], shares
    assert "10.0 %" in shares["[kernel]"], shares
    assert "process" not in shares, "what has nothing is left out"


def test_a_filter_of_the_legend_is_cleared_by_a_button(html, new_page):
    tab = new_page().open(html)
    assert not tab.part("legend-clear").is_visible()
    entry(tab, "libdb.so.2").click()
    tab.settle()
    assert tab.fact("groups") == "libdb.so.2"
    tab.click("legend-clear")
    tab.settle()
    assert tab.fact("groups") == "" and not tab.part("legend-clear").is_visible()


@pytest.mark.parametrize("width", (360, 800))
def test_nothing_below_the_bar_is_cut_in_narrow_windows(html, comparison, new_page, width):
    for file, parts in ((html, ["status"]), (comparison, ["status", "legend-scale"])):
        tab = new_page(width=width, height=600).open(file)
        for part in parts:
            box, right = tab.part(part).bounding_box(), tab.part(part).evaluate(
                "(e) => Math.max(...[...e.children].map((x) => x.getBoundingClientRect().right))")
            assert right <= box["x"] + box["width"] + 1 <= width + 1, (part, right, box)


@pytest.mark.parametrize("height", (200, 900))
def test_graph_and_minimap_are_as_wide_as_the_window(html, new_page, height):
    """Whether the graph scrolls or not."""
    tab = new_page(width=1000, height=height).open(html)
    root, small = tab.box("all"), tab.part("minimap").bounding_box()
    assert (root["x"], root["width"]) == (0, 1000) == (small["x"], small["width"])
    bars = [one for one in tab.tab.locator(".vesta-scrollbar").all() if one.is_visible()]
    assert len(bars) == (1 if height == 200 else 0)
    if bars:
        area = bars[0].bounding_box()
        tab.tab.mouse.move(area["x"] + 5, area["y"] + 3)
        tab.tab.mouse.down()
        tab.tab.mouse.move(area["x"] + 5, area["y"] + area["height"])
        tab.tab.mouse.up()
        tab.settle()
        assert "vfs_read" in tab.names() and "all" not in tab.names(), "scrolled to the end"


# --- Colour blindness. Source: Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB. ----

BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def linear(colour):
    return [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4
            for c in colour]


def lab(colour, blindness="none"):
    """CIE L*a*b* (D65) of a colour as it is seen."""
    r, g, b = (min(1, max(0, sum(weight * part for weight, part in zip(row, linear(colour)))))
               for row in BLINDNESS[blindness])
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b,
           (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other):
    """Of two colours in L*a*b*: 2.3 is just seen; 20 cannot be overlooked."""
    return sum((a - b) ** 2 for a, b in zip(one, other)) ** 0.5


def test_the_simulation_takes_red_and_green_together():
    red, green = (203, 75, 22), (110, 140, 20)
    assert distance(lab(red), lab(green)) > 45
    assert distance(lab(red, "deuteranopia"), lab(green, "deuteranopia")) < 20


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_more_less_and_the_same_are_told_apart_by_the_colour_blind(comparison, new_page, theme,
                                                                  blindness):
    tab = new_page(theme=theme).open(comparison)
    more, less, same = (lab(tab.colour(tab.box(name)), blindness)
                        for name in ("parse_json", "db::scan_rows", "compute"))
    assert distance(more, less) > 45, (more, less)
    assert distance(more, same) > 25 < distance(less, same), (more, less, same)


# --- Names on boxes ------------------------------------------------------------------------------

LONG = "com.example.very.deeply.nested.packages.of.someone.Handler.handleRequest"
NOTE_TEXT = """const fill = CanvasRenderingContext2D.prototype.fillText;
    window.written = new Map();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.written.set(text, this.measureText(text).width);
      return fill.call(this, text, ...rest);
    };"""


def test_names_lose_their_packages_before_their_own_name(folder, new_page):
    stacks = [("", [page.MAIN, Frame(LONG, page.SERVER)], 30), ("", [page.MAIN, page.PARSE], 70)]
    html = page.make_page(folder, stacks)
    tab = new_page(width=800, before=NOTE_TEXT).open(html)
    written = tab.tab.evaluate("[...window.written]")
    room = tab.box(LONG)["width"]
    short = [(text, width) for text, width in written if "handleRequest" in text]
    assert short and LONG not in dict(written), written
    assert all(text != LONG and width <= room for text, width in short), (short, room)
    assert "parse_json" in dict(written), "what fits is whole"
    tab.hover(LONG)
    assert LONG in tab.part("tooltip").text_content()
    wide = new_page(width=2400, before=NOTE_TEXT).open(html)
    assert LONG in dict(wide.tab.evaluate("[...window.written]"))


# --- Rests keep their share ----------------------------------------------------------------------

def test_the_rest_says_its_share_and_its_boxes_on_hover(html, new_page):
    tab = new_page(width=800).open(html)
    rest = next(box for box in tab.boxes() if box["kind"] == "rest")
    tab.tab.mouse.move(*tab.at(rest))
    tab.settle()
    text = tab.part("tooltip").inner_text().replace("\u202f", " ")
    assert "400" in text and f"{400 / TOTAL * 100:.1f} %" in text, text
