"""Boots a Linux kernel in QEMU without KVM on a file system in memory, and runs one script in it.

Shape:  Guest(kernel).add(...); run(script) -> Output(console, files). The guest's folder /out
        comes back through the second serial port as a base64 tar, so the console stays readable.
Cost:   about two seconds to user space, plus the script at about a tenth of native speed.
"""
import base64
import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass

BUSYBOX_TOOLS = ("sh mount mkdir cat grep uname base64 tar poweroff sleep ls dd stty ip echo kill "
                 "sed head tail wc true false sync dmesg nproc").split()

INIT = """#!/bin/sh
export PATH=/bin HOME=/ TERM=dumb
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /out /tmp /run /var/lib
ip link set lo up 2>/dev/null
/bin/sh /script >/dev/ttyS0 2>&1
echo "script ended with $?" >/dev/ttyS0
stty -F /dev/ttyS1 raw -echo 2>/dev/null
(tar -C /out -c . | base64; echo END) >/dev/ttyS1
sync
poweroff -f
"""


@dataclass
class Output:
    console: str
    files: dict  # name in /out -> bytes
    code: int | None  # exit status of the script; None when it did not come to its end


def shared_libraries(program):
    """Paths of the libraries and the loader that a dynamic program needs."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return re.findall(r"(?:=> )?(/\S+) \(0x", done.stdout)


class Guest:
    def __init__(self, kernel, cpus=2, memory_mb=1024):
        self.kernel, self.cpus, self.memory_mb = kernel, cpus, memory_mb
        self.entries = {}  # path -> (mode, content)
        busybox = shutil.which("busybox")
        if not busybox or shared_libraries(busybox):
            raise RuntimeError("needs a static busybox: apt-get install busybox-static")
        self.add(busybox, "/bin/busybox")
        for tool in BUSYBOX_TOOLS:
            self.entries[f"/bin/{tool}"] = (0o120777, b"busybox")
        self.add_bytes("/init", INIT.encode(), 0o100755)
        for folder in ("/proc", "/sys", "/dev", "/etc"):
            self.entries[folder] = (0o040755, b"")

    def add(self, source, target):
        """Adds a file, and the libraries that it needs under their own paths."""
        with open(source, "rb") as file:
            self.add_bytes(target, file.read(), 0o100755)
        for library in shared_libraries(source):
            if library not in self.entries:
                with open(library, "rb") as file:
                    self.add_bytes(library, file.read(), 0o100755)
        return self

    def add_bytes(self, target, content, mode=0o100644):
        self.entries[target] = (mode, content)

    def _archive(self):
        """A cpio archive in the newc form, which the kernel unpacks as its root."""
        entries = dict(self.entries)
        for path in list(entries):
            parent = os.path.dirname(path)
            while parent not in ("/", ""):
                entries.setdefault(parent, (0o040755, b""))
                parent = os.path.dirname(parent)
        out = io.BytesIO()

        def put(name, mode, content, inode):
            fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
            out.write(b"070701" + b"".join(b"%08X" % field for field in fields))
            out.write(name.encode() + b"\0")
            out.write(b"\0" * (-out.tell() % 4))
            out.write(content)
            out.write(b"\0" * (-out.tell() % 4))

        for inode, path in enumerate(sorted(entries), 1):
            put(path.lstrip("/"), *entries[path], inode)
        put("TRAILER!!!", 0, b"", 0)
        return gzip.compress(out.getvalue(), 1)

    def run(self, script, timeout_s=300):
        self.add_bytes("/script", script.encode())
        with tempfile.TemporaryDirectory(prefix="vesta-kernel-") as folder:
            with open(f"{folder}/initrd", "wb") as file:
                file.write(self._archive())
            command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp",
                       str(self.cpus), "-m", str(self.memory_mb), "-nodefaults", "-display", "none",
                       "-no-reboot", "-serial", f"file:{folder}/console", "-serial",
                       f"file:{folder}/files", "-kernel", self.kernel, "-initrd",
                       f"{folder}/initrd", "-append", "console=ttyS0 loglevel=4 panic=-1"]
            try:
                subprocess.run(command, timeout=timeout_s, check=True, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pass  # the console says how far it came
            with open(f"{folder}/console", encoding="utf-8", errors="replace") as file:
                console = file.read().replace("\r", "")
            with open(f"{folder}/files", "rb") as file:
                payload = file.read().replace(b"\r", b"")
        ended = re.search(r"^script ended with (\d+)$", console, re.MULTILINE)
        files = {}
        if payload.rstrip().endswith(b"END"):
            archive = base64.b64decode(payload.rstrip()[:-3])
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                for member in tar:
                    if member.isfile():
                        files[member.name.removeprefix("./")] = tar.extractfile(member).read()
        return Output(console, files, int(ended[1]) if ended else None)
