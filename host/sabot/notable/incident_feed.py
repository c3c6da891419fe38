"""Finds the incidents of one unit as they happen: the same as `sabot incidents` lists.

Cards of a round that must not be shown yet are not in any incident. When they may be shown, what
they make an incident is found then.
"""

from typing import Any

from sabot.audit.checks.decoding import UNKNOWN, Values, event_of
from sabot.audit.play.play_checks import PlayChecks
from sabot.link.events import Event, SealEvent, UnsealedEvent
from sabot.link.seals import RoundSeal
from sabot.log.reveal import Reveal, ShownGames, without_secret_card
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_finder import IncidentFinder
from sabot.notable.incident_search import disagreements_shown

_NUMBER, _SHOE = 1, 5
"""Indexes in a record's values."""
_MOST_WAITING = 2000  # events: no round has so many, but a forger's

_Step = tuple[Event, list[str]]
"""An event, and the verifier's disagreements with it."""


class IncidentFeed:
    """Takes the events of one unit, in order, that can be read. `games` deal them."""

    def __init__(self, unit: str, limits: Limits, games: ShownGames) -> None:
        self._reveal = Reveal(games)
        self._finder = IncidentFinder(unit, limits, games)
        """Has all events but those that wait."""
        self._ahead: IncidentFinder | None = None
        """Has those too, as far as they may be shown; None if none wait."""
        self._waiting: list[_Step] = []
        """From the first event that will be shown with its card, and is not yet."""
        self._seal = RoundSeal()
        self._sealed: SealEvent | None = None  # whose key has not come
        self._hidden: tuple[int, int] | None = None
        self._shoe = self._last = 0
        self._disagreements: list[str] = []
        self._checks = PlayChecks(self._take_finding)
        self._listed: set[tuple[str, int]] = set()
        self._forgets = False

    def know(self, event: Event) -> None:
        """Take an event from before the first one, for what decides whether cards are shown."""
        self._reveal.add(event)

    def add(self, values: Values) -> Event:
        """Take the values of the next record, and return its event."""
        event = event_of(values)
        begins = values[_SHOE] not in (0, self._shoe) and values[0] != UNKNOWN
        if begins:
            self._shoe = values[_SHOE]
            self._checks = PlayChecks(self._take_finding)
            self._seal, self._sealed = RoundSeal(), None
        elif values[_NUMBER] != self._last + 1:
            self._checks.not_judged(values[_NUMBER])
        self._last = values[_NUMBER]
        self._place(event, self._judge(values))
        self._forgets = self._forgets or begins
        return event

    @property
    def waits(self) -> bool:
        """Whether there is another incident as soon as enough time has passed."""
        return (self._ahead or self._finder).waits

    def new(self, waited_ms: int = 0) -> list[Incident]:
        """The incidents that were not returned before, and may be shown; `waited_ms` have passed
        since the last event."""
        found: dict[tuple[str, int], Incident] = {}
        for each in (self._ahead or self._finder).incidents(waited_ms):
            assert each.event is not None  # the finder's all have one
            found.setdefault((each.kind, each.event), each)
        new = {key: each for key, each in found.items() if key not in self._listed}
        self._listed.update(new)
        if self._forgets and self._ahead is None:
            self._forget()
        return list(new.values())

    def _judge(self, values: Values) -> list[str]:
        """The verifier's disagreements with an event."""
        self._disagreements = []
        if self._checks.not_composed:
            self._checks.end_of(values)
        later: Any = self._checks.later
        handler = self._checks.handlers[values[0]] if type(values) is list else later
        if handler is not None:
            handler(values)
        return self._disagreements

    def _take_finding(self, number: int, kind: str, detail: str) -> None:
        if kind == "rules":
            self._disagreements.append(detail)

    def _place(self, event: Event, disagreements: list[str]) -> None:
        """Give the finder an event, or have it wait until its card may be shown."""
        self._reveal.add(event)
        opened = {card.number: card for card in self._seal.add(event)}
        if isinstance(event, SealEvent):
            self._sealed = event
        elif isinstance(event, UnsealedEvent) or len(self._waiting) > _MOST_WAITING:
            self._sealed = None
        if not self._waiting and self._reveal.hidden is None and self._sealed is None:
            self._hidden = None
            self._finder.add(event, disagreements)  # as most events
            return
        self._waiting.append((event, disagreements))
        changed = bool(opened) or self._reveal.hidden != self._hidden
        self._hidden = self._reveal.hidden
        if opened:
            self._waiting = [(opened.get(each.number, each), why) for each, why in self._waiting]
        ready = self._ready()
        if changed or ready:
            for each, why in self._waiting[:ready]:
                self._finder.add(each, why)
            del self._waiting[:ready]
            self._ahead = None
        self._go_ahead(self._waiting[-1:] if self._ahead else self._waiting)

    def _ready(self) -> int:
        """How many of the events that wait are shown as they are now for ever."""
        for at, (event, _) in enumerate(self._waiting):
            if (event.shoe, event.round) == self._hidden or event is self._sealed:
                return at
        return len(self._waiting)

    def _go_ahead(self, steps: list[_Step]) -> None:
        if not steps:
            return
        if self._ahead is None:
            self._ahead = self._finder.copy()
        for event, disagreements in steps:
            may_show = disagreements_shown(event, disagreements, self._hidden)
            self._ahead.add(without_secret_card(event, self._hidden), may_show)

    def _forget(self) -> None:
        """Forget what is over, because a new shoe of cards has begun: no event changes it now."""
        self._forgets = False
        self._finder.forget()
        self._listed &= {(each.kind, each.event or 0) for each in self._finder.incidents()}
