"""Follows the order of the cards of one unit, over its shoes of cards."""

from dataclasses import dataclass

from sabot.link.events import Event, ShoeEndedEvent, ShoeLoadedEvent
from sabot.log.reveal import ShownGames
from sabot.order.chances import House
from sabot.order.finder import Finder, Finding, LoggedRuns
from sabot.order.known_cards import KnownCards
from sabot.order.past import LAST, PastShoe, RecentShoes


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

    def __init__(self, unit: str, games: ShownGames, house: House = House()) -> None:
        self.unit = unit
        self.found: Found | None = None
        """What was found in the shoe of cards that is in play, or was last; None for nothing."""
        self.ended: list[PastShoe] = []
        """The shoes that have ended since the first event."""
        self.over = True
        """Whether no shoe of cards is in play."""
        self._known = KnownCards(games)
        self._house = house
        self._before: tuple[PastShoe, ...] | None = None
        self._logged: LoggedRuns | None = None
        self._loaded: ShoeLoadedEvent | None = None
        self._cards: list[tuple[Event, int]] = []
        self._finder: Finder | None = None
        self._new: list[Found] = []

    @property
    def first_event(self) -> int | None:
        """The first event of the shoe of cards; None if it was not seen."""
        return None if self._loaded is None else self._loaded.number

    def know(self, event: Event) -> None:
        """Take an event from before the first one, for what decides whether cards are shown."""
        self._known.know(event)

    def past(self, shoes: list[PastShoe], logged: LoggedRuns | None = None) -> None:
        """Take the shoes of the unit that ended before the first event, the newest last, and those
        of the log."""
        self._before, self._logged = tuple(shoes[-LAST:]), logged
        self._weigh()

    def add(self, event: Event) -> None:
        """Take the next event."""
        for each in self._known.add(event):
            if self._loaded is not None and each[0].shoe == self._loaded.shoe:
                self._cards.append(each)
                if self._finder is not None:
                    self._take(self._finder, *each)
        if isinstance(event, ShoeLoadedEvent):
            self._end()
            self._loaded, self.found, self.over = event, None, False
            self._weigh()
        elif isinstance(event, ShoeEndedEvent):
            self._end()

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

    def _weigh(self) -> None:
        """Weigh all cards of the shoe in play, which are few."""
        loaded = self._loaded
        if loaded is None or self._before is None or self.over:
            return
        recent = RecentShoes((*self._before, *self.ended))
        self._finder = Finder(loaded.decks, recent, self._logged, self._house)
        for each in self._cards:
            self._take(self._finder, *each)

    def _take(self, finder: Finder, event: Event, card: int) -> None:
        finding = finder.add(card)
        loaded = self._loaded
        if finding is not None and self.found is None and loaded is not None:
            self.found = Found(finding, event, loaded.decks, finding.place + 1)
            self._new.append(self.found)

    def _end(self) -> None:
        """Note that the shoe of cards is over. Its finding stays until the next one begins."""
        loaded, self.over = self._loaded, True
        if loaded is None or not self._cards:
            return
        cards = bytes(card for _, card in self._cards)
        ended = PastShoe(self.unit, loaded.shoe, loaded.number, cards, loaded.decks)
        self.ended = [*self.ended, ended][-LAST:]
        self._cards = []
