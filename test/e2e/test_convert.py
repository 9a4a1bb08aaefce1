"""`vesta convert`: what goes in comes out, numbers agree with `go tool pprof`, damage is told."""
import gzip
import json
import os
import pty
import random
import re
import subprocess
from xml.etree import ElementTree

import pytest

import page_data
import pprof
import pprof_writer
from conftest import PROGRAMS, ROOT, VESTA
from pprof_writer import Frame
from workloads import find_program

WIRE = os.path.join(ROOT, "src", "wire")
GO = find_program("go", "/usr/local/go/bin/go")
needs_go = pytest.mark.skipif(not GO, reason="needs the program go")


def vesta(*arguments, code=0, **options):
    done = subprocess.run([VESTA, *arguments], capture_output=True, text="input" not in options,
                          timeout=120, check=False, **options)
    assert done.returncode == code, done.stderr
    return done


def convert(source, target, *arguments, code=0):
    return vesta("convert", source, target, *arguments, code=code).stderr


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def top(path, *arguments):
    """{(name or None, binary): (self, total)} of `vesta top FILE --json`, and the report."""
    report = json.loads(vesta("top", path, "--json", "-n", "100000", *arguments).stdout)
    return {(f["name"], f["binary"]): (f["self"], f["total"]) for f in report["functions"]}, report


def folded(path, *arguments):
    """{names root first: value}"""
    lines = vesta("convert", path, "-", "--to", "folded", *arguments).stdout.splitlines()
    stacks = {}
    for line in lines:
        stack, _, count = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] = stacks.get(tuple(stack.split(";")), 0) + int(count)
    return stacks


# --- Sources: a file of each format, with which every test below is asked the same. --------------

FOLDED = """\
app;main;parse;read 30
app;main;parse 12
app;main;render;layout;layout 7
app;main;render;vfs_read_[k] 5
tool;main;operator new(unsigned long);std::map<int, char>::find 2
"""

MAIN = Frame("main", "/bin/app", "a.c", 12, 10)
PPROF = [("app", [MAIN, Frame("work", "/bin/app", "a.c", 40, 30)], 70),
         ("app", [MAIN, Frame("read", "/lib/libc.so.6"), Frame("vfs_read", "[kernel]")], 20),
         ("app", [MAIN, Frame("fib", "/bin/app", "b.c", 3), Frame("fib", "/bin/app", "b.c", 4)], 9),
         ("", [Frame("start", "/bin/tool")], 1)]


SEEDS = {
    "OTLP, values": "otlp_decoder_fuzz_corpus/framed.otlp",
    "OTLP, times": "otlp_decoder_fuzz_corpus/v1_8.otlp",
    "OTLP, a batch": "otlp_decoder_fuzz_corpus/ours.otlp",
    "speedscope": "speedscope_decoder_fuzz_corpus/own.json",
    "speedscope, events": "speedscope_decoder_fuzz_corpus/evented.json",
    "V8": "cpuprofile_decoder_fuzz_corpus/node.cpuprofile",
    "V8, old": "cpuprofile_decoder_fuzz_corpus/old.cpuprofile",
    "V8, trace": "cpuprofile_decoder_fuzz_corpus/trace.json",
    "perf script": "perf_script_decoder_fuzz_corpus/callchain.txt",
    "perf script, several events": "perf_script_decoder_fuzz_corpus/events.txt",
    "perf.data": "perf_data_decoder_fuzz_corpus/chain",
    "JFR": "jfr_decoder_fuzz_corpus/samples.jfr",
    "JFR, all events": "jfr_decoder_fuzz_corpus/kinds.jfr",
}


def sources(folder):
    """{format: path}: seeds of the fuzzers that are whole files, and small ones from here."""
    made = {"folded": write(f"{folder}/in.folded", FOLDED),
            "pprof": pprof_writer.write(f"{folder}/in.pb.gz", PPROF)}
    for name, seed in SEEDS.items():
        made[name] = os.path.join(WIRE, seed)
    return made


@pytest.fixture(params=["folded", "pprof", *SEEDS])
def source(request, folder):
    return sources(folder)[request.param]


# --- pprof loses nothing -------------------------------------------------------------------------

