"""C++ files are formatted by clang-format 19 and the .clang-format of the tree.

    tools/lint/format.py [--fix [--all]]

abi/ and bpf/ keep the kernel's style and are left alone, but for the host tests beside them.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = ["src/*.cc", "src/*.h", "test/support/*.cc", "test/support/*.h", "bpf/*.cc",
            "ui/*.cc", "ui/*.h"]


def git_files(*command):
    output = subprocess.run(["git", "-c", "safe.directory=*", *command, "--", *PATTERNS], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    return [line for line in output.splitlines() if (ROOT / line).exists()]


def main():
    fix = "--fix" in sys.argv
    if fix and "--all" not in sys.argv:
        files = git_files("diff", "--name-only", "HEAD") + git_files("ls-files", "--others",
                                                                      "--exclude-standard")
    else:
        files = git_files("ls-files")
    if not files:
        print("no C++ file to format")
        return 0
    mode = ["-i"] if fix else ["--dry-run", "-Werror", "--ferror-limit=1"]
    done = subprocess.run(["clang-format-19", *mode, *files], cwd=ROOT)
    if done.returncode == 0:
        print(f"{len(files)} files {'formatted' if fix else 'are formatted'}")
    else:
        print("`tools/dev fmt --all` formats them")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
