"""A short run of `make accuracy`, at its targets."""

import pytest

from hil_tests import accuracy
from sabot.sim.disturbed import NOISE
from sabot.sim.faulty import FAULTS

_PASSES = 500
_FAULTS = 100


@pytest.mark.parametrize("kind", [*NOISE, *FAULTS])
def test_the_reader_meets_its_targets(kind: str, seed: int) -> None:
    count = _PASSES if kind in NOISE else _FAULTS
    _, tally = accuracy.run_batch((kind, count, seed))
    assert not tally.wrong_cards, tally.outcomes
    right = tally.outcomes["right" if kind in NOISE else kind]
    # The target's share and as much again: so few passes cannot tell more.
    allowed = {"clean": 0, "nominal": 1, "harsh": 10}.get(kind, 2)
    assert right >= count - allowed, tally.outcomes


def test_a_missed_target_is_told_and_a_wrong_card_is_one() -> None:
    tally = accuracy.Tally()
    tally.outcomes.update({"right": 98, "bad_code": 2})
    assert accuracy.missed({"nominal": tally})[0].startswith("nominal: 98.0000% right")
    tally.wrong_cards = 1
    assert "1 named as a card that was not there" in accuracy.missed({"harsh": tally})[-1]


def test_the_matrix_has_every_pass_in_its_row_once() -> None:
    tally = accuracy.Tally(wrong_cards=2)
    tally.outcomes.update({"right": 90, "bad_code": 4, "jam+7H": 3, "nothing": 1, "KC": 2})
    table = accuracy.matrix({"harsh": tally}, "")
    rows = [next(iter(column.cells)) for column in table.columns]
    counts = [int(cell) for cell in rows[2:-1] if cell != "·"]
    assert rows[:2] == ["harsh", "100"] and rows[-1] == "90.0000%"
    assert counts == [90, 2, 4, 4] and sum(counts) == 100