@pytest.fixture(scope="session")
def go_profiles(tmp_path_factory):
    """{kind: path} of profiles that Go's own library wrote."""
    if not GO:
        pytest.skip("needs the program go")
    folder = tmp_path_factory.mktemp("go")
    program = str(folder / "program")
    subprocess.run([GO, "build", "-o", program, f"{ROOT}/test/support/go_profiles.go"], check=True,
                   cwd=folder, timeout=300)
    kinds = ["cpu", "heap", "mutex", "goroutine"]
    subprocess.run([program, *[f"{kind}.prof" for kind in kinds]], check=True, cwd=folder,
                   timeout=60, stdout=subprocess.DEVNULL)
    return {kind: str(folder / f"{kind}.prof") for kind in kinds}


@pytest.mark.parametrize("kind", ["cpu", "heap", "mutex", "goroutine"])
def test_profiles_of_go_survive_whole(folder, go_profiles, kind):
    said = convert(go_profiles[kind], f"{folder}/out.pb.gz")
    assert "not kept" not in said
    whole = pprof.canonical(read(go_profiles[kind]))
    assert whole["samples"] and whole["functions"]
    assert pprof.canonical(read(f"{folder}/out.pb.gz")) == whole
    convert(f"{folder}/out.pb.gz", f"{folder}/plain.pb")
    assert read(f"{folder}/plain.pb")[:2] != b"\x1f\x8b"
    assert pprof.canonical(read(f"{folder}/plain.pb")) == whole
    said = convert(go_profiles[kind], f"{folder}/out.otlp.gz")
    assert "not kept" not in said
    convert(f"{folder}/out.otlp.gz", f"{folder}/back.pb.gz")
    assert pprof.canonical(read(f"{folder}/back.pb.gz")) == whole


def test_every_field_of_pprof_survives(folder):
    small = os.path.join(WIRE, "pprof_decoder_fuzz_corpus", "small.pb")
    convert(small, f"{folder}/out.pb")
    whole = pprof.canonical(read(small))
    assert any(labels for _, _, labels in whole["samples"]) and whole["mappings"]
    assert pprof.canonical(read(f"{folder}/out.pb")) == whole


@pytest.mark.needs_root
@pytest.mark.needs_bpf
def test_our_recordings_survive_whole(folder, record):
    recording = record("-F", "299", "--", f"{PROGRAMS}/planted", "400")
    convert(recording.path, f"{folder}/out.pb")
    whole = pprof.canonical(read(recording.path))
    assert {label[1] for _, _, labels in whole["samples"] for label in labels} >= \
        {b"process", b"thread", b"pid", b"tid"}
    assert pprof.canonical(read(f"{folder}/out.pb")) == whole


# --- every format and back -----------------------------------------------------------------------

def test_there_and_back_has_the_same_stacks(source, folder):
    before = folded(source)
    assert before
    for ending in ("pb.gz", "pb", "folded", "folded.gz", "speedscope.json", "speedscope.json.gz"):
        convert(source, f"{folder}/out.{ending}")
        packed = read(f"{folder}/out.{ending}")[:2] == b"\x1f\x8b"
        assert packed == (ending.endswith(".gz"))
        assert folded(f"{folder}/out.{ending}") == before, ending


def test_speedscope_and_pprof_keep_every_sample_type(source, folder):
    convert(source, f"{folder}/a.pb")
    convert(f"{folder}/a.pb", f"{folder}/b.speedscope.json")
    convert(f"{folder}/b.speedscope.json", f"{folder}/c.pb")
    types = pprof.load(f"{folder}/a.pb").sample_types
    assert pprof.load(f"{folder}/c.pb").sample_types == types
    for name, _ in types:
        assert folded(f"{folder}/c.pb", "--type", name) == folded(f"{folder}/a.pb", "--type", name)


def test_a_page_holds_the_same_stacks_of_every_type(source, folder):
    convert(source, f"{folder}/a.pb")
    convert(source, f"{folder}/a.html", "--title", "<b>of & all</b>")
    page = page_data.load(f"{folder}/a.html")
    assert page.meta["title"] == "<b>of & all</b>"
    types = pprof.load(f"{folder}/a.pb").sample_types
    assert [(t["type"], t["unit"]) for t in page.meta["value_types"]] == types
    kernel = {f.name for f in page.functions if f.kind == "kernel"}
    for index, (name, _) in enumerate(types):
        expected = {}
        for stack, value in folded(f"{folder}/a.pb", "--type", name).items():
            bare = tuple(re.sub(r"_\[k\]$", "", frame) for frame in stack)
            assert {frame[:-4] for frame in stack if frame.endswith("_[k]")} <= kernel
            expected[bare] = expected.get(bare, 0) + value
        seen = page.stacks((index, 0))
        assert {tuple(n.replace(";", ":") for n in stack): v for stack, v in seen.items()} == expected
        assert page.totals((index, 0))[0] == sum(expected.values())


