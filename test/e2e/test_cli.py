"""The command line as a user meets it: help, refusals, exit codes, doctor, and the table of a file."""
import json
import os
import subprocess

import pytest

from conftest import VESTA

# A bare environment: the tests must not depend on the settings of whoever runs them.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture
def vesta(folder):
    """Runs vesta with a home of its own; keyword arguments are environment variables."""
    def run(*arguments, prefix=(), **environment):
        return subprocess.run([*prefix, VESTA, *arguments], capture_output=True, text=True,
                              timeout=60, env={**ENVIRONMENT, "HOME": folder, **environment})
    return run


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_help_of_each_command_has_examples(vesta):
    overview = vesta("help")
    assert overview.returncode == 0
    assert overview.stdout == vesta().stdout == vesta("--help").stdout
    for command in ("record", "top", "convert", "diff", "doctor"):
        assert f"vesta {command}" in overview.stdout
        page = vesta("help", command)
        assert page.returncode == 0 and not page.stderr
        assert "Examples\n" in page.stdout and f"  vesta {command}" in page.stdout
        assert vesta(command, "--help").stdout == page.stdout


def test_version_is_one_line(vesta):
    assert vesta("version").stdout == vesta("--version").stdout
    assert vesta("version").stdout.startswith("vesta 0.")


def test_refusals_list_every_problem_and_exit_with_125(vesta):
    done = vesta("record", "--duraton", "10s", "-F", "0", VESTA_SORT="down")
    assert done.returncode == 125 and not done.stdout
    assert "did you mean --duration?" in done.stderr
    assert "-F 0 is out of range: give 1 to 1000, or auto" in done.stderr
    assert "VESTA_SORT=down is not known: give self or total" in done.stderr
    assert "`vesta help record` explains." in done.stderr
    assert vesta("recrod").returncode == 125
    assert "did you mean `vesta record`?" in vesta("recrod").stderr


def test_variables_that_say_nothing_are_named_and_refuse_nothing(vesta):
    done = vesta("version", VESTA_FREQENCY="9", VESTA_ROWS="", VESTA_SERVICE_HOST="10.0.0.1")
    assert done.returncode == 0 and done.stdout.startswith("vesta 0.")
    assert done.stderr.splitlines() == [
        "vesta: VESTA_FREQENCY in the environment is not known; did you mean VESTA_FREQUENCY?",
        "vesta: VESTA_ROWS in the environment is empty, as if it were not there: give 1 to 100000",
        "vesta: VESTA_SERVICE_HOST in the environment: not known; `vesta help --markdown` lists the "
        "names that are"]


def test_config_file_environment_and_flag_win_in_that_order(vesta, folder):
    write(f"{folder}/.config/vesta.conf", "frequency = 11\nrows = 12\n")
    def settings(*arguments, **environment):
        report = json.loads(vesta("doctor", "--json", "--state-dir", folder, *arguments,
                                  **environment).stdout)
        return {s["name"]: (s["value"], s["origin"]) for s in report["settings"]}
    assert settings()["frequency"] == ("11", f"{folder}/.config/vesta.conf:1")
    assert settings(VESTA_FREQUENCY="22")["frequency"] == ("22", "environment")
    assert settings()["state-dir"] == (folder, "command line")
    other = write(f"{folder}/other.conf", "rows = 13\n")
    assert "frequency" not in settings("--config", other)
    broken = write(f"{folder}/broken.conf", "frequncy = 11\nrows = many\n")
    done = vesta("doctor", "--config", broken)
    assert done.returncode == 125
    assert f"{broken}:1: the key 'frequncy' is not known; did you mean frequency?" in done.stderr
    assert f"{broken}:2: rows = many is no whole number" in done.stderr


def test_doctor_json_has_its_documented_shape(vesta, folder):
    done = vesta("doctor", "--json", "--state-dir", f"{folder}/state")
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["can_record"] else 1)
    assert set(report) == {"version", "kernel", "architecture", "cpus_online", "can_record",
                           "features", "state_dir", "settings", "last_recording",
                           "last_recording_error", "agent", "server", "flow"}
    assert report["server"] is None and report["flow"] == [], "there is no agent yet"
    assert report["kernel"] == os.uname().release
    assert report["cpus_online"] >= 1
    features = {feature["name"]: feature for feature in report["features"]}
    assert {"btf", "bpf", "cpu-clock", "ring-buffer", "bpf_loop", "kernel-symbols"} <= set(features)
    for feature in features.values():
        assert set(feature) == {"name", "needed", "present", "meaning", "detail", "remedy"}
        assert feature["present"] in (True, False, None)
        assert bool(feature["remedy"]) == (feature["present"] is not True), feature
    needed = [feature["present"] for feature in features.values() if feature["needed"]]
    assert report["can_record"] == all(present is True for present in needed)
    assert report["last_recording"] is None and report["last_recording_error"] == ""


