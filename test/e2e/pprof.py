"""Reads pprof profiles without any library, so that tests do not check our writer with our reader.

Profile.samples hold names leaf first; an address without a name appears as "file+0xaddress".
"""
import gzip
from dataclasses import dataclass, field


def _fields(data):
    """Yields (field number, wire type, value) of one protobuf message."""
    at, end = 0, len(data)

    def varint():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("varint too long")

    while at < end:
        key = varint()
        number, wire = key >> 3, key & 7
        if wire == 0:
            yield number, wire, varint()
        elif wire == 2:
            size = varint()
            if at + size > end:
                raise ValueError("truncated field")
            yield number, wire, data[at:at + size]
            at += size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            yield number, wire, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {wire}")


def _varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _message(data, repeated=()):
    """A message as {field number: last value}; repeated fields as lists, packed ones unpacked."""
    result = {number: [] for number in repeated}
    for number, wire, value in _fields(data):
        if number not in repeated:
            result[number] = value
        elif wire == 2 and repeated[number] == "varint":
            result[number].extend(_varints(value))
        else:
            result[number].append(value)
    return result


@dataclass
class Mapping:
    start: int
    limit: int
    offset: int
    filename: str
    build_id: str
    known: tuple = ()  # has functions, file names, line numbers, inlined frames


@dataclass
class Frame:
    name: str
    address: int
    mapping: Mapping | None
    line: int = 0
    filename: str = ""


@dataclass
class Sample:
    frames: list  # leaf first; inlined callees before their callers
    values: list
    labels: dict = field(default_factory=dict)

    @property
    def names(self):
        return [frame.name for frame in self.frames]


@dataclass
class Profile:
    samples: list
    sample_types: list  # [(type, unit)]
    period_type: tuple
    period: int
    time_nanos: int
    duration_nanos: int
    mappings: list
    comments: list

    def value_index(self, type_name):
        for index, (name, _) in enumerate(self.sample_types):
            if name == type_name:
                return index
        return len(self.sample_types) - 1

    def total(self, index=0):
        return sum(sample.values[index] for sample in self.samples)

    def select(self, **labels):
        """The samples whose labels have these values."""
        return [s for s in self.samples if all(s.labels.get(k) == v for k, v in labels.items())]


def parse(data):
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = _message(data, {1: "message", 2: "message", 3: "message", 4: "message", 5: "message",
                          6: "message", 13: "varint"})
    strings = [text.decode("utf-8") for text in top[6]]
    if not strings or strings[0] != "":
        raise ValueError("string_table[0] is not empty")

    def value_type(raw):
        fields = _message(raw)
        return strings[fields.get(1, 0)], strings[fields.get(2, 0)]

    mappings = {}
    for raw in top[3]:
        fields = _message(raw)
        if fields.get(1, 0) in mappings or not fields.get(1, 0):
            raise ValueError("mapping id is zero or used twice")
        mappings[fields[1]] = Mapping(fields.get(2, 0), fields.get(3, 0), fields.get(4, 0),
                                      strings[fields.get(5, 0)], strings[fields.get(6, 0)],
                                      tuple(bool(fields.get(n, 0)) for n in (7, 8, 9, 10)))
    functions = {}
    for raw in top[5]:
        fields = _message(raw)
        if fields.get(1, 0) in functions or not fields.get(1, 0):
            raise ValueError("function id is zero or used twice")
        functions[fields[1]] = (strings[fields.get(2, 0)], strings[fields.get(4, 0)])
    locations = {}
    for raw in top[4]:
        fields = _message(raw, {4: "message"})
        if fields.get(1, 0) in locations or not fields.get(1, 0):
            raise ValueError("location id is zero or used twice")
        mapping = mappings[fields[2]] if fields.get(2, 0) else None
        address = fields.get(3, 0)
        frames = []
        for line_raw in fields[4]:
            line = _message(line_raw)
            name, filename = functions[line[1]]
            frames.append(Frame(name, address, mapping, line.get(2, 0), filename))
        if not frames:
            place = mapping.filename.rsplit("/", 1)[-1] if mapping else "?"
            frames.append(Frame(f"{place}+{address:#x}", address, mapping))
        locations[fields[1]] = frames

    samples = []
    for raw in top[2]:
        fields = _message(raw, {1: "varint", 2: "varint", 3: "message"})
        labels = {}
        for label_raw in fields[3]:
            label = _message(label_raw)
            value = strings[label[2]] if label.get(2) else _signed(label.get(3, 0))
            labels[strings[label[1]]] = value
        frames = [frame for location in fields[1] for frame in locations[location]]
        values = [_signed(value) for value in fields[2]]
        if len(values) != len(top[1]):
            raise ValueError("a sample's values do not match the sample types")
        samples.append(Sample(frames, values, labels))
    return Profile(samples, [value_type(raw) for raw in top[1]],
                   value_type(top[11]) if 11 in top else ("", ""), _signed(top.get(12, 0)),
                   _signed(top.get(9, 0)), _signed(top.get(10, 0)), list(mappings.values()),
                   [strings[index] for index in top[13]])


def canonical(data):
    """Every field of a profile with ids and string indices replaced by what they point at, so that
    two files are equal when they say the same: a dict of tables in the order of the file."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = _message(data, {1: "message", 2: "message", 3: "message", 4: "message", 5: "message",
                          6: "message", 13: "varint"})
    text = top[6]

    def fields(raw, strings=(), repeated=()):
        result = _message(raw, repeated)
        return {number: text[value] if number in strings else value
                for number, value in sorted(result.items()) if value not in (0, [])}

    def table(number, strings=(), repeated=()):
        rows = [fields(raw, strings, repeated) for raw in top[number]]
        return {row.pop(1): row for row in rows}

    mappings, functions = table(3, strings=(5, 6)), table(5, strings=(2, 3, 4))
    locations = table(4, repeated={4: "message"})
    for location in locations.values():
        location[2] = mappings.get(location.get(2))
        location[4] = [{**fields(raw), 1: functions[fields(raw)[1]]} for raw in location.get(4, [])]
    samples = []
    for raw in top[2]:
        sample = fields(raw, repeated={1: "varint", 2: "varint", 3: "message"})
        samples.append(([locations[number] for number in sample.get(1, [])], sample.get(2, []),
                        [fields(label, strings=(1, 2, 4)) for label in sample.get(3, [])]))
    return {"types": [fields(raw, strings=(1, 2)) for raw in top[1]], "samples": samples,
            "mappings": list(mappings.values()), "locations": list(locations.values()),
            "functions": list(functions.values()), "comments": [text[n] for n in top[13]],
            "period_type": fields(top.get(11, b""), strings=(1, 2)),
            "numbers": [top.get(n, 0) for n in (9, 10, 12)],
            "texts": [text[top.get(n, 0)] for n in (7, 8, 14, 15)]}


def load(path):
    with open(path, "rb") as file:
        return parse(file.read())


def self_and_total(samples, index=0):
    """{name: (self, total)}; total counts a function once per sample."""
    result = {}
    for sample in samples:
        value = sample.values[index]
        for position, name in enumerate(dict.fromkeys(sample.names)):
            own, total = result.get(name, (0, 0))
            result[name] = (own + (value if position == 0 else 0), total + value)
    return result
