"""Notes the sealed rounds of one unit that were never opened, and why.

Such a round is no fault by itself: a log may end within it. But the reader of the log must know
that no one can check these cards. closed_cards.py counts those that stay closed by the choice of
the house.
"""

from collections.abc import Iterator

from sabot.audit.checks.findings import MOST_OF_A_KIND
from sabot.text import counted

NOTE = "sealed"
"""The kind of these notes."""

NO_FIT = "its key does not fit: the unit had lost its sealing secret, or the key was changed"
MISSING = "events are missing in which its key may be"
NO_KEY = "its key never came: what follows a key came without it"
AT_THE_END = "the log ends before its key"


class NeverOpened:
    """The sealed rounds of one unit that were not opened, in order."""

    def __init__(self) -> None:
        self._rounds: list[tuple[int, str]] = []  # event of the seal, what
        self._more = self._last = 0

    def add(self, number: int, place: tuple[int, int], cards: int, why: str) -> None:
        """Take a round, by its place: shoe of cards and round. `number` is the event of its seal,
        `cards` how many sealed cards of it stay closed, and `why` for people."""
        if len(self._rounds) < MOST_OF_A_KIND:
            shoe, round_ = place
            what = f"{counted(cards, 'sealed card')} of shoe {shoe} round {round_} never opened"
            self._rounds.append((number, f"{what}: {why}"))
        else:
            self._more, self._last = self._more + 1, number

    def clear(self) -> None:
        """Forget all."""
        self._rounds.clear()
        self._more = self._last = 0

    def join(self, later: "NeverOpened") -> None:
        """Take what events gave that come after those so far."""
        room = MOST_OF_A_KIND - len(self._rounds)
        self._rounds += later._rounds[:room]
        self._more += later._more + len(later._rounds[room:])
        self._last = later._last or self._last

    def notes(self) -> Iterator[tuple[int, str, str]]:
        """Yield, for people, what was noted: event number, kind, detail."""
        for number, what in self._rounds:
            yield number, NOTE, what
        if self._more:
            yield self._last, NOTE, f"the last of {counted(self._more, 'more round')} never opened"