@pytest.mark.needs_root
def test_doctor_tells_an_unprivileged_user_what_is_missing(vesta, folder):
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    # The build folder may be closed to other users.
    copy = f"{folder}/vesta"
    subprocess.run(["cp", VESTA, copy], check=True)
    done = subprocess.run([*nobody, copy, "doctor"], capture_output=True, text=True, timeout=60,
                          env={**ENVIRONMENT, "HOME": "/nonexistent"})
    assert done.returncode == 1, done.stderr
    assert "NO  cpu-clock" in done.stdout
    assert "to mend: run as root, or give CAP_PERFMON" in done.stdout
    assert "Recording is NOT possible here" in done.stdout


@pytest.mark.needs_root
@pytest.mark.needs_bpf
def test_doctor_shows_the_book_of_the_last_recording(vesta, record):
    recording = record("--duration", "1s")
    state = recording.path.removesuffix(".pb.gz") + ".state"
    book = json.loads(vesta("doctor", "--json", "--state-dir", state).stdout)["last_recording"]
    assert book == recording.book
    assert book["duration_ns"] >= 900_000_000
    for stage in book["stages"]:
        assert stage["received"] == (sum(stage["excluded"].values()) + stage["kept"]
                                     + sum(stage["dropped"].values())), stage
    text = vesta("doctor", "--state-dir", state).stdout
    assert f"{book['stages'][0]['received']} samples received" in text
    assert "BALANCE" not in text


def test_damaged_book_is_said_and_harmless(vesta, folder):
    write(f"{folder}/state/last_recording.json", '{"time_unix_ms": 1, "stages": [{}]}')
    done = vesta("doctor", "--state-dir", f"{folder}/state")
    assert done.returncode in (0, 1)
    assert "it cannot be read: reading" in done.stdout


def test_top_of_a_file_as_table_and_as_json(vesta, folder):
    path = write(f"{folder}/a.folded", "app;main;work 70\napp;main;rest 20\napp;main 10\n")
    table = vesta("top", path)
    assert table.returncode == 0
    def rows_of(text):
        return [line.split() for line in text.splitlines() if "% " in line and line[0] == " "][1:]
    rows = rows_of(table.stdout)
    assert rows[0][1] == "70.00%" and rows[0][4] == "work", table.stdout
    report = json.loads(vesta("top", path, "--json").stdout)
    assert [(f["name"], f["self"], f["total"]) for f in report["functions"]][:2] == \
        [("work", 70, 70), ("rest", 20, 20)]
    by_total = json.loads(vesta("top", path, "--json", "--sort", "total").stdout)
    assert by_total["functions"][0]["total"] == 100
    assert len(rows) == 4 and len(rows_of(vesta("top", path, "-n", "1").stdout)) == 1


@pytest.mark.parametrize("content, says", [
    (b"", "empty"),
    (b"\x00\x01garbage\xff" * 9, ""),
    (b"\x1f\x8b\x08\x00truncated", ""),
])
def test_top_of_a_broken_file_names_it(vesta, folder, content, says):
    path = f"{folder}/broken.pb.gz"
    with open(path, "wb") as file:
        file.write(content)
    done = vesta("top", path)
    assert done.returncode == 125 and not done.stdout
    assert done.stderr.startswith("vesta top: ") and path in done.stderr and says in done.stderr


def test_top_of_a_missing_file_and_of_a_missing_type(vesta, folder):
    done = vesta("top", f"{folder}/gone.pb.gz")
    assert done.returncode == 125 and "No such file" in done.stderr
    path = write(f"{folder}/a.folded", "a;b 1\n")
    done = vesta("top", path, "--type", "heap")
    assert done.returncode == 125 and "has no sample type 'heap': give " in done.stderr


def test_full_disk_behind_standard_output_is_a_failure(folder):
    path = write(f"{folder}/a.folded", "a;b 1\n")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([VESTA, "top", path], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
    assert done.returncode == 125
    assert "writing to standard output: No space left on device" in done.stderr
