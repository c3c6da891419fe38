"""Counts the cards that no key opens, by the choice of the house: folded and mucked hole cards,
burned cards, those of void rounds."""

from collections.abc import Iterator
from dataclasses import dataclass

from sabot.text import counted


@dataclass(slots=True)
class ClosedCards:
    """The cards of one unit that stay closed."""

    cards: int = 0
    rounds: int = 0
    """Those that have such cards."""
    shoes: int = 0
    """Shoes of cards whose composition is not proven because of them."""

    def add(self, never: int) -> None:
        """Take a round with `never` cards that stay closed."""
        self.cards += never
        self.rounds += never > 0

    def join(self, later: "ClosedCards") -> None:
        """Take what later events gave."""
        self.cards += later.cards
        self.rounds += later.rounds
        self.shoes += later.shoes

    def clear(self) -> None:
        """Count from here on."""
        self.cards = self.rounds = self.shoes = 0

    def notes(self) -> Iterator[tuple[int, str, str]]:
        """Yield event, kind and detail of the notes about them."""
        if self.cards:
            stay = "stays" if self.cards == 1 else "stay"
            detail = (
                f"{counted(self.cards, 'card')} of {counted(self.rounds, 'round')} {stay} closed "
                "by the house's choice: no key opens them"
            )
            if self.shoes:
                detail += (
                    f"; the composition of {counted(self.shoes, 'shoe')} of cards is not proven, "
                    "by so many cards"
                )
            yield 0, "closed", detail
