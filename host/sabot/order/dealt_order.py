"""Follows the order of the cards of one unit, over its shoes of cards."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sabot.link.events import Event, ShoeEndedEvent, ShoeLoadedEvent
from sabot.log.reveal import ShownGames
from sabot.order.chances import House
from sabot.order.finder import Finder, Finding
from sabot.order.known_cards import KnownCards
from sabot.order.past import LAST, PastShoe, RecentShoes
from sabot.order.run_index import RUN, RunIndex

_MOST_DECKS, _MOST_CARDS = 12, 1000
"""Of a shoe of cards: no game has so many, but a forged log."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and where it was made."""

    finding: Finding
    event: Event
    """By which the card came with which it was found."""
    decks: int
    card: int
    """How many known cards had come, with this one."""


class DealtOrder:
    """Takes the events of one unit, in order. A shoe of cards whose begin it does not see is not
    judged.

    As long as `past` does not say what was dealt before, cards are only kept.
    """

    def __init__(
        self, unit: str, games: ShownGames, house: House = House(), *, beside: bool = True
    ) -> None:
        """Without `beside` it does not follow a shoe any further once something was found."""
        self.unit = unit
        self._beside = beside
        self.found: Found | None = None
        """What was found in the shoe of cards that is in play, or was last; None for nothing."""
        self.ended: list[PastShoe] = []
        """The shoes that have ended since the first event."""
        self.over = True
        """Whether no shoe of cards is in play."""
        self._known = KnownCards(games)
        self._house = house
        self._before: tuple[PastShoe, ...] | None = None
        self._logged: RunIndex | None = None
        self._loaded: ShoeLoadedEvent | None = None
        self._cards: list[tuple[Event, int]] = []
        self._unweighed: list[tuple[ShoeLoadedEvent, list[tuple[Event, int]]]] = []
        """Shoes of cards that ended before `past` was known."""
        self._finder: Finder | None = None
        self._new: list[Found] = []

    @property
    def first_event(self) -> int | None:
        """The first event of the shoe of cards; None if it was not seen."""
        return None if self._loaded is None else self._loaded.number

    def know(self, event: Event) -> None:
        """Take an event from before the first one, for what decides whether cards are shown."""
        self._known.know(event)

    def past(self, shoes: Sequence[PastShoe], logged: RunIndex | None = None) -> None:
        """Take the shoes of the unit that ended before the first event, the newest last, and those
        of the log. What was kept until then is weighed now."""
        self._before, self._logged = tuple(shoes[-LAST:]), logged
        for loaded, cards in self._unweighed:
            at = next(n for n, each in enumerate(self.ended) if each.first_event == loaded.number)
            self.found = None
            self._weigh(loaded, cards, at)
        self._unweighed = []
        if self._loaded is not None and not self.over:
            self.found = None
            self._weigh(self._loaded, self._cards)

    def add(self, event: Event) -> None:
        """Take the next event."""
        for each in self._known.add(event):
            loaded = self._loaded
            if loaded is None or each[0].shoe != loaded.shoe or len(self._cards) >= _MOST_CARDS:
                continue
            self._cards.append(each)
            if self._finder is not None:
                self._take(self._finder, loaded, *each)
        if isinstance(event, ShoeLoadedEvent):
            self._end()
            self._loaded, self.found, self.over = event, None, False
            self._weigh(event, ())
        elif isinstance(event, ShoeEndedEvent):
            self._end()

    @property
    def waits(self) -> bool:
        """Whether it does not know yet what was dealt before."""
        return self._before is None

    def forget_ended(self) -> None:
        """Forget the shoes that have ended."""
        self.ended = []

    def new(self) -> list[Found]:
        """Return the findings that were not returned before."""
        new, self._new = self._new, []
        return new

    def beside(self) -> tuple[bytes, Finding] | None:
        """The known cards of the shoe in play, and what was found with all of them; None if nothing
        was."""
        if self.found is None or self._finder is None:
            return None
        finding = self._finder.side_by_side()
        return None if finding is None else (self._finder.cards, finding)

    def _weigh(
        self, loaded: ShoeLoadedEvent, cards: Iterable[tuple[Event, int]], before: int | None = None
    ) -> None:
        """Weigh the cards of a shoe that have come: `before` of the shoes that have ended came
        before it, None for all."""
        self._finder = None
        if self._before is None or not 1 <= loaded.decks <= _MOST_DECKS:
            return
        recent = RecentShoes((*self._before, *self.ended[:before]))
        index = self._logged
        logged = None if index is None else LoggedBefore(index, self.unit, loaded)
        self._finder = Finder(loaded.decks, recent, logged, self._house)
        for event, card in cards:
            self._take(self._finder, loaded, event, card)

    def _take(self, finder: Finder, loaded: ShoeLoadedEvent, event: Event, card: int) -> None:
        if self.found is not None and not self._beside:
            return
        finding = finder.add(card)
        if finding is not None:
            self.found = Found(finding, event, loaded.decks, finding.place + 1)
            self._new.append(self.found)

    def _end(self) -> None:
        """Note that the shoe of cards is over. Its finding stays until the next one begins."""
        loaded, self.over = self._loaded, True
        if loaded is None or not self._cards:
            return
        cards = bytes(card for _, card in self._cards)
        ended_unix_ms = self._cards[-1][0].unix_ms
        ended = PastShoe(self.unit, loaded.shoe, loaded.number, cards, loaded.decks, ended_unix_ms)
        self.ended = [*self.ended, ended][-LAST:]
        if self._before is None:
            self._unweighed = [*self._unweighed, (loaded, self._cards)][-LAST:]
        self._cards = []


class LoggedBefore:
    """The shoes of a log that had ended when a shoe of `unit` was loaded: as `LoggedRuns`."""

    run = RUN

    def __init__(self, index: RunIndex, unit: str, loaded: ShoeLoadedEvent) -> None:
        self._index, self._unit, self._loaded = index, unit, loaded

    def count(self) -> int:
        """How many shoes there are, up to the next power of two: so that a shoe that is weighed
        again later is weighed alike."""
        return int(1 << (len(self._index) - 1).bit_length()) if len(self._index) else 0

    def places(self, run: bytes) -> Iterator[tuple[PastShoe, int, int]]:
        """As `LoggedRuns`."""
        for number, at, step in self._index.places(run):
            shoe = self._index.shoe(number)
            if self._is_before(shoe):
                yield shoe, at, step

    def _is_before(self, shoe: PastShoe) -> bool:
        loaded = self._loaded
        if shoe.unit == self._unit:
            return shoe.first_event < loaded.number
        ended, now = shoe.ended_unix_ms, loaded.unix_ms
        return ended is not None and now is not None and ended <= now
