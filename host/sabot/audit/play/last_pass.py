"""What passed the sensors last, and whether a card was entered by hand and is not dealt yet."""

from dataclasses import dataclass

from sabot.text import card_symbol
from sabot_protocol import cards, enums

_NO_CARD = -1
_NOT_DUE = enums.POSITIONS.index("not_due")


@dataclass(slots=True)
class LastPass:
    """The last pass of one unit."""

    card: int | None = None
    """Its card, _NO_CARD if it showed none; None: not known."""
    entered: bool = False
    """Whether a card was entered by hand, and its event did not come yet."""

    def dealt(self, card: int | None, *, by_hand: bool) -> None:
        """Take a card that was dealt; None if it is sealed."""
        self.card = _NO_CARD if by_hand else card

    def no_card(self) -> None:
        """Take a start, or a pass that could not be read."""
        self.card = _NO_CARD

    def cut_card(self) -> None:
        """Take the cut card."""
        self.card, self.entered = cards.CUT_CARD, False

    def mark(self, position: int, *, by_hand: bool) -> str | None:
        """Take the mark of a card that was dealt at `position`. Return what is wrong with it."""
        if not by_hand and position == _NOT_DUE:  # it may come before the entered one
            return None
        before, self.entered = self.entered, False
        if by_hand == before:
            return None
        return "entered by hand, but none was" if by_hand else "read, but one was entered"

    def long(self, card: int | None) -> str | None:
        """Take a long pass that was named. Return what is wrong with its card."""
        before, self.card = self.card, _NO_CARD
        if card is None or before in (None, card):
            return None
        passed = "no card" if before == _NO_CARD else card_symbol(cards.name_of(before))
        of = card_symbol(cards.name_of(card))
        return f"a long pass of {of}, but {passed} passed before it"
