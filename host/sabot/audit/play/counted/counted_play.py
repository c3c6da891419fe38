"""What is counted in the play of one unit, and does not change how the next events are judged."""

from collections.abc import Iterator

from sabot.audit.play.counted.closed_cards import ClosedCards
from sabot.audit.play.counted.later_events import LaterEvents
from sabot.audit.play.counted.never_opened import NeverOpened
from sabot.audit.play.counted.plain_cards import PlainCards


class CountedPlay:
    """The counts of one unit."""

    def __init__(self) -> None:
        self.rounds = 0
        """Rounds that ended, including void ones."""
        self.timeless = 0
        """Rounds that ended with a result but without a time of day."""
        self.dealt_by: dict[bytes, int] = {}
        """The number of the first result of each game, by the SHA-256 of its document."""
        self.plain = PlainCards()
        """The rounds that had to be sealed, if the firmware of their start seals."""
        self.later_events = LaterEvents()
        """Events that are not understood in full."""
        self.never_opened = NeverOpened()
        """Sealed rounds whose cards were not opened."""
        self.closed = ClosedCards()
        """Cards that stay closed by the choice of the house."""

    def clear(self) -> None:
        """Count from here on."""
        self.rounds = self.timeless = 0
        self.dealt_by.clear()
        for each in (self.plain, self.later_events, self.never_opened, self.closed):
            each.clear()

    def join(self, later: "CountedPlay") -> None:
        """Add what was counted in events that come after those so far."""
        self.rounds += later.rounds
        self.timeless += later.timeless
        for game, number in later.dealt_by.items():
            self.dealt_by.setdefault(game, number)
        self.plain.join(later.plain)
        self.later_events.join(later.later_events)
        self.never_opened.join(later.never_opened)
        self.closed.join(later.closed)

    def notes(self) -> Iterator[tuple[int, str, str]]:
        """Yield event, kind and detail of what a good log can have, and its reader should know."""
        yield from self.later_events.notes()
        yield from self.never_opened.notes()
        yield from self.closed.notes()
