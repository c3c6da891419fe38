"""Checks how many cards are burned from a new shoe of cards."""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.text import counted
from sabot_protocol.games import FamilyGame


@dataclass(slots=True)
class BurnedCards:
    """The burn of the present shoe of cards."""

    first: str | None = None
    """The first card, if it was burned face up."""
    allowed: Sequence[int] = range(1, 2)  # for a first card that is burned face down
    """How many cards may be burned after it."""
    count: int = 0
    """Cards burned so far, without that one."""
    _due: int | None = None
    _stated: int | None = None

    def stated(self, count: int) -> str | None:
        """Take the number of cards to burn, of the event `burn`. Return what is wrong with it."""
        self._due = self._stated = count
        if count in self.allowed:
            return None
        due = " or ".join(map(str, self.allowed))
        return f"{counted(count, 'card')} to burn, {due} by the first card"

    def expect_allowed(self) -> None:
        """Expect what the first card says instead of what was stated."""
        self._due = self.allowed[0]

    def ended(self) -> str | None:
        """Take the first round's begin. Return what is wrong with the number of burned cards."""
        due, self._due = self._due, None
        if due in (None, self.count):
            return None
        return f"{counted(self.count, 'card')} burned, {due} due"

    def unlike(self, document: FamilyGame) -> str | None:
        """What contradicts the document of the game."""
        if self.first is None or self.first[0] != "A" or self._stated == document.burn_ace:
            return None
        burned = counted(self._stated or 0, "card")
        return f"{burned} burned for an ace, the game {document.burn_ace}"
