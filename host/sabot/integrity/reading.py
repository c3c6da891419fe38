"""Reads the shoes of cards of a log that have ended, as arrays.

A shoe of cards in play is left out whole: what is left in it must help no one. So is one whose
beginning the log does not have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sabot.audit.checks.decoding import Values, values_of
from sabot.audit.table_names import Tables
from sabot.integrity.dealt_shoe import UNKNOWN, DealtShoe
from sabot.integrity.known import Known
from sabot.link import seals
from sabot.link.events import (
    DECIDED,
    DECIDED_KINDS,
    BettingOpenEvent,
    Event,
    GapEvent,
    SealedCardEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnreadableEvent,
)
from sabot.link.seals import RoundSeal
from sabot.link.wire import WireError
from sabot.log.reveal import hidden_round
from sabot.log.store import DAMAGED, Filter, Row, Store
from sabot_protocol import cards, enums, events

_KINDS = (
    "shoe_loaded", "shoe_ended", "card", "unreadable", *seals.KINDS, "betting_open",
    *DECIDED_KINDS, "gap", DAMAGED,
)  # fmt: skip

_CARD = events.CARD.number
_SHOE, _OWN = 5, 7
"""Indexes in the values of a record; its own fields begin at the last."""
_FIELDS = [name for name, _ in events.CARD.fields]
_POSITION, _BY_HAND = (_OWN + _FIELDS.index(name) for name in ("position", "by_hand"))

AT_ONCE = 32
"""Shoes of cards that are read together."""

_BURNED = "burn"
_MOST_DECKS = 8
_MOST_ROUNDS = 10_000
_MOST_CARDS = 10_000
"""A shoe of cards that says that it has more is not believed, and left out."""


@dataclass(frozen=True, slots=True)
class Part:
    """Shoes of cards of a unit that follow each other: events `first` to `last`; without a `last`
    the log ends with them."""

    unit: str
    first: int
    last: int | None
    shoes: int
    """How many shoes of cards were loaded in them."""


def parts_of(store: Store, unit: str, shoe: int | None = None) -> list[Part]:
    """Return the shoes of cards of a unit in parts, in order; with `shoe` only that one."""
    rows = store.rows(Filter(unit, kinds=("shoe_loaded",)))
    loaded = [(row.number, row.shoe) for row in rows]
    begins = [number for number, _ in loaded]
    found = []
    for at in range(0, len(begins), AT_ONCE):
        end = at + AT_ONCE
        last = begins[end] - 1 if end < len(begins) else None
        found.append(Part(unit, begins[at], last, min(AT_ONCE, len(begins) - at)))
    if shoe is None:
        return found
    chosen = [place for place, (_, number) in enumerate(loaded) if number == shoe]
    return [
        Part(unit, begins[at], begins[at + 1] - 1 if at + 1 < len(begins) else None, 1)
        for at in chosen
    ]


def shoes_in(store: Store, part: Part, known: Known) -> Iterator[DealtShoe]:
    """Yield the shoes of cards of a part that have ended, in order."""
    tables = Tables(store, part.unit)
    hidden: tuple[int, int] | None = None
    if part.last is None:
        hidden = hidden_round(store, part.unit)
    rows = list(store.rows(Filter(part.unit, first=part.first, last=part.last, kinds=_KINDS)))
    for made in _made(rows, ended=part.last is not None):
        if hidden is not None and hidden[0] == made.shoe:
            continue  # an old firmware's round that was never shown
        yield made.dealt(part.unit, tables.at(made.first_event), known)


@dataclass(slots=True)
class _Making:
    """A shoe of cards as its events come."""

    shoe: int
    decks: int
    first_event: int
    began_unix_ms: int | None
    game: str
    cards: list[int] = field(default_factory=list)
    seen: list[bool] = field(default_factory=list)
    rounds: list[tuple[int, int]] = field(default_factory=list)
    document: bytes = b""
    ended: bool = False
    broken: bool = False
    """Whether events of it are missing or damaged."""
    unread: int | None = None
    """The place of the last card that was not read, until it is entered by hand."""
    places: dict[int, int] = field(default_factory=dict)
    """The places of sealed cards, by the number of their event."""
    seal: RoundSeal = field(default_factory=RoundSeal)

    def take(self, event: Event) -> None:
        """Take an event of this shoe."""
        if self.broken:
            return
        for card in self.seal.add(event):
            place = self.places.pop(card.number, None)
            if place is not None:
                self.cards[place] = _playing(card.card)
        if isinstance(event, SealedCardEvent):
            self.places[event.number] = len(self.cards)
            self._put(UNKNOWN, event.position)
        elif isinstance(event, UnreadableEvent):
            self.unread = len(self.cards)
            self._put(UNKNOWN, event.position)
        elif isinstance(event, BettingOpenEvent):
            self.rounds.append((event.round, len(self.cards)))
            self.unread = None
            self.broken = self.broken or event.round > _MOST_ROUNDS
        elif isinstance(event, DECIDED):
            self.document = event.game
        elif isinstance(event, ShoeEndedEvent):
            self.ended = True

    def dealt(self, unit: str, table: str, known: Known) -> DealtShoe:
        """Return the shoe of cards as it came out."""
        return DealtShoe(
            unit=unit,
            shoe=self.shoe,
            decks=self.decks,
            cards=np.array(self.cards, dtype=np.int8),
            seen=np.array(self.seen, dtype=bool),
            rounds=np.array(self.rounds, dtype=np.int32).reshape(-1, 2),
            table=table,
            game=self.game,
            document=self.document,
            began_unix_ms=self.began_unix_ms,
            also=known.of(unit, self.began_unix_ms),
        )

    def take_card(self, card: int, position: str, *, by_hand: bool) -> None:
        """Take a card that came out of this shoe."""
        if self.broken:
            return
        if by_hand and self.unread is not None:
            self.cards[self.unread] = _playing(card)
            self.unread = None
        elif card < cards.DECK_SIZE:
            self._put(card, position)

    def _put(self, card: int, position: str) -> None:
        self.cards.append(card)
        self.seen.append(position != _BURNED)
        self.broken = len(self.cards) > _MOST_CARDS


def _playing(card: int) -> int:
    return card if card < cards.DECK_SIZE else UNKNOWN


def _made(rows: Sequence[Row], *, ended: bool) -> Iterator[_Making]:
    """The shoes of cards in some rows that have ended and are whole; `ended` says whether another
    one was loaded after the last of them."""
    making: _Making | None = None
    for row, values in zip(rows, values_of([row.data for row in rows]), strict=True):
        if values is not None and values[0] == _CARD:  # most events, so they are not made objects
            if making is not None and values[_SHOE] == making.shoe:
                position = enums.POSITIONS[values[_POSITION]] if _known_place(values) else ""
                making.take_card(values[_OWN], position, by_hand=bool(values[_BY_HAND]))
            continue
        event = _event_in(row)
        if isinstance(event, ShoeLoadedEvent):
            if making is not None and not making.broken:
                yield making
            making = _Making(event.shoe, event.decks, event.number, event.unix_ms, event.game)
            making.broken = not 1 <= event.decks <= _MOST_DECKS
        elif making is not None:
            if event is None or isinstance(event, GapEvent):
                making.broken = True
            elif event.shoe == making.shoe:
                making.take(event)
    if making is not None and not making.broken and (ended or making.ended):
        yield making


def _known_place(values: Values) -> bool:
    return bool(values[_POSITION] < len(enums.POSITIONS))


def _event_in(row: Row) -> Event | None:
    try:
        return row.event()
    except WireError:
        return None
