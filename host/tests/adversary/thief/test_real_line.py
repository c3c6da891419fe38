"""The thief on the real line of a simulated shoe, under MicroPython: real passes, real times, the
heap that it reports, its log's database. `make test` plays a few rounds of midi only."""

from pathlib import Path

import numpy as np
import pytest

from host.tests.adversary.thief.guessing import best_guess
from host.tests.adversary.thief.real_line import line_shoe
from host.tests.adversary.thief.rounds import document_of, played_at
from host.tests.adversary.thief.settings import rounds, seed

pytestmark = pytest.mark.slow

_UNREADABLE = 0.05
_ENOUGH = 200


@pytest.mark.parametrize(
    ("family", "sample", "most"), [("midi", 3, 600), ("blackjack", 0, 1000), ("holdem", 0, 150)]
)
def test_real_line_heap_and_database_tell_no_sealed_card(
    tmp_path: Path, family: str, sample: int, most: int
) -> None:
    if not rounds(sample, most):
        pytest.skip("with SABOT_ADVERSARY=5000")
    random = np.random.default_rng(seed())
    with line_shoe(tmp_path, document_of(family), random) as shoe:
        made = played_at(shoe, family, random, rounds(sample, most), _UNREADABLE)
    found = best_guess(made.features, made.wanted(), made.strata, together=True)
    print(f"{family}: {len(made.strata)} rounds, {len(made.features)} features: {found}")
    assert not found.tells, found
    assert len(shoe.sealed) == len(set(shoe.sealed)) >= sample
    if family == "midi" and len(made.strata) > _ENOUGH:
        third = {"a third card": (made.cards["player_3"] >= 0).astype(np.int64)}
        told = best_guess(third, made.wanted(), np.zeros_like(made.strata))
        assert told.tells, told
