"""The planted cheats of the sweep, in small: the figures that others published, and the picture."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from sabot_hil.sweeps.integrity import curves
from sabot_hil.sweeps.integrity.curves import GROUPS, RIFFLES, Curves
from sabot_hil.sweeps.integrity.picture import png
from sabot_hil.sweeps.integrity.planted import (
    CUT_FROM_END,
    counted_rounds,
    dealt,
    riffled,
    rounds_of,
    rounds_of_shoe,
    shuffled,
)


def test_a_riffle_keeps_both_packets_in_order() -> None:
    cards = list(range(52))
    mixed = riffled(cards, Random(1))
    assert sorted(mixed) == cards and mixed != cards
    descents = sum(mixed.index(card + 1) < mixed.index(card) for card in cards[:-1])
    assert descents == 1


def test_rounds_are_dealt_by_the_rules() -> None:
    # Ace to nine of clubs are 0 to 8, the ten is 9. Naturals; both stand; both draw; Banker alone.
    for cards, positions in (
        ([7, 1, 9, 1, 0, 0], 4),
        ([0, 1, 9, 9, 0, 0], 6),
        ([5, 5, 0, 0, 0, 0], 4),
        ([5, 1, 0, 0, 0, 0], 5),
        ([1, 2, 9, 9, 7, 0], 5),  # Banker 3 against a third 8 stands
    ):
        assert len(next(rounds_of(cards, 0))[1]) == positions, cards


def test_one_round_follows_the_one_with_the_cut_card() -> None:
    cards = shuffled(Random(3))
    begun = [at for at, _ in rounds_of_shoe(cards)]
    assert begun[-1] >= len(cards) - CUT_FROM_END > begun[-2]


@pytest.mark.slow
def test_the_published_count_wins_what_was_published() -> None:
    random = Random(38)
    won, wagers = [], []
    for number in range(600):
        shoe = dealt(shuffled(random), number, "U", worth=True)
        rounds = counted_rounds(shoe)
        assert shoe.expected is not None
        worth = shoe.expected.units[:, shoe.expected.wagers.index("dragon_7")]
        won.append(float(worth[rounds].sum()))
        wagers.append(len(rounds))
    error = float(np.std(won)) / len(won) ** 0.5
    assert np.mean(won) == pytest.approx(0.597, abs=4 * error)
    assert np.sum(won) / np.sum(wagers) == pytest.approx(0.074, abs=0.01)


@pytest.mark.slow
def test_the_sweep_measures_all_that_its_picture_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "_POOL", 60)
    monkeypatch.setattr(curves, "_PEOPLE", 3)
    monkeypatch.setattr(curves, "_SHOES_OF_GROUP", 12)
    steps: list[int] = []
    found = curves.curves(38, 2, 1, lambda: steps.append(1))
    assert len(steps) == curves.steps(2)
    assert found.one_shoe[0] == found.one_shoe[1] == 1 > found.one_shoe[7] == 0
    assert found.machine[max(GROUPS)][4] == 1 and found.missing_ace[1] == 0
    assert png(found).startswith(b"\x89PNG")


def test_the_picture_of_figures_that_were_kept() -> None:
    shares = dict.fromkeys(RIFFLES, 1.0)
    kept = replace(
        Curves(1), one_shoe=shares, machine=dict.fromkeys(GROUPS, shares),
        missing_ace={1: 0.0}, counters={1: 0.5}, always={1: 0.0}, false_alarms={0.01: 0.0},
    )  # fmt: skip
    assert png(kept).startswith(b"\x89PNG")
