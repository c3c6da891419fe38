"""The cards of a unit in the order in which they came, each as soon as it may be known.

A card that lies face down, and one that must not show yet, is not known before it is opened; the
cards after it wait for it, so that the order stays. What was never opened once the next round
begins is left out: under honest shuffling the others are as likely as before.
"""

from collections import deque
from dataclasses import dataclass

from sabot.link.events import (
    CardEvent,
    Event,
    SealedCardEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnknownEvent,
)
from sabot.link.seals import KINDS as KINDS_OF_SEALS
from sabot.link.seals import RoundSeal
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.reveal import Reveal, ShownGames
from sabot.order.chances import PACK

KINDS = (
    *{*Reveal.KINDS, *KINDS_OF_SEALS},
    "shoe_loaded", "shoe_ended", "betting_open", "card", "round_void", "button", "error",
    "error_cleared", "lock", "lid", "ghost_hand", UNKNOWN_KINDS,
)  # fmt: skip
"""The kinds of events that say which cards came, and when they may be known."""


@dataclass(slots=True)
class _Came:
    """A card that came out."""

    event: Event
    card: int | None
    """None as long as it is sealed."""


class KnownCards:
    """Takes the events of one unit, in order, of KINDS or all."""

    def __init__(self, games: ShownGames) -> None:
        self._reveal = Reveal(games)
        self._seal = RoundSeal()
        self._waiting: deque[_Came] = deque()

    def know(self, event: Event) -> None:
        """Take an event from before the first one, for what decides whether cards are shown."""
        self._reveal.add(event)

    def add(self, event: Event) -> list[tuple[Event, int]]:
        """Take the next event. Return the cards that are known now, in the order in which they
        came, each with the event by which it came."""
        self._reveal.add(event)
        opened = {each.number: each.card for each in self._seal.add(event)}
        for each in self._waiting if opened else ():
            each.card = opened.get(each.event.number, each.card)
        known = []
        if self._waiting and not isinstance(event, UnknownEvent):
            if isinstance(event, ShoeLoadedEvent | ShoeEndedEvent) or (
                event.round not in (0, self._waiting[-1].event.round)
            ):
                known = [(each.event, each.card) for each in self._waiting if each.card is not None]
                self._waiting.clear()
        if isinstance(event, CardEvent) and 0 <= event.card < PACK:
            self._waiting.append(_Came(event, event.card))
        elif isinstance(event, SealedCardEvent):
            self._waiting.append(_Came(event, None))
        return [*known, *self._shown()]

    def _shown(self) -> list[tuple[Event, int]]:
        shown = []
        while self._waiting:
            first = self._waiting[0]
            if first.card is None or self._reveal.hidden == (first.event.shoe, first.event.round):
                break
            self._waiting.popleft()
            if first.card < PACK:  # a cut card may be dealt face down
                shown.append((first.event, first.card))
        return shown
