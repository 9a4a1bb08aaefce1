"""Run counts, run time and memory of BPF programs and maps, by the bpf() system call.

Hold a Program and its numbers stay readable after its owner has ended: the last look is exact.
"""
import contextlib
import ctypes
import os
import struct

SYS_BPF = 321  # x86-64
PROG_GET_NEXT_ID, MAP_GET_NEXT_ID, PROG_GET_FD_BY_ID, MAP_GET_FD_BY_ID = 11, 12, 13, 14
OBJ_GET_INFO_BY_FD, ENABLE_STATS = 15, 32
PROG_TYPE_PERF_EVENT = 7

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    """Returns (result, attributes as the kernel left them)."""
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    result = _libc.syscall(SYS_BPF, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


def _ids(command):
    last, found = 0, []
    while True:
        try:
            _, out = _bpf(command, struct.pack("<I", last))
        except OSError:
            return found
        last = struct.unpack_from("<I", out, 4)[0]
        found.append(last)


def _info(fd, size):
    info = ctypes.create_string_buffer(size)
    _bpf(OBJ_GET_INFO_BY_FD, struct.pack("<IIQ", fd, size, ctypes.addressof(info)))
    return info.raw


def _fdinfo(fd):
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}


class Program:
    def __init__(self, program_id):
        self.id = program_id
        self.fd, _ = _bpf(PROG_GET_FD_BY_ID, struct.pack("<I", program_id))
        info = _info(self.fd, 128)
        self.is_sampler = struct.unpack_from("<I", info)[0] == PROG_TYPE_PERF_EVENT
        self.name = info[64:80].split(b"\0")[0].decode()

    def runs(self):
        """(run count, run time in ns) so far; zero while statistics are off."""
        fields = _fdinfo(self.fd)
        return int(fields.get("run_cnt", 0)), int(fields.get("run_time_ns", 0))

    def memory_bytes(self):
        return int(_fdinfo(self.fd).get("memlock", 0))

    def close(self):
        os.close(self.fd)


def program_ids():
    return set(_ids(PROG_GET_NEXT_ID))


def map_ids():
    return set(_ids(MAP_GET_NEXT_ID))


def held_by(pid):
    """(program ids, map ids) that a process holds open."""
    programs, maps = set(), set()
    folder = f"/proc/{pid}/fdinfo"
    for name in os.listdir(folder):
        with contextlib.suppress(OSError), open(f"{folder}/{name}", encoding="ascii") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key == "prog_id":
                    programs.add(int(value))
                elif key == "map_id":
                    maps.add(int(value))
    return programs, maps


def map_memory(map_id):
    """(name, bytes) of a map."""
    fd, _ = _bpf(MAP_GET_FD_BY_ID, struct.pack("<I", map_id))
    try:
        return _info(fd, 80)[24:40].split(b"\0")[0].decode(), int(_fdinfo(fd).get("memlock", 0))
    finally:
        os.close(fd)


@contextlib.contextmanager
def statistics():
    """Run statistics of all programs are on inside."""
    fd, _ = _bpf(ENABLE_STATS, struct.pack("<I", 0))
    try:
        yield
    finally:
        os.close(fd)
