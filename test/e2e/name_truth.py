"""What programs that know their lines say of themselves, against the names that vesta gave them.

The programs are test/programs/truth/lines.*, as CMake built them and in the forms in which names
are kept: stripped, linked, compressed, split, in files that are gone.
"""
import collections
import functools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from accuracy import percent, plain_name
from conftest import PROGRAMS, SOURCES

LINES, FUNCTIONS = "lines", "functions"
UNNAMED = re.compile(r".*\+0x[0-9a-f]+$")
# All frames of these have names; what ran before the program and its libraries may be stripped.
NAMED_FILES = re.compile(r"(^|[/:])(program|lines_\w+)( \(deleted\))?$|^\[(kernel|vdso)\]")
SOURCE = f"{SOURCES}/truth/lines.cc"


@dataclass
class Form:
    """One way in which a program comes, and what its names can say at best."""
    wants: str  # LINES (with inlined functions) or FUNCTIONS
    build: str = ""  # shell; makes `program` in an empty folder out of $SOURCE, or of $LINES
    # Shell; what starts it in that folder, for $CPU_SECONDS.
    run: str = "exec ./program $CPU_SECONDS"
    needs: tuple = ()  # programs
    # Its debug files are gone with it: it is recorded alone, and lives longer, so that its turn to
    # be read comes in time.
    mortal: bool = False


COMPILE = "g++ -O2 -g -o program $SOURCE"
SPLIT = "objcopy --only-keep-debug program {0} && strip program"
LINKED = f"{COMPILE} && {SPLIT} && objcopy --add-gnu-debuglink={{0}} program"
MINI = """nm -D program --format=posix --defined-only | cut -d' ' -f1 | sort > dynamic
nm program --format=posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' | sort > functions
comm -13 dynamic functions > keep
objcopy --only-keep-debug program whole
objcopy -S --remove-section .comment --keep-symbols=keep whole mini && rm whole
strip program && xz mini && objcopy --add-section .gnu_debugdata=mini.xz program"""
# A file system of its own, whose root the program gets; debug files lie there only.
ALONE = """exec unshare --mount --propagation private sh -c '
mkdir root && mount -t tmpfs none root && mkdir -p root/app root/usr/lib/debug &&
cp program root/app/program && {0} && exec chroot root /app/program $CPU_SECONDS'"""
TO_ID = """id=$(readelf -n program | sed -n "s/.*Build ID: //p") &&
to=root/usr/lib/debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $to &&
cp side.debug $to/$(echo $id | cut -c3-).debug"""
TO_LINK = "mkdir root/usr/lib/debug/app && cp side.debug root/usr/lib/debug/app"
STATIC = f"{COMPILE} -static"

