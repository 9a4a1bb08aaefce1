"""The commands that the documents and the help show, run as they stand there."""
import glob
import json
import os
import re
import shutil
import subprocess
import time

import pytest

import page
import pprof_writer
from conftest import ROOT, VESTA
from store_server import StoreServer

WIRE = os.path.join(ROOT, "src", "wire")
DOCUMENTS = ["README.md", "CONTRIBUTING.md",
             *[f"docs/formats/{name}" for name in sorted(os.listdir(f"{ROOT}/docs/formats"))]]
OF_FILES = ("convert", "diff", "top")
OF_STORE = ("import", "query", "series", "labels", "export")
COMMANDS = (*OF_FILES, *OF_STORE, "help")

# What makes the input of others; here it is a file of theirs.
OF_OTHERS = [
    (r"^perf record .* && (?=vesta)", ""), (r"^perf record .* && perf script \|", "perf script |"),
    (r"^perf script \|", f"cat {WIRE}/perf_script_decoder_fuzz_corpus/callchain.txt |"),
]
OF_FIREFOX = ["src/types/profile.ts", "src/profile-logic/processed-profile-versioning.ts"]


def lines_of(document):
    """Lines of code blocks, indented or fenced, without prompt and comment."""
    with open(f"{ROOT}/{document}", encoding="utf-8") as file:
        text = file.read()
    for line in re.findall(r"^(?:    |\$ )?((?:build/|perf |vesta )[^`\n]*)$", text, re.M):
        yield re.sub(r"\s+# .*$", "", line).replace("build/vesta", "vesta")


def examples():
    """(where, command) of all that reads files or a store; recording is shown by other tests."""
    found = [(document, line) for document in DOCUMENTS for line in lines_of(document)]
    for command in (*OF_FILES, *OF_STORE):
        text = page.vesta("help", command).stdout
        shown = text[text.index("\nExamples\n"):text.index("\nOptions\n")]
        found += [(f"help {command}", re.split(r"\s{3,}", line.strip())[0])
                  for line in shown.splitlines()[2:] if line.strip()]
    return [(where, line) for where, line in found
            if re.search(rf"\bvesta ({'|'.join(COMMANDS)}) ?[^|]*", line)
            and not re.search(r"vesta top($| --pid)", line)]


@pytest.fixture
def store(files):
    """A server with two versions of the service that documents name, of now and of yesterday."""
    server = StoreServer(files)
    for version, stacks, ago_s in (("1", page.STACKS, 60), ("2", page.STACKS_AFTER, 60),
                                   ("1", page.STACKS, 36 * 3600)):
        path = pprof_writer.write(f"{files}/version{version}.pb.gz", stacks,
                                  time_unix_s=int(time.time()) - ago_s)
        server.run("import", path, "--label", "service=shop", "--label", f"version={version}")
    yield server
    server.stop()


@pytest.fixture
def files(folder):
    """The files that documents name."""
    os.makedirs(f"{folder}/old")
    for name in ("cpu", "old", "before", "good", "v1", "old/a", "old/b"):
        pprof_writer.write(f"{folder}/{name}.pb.gz", page.STACKS)
    for name in ("new", "after", "v2"):
        pprof_writer.write(f"{folder}/{name}.pb.gz", page.STACKS_AFTER)
    for name in ("rec.jfr", "app.jfr"):
        shutil.copy(f"{WIRE}/jfr_decoder_fuzz_corpus/samples.jfr", f"{folder}/{name}")
    shutil.copy(f"{WIRE}/perf_data_decoder_fuzz_corpus/chain", f"{folder}/perf.data")
    heap = {"$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": "main"}]},
            "profiles": [{"type": "sampled", "name": "x", "unit": "bytes", "startValue": 0,
                          "vestaType": {"type": "inuse_space", "unit": "bytes"}, "endValue": 1,
                          "samples": [[0]], "weights": [1]}]}
    with open(f"{folder}/heap.json", "w", encoding="utf-8") as file:
        json.dump(heap, file)
    page.vesta("convert", f"{folder}/heap.json", f"{folder}/heap.pb.gz")
    os.makedirs(f"{folder}/bin")
    os.symlink(VESTA, f"{folder}/bin/vesta")
    return folder


def test_every_command_that_is_shown_works(files, store):
    shown = examples()
    assert len(shown) >= 20 and {where for where, _ in shown} >= {
        "README.md", "docs/formats/perf_script.md",
        *(f"help {command}" for command in (*OF_FILES, *OF_STORE))}
    failed = []
    for where, line in shown:
        for pattern, ours in OF_OTHERS:
            line = re.sub(pattern, ours, line)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=files, timeout=60,
                              capture_output=True, text=True, check=False,
                              env={"PATH": f"{files}/bin:/usr/bin:/bin", "HOME": files,
                                   "VESTA_SERVER": store.url})
        if done.returncode != 0:
            failed.append((where, line, done.stderr))
    assert not failed


def test_the_settings_are_those_of_the_program():
    with open(f"{ROOT}/docs/config.md", encoding="utf-8") as file:
        assert file.read() == page.vesta("help", "--markdown").stdout


def test_paths_in_the_documents_exist():
    """Every `src/...`, `docs/...` and so on that a document names, decisions by their numbers."""
    missing = []
    for document in ["ARCHITECTURE.md", *DOCUMENTS]:
        with open(f"{ROOT}/{document}", encoding="utf-8") as file:
            text = file.read()
        for path in re.findall(r"`((?:src|ui|docs|test|tools|bench|abi|bpf|cmake|third_party)/"
                               r"[\w./-]*)`", text):
            if path not in OF_FIREFOX and not glob.glob(f"{ROOT}/{path}*"):
                missing.append((document, path))
    assert not missing
