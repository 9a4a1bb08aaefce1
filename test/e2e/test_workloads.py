"""Real programs under load: functions that must appear, by name, with kernel frames on top of user
frames. Names come from .dynsym or .symtab of the distribution's stripped binaries, so they need no
debug package.
"""
import contextlib

import pytest

import pprof
import workloads
from conftest import PROGRAMS, SOURCES, frames_match, weight

pytestmark = pytest.mark.needs_bpf


@contextlib.contextmanager
def plain_program(comm, *command):
    with workloads.running(*command):
        yield comm


# name: (programs it needs, load, functions that must appear, kernel functions that must appear on
#        top of a user function, part of the stacks that must be whole)
LOADS = {
    "postgres": (
        ["/usr/lib/postgresql/*/bin/postgres"], workloads.postgres_pgbench,
        [r"^PostgresMain$", r"^PortalRun$", r"^standard_ExecutorRun$", r"^standard_planner$"],
        [(r"^(unix_stream_sendmsg|__sys_sendto)$", r"^PostgresMain$")], 0.98),
    "redis": (
        ["redis-server", "redis-benchmark"], workloads.redis_benchmark,
        [r"^aeMain$", r"^readQueryFromClient$", r"^processCommand$", r"^main$"],
        [(r"^tcp_sendmsg$", r"^aeMain$"), (r"^(vfs_read|ksys_read)$", r"^readQueryFromClient$")],
        0.98),
    "nginx": (
        ["nginx", "wrk"], workloads.nginx_wrk,
        [r"^ngx_process_events_and_timers$", r"^ngx_http_core_run_phases$", r"^ngx_output_chain$"],
        [(r"^tcp_sendmsg$", r"^ngx_output_chain$")], 0.98),
    "make": (
        ["make", "/usr/bin/g++"], workloads.make_cxx,
        [r"^toplev::main\b", r"^execute_one_pass\b", r"^symbol_table::finalize_compilation_unit\b"],
        [(r"^(asm_)?exc_page_fault$", r"^toplev::main\b")], 0.98),
    "go": (
        [f"{PROGRAMS}/go_validate"],
        lambda folder: plain_program("go_validate", f"{PROGRAMS}/go_validate", f"{folder}/own.prof",
                                     "2000"),
        [r"^main\.slowValidate$", r"^regexp\.\(\*Regexp\)\.", r"^main\.main$"], [], 0.98),
    "rust": (
        [f"{PROGRAMS}/rust_work"],
        lambda folder: plain_program("rust_work", f"{PROGRAMS}/rust_work", "60"),
        [r"^rust_work::sort_words", r"^rust_work::count_words", r"^rust_work::main"], [], 0.98),
    "python": (
        ["/usr/bin/python3"],
        lambda folder: plain_program("python3", "/usr/bin/python3", f"{SOURCES}/py_work.py", "60"),
        [r"^_PyEval_EvalFrameDefault$", r"^Py_RunMain$", r"^PyEval_EvalCode$"], [], 0.98),
    "node": (
        ["node"],
        lambda folder: plain_program("node", workloads.find_program("node"),
                                     f"{SOURCES}/node_work.js", "60"),
        [r"^v8::internal::.*JsonPars", r"^v8::internal::.*JsonStringif", r"^deflate"], [], 0.90),
}


@pytest.mark.parametrize("name", LOADS)
def test_functions_appear_by_name(name, record, folder):
    needed, load, functions, kernel_on_user, whole = LOADS[name]
    missing = [program for program in needed if not workloads.find_program(program)]
    if missing:
        pytest.skip(f"needs the program {', '.join(missing)}")
    with load(folder) as comm:
        recording = record("--duration", "5s", "--frequency", "199")
    samples = recording.of(comm)
    recording.assert_functions(samples, *functions)
    for kernel_function, user_function in kernel_on_user:
        crossing = [sample for sample in samples
                    if frames_match(sample.names, kernel_function)
                    and frames_match(sample.names, user_function)]
        assert weight(crossing) >= 2, f"{kernel_function} is never above {user_function}"
        for names in (sample.names for sample in crossing):
            kernel_at = next(i for i, n in enumerate(names) if frames_match([n], kernel_function))
            user_at = next(i for i, n in enumerate(names) if frames_match([n], user_function))
            assert kernel_at < user_at, f"kernel frames do not stand on top: {names}"
    assert recording.complete_share(samples) >= whole, outermost(samples)
    assert any(line[0] == comm for line, _ in recording.folded)


def outermost(samples):
    """The outermost frames that are most frequent: what to look at when stacks are cut."""
    counts = {}
    for sample in samples:
        last = sample.names[-1] if sample.frames else "(no frames)"
        counts[last] = counts.get(last, 0) + sample.values[0]
    return sorted(counts.items(), key=lambda item: -item[1])[:15]


def test_whole_machine_names_processes_and_keeps_the_books_of_pprof(record):
    with plain_program("spin_03", f"{PROGRAMS}/spin_03") as _, \
         plain_program("spin_04", f"{PROGRAMS}/spin_04") as _:
        recording = record("--duration", "2s")
    profile = recording.profile
    assert 1.8e9 <= profile.duration_nanos <= 4e9
    assert profile.period_type == ("cpu", "nanoseconds")
    assert abs(profile.period - 1e9 / 99) <= 1e9 / 99 * 0.01
    assert profile.sample_types[-1] == ("cpu", "nanoseconds")
    for comm, function in (("spin_03", "spin_leaf_03"), ("spin_04", "spin_leaf_04")):
        samples = recording.of(comm)
        recording.assert_functions(samples, f"^{function}$", "^main$")
        assert len({sample.labels["pid"] for sample in samples}) == 1
        assert all(sample.labels["tid"] == sample.labels["pid"] for sample in samples)
    main_binaries = [m for m in profile.mappings if m.filename.endswith("/spin_03")]
    assert main_binaries and len(main_binaries[0].build_id) == 40
    assert sum(count for _, count in recording.folded) in (
        profile.total(0), profile.total(len(profile.sample_types) - 1))
    assert "spin_leaf_03" in recording.stdout
    totals = pprof.self_and_total(recording.of("spin_03"))
    assert totals["main"][1] >= totals["spin_leaf_03"][0] > 0
