"""Servers that refuse, hang, lie or cannot be trusted: `vesta agent` says it once and in plain words,
keeps the samples, and delivers each once when the server is well again.

All agents run at the same time, each with a receiver of its own that is well, then ill, then well.
"""
import os
import subprocess
import sys

import pytest

import otlp_messages
from otlp_receiver import OtlpReceiver, tls_context
from always_on import wait_for
from test_agent import BUSY, Agent

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]

# What happens to the receiver: what the agent says of it.
ILLNESSES = {
    "closed": "nobody listens at",
    "reset": "ended the connection",
    "half": "ended the connection",
    "garbage": "does not speak HTTP",
    "hang": "did not answer within 20 s",
    "busy": "HTTP 429 too many",
    "unavailable": "HTTP 503 not now",
    "unauthorized": "look at --token-file",
    "broken": "HTTP 500 <html>oops</html>",
    "moved": "HTTP 302",
    "self-signed": "self-signed certificate",
    "expired": "certificate has expired",
    "other host": "no alternative certificate subject name matches",
}
# Taken, whatever the answer says besides; or refused for good.
ENDURED = ["odd", "too large"]
WAIT_SECONDS = 180


class Patient:
    def __init__(self, folder, illness, tls):
        self.illness, self.tls = illness, tls
        self.receiver = OtlpReceiver(tls=tls["good"] if illness in tls else None)
        self.agent = Agent(folder, self.receiver.url, *(
            ["--ca-file", tls["authority"]] if illness in tls else []))

    def sicken(self):
        if self.illness in self.tls:
            self.receiver.tls = self.tls[self.illness]
        elif self.illness == "closed":
            self.receiver.close()
        else:
            self.receiver.mode = self.illness
        self.receiver.hang_up()

    def heal(self):
        if self.illness in self.tls:
            self.receiver.tls = self.tls["good"]
        elif self.illness == "closed":
            self.receiver.reopen()
        self.receiver.mode = "take"

    def has(self, detail):
        return self.agent.book()[1].get(detail, 0) if os.path.exists(
            f"{self.agent.state}/agent.json") else 0

    def complaints(self):
        return [line for line in self.agent.log().splitlines() if "cannot deliver" in line]


@pytest.fixture(scope="module", name="patients")
def fixture_patients(tmp_path_factory):
    """All illnesses, gone through: {illness: patient}."""
    if otlp_messages.load() is None:
        pytest.skip(otlp_messages.MISSING)
    folder = tmp_path_factory.mktemp("network")
    authority = tls_context(folder, "authority")[1]
    tls = {"authority": authority, "good": tls_context(folder, "good", "authority")[0],
           "self-signed": tls_context(folder, "self-signed")[0],
           "expired": tls_context(folder, "expired", "authority", days=-1)[0],
           "other host": tls_context(folder, "other", "authority", host="example.org")[0]}
    busy = subprocess.Popen([sys.executable, "-c", BUSY.replace("120", "600")])
    patients = {}
    try:
        for illness in [*ILLNESSES, *ENDURED]:
            home = folder / illness.replace(" ", "_")
            home.mkdir()
            patients[illness] = Patient(str(home), illness, tls)
        everyone = patients.values()
        wait_for(lambda: all(len(each.receiver.took) >= 2 for each in everyone), WAIT_SECONDS)
        for each in everyone:
            each.sicken()
        wait_for(lambda: all(patients[name].complaints() for name in ILLNESSES), WAIT_SECONDS)
        wait_for(lambda: all(patients[name].has("delivery_failures") >= 3 and
                             patients[name].has("spool_waiting") > 100
                             for name in ILLNESSES if name != "hang"), WAIT_SECONDS)
        for each in everyone:
            each.heal()
        wait_for(lambda: all(each.has("spool_waiting_records") == 0 for each in everyone), WAIT_SECONDS)
        for each in everyone:
            each.code = each.agent.stop()
        yield patients
    finally:
        busy.kill()
        busy.wait()
        for each in patients.values():
            each.agent.process.kill()
            each.agent.process.wait()
            each.receiver.close()


@pytest.mark.parametrize("illness", [*ILLNESSES, *ENDURED])
def test_each_sample_arrives_once(patients, illness):
    patient = patients[illness]
    log = patient.agent.log()
    assert patient.code == 0, log
    assert not patient.receiver.problems
    stages, details = patient.agent.book()
    assert stages["agent"]["kept"] == stages["spool"]["received"], stages
    assert details["spool_waiting"] == details["queue_waiting"] == 0
    rows = {}
    for took in patient.receiver.took:
        # The one that came again, since the answer to the first one was lost, is the same.
        assert rows.setdefault((took.boot, took.sequence), took.rows) == took.rows, took
    refused = sum(stages["spool"]["dropped"].values())
    assert sum(rows.values()) == stages["spool"]["kept"] == details["spool_acknowledged"]
    if illness == "too large":
        assert 0 < refused == stages["spool"]["dropped"]["refused"]
        assert "refused for good" in log and "HTTP 413 the body is too large" in log, log
        assert "samples were lost by that so far" in log and len(log.splitlines()) < 6, log
    else:
        assert refused == 0 and stages["agent"]["kept"] == sum(rows.values()), stages
    acknowledged = [(took.boot, took.sequence) for took in patient.receiver.took
                    if took.acknowledged]
    assert len(acknowledged) == len(set(acknowledged)), "an acknowledged batch came again"


@pytest.mark.parametrize("illness", ILLNESSES)
def test_it_says_once_what_is_wrong_and_when_it_is_well(patients, illness):
    patient = patients[illness]
    complaints = patient.complaints()
    assert ILLNESSES[illness] in complaints[0], complaints
    assert len(complaints) <= 2, complaints
    if illness in patient.tls:
        assert "give the file of who signed it by --ca-file" in complaints[0], complaints
    assert patient.agent.log().count("delivers again after") == 1, patient.agent.log()


@pytest.mark.parametrize("illness", sorted(set(ILLNESSES) - {"hang"}))
def test_what_waited_follows_in_order(patients, illness):
    """Besides what is fresh: that comes at once."""
    patient = patients[illness]
    order = [took.sequence for took in patient.receiver.took if took.acknowledged]
    newest, late = 0, []
    for sequence in order:
        if sequence > newest:
            newest = sequence
        else:
            late.append(sequence)
    assert late == sorted(late), order
    assert len(order) >= 10, order


@pytest.mark.parametrize("illness", ["busy", "unavailable"])
def test_it_waits_as_long_as_it_is_asked_to(patients, illness):
    """Retry-After is 3 s; the first pause of its own would be one of at most 1 s."""
    receiver = patients[illness].receiver
    gaps = [later - earlier for earlier, later in zip(receiver.refused_at, receiver.refused_at[1:])]
    assert gaps and min(gaps) >= 2.9, gaps


def test_endured_answers_are_no_failures(patients):
    odd = patients["odd"]
    assert not odd.complaints(), odd.agent.log()
    assert odd.has("delivery_failures") == 0
