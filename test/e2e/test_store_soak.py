"""Five rounds of `tools/dev soak store`: kill -9 and SIGTERM at random moments lose and double nothing."""
import time

from store_crashes import CrashLoop


def test_kills_at_random_moments_lose_and_double_nothing(folder):
    seed = int(time.time())
    print(f"seed {seed}")
    loop = CrashLoop(folder, seed)
    for _ in range(5):
        loop.round()
    loop.finish()
    assert loop.counts["kills"] + loop.counts["terms"] == 5
    assert loop.counts["pushes"] > 20 and loop.counts["questions"] > 5, loop.counts