def test_a_picture_names_every_function(source, folder):
    convert(source, f"{folder}/a.svg", "--title", "<b>of & all</b>")
    tree = ElementTree.fromstring(read(f"{folder}/a.svg"))
    titles = [title.text for title in tree.iter("{http://www.w3.org/2000/svg}title")]
    text = "".join(tree.itertext())
    assert "<b>of & all</b>" in text and titles[0].startswith("all\n")
    named = {re.sub(r"_\[k\]$", "", frame) for stack in folded(source) for frame in stack}
    assert named and {frame for frame in named if not any(frame in title.replace(";", ":")
                                                          for title in titles)} == set()


def test_firefox_has_the_same_weight_of_every_function(source, folder):
    convert(source, f"{folder}/a.pb.gz")
    convert(source, f"{folder}/a.firefox.json.gz")
    profile = json.loads(gzip.decompress(read(f"{folder}/a.firefox.json.gz")))
    weights = sum(sum(thread["samples"]["weight"]) for thread in profile["threads"])
    rows, report = top(f"{folder}/a.pb.gz")
    per_ms = 1_000_000 if report["sample_type"]["unit"] == "nanoseconds" else 1
    assert weights == pytest.approx(report["total"] / per_ms)
    strings = set(profile["shared"]["stringArray"])
    assert {name for name, _ in rows if name} <= strings


def test_first_frame_and_sample_type_are_chosen(folder):
    own = os.path.join(WIRE, "speedscope_decoder_fuzz_corpus", "own.json")
    assert folded(own) == {("app", "main"): 3}
    assert folded(own, "--by", "none") == {("main",): 3}
    assert folded(own, "--type", "cpu") == {("app", "main"): 30}
    assert "has no sample type 'heap': give samples, cpu" in \
        convert(own, f"{folder}/x.svg", "--type", "heap", code=125)


# --- go tool pprof counts the same ---------------------------------------------------------------

