"""Hands of hold'em, made from events: cards of the seats, burned cards, board."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sabot.link.events import (
    CardEvent,
    Event,
    HandBegunEvent,
    HandEndedEvent,
    RunTwiceEvent,
    SealedCardEvent,
    SeatUnsealedEvent,
    UnsealedEvent,
)
from sabot.log.boards import board_of, unit_of
from sabot.log.families.cards import Card
from sabot.text import utc_moment, utc_time
from sabot_protocol import cards

_SEAT, _BURN = "seat_", "board_burn"
_BOARD = ("flop", "turn", "river")
_OF_BOARD = 5
_COMMON = {"turn": 3, "river": 4}
"""How many cards both boards have, by the first street that is dealt twice."""


@dataclass(frozen=True, slots=True)
class Hand:
    """One hand of hold'em of one unit, dealt from one shoe of cards."""

    unit: str
    """The id of the unit, such as "SHOE-7"."""
    shoe: int
    """Number of the shoe of cards, counted by the unit from 1."""
    round: int
    """Number of the hand in the shoe of cards: 1."""
    first_event: int
    """Number of the event that began it."""
    started_unix_ms: int | None
    """When it began, in milliseconds since 1970 (UTC); None without a clock."""
    seats: int
    """How many players got cards."""
    last_event: int = 0
    """Number of the event that ended it; 0 while it is open."""
    ended_unix_ms: int | None = None
    """When it ended; None without a clock, and while it is open."""
    drawn: tuple[CardEvent, ...] = ()
    """The known cards, in the order in which they were dealt."""
    sealed: int = 0
    """Cards that lie face down: they are known once the hand has ended; never, if the house chose
    so for all hands, for those of seats that showed no cards, or for a void hand."""
    run_twice: str | None = None
    """The first street that was dealt twice, "turn" or "river"; None if the hand was run once."""
    game: bytes | None = None
    """SHA-256 of its game document; None for a hand that did not end."""
    void: str | None = None
    """Why it was voided; None if it was not."""
    not_understood: int | None = None
    """Number of the first of its events that this version of Sabot does not know in full: of a
    later kind, or with a field or a word that a later version has. What is shown of the hand may
    lack what that event says. None if all are known."""

    @property
    def started(self) -> datetime | None:
        """When it began, in UTC; None without a clock."""
        return utc_moment(self.started_unix_ms)

    @property
    def ended(self) -> datetime | None:
        """When it ended, in UTC; None without a clock."""
        return utc_moment(self.ended_unix_ms)

    @property
    def hands(self) -> tuple[tuple[Card, ...], ...]:
        """The cards of each seat, from the first; empty ones while they are not known."""
        return tuple(self._at(f"{_SEAT}{seat}") for seat in range(1, self.seats + 1))

    @property
    def burned(self) -> tuple[Card, ...]:
        """The known cards that were burned before the board."""
        return self._at(_BURN)

    @property
    def board(self) -> tuple[Card, ...]:
        """The first or only board."""
        return self._at(*_BOARD)[:_OF_BOARD]

    @property
    def second(self) -> tuple[Card, ...]:
        """The second board, with the cards that both have; empty if the hand was run once."""
        if self.run_twice is None:
            return ()
        board = self._at(*_BOARD)
        return board[: _COMMON[self.run_twice]] + board[_OF_BOARD:]

    @property
    def dealt(self) -> tuple[Card, ...]:
        """The known cards in the order in which they were dealt."""
        return tuple(map(_card, self.drawn))

    @property
    def by_hand(self) -> tuple[Card, ...]:
        """The known cards that the supervisor entered, in the order in which they were dealt."""
        return tuple(_card(each) for each in self.drawn if each.by_hand)

    def _at(self, *positions: str) -> tuple[Card, ...]:
        return tuple(_card(each) for each in self.drawn if each.position in positions)

    def as_json(self) -> dict[str, Any]:
        """The hand as `sabot rounds --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "shoe": self.shoe,
            "round": self.round,
            "started": utc_time(self.started_unix_ms),
            "ended": utc_time(self.ended_unix_ms),
            "family": "holdem",
            "seats": self.seats,
            "hands": [list(hand) for hand in self.hands],
            "board": list(self.board),
            "second_board": list(self.second),
            "run_twice": self.run_twice,
            "burned": list(self.burned),
            "by_hand": list(self.by_hand),
            "sealed": self.sealed,
            "void": self.void,
            "not_understood": self.not_understood,
            "first_event": self.first_event,
            "last_event": self.last_event,
            "board_number": board_of(self.unit),
        }


def hand_begun(
    unit: str, first_event: int, started_unix_ms: int | None, event: HandBegunEvent
) -> Hand:
    """Return the hand that began with event `first_event`."""
    return Hand(unit, event.shoe, event.round, first_event, started_unix_ms, event.seats)


def with_event(hand: Hand, event: Event, opened: Sequence[CardEvent]) -> Hand:
    """Return the hand after an event that belongs to it. `opened` are the sealed cards that it
    opens."""
    if isinstance(event, CardEvent):
        return replace(hand, drawn=(*hand.drawn, event))
    if isinstance(event, SealedCardEvent):
        return replace(hand, sealed=hand.sealed + 1)
    if isinstance(event, SeatUnsealedEvent | UnsealedEvent):
        drawn = sorted((*hand.drawn, *opened), key=lambda each: each.number)
        return replace(hand, drawn=tuple(drawn), sealed=hand.sealed - len(opened))
    if isinstance(event, RunTwiceEvent) and event.street in _COMMON:
        return replace(hand, run_twice=event.street)
    if isinstance(event, HandEndedEvent):
        return replace(hand, game=event.game)
    return hand


def _card(event: CardEvent) -> Card:
    return Card(cards.name_of(event.card))
