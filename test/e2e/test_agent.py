"""`vesta agent`: samples of this machine in a server's store, each once, whatever ends in between."""
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

from always_on import balanced_book, program, started_for_a_test, wait_for
from conftest import VESTA
from store_server import StoreServer

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
BUSY = "import time\nend = time.time() + 120\nwhile time.time() < end:\n    sum(range(1000))\n"


class Agent:
    def __init__(self, folder, url, *arguments):
        self.state = os.path.join(folder, "state")
        self.pause_file = os.path.join(folder, "pause")
        self.log_path = os.path.join(folder, "agent.log")
        self.arguments = [VESTA, "agent", "--server", url, "--state-dir", self.state,
                          "--batch-interval", "1s", "--pause-file", self.pause_file,
                          "--frequency", "99", "--cpu-limit", "100", *arguments]
        self.start()

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={"PATH": os.environ["PATH"]})

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def book(self):
        return balanced_book(self.state)


@pytest.fixture(name="watch")
def fixture_watch(tmp_path):
    """Starts agents and servers in the test's folder; none outlives it."""
    yield from started_for_a_test(lambda kind, *arguments: kind(str(tmp_path), *arguments))


@pytest.fixture(name="busy")
def fixture_busy():
    """Starts programs that use a CPU, with more of an environment."""
    yield from started_for_a_test(
        lambda **environment: program(sys.executable, "-c", BUSY, **environment))


def agents(server):
    with urllib.request.urlopen(server.url + "/api/v1/agents", timeout=10) as answer:
        return json.load(answer)["agents"]


def sampling(server):
    """What the only agent's book says of it."""
    [agent] = [agent for agent in agents(server) if agent["agent"] != ""]
    details = agent["book"]["details"]
    return {"asked": details["sampling_millihertz_asked"],
            "now": details["sampling_millihertz_now"],
            "paused": details["is_paused"], "ended": details["is_ended"]}


def samples(server, selector, *arguments):
    """The samples that the store has of it, since the test began."""
    done = server.run("series", selector, "--from", "-10m", "--json", "--rows", "1000", *arguments)
    answer = json.loads(done.stdout)
    return sum(sum(row["counts"]) for row in [*answer["rows"], answer["rest"]])


def stored(server):
    with urllib.request.urlopen(server.url + "/api/v1/status", timeout=10) as answer:
        return json.load(answer)["store"]["rows"]


def test_each_sample_is_in_the_store_and_the_book_balances(watch, busy):
    server = watch(StoreServer)
    busy(OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="service.version=1.2")
    busy(OTEL_SERVICE_NAME="secret", VESTA_PROFILE="off")
    agent = watch(Agent, server.url, "--label", "tenant=blue")
    wait_for(lambda: any(each["rows"]["kept"] > 300 for each in agents(server)))
    assert agent.stop() == 0, agent.log()
    stages, details = agent.book()
    assert stages["kernel"]["kept"] == stages["agent"]["received"] + details["ring_waiting"]
    assert stages["agent"]["kept"] == stages["queue"]["received"]
    assert stages["queue"]["kept"] == stages["spool"]["received"]
    # A sample that is taken seldom counts for more, so that short times are told roughly.
    assert 0 < details["cpus_sampled_milli"] < 2000 * details["cpu_count"], details
    assert details["cpu_count"] == os.cpu_count()
    # The agent learns of it once, then the kernel drops its ticks.
    assert stages["agent"]["excluded"]["opted_out"] > 0
    # How soon depends on the machine; test_opt_out.py has how few reach the agent.
    assert stages["kernel"]["excluded"]["opted_out"] > 0
    assert stored(server) == stages["spool"]["kept"] > 300
    of_server = [each for each in agents(server) if each["agent"]][0]
    assert of_server["rows"]["received"] == of_server["rows"]["kept"] == stored(server)
    top = server.run("query", 'cpu{service="shop",version="1.2",tenant="blue"}', "--from", "-5m",
                     "--by", "process").stdout
    assert "python" in top, top
    nothing = server.run("query", 'cpu{service="secret"}', "--from", "-5m", "--by", "service")
    assert "100.00%" not in nothing.stdout
    server.stop()


def test_a_server_that_ends_and_comes_back_has_each_sample_once(watch, busy):
    server = watch(StoreServer)
    port = server.url.rsplit(":", 1)[1]
    busy(OTEL_SERVICE_NAME="shop")
    agent = watch(Agent, server.url)
    wait_for(lambda: stored(server) > 50)
    for _ in range(2):
        server.stop(signal.SIGKILL)
        time.sleep(4)
        assert agent.process.poll() is None
        server = watch(StoreServer, "--listen", "127.0.0.1:" + port)
        before = stored(server)
        wait_for(lambda: stored(server) > before + 50, seconds=60)
    wait_for(lambda: agent.book()[1]["spool_waiting"] == 0, seconds=60)
    assert agent.stop() == 0, agent.log()
    stages, _ = agent.book()
    assert stages["spool"]["dropped"] == {} or not any(stages["spool"]["dropped"].values()), stages
    assert stored(server) == stages["agent"]["kept"]
    assert "Connection refused" in agent.log() or "nobody" in agent.log(), agent.log()
    server.stop()


