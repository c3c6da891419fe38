"""The figures of a pass: which of them depend on the printed code, measured with real passes.

A figure that an event of a sealed card has must tell nothing. The other two are the control: the
same test finds that they depend on the card, which is why such an event has zeros in their place.
"""

import numpy as np
import pytest

from host.tests.adversary.thief.guessing import best_guess
from host.tests.adversary.thief.passes import figures
from host.tests.adversary.thief.settings import rounds, seed

SHOWN = ("speed_mm_s", "samples", "longer_um")
"""What the events of a sealed card have: `sealed_card`, `unreadable` and `long_pass`."""
HIDDEN = ("margin_permille", "skew_um")

_ENOUGH = 10_000
"""With more noise more cards are needed to find it."""


@pytest.mark.parametrize("noise", ["nominal", "harsh"])
def test_speed_and_length_of_a_pass_tell_nothing_and_margin_and_skew_would(noise: str) -> None:
    seen, truths = figures(seed(), noise, rounds(2000))
    strata = np.zeros(len(seen["samples"]), np.int64)
    shown = best_guess({name: seen[name] for name in SHOWN}, truths, strata)
    hidden = best_guess({name: seen[name] for name in HIDDEN}, truths, strata)
    print(f"{noise}, {len(strata)} cards read: shown {shown}; hidden {hidden}")
    assert not shown.tells, shown
    if noise == "nominal" or len(strata) > _ENOUGH:
        assert hidden.tells, hidden
