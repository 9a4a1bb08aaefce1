"""Writes pprof profiles without any library: what a test wants to be in a file, byte by byte."""
import gzip
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    name: str
    image: str = ""  # path of the binary; "[kernel]" for the kernel's
    file: str = ""
    line: int = 0
    start_line: int = 0


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    """One field: a whole number, or bytes (text, a message, packed numbers)."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


class Writer:
    def __init__(self):
        self.strings, self.string_ids = [""], {"": 0}
        self.mappings, self.functions, self.locations = {}, {}, {}
        self.out = []

    def string(self, text):
        if text not in self.string_ids:
            self.string_ids[text] = len(self.strings)
            self.strings.append(text)
        return self.string_ids[text]

    def mapping(self, image):
        if image not in self.mappings:
            number = self.mappings[image] = len(self.mappings) + 1
            self.out.append(field(3, field(1, number) + field(2, number << 24)
                                  + field(3, (number + 1) << 24) + field(5, self.string(image))
                                  + field(7, 1)))
        return self.mappings[image]

    def function(self, frame):
        key = (frame.name, frame.file, frame.start_line, frame.image)
        if key not in self.functions:
            number = self.functions[key] = len(self.functions) + 1
            self.out.append(field(5, field(1, number) + field(2, self.string(frame.name))
                                  + field(3, self.string(frame.name))
                                  + field(4, self.string(frame.file))
                                  + field(5, frame.start_line)))
        return self.functions[key]

    def location(self, frame):
        if frame not in self.locations:
            number = self.locations[frame] = len(self.locations) + 1
            mapping = self.mapping(frame.image) if frame.image else 0
            self.out.append(field(4, field(1, number) + field(2, mapping)
                                  + field(3, (mapping << 24) + 64 * number)
                                  + field(4, field(1, self.function(frame))
                                          + field(2, frame.line))))
        return self.locations[frame]


def write(path, stacks, period_ns=10_000_000, seconds=10, time_unix_s=1_790_000_000, comments=()):
    """Samples with two values, their number and their CPU time.

    stacks: [(process name or "", frames root first, number of samples)]."""
    writer = Writer()
    samples = []
    for process, frames, count in stacks:
        ids = b"".join(varint(writer.location(frame)) for frame in reversed(frames))
        label = b""
        if process:
            label = field(3, field(1, writer.string("process")) + field(2, writer.string(process)))
        samples.append(field(2, field(1, ids)
                             + field(2, varint(count) + varint(count * period_ns)) + label))
    cpu = field(1, writer.string("cpu")) + field(2, writer.string("nanoseconds"))
    number = field(1, writer.string("samples")) + field(2, writer.string("count"))
    head = [field(1, number), field(1, cpu), field(11, cpu), field(12, period_ns),
            field(9, time_unix_s * 10 ** 9), field(10, seconds * 10 ** 9)]
    head += [field(13, writer.string(comment)) for comment in comments]
    strings = [field(6, text.encode()) for text in writer.strings]
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"".join(head + writer.out + samples + strings))
    return path