def test_an_agent_that_is_killed_again_and_again_loses_nothing_that_was_acknowledged(watch, busy):
    server = watch(StoreServer)
    busy(OTEL_SERVICE_NAME="shop")
    agent = watch(Agent, server.url)
    kept = 0
    for _ in range(4):
        wait_for(lambda: stored(server) > kept + 30)
        agent.stop(signal.SIGKILL)
        now = stored(server)
        assert now >= kept
        kept = now
        agent.start()
    wait_for(lambda: stored(server) > kept + 30)
    assert agent.stop() == 0
    ids = {each["agent"] for each in agents(server)}
    assert len(ids) == 1, "the id outlives the agent"
    rows = agents(server)[0]["rows"]
    assert rows["received"] == rows["kept"] + rows["duplicate"] == stored(server) + rows["duplicate"]
    server.stop()


def test_without_a_server_it_waits_on_the_disk_until_the_next_start(watch, busy):
    busy(OTEL_SERVICE_NAME="shop")
    agent = watch(Agent, "http://127.0.0.1:9")
    wait_for(lambda: os.path.exists(os.path.join(agent.state, "agent.json")) and
             agent.book()[1].get("spool_waiting", 0) > 100)
    assert agent.stop() == 0
    waiting = agent.book()[1]["spool_waiting"]
    assert f"{waiting} samples wait in the spool" in agent.log()
    assert "127.0.0.1:9" in agent.log()
    server = watch(StoreServer)
    agent.arguments[3] = server.url
    agent.start()
    wait_for(lambda: stored(server) >= waiting, seconds=60)
    agent.stop()
    server.stop()


def test_nothing_is_sampled_while_it_is_paused(watch, busy):
    server = watch(StoreServer)
    busy(OTEL_SERVICE_NAME="shop")
    agent = watch(Agent, server.url)
    wait_for(lambda: stored(server) > 30)
    server.run("pause", "--pause-file", agent.pause_file)
    wait_for(lambda: "paused" in agent.log())
    time.sleep(2.5)  # what was sampled before is delivered
    before = agent.book()[0]["kernel"]["received"]
    time.sleep(2)
    assert agent.book()[0]["kernel"]["received"] == before
    assert sampling(server) == {"asked": 99_000, "now": 99_000, "paused": 1, "ended": 0}
    assert "sampling: paused" in doctor(agent)
    server.run("resume", "--pause-file", agent.pause_file)
    wait_for(lambda: agent.book()[0]["kernel"]["received"] > before + 30)
    wait_for(lambda: sampling(server)["paused"] == 0)
    server.run("pause", "--pause-file", agent.pause_file, "--for", "2s")
    wait_for(lambda: agent.log().count("resumed") == 2)
    assert agent.stop() == 0
    assert sampling(server)["ended"] == 1, "the last that the server heard"
    server.stop()


def test_refusals_say_what_to_do(tmp_path, watch, busy):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    server = watch(StoreServer, "--token-file", str(token))
    busy(OTEL_SERVICE_NAME="shop")
    agent = watch(Agent, server.url)
    wait_for(lambda: "--token-file" in agent.log())
    second = subprocess.run(agent.arguments, capture_output=True, text=True, timeout=60,
                            check=False)
    assert second.returncode == 125 and "is used by process" in second.stderr, second.stderr
    agent.stop()
    wrong = subprocess.run([VESTA, "agent", "--server", "ftp://x", "--state-dir",
                            str(tmp_path / "other")], capture_output=True, text=True, timeout=60,
                           check=False)
    assert wrong.returncode == 125 and "http" in wrong.stderr
    # With the right token what has waited arrives.
    agent.arguments += ["--token-file", str(token)]
    agent.start()
    wait_for(lambda: os.path.exists(os.path.join(agent.state, "agent.json")) and
             agent.book()[1].get("spool_acknowledged", 0) > 30, seconds=60)
    agent.stop()
    server.stop()


def doctor(agent, *arguments):
    done = subprocess.run([VESTA, "doctor", "--state-dir", agent.state, *arguments],
                          capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_book_balances_from_the_tick_to_the_rows_of_the_store(watch, busy):
    server = watch(StoreServer)
    busy(OTEL_SERVICE_NAME="shop")
    busy(OTEL_SERVICE_NAME="secret", VESTA_PROFILE="off")
    agent = watch(Agent, server.url)
    wait_for(lambda: stored(server) > 300, seconds=120)

    def flow():
        report = json.loads(doctor(agent, "--server", server.url, "--json"))
        assert report["server"] == {"url": server.url, "error": "", "knows_agent": True}
        assert all(line["balances"] for line in report["flow"]), report["flow"]
        return {line["step"]: line["came"] for line in report["flow"]}
    for _ in range(5):  # while it runs
        came = flow()
        time.sleep(0.4)
    assert list(came) == ["kernel", "kernel > agent", "agent", "agent > queue", "queue",
                          "queue > spool", "spool", "spool > server", "agent > server", "server",
                          "store", "store > files"]
    assert came["agent > server"] > 0
    assert agent.stop() == 0, agent.log()
    came = flow()
    assert came["spool > server"] == came["server"] == came["store"] == stored(server)
    text = doctor(agent, "--server", server.url)
    assert text.count("  balances") == len(came) and "DOES NOT BALANCE" not in text, text
    # A book that was tampered with is told.
    path = os.path.join(agent.state, "agent.json")
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    book["stages"][2]["kept"] -= 7
    with open(path, "w", encoding="utf-8") as file:
        json.dump(book, file)
    text = doctor(agent, "--server", server.url)
    assert "DOES NOT BALANCE: 7 missing" in text, text
    server.stop()
    assert "beyond: not known, " in doctor(agent, "--server", server.url)
