#!/usr/bin/python3
"""What indexes of names cost, and whether they say what llvm-symbolizer says.

    tools/dev bench symbols [FILE...] [--lookups N] [--json FILE]
    tools/dev bench symbols [FILE...] --differential [--files N] [--addresses N] [--seed N]

Without FILE: this machine's files with debug information (the largest ones; for the differential a
random choice). Costs: CPU time of reading the debug information alone (read) and of making the
index of it (build); memory that the writer holds; size of the index; look-ups of distinct random
addresses, each with all its inlined frames and lines, on one core.

The differential asks llvm-symbolizer 19 about addresses where something begins or ends, twice:
about a copy without symbol tables (everything must be equal), and about the file as it is. There
llvm-symbolizer takes the outermost name from the symbol table, of several the last one; we take it
where the debug information has no mangled one, of several as without debug information. What
differs is listed by kind; exit status 1 when a kind is not one of those that are explained below.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("VESTA_BUILD", ROOT / "build")).absolute()
BENCH = BUILD / "bench" / "symbol_index_bench"
SYMBOLIZER = "llvm-symbolizer-19"
FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/local", "/opt", str(BUILD)]
SECTION_TYPE_SYMBOLS, SECTION_TYPE_DYNAMIC_SYMBOLS, SECTION_TYPE_NOTHING = 2, 11, 1
EXPLAINED = {
    "symbol alias": "another name of the same code in the symbol table",
    "symbol part": "a part or clone (.cold, .part, .constprop, .abi0, ...) by its symbol; ours is the "
                   "function it was made of",
    "symbol without function": "code that no function of the debug information covers; of the "
                               "symbols there theirs is another one, or one that ended before",
    "symbol file": "of code without line theirs is the file that the symbol table names",
    "caller without line": "of a call without line theirs is the unit's name as its file",
}


class Elf:
    """The section headers of a file; ValueError when it is none of ours."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            start = file.read(64)
            if len(start) < 64 or start[:6] != b"\x7fELF\x02\x01" or start[18] not in (62, 183):
                raise ValueError("no 64-bit ELF file")
            self.type = struct.unpack_from("<H", start, 16)[0]
            self.headers_at = struct.unpack_from("<Q", start, 40)[0]
            _, count, names = struct.unpack_from("<HHH", start, 58)
            file.seek(self.headers_at)
            table = file.read(64 * count)
            self.sections = list(struct.iter_unpack("<IIQQQQIIQQ", table[:len(table) // 64 * 64]))
            if names >= len(self.sections):
                raise ValueError("no section names")
            file.seek(self.sections[names][4])
            texts = file.read(min(self.sections[names][5], 1 << 20))
        self.names = [texts[s[0]:texts.find(b"\0", s[0])].decode("latin-1") for s in self.sections]

    def has(self, name):
        return any(n == name and s[1] != 8 for n, s in zip(self.names, self.sections))

    def symbol_addresses(self):
        """Where each name of the symbol tables lies."""
        addresses = collections.defaultdict(set)
        with open(self.path, "rb") as file:
            for section in self.sections:
                if section[1] not in (SECTION_TYPE_SYMBOLS, SECTION_TYPE_DYNAMIC_SYMBOLS):
                    continue
                file.seek(section[4])
                table = file.read(section[5] // 24 * 24)
                strings = self.sections[section[6]]
                file.seek(strings[4])
                texts = file.read(strings[5])
                for name, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", table):
                    end = texts.find(b"\0", name)
                    addresses[texts[name:end].decode(errors="replace")].add(value)
        return addresses

    def copy_without_symbols(self, target):
        shutil.copyfile(self.path, target)
        os.chmod(target, 0o600)
        with open(target, "r+b") as file:
            for number, section in enumerate(self.sections):
                if section[1] in (SECTION_TYPE_SYMBOLS, SECTION_TYPE_DYNAMIC_SYMBOLS):
                    file.seek(self.headers_at + 64 * number + 4)
                    file.write(struct.pack("<I", SECTION_TYPE_NOTHING))


def files_with_debug_information():
    for folder in FOLDERS:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                try:
                    if os.path.islink(path) or os.path.getsize(path) < 4096:
                        continue
                    elf = Elf(path)
                except (OSError, ValueError, struct.error):
                    continue
                # Programs and libraries that are linked. llvm-symbolizer 19 does not read what dwz
                # puts into a common file.
                if elf.type in (2, 3) and elf.has(".debug_info") \
                        and not elf.has(".gnu_debugaltlink"):
                    yield path


def known(text):
    return "" if text == "??" else text


def chains_of_symbolizer(path, addresses):
    """One list of (function, file, line, start line) per address, innermost first."""
    answer = subprocess.run(
        [SYMBOLIZER, f"--obj={path}", "--functions=linkage", "--no-demangle", "--inlines",
         "--verbose", "--no-debuginfod"], input="\n".join(addresses) + "\n", text=True,
        errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    chains, frames = [], []
    for line in answer.split("\n"):
        if not line:
            chains.append([tuple(frame) for frame in frames])
            frames = []
        elif line[0] != " ":
            frames.append([known(line), "", 0, 0])
        elif line.startswith("  Filename: "):
            frames[-1][1] = known(line[12:])
        elif line.startswith("  Line: "):
            frames[-1][2] = int(line[8:])
        elif line.startswith("  Function start line: "):
            frames[-1][3] = int(line[23:])
    return chains[:len(addresses)]


def chains_of_ours(path, addresses, *options):
    answer = subprocess.run([BENCH, path, "--print", *options], input="\n".join(addresses) + "\n",
                            text=True, errors="replace", stdout=subprocess.PIPE, check=True).stdout
    chains, frames = [], []
    for line in answer.split("\n"):
        if line:
            function, file, number, start = line.split("\t")
            frames.append((function, file, int(number), int(start)))
        else:
            chains.append(frames or [("", "", 0, 0)])
            frames = []
    return chains[:len(addresses)]


def kind_of_name(our, their, symbols):
    """Why the outermost names differ where symbol tables take part."""
    our_places = symbols.get(our, set())
    whole = their.split(".")[0]
    if their.startswith(our + ".") or whole != their and not (
            our_places and our_places.isdisjoint(symbols.get(whole, set()))):
        return "symbol part"
    if our_places and our_places.isdisjoint(symbols.get(their, set())):
        return "another symbol"
    return "symbol alias"


def kind_of(ours, theirs, by_units=None, symbols=None):
    """Why two chains differ; None when they do not. Where symbol tables take part, `by_units` is
    what the debug information alone says."""
    if ours == theirs:
        return None
    if len(ours) != len(theirs):
        return "depth"
    for depth, (our, their) in enumerate(zip(ours, theirs)):
        if our[2] != their[2]:
            return "line"
        if our[1] != their[1] and (our[2] or depth == 0):
            by_symbol = by_units is not None and len(ours) == 1 and not our[1] and not our[2]
            return "symbol file" if by_symbol else "file"
        if our[0] != their[0]:
            if by_units is None or depth < len(ours) - 1:
                return "function"
            if not by_units[-1][0]:
                return "symbol without function"
            return kind_of_name(our[0], their[0], symbols)
        if our[3] != their[3]:
            return "start line"
    return "caller without line"


class Differences:
    """What is not the same, of one file or of many."""

    def __init__(self):
        self.answer_count = self.inlined_count = 0
        self.kinds, self.examples = collections.Counter(), collections.defaultdict(list)

    def add(self, path, addresses, ours, theirs, by_units, symbols):
        self.answer_count += len(addresses)
        self.inlined_count += sum(len(chain) > 1 for chain in ours)
        if not len(addresses) == len(ours) == len(theirs):
            self.kinds["number of answers"] += 1
        for address, our, their, unit_chain in zip(addresses, ours, theirs, by_units):
            kind = kind_of(our, their, unit_chain, symbols)
            if kind:
                self.kinds[kind] += 1
                self.examples[kind].append((path, address, our, their))

    def merge(self, other):
        self.answer_count += other.answer_count
        self.inlined_count += other.inlined_count
        self.kinds += other.kinds
        for kind, examples in other.examples.items():
            self.examples[kind] += examples

    def __str__(self):
        texts = [f"{count} {kind}" for kind, count in sorted(self.kinds.items())]
        return f"{self.answer_count:8} answers, {sum(self.kinds.values()):6} differ " \
               f"{'(' if texts else ''}{', '.join(texts)}{')' if texts else ''}"


def compare(path, address_count):
    """Asks about one file without and with its symbol tables."""
    elf, differences = Elf(path), Differences()
    addresses = subprocess.run([BENCH, path, "--addresses", str(address_count)], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.split()
    if not addresses:
        return differences
    by_units = chains_of_ours(path, addresses, "--no-symbols")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy")
        elf.copy_without_symbols(copy)
        differences.add(path, addresses, by_units, chains_of_symbolizer(copy, addresses),
                        [None] * len(addresses), {})
    differences.add(path, addresses, chains_of_ours(path, addresses),
                    chains_of_symbolizer(path, addresses), by_units, elf.symbol_addresses())
    return differences


def differential(arguments):
    paths = arguments.files_given
    if not paths:
        every = sorted(files_with_debug_information())
        paths = random.Random(arguments.seed).sample(every, min(arguments.files, len(every)))
        print(f"{len(paths)} of {len(every)} files, seed {arguments.seed}")
    total = Differences()
    for path in paths:
        here = compare(path, arguments.addresses)
        print(f"{here} {path}", flush=True)
        total.merge(here)
    print(f"{total}, {total.inlined_count} answers with inlined functions")
    for kind, count in total.kinds.most_common():
        print(f"{count:8} {kind}: {EXPLAINED.get(kind, 'NOT EXPLAINED')}")
        for path, address, our, their in total.examples[kind][:arguments.examples]:
            print(f"           {path} {address}\n             ours {our}\n             llvm {their}")
    return 0 if set(total.kinds) <= set(EXPLAINED) else 1


COLUMNS = [  # key, title, width, digits
    ("info_mb", "info_mb", 8, 1), ("read_ms", "read_ms", 8, 0), ("build_ms", "build_ms", 9, 0),
    ("build_mb_per_s", "mb/s", 7, 0), ("writer_mb", "writer_mb", 10, 1),
    ("functions", "functions", 10, 0), ("index_mb", "index_mb", 9, 2),
    ("bytes_per_function", "b/func", 7, 0), ("bytes_per_piece", "b/piece", 8, 1),
    ("index_mb_per_info_mb", "per_info", 9, 3), ("open_ms", "open_ms", 8, 1),
    ("lookups_per_s", "lookups/s", 10, 0), ("calls_mean", "calls", 6, 2),
    ("named_share", "named", 6, 3)]


def costs(arguments):
    paths = arguments.files_given
    if not paths:
        paths = sorted(files_with_debug_information(), key=os.path.getsize)[-arguments.files:]
    print("".join(title.rjust(width) for _, title, width, _ in COLUMNS) + "  file")
    rows = {}
    for path in paths:
        answer = subprocess.run([BENCH, path, "--lookups", str(arguments.lookups)], text=True,
                                stdout=subprocess.PIPE, check=False)
        if answer.returncode:
            continue
        rows[path] = json.loads(answer.stdout)
        print("".join(f"{rows[path][key]:{width}.{digits}f}" for key, _, width, digits in COLUMNS)
              + f"  {path}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))
    return 0 if rows else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files_given", nargs="*", metavar="FILE")
    parser.add_argument("--differential", action="store_true")
    parser.add_argument("--files", type=int, help="how many; default 8, differential 300")
    parser.add_argument("--addresses", type=int, default=3000, help="per file")
    parser.add_argument("--examples", type=int, default=2, help="shown per kind")
    parser.add_argument("--lookups", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    arguments.files = arguments.files or (300 if arguments.differential else 8)
    return differential(arguments) if arguments.differential else costs(arguments)


if __name__ == "__main__":
    sys.exit(main())
