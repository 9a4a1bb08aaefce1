"""A full disk under the spool of `vesta agent`: it says so, waits in memory, and delivers all later."""
import os
import subprocess
import sys

import pytest

from store_server import StoreServer
from always_on import wait_for
from test_agent import BUSY, Agent, stored
from workloads import free_port

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
WAIT_S = 120


def test_what_a_full_disk_does_not_take_waits_in_memory(tmp_path):
    spool, port = tmp_path / "state" / "spool", free_port()
    spool.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=750", "none", spool], check=True)
    filler = spool / "filler"
    with open(filler, "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(b"x" * 4096)
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    agent = Agent(str(tmp_path), f"http://127.0.0.1:{port}", "--symbol-cache",
                  str(tmp_path / "symbols"))
    server = None
    try:
        wait_for(lambda: os.path.exists(f"{agent.state}/agent.json") and
                 agent.book()[1]["queue_waiting"] > 200, WAIT_S)
        assert "the spool takes nothing" in agent.log(), agent.log()
        assert agent.process.poll() is None
        filler.unlink()
        wait_for(lambda: agent.book()[1]["spool_waiting_records"] > 3, WAIT_S)
        server = StoreServer(str(tmp_path), "--listen", f"127.0.0.1:{port}")
        wait_for(lambda: stored(server) > 0 and agent.book()[1]["spool_waiting_records"] == 0,
                 WAIT_S)
        assert agent.stop() == 0, agent.log()
        stages, details = agent.book()
        assert stored(server) == stages["agent"]["kept"] == details["spool_acknowledged"]
        assert not any(stages["spool"]["dropped"].values()), stages
        assert agent.log().count("the spool takes nothing") <= 2, agent.log()
    finally:
        for process in (busy, agent.process):
            process.kill()
            process.wait()
        if server is not None:
            server.stop()
        subprocess.run(["umount", "-l", spool], check=False)
