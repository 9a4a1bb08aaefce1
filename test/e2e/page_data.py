"""Reads the profile out of a page that vesta wrote, by docs/formats/page_data.md and nothing else."""
import base64
import gzip
import itertools
import json
import re
import struct
from dataclasses import dataclass

KINDS = ["process", "native", "kernel", "unnamed", "other"]


@dataclass
class Function:
    name: str
    image: str
    file: str
    start_line: int
    kind: str
    inlined: int


@dataclass
class Page:
    meta: dict
    functions: list  # [0] is the root
    depth: list  # of nodes in preorder, the root first
    function: list
    self: dict  # (value type, side) -> value of each node
    lines: dict  # (value type, side) -> {(function, line): (self, total)}

    def totals(self, key=(0, 0)):
        """The value of each node and all below it."""
        totals = list(self.self[key])
        parents = self.parents()
        for node in range(len(totals) - 1, 0, -1):
            totals[parents[node]] += totals[node]
        return totals

    def parents(self):
        path, parents = [0], [0]
        for node in range(1, len(self.depth)):
            del path[self.depth[node]:]
            parents.append(path[-1])
            path.append(node)
        return parents

    def stacks(self, key=(0, 0)):
        """{names root first, without the root itself: value}"""
        parents, paths, result = self.parents(), [()], {}
        for node in range(1, len(self.depth)):
            name = self.functions[self.function[node]].name
            paths.append(paths[parents[node]] + (name,))
        for path, value in zip(paths, self.self[key]):
            if value:
                result[path] = result.get(path, 0) + value
        return result


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                assert value <= 1 << 53
                return value
            shift += 7

    def column(self, count):
        return [self.varint() for _ in range(count)]

    def take(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size:self.at]


def _sections(data):
    assert data[:8] == b"VSTP\x01\0\0\0"
    at, sections = 8, []
    while at < len(data):
        tag, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        assert at + 8 + size <= len(data)
        sections.append((tag.decode(), _Reader(data[at + 8:at + 8 + size])))
        at += 8 + size
    return sections


def _values(reader, count, factor):
    values = []
    while len(values) < count:
        value = reader.varint()
        if value == 0:
            values.extend([0] * (reader.varint() + 1))
        else:
            values.append(int(value * factor))
    assert len(values) == count
    return values


def parse(data):
    sections = _sections(data)
    parts = dict(sections)
    meta = json.loads(parts["META"].data)
    reader = parts["STRS"]
    strings = [reader.take(size).decode() for size in reader.column(reader.varint())]
    reader = parts["FUNC"]
    count = reader.varint()
    names, images, files, lines, flags = (reader.column(count) for _ in range(5))
    functions = [Function("all", "", "", 0, "root", 0)]
    for name, image, file, line, flag in zip(names, images, files, lines, flags):
        functions.append(Function(strings[name], strings[image], strings[file], line,
                                  KINDS[flag & 7], flag >> 3 & 3))
    reader = parts["TREE"]
    count = reader.varint()
    depth = [0]
    for up in reader.column(count):
        depth.append(1 + depth[-1] - up)
    function = [0, *reader.column(count)]
    self_values, factors = {}, {}
    for tag, reader in sections:
        if tag == "SELF":
            key = reader.varint(), reader.varint()
            assert key not in self_values
            factors[key] = struct.unpack("<d", reader.take(8))[0]
            self_values[key] = _values(reader, count + 1, factors[key])
    lines = _lines(parts["LINE"], factors) if "LINE" in parts else {}
    return Page(meta, functions, depth, function, self_values, lines)


def _lines(reader, factors):
    count = reader.varint()
    places = list(zip(itertools.accumulate(reader.column(count)), reader.column(count)))
    lines = {}
    for key, factor in sorted(factors.items()):
        columns = [[int(value * factor) for value in reader.column(count)] for _ in range(2)]
        lines[key] = dict(zip(places, zip(*columns)))
    assert reader.at == len(reader.data)
    return lines


def load(path):
    """The page data inside of an HTML file, and the HTML around it is looked at too."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    pieces = re.findall(r'<script type="text/plain" id="vesta-data-(\d+)">([^<]*)</script>', text)
    assert [int(number) for number, _ in pieces] == list(range(len(pieces))) and pieces
    return parse(gzip.decompress(base64.b64decode("".join(piece for _, piece in pieces))))
