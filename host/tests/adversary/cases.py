"""The cases of the adversary suite: how many, and the seed of each.

`SABOT_ADVERSARY=5000` sets how many cases each test has. `SABOT_SEED=...` sets the seed of all of
them; a failed case prints the seed that makes it alone, with `SABOT_ADVERSARY=1`.
"""

import os
import random
import time
from collections.abc import Iterator

BATCHES = 8
"""A test has its cases in so many parts, which can run at the same time."""

_SAMPLE = 24


def cases(batch: int, sample: int = _SAMPLE) -> Iterator[tuple[int, random.Random]]:
    """Yield the seed of each case of a batch, and a generator with it. `sample` is how many there
    are in all batches unless it is said."""
    count = int(os.environ.get("SABOT_ADVERSARY", sample))
    given = os.environ.get("SABOT_SEED")
    first = int(given) if given else time.time_ns() // 1000 & 0x3FFFFFFF
    for at in range(batch, count, BATCHES):
        print(f"SABOT_ADVERSARY=1 SABOT_SEED={first + at}")
        yield first + at, random.Random(first + at)
