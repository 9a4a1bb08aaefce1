"""What the tests of the always-on parts share: processes that end with their test, and the book."""
import json
import os
import subprocess
import time

WAIT_S = 120  # for what takes seconds on a machine that has nothing else to do


def wait_for(what, seconds=WAIT_S):
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.2)


def started_for_a_test(make):
    """The body of a fixture: its value is make, and no process of what it made outlives the test.
    make returns a process, or what has one as `process`."""
    made = []

    def start(*arguments, **options):
        made.append(make(*arguments, **options))
        return made[-1]

    yield start
    for each in made:
        process = getattr(each, "process", each)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def program(*command, **environment):
    """Starts one whose environment is this, and a PATH."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL,
                            env={"PATH": os.environ["PATH"], **environment})


def balanced_book(state):
    """The stages, by name, and the details of the agent's newest book; each stage balances."""
    with open(os.path.join(state, "agent.json"), encoding="utf-8") as file:
        book = json.load(file)
    for stage in book["stages"]:
        lost = sum(stage["dropped"].values()) + sum(stage["excluded"].values())
        assert stage["received"] == stage["kept"] + lost, stage
    return {stage["name"]: stage for stage in book["stages"]}, book["details"]
