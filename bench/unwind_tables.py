#!/usr/bin/python3
"""Rules of unwind tables against elfutils, in a random sample of this machine's ELF files.

    tools/dev bench unwind_tables [--files N] [--seed N]

Prints the files that differ, and the sums; exit status 1 when any rule differs.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("VESTA_BUILD", ROOT / "build"))
FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"]
FILES_A_CALL = 500  # the command line has a limit


def is_elf(path):
    try:
        with open(path, "rb") as file:
            start = file.read(20)
    except OSError:
        return False
    # 64 bits, little endian, a program or a library, for x86-64.
    return start[:6] == b"\x7fELF\x02\x01" and start[16] in (2, 3) and start[18] == 62


def elf_files():
    for folder in FOLDERS:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if not os.path.islink(path) and is_elf(path):
                    yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    files = sorted(elf_files())
    chosen = random.Random(arguments.seed).sample(files, min(arguments.files, len(files)))
    print(f"{len(chosen)} of {len(files)} files", flush=True)
    differs = False
    for first in range(0, len(chosen), FILES_A_CALL):
        part = chosen[first:first + FILES_A_CALL]
        command = [BUILD / "bench" / "walk_oracle", "--tables", *part]
        differs |= subprocess.run(command, check=False).returncode != 0
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
