"""What deploy/ has: units that systemd accepts, and an agent with exactly the capabilities that they
name, each of which is needed."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import pprof
from conftest import PROGRAMS, ROOT, VESTA
from store_server import StoreServer
from always_on import wait_for
from test_agent import agents

UNITS = os.path.join(ROOT, "deploy", "systemd")
READER = ("f = open('/dev/zero', 'rb', buffering=0)\n"
          "while True:\n    f.read(1 << 22)\n")


def setting(unit, name):
    """The words of all lines NAME=... of a unit."""
    with open(os.path.join(UNITS, unit), encoding="utf-8") as file:
        return [word for line in file if line.startswith(name + "=")
                for word in line.split("=", 1)[1].split()]


@pytest.mark.needs_program("systemd-analyze")
@pytest.mark.parametrize("unit, exposure_max", [
    ("vesta-agent.service", 3.0), ("vesta.service", 3.0), ("vesta-server.service", 1.2)])
def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path, unit, exposure_max):
    # The binary that it names need not be installed here.
    with open(os.path.join(UNITS, unit), encoding="utf-8") as file:
        text = file.read()
    assert "ExecStart=/usr/bin/vesta " in text
    path = tmp_path / unit
    path.write_text(text.replace("/usr/bin/vesta", VESTA))
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True,
                          timeout=120, check=False)
    told = [line for line in (done.stdout + done.stderr).splitlines() if unit in line]
    assert done.returncode == 0 and not told, done.stderr
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(path)],
                           capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"exposure level for .*: ([0-9.]+)", rated.stdout)
    assert found and float(found.group(1)) <= exposure_max, rated.stdout


@pytest.mark.parametrize("unit, command", [
    ("vesta-agent.service", "agent"), ("vesta.service", "up"), ("vesta-server.service", "server")])
def test_the_command_line_of_the_unit_is_one(unit, command):
    line = setting(unit, "ExecStart")
    assert line[:2] == ["/usr/bin/vesta", command]
    helped = subprocess.run([VESTA, "help", command, "--expert"], capture_output=True, text=True,
                            timeout=60, check=True).stdout
    for flag in [word for word in line if word.startswith("--")]:
        assert flag in helped
    for name in os.listdir(UNITS):
        if not name.endswith(".env"):
            continue
        for key in re.findall(r"^#?(VESTA_\w+)=", open(os.path.join(UNITS, name), encoding="utf-8").read(),
                              re.M):
            config = open(os.path.join(ROOT, "docs", "config.md"), encoding="utf-8").read()
            assert f"`{key}`" in config, key


def test_what_it_may_and_what_it_has_are_the_same():
    for unit in ("vesta-agent.service", "vesta.service"):
        assert setting(unit, "AmbientCapabilities") == setting(unit, "CapabilityBoundingSet")
        assert setting(unit, "AmbientCapabilities") == setting("vesta-agent.service",
                                                               "AmbientCapabilities")
    assert setting("vesta-server.service", "CapabilityBoundingSet") == []


def confined(capabilities, *command):
    """As a unit would run it: another user, these capabilities and no more, no way to new ones, in
    mounts of its own where only what is below /var/tmp can be written."""
    names = ["-all"] + [f"+{name.lower().removeprefix('cap_')}" for name in capabilities]
    joined = ",".join(names)
    mounts = ("mount --make-rprivate / && mount --bind /var/tmp /var/tmp && mount -o "
              "remount,bind,ro / && exec \"$@\"")
    return ["unshare", "--mount", "sh", "-c", mounts, "sh",
            "setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--no-new-privs",
            f"--bounding-set={joined}", f"--inh-caps={joined}", f"--ambient-caps={joined}", "--",
            *command]


@pytest.fixture(name="open_folder")
def fixture_open_folder():
    """A folder that every user may enter, with our binary in it."""
    folder = tempfile.mkdtemp(prefix="vesta-deploy-", dir="/var/tmp")
    os.chmod(folder, 0o755)
    shutil.copy(VESTA, os.path.join(folder, "vesta"))
    state = os.path.join(folder, "state")
    os.mkdir(state)
    shutil.chown(state, "nobody", "nogroup")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(name="witnesses")
def fixture_witnesses(open_folder):
    """Programs of root, each of which can be seen only with one of the capabilities."""
    hidden = os.path.join(open_folder, "hidden")
    os.mkdir(hidden, 0o700)
    secret, deleted = os.path.join(hidden, "secret"), os.path.join(open_folder, "deleted")
    shutil.copy(os.path.join(PROGRAMS, "spinner"), secret)
    os.chmod(secret, 0o700)
    # Another image than the other one, whose file is there.
    shutil.copy(os.path.join(PROGRAMS, "spin_00"), deleted)
    environment = {"PATH": os.environ["PATH"], "OTEL_SERVICE_NAME": "witness"}
    started = [subprocess.Popen([secret, "600"], env=environment),
               subprocess.Popen([deleted, "600"], env=environment),
               subprocess.Popen([sys.executable, "-c", READER], env=environment)]
    wait_for(lambda: os.readlink(f"/proc/{started[1].pid}/exe") == deleted)
    os.unlink(deleted)
    yield dict(zip(("secret", "deleted", "reader"), (process.pid for process in started)))
    for process in started:
        process.kill()
        process.wait()


def observe(folder, witnesses, capabilities):
    """What a recording with these capabilities knows of the witnesses; None when it does not start."""
    out = os.path.join(folder, "state", f"{time.monotonic_ns()}.pb.gz")
    pids = [word for pid in witnesses.values() for word in ("--pid", str(pid))]
    done = subprocess.run(
        confined(capabilities, os.path.join(folder, "vesta"), "record", *pids, "--duration", "3s",
                 "--state-dir", os.path.join(folder, "state"), "--symbol-cache", "off",
                 "--cpu-limit", "100", "-o", out),
        capture_output=True, text=True, timeout=300, check=False, cwd="/",
        env={"PATH": os.environ["PATH"]})
    if done.returncode != 0:
        assert done.returncode == 125 and "CAP_BPF and CAP_PERFMON" in done.stderr, done.stderr
        return None
    profile = pprof.load(out)
    seen = set()
    for sample in profile.samples:
        pid = sample.labels.get("pid")
        who = next((name for name, number in witnesses.items() if number == pid), None)
        names = sample.names
        if who in ("secret", "deleted") and any(name.startswith("spin_leaf") for name in names):
            seen.add(who)
        if who == "reader" and any("read_zero" in name or "ksys_read" in name for name in names):
            seen.add("kernel")
        if sample.labels.get("service.name") == "witness":
            seen.add("labels")
    return seen


ALL = {"secret", "deleted", "kernel", "labels"}
NEEDED_FOR = {
    "CAP_BPF": None,
    "CAP_PERFMON": None,
    "CAP_SYS_PTRACE": "secret",  # and labels: newer kernels show these for CAP_PERFMON, too
    "CAP_DAC_READ_SEARCH": "secret",  # its folder may be entered by root alone
    "CAP_CHECKPOINT_RESTORE": "deleted",
    "CAP_SYSLOG": "kernel",
}


@pytest.mark.needs_root
@pytest.mark.needs_bpf
@pytest.mark.needs_program("setpriv")
def test_each_capability_of_the_unit_is_needed_and_no_other(open_folder, witnesses):
    of_unit = setting("vesta-agent.service", "AmbientCapabilities")
    assert sorted(of_unit) == sorted(NEEDED_FOR)
    assert observe(open_folder, witnesses, of_unit) == ALL
    for capability, thing in NEEDED_FOR.items():
        seen = observe(open_folder, witnesses, [each for each in of_unit if each != capability])
        if thing is None:
            assert seen is None, capability
        else:
            assert seen is not None and thing not in seen, (capability, seen)


@pytest.mark.needs_root
@pytest.mark.needs_bpf
@pytest.mark.needs_program("setpriv")
def test_the_agent_runs_with_exactly_the_capabilities_of_its_unit(tmp_path, open_folder, witnesses):
    server = StoreServer(str(tmp_path))
    of_unit = setting("vesta-agent.service", "AmbientCapabilities")
    state = os.path.join(open_folder, "state")
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        agent = subprocess.Popen(
            confined(of_unit, os.path.join(open_folder, "vesta"), "agent", "--state-dir", state,
                     "--server", server.url, "--batch-interval", "1s", "--frequency", "99",
                     "--cpu-limit", "100"),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env={"PATH": os.environ["PATH"]})
    try:
        wait_for(lambda: any(each["rows"]["kept"] > 500 for each in agents(server)), seconds=120)

        def names():
            return server.run("query", 'cpu{service="witness"}', "--from", "-10m", "--rows", "200").stdout
        wait_for(lambda: "spin_leaf_plain" in names(), seconds=120)
        assert "spin_leaf_00" in names(), names()
        status = open(f"/proc/{agent.pid}/status", encoding="utf-8").read()
        assert re.search(r"^Uid:\s+65534\s", status, re.M), status
        for line in ("CapEff", "CapBnd"):
            mask = int(re.search(rf"^{line}:\s+(\w+)", status, re.M).group(1), 16)
            assert bin(mask).count("1") == len(of_unit), status
    finally:
        agent.send_signal(signal.SIGTERM)
        code = agent.wait(timeout=60)
        server.stop()
    text = (tmp_path / "log").read_text()
    assert code == 0, text
    assert "refused" not in text and "denied" not in text, text
