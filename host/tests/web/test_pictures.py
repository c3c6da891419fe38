"""The small plate of a tile on the wall."""

import re

from sabot.reports.roads import Outcome
from sabot.web.pictures import small_plate


def test_the_small_plate_has_the_last_columns() -> None:
    outcomes = [Outcome("player")] * 6 + [Outcome("banker")] * 6 + [Outcome("tie")] * 3
    plate = small_plate(outcomes, 2)
    assert 'aria-label="last results: B B B B B B T T T"' in plate
    assert len(re.findall(r"M\d+ \d+h0", plate)) == 9 and "discs player" not in plate
