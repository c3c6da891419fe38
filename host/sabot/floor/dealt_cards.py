"""The cards of a shoe of cards: how many of each came out, once it has ended; before, what lay face
up, as it lay (log/reading/remainder.py)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sabot.link import seals
from sabot.link.events import CardEvent, Event, SealedCardEvent, ShoeLoadedEvent
from sabot.link.seals import RoundSeal
from sabot.link.wire import WireError
from sabot.log.families.cards import Card
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.reading.remainder import EndedShoe, last_ended_shoe
from sabot.log.reveal import hidden_round, shown
from sabot.log.store import Filter, Store
from sabot_protocol import cards

_KINDS = (
    "card", "shoe_loaded", *seals.KINDS, UNKNOWN_KINDS
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DealtCards:
    """The cards that came out of a shoe of cards that has ended."""

    shoe: int
    """Its number."""
    counts: Counter[str]
    """By the name of a card."""
    face_down: int
    """Cards that came out and will never be known."""
    decks: int | None
    """How many decks were loaded; None if no event says it."""
    not_understood: int | None = None
    """Number of the first event that this version does not know in full, so that cards may be
    missing; None if there is none."""


@dataclass(frozen=True, slots=True)
class LaidOpen:
    """The cards of a round that lay face up, in the order in which they could be seen."""

    round: int
    """Its number; 0 for the burned cards before the first."""
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class FaceUp:
    """What has lain face up in a shoe of cards so far."""

    shoe: int
    rounds: tuple[LaidOpen, ...]
    not_understood: int | None
    """As `DealtCards.not_understood`."""


def last_dealt_cards(store: Store, unit: str) -> DealtCards | None:
    """Return what came out of the last shoe of cards that has ended; None if none has."""
    ended = last_ended_shoe(store, unit, _KINDS)
    return None if ended is None else dealt_cards(ended)


def dealt_cards(ended: EndedShoe) -> DealtCards:
    """Return what came out of a shoe of cards."""
    counts: Counter[str] = Counter()
    face_down, decks = 0, None
    later: int | None = None
    seal = RoundSeal()
    for event in ended.events:
        opened = seal.add(event)
        counts.update(cards.name_of(card.card) for card in opened)
        face_down -= len(opened)
        if isinstance(event, ShoeLoadedEvent):
            decks = event.decks
        elif isinstance(event, SealedCardEvent):
            face_down += 1
        elif isinstance(event, CardEvent):
            counts[cards.name_of(event.card)] += 1
        if later is None and not event.understood:
            later = event.number
    return DealtCards(ended.shoe, counts, face_down, decks, later)


def laid_open(store: Store, unit: str, shoe: int) -> FaceUp:
    """Return the cards of a shoe of cards that have lain face up so far, by round. Nothing is
    counted."""
    events = list(_readable(store, Filter(unit, shoe=shoe, kinds=_KINDS)))
    hidden = hidden_round(store, unit)  # now: a round that begins later is not in `events`
    found: dict[int, list[Card]] = {}
    later: int | None = None
    seal = RoundSeal()
    for event in events:
        if isinstance(event, ShoeLoadedEvent):  # a shoe that lost its memory counts from 1 again
            found, later = {}, None
        drawn = seal.add(event)
        if isinstance(event, CardEvent) and shown(event, hidden) is not None:
            drawn = [event]
        for card in drawn:
            found.setdefault(card.round, []).append(Card(cards.name_of(card.card)))
        if later is None and not event.understood:
            later = event.number
    rounds = (LaidOpen(number, tuple(each)) for number, each in found.items())
    return FaceUp(shoe, tuple(rounds), later)


def _readable(store: Store, wanted: Filter) -> Iterator[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
