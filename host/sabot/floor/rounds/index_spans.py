"""Reads the rounds and what is notable out of the records of a unit, span by span (audit/spans.py).

Spans are read side by side and in any order. What a span gives is that of one pass if its reading
began in the state in which the reading of the span before it ended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

from sabot.audit.checks.decoding import UNKNOWN, event_of
from sabot.audit.spans import Span
from sabot.floor.rounds.indexed_round import IndexedRound, Indexing
from sabot.link.events import DECIDED, Event, ResultEvent, SealedCardEvent, SealEvent
from sabot.log.found import LARGEST
from sabot.log.reading.shoe_game import game_in_shoe
from sabot.log.reveal import ShownGames
from sabot.log.rounds import Dealt, Rounds
from sabot.log.store import Store
from sabot.notable.incident_search import Decoded, Search, Wanted, decoded
from sabot.notable.incident_spans import NotAsOnePass, Part, part_of, records_of
from sabot_protocol import events

_OF_ROUNDS = [False] * 256
"""By the number of a kind: whether rounds are made from it."""
_OF_ROUNDS[UNKNOWN] = True  # it may belong to a round
for _shape in (
    events.BETTING_OPEN, events.GHOST_HAND, events.CARD, events.SEAL, events.SEALED_CARD,
    events.UNSEALED, events.RESULT, events.ROUND_VOID, events.SHOE_ENDED, events.HAND_BEGUN,
    events.RUN_TWICE, events.HAND_ENDED, events.PLAY, events.LOOKED, events.HAND_RESULT,
    events.BLACKJACK_RESULT, events.SHOE_LOADED, events.SEAT_SEAL, events.SEAT_UNSEALED,
    events.SEAL_ESCROW,
):  # fmt: skip
    _OF_ROUNDS[_shape.number] = True

RawRecord = tuple[int, bytes, bytes]


class Games:
    """What is made of the game documents of a log, once for all units."""

    def __init__(self, store: Store) -> None:
        self.indexing = Indexing(store.game)
        self.shown = ShownGames(store.game)
        # A document that is not kept is asked for once, too, as long as these records are read.
        self.search = Search(Wanted(), ShownGames(cache(store.game)))


class RoundsReader:
    """Reads the rounds of one unit out of its records, in order. `game` as for `Rounds`."""

    def __init__(self, unit: str, games: Games, game: str = "") -> None:
        self.ended: dict[int, IndexedRound] = {}
        """The rounds that have ended, by their first event. One that is called a misdeal is there
        once, as void."""
        self.may_be_hidden = False
        """Whether one has ended that may have to wait for the dealer's reveal."""
        self.last: RawRecord | None = None
        """The last record that a follower of the log gives too."""
        self._rounds = Rounds(unit, game)
        self._games = games
        self._sealed = (0, 0)  # shoe of cards and round whose cards the firmware seals

    def take(self, some: Decoded) -> None:
        """Take the next records."""
        records, every = some
        for values in every:
            if values is None:
                self._rounds.open = None  # a round that it may be part of is left out
            elif _OF_ROUNDS[values[0]]:
                event = event_of(values)
                if isinstance(event, SealEvent | SealedCardEvent):
                    self._sealed = event.shoe, event.round
                ended = self._rounds.add(event)
                if ended is not None:
                    self._end(ended, event)
        self.last = next(filter(_is_followed, reversed(records)), self.last)

    def state(self) -> dict[str, Any]:
        """By what the next records are judged, as a copy."""
        return deepcopy({**vars(self._rounds), "_seal": vars(self._rounds._seal)})

    def resume(self, state: dict[str, Any], last: RawRecord | None) -> None:
        """Go on from a state of `state`, after the record `last`."""
        own = deepcopy(state)
        vars(self._rounds._seal).update(own.pop("_seal"))
        vars(self._rounds).update(own)
        self.last = last

    def _end(self, ended: Dealt, event: Event) -> None:
        # A round ends again if an event after its end is not understood.
        by_end = isinstance(event, DECIDED) or ended.last_event != event.number
        game = self._rounds.game if by_end else None
        self.ended[ended.first_event] = self._games.indexing.row(ended, game)
        if isinstance(event, ResultEvent) and (event.shoe, event.round) != self._sealed:
            shows = self._games.shown.at_once(event.game)
            self.may_be_hidden = self.may_be_hidden or not shows


def _is_followed(record: Sequence[Any]) -> bool:
    """Whether the place of a record is one that a follower looks at: a forger may write any."""
    return isinstance(record[0], int | float) and record[0] <= LARGEST


@dataclass(frozen=True, slots=True)
class SpanRead:
    """What a span has."""

    begins: dict[str, Any]
    ends: dict[str, Any]
    rounds: Sequence[IndexedRound]
    part: Part | None
    """What is notable; None if one pass must be made."""
    last: RawRecord | None
    records: int


def read_span(
    store: Store,
    unit: str,
    span: Span,
    games: Games,
    count: Callable[[int], None] = lambda more: None,
) -> SpanRead:
    """Read a span. `count` gets the number of records just read."""
    first = span.warm_up if span.warm_up is not None else span.first
    game = "" if first is None else game_in_shoe(store, unit, first)
    reader = RoundsReader(unit, games, game)
    if span.warm_up is not None and span.first is not None:
        for rows in store.raw_chunks(unit, span.warm_up, span.first - 1):
            reader.take(decoded(rows))
    reader.ended.clear()
    begins, done = reader.state(), 0

    def followed(records: Iterable[Sequence[Any]]) -> Iterator[Decoded]:
        nonlocal done
        for rows in records:
            some = decoded(rows)
            reader.take(some)
            yield some
            done += len(rows)
            count(len(rows))

    try:
        part = part_of(unit, followed(records_of(store, unit, span)), games.search)
    except NotAsOnePass:
        part = None
    return SpanRead(begins, reader.state(), [*reader.ended.values()], part, reader.last, done)
