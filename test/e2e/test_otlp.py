"""OpenTelemetry's own messages, which know nothing of us, read the OTLP profiles that vesta writes;
and vesta reads what they write."""
import json
import os
import subprocess

import pytest

import otlp_messages
import pprof
import pprof_writer
from conftest import ROOT, VESTA
from otlp_messages import value_of
from pprof_writer import Frame

SEEDS = os.path.join(ROOT, "src", "wire", "otlp_decoder_fuzz_corpus")
START_NS = 1_790_000_000_000_000_000
PERIOD_NS = 50_000_000


@pytest.fixture(scope="module", name="otlp")
def fixture_otlp():
    return otlp_messages.load() or pytest.skip(otlp_messages.MISSING)


def vesta(*arguments):
    done = subprocess.run([VESTA, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def unknown_fields(otlp, message):
    """Numbers of fields, at any depth, that the message's own definition does not have."""
    found = [field.field_number for field in otlp.Fields(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = [value] if hasattr(value, "ListFields") else value
            for part in parts:
                found += unknown_fields(otlp, part)
    return found


def parse(otlp, path):
    with open(path, "rb") as file:
        request = otlp.Request.FromString(file.read())
    assert not unknown_fields(otlp, request)
    return request


def attributes(dictionary, indices):
    table = dictionary.attribute_table
    return {dictionary.string_table[table[i].key_strindex]: value_of(table[i].value)
            for i in indices}


def names(dictionary, stack):
    """Leaf first."""
    return [dictionary.string_table[dictionary.function_table[line.function_index].name_strindex]
            for index in dictionary.stack_table[stack].location_indices
            for line in dictionary.location_table[index].lines]


def pprof_file(folder):
    main = Frame("main", "/bin/app", "a.c", 12, 10)
    return pprof_writer.write(f"{folder}/in.pb.gz", [
        ("app", [main, Frame("work", "/bin/app", "a.c", 40, 30)], 70),
        ("app", [main, Frame("read", "/lib/libc.so.6"), Frame("vfs_read", "[kernel]")], 20),
        ("tool", [Frame("start", "/bin/tool")], 1)])


def test_they_read_a_file_that_vesta_writes(otlp, tmp_path):
    vesta("convert", pprof_file(tmp_path), str(tmp_path / "out.otlp"))
    request = parse(otlp, tmp_path / "out.otlp")
    dictionary = request.dictionary
    scope = request.resource_profiles[0].scope_profiles[0]
    totals = {}
    for profile in scope.profiles:
        kind = dictionary.string_table[profile.sample_type.type_strindex]
        assert [len(sample.values) for sample in profile.samples] == [1, 1, 1]
        totals[kind] = sum(sample.values[0] for sample in profile.samples)
    assert totals["samples"] == 91
    sample = scope.profiles[0].samples[0]
    assert names(dictionary, sample.stack_index) == ["work", "main"]
    assert attributes(dictionary, sample.attribute_indices)["process"] == "app"
    kernel = dictionary.stack_table[scope.profiles[0].samples[1].stack_index].location_indices[0]
    location = dictionary.location_table[kernel]
    assert attributes(dictionary, location.attribute_indices)["profile.frame.type"] == "kernel"


def test_they_write_what_vesta_wrote_and_it_is_the_same(otlp, tmp_path):
    source = pprof_file(tmp_path)
    vesta("convert", source, str(tmp_path / "ours.otlp"))
    request = parse(otlp, tmp_path / "ours.otlp")
    (tmp_path / "theirs.otlp").write_bytes(request.SerializeToString())
    vesta("convert", str(tmp_path / "theirs.otlp"), str(tmp_path / "back.pb.gz"))
    with open(source, "rb") as before, open(tmp_path / "back.pb.gz", "rb") as after:
        assert pprof.canonical(after.read())["samples"] == pprof.canonical(before.read())["samples"]


def test_they_read_a_batch_of_the_agent(otlp):
    request = parse(otlp, os.path.join(SEEDS, "ours.otlp"))
    assert len(request.resource_profiles) == 1
    resource = request.resource_profiles[0]
    assert {a.key: value_of(a.value) for a in resource.resource.attributes} == {
        "service.name": "s"}
    scope = resource.scope_profiles[0]
    facts = {a.key: value_of(a.value) for a in scope.scope.attributes}
    assert scope.scope.name == "vesta" and facts["vesta.batch.sequence"] == 1
    periods, rows = scope.profiles
    assert periods.period == 10101010
    count = 0
    for sample in periods.samples:
        assert not sample.values
        count += len(sample.timestamps_unix_nano)
        assert attributes(request.dictionary, sample.attribute_indices) == {
            "process.pid": 1, "thread.id": 2, "thread.name": "t"}
    for sample in rows.samples:
        assert len(sample.values) == len(sample.timestamps_unix_nano)
        count += len(sample.values)
    assert count == 6


def test_they_read_symbols_and_answers(otlp):
    request = parse(otlp, os.path.join(SEEDS, "symbols.otlp"))
    assert not request.resource_profiles
    assert all(location.lines or location.mapping_index or location.address
               for location in request.dictionary.location_table[1:])
    with open(os.path.join(SEEDS, "response"), "rb") as file:
        answer = otlp.Response.FromString(file.read())
    assert answer.partial_success.rejected_profiles == 3
    assert answer.partial_success.error_message == "no such stack"


def their_request(otlp):
    """Ten seconds of a service: work <- main three times, main once; two threads."""
    request = otlp.Request()
    dictionary = request.dictionary
    strings = ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "thread.name",
               "thread.id", "/bin/shop", "service.name", "shop"]
    dictionary.string_table.extend(strings)
    dictionary.mapping_table.add()
    dictionary.mapping_table.add(memory_start=0x1000, memory_limit=0x9000,
                                 filename_strindex=strings.index("/bin/shop"))
    dictionary.link_table.add()
    dictionary.attribute_table.add()
    for key, value in (("thread.name", "a"), ("thread.name", "b"), ("thread.id", 5)):
        attribute = dictionary.attribute_table.add(key_strindex=strings.index(key))
        if isinstance(value, str):
            attribute.value.string_value = value
        else:
            attribute.value.int_value = value
    dictionary.function_table.add()
    dictionary.location_table.add()
    dictionary.stack_table.add()
    for i, name in enumerate(("main", "work"), start=1):
        dictionary.function_table.add(name_strindex=strings.index(name))
        location = dictionary.location_table.add(mapping_index=1, address=0x1000 + i)
        location.lines.add(function_index=i, line=7)
    dictionary.stack_table.add(location_indices=[2, 1])
    dictionary.stack_table.add(location_indices=[1])
    resource = request.resource_profiles.add()
    attribute = resource.resource.attributes.add()
    attribute.key_strindex = strings.index("service.name")
    attribute.value.string_value_strindex = strings.index("shop")
    profile = resource.scope_profiles.add().profiles.add(
        time_unix_nano=START_NS, duration_nano=10_000_000_000, period=PERIOD_NS)
    profile.sample_type.type_strindex, profile.sample_type.unit_strindex = 1, 2
    profile.period_type.type_strindex, profile.period_type.unit_strindex = 3, 4
    profile.samples.add(stack_index=1, attribute_indices=[1, 3],
                        timestamps_unix_nano=[START_NS, START_NS + 5_000_000])
    profile.samples.add(stack_index=1, attribute_indices=[2], timestamps_unix_nano=[START_NS + 7])
    profile.samples.add(stack_index=2, attribute_indices=[2], timestamps_unix_nano=[START_NS + 9])
    return request


def test_vesta_reads_what_they_write(otlp, tmp_path):
    path = str(tmp_path / "theirs.otlp")
    request = their_request(otlp)
    with open(path, "wb") as file:
        file.write(request.SerializeToString())
    folded = vesta("convert", path, "-", "--to", "folded", "--by", "service.name")
    assert sorted(folded.splitlines()) == ["shop;main 1", "shop;main;work 3"]
    report = json.loads(vesta("top", path, "--json"))
    totals = {row["name"]: row["self"] for row in report["functions"]}
    assert totals["work"] == 3 * PERIOD_NS and totals["main"] == PERIOD_NS
    # As the Collector's exporter to files writes it.
    plain = request.SerializeToString()
    with open(path, "wb") as file:
        file.write((len(plain).to_bytes(4, "big") + plain) * 2)
    folded = vesta("convert", path, "-", "--to", "folded", "--by", "thread")
    assert sorted(folded.splitlines()) == sorted(["a;main;work 4", "b;main;work 2", "b;main 2"])
