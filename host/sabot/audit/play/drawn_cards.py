"""Counts the cards that came out of a shoe of cards by its log, and compares its composition."""

from dataclasses import dataclass, field

from sabot.text import card_symbol, counted
from sabot_protocol import cards, enums

_MAX_DIFFERENCES = 3  # how many differences are shown

# How many cards came out with a fault; one card for all others.
_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
_CAME_OUT_WITH = [_CAME_OUT.get(fault, 1) for fault in enums.FAULTS]
# Faults after which a card that is drawn again had not come out.
_STAYED_IN = [
    fault in ("double_feed", "jam", "sensor_fault", "power_lost") for fault in enums.FAULTS
]
_NO_FAULT = enums.FAULTS.index("none")
_ENTERED, _DRAWN_AGAIN = map(enums.RESOLUTIONS.index, ("entered", "drawn_again"))


@dataclass(slots=True)
class DrawnCards:
    """The cards of the present shoe of cards, of this many `decks`."""

    decks: int
    known: list[int] = field(default_factory=lambda: [0] * cards.CARD_COUNT)
    """How many of each card came out."""
    unread: int = 0
    """Cards that came out and are not known."""

    def total(self) -> int:
        """How many cards came out."""
        return sum(self.known) + self.unread

    def add(self, card: int) -> bool:
        """Count a card; return whether it is one too many, or no playing card."""
        self.known[card] += 1
        return self.known[card] > self.decks or card >= cards.DECK_SIZE

    def unreadable(self, fault: int) -> None:
        """Count a pass that was not read; `fault` is a place in `enums.FAULTS`."""
        self.unread += _CAME_OUT_WITH[fault]

    def resolved(self, fault: int, resolution: int) -> None:
        """Take the supervisor's decision about such a pass, a place in `enums.RESOLUTIONS`."""
        if resolution == _ENTERED:
            self.unread -= fault != _NO_FAULT and _CAME_OUT_WITH[fault] > 0
        elif resolution == _DRAWN_AGAIN:
            self.unread -= _STAYED_IN[fault]

    def wrong_composition(self, counts: bytes, unread: int, expected: int) -> str:
        """What is wrong with a composition, for people; empty if nothing is. `counts`, `unread` and
        `expected` are its fields."""
        differing = [
            f"{stated} of {card_symbol(cards.name_of(card))}, {right} in the log"
            for card, (stated, right) in enumerate(
                zip(counts, self.known[: cards.DECK_SIZE], strict=False)
            )
            if stated != right
        ]
        if len(counts) != cards.DECK_SIZE:
            differing.append(f"{len(counts)} kinds of card")
        if unread != self.unread:
            differing.append(f"{unread} unread, {self.unread} in the log")
        if expected != self.decks * cards.DECK_SIZE:
            differing.append(f"{counted(expected, 'card')} in {counted(self.decks, 'deck')}")
        return "; ".join(differing[:_MAX_DIFFERENCES])
