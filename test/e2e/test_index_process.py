"""`vesta index-image`, the process that builds the symbol index of one image: its limits, what it
says, and debuginfod servers that are slow, wrong, or send without end."""
import http.server
import json
import os
import resource
import signal
import subprocess
import threading
import time

import pytest

from conftest import VESTA

SOURCE = """
volatile int sink;
static __attribute__((noinline)) int hidden(int x) { sink = x; return x * 3 + sink; }
int work(int x) { return hidden(x) + 1; }
int main(int argc, char** argv) { (void)argv; return work(argc) & 1; }
"""
MB = 1 << 20


class Outcome:
    def __init__(self, done, seconds, index_bytes):
        self.status = done.returncode
        self.seconds = seconds
        self.index_bytes = index_bytes
        self.last = done.stdout.splitlines()[-1] if done.stdout else ""
        reports = [line for line in done.stdout.splitlines() if line.startswith("report ")]
        self.report = json.loads(reports[0][len("report "):]) if reports else {}
        self.text = done.stdout + done.stderr


@pytest.fixture
def build_index(tmp_path):
    def run(image, *options, root=tmp_path, scratch=True):
        index = tmp_path / "index"
        fds = [os.open(image, os.O_RDONLY), os.open(index, os.O_RDWR | os.O_CREAT | os.O_TRUNC)]
        try:
            command = [VESTA, "index-image", "--image-fd", str(fds[0]), "--index-fd", str(fds[1]),
                       "--path", "/" + os.path.relpath(image, root), "--root", str(root), *options]
            if scratch:
                command += ["--scratch", str(tmp_path)]
            start = time.monotonic()
            done = subprocess.run(command, pass_fds=fds, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=120)
            return Outcome(done, time.monotonic() - start, index.stat().st_size)
        finally:
            for fd in fds:
                os.close(fd)

    return run


@pytest.fixture
def program(tmp_path):
    """`prog`, stripped, and prog.debug, which nothing leads to but its build id."""
    (tmp_path / "work.c").write_text(SOURCE)
    subprocess.run("gcc -O1 -g -rdynamic -Wl,--build-id work.c -o prog && mkdir elsewhere && "
                   "objcopy --only-keep-debug prog elsewhere/prog.debug && strip prog",
                   shell=True, check=True, cwd=tmp_path)
    return tmp_path / "prog"


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return notes.stdout.split("Build ID: ")[1].split()[0]


# ---- the process


def test_says_what_it_did(build_index, program):
    outcome = build_index(program)
    assert outcome.status == 0 and outcome.last == "ok debug=no", outcome.text
    assert outcome.report["identity"] == "gnu:" + build_id_of(program)
    assert outcome.report["index_bytes"] == outcome.index_bytes > 0
    whole = build_index(VESTA)
    assert whole.status == 0 and whole.last == "ok debug=yes", whole.text
    assert "own debug information" in whole.report["sources"]
    assert "progress 100 100" in whole.text


def test_another_file_than_the_agent_knows_is_refused(build_index, program):
    outcome = build_index(program, "--identity", "gnu:00")
    assert outcome.status == 14 and outcome.last.startswith("failed changed "), outcome.text


def test_no_elf_file_has_its_exit_status(build_index, tmp_path):
    (tmp_path / "script").write_text("#!/bin/sh\n" * 20)
    outcome = build_index(tmp_path / "script")
    assert outcome.status == 10 and outcome.last.startswith("failed corrupt "), outcome.text


def test_wrong_arguments(build_index, program):
    outcome = build_index(program, "--other", "1")
    assert outcome.status == 2 and "--other" in outcome.last, outcome.text


def test_the_memory_limit_is_reported(build_index):
    outcome = build_index(VESTA, "--memory-bytes", str(4 * MB))
    assert outcome.status == 12, outcome.text
    assert outcome.last.startswith(("failed memory ", "failed limit_reached ")), outcome.text


def test_unpacked_sections_beyond_the_limit_leave_symbols(build_index, program, tmp_path):
    subprocess.run("gcc -O1 -g work.c -o packed && objcopy --compress-debug-sections=zlib packed",
                   shell=True, check=True, cwd=tmp_path)
    outcome = build_index(tmp_path / "packed", "--unpacked-bytes", "100")
    assert outcome.status == 0 and outcome.last == "ok debug=no", outcome.text
    assert any(".debug_info" in reason for reason in outcome.report["reasons"])


