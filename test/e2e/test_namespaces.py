"""Programs in namespaces, roots and control groups of their own: files come from where the program
sees them, pids are those of the host, and labels say where it runs.
"""
import contextlib
import os
import re
import shutil
import subprocess
import time

import pytest

from conftest import PROGRAMS, weight
from test_stacks import part
from test_code_places import PLUGIN, RATE, assert_path, build_plugin, spin_path

NOBODY = 65534
IS_MOUNT = os.path.ismount("/")
pytestmark = [pytest.mark.needs_bpf, pytest.mark.skipif(
    not IS_MOUNT, reason="the root folder is no mount (a chroot), so mount namespaces cannot be "
    "made private")]


def in_chroot():
    """Whether our root is not that of our mount namespace, which entering it again would show."""
    done = subprocess.run(["nsenter", "--mount=/proc/self/ns/mnt", "stat", "-c", "%d:%i", "/"],
                          capture_output=True, text=True, check=False)
    own = os.stat("/")
    return done.returncode == 0 and done.stdout.strip() != f"{own.st_dev}:{own.st_ino}"


def libraries_of(path):
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+)", done.stdout)


class Root:
    """A root folder with a shell and a few programs in it, and nothing else."""

    def __init__(self, path):
        self.path = path
        for name in ("app", "bin", "dev", "old", "proc", "tmp"):
            os.makedirs(f"{path}/{name}")
        os.chmod(f"{path}/tmp", 0o1777)
        self.add(os.path.realpath("/bin/sh"), "/bin/sh")

    def add(self, program, at):
        shutil.copy(program, self.path + at)
        for library in libraries_of(program):
            target = self.path + library
            if not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(library, target)
        return self


@pytest.fixture
def root(folder):
    return Root(f"{folder}/root")


