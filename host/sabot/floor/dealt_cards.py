"""How many of each card have come out of a shoe of cards, as far as it may show.

Of a shoe of cards that is in play this tells what is left in it: a page asks for the right to see
it (desk/roles.py).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sabot.link import seals
from sabot.link.events import (
    CardEvent,
    CompositionEvent,
    Event,
    SealedCardEvent,
    ShoeLoadedEvent,
)
from sabot.link.seals import RoundSeal
from sabot.link.wire import WireError
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.reveal import hidden_round, shown
from sabot.log.store import Filter, Store
from sabot_protocol import cards

_KINDS = (
    "card", "composition", "shoe_loaded", *seals.KINDS, UNKNOWN_KINDS
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DealtCards:
    """The cards that came out of a shoe of cards."""

    shoe: int
    """Its number."""
    counts: Counter[str]
    """By the name of a card."""
    face_down: int
    """Cards that came out and are not known yet, or never will be."""
    decks: int | None
    """How many decks were loaded; None if no event says it."""
    ended: bool
    not_understood: int | None = None
    """Number of the first event that this version does not know in full, so that cards may be
    missing; None if there is none."""


def dealt_cards(store: Store, unit: str, shoe: int) -> DealtCards:
    """Return what came out of a shoe of cards so far: of the last one of this number, because a
    unit that lost its memory counts from 1 again."""
    events = list(_readable(store, Filter(unit, shoe=shoe, kinds=_KINDS)))
    hidden = hidden_round(store, unit)  # now: a round that begins later is not in `events`
    counts: Counter[str] = Counter()
    face_down, decks, ended = 0, None, False
    later: int | None = None
    seal = RoundSeal()
    for event in events:
        opened = seal.add(event)
        counts.update(cards.name_of(card.card) for card in opened)
        face_down -= len(opened)
        if isinstance(event, ShoeLoadedEvent):
            counts.clear()
            face_down, decks, ended, later = 0, event.decks, False, None
        elif isinstance(event, CompositionEvent):
            ended = True
        elif isinstance(event, SealedCardEvent):
            face_down += 1
        elif isinstance(event, CardEvent):
            if shown(event, hidden) is None:
                face_down += 1
            else:
                counts[cards.name_of(event.card)] += 1
        if later is None and not event.understood:
            later = event.number
    return DealtCards(shoe, counts, face_down, decks, ended, later)


def last_ended_shoe(store: Store, unit: str) -> int | None:
    """Return the number of the last shoe of cards of a unit that has ended; None if none has."""
    ends = store.rows(Filter(unit, kinds=("shoe_ended",), newest_first=True))
    newest = next(iter(ends), None)
    return None if newest is None else newest.shoe


def _readable(store: Store, wanted: Filter) -> Iterator[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
