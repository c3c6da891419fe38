"""What the players at a simulated table of hold'em decide, as buttons that the dealer presses."""

import random

from sabot.games.family import Shown

_MOST_STEPS = 8
"""With so many presses the seats go from 10 to 2 and up to 9."""
_FOLDED, _TWICE = 0.15, 0.4
"""How often all but one fold in a round of betting, and how often, if not, the rest of the board is
run twice after the flop or the turn."""
_BETTING_S, _STEP_S = 15.0, 0.5
"""How long a round of betting takes, and a step to another number of seats."""
_BETS = ("PREFLOP BETS", "FLOP BETS", "TURN BETS", "RIVER BETS")
_MARKING = ("next", "burn", "burn", "reveal")
"""What the dealer may press while seats are marked that have shown their cards."""
_MAY_BE_TWICE = ("FLOP BETS", "TURN BETS")


class HoldemPlayers:
    """The players; the same `seed` makes the same decisions."""

    def __init__(self, seed: int | None = None) -> None:
        self.pause_s = _BETTING_S
        """How long it takes until the button is pressed that `button` has returned."""
        self._random = random.Random(seed)
        self._steps: int | None = None  # presses left until the seats are right; None: not decided

    def button(self, shown: Shown) -> str | None:
        """Return the button that the dealer presses at what the shoe shows; None for none."""
        title = shown.title
        self.pause_s = _BETTING_S
        if title == "HAND: BLINDS":
            if self._steps is None:
                self._steps = self._random.randrange(_MOST_STEPS + 1)
            if self._steps:
                self._steps -= 1
                self.pause_s = _STEP_S
                return "burn"
            return None if shown.lock_released else "next"
        self._steps = None
        if title == "RUN IT TWICE?":
            return "next"
        if title == "SHOWDOWN":
            return "reveal"
        if title.endswith("SHOWED?"):
            self.pause_s = _STEP_S
            return self._random.choice(_MARKING)
        if title not in _BETS:
            return None
        if self._random.random() < _FOLDED:
            return "reveal"
        twice = title in _MAY_BE_TWICE and self._random.random() < _TWICE
        return "burn" if twice else "next"
