"""Runs every test of vesta and counts them: see `tools/dev help test`.

Each stage gives cases (name, outcome, text). A stage that cannot build or that crashes is a failed
case of its own, so nothing that did not run can look like success.
"""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import ui_tests

ROOT = pathlib.Path(__file__).resolve().parents[3]
RESULTS = ROOT / "build" / "test-results"
UNIT_SECONDS_MAX = 600
E2E_SECONDS_MAX = 40 * 60
FUZZ_SECONDS = 10
FUZZ_MEMORY_MB = 1024

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Case:
    def __init__(self, name, outcome, text=""):
        self.name, self.outcome, self.text = name, outcome, text.strip()


def run(command, timeout, shown=False):
    """(exit status, output); the whole process group ends with the command or its time.

    shown: the output goes to the terminal as it comes, and is not returned."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=None if shown else subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output or ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return 124, (output or "") + f"\nkilled: it ran longer than {timeout} s"
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        raise


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [case for cases in pool.map(function, items) for case in cases]


def command_case(name, command, timeout=UNIT_SECONDS_MAX):
    status, output = run(command, timeout)
    return Case(name, PASSED if status == 0 else FAILED, "" if status == 0 else output)


def lint():
    python = "/usr/bin/python3"
    # The second time tsc looks at changed files only.
    checks = [("types", ["tsc", "-p", "ui", "--incremental", "--tsBuildInfoFile",
                         "build/ui-test/types.tsbuildinfo"])]
    checks += [(path.stem, [python, str(path)]) for path in sorted((ROOT / "tools/lint").glob("*.py"))]
    checks += [(path.stem + ".self_test", [python, str(path), "--self-test"])
               for path in sorted((ROOT / "tools/lint").glob("*.py"))
               if "--self-test" in path.read_text()]
    return in_parallel(lambda check: [command_case(f"lint.{check[0]}", check[1])], checks)


def build(preset, folder, targets=("all",)):
    """Builds with the output shown, since it is what one waits for; gives a case only on failure."""
    environment = dict(os.environ, NINJA_STATUS="[%f/%t %es] ")
    commands = [["ninja", "-C", folder, *targets]]
    # Always: compilers for test programs may have been installed since the folder was configured.
    commands.insert(0, ["cmake", "--preset", preset, "-B", folder])
    for command in commands:
        if subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL).returncode:
            return [Case(f"build.{preset}", FAILED, "`" + " ".join(command) + "` failed, see above")]
    return []


def gtest_cases(report, prefix):
    """From XML: the JSON of GoogleTest 1.12 leaves out why a test was skipped."""
    for test in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{prefix}{test.get('classname')}.{test.get('name')}"
        skip = test.find("skipped")
        failures = [failure.get("message", "") for failure in test.findall("failure")]
        if failures:
            yield Case(name, FAILED, "\n".join(failures))
        elif skip is not None or test.get("result") == "skipped":
            message = "" if skip is None else skip.get("message", "")
            yield Case(name, SKIPPED, message.split("\n", 1)[-1])  # the first line is the place
        elif test.get("result") == "completed":
            yield Case(name, PASSED)
        else:
            yield Case(name, FAILED, f"did not run to its end: {test.get('result')}")


def unit(folder, prefix=""):
    def run_binary(binary):
        report = RESULTS / f"{prefix}{binary.name}.xml"
        report.unlink(missing_ok=True)
        status, output = run([str(binary), f"--gtest_output=xml:{report}", "--gtest_brief=1"],
                             UNIT_SECONDS_MAX)
        try:
            cases = list(gtest_cases(report, prefix))
        except (OSError, xml.etree.ElementTree.ParseError):
            cases = []
        if status != 0 and not any(case.outcome == FAILED for case in cases):
            cases.append(Case(f"{prefix}{binary.name}", FAILED, f"exit status {status}\n{output}"))
        elif not cases:
            cases.append(Case(f"{prefix}{binary.name}", FAILED, "no test ran in it"))
        return cases

    return in_parallel(run_binary, sorted((ROOT / folder / "test").glob("*_test")))


def corpora():
    """Fuzz target name -> its corpus in the tree."""
    found = {}
    for top in ("src", "bpf", "test", "bench"):
        for path in (ROOT / top).rglob("*_fuzz_corpus"):
            found[path.name.removesuffix("_corpus")] = path
    return found


def fuzz_targets(folder):
    return sorted((ROOT / folder / "fuzz").glob("*_fuzz"))


def replay(folder):
    seeds = corpora()

    def run_target(target):
        name = f"replay.{target.name}"
        if target.name not in seeds:
            return [Case(name, FAILED, f"no folder {target.name}_corpus beside its source")]
        return [command_case(name, [str(target), str(seeds[target.name])])]

    return in_parallel(run_target, fuzz_targets(folder))


def fuzz(folder):
    seeds = corpora()

    def run_target(target):
        work = RESULTS / target.name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        command = [str(target), f"-max_total_time={FUZZ_SECONDS}", f"-rss_limit_mb={FUZZ_MEMORY_MB}",
                   "-timeout=10", f"-artifact_prefix={work}/", str(work)]
        if target.name in seeds:
            command.append(str(seeds[target.name]))
        status, output = run(command, FUZZ_SECONDS * 6 + 60)
        name = f"fuzz.{target.name}"
        if target.name == "canary_fuzz":  # proves that a crash would be found and seen
            found = status != 0 and any(work.glob("crash-*"))
            return [Case(name, PASSED if found else FAILED, output[-3000:])]
        if status == 0:
            return [Case(name, PASSED)]
        return [Case(name, FAILED, output[-6000:])]

    return in_parallel(run_target, fuzz_targets(folder))


def e2e():
    if not any((ROOT / "test/e2e").glob("test_*.py")):
        return []
    report = RESULTS / "e2e.xml"
    report.unlink(missing_ok=True)
    command = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-v", "--tb=no",
               "--no-header", "-rN", f"--junitxml={report}", "test/e2e"]
    status, output = run(command, E2E_SECONDS_MAX, shown=True)
    cases = []
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            name = f"e2e.{case.get('classname', '').rsplit('.', 1)[-1]}.{case.get('name')}"
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            skip = case.find("skipped")
            if bad is not None:
                cases.append(Case(name, FAILED, bad.text or bad.get("message", "")))
            elif skip is not None:
                cases.append(Case(name, SKIPPED, skip.get("message", "")))
            else:
                cases.append(Case(name, PASSED))
    if status not in (0, 1) or not cases:
        cases.append(Case("e2e", FAILED, f"pytest ended with status {status}{output}"))
    return cases


def page():
    return ui_tests.cases(run, Case)


def built(preset, folder, *stages, targets=("all",)):
    failed = build(preset, folder, targets)
    return failed or [case for stage in stages for case in stage()]


def threaded_tests():
    """Names of test binaries that declare threads: `vesta_test(NAME THREADS ...)`."""
    found = []
    for path in ROOT.glob("[sbt]*/**/CMakeLists.txt"):
        for line in path.read_text().splitlines():
            words = line.replace("(", " ").split()
            if len(words) > 2 and words[0] == "vesta_test" and words[2] == "THREADS":
                found.append(words[1] + "_test")
    return found


def tsan():
    tests = threaded_tests()
    if not tests:
        return []
    failed = build("tsan", "build-tsan", tests)
    return failed or unit("build-tsan", "tsan.")


STAGES = {
    "lint": lint,
    "build and unit tests": lambda: built("dev", "build", lambda: unit("build")),
    "unit tests of the page": page,
    "replay of fuzz corpora": lambda: replay("build"),
    "end to end": e2e,
    "ASan and UBSan: build, unit tests, fuzz smoke":
        lambda: built("asan", "build-asan", lambda: unit("build-asan", "asan."),
                      lambda: fuzz("build-asan"), targets=("checks",)),
    "TSan": tsan,
}
TIERS = {"lint": ["lint"], "page": ["unit tests of the page"],
         "quick": ["lint", "build and unit tests", "unit tests of the page"], "": list(STAGES)}


def main():
    tier = sys.argv[1] if len(sys.argv) > 1 else ""
    RESULTS.mkdir(parents=True, exist_ok=True)
    started_all = time.monotonic()
    everything = []
    for name in TIERS[tier]:
        print(f"== {name}", flush=True)
        started = time.monotonic()
        cases = STAGES[name]()
        everything += cases
        for case in cases:
            if case.outcome != PASSED:
                lines = case.text or "no reason given"
                print(f"{case.outcome.upper()} {case.name}\n    " + lines.replace("\n", "\n    "))
        count = {o: sum(c.outcome == o for c in cases) for o in (PASSED, FAILED, SKIPPED)}
        print(f"-- {name}: {count[PASSED]} passed, {count[FAILED]} failed, {count[SKIPPED]} skipped, "
              f"{time.monotonic() - started:.0f} s", flush=True)
    total = {o: sum(c.outcome == o for c in everything) for o in (PASSED, FAILED, SKIPPED)}
    print(f"all stages took {(time.monotonic() - started_all) / 60:.1f} min")
    failed = [case.name for case in everything if case.outcome == FAILED]
    if failed:
        print("failed: " + " ".join(failed))
    print(f"{total[PASSED]} passed, {total[FAILED]} failed, {total[SKIPPED]} skipped")
    return 0 if total[PASSED] and not total[FAILED] else 1


if __name__ == "__main__":
    sys.exit(main())