@pytest.fixture
def waiting(tmp_path, program):
    """The process while it waits for a server."""
    server = Server(lambda handler: time.sleep(2))
    fds = [os.open(program, os.O_RDONLY),
           os.open(tmp_path / "index", os.O_RDWR | os.O_CREAT | os.O_TRUNC)]
    process = subprocess.Popen(
        [VESTA, "index-image", "--image-fd", str(fds[0]), "--index-fd", str(fds[1]), "--path",
         "/prog", "--root", str(tmp_path), "--debuginfod", server.url], pass_fds=fds,
        stdout=subprocess.PIPE, text=True)
    try:
        assert server.arrived.wait(30)
        yield process
    finally:
        process.kill()
        process.wait()
        server.close()
        for fd in fds:
            os.close(fd)


def test_lowers_itself(waiting):
    with open(f"/proc/{waiting.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    assert fields[16] == "19"  # nice
    assert os.sched_getscheduler(waiting.pid) == os.SCHED_BATCH
    limits = {which: resource.prlimit(waiting.pid, which)[1] for which in
              (resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_CORE)}
    assert limits[resource.RLIMIT_DATA] == 1 << 30 and limits[resource.RLIMIT_CORE] == 0
    assert 0 < limits[resource.RLIMIT_CPU] < 1000
    with open(f"/proc/{waiting.pid}/status") as file:
        assert "NoNewPrivs:\t1" in file.read()


@pytest.mark.parametrize("sent,status,word", [
    (signal.SIGXCPU, 12, "failed time "),
    (signal.SIGBUS, 13, "failed crashed a file became shorter"),
    (signal.SIGSEGV, 13, "failed crashed "),
    (signal.SIGKILL, -signal.SIGKILL, ""),
])
def test_how_it_ends_is_told(waiting, sent, status, word):
    waiting.send_signal(sent)
    text, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == status
    assert text.startswith(word)


# ---- debuginfod


class Server:
    def __init__(self, answer):
        asked = self.asked = []
        arrived = self.arrived = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                arrived.set()
                try:
                    answer(self)
                except OSError:
                    pass  # the client left

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def serve():
    servers = []

    def start(answer):
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def sends(content, status=200):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
    return answer


def test_debuginfod_is_asked_once_and_the_answer_is_kept(build_index, program, serve, tmp_path):
    server = serve(sends((tmp_path / "elsewhere/prog.debug").read_bytes()))
    for _ in range(2):
        outcome = build_index(program, "--debuginfod", server.url + "/")
        assert outcome.status == 0 and outcome.last == "ok debug=yes", outcome.text
        assert any("debuginfod:" in source for source in outcome.report["sources"])
    assert server.asked == [f"/buildid/{build_id_of(program)}/debuginfo"]


def test_nobody_is_asked_by_default(build_index, program, monkeypatch, serve):
    server = serve(sends(b"", status=404))
    monkeypatch.setenv("DEBUGINFOD_URLS", server.url)
    assert build_index(program).last == "ok debug=no"
    assert server.asked == []


def test_the_next_server_is_asked(build_index, program, serve, tmp_path):
    first = serve(sends(b"no", status=404))
    second = serve(sends((tmp_path / "elsewhere/prog.debug").read_bytes()))
    outcome = build_index(program, "--debuginfod", first.url, "--debuginfod", second.url)
    assert outcome.last == "ok debug=yes", outcome.text
    assert len(first.asked) == 1
    assert any("does not have it" in reason for reason in outcome.report["reasons"])


def refused(outcome, tmp_path, reason):
    assert outcome.status == 0 and outcome.last == "ok debug=no", outcome.text
    assert any(reason in text for text in outcome.report["reasons"]), outcome.text
    assert not list(tmp_path.glob("debuginfod-*"))


def test_a_slow_server_costs_the_timeout(build_index, program, serve, tmp_path):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.1)

    outcome = build_index(program, "--debuginfod", serve(drip).url, "--debuginfod-ms", "1000")
    refused(outcome, tmp_path, "did not answer within")
    assert outcome.seconds < 8


def test_an_answer_without_end_is_cut(build_index, program, serve, tmp_path):
    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(MB))

    outcome = build_index(program, "--debuginfod", serve(flood).url, "--debuginfod-bytes",
                          str(4 * MB))
    refused(outcome, tmp_path, "has more than")


def test_a_file_with_another_build_id_is_refused(build_index, program, serve, tmp_path):
    with open(VESTA, "rb") as file:
        server = serve(sends(file.read()))
    refused(build_index(program, "--debuginfod", server.url), tmp_path, "another build id")


def test_a_server_that_is_not_there(build_index, program, serve, tmp_path):
    server = serve(sends(b""))
    url = server.url.rsplit(":", 1)[0] + ":1"
    refused(build_index(program, "--debuginfod", url), tmp_path, "nobody listens")


def test_redirects_to_files_are_not_followed(build_index, program, serve, tmp_path):
    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", f"file://{tmp_path}/elsewhere/prog.debug")
        handler.end_headers()

    refused(build_index(program, "--debuginfod", serve(redirect).url), tmp_path, "debuginfod")