FORMS = {
    "cxx_o1": Form(LINES, run="exec $LINES/lines_cxx_o1 $CPU_SECONDS"),
    "cxx_o2": Form(LINES, run="exec $LINES/lines_cxx_o2 $CPU_SECONDS"),
    "clang": Form(LINES, run="exec $LINES/lines_clang $CPU_SECONDS"),
    "rust_o1": Form(LINES, run="exec $LINES/lines_rust_o1 $CPU_SECONDS"),
    "rust_o3": Form(LINES, run="exec $LINES/lines_rust_o3 $CPU_SECONDS"),
    "go": Form(LINES, run="exec $LINES/lines_go $CPU_SECONDS"),
    "go_stripped": Form(LINES, run="exec $LINES/lines_go_s $CPU_SECONDS"),
    "dwarf_4": Form(LINES, f"{COMPILE} -gdwarf-4"),
    "lto": Form(LINES, f"{COMPILE} -flto"),
    "static": Form(LINES, STATIC),
    "zlib": Form(LINES, f"{COMPILE} -gz=zlib"),
    "zlib_gnu": Form(LINES, f"{COMPILE} -gz=zlib-gnu"),
    "zstd": Form(LINES, f"{COMPILE} && objcopy --compress-debug-sections=zstd program"),
    "debuglink": Form(LINES, LINKED.format("side.debug")),
    "debuglink_folder": Form(LINES, f"mkdir .debug && {LINKED.format('.debug/side.debug')}"),
    "debuglink_zlib": Form(LINES, f"{LINKED.format('side.debug')} && "
                                  "objcopy --compress-debug-sections=zlib side.debug"),
    "dwz": Form(LINES, f"{COMPILE} && cp program other && dwz -m common -M common program other",
                needs=("dwz",)),
    "dwo": Form(LINES, f"{COMPILE} -gsplit-dwarf"),
    "dwo_4": Form(LINES, f"{COMPILE} -gsplit-dwarf -gdwarf-4"),
    "dwo_clang": Form(LINES, f"{COMPILE.replace('g++', 'clang++-14')} -gsplit-dwarf -gdwarf-5",
                      needs=("clang++-14",)),
    "dwp_4": Form(LINES, f"{COMPILE} -gsplit-dwarf -gdwarf-4 && dwp -e program -o program.dwp && "
                         "rm *.dwo",
                needs=("dwp",)),
    "dwp_5": Form(LINES, f"{COMPILE} -gsplit-dwarf && llvm-dwp-19 -e program -o program.dwp && "
                         "rm *.dwo", needs=("llvm-dwp-19",)),
    "rust_dwp": Form(LINES, "rustc -g -C opt-level=3 -C split-debuginfo=packed --edition 2021 "
                            "-A dead_code -o program ${SOURCE%.cc}.rs", needs=("rustc",)),
    "mini": Form(FUNCTIONS, f"{COMPILE}\n{MINI}", needs=("xz",)),
    "symtab": Form(FUNCTIONS, f"{COMPILE} && strip --strip-debug program"),
    "dynsym": Form(FUNCTIONS, f"{COMPILE} -rdynamic && strip program"),
    "memfd": Form(LINES, COMPILE,
                  "exec $LINES/../code_places memfd-exec 0 ./program $CPU_SECONDS"),
    "deleted": Form(LINES, COMPILE, "(sleep 0.3; rm program) & exec ./program $CPU_SECONDS"),
    "replaced": Form(LINES, COMPILE, "(sleep 0.3; cp /bin/true new; mv new program) & "
                                     "exec ./program $CPU_SECONDS"),
    "namespace": Form(LINES, STATIC, ALONE.format(":")),
    "namespace_build_id": Form(LINES, f"{STATIC} && {SPLIT.format('side.debug')}",
                               ALONE.format(TO_ID), mortal=True),
    "namespace_link": Form(LINES, LINKED.format("side.debug").replace(COMPILE, STATIC),
                           ALONE.format(TO_LINK), mortal=True),
}


class LineTruth:
    """What one program said of its lines."""

    def __init__(self, said):
        self.pid, self.function, self.source = said["pid"], said["function"], said["source"]
        self.lines = [(line["at"], line["cpu_ns"]) for line in said["lines"]]
        self.cpu_ns = sum(cpu_ns for _, cpu_ns in self.lines)

    def mark(self, frame):
        """Of the frame's line; an inlined function must have the mark as its name."""
        if os.path.basename(frame.filename) != self.source:
            return None
        name, mark = plain_name(frame.name), marks_of(self.source).get(frame.line)
        return mark if name == self.function or re.split(r"::|\.", name)[-1] == mark else None

    def line_of(self, frames):
        """(number of the line or None, whether the frames are right)"""
        # Go's scheduler interrupts the line by a call of its own.
        marks = [self.mark(frame) for frame in frames
                 if not frame.name.startswith("runtime.asyncPreempt")]
        if marks[-1] == "beside":
            return None, True
        for number, (at, _) in enumerate(self.lines):
            if marks == at:
                return number, True
        return None, False


@functools.cache
def marks_of(source):
    """{line: mark} of the comments at the ends of a source's lines."""
    with open(f"{SOURCES}/truth/{source}", encoding="utf-8") as file:
        found = {number: re.search(r"// at (\w+)$", line) for number, line in enumerate(file, 1)}
    return {number: match[1] for number, match in found.items() if match}


def judge(truth, samples, wants):
    """How right the names of one process are.

    inside: samples of the hot function, found by its name.
    right: of those, the ones whose file, line and inlined functions are right (wants LINES), or
    whose innermost function in the program's own file it is (FUNCTIONS).
    named: frames that have a name, in the program's own file, in the kernel and in the vDSO.
    share_error: largest distance of a line's share from what the program measured, in points;
    sigma: one standard deviation of that share.
    """
    total = inside = right = seen = named = 0
    by_line, wrong = collections.Counter(), collections.Counter()
    for sample in samples:
        count = sample.values[0]
        user = [frame for frame in sample.frames if not is_kernel(frame)]
        for frame in sample.frames:
            if frame.mapping and NAMED_FILES.search(frame.mapping.filename):
                seen += count
                named += count * (not UNNAMED.match(frame.name))
                if UNNAMED.match(frame.name):
                    wrong[f"no name: {frame.name}"] += count
        total += count * bool(user)
        at = next((number for number, frame in enumerate(user)
                   if plain_name(frame.name) == truth.function), None)
        if at is None:
            continue
        inside += count
        number, is_right = truth.line_of(user[:at + 1])
        if wants == FUNCTIONS:
            is_right = all(frame.mapping != user[at].mapping for frame in user[:at])
        right += count * is_right
        if number is not None:
            by_line[number] += count
        if not is_right:
            wrong[describe(user[:at + 1])] += count
    result = {"inside": inside, "inside_percent": percent(inside, total),
              "right_percent": percent(right, inside), "named_percent": percent(named, seen),
              "wrong": dict(wrong.most_common(8))}
    return {**result, **(shares(truth, by_line) if wants == LINES else {})}


