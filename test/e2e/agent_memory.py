"""Memory of a running agent as `decisions` count it: Pss without mapped BPF maps, plus the memory of
its maps and programs, so that nothing counts twice."""
import contextlib
import threading

import bpf_stats


def pss_bytes(pid):
    """Pss without mappings of BPF maps and rings, which are counted as maps."""
    total, counts = 0, True
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line[0] in "0123456789abcdef" and "-" in line.split(" ", 1)[0]:
                counts = "bpf-map" not in line
            elif counts and line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


class MemoryWatch(threading.Thread):
    """Looks at a process ten times a second until it ends, or stop() is called."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid = pid
        self.peak_bytes = 0
        self.looks = []  # total bytes, one after the other
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set():
            with contextlib.suppress(OSError):  # the process may end at any moment
                self.look()
            self.ended.wait(0.1)

    def look(self):
        total = pss_bytes(self.pid)
        program_ids, map_ids = bpf_stats.held_by(self.pid)
        for map_id in map_ids:
            with contextlib.suppress(OSError):
                total += bpf_stats.map_memory(map_id)[1]
        for program_id in program_ids:
            with contextlib.suppress(OSError):
                program = bpf_stats.Program(program_id)
                total += program.memory_bytes()
                program.close()
        self.looks.append(total)
        self.peak_bytes = max(self.peak_bytes, total)

    def stop(self):
        """Returns the peak in MiB."""
        self.ended.set()
        self.join()
        assert len(self.looks) >= 5, "it was hardly looked at"
        return self.peak_bytes / 2**20
