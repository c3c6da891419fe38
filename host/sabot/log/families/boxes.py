"""Rounds of blackjack, made from events: the hands of the boxes, the dealer's hand, the results."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sabot.link.events import (
    BlackjackResultEvent,
    CardEvent,
    Event,
    HandResultEvent,
    LookedEvent,
    PlayEvent,
    SealedCardEvent,
    UnsealedEvent,
)
from sabot.log.boards import board_of, unit_of
from sabot.log.families.cards import Card
from sabot.text import utc_moment, utc_time
from sabot_protocol import cards

BOX = "box_"
_OF_DEALER = ("dealer", "hole")
_MOST = 21


@dataclass(frozen=True, slots=True)
class BoxHand:
    """A hand of a box."""

    cards: tuple[Card, ...] = ()
    """In the order in which they came to this hand."""
    doubled: bool = False
    """Whether it was doubled."""
    outcome: str | None = None
    """ "wins", "loses", "pushes", "blackjack" or "surrendered"; None without a result."""
    total: int | None = None
    """Its total by the result; None without one."""
    soft: bool = False
    """Whether an ace counts eleven in that total."""

    def as_json(self) -> dict[str, Any]:
        """The hand as `sabot rounds --json` prints it."""
        return {
            "cards": list(self.cards),
            "total": self.total,
            "soft": self.soft,
            "doubled": self.doubled,
            "outcome": self.outcome,
        }


@dataclass(frozen=True, slots=True)
class BlackjackRound:
    """One round of blackjack of one unit, dealt from one shoe of cards."""

    unit: str
    """The id of the unit, such as "SHOE-7"."""
    shoe: int
    """Number of the shoe of cards, counted by the unit from 1."""
    round: int
    """Number of the round in the shoe of cards, from 1."""
    first_event: int
    """Number of the event that opened the betting."""
    started_unix_ms: int | None
    """When the betting was opened, in milliseconds since 1970 (UTC); None without a clock."""
    last_event: int = 0
    """Number of the event that ended it; 0 while it is open."""
    ended_unix_ms: int | None = None
    """When it ended; None without a clock, and while it is open."""
    events: tuple[CardEvent | PlayEvent, ...] = ()
    """The known cards and what the hands did, in order."""
    results: tuple[HandResultEvent, ...] = ()
    """The result of each hand, in their order on the table."""
    sealed: int = 0
    """1 while the hole card lies face down; for ever, if the house chose so for a void round."""
    looked: bool | None = None
    """Whether the dealer, who looked at the hole card, had a blackjack; None if there was no
    look."""
    dealer_total: int | None = None
    """The dealer's total; None for a round without a result."""
    dealer_soft: bool = False
    """Whether an ace counts eleven in it."""
    game: bytes | None = None
    """SHA-256 of its game document; None for a round without a result."""
    void: str | None = None
    """Why it was voided; None if it was not."""
    not_understood: int | None = None
    """Number of the first of its events that this version of Sabot does not know in full: of a
    later kind, or with a field or a word that a later version has. What is shown of the round may
    lack what that event says. None if all are known."""

    @property
    def started(self) -> datetime | None:
        """When the betting was opened, in UTC; None without a clock."""
        return utc_moment(self.started_unix_ms)

    @property
    def ended(self) -> datetime | None:
        """When it ended, in UTC; None without a clock."""
        return utc_moment(self.ended_unix_ms)

    @property
    def dealer(self) -> tuple[Card, ...]:
        """The dealer's known cards, the first one face up."""
        return tuple(_card(each) for each in self.drawn if each.position in _OF_DEALER)

    @property
    def boxes(self) -> tuple[tuple[BoxHand, ...], ...]:
        """The hands of each box, from the first; several after a split. Before the results it may
        be unknown where a hand of split aces ends: its cards are in the first hands then."""
        numbers = [_box_of(each) for each in self.drawn if each.position.startswith(BOX)]
        return tuple(self._hands_of(box) for box in range(1, max(numbers, default=0) + 1))

    @property
    def drawn(self) -> tuple[CardEvent, ...]:
        """The known cards as events, in the order in which they were dealt."""
        return tuple(each for each in self.events if isinstance(each, CardEvent))

    @property
    def dealt(self) -> tuple[Card, ...]:
        """The known cards in the order in which they were dealt."""
        return tuple(map(_card, self.drawn))

    @property
    def by_hand(self) -> tuple[Card, ...]:
        """The known cards that the supervisor entered, in the order in which they were dealt."""
        return tuple(_card(each) for each in self.drawn if each.by_hand)

    def _hands_of(self, box: int) -> tuple[BoxHand, ...]:
        results = [each for each in self.results if each.box == box]
        hands: list[list[Card]] = [[]]
        doubled: set[int] = set()
        ended = 0  # so many of the first hands, by what was decided
        for event in self.events:
            if isinstance(event, CardEvent):
                if event.position == f"{BOX}{box}":
                    hands[_hand_due(hands, results, ended, doubled)].append(_card(event))
            elif event.box == box and 1 <= event.hand <= len(hands):
                ended = max(ended, event.hand - (event.action in ("doubles", "splits")))
                if event.action == "splits" and hands[event.hand - 1]:
                    hands.insert(event.hand, [hands[event.hand - 1].pop()])
                elif event.action == "doubles":
                    doubled.add(event.hand)
        found = []
        for number, hand in enumerate(hands, 1):
            result = next((each for each in results if each.hand == number), None)
            one = BoxHand(tuple(hand), number in doubled)
            if result is not None:
                one = replace(one, outcome=result.outcome, total=result.total, soft=result.soft)
            found.append(one)
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """The round as `sabot rounds --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "shoe": self.shoe,
            "round": self.round,
            "started": utc_time(self.started_unix_ms),
            "ended": utc_time(self.ended_unix_ms),
            "family": "blackjack",
            "boxes": [[hand.as_json() for hand in box] for box in self.boxes],
            "dealer": list(self.dealer),
            "dealer_total": self.dealer_total,
            "dealer_soft": self.dealer_soft,
            "looked": self.looked,
            "by_hand": list(self.by_hand),
            "sealed": self.sealed,
            "void": self.void,
            "not_understood": self.not_understood,
            "first_event": self.first_event,
            "last_event": self.last_event,
            "board_number": board_of(self.unit),
        }


def with_event(dealt: BlackjackRound, event: Event, opened: Sequence[CardEvent]) -> BlackjackRound:
    """Return the round after an event that belongs to it. `opened` are the sealed cards that it
    opens."""
    if isinstance(event, CardEvent | PlayEvent):
        return replace(dealt, events=(*dealt.events, event))
    if isinstance(event, SealedCardEvent):
        return replace(dealt, sealed=dealt.sealed + 1)
    if isinstance(event, UnsealedEvent):
        known = sorted((*dealt.events, *opened), key=lambda each: each.number)
        return replace(dealt, events=tuple(known), sealed=dealt.sealed - len(opened))
    if isinstance(event, LookedEvent):
        return replace(dealt, looked=event.blackjack)
    if isinstance(event, HandResultEvent):
        return replace(dealt, results=(*dealt.results, event))
    if isinstance(event, BlackjackResultEvent):
        of_dealer = {"dealer_total": event.dealer_total, "dealer_soft": event.soft}
        return replace(dealt, game=event.game, **of_dealer)  # type: ignore[arg-type]
    return dealt


def _hand_due(
    hands: Sequence[Sequence[Card]],
    results: Sequence[HandResultEvent],
    ended: int,
    doubled: Container[int],
) -> int:
    """Return the place of the hand that gets the next card: the first one that has not the total of
    its result yet. No card leaves a hand's total and its softness as they were. Without its result
    it is the first one that has neither 21 or more, nor its card after it was doubled, nor is among
    the first that have `ended`."""
    for place, hand in enumerate(hands):
        result = next((each for each in results if each.hand == place + 1), None)
        total = _total_of(hand)
        if result is None:
            one_more = place + 1 in doubled and len(hand) > 2
            over = place < ended or one_more or total[0] >= _MOST
        else:
            over = total == (result.total, result.soft)
        if len(hand) < 2 or not over:
            return place
    return len(hands) - 1


def _total_of(hand: Sequence[Card]) -> tuple[int, bool]:
    total = sum(1 if card.rank == "A" else 10 if card.rank in "TJQK" else int(card.rank)
                for card in hand)  # fmt: skip
    soft = total <= _MOST - 10 and any(card.rank == "A" for card in hand)
    return (total + 10 if soft else total), soft


def _box_of(event: CardEvent) -> int:
    return int(event.position.removeprefix(BOX))


def _card(event: CardEvent) -> Card:
    return Card(cards.name_of(event.card))
