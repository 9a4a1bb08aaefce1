"""Fixtures of the end-to-end tests: the real binary, the workloads of test/programs, a recorder.

VESTA_BUILD names the build folder (default: build). Tests that need root or BPF say so with the
marks `needs_root` and `needs_bpf`, and those that need a program with `needs_program(NAME...)`;
what is missing skips the test with the reason.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
import pprof  # noqa: E402
from workloads import find_program  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("VESTA_BUILD", os.path.join(ROOT, "build")))
VESTA = os.path.join(BUILD, "vesta")
PROGRAMS = os.path.join(BUILD, "programs")
SYMBOL_CACHE = os.path.join(BUILD, "symbols")
SOURCES = os.path.join(ROOT, "test", "programs")

# Where a whole stack ends, by name; static programs and musl have the same names.
ROOT_NAME = re.compile(r"^(_start|_start_c|clone3?|__clone3?|ret_from_fork(_asm)?|start_thread"
                       r"|runtime\.(goexit|mstart|mcall|morestack|systemstack|rt0_go)(\.abi0)?"
                       r"|_rt0_amd64(_linux)?)$")


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: must run as root")
    config.addinivalue_line("markers", "needs_bpf: must be able to load BPF programs")
    config.addinivalue_line("markers", "needs_program(*names): any of these programs")


def pytest_runtest_setup(item):
    needs_bpf = item.get_closest_marker("needs_bpf")
    if (needs_bpf or item.get_closest_marker("needs_root")) and os.geteuid() != 0:
        pytest.skip("needs root")
    if needs_bpf and not os.path.exists("/sys/kernel/btf/vmlinux"):
        pytest.skip("needs BPF with type information: /sys/kernel/btf/vmlinux is missing")
    for mark in item.iter_markers("needs_program"):
        if not find_program(*[name.replace("PROGRAMS", PROGRAMS) for name in mark.args]):
            pytest.skip(f"needs the program {' or '.join(mark.args)}")


def pytest_collection_modifyitems(items):
    """Tests that sample running programs or drive a browser depend on what else the machine does at
    that moment: such a test that fails is run once more after a pause, and the second run decides.
    Both are shown."""
    for item in items:
        if item.get_closest_marker("needs_bpf") or "page_browser" in item.fixturenames:
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=5))


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.line(f"ran twice: {report.nodeid}, after")
        terminalreporter.line(str(report.longrepr).strip()[-1000:])


def weight(samples):
    """How many times the kernel saw these: equal stacks are one sample with a larger value."""
    return sum(sample.values[0] for sample in samples)


def is_kernel_only(sample):
    """In the middle of execve or exit there is no user stack: the walk is whole without one."""
    mapping = sample.frames[-1].mapping
    return "incomplete" not in sample.labels and mapping and mapping.filename == "[kernel]"


def frames_match(names, pattern):
    return any(re.search(pattern, name) for name in names)


@dataclass
class Recording:
    """What one `vesta record` left behind."""
    code: int
    stdout: str
    stderr: str
    seconds: float
    profile: pprof.Profile | None
    folded: list  # [(frames root first, count)]
    book: dict | None
    path: str

    def of(self, comm):
        """Samples of the processes with this name (comm)."""
        samples = [s for s in self.profile.samples if s.labels.get("process") == comm]
        seen = sorted({str(s.labels.get("process")) for s in self.profile.samples})
        assert samples, f"no samples of {comm}, only of {seen}"
        return samples

    def stage(self, name):
        """A page of the book: received, excluded, kept, dropped."""
        return next(stage for stage in self.book["stages"] if stage["name"] == name)

    def share(self, pattern, samples):
        """Part of the samples whose stack holds a function that matches."""
        with_it = weight(s for s in samples if frames_match(s.names, pattern))
        return with_it / (weight(samples) or 1)

    def complete_share(self, samples):
        """Part of the samples whose outermost frame is a known root."""
        whole = weight(s for s in samples if s.frames and (ROOT_NAME.match(s.names[-1])
                                                           or is_kernel_only(s)))
        return whole / (weight(samples) or 1)

    def assert_functions(self, samples, *patterns):
        """Each pattern names a function that must appear in at least two samples."""
        assert samples, f"no samples at all; {self.stderr}"
        seen = sorted({name for sample in samples for name in sample.names})
        for pattern in patterns:
            count = weight(s for s in samples if frames_match(s.names, pattern))
            assert count >= 2, f"{pattern} is in {count} of {weight(samples)} samples; seen: {seen}"


class Recorder:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def command(self, *arguments):
        """The command line of a recording and the base of its file names."""
        self.count += 1
        base = os.path.join(self.folder, f"recording{self.count}")
        head, tail = list(arguments), []
        if "--" in head:
            at = head.index("--")
            head, tail = head[:at], head[at:]
        if "--symbol-cache" not in head:  # binaries are read once for all tests
            head += ["--symbol-cache", SYMBOL_CACHE]
        return [VESTA, "record", *head, "--state-dir", base + ".state", "-o", base + ".pb.gz",
                "-o", base + ".folded", *tail], base

    def start(self, *arguments, **options):
        command, base = self.command(*arguments)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        return process, base

    def result(self, process, base, start_seconds, timeout=120):
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            stdout, stderr = process.communicate()
            raise AssertionError(f"vesta did not end within {timeout} s: {stderr}") from None
        path, profile, folded, book = base + ".pb.gz", None, [], None
        if os.path.exists(path):
            profile = pprof.load(path)
        if os.path.exists(base + ".folded"):
            with open(base + ".folded", encoding="utf-8", errors="replace") as file:
                for line in file:
                    stack, _, count = line.rstrip("\n").rpartition(" ")
                    folded.append((stack.split(";"), int(count)))
        if os.path.exists(base + ".state/last_recording.json"):
            with open(base + ".state/last_recording.json", encoding="utf-8") as file:
                book = json.load(file)
        return Recording(process.returncode, stdout, stderr, time.monotonic() - start_seconds,
                         profile, folded, book, path)

    def __call__(self, *arguments, timeout=120, expect_code=0, **options):
        """Runs `vesta record ARGUMENTS -o X.pb.gz -o X.folded` to its end."""
        start = time.monotonic()
        process, base = self.start(*arguments, **options)
        recording = self.result(process, base, start, timeout)
        assert expect_code is None or recording.code == expect_code, recording.stderr
        return recording


@pytest.fixture(scope="session", autouse=True)
def built():
    missing = [path for path in (VESTA, PROGRAMS) if not os.path.exists(path)]
    if missing:
        pytest.fail(f"not built: {', '.join(missing)}; run tools/dev build all", pytrace=False)


@pytest.fixture
def folder():
    """A temporary folder; short, since UNIX sockets live in it."""
    with tempfile.TemporaryDirectory(prefix="vesta-e2e-") as path:
        os.chmod(path, 0o755)
        yield path


@pytest.fixture(scope="session")
def page_browser():
    """One Chromium for all tests of the page; see test/e2e/page.py."""
    from page import Browser
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def new_page(page_browser):
    """new_page(width=, height=, theme=) opens a window of its own. At the end of each test no page
    may have asked the network or have run into an error."""
    pages = []

    def make(**options):
        pages.append(page_browser.page(**options))
        return pages[-1]
    yield make
    requests = [url for page in pages for url in page.requests]
    errors = [error for page in pages for error in page.errors]
    page_browser.close_pages()
    assert not requests, f"the page asked for {requests}"
    assert not errors, f"the page ran into {errors}"


@pytest.fixture
def record(folder):
    return Recorder(folder)
