"""OpenTelemetry's Collector between vesta and vesta: it reads what our agent sends, and our server
takes what it sends, be it ours or another's."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest

import otlp_messages
from store_server import StoreServer
from always_on import wait_for
from test_agent import BUSY, Agent, agents, stored
from test_otlp import PERIOD_NS, their_request
from workloads import free_port, is_listening

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
COLLECTOR = os.path.join(os.path.dirname(otlp_messages.MODULES), "collector", "otelcol")
CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  debug: {{verbosity: detailed}}
  otlp_http: {{endpoint: "{server}", compression: {compression}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{profiles: {{receivers: [otlp], exporters: [debug, otlp_http]}}}}
"""


class Collector:
    def __init__(self, folder, server, compression):
        self.port, self.log_path = free_port(), f"{folder}/collector.log"
        self.url = f"http://127.0.0.1:{self.port}"
        config = f"{folder}/collector.yaml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(port=self.port, server=server, compression=compression))
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [COLLECTOR, "--config", f"file:{config}", "--feature-gates",
                 "service.profilesSupport"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: is_listening(self.port) or self.process.poll() is not None, 60)
        assert self.process.poll() is None, self.log()

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def sample_records(self):
        return sum(map(int, re.findall(r'"sample records": (\d+)', self.log())))

    def send(self, request):
        question = urllib.request.Request(
            f"{self.url}/v1development/profiles", data=request.SerializeToString(),
            headers={"Content-Type": "application/x-protobuf"})
        with urllib.request.urlopen(question, timeout=60) as answer:
            return answer.status


@pytest.fixture(name="way")
def fixture_way(tmp_path):
    """way(compression): a server and a Collector that sends to it."""
    if not os.path.exists(COLLECTOR):
        pytest.skip("needs an OpenTelemetry Collector: tools/dev deps test builds it where Go is new "
                    "enough (see test/otelcol/go.mod)")
    with contextlib.ExitStack() as stack:
        def start(compression):
            server = StoreServer(str(tmp_path))
            stack.callback(server.stop)
            collector = Collector(str(tmp_path), server.url, compression)
            stack.callback(collector.process.wait)
            stack.callback(collector.process.kill)
            return server, collector
        yield start


def test_what_our_agent_sends_passes_a_collector_unchanged(way, tmp_path):
    server, collector = way("zstd")
    busy = subprocess.Popen([sys.executable, "-c", BUSY], env={
        "PATH": os.environ["PATH"], "OTEL_SERVICE_NAME": "shop",
        "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2"})
    agent = Agent(str(tmp_path), collector.url)
    try:
        wait_for(lambda: stored(server) > 300, 120)
        assert agent.stop() == 0, agent.log()
        kept = agent.book()[0]["spool"]["kept"]
        wait_for(lambda: stored(server) >= kept, 60)
    finally:
        for process in (busy, agent.process):
            process.kill()
            process.wait()
    assert stored(server) == kept
    sender, = agents(server)
    with open(f"{agent.state}/agent_id", encoding="utf-8") as file:
        assert sender["agent"] == file.read().strip()
    assert sender["rows"]["received"] == kept and sender["rows"]["rejected"] == 0, sender
    assert [s["name"] for s in sender["book"]["stages"]] == ["kernel", "agent", "queue", "spool"]
    table = server.run("query", 'cpu{service="shop",version="1.2"}', "--from", "-5m").stdout
    assert "PyLong_FromLong" in table or "python" in table, table
    # It has read them, too: its own words.
    log = collector.log()
    assert collector.sample_records() > 10 and "service.name: Str(shop)" in log, log[-3000:]
    assert "profile.frame.type" in log
    assert "cannot deliver" not in agent.log(), agent.log()


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_another_senders_profiles_arrive_through_a_collector(way, compression):
    server, collector = way(compression)
    request = their_request(otlp_messages.load() or pytest.skip(otlp_messages.MISSING))
    now = time.time_ns()
    profile = request.resource_profiles[0].scope_profiles[0].profiles[0]
    moved = now - profile.time_unix_nano
    profile.time_unix_nano = now
    for sample in profile.samples:
        times = [at + moved for at in sample.timestamps_unix_nano]
        del sample.timestamps_unix_nano[:]
        sample.timestamps_unix_nano.extend(times)
    assert collector.send(request) == 200
    wait_for(lambda: stored(server) == 4, 60)
    report = json.loads(server.run("query", 'cpu{service="shop"}', "--from", "-5m", "--json").stdout)
    totals = {row["name"]: row["self"] for row in report["rows"]}
    assert totals == {"work": {"value": 3 * PERIOD_NS, "count": 3},
                      "main": {"value": PERIOD_NS, "count": 1}}, report["rows"]
