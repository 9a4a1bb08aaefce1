"""Python workload: python3 py_work.py [SECONDS]. JSON, sorting and strings in the interpreter."""
import json
import sys
import time


def build_rows(count):
    return [{"name": f"row {i * 7919 % count}", "value": i, "tags": ["a", "b"]}
            for i in range(count)]


def serve(seconds):
    end = time.monotonic() + seconds
    rows = build_rows(2000)
    turns = 0
    while time.monotonic() < end:
        text = json.dumps(rows)
        back = json.loads(text)
        back.sort(key=lambda row: row["name"])
        turns += len(back)
    return turns


if __name__ == "__main__":
    print(serve(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0))
