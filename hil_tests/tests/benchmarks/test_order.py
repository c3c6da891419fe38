"""The figures about the order of cards: a small sample of what the benchmarks measure."""

import random
from itertools import pairwise

import numpy as np

from host.tests.support import shuffles
from sabot_hil.benchmarks.order import cost, planted, rates

_PNG = b"\x89PNG"


def test_honest_shoes_give_no_alarm_and_planted_cheats_are_found() -> None:
    found = rates.measured(shoes=10, each=1, seed=5)
    assert found.alarms == 0 and len(found.largest) == 10
    packs = found.found["new packs, riffled"]
    for riffles, within in ((0, 8), (1, 25), (2, 50)):
        (at,) = packs[riffles]
        assert at is not None and at <= within, riffles
    for name, length in (("run of the table's last hundred", 12), ("run of one of a million", 20)):
        (runs,) = (each for cheat, each in found.found.items() if cheat.startswith(name))
        (at,) = runs[length]
        assert at is not None and at <= length
    for name, within in (("one of a million shoes", 12), ("one of the table's last hundred", 8)):
        (at,) = found.found[f"whole, {name}"][0]
        assert at is not None and at <= within
    assert rates.png(found).startswith(_PNG)


def test_the_cost_is_measured() -> None:
    figures = cost.measured(shoes=300, tables=3, seed=5)
    assert figures.shoes == 300 and 0 < figures.bytes_a_card <= 16
    assert min(figures.card_us, figures.later_card_us, figures.add_ms, figures.query_ms) > 0


def test_two_ways_of_riffling_leave_as_many_neighbours() -> None:
    """By cutting and letting fall, and by random places: the mean over some riffles."""
    packs, dice, other = planted.new_packs(), np.random.default_rng(2), random.Random(2)
    assert packs == shuffles.new_packs()

    def kept(shoe: list[int]) -> int:
        pairs = {(a, b) for a, b in pairwise(packs)}
        return sum(pair in pairs for pair in pairwise(shoe))

    one = np.mean([kept(planted.riffled(packs, 2, dice)) for _ in range(30)])
    same = np.mean([kept(shuffles.riffled(packs, 2, other)) for _ in range(30)])
    assert abs(one - same) < 0.1 * same
