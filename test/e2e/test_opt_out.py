"""Processes that are not to be sampled: by their own environment, or by --exclude. The agent learns of
each once, then the kernel drops its ticks; an exec, or another process with its pid, inherits nothing."""
import json
import os
import subprocess
import sys
import time

import pytest

from conftest import PROGRAMS, VESTA
from store_server import StoreServer
from always_on import wait_for
from test_agent import Agent, fixture_busy, fixture_watch, samples  # noqa: F401

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
# Runs until it has used that much processor time, so that a slow machine has as many ticks.
SPIN = ("import time\n"
        "end = time.process_time() + {seconds}\n"
        "while time.process_time() < end:\n    sum(range(1000))\n")


def excluded(agent, reason):
    """(in the kernel, in the agent) so far."""
    stages, _ = agent.book()
    return tuple(stages[name]["excluded"].get(reason, 0) for name in ("kernel", "agent"))


def has_book(agent):
    return os.path.exists(os.path.join(agent.state, "agent.json"))


def test_who_a_rule_names_is_dropped_by_the_kernel(watch, busy):
    server = watch(StoreServer)
    busy(OTEL_SERVICE_NAME="shop")
    busy(OTEL_SERVICE_NAME="vault", OTEL_RESOURCE_ATTRIBUTES="service.version=2")
    agent = watch(Agent, server.url, "--exclude", '{service="vault",version=~"2|3"}', "--exclude",
                  '{process="no such"}')
    wait_for(lambda: has_book(agent) and excluded(agent, "by_rule")[0] > 100, seconds=120)
    wait_for(lambda: samples(server, 'cpu{service="shop"}') > 100, seconds=120)
    assert agent.stop() == 0, agent.log()
    in_kernel, in_agent = excluded(agent, "by_rule")
    assert 0 < in_agent < in_kernel / 5
    assert excluded(agent, "opted_out") == (0, 0)
    assert samples(server, 'cpu{service="vault"}') == 0
    server.stop()


@pytest.mark.parametrize("opted_out, sampled", [("before", "after"), ("after", "before")])
def test_an_exec_is_looked_at_anew(watch, opted_out, sampled):
    """One process, which executes another program; one of the two has opted out."""
    def environment(name):
        out = {"VESTA_PROFILE": "off"} if name == opted_out else {}
        return {"OTEL_SERVICE_NAME": name, "PATH": os.environ["PATH"], **out}
    server = watch(StoreServer)
    agent = watch(Agent, server.url)
    wait_for(lambda: has_book(agent))
    second = SPIN.format(seconds=3)
    first = SPIN.format(seconds=3) + (
        "import os, sys\n"
        f"os.execve(sys.executable, ['python3', '-c', {second!r}], {environment('after')!r})\n")
    subprocess.run([sys.executable, "-c", first], check=True, timeout=300,
                   env=environment("before"))
    # 3 s at 99 Hz each.
    wait_for(lambda: samples(server, f'cpu{{service="{sampled}"}}') > 200)
    wait_for(lambda: excluded(agent, "opted_out")[0] > 200)
    assert agent.stop() == 0, agent.log()
    assert samples(server, f'cpu{{service="{opted_out}"}}') == 0
    server.stop()


def spin_with_pid(pid, environment):
    """Starts a program that has that pid: the kernel is told which number comes next. None when another
    process was faster."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as file:
        file.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        os.execve(sys.executable, ["python3", "-c", SPIN.format(seconds=3)],
                  {"PATH": os.environ["PATH"], **environment})
    if child != pid:
        os.kill(child, 9)
    os.waitpid(child, 0)
    return child if child == pid else None


def test_another_process_with_the_same_pid_is_sampled(watch):
    if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        pytest.skip("this kernel does not let us choose a pid: it has no CONFIG_CHECKPOINT_RESTORE")
    server = watch(StoreServer)
    agent = watch(Agent, server.url)
    wait_for(lambda: has_book(agent))
    # A pid that nobody near uses.
    pid = int(open("/proc/sys/kernel/pid_max", encoding="utf-8").read()) - 5000
    for _ in range(20):
        if spin_with_pid(pid, {"OTEL_SERVICE_NAME": "secret", "VESTA_PROFILE": "off"}):
            break
        pid -= 7
    else:
        pytest.fail("the pid was taken each time")
    before = excluded(agent, "opted_out")[0]
    for _ in range(20):
        if spin_with_pid(pid, {"OTEL_SERVICE_NAME": "open"}):
            break
    else:
        pytest.fail("the pid was taken each time")
    wait_for(lambda: samples(server, f'cpu{{service="open",pid="{pid}"}}') > 200, seconds=60)
    assert agent.stop() == 0, agent.log()
    assert before > 100 and excluded(agent, "opted_out")[0] < before + 200
    assert samples(server, 'cpu{service="secret"}') == 0
    server.stop()


@pytest.mark.parametrize("loop", ["bpf_loop", "bounded"])
def test_a_recording_says_what_it_left_out(tmp_path, loop):
    done = subprocess.run([VESTA, "record", "--unwind-loop", loop, "--exclude",
                           '{process="spinner"}', "--state-dir", str(tmp_path), "--",
                           os.path.join(PROGRAMS, "spinner"), "2"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "samples were left out: of processes that --exclude names" in done.stdout, done.stdout
    book = json.loads((tmp_path / "last_recording.json").read_text())
    kernel, agent = book["stages"][:2]
    assert kernel["excluded"]["by_rule"] > 50
    assert agent["received"] == sum(agent["excluded"].values()) + agent["kept"] + sum(
        agent["dropped"].values())


@pytest.mark.parametrize("selector, why", [
    ("{}", "every process"),
    ('cpu{service="x"}', "labels alone"),
    ('{thread="x"}', "no label thread"),
    ("{service=x}", "position 10"),
])
def test_a_rule_that_cannot_be_is_refused_at_once(tmp_path, selector, why):
    done = subprocess.run([VESTA, "agent", "--exclude", selector, "--state-dir", str(tmp_path)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 125
    assert f"--exclude {selector}: " in done.stderr and why in done.stderr, done.stderr
