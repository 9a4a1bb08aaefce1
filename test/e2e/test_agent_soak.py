"""Short runs of `tools/dev soak agent`: kill -9 loses and doubles nothing that was acknowledged, and
nothing grows that has no reason to."""
import time

import pytest

from agent_soak import KillLoop, Soak

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_bpf]
ROUNDS = 4
SECONDS = 60  # of an hour: `tools/dev soak agent` does the rest


@pytest.mark.parametrize("together", [False, True], ids=["agent and server", "up"])
def test_kills_lose_and_double_nothing_that_was_acknowledged(folder, together):
    seed = int(time.time())
    print(f"seed {seed}")
    loop = KillLoop(folder, seed, together)
    try:
        for _ in range(ROUNDS):
            loop.round()
        print("\n".join(loop.finish()))
    finally:
        print(loop.parts.logs())
        loop.close()
    assert loop.counts["stored"] > 200, loop.counts


@pytest.mark.parametrize("together", [False, True], ids=["agent and server", "up"])
def test_nothing_grows_and_the_books_balance(folder, together):
    soak = Soak(folder, SECONDS, together, is_short=True)
    try:
        soak.run()
    finally:
        print(soak.parts.logs())
        soak.parts.close()
