"""What is left in a shoe of cards in play helps no one, and not the house either.

Whatever is computed of the cards of a shoe of cards (how many of each came out, what that leaves,
what a wager is worth then, statistics of its order) tells what is left in it, or is one subtraction
away from it. Houses were sued because they shuffled when the count was against them, and devices
that keep count are forbidden to players (COMAR 36.05.02.17 G, NRS 465.075). So it is computed only
once the shoe of cards has ended, for every role.

This is the one door: what computes such a thing takes an `EndedShoe`, and only `ended_shoe` makes
one. What lay face up is shown as it lay, round by round (boards, roads, rounds), and a named
finding (a ninth copy, cards that were not shuffled) is shown at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sabot.link.events import Event, ShoeLoadedEvent
from sabot.link.wire import WireError
from sabot.log import boards
from sabot.log.reveal import hidden_round, shown
from sabot.log.store import Filter, Store

_BEGINS = ("burn", "betting_open", "hand_begun")
"""Kinds of events that come only while a shoe of cards is in play."""
_CARDS = ("card", "sealed_card")
_EDGES = ("shoe_loaded", "shoe_ended")
_MAKER: Final = object()


@dataclass(frozen=True, slots=True)
class ShoeInPlay:
    """A shoe of cards that has not ended."""

    shoe: int
    """Its number."""
    first_event: int
    """No event of it has a smaller number; that of its loading, if the log has it."""


class EndedShoe:
    """A shoe of cards that has ended, with its events: what may be computed of."""

    __slots__ = ("events", "shoe", "unit")

    def __init__(self, unit: str, shoe: int, events: Sequence[Event], maker: object) -> None:
        if maker is not _MAKER:
            raise TypeError(
                "an ended shoe of cards comes from ended_shoe, which looks whether it is"
            )
        self.unit, self.shoe = unit, shoe
        self.events = tuple(events)  # from its loading on, if the log has that


def shoe_in_play(store: Store, unit: str) -> ShoeInPlay | None:
    """The shoe of cards that a board deals, as far as the log knows; None if none is in play.

    Of a board that another one has replaced none is.
    """
    edge = next(_newest(store, unit, _EDGES), None)
    first = 1 if edge is None else edge.number
    if isinstance(edge, ShoeLoadedEvent):
        shoe = edge.shoe
    else:  # the next one's loading may be lost
        later = next(_newest(store, unit, _BEGINS, first=first), None)
        if later is None:
            drawn = _newest(store, unit, _CARDS, first=first)
            later = next((each for each in drawn if edge is None or each.shoe != edge.shoe), None)
        if later is None:
            return None
        shoe = later.shoe
    return None if is_replaced(store, unit) else ShoeInPlay(shoe, first)


def ended_shoe(store: Store, unit: str, shoe: int, kinds: Sequence[str] = ()) -> EndedShoe | None:
    """Return a shoe of cards with its events, of these kinds; None if it is in play, or the log
    does not have it. Of several with one number, after a shoe lost its memory, it is the last."""
    wanted = ("shoe_loaded", *kinds) if kinds else None
    events = [*_readable(store, Filter(unit, shoe=shoe, kinds=wanted))]
    # Now, not before: another shoe of cards with this number may have begun meanwhile.
    in_play = shoe_in_play(store, unit)
    if not events or (in_play is not None and in_play.shoe == shoe):
        return None
    loaded = [at for at, event in enumerate(events) if isinstance(event, ShoeLoadedEvent)]
    of_last = events[loaded[-1] if loaded else 0 :]
    hidden = hidden_round(store, unit)  # of a board that broke and was replaced
    may_show = [each for event in of_last if (each := shown(event, hidden)) is not None]
    return EndedShoe(unit, shoe, may_show, _MAKER)


def last_ended_shoe(store: Store, unit: str, kinds: Sequence[str] = ()) -> EndedShoe | None:
    """Return the last shoe of cards of a board that has ended, as `ended_shoe` does."""
    in_play = shoe_in_play(store, unit)
    before = None if in_play is None else in_play.first_event - 1
    newest = next(_newest(store, unit, (*_EDGES, *_BEGINS, *_CARDS), last=before), None)
    return None if newest is None else ended_shoe(store, unit, newest.shoe, kinds)


def is_replaced(store: Store, unit: str) -> bool:
    """Whether the log has events of the board that took the place of this one: no more will come of
    this one, and a shoe of cards that it had in play never ends otherwise."""
    return boards.after(unit) in store.units()


def _newest(
    store: Store,
    unit: str,
    kinds: tuple[str, ...],
    *,
    first: int | None = None,
    last: int | None = None,
) -> Iterator[Event]:
    return _readable(store, Filter(unit, kinds=kinds, first=first, last=last, newest_first=True))


def _readable(store: Store, wanted: Filter) -> Iterator[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
