"""Counts the cards that came out of the shoe in play, compared with those loaded."""

from sabot_protocol import cards, enums

NO_ERROR = enums.ERRORS.index("none")
SURPLUS_COPY = enums.ERRORS.index("surplus_copy")
CARD_TOO_MANY = enums.ERRORS.index("card_too_many")

_MOST = 255  # the largest count of one card

_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
"""How many cards of the shoe come out with a fault, if not 1. With a jam, a broken sensor or no
power the card may have stayed in: it counts unless it is drawn again."""
_MAY_BE_IN = ("double_feed", "jam", "sensor_fault", "power_lost")


class Inventory:
    """The cards that came out of one shoe of cards: identified ones and unread ones."""

    def __init__(self) -> None:
        self.decks = 0
        self._named = 0  # the sum of the counts
        self.counts = bytearray(cards.DECK_SIZE)
        """How many of each card 0-51 came out, at any position, read or entered by hand."""
        self.unread = 0
        """Cards that came out and were neither read nor entered."""

    def state(self) -> list:
        """Return the whole state, for `restore`."""
        return [self.decks, bytes(self.counts), self.unread]

    def restore(self, state: list) -> None:
        """Set the state that `state` returned."""
        self.decks, counts, self.unread = state
        self.counts[:] = counts
        self._named = sum(counts)

    def load(self, decks: int) -> None:
        """Begin a shoe with this many whole decks."""
        self.decks = decks
        self.unread = self._named = 0
        for card in range(cards.DECK_SIZE):
            self.counts[card] = 0

    def count(self, card: int) -> None:
        """Card 0-51 came out."""
        self._named += 1
        self.counts[card] = min(self.counts[card] + 1, _MOST)

    def pass_failed(self, fault: int) -> None:
        """Count a pass with this fault of `enums.FAULTS`."""
        self.unread += _CAME_OUT.get(enums.FAULTS[fault], 1)

    def named(self, fault: int) -> None:
        """A card that came out with this fault was entered: `count` will count it."""
        if _CAME_OUT.get(enums.FAULTS[fault], 1):
            self.unread -= 1

    def forget(self, sealed: bytes) -> None:
        """These cards are never to be known: they count as unread."""
        for card in sealed:
            self.counts[card] -= 1
        self._named -= len(sealed)
        self.unread += len(sealed)

    def drawn_again(self, fault: int) -> None:
        """A card with this fault does not count: it will be drawn again, or was put aside."""
        if enums.FAULTS[fault] in _MAY_BE_IN:
            self.unread -= 1

    def drawn(self) -> int:
        """Return how many cards came out, identified or not."""
        return self._named + self.unread

    def expected(self) -> int:
        """Return how many cards were loaded, without the cut card."""
        return cards.DECK_SIZE * self.decks

    def surplus(self, card: int) -> int:
        """Return the error of one more copy of `card`, a place in `enums.ERRORS`; `none` if it is
        allowed."""
        decks = self.decks
        if self.counts[card] >= decks:
            return SURPLUS_COPY
        # `drawn` and `expected`, without the time of two calls: the lock waits for this.
        drawn = self._named + self.unread
        return CARD_TOO_MANY if drawn >= cards.DECK_SIZE * decks else NO_ERROR
