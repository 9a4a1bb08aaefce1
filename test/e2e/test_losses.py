"""What each output format cannot hold is said, and nothing else; every input
format is read by `vesta top`, too; a real recording of node is read whole."""
import collections
import json
import os
import subprocess

import pytest

import page
import page_data
import pprof
import pprof_writer
from conftest import ROOT
from pprof_writer import Frame
from workloads import find_program

WIRE = os.path.join(ROOT, "src", "wire")
RICH = [("app", [Frame("main", "/bin/app", "a.c", 12, 10), Frame("vfs_read", "[kernel]")], 3)]

# Of RICH: two sample types, files, lines, addresses, binaries, a label, times, a period, a comment.
LOSSES = {
    "pb.gz": "",
    "folded": "folded stacks: file and line of 1 function, the address of 2 places, the binary of "
              "each function, the sample type cpu, the start time and duration, the sampling "
              "period, and the comment are not kept\n",
    "speedscope.json": "speedscope: the lines of 1 function, the address of 2 places, the start "
                       "time and duration, the sampling period, and the comment are not kept\n",
    "firefox.json": "Firefox Profiler: the sample type cpu and the comment are not kept\n",
    "html": "HTML: the address of 2 places and the sampling period are not kept\n",
    "svg": "SVG: file and line of 1 function, the address of 2 places, the sample type cpu, the "
           "start time and duration, and the sampling period are not kept\n",
}


@pytest.mark.parametrize("ending", LOSSES)
def test_each_format_says_what_it_cannot_hold(folder, ending):
    source = pprof_writer.write(f"{folder}/in.pb.gz", RICH, comments=["made by hand"])
    said = page.vesta("convert", source, f"{folder}/out.{ending}", "-q", "--type", "samples").stderr
    assert said == LOSSES[ending]
    if ending in ("html", "svg"):
        with open(f"{folder}/out.{ending}", "rb") as file:
            held = file.read().decode() if ending == "svg" else str(
                page_data.load(f"{folder}/out.{ending}").meta["notes"])
        assert "made by hand" in held


@pytest.mark.parametrize("ending", LOSSES)
def test_nothing_is_said_of_what_is_not_there(folder, ending):
    with open(f"{folder}/in.folded", "w", encoding="utf-8") as file:
        file.write("main;work 3\n")
    assert page.vesta("convert", f"{folder}/in.folded", f"{folder}/out.{ending}", "-q").stderr == ""


SEEDS = ["speedscope_decoder_fuzz_corpus/evented.json",
         "cpuprofile_decoder_fuzz_corpus/node.cpuprofile",
         "cpuprofile_decoder_fuzz_corpus/trace.json",
         "perf_script_decoder_fuzz_corpus/callchain.txt", "perf_data_decoder_fuzz_corpus/chain",
         "jfr_decoder_fuzz_corpus/samples.jfr", "folded_decoder_fuzz_corpus/plain.folded",
         "pprof_decoder_fuzz_corpus/small.pb.gz"]


@pytest.mark.parametrize("seed", SEEDS)
def test_top_reads_every_format(folder, seed):
    page.vesta("convert", f"{WIRE}/{seed}", f"{folder}/a.pb")
    report = json.loads(page.vesta("top", f"{WIRE}/{seed}", "--json", "-n", "1000").stdout)
    profile = pprof.load(f"{folder}/a.pb")
    index = profile.sample_types.index((report["sample_type"]["type"],
                                        report["sample_type"]["unit"]))
    values = [sample.values[index] for sample in profile.samples]
    assert report["total"] == sum(map(abs, values)) > 0  # of a difference: of both directions
    expected, shown = {}, {}  # code without a name: all of it as one
    for sample, value in zip(profile.samples, values):
        if sample.frames:
            name = "" if "+0x" in sample.names[0] else sample.names[0]
            expected[name] = expected.get(name, 0) + value
    for row in report["functions"]:
        if row["self"]:
            shown[row["name"] or ""] = shown.get(row["name"] or "", 0) + row["self"]
    assert shown == expected


NODE = find_program("node")
SPIN = """function inner(until) { while (Date.now() < until) Math.sqrt(until); }
function outer() { inner(Date.now() + 400); }
outer();"""


@pytest.mark.skipif(not NODE, reason="needs the program node")
def test_a_recording_of_node_is_read_whole(folder):
    """--cpu-prof of the Node at hand, against an own reading of its nodes, samples and deltas."""
    with open(f"{folder}/spin.js", "w", encoding="utf-8") as file:
        file.write(SPIN)
    subprocess.run([NODE, "--cpu-prof", "--cpu-prof-name=a.cpuprofile", f"--cpu-prof-dir={folder}",
                    f"{folder}/spin.js"], check=True, timeout=60, cwd=folder)
    with open(f"{folder}/a.cpuprofile", encoding="utf-8") as file:
        recorded = json.load(file)
    nodes = {node["id"]: node for node in recorded["nodes"]}
    hits = collections.Counter(nodes[node]["callFrame"]["functionName"] or "(anonymous)"
                               for node in recorded["samples"])
    report = json.loads(page.vesta("top", f"{folder}/a.cpuprofile", "--json", "-n", "10000",
                                   "--type", "samples").stdout)
    ours = collections.Counter()
    for row in report["functions"]:
        ours[row["name"]] += row["self"]
    assert ours["inner"] == hits["inner"] > 20
    assert {name: ours[name] for name in hits if not name.startswith("(")} == \
        {name: count for name, count in hits.items() if not name.startswith("(")}
    folded = page.vesta("convert", f"{folder}/a.cpuprofile", "-", "--to", "folded").stdout
    assert any(";outer;inner " in line for line in folded.splitlines())
