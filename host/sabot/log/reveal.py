"""Which round's cards must not be shown yet: in midi they are the players' secret until the dealer
presses `reveal`, and the log has them as soon as they are drawn.

Only the records themselves have them earlier. Every list, page and table asks here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sabot.games.catalogue import GAMES
from sabot.link.events import (
    BettingOpenEvent,
    BootEvent,
    ButtonEvent,
    CardEvent,
    DecisionEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    GameLoadedEvent,
    GhostHandEvent,
    LidEvent,
    LongPassEvent,
    ResultEvent,
    RoundVoidEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
)
from sabot.link.wire import WireError
from sabot.log.newest import newest_readable
from sabot.log.store import Filter, Store

SHOWS_AT_ONCE = {game.name: game.choice("shown").default == "at_once" for game in GAMES}
"""For each game that Sabot knows, whether its cards may be shown as they are drawn."""

SECRET = (CardEvent, DecisionEvent, ResultEvent, LongPassEvent)
"""Events that give cards, totals or the winner away. An `error` may name a card too."""


class Reveal:
    """Follows the events of one unit, in order."""

    def __init__(self) -> None:
        self.hidden: tuple[int, int] | None = None
        """Numbers of the shoe of cards and of the round that must not be shown; None for none."""
        self._shows_at_once: bool | None = None  # None if the game is not known
        self._decided = self._lid_open = False
        self._errors: set[str] = set()

    def add(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, BettingOpenEvent):
            self._decided = False
            self.hidden = None if self._shows_at_once else (event.shoe, event.round)
        elif isinstance(event, ResultEvent):
            self._decided = True
        elif isinstance(event, RoundVoidEvent | ShoeEndedEvent | GhostHandEvent):
            self.hidden = None  # a ghost hand is dealt face up
        elif isinstance(event, ButtonEvent):
            # While play is stopped the button has another meaning.
            stopped = self._errors or self._lid_open
            if event.button == "reveal" and self._decided and not stopped:
                self.hidden = None
        elif isinstance(event, LidEvent):
            self._lid_open = event.open
        elif isinstance(event, ErrorEvent):
            self._errors.add(event.error)
        elif isinstance(event, ErrorClearedEvent):
            self._errors.discard(event.error)
        elif isinstance(event, BootEvent | ShoeLoadedEvent | GameLoadedEvent):
            self._shows_at_once = SHOWS_AT_ONCE.get(event.game)


def shown(event: Event, hidden: tuple[int, int] | None) -> Event | None:
    """Return an event as it may be shown while the round `hidden` must not: whole, without its
    card, or None."""
    if hidden is None or (event.shoe, event.round) != hidden:
        return event
    if isinstance(event, ErrorEvent):
        return replace(event, card=None)
    return None if isinstance(event, SECRET) else event


def all_shown(events: Sequence[Event]) -> list[Event]:
    """Return the events of a unit as they may be shown."""
    reveal = Reveal()
    for event in events:
        reveal.add(event)
    as_shown = (shown(event, reveal.hidden) for event in events)
    return [event for event in as_shown if event is not None]


def without_secret_card(event: Event, hidden: tuple[int, int] | None) -> Event:
    """Return an event for a reader who needs each and shows only errors and cards entered by hand:
    in the round `hidden` no error has a card, and no card is noted as entered."""
    if hidden is not None and (event.shoe, event.round) == hidden:
        if isinstance(event, CardEvent):
            return replace(event, by_hand=False)
        if isinstance(event, ErrorEvent):
            return replace(event, card=None)
    return event


def hidden_round(store: Store, unit: str) -> tuple[int, int] | None:
    """Return the numbers of the shoe of cards and of the round of `unit` that must not be shown.

    To show a list of events, call this after its first one was read: a round that begins later is
    not in the list.
    """
    newest = newest_readable(store, unit, store.last_number(unit))
    if newest is None:
        return None
    reveal = Reveal()
    for event in _readable(store, Filter(unit, newest.shoe, kinds=("shoe_loaded",))):
        reveal.add(event)
    for event in _readable(store, Filter(unit, newest.shoe, newest.round)):
        reveal.add(event)
    return reveal.hidden


def _readable(store: Store, wanted: Filter) -> Iterable[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
