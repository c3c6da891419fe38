"""Makes messages of the events of one shoe of cards.

Nothing that must not show is in them: a round is held back until log/reveal.py lets it show, a card
that stays sealed is not in its round, and incidents are found as for alerts (incident_feed.py).

The message of a round can come twice: at once, and again once its shoe of cards has ended. A feed
has one of the two (Feed.in_play).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

from sabot.audit.checks.decoding import values_of
from sabot.feeds.message import (
    HELD_PLACE,
    HELD_ROUNDS,
    INCIDENT_FOUND,
    ROUND_ENDED,
    SHOE_ENDED,
    SHOE_LOADED,
    Message,
    Position,
    message_of,
)
from sabot.link.events import (
    BettingOpenEvent,
    Event,
    HandBegunEvent,
    ProvisionedEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnknownEvent,
)
from sabot.log import boards
from sabot.log.follow import RawRecord
from sabot.log.reveal import Reveal, ShownGames
from sabot.log.rounds import Dealt, Rounds
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_feed import IncidentFeed
from sabot.text import utc_time

_BEGINS = (ShoeLoadedEvent, BettingOpenEvent, HandBegunEvent)


@dataclass(frozen=True, slots=True)
class Before:
    """What a shoe of cards needs of what came before it. It follows from the log and the number of
    the first event of the shoe of cards alone."""

    deciding: tuple[Event, ...] = ()
    """Events that decide by which game the first round is dealt, and whether the lid is open."""
    records: tuple[RawRecord, ...] = ()
    """The last records before: what an incident may have begun in."""
    table: str = ""
    """Where the unit stood."""


@dataclass(slots=True)
class Held:
    """A round that has ended and must not be shown yet, and what decides when it may be."""

    ended: Dealt
    reveal: Reveal


@dataclass(slots=True)
class _Making:
    """The messages of one event."""

    event: int
    made: list[Message] = field(default_factory=list)
    _held: int = 0

    def add(
        self, type_: str, number: int, unix_ms: int | None, data: dict[str, Any], kind: str = ""
    ) -> None:
        position = Position(self.event, len(self.made) - self._held)
        self.made.append(message_of(type_, position, number, unix_ms, data, kind))

    def add_held(self, rounds: Iterable[Message]) -> None:
        """Add the messages of rounds whose shoe of cards has ended."""
        for each in rounds:
            position = Position(self.event, HELD_PLACE + self._held)
            self.made.append(replace(each, what=HELD_ROUNDS, position=position))
            self._held += 1

    def in_order(self) -> list[Message]:
        """The messages, in the order of their positions."""
        return sorted(self.made, key=lambda each: each.position)


class ShoeMessages:
    """Takes the records of one shoe of cards of a unit, in order. `held` is the last round of the
    one before, if it was not shown yet; `in_play` are the messages of rounds of that one, if it
    has ended with the first record of this one: its own end is lost. `with_held`: each round comes
    a second time once its shoe of cards has ended."""

    def __init__(
        self,
        unit: str,
        games: ShownGames,
        before: Before,
        held: Held | None = None,
        in_play: Sequence[Message] = (),
        *,
        with_incidents: bool = True,
        with_held: bool = False,
    ) -> None:
        self.held = held
        self.in_play: list[Message] = []
        """The messages of rounds that were made while this shoe of cards was in play, as long as it
        is."""
        self._before, self._with_held = in_play, with_held
        self._has_ended = not with_held  # then none is kept
        self.shoe = 0
        """Its number; 0 before the first event that has one."""
        self._unit, self._table = unit, before.table
        self._rounds = Rounds(unit)
        self._reveal = Reveal(games)
        self._incidents = IncidentFeed(unit, Limits(), games) if with_incidents else None
        for event in before.deciding:
            self._reveal.add(event)
            if self._incidents is not None:
                self._incidents.know(event)
        self._warm_up(before.records)

    def _warm_up(self, records: Iterable[RawRecord]) -> None:
        """Let what was before be known. Incidents of it are those of the shoe of cards before."""
        if self._incidents is None:
            return
        for values in values_of([record for _, record, _ in records]):
            if values is not None:
                self._incidents.add(values)
        self._incidents.new()

    def add_damaged(self) -> None:
        """Take a record that cannot be read: a round that it may be part of is left out."""
        self._rounds.open = None

    def add(self, event: Event, values: list[Any]) -> list[Message]:
        """Take the next event, and its values as `values_of` gives them. Return its messages."""
        made = _Making(event.number)
        if not isinstance(event, UnknownEvent):
            self.shoe = event.shoe or self.shoe
        if isinstance(event, ProvisionedEvent):
            self._table = event.table
        made.add_held(self._before)
        self._before = ()
        if isinstance(event, _BEGINS):  # a shoe that lost its memory may count this one as the last
            self._has_ended = not self._with_held
        if isinstance(event, ShoeLoadedEvent):
            made.add_held(self.in_play)
            self.in_play = []
        self._take_round(event, made)
        if isinstance(event, ShoeLoadedEvent):
            more: dict[str, Any] = {"game": event.game, "decks": event.decks}
            made.add(
                SHOE_LOADED, event.number, event.unix_ms, self._of_shoe(event) | more, "shoe_loaded"
            )
        elif isinstance(event, ShoeEndedEvent):
            self._has_ended = True
            made.add_held(self.in_play)
            self.in_play = []
            more = {"reason": event.reason, "rounds": event.rounds, "cards": event.cards}
            made.add(
                SHOE_ENDED, event.number, event.unix_ms, self._of_shoe(event) | more, "shoe_ended"
            )
        if self._incidents is not None:
            self._incidents.add(values)
            for each in self._incidents.new():
                self._put_incident(each, made)
        return made.in_order()

    def end(self, event: int) -> list[Message]:
        """The messages of the rounds of a shoe of cards that never ends, because its board was
        replaced. They are those of the number after the last one of its events."""
        made = _Making(event)
        made.add_held(self.in_play)
        return made.made

    def _take_round(self, event: Event, made: _Making) -> None:
        if self.held is not None and self.held.reveal is not self._reveal:
            self.held.reveal.add(event)
        self._show(made)  # of the shoe of cards before, or as it was decided
        ended = self._rounds.add(event)
        self._reveal.add(event)
        if ended is not None:
            # A round that was held back and then called a misdeal has no result any more.
            self.held = Held(ended, self._reveal)
        self._show(made)

    def _show(self, made: _Making) -> None:
        """Make the message of the round that is held back, if it may be shown now."""
        if self.held is None:
            return
        ended = self.held.ended
        if (ended.shoe, ended.round) == self.held.reveal.hidden:
            return
        self.held = None
        data = {"unit": "", "table": self._table} | ended.as_json()
        made.add(ROUND_ENDED, ended.last_event, ended.ended_unix_ms, data)
        if ended.shoe == self.shoe and not self._has_ended:
            self.in_play.append(made.made[-1])
        elif self._with_held:  # a misdeal that was called after the end
            made.add_held([made.made[-1]])

    def _of_shoe(self, event: Event) -> dict[str, Any]:
        return {
            "unit": boards.unit_of(self._unit),
            "table": self._table,
            "shoe": event.shoe,
            "event": event.number,
            "time": utc_time(event.unix_ms),
            "board_number": boards.board_of(self._unit),
        }

    def _put_incident(self, found: Incident, made: _Making) -> None:
        data = {"unit": "", "table": self._table} | found.as_json(UTC)
        assert found.event is not None  # the feed's all have one
        made.add(INCIDENT_FOUND, found.event, found.unix_ms, data, found.kind)
