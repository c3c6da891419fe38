"""What has come out of the shoe of cards in play, against what was loaded."""

from sabot_protocol import cards, enums

NO_ERROR = enums.ERRORS.index("none")
SURPLUS_COPY = enums.ERRORS.index("surplus_copy")
CARD_TOO_MANY = enums.ERRORS.index("card_too_many")

_MOST = 255  # that a count can hold

_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
"""Cards of the shoe that come out with a fault, where it is not 1. With a jam, a broken
sensor or no power it may have stayed in: it counts as long as nobody draws it again."""
_MAY_BE_IN = ("double_feed", "jam", "sensor_fault", "power_lost")


class Inventory:
    """The cards that came out of one shoe of cards: those with a name, and those without."""

    def __init__(self) -> None:
        self.decks = 0
        self._named = 0  # the sum of the counts
        self.counts = bytearray(cards.DECK_SIZE)
        """How many of card 0-51 came out, at whatever position, read or entered by hand."""
        self.unread = 0
        """Cards that came out and that nobody has named."""

    def state(self) -> list:
        """All of it, for `restore`."""
        return [self.decks, bytes(self.counts), self.unread]

    def restore(self, state: list) -> None:
        """As it was when `state` was taken."""
        self.decks, counts, self.unread = state
        self.counts[:] = counts
        self._named = sum(counts)

    def load(self, decks: int) -> None:
        """Begin with so many whole decks."""
        self.decks = decks
        self.unread = self._named = 0
        for card in range(cards.DECK_SIZE):
            self.counts[card] = 0

    def count(self, card: int) -> None:
        """Card 0-51 came out."""
        self._named += 1
        self.counts[card] = min(self.counts[card] + 1, _MOST)

    def pass_failed(self, fault: int) -> None:
        """A pass with this fault of `words.FAULTS`."""
        self.unread += _CAME_OUT.get(enums.FAULTS[fault], 1)

    def named(self, fault: int) -> None:
        """A card that came out with this fault will be counted by its name."""
        if _CAME_OUT.get(enums.FAULTS[fault], 1):
            self.unread -= 1

    def drawn_again(self, fault: int) -> None:
        """A card with this fault did not count: it will be drawn again, or was put aside."""
        if enums.FAULTS[fault] in _MAY_BE_IN:
            self.unread -= 1

    def drawn(self) -> int:
        """Cards that came out, with a name or without."""
        return self._named + self.unread

    def expected(self) -> int:
        """Cards that were loaded, the cut card left out."""
        return cards.DECK_SIZE * self.decks

    def surplus(self, card: int) -> int:
        """The error that one more copy of `card` would be, of `words.ERRORS`; `none` for none."""
        if self.counts[card] >= self.decks:
            return SURPLUS_COPY
        return CARD_TOO_MANY if self.drawn() >= self.expected() else NO_ERROR
