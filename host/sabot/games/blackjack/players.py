"""What the players at a simulated table of blackjack decide, as buttons that the dealer presses."""

import random

from sabot.games.family import Shown

_MOST_BOXES = 7
_HAND, _DEALER, _BUTTONS = 2, 3, 4
"""Lines of the display: the hand in play, the dealer's card, what the buttons do."""
_NAMES = 12
"""Letters of a hand's line that are its cards; its total follows, S before it if it is soft."""
_DECISION_S, _STEP_S = 3.0, 0.5
"""How long a decision takes, and a step to another number of boxes."""
_SPLIT = 0.5
"""How often a pair is split that is neither aces nor eights."""


class BlackjackPlayers:
    """The players; the same `seed` makes the same decisions. They double on 9 to 11, hit a hard
    hand below 17 and a soft one below 18, and surrender 15 and 16 against a nine, ten, or ace."""

    def __init__(self, seed: int | None = None) -> None:
        self.pause_s = _DECISION_S
        """How long it takes until the button is pressed that `button` has returned."""
        self._random = random.Random(seed)
        self._steps: int | None = None  # presses left until the boxes are right; None: not decided
        self._asked = ("", "")  # the hand whose split and surrender have been decided

    def button(self, shown: Shown) -> str | None:
        """Return the button that the dealer presses at what the shoe shows; None to draw a card, or
        if it is not a round of blackjack."""
        title = shown.title
        self.pause_s = _DECISION_S
        if title.startswith("BETS: BOXES"):
            if self._steps is None:
                self._steps = self._random.randrange(_MOST_BOXES)
            if self._steps:
                self._steps -= 1
                self.pause_s = _STEP_S
                return "burn"
            return None if shown.lock_released else "next"
        if title == "INSURANCE?":
            return "next"
        if not title.startswith("BOX "):
            return None
        return self._decision(shown)

    def _decision(self, shown: Shown) -> str | None:
        line, buttons = shown.display[_HAND], shown.display[_BUTTONS]
        names, total = line[:_NAMES].split(), line[_NAMES:].strip()
        soft, points = total.startswith("S"), int(total.lstrip("S") or 0)
        up = shown.display[_DEALER][:1]
        if buttons.startswith("SPLIT?"):
            always = names[0][0] in "A8"
            return "next" if always or self._random.random() < _SPLIT else "burn"
        if buttons.startswith("SURRENDER?"):
            return "next" if points in (15, 16) and not soft and up in "9TJQKA" else "burn"
        if "B?" in buttons and self._asked != (shown.title, line):
            self._asked = (shown.title, line)
            return "burn"
        if "R DBL" in buttons and 9 <= points <= 11 and not soft:
            return "reveal"
        if buttons == "CARD DUE":
            return None
        draws = points < (18 if soft else 17)
        return None if draws and shown.lock_released else "next"
