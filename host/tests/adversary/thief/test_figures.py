"""The figures of a pass: which of them depend on the printed code, measured with real passes.

A figure that an event of a sealed card has must tell nothing. The others are the control: the same
test finds that they depend on the card, which is why such an event has zeros in their place, and
why `health` takes a sealed card only once it shows.
"""

import numpy as np
import pytest

from host.tests.adversary.thief.guessing import best_guess
from host.tests.adversary.thief.passes import figures
from host.tests.adversary.thief.settings import rounds, seed

SHOWN = ("speed_mm_s", "samples", "longer_um")
"""What the events of a sealed card have: `sealed_card`, `unreadable` and `long_pass`."""

_ENOUGH = 6_000
"""Cards by which the others are found."""


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["nominal", "harsh"])
def test_speed_and_length_of_a_pass_tell_nothing_and_the_other_figures_would(noise: str) -> None:
    seen, truths = figures(seed(), noise, rounds(300))
    strata = np.zeros(len(seen["samples"]), np.int64)
    shown = best_guess({name: seen[name] for name in SHOWN}, truths, strata, together=True)
    hidden = best_guess({name: seen[name] for name in seen if name not in SHOWN}, truths, strata)
    print(f"{noise}, {len(strata)} cards read: shown {shown}; hidden {hidden}")
    assert not shown.tells, shown
    if len(strata) > _ENOUGH:
        assert hidden.tells, hidden


@pytest.mark.slow
def test_a_figure_that_has_a_little_of_the_card_is_found() -> None:
    seen, truths = figures(seed(), "nominal", 300)
    strata = np.zeros(len(seen["samples"]), np.int64)
    speed = seen["speed_mm_s"]
    planted = best_guess({"speed": speed + speed * truths["suit"] // 4}, truths, strata)
    assert planted.tells, planted
