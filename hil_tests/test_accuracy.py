"""A short run of `make accuracy`, at its targets; pictures of failures are drawn."""

from pathlib import Path

import pytest

from hil_tests import accuracy
from hil_tests.waveform_picture import draw
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


def test_failures_are_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "failures.png"
    draw(picture, [("7H read as bad_code", bytes(400)), ("KC", b"\x11" * 100)])
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