@contextlib.contextmanager
def started(*command, settle=0.3, **options):
    """A program that runs while the body does, and its children."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            time.sleep(settle)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


def record_all(record, seconds="1s"):
    return record(*RATE, "--duration", seconds)


def test_chroot_has_its_own_files(record, root):
    root.add(f"{PROGRAMS}/spin_10", "/app/program")
    recording = record(*RATE, "--", "chroot", root.path, "/app/program", "1")
    samples = recording.of("program")
    assert_path(recording, samples, spin_path("10"))
    assert {s.labels["exe"] for s in samples} == {f"{root.path}/app/program"}


@pytest.mark.parametrize("when", ["while recording", "before"])
def test_pivot_root_in_mount_and_pid_namespaces(record, root, when):
    """As a container starts: the old root is gone, the program has pid 1."""
    root.add(f"{PROGRAMS}/spin_11", "/app/program")
    script = (f"mount --bind {root.path} {root.path} && cd {root.path} && pivot_root . old && "
              "exec /bin/sh -c 'cd /; exec /app/program 5'")
    command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]
    if when == "before":
        with started(*command) as process:
            recording = record_all(record)
            child = open(f"/proc/{process.pid}/task/{process.pid}/children",
                         encoding="ascii").read().split()
    else:
        recording, child = record(*RATE, "--duration", "1s", "--", *command), None
    samples = recording.of("program")
    assert_path(recording, samples, spin_path("11"))
    pids = {s.labels["pid"] for s in samples}
    assert len(pids) == 1 and (child is None or pids == {int(child[0])})


def test_equal_paths_of_two_roots_are_two_binaries(record, folder):
    roots = [Root(f"{folder}/{name}").add(f"{PROGRAMS}/spin_{tag}", "/app/program")
             for name, tag in (("one", "12"), ("two", "13"))]
    with started("chroot", roots[0].path, "/app/program", "30") as one, \
            started("chroot", roots[1].path, "/app/program", "30") as two:
        recording = record_all(record)
    samples = recording.of("program")
    for process, tag, other in ((one, "12", "13"), (two, "13", "12")):
        own = [s for s in samples if s.labels["pid"] == process.pid]
        assert_path(recording, own, spin_path(tag))
        assert recording.share(f"_{other}$", own) == 0


@pytest.mark.parametrize("kind", ["bind", "overlay"])
def test_equal_paths_of_two_mount_namespaces_are_two_binaries(record, folder, kind):
    if kind == "overlay" and "overlay" not in open("/proc/filesystems", encoding="ascii").read():
        pytest.skip("needs overlayfs in the kernel")
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(f"{folder}/{name}")
    shutil.copy(f"{PROGRAMS}/spin_14", f"{folder}/lower/program")
    shutil.copy(f"{PROGRAMS}/spin_15", f"{folder}/upper/program")
    if kind == "overlay":
        mount = (f"mount -t overlay none -o lowerdir={folder}/lower,upperdir={folder}/upper,"
                 f"workdir={folder}/work {folder}/merged && exec {folder}/merged/program 30")
        plain = f"mount --bind {folder}/lower {folder}/merged && exec {folder}/merged/program 30"
    else:
        mount = (f"mount --bind {folder}/upper/program {folder}/lower/program && "
                 f"exec {folder}/lower/program 30")
        plain = f"exec {folder}/lower/program 30"
    with started("unshare", "--mount", "sh", "-c", plain) as one, \
            started("unshare", "--mount", "sh", "-c", mount) as two:
        recording = record_all(record)
    samples = recording.of("program")
    for process, tag in ((one, "14"), (two, "15")):
        assert_path(recording, [s for s in samples if s.labels["pid"] == process.pid],
                    spin_path(tag))
    assert len({s.labels["exe"] for s in samples}) == 1


def test_program_replaced_on_disk_inside_a_namespace(record, root):
    root.add(f"{PROGRAMS}/spin_16", "/app/program").add(f"{PROGRAMS}/spin_17", "/app/next")
    with started("chroot", root.path, "/app/program", "30") as old:
        os.rename(f"{root.path}/app/next", f"{root.path}/app/program")
        with started("chroot", root.path, "/app/program", "30") as new:
            recording = record_all(record)
    samples = recording.of("program")
    for process, tag in ((old, "16"), (new, "17")):
        assert_path(recording, [s for s in samples if s.labels["pid"] == process.pid],
                    spin_path(tag))


@pytest.mark.skipif(in_chroot(), reason="in a chroot the kernel refuses user namespaces")
def test_rootless_user_namespace(record, root):
    """As podman without root: the user is root inside, files belong to sub-users."""
    root.add(f"{PROGRAMS}/spin_18", "/app/program")
    os.chmod(os.path.dirname(root.path), 0o755)
    for path, folders, files in os.walk(root.path):
        for name in [path, *(f"{path}/{f}" for f in folders + files)]:
            os.chown(name, 100000, 100000)
    command = ["setpriv", "--reuid", "100000", "--regid", "100000", "--clear-groups", "unshare",
               "--user", "--map-root-user", "--mount", "--pid", "--fork", "chroot", root.path,
               "/app/program", "1"]
    recording = record(*RATE, "--", *command)
    assert_path(recording, recording.of("program"), spin_path("18"))


def test_pid_namespace_in_a_pid_namespace(record):
    recording = record(*RATE, "--", "unshare", "--pid", "--fork", "unshare", "--pid", "--fork",
                       f"{PROGRAMS}/spin_19", "1")
    samples = recording.of("spin_19")
    assert_path(recording, samples, spin_path("19"))
    assert all(s.labels["pid"] > 2 for s in samples), "pids are those of the host"


def test_names_of_generated_code_inside_a_container(record):
    """/tmp is the program's own, and its files are named by the pid that it sees."""
    script = f"mount -t tmpfs none /tmp && exec {PROGRAMS}/code_forker 2"
    # A build folder below /tmp would disappear.
    if PROGRAMS.startswith("/tmp/"):
        pytest.skip("the programs lie in /tmp")
    recording = record(*RATE, "--", "unshare", "--mount", "--pid", "--fork", "--mount-proc",
                       "sh", "-c", script)
    samples = recording.of("code_forker")
    for name in ("parent_code", "parent_late_code", "child_code"):
        assert recording.share(f"^{name}$", samples) >= 0.1


