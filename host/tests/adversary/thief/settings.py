"""How many rounds a test has, and its seed.

`SABOT_ADVERSARY=5000` makes 20,000 rounds, `SABOT_SEED=...` another seed. Without it the seed is
always the same: a true test of chance fails once in a thousand, and `make test` must not.
"""

import os

_SEED = 20261124


def rounds(sample: int, most: int = 20_000) -> int:
    """Return how many rounds to play: `sample` in `make test`, and `most` at most."""
    return min(max(sample, int(os.environ.get("SABOT_ADVERSARY", 0)) * 4), most)


def seed() -> int:
    """Return the seed, and print it."""
    given = int(os.environ.get("SABOT_SEED", _SEED))
    print(f"SABOT_SEED={given}")
    return given