def is_kernel(frame):
    return frame.mapping is not None and frame.mapping.filename.startswith("[kernel]")


def describe(frames):
    return " < ".join(f"{frame.name} {os.path.basename(frame.filename)}:{frame.line}"
                      for frame in frames)


def shares(truth, by_line):
    attributed = sum(by_line.values())
    errors = []
    for number, (_, cpu_ns) in enumerate(truth.lines):
        own = cpu_ns / (truth.cpu_ns or 1)
        sigma = (own * (1 - own) / (attributed or 1)) ** 0.5
        errors.append((100 * abs(by_line[number] / (attributed or 1) - own), 100 * sigma))
    share_error, sigma = max(errors)
    return {"share_error": round(share_error, 3), "sigma": round(sigma, 3),
            "own_shares": [round(cpu_ns / (truth.cpu_ns or 1), 4) for _, cpu_ns in truth.lines],
            "shares": [round(by_line[number] / (attributed or 1), 4)
                       for number in range(len(truth.lines))]}


class Missing(Exception):
    """Why a form cannot be made here."""


def prepare(name, folder, cpu_seconds):
    """Builds a form in this folder; the script that runs it."""
    form = FORMS[name]
    for need in form.needs:
        if not shutil.which(need):
            raise Missing(f"needs the program {need}")
    environment = {**os.environ, "SOURCE": SOURCE, "CPU_SECONDS": str(cpu_seconds),
                   "LINES": f"{PROGRAMS}/lines"}
    built = re.match(r"exec \$LINES/(\w+)", form.run)
    if built and not os.path.exists(f"{PROGRAMS}/lines/{built[1]}"):
        raise Missing(f"needs the program {built[1]}: its compiler was not there at build time")
    done = subprocess.run(["bash", "-c", f"set -e\n{form.build}"], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"cannot be built: {done.stderr[-300:]}")
    with open(f"{folder}/run.sh", "w", encoding="utf-8") as file:
        file.write("".join(f"export {key}={environment[key]}\n" for key in ("CPU_SECONDS", "LINES"))
                   + f"cd {folder}\n{form.run}\n")
    return f"{folder}/run.sh"


def measure(record, folder, names, cpu_seconds, frequency):
    """{name: result} of these forms, most of which run at the same time; a form that cannot be made
    here has the reason as "missing"."""
    mortal = [name for name in names if FORMS[name].mortal]
    results = measure_together(record, folder, [name for name in names if name not in mortal],
                               cpu_seconds, frequency)
    for name in mortal:
        results.update(measure_together(record, folder, [name], 5 * cpu_seconds, frequency))
    return results


def measure_together(record, folder, names, cpu_seconds, frequency):
    results, scripts = {}, {}
    for name in names:
        os.mkdir(f"{folder}/{name}")
        try:
            scripts[name] = prepare(name, f"{folder}/{name}", cpu_seconds)
        except Missing as missing:
            results[name] = {"missing": str(missing)}
    if not scripts:
        return results
    together = "".join(f"bash {script} > {script}.output & " for script in scripts.values())
    recording = record("--frequency", str(frequency), "--symbol-cache", f"{folder}/symbols", "--",
                       "sh", "-c", f"{together} wait", timeout=300)
    for name, script in scripts.items():
        with open(f"{script}.output", encoding="utf-8") as file:
            truth = LineTruth(json.loads(file.read()))
        samples = [s for s in recording.profile.samples if s.labels.get("pid") == truth.pid]
        results[name] = {"form": name, "wants": FORMS[name].wants, "cpu_s": truth.cpu_ns / 1e9,
                         **judge(truth, samples, FORMS[name].wants)}
    return results