@pytest.mark.skipif(in_chroot(), reason="entering a mount namespace leads out of a chroot")
def test_mount_namespace_entered_in_the_middle_of_a_life(record, folder):
    """The plug-in is there only inside; the program itself only outside."""
    os.mkdir(f"{folder}/inside")
    inside = (f"mount -t tmpfs none {folder}/inside && cp {PLUGIN} {folder}/inside/plugin.so && "
              "echo ready && exec sleep 60")
    with started("unshare", "--mount", "sh", "-c", inside, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"ready\n"
        recording = record(*RATE, "--", f"{PROGRAMS}/code_places", "enter", "2",
                           f"/proc/{holder.pid}/ns/mnt", f"{folder}/inside/plugin.so")
    samples = recording.of("code_places")
    assert recording.share("^before_enter_spin$", samples) >= 0.4
    late = [s for s in samples if "before_enter_spin" not in s.names]
    assert_path(recording, late, ["plugin_spin", "plugin_entry", "call_plugin"], share=0.95)


def test_time_namespace_does_not_move_samples(record):
    recording = record(*RATE, "--", "unshare", "--time", "--monotonic", "1000000", "--boottime",
                       "1000000", "--fork", f"{PROGRAMS}/spin_20", "1")
    assert_path(recording, recording.of("spin_20"), spin_path("20"))


@pytest.mark.parametrize("when", ["while recording", "before"])
def test_process_whose_first_thread_has_ended(record, root, when):
    """/proc/PID shows neither memory nor root of it; those of its other threads do."""
    root.add(f"{PROGRAMS}/code_places", "/app/program")
    root.add("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib/x86_64-linux-gnu/libgcc_s.so.1")
    command = ["chroot", root.path, "/app/program", "leaderless"]
    if when == "before":
        with started(*command, "30"):
            recording = record_all(record)
    else:
        recording = record(*RATE, "--", *command, "1")
    samples = recording.of("program")
    assert_path(recording, samples, ["thread_spin", "second_thread"])
    assert {s.labels["exe"] for s in samples} == {f"{root.path}/app/program"}


def test_namespaces_that_are_gone_when_we_look(record, folder):
    """Programs of 60 ms, each on a file system of its own that ends with it. Their files are read
    while they live, and named after they are gone."""
    one = (f"mount -t tmpfs none {folder} && cp {PROGRAMS}/spin_21 {folder}/program && "
           f"{folder}/program 0.06; :")
    loop = f"for i in $(seq 25); do unshare --mount sh -c '{one}'; done"
    recording = record(*RATE, "--", "sh", "-c", loop)
    samples = recording.of("program")
    user = [s for s in samples if any(re.match("(spin_|main|_start)", n) or "program+" in n
                                      for n in s.names)]
    assert weight(user) >= 100
    assert recording.share("^spin_leaf_21$", user) >= 0.9
    assert part(user, lambda s: "incomplete" not in s.labels) >= 0.9


def test_file_system_can_be_unmounted_while_its_files_are_known(folder, record):
    """And code that ran from there keeps its names."""
    os.mkdir(f"{folder}/disk")
    build_plugin(f"{folder}/plugin.so")  # no other test has this very file
    script = (f"mount -t tmpfs none {folder}/disk && cp {folder}/plugin.so {folder}/disk/p.so && "
              f"{PROGRAMS}/code_places plugin 1 {folder}/disk/p.so; umount {folder}/disk")
    command, base = record.command(*RATE, "--", "sh", "-c", script)
    with subprocess.Popen(["unshare", "--mount", *command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        recording = record.result(process, base, time.monotonic())
    assert recording.code == 0, f"umount says: {recording.stderr}"
    assert recording.share("^new_plugin_spin$", recording.of("code_places")) >= 0.9


# --- Labels --------------------------------------------------------------------------------------

CONTAINER = "3f4a9c0d" * 8
POD = "8a2e4f66-0c1b-4d5e-9f70-112233445566"
GROUPS = {
    "docker": (f"docker/{CONTAINER}", {"container.id": CONTAINER}),
    "docker with systemd": (f"system.slice/docker-{CONTAINER}.scope", {"container.id": CONTAINER}),
    "podman": (f"machine.slice/libpod-{CONTAINER}.scope/container", {"container.id": CONTAINER}),
    "containerd": (f"kubepods/burstable/pod{POD}/{CONTAINER}",
                   {"container.id": CONTAINER, "k8s.pod.uid": POD}),
    "CRI-O": (f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
              f"{POD.replace('-', '_')}.slice/crio-{CONTAINER}.scope",
              {"container.id": CONTAINER, "k8s.pod.uid": POD}),
    "systemd": ("system.slice/shop-api.service",
                {"systemd.unit": "shop-api.service", "service.name": "shop-api"}),
    "systemd in a container": (f"docker/{CONTAINER}/system.slice/shop-db.service",
                               {"container.id": CONTAINER, "systemd.unit": "shop-db.service",
                                "service.name": "shop-db"}),
    "container in a container": (f"docker/{'ab' * 32}/docker/{CONTAINER}",
                                 {"container.id": CONTAINER}),
}


def hierarchies():
    """Mounted control groups to test in: version 2, and one of version 1."""
    found = {}
    with open("/proc/self/mounts", encoding="ascii") as mounts:
        for line in mounts:
            _, at, kind, options, *_ = line.split()
            if kind == "cgroup2":
                found.setdefault("2", at)
            elif kind == "cgroup" and "pids" in options.split(","):
                found.setdefault("1", at)
    return found


@contextlib.contextmanager
def control_group(hierarchy, path):
    if hierarchy not in hierarchies():
        pytest.skip(f"control groups of version {hierarchy} are not mounted")
    top, made = hierarchies()[hierarchy], []
    at = top
    for name in path.split("/"):
        at += "/" + name
        if not os.path.isdir(at):
            try:
                os.mkdir(at)
            except OSError as error:
                pytest.skip(f"cannot make {at}: {error}")
            made.append(at)
    try:
        yield at
    finally:
        for folder in reversed(made):
            for _ in range(50):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                    break
                time.sleep(0.05)


@pytest.mark.parametrize("hierarchy", ["1", "2"])
@pytest.mark.parametrize("name", GROUPS)
def test_labels_of_a_control_group(record, hierarchy, name):
    path, wanted = GROUPS[name]
    with control_group(hierarchy, path) as group:
        recording = record("--frequency", "199", "--", "sh", "-c",
                           f"echo $$ > {group}/cgroup.procs; exec {PROGRAMS}/spin_22 0.3")
    labels = recording.of("spin_22")[0].labels
    assert {key: labels.get(key) for key in wanted} == wanted


@pytest.mark.parametrize("hierarchy", ["1", "2"])
def test_programs_of_five_milliseconds_have_names_and_labels(record, hierarchy):
    """They are gone when we look: name and path come from the kernel's events, labels from the
    shell that started them."""
    with control_group(hierarchy, GROUPS["docker"][0]) as group:
        recording = record(*RATE, "--", "sh", "-c", f"echo $$ > {group}/cgroup.procs; "
                           f"for i in $(seq 100); do {PROGRAMS}/spin_24 0.005; done")
    samples = recording.of("spin_24")
    assert weight(samples) >= 60
    assert part(samples, lambda s: s.labels.get("exe") == f"{PROGRAMS}/spin_24") >= 0.97
    assert part(samples, lambda s: s.labels.get("container.id") == CONTAINER) >= 0.97
    assert part(samples, lambda s: "incomplete" not in s.labels) >= 0.97
    details = recording.book["details"]
    assert details["labels_unknown"] <= 2
    assert details["labels_inherited"] >= 5, "the test means programs that are gone"
