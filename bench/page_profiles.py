"""Generated profiles for the page: a pprof file with a wanted number of nodes of its call tree.

    bench/page_profiles.py NODES FILE.pb.gz

Stacks are 20 to 60 frames deep, names 20 to 120 characters long, values spread as real ones are
(few stacks hold most of the time). The same arguments give the same file.
"""
import gzip
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "e2e"))
from pprof_writer import field, varint  # noqa: E402

DEPTH_MIN, DEPTH_MAX = 20, 60
NAME_MIN, NAME_MAX = 20, 120
PERIOD_NS = 10_000_000
WORDS = ("alpha beta buffer cache client codec column commit connection context cursor decode "
         "delta dispatch encode engine entry event executor fetch filter flush frame gateway graph "
         "handler hash index insert iterator join key layer ledger limit listener lock loop map "
         "merge message metric node object offset packet page parse path plan pool process "
         "protocol query queue read record region replica request resolve row scan schema segment "
         "select server session shard signal snapshot sort source state stream sync table task "
         "token transaction tree update value vector view visit worker write").split()
IMAGES = 30


def function_name(random_, number):
    """Of C++, Go, Java or Rust, always another one."""
    words = [random_.choice(WORDS) for _ in range(random_.randint(3, 14))]
    style = number % 4
    if style == 0:
        name = "::".join(words[:-1]) + f"::{words[-1].title()}{number}(int, std::string const&)"
    elif style == 1:
        name = f"example.com/{'/'.join(words[:-2])}.(*{words[-2].title()}).{words[-1]}{number}"
    elif style == 2:
        name = "com." + ".".join(words[:-2]) + f".{words[-2].title()}{number}.{words[-1]}"
    else:
        name = "_".join(words[:2]) + "::" + "::".join(words[2:]) + f"::{{closure#{number}}}"
    return name[-NAME_MAX:].ljust(NAME_MIN, "x")


def grow(random_, nodes_wanted, functions):
    """Yields (function numbers root first, value) until the tree has the wanted number of nodes."""
    children = {}
    path, nodes = [], [0]
    count = 0
    callees = [[random_.randrange(functions) for _ in range(24)] for _ in range(functions)]
    while count < nodes_wanted:
        keep = int(len(path) * min(1.0, random_.betavariate(4, 1.3)))
        del path[keep:], nodes[keep + 1:]
        depth = random_.randint(DEPTH_MIN, DEPTH_MAX)
        while len(path) < depth and count < nodes_wanted:
            func = random_.choice(callees[path[-1]] if path else range(8))
            key = (nodes[-1], func)
            node = children.get(key)
            if node is None:
                count += 1
                node = children[key] = count
            path.append(func)
            nodes.append(node)
        yield path, int(PERIOD_NS * max(1, random_.paretovariate(1.1)))


def write(file, nodes_wanted, seed=7):
    """Writes a profile of that many nodes, the root not counted; gives the number of samples."""
    random_ = random.Random(seed)
    functions = max(200, min(20_000, nodes_wanted // 40))
    strings = ["", "cpu", "nanoseconds"]
    out = [field(1, field(1, 1) + field(2, 2)), field(11, field(1, 1) + field(2, 2)),
           field(12, PERIOD_NS), field(9, 1_790_000_000_000_000_000), field(10, 60_000_000_000)]
    for image in range(1, IMAGES + 1):
        out.append(field(3, field(1, image) + field(2, image << 24) + field(3, (image + 1) << 24)
                         + field(5, len(strings)) + field(7, 1)))
        strings.append(f"/usr/lib/x86_64-linux-gnu/lib{WORDS[image]}.so.{image % 4}")
    for number in range(functions):
        image = 1 + random_.randrange(IMAGES)
        out.append(field(5, field(1, number + 1) + field(2, len(strings)) + field(3, len(strings))))
        out.append(field(4, field(1, number + 1) + field(2, image)
                         + field(3, (image << 24) + 64 * number)
                         + field(4, field(1, number + 1) + field(2, 10))))
        strings.append(function_name(random_, number))
    ids = [varint(number + 1) for number in range(functions)]
    samples = 0
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
        stream.write(b"".join(out))
        for path, value in grow(random_, nodes_wanted, functions):
            stack = b"".join([ids[func] for func in reversed(path)])
            stream.write(field(2, field(1, stack) + field(2, varint(value))))
            samples += 1
        stream.write(b"".join(field(6, text.encode()) for text in strings))
    return samples


if __name__ == "__main__":
    print(write(sys.argv[2], int(sys.argv[1])), "samples")
