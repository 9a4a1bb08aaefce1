#!/usr/bin/env python3
"""Records a known program under kernels of Debian and judges the profile: run.py [VERSION]...

For each kernel: download Debian's package, boot it in QEMU, run `vesta record -- deep_split` and a
recording of the whole guest, and check shares, whole stacks and kernel frames; the programs without
bpf_loop, for older kernels, must load. --probe boots without vesta and only says what the kernel can
do.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, "test", "e2e")]
import accuracy  # noqa: E402
import pprof  # noqa: E402
from boot import Guest  # noqa: E402
from conftest import PROGRAMS, VESTA  # noqa: E402

# The kernel of Debian 11, which is the oldest that vesta runs on, Debian 12's own and the one of its
# backports; cloud = no drivers that QEMU lacks.
PACKAGES = {"5.10": r"linux-image-5\.10\.[0-9]+-[0-9]+-cloud-amd64",
            "6.1": r"linux-image-6\.1\.[0-9]+-[0-9]+-cloud-amd64",
            "6.12": r"linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64"}
OTHER_RELEASE = {"5.10": "bullseye"}  # than that of this machine
KERNELS = os.path.join(ROOT, "build", "kernels")
SHARE_POINTS, COMPLETE_PERCENT = 8, 97
SECONDS = 5

PROBE = """
echo "kernel $(uname -r)"
if [ -e /sys/kernel/btf/vmlinux ]; then echo "btf yes"; else echo "btf no"; fi
if grep -q ' bpf_loop$' /proc/kallsyms; then echo "bpf_loop yes"; else echo "bpf_loop no"; fi
/deep_split 1 >/out/probe.json
"""

RECORD = f"""
/vesta doctor --state-dir /state; echo "doctor ended with $?"
loop=$(grep -q ' bpf_loop$' /proc/kallsyms && echo "--unwind-loop bpf_loop")
/vesta record $loop --frequency 99 --state-dir /state -o /out/split.pb.gz -o /out/split.folded \\
  -- /deep_split {SECONDS} >/out/split.txt
code=$?
cat /out/split.txt
cat /state/last_recording.json >/out/book.json
dd if=/dev/zero of=/dev/null bs=64k & load=$!
/vesta record --frequency 99 --duration 3s --state-dir /state -o /out/all.pb.gz || code=$?
kill $load
/vesta record --unwind-loop bounded --duration 1s --state-dir /state -o /out/bounded.pb.gz || code=$?
exit $code
"""


def apt_options(release):
    """For packages of another release than this machine's, which stays as it is."""
    if release is None:
        return []
    folder = os.path.join(KERNELS, release)
    os.makedirs(f"{folder}/lists/partial", exist_ok=True)
    os.makedirs(f"{folder}/cache/archives/partial", exist_ok=True)
    options = []
    for name, value in (("APT::Sandbox::User", "root"), ("Dir::Etc::sourceparts", "/dev/null"),
                        ("Dir::Etc::sourcelist", f"{folder}/sources.list"),
                        ("Dir::State::lists", f"{folder}/lists"),
                        ("Dir::Cache", f"{folder}/cache")):
        options += ["-o", f"{name}={value}"]
    if not glob.glob(f"{folder}/lists/*_Packages*"):
        sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)"],
                               capture_output=True, text=True, check=True).stdout
        site = re.search(r"(\S*/debian)/? bookworm$", sites, re.MULTILINE)
        if not site:
            raise SystemExit("no source of Debian 12's packages is configured here")
        with open(f"{folder}/sources.list", "w", encoding="utf-8") as file:
            file.write("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                       f"{site[1]} {release} main\n")
        subprocess.run(["apt-get", *options, "update", "-q"], check=True,
                       stdout=subprocess.DEVNULL)
    return options


def newest_package(pattern, options):
    names = subprocess.run(["apt-cache", *options, "pkgnames", "linux-image-"],
                           capture_output=True, text=True, check=True).stdout.split()
    for suffix in ("", "-unsigned"):
        found = [name for name in names if re.fullmatch(pattern + suffix, name)]
        if found:
            return max(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    raise SystemExit(f"no package matches {pattern}; is the package list fresh (apt-get update)?")


def kernel_image(version):
    """Path of vmlinuz of Debian's newest kernel of this line; downloaded once."""
    options = apt_options(OTHER_RELEASE.get(version))
    package = newest_package(PACKAGES[version], options)
    folder = os.path.join(KERNELS, package)
    images = glob.glob(f"{folder}/boot/vmlinuz-*")
    if not images:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["apt-get", *options, "download", "-q", package], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        archive, = glob.glob(f"{folder}/*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
        os.remove(archive)
        images = glob.glob(f"{folder}/boot/vmlinuz-*")
    return images[0]


def judge(files):
    """Says what is wrong with what the guest recorded; an empty list is a pass."""
    faults = []
    truth, = accuracy.truths(files["split.txt"].decode())
    profile = pprof.parse(files["split.pb.gz"])
    seen = accuracy.judge(truth, accuracy.vesta_stacks(profile.select(process="deep_split")))
    print(f"  vesta  {json.dumps(seen)}")
    if seen["share_error"] > SHARE_POINTS:
        faults.append(f"a share is {seen['share_error']:.1f} points off")
    if seen["right_percent"] < COMPLETE_PERCENT:
        faults.append(f"only {seen['right_percent']:.1f} % of the paths are right")
    if seen["complete_percent"] < COMPLETE_PERCENT:
        faults.append(f"only {seen['complete_percent']:.1f} % of the stacks are whole")
    if seen["samples"] < 0.5 * truth.cpu_ns / 1e9 * 99:
        faults.append(f"{seen['samples']} samples in {truth.cpu_ns / 1e9:.1f} s of CPU at 99 Hz")
    folded = files["split.folded"].decode().splitlines()
    if not any(re.search(r"_start;.*main;.*hot_step<0>.*hot_leaf", line) for line in folded):
        faults.append("no folded line leads from _start to hot_leaf")
    whole = pprof.parse(files["all.pb.gz"])
    reads = [s.names for s in whole.select(process="dd") if "vfs_read" in s.names]
    print(f"  dd     {len(whole.select(process='dd'))} samples, {len(reads)} with vfs_read")
    if not reads:
        faults.append("no kernel frame vfs_read under dd")
    return faults


def try_kernel(version, probe_only):
    print(f"== Linux {version}: {os.path.basename(kernel_image(version))}", flush=True)
    guest = Guest(kernel_image(version)).add(f"{PROGRAMS}/deep_split", "/deep_split")
    if not probe_only:
        guest.add(VESTA, "/vesta")
    output = guest.run(PROBE + ("" if probe_only else RECORD))
    print("  " + output.console.strip().replace("\n", "\n  "))
    if output.code != 0:
        return [f"the script ended with {output.code}"]
    if "btf yes" not in output.console:
        return ["the kernel has no BTF"]
    return [] if probe_only else judge(output.files)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="VERSION", default=list(PACKAGES),
                        help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--probe", action="store_true", help="boot without vesta")
    parser.add_argument("--download", action="store_true", help="boot nothing")
    arguments = parser.parse_args()
    if arguments.download:
        for version in arguments.versions:
            print(kernel_image(version))
        return 0
    failed = 0
    for version in arguments.versions:
        faults = try_kernel(version, arguments.probe)
        failed += bool(faults)
        for fault in faults:
            print(f"  FAILED {fault}")
        print(f"{version}: {'failed' if faults else 'passed'}", flush=True)
    print(f"{len(arguments.versions) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