def go_pprof(path, folder, *arguments):
    done = subprocess.run([GO, "tool", "pprof", "-symbolize=none", *arguments, path],
                          capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PPROF_TMPDIR": folder})
    assert done.returncode == 0, done.stderr
    return done.stdout


UNITS = {"nanoseconds": "ns", "bytes": "B"}
MARK = re.compile(r" \((partial-)?inline\)$")


def go_rows(text):
    """{name: (flat, cum)} of a report's lines with flat, flat%, sum%, cum, cum% and a name."""
    rows = {}
    for line in text.splitlines():
        match = re.match(r"\s*(-?\d+)\w*\s+{0}\s+{0}\s+(-?\d+)\w*\s+{0}\s+(?:\| +)?(.+)$"
                         .format(r"[\d.e+-]+%"), line)
        if match:
            rows[MARK.sub("", match.group(3))] = int(match.group(1)), int(match.group(2))
    return rows


def expected_rows(rows):
    """Our rows as Go has them: without binaries, code without a name as its binary."""
    by_name = {}
    for (name, binary), (own, total) in rows.items():
        key = name or (f"[{binary}]" if binary else "<unknown>")
        before = by_name.get(key, (0, 0))
        by_name[key] = before[0] + own, before[1] + total
    return by_name


def go_traces_total(text):
    """Sum of the values of all stacks; those without frames are not shown."""
    return sum(int(match) for match in re.findall(r"^\s*(-?\d+)(?:ns|B)?   \S", text, re.M))


def assert_go_agrees(path, folder):
    for name, unit in pprof.load(path).sample_types:
        options = [f"-sample_index={name}", *([f"-unit={UNITS[unit]}"] if unit in UNITS else [])]
        rows, report = top(path, "--type", name)
        ours = expected_rows(rows)
        limits = ["-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"]
        assert go_rows(go_pprof(path, folder, "-top", *limits, *options)) == ours, name
        if ours:  # else Go calls it an error
            assert go_rows(go_pprof(path, folder, "-peek=.", *options)) == ours, name
        traces = go_pprof(path, folder, "-traces", *options)
        # An independent reader of the file finds the same.
        profile = pprof.load(path)
        values = [(s.frames, s.values[profile.sample_types.index((name, unit))])
                  for s in profile.samples]
        assert go_traces_total(traces) == sum(value for frames, value in values if frames), name
        assert report["total"] == sum(value for _, value in values), name


@needs_go
def test_go_agrees_on_what_was_converted(source, folder):
    convert(source, f"{folder}/out.pb.gz")
    assert_go_agrees(f"{folder}/out.pb.gz", folder)


@pytest.mark.parametrize("kind", ["cpu", "heap", "mutex", "goroutine"])
def test_go_agrees_on_its_own_profiles(folder, go_profiles, kind):
    convert(go_profiles[kind], f"{folder}/out.pb.gz")
    assert_go_agrees(f"{folder}/out.pb.gz", folder)


GPERFTOOLS = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"


@needs_go
@pytest.mark.skipif(not os.path.exists(GPERFTOOLS), reason=f"needs {GPERFTOOLS}")
def test_go_agrees_on_profiles_of_gperftools(folder):
    """Its own format is pprof's old one, which Go's tool turns into the one of today."""
    old = f"{folder}/old.prof"
    subprocess.run([f"{PROGRAMS}/planted", "200"], check=True, timeout=60, capture_output=True,
                   env={**os.environ, "LD_PRELOAD": GPERFTOOLS, "CPUPROFILE": old,
                        "CPUPROFILE_FREQUENCY": "500"})
    assert "CPU profile of gperftools in pprof's old format; `go tool pprof -proto` converts it" \
        in convert(old, f"{folder}/x.pb", code=125)
    go_pprof(old, folder, "-proto", f"-output={folder}/theirs.pb.gz")
    convert(f"{folder}/theirs.pb.gz", f"{folder}/ours.pb.gz")
    whole = pprof.canonical(read(f"{folder}/theirs.pb.gz"))
    assert len(whole["samples"]) > 1
    assert pprof.canonical(read(f"{folder}/ours.pb.gz")) == whole
    assert_go_agrees(f"{folder}/ours.pb.gz", folder)


# --- what is said, and where things go -----------------------------------------------------------

def test_losses_are_said_once_in_words(folder):
    source = os.path.join(WIRE, "pprof_decoder_fuzz_corpus", "small.pb")
    said = convert(source, f"{folder}/a.folded")
    lines = said.splitlines()
    assert len(lines) == 2 and lines[1] == f"wrote {folder}/a.folded"
    assert lines[0].startswith("folded stacks: ") and lines[0].endswith(" are not kept")
    assert convert(source, f"{folder}/a.folded", "-q") == lines[0] + "\n"
    assert convert(f"{folder}/a.folded", f"{folder}/b.pb.gz", "-q") == ""


def test_standard_input_and_output(folder):
    source = sources(folder)["folded"]
    done = vesta("convert", "-", "-", "--to", "folded", input=FOLDED.encode())
    assert done.stdout.decode() == FOLDED and done.stderr == b""
    done = vesta("convert", "-", f"{folder}/x.pb.gz", input=gzip.compress(FOLDED.encode()))
    assert folded(f"{folder}/x.pb.gz") == folded(source)


def on_terminal(*arguments):
    """What a terminal shows of a run, as raw bytes, and the exit code."""
    controller, terminal = pty.openpty()
    run = subprocess.Popen([VESTA, *arguments], stdin=subprocess.DEVNULL, stdout=terminal,
                           stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:
        pass  # its other end is closed
    os.close(controller)
    return run.wait(timeout=60), shown


def test_a_terminal_shows_progress_and_is_spared_binary_data(folder):
    source = sources(folder)["folded"]
    code, shown = on_terminal("convert", source, f"{folder}/a.svg")
    assert code == 0 and f"\r\x1b[Kreading {source}".encode() in shown
    assert shown.endswith(f"\r\x1b[Kwrote {folder}/a.svg\r\n".encode())
    assert b"reading" not in on_terminal("convert", source, f"{folder}/b.svg", "-q")[1]
    code, shown = on_terminal("convert", source, "-")
    assert code == 125 and b"does not belong on a terminal: send it to a file or a pipe" in shown
    code, shown = on_terminal("convert", source, "-", "--to", "folded")
    assert code == 0 and b"app;main;parse;read 30" in shown


def test_a_file_may_become_itself(folder):
    path = write(f"{folder}/a.folded", "a;b 1\na;b 2\n")
    convert(path, path)
    assert read(path) == b"a;b 3\n"
    convert(path, path, "--to", "pprof")
    assert pprof.load(path).total() == 3


@pytest.mark.parametrize("target, says", [
    ("/dev/full", "writing /dev/full: No space left on device; nothing was saved"),
    ("FOLDER/no/such/a.svg", "its folder FOLDER/no/such: No such file or directory"),
    ("FOLDER", "is a folder; name a file in it"),
    ("FOLDER/a.txt", "does not tell the format; let it end in .pb.gz"),
])
def test_places_that_cannot_be_written_are_told(folder, target, says):
    source = sources(folder)["folded"]
    before = sorted(os.listdir(folder))
    target = target.replace("FOLDER", folder)
    arguments = ["--to", "pprof"] if target == folder else []
    said = convert(source, target, *arguments, code=125)
    assert says.replace("FOLDER", folder) in said
    assert sorted(os.listdir(folder)) == before


def test_the_place_is_checked_before_the_work(folder):
    said = convert(f"{folder}/gone.pb", f"{folder}/no/a.svg", code=125)
    assert "its folder" in said and "gone.pb" not in said


def test_forced_format_that_the_content_contradicts_is_said(folder):
    source = sources(folder)["folded"]
    said = convert(source, f"{folder}/a.pb", "--from", "speedscope", code=125)
    assert f"{source}: it is folded stacks, not speedscope as --from says" in said
    assert not os.path.exists(f"{folder}/a.pb")


def test_unknown_content_lists_what_can_be_read(folder):
    path = write(f"{folder}/x", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    said = convert(path, f"{folder}/a.pb", code=125)
    assert f"{path}: it is in no format that vesta knows; vesta reads pprof, OTLP" in said


def damaged(content, seed):
    """Cut off at several places, and with bits flipped at random."""
    step = max(1, len(content) // 12)
    for size in sorted({0, 1, 7, *range(step, len(content), step), len(content) - 1}):
        yield f"cut to {size} bytes", content[:size]
    chance = random.Random(seed)
    for number in range(12):
        flipped = bytearray(content)
        for _ in range(1 + number % 3):
            flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
        yield f"flip {number} of seed {seed}", bytes(flipped)


def test_damage_is_told_with_file_and_place_and_nothing_is_written(source, folder):
    """A damaged file is read all the same where that is possible, or refused as a whole."""
    refused = 0
    for what, content in damaged(read(source), seed=6):
        path, target = write(f"{folder}/damaged", content), f"{folder}/out.pb"
        done = subprocess.run([VESTA, "convert", path, target], capture_output=True, timeout=60,
                              check=False)
        said = done.stderr.decode()  # valid text, whatever was in the file
        if done.returncode == 0:
            assert pprof.canonical(read(target))["types"], what
            os.unlink(target)
            continue
        refused += 1
        assert done.returncode == 125, what
        assert said.startswith(f"vesta convert: {path}: ") and len(said.splitlines()) == 1, said
        assert sorted(os.listdir(folder)) == sorted({"damaged", *os.listdir(folder)} - {"out.pb"})
        assert not os.path.exists(target), what
    assert refused >= 5


@pytest.mark.needs_root
@pytest.mark.needs_bpf
def test_record_writes_a_page_that_holds_the_function(folder, record):
    record("-F", "299", "-o", f"{folder}/x.html", "-o", f"{folder}/x.speedscope.json", "--",
           f"{PROGRAMS}/planted", "400")
    page = page_data.load(f"{folder}/x.html")
    by_name = {f.name: f for f in page.functions}
    assert by_name["parse"].image == f"{PROGRAMS}/planted"
    assert by_name["planted"].kind == "process"
    assert any(stack[0] == "planted" and stack[-1] == "parse" for stack in page.stacks())
    assert page.meta["sides"][0]["duration_ms"] > 0
    assert any(stack[-1] == "parse" for stack in folded(f"{folder}/x.speedscope.json"))
