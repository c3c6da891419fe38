"""Makes rounds from events: the cards dealt from "betting open" to the result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sabot.link.events import (
    DECIDED,
    BettingOpenEvent,
    BlackjackResultEvent,
    CardEvent,
    Event,
    GhostHandEvent,
    HandBegunEvent,
    HandEndedEvent,
    HandResultEvent,
    LookedEvent,
    PlayEvent,
    ResultEvent,
    RoundVoidEvent,
    RunTwiceEvent,
    SealedCardEvent,
    SealEscrowEvent,
    SealEvent,
    SeatSealEvent,
    SeatUnsealedEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnknownEvent,
    UnsealedEvent,
)
from sabot.link.seals import RoundSeal
from sabot.link.words import words_in
from sabot.log.boards import board_of, unit_of
from sabot.log.families import boxes, hands
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.cards import Card
from sabot.log.families.hands import Hand, hand_begun
from sabot.text import utc_moment, utc_time
from sabot_protocol import cards, enums, games


@dataclass(frozen=True, slots=True)
class Round:
    """One round of one unit, dealt from one shoe of cards."""

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
    """Number of the event that ended the round; 0 while it is open."""
    ended_unix_ms: int | None = None
    """When it ended; None without a clock, and while it is open."""
    player: tuple[Card, ...] = ()
    """The Player's cards, in the order in which they were dealt."""
    banker: tuple[Card, ...] = ()
    """The Banker's cards, in the order in which they were dealt."""
    by_hand: tuple[Card, ...] = ()
    """Cards of either hand that the supervisor entered, in the order in which they were dealt."""
    sealed: int = 0
    """Cards of either hand that lie face down: until they are opened, or for ever if the house
    chose so for a void round. They are not among the cards of the hands."""
    player_total: int | None = None
    """The Player's total, 0 to 9; None for a round without a result."""
    banker_total: int | None = None
    """The Banker's total, 0 to 9; None for a round without a result."""
    winner: str | None = None
    """ "player", "banker" or "tie"; None for a round without a result."""
    natural: bool = False
    """Whether one of the hands had 8 or 9 with its first two cards."""
    hits: tuple[str, ...] = ()
    """Hits that wagers of its game depend on, such as "dragon_7"."""
    void: str | None = None
    """Why the round was voided; None if it was not. "misdeal": it had a result, which does not
    count any more, so the round is without one here."""
    ghost_hand: int | None = None
    """Which ghost hand of its shoe of cards it is, from 1; None for a round with wagers."""
    not_understood: int | None = None
    """Number of the first of its events that this version of Sabot does not know in full: of a
    later kind, or with a field or a word that a later version has. What is shown of the round may
    lack what that event says. None if all are known."""

    @property
    def started(self) -> datetime | None:
        """When the betting was opened, in UTC; None if the unit had no clock, or if the time is too
        large for a calendar."""
        return utc_moment(self.started_unix_ms)

    @property
    def ended(self) -> datetime | None:
        """When the round ended, in UTC; None as for `started`."""
        return utc_moment(self.ended_unix_ms)

    def as_json(self) -> dict[str, Any]:
        """The round as `sabot rounds --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "shoe": self.shoe,
            "round": self.round,
            "started": utc_time(self.started_unix_ms),
            "ended": utc_time(self.ended_unix_ms),
            "player": list(self.player),
            "banker": list(self.banker),
            "by_hand": list(self.by_hand),
            "sealed": self.sealed,
            "player_total": self.player_total,
            "banker_total": self.banker_total,
            "winner": self.winner,
            "natural": self.natural,
            "hits": list(self.hits),
            "void": self.void,
            "ghost_hand": self.ghost_hand,
            "not_understood": self.not_understood,
            "first_event": self.first_event,
            "last_event": self.last_event,
            "board_number": board_of(self.unit),
        }


Dealt = Round | Hand | BlackjackRound
"""A round of any family of games."""


def without_cards(dealt: Dealt) -> Dealt:
    """Return a round with its result and without any card, for those who may not see rounds."""
    if isinstance(dealt, Hand):
        return replace(dealt, drawn=())
    if isinstance(dealt, BlackjackRound):
        return replace(dealt, events=(), results=())
    return replace(dealt, player=(), banker=(), by_hand=())


def as_dealt(dealt: Round) -> list[str]:
    """Return the cards of a round of baccarat as they came out: to each hand in turn, the Player
    first."""
    longest = max(len(dealt.player), len(dealt.banker))
    pairs = [(dealt.player[n : n + 1], dealt.banker[n : n + 1]) for n in range(longest)]
    return [card for pair in pairs for hand in pair for card in hand]


def not_understood_text(dealt: Dealt) -> str:
    """Return, for people, that an event of a round is not understood in full."""
    return f"event {dealt.not_understood} is unknown to this version of Sabot"


class Rounds:
    """Collects the events of one unit, in order, into rounds. `game` is the name of the game in the
    shoe before the first of them."""

    def __init__(self, unit: str, game: str = "") -> None:
        self.open: Dealt | None = None
        """The round that has begun and has neither a result nor been voided."""
        self.game: bytes | None = None
        """SHA-256 of the game document that the last event names which decided a round."""
        self._decided: Dealt | None = None  # the last round, while it may be called a misdeal
        self._ended: Dealt | None = None  # the last round, until the next one begins
        self._unit = unit
        self._in_shoe = game
        self._seal = RoundSeal()

    def add(self, event: Event) -> Dealt | None:
        """Take the next event. Return the round that it ended, if it ended one. A round that ended
        with a result ends again, without it, if it is a misdeal; and as one that is not understood,
        if the next event after it is not."""
        ended = self._take(event)
        if isinstance(event, DECIDED):
            self.game = event.game
        if not event.understood and isinstance(event, _MAKE_ROUNDS):
            return self._mark(ended, event)
        return ended

    def _take(self, event: Event) -> Dealt | None:
        open_round = self.open
        opened = self._seal.add(event)
        if isinstance(event, ShoeLoadedEvent):
            self._in_shoe = event.game
        if isinstance(event, BettingOpenEvent):
            self._decided = self._ended = None
            self.open = Round(self._unit, event.shoe, event.round, event.number, event.unix_ms)
        elif open_round is None:
            if isinstance(event, RoundVoidEvent):
                return self._misdeal(event)
        elif isinstance(event, _OF_A_ROUND) and (event.shoe, event.round) != (
            open_round.shoe,
            open_round.round,
        ):
            self.open = None  # events in between were lost: two rounds must not be mixed
        elif isinstance(event, RoundVoidEvent):
            return self._close(replace(self._without_card(open_round), void=event.reason), event)
        elif isinstance(event, ShoeEndedEvent):  # as firmware before 0.2 did after a restart
            return self._close(replace(self._without_card(open_round), void="restart"), event)
        else:
            before = self._in_family(open_round, event)
            taken = _TAKEN[type(before)]
            self.open = taken.with_event(before, event, opened)
            if isinstance(event, taken.decided_by):
                # If it is a misdeal, a round of baccarat has no result.
                self._decided = before if isinstance(before, Round) else self.open
                return self._close(self.open, event)
        return None

    def _in_family(self, open_round: Dealt, event: Event) -> Dealt:
        """Return the round as one of the family that the event is of: each begins as one of
        baccarat."""
        if isinstance(event, HandBegunEvent):
            first, started = open_round.first_event, open_round.started_unix_ms
            return hand_begun(self._unit, first, started, event)
        if isinstance(open_round, Round) and _is_of_a_box(event):
            return _of_blackjack(open_round)
        return open_round

    def _without_card(self, open_round: Dealt) -> Dealt:
        """Return the round, which is voided, as one of the family of the game in the shoe, if none
        of its events is of a family: no card has come."""
        if not isinstance(open_round, Round) or open_round.player or open_round.sealed:
            return open_round
        if self._in_shoe == games.BLACKJACK:
            return replace(_of_blackjack(open_round), not_understood=open_round.not_understood)
        if self._in_shoe == games.HOLDEM:
            return Hand(
                self._unit, open_round.shoe, open_round.round, open_round.first_event,
                open_round.started_unix_ms, 0, not_understood=open_round.not_understood,
            )  # fmt: skip
        return open_round

    def _misdeal(self, event: RoundVoidEvent) -> Dealt | None:
        decided, self._decided = self._decided, None
        if decided is None or (decided.shoe, decided.round) != (event.shoe, event.round):
            return None
        return self._close(replace(decided, void=event.reason), event)

    def _close(self, ended: Dealt, event: Event) -> Dealt:
        self.open = None
        self._ended = replace(ended, last_event=event.number, ended_unix_ms=event.unix_ms)
        return self._ended

    def _mark(self, ended: Dealt | None, event: Event) -> Dealt | None:
        """Note that `event`, which is not understood in full, belongs to the round that is open, or
        to the last one: nothing says that it does not change that. Return the round that it
        ended, or that it marked after its end."""
        if self.open is not None:
            self.open = _marked(self.open, event)
            return ended
        last = self._ended
        if last is None or (event.shoe, event.round) != (last.shoe, last.round):
            return None
        if ended is None and last.not_understood is not None:
            return None
        if self._decided is not None:
            self._decided = _marked(self._decided, event)
        self._ended = _marked(last, event)
        return self._ended


def rounds_of(unit: str, events: Iterable[Event | None]) -> Iterator[Round]:
    """Yield the rounds of baccarat that ended in `events`, as `dealt_of`."""
    return (ended for ended in dealt_of(unit, events) if isinstance(ended, Round))


def dealt_of(unit: str, events: Iterable[Event | None], game: str = "") -> Iterator[Dealt]:
    """Yield the rounds of all families that ended in `events` of one unit. None is an event that
    cannot be read: a round that it may be part of is left out. `game` as for `Rounds`."""
    rounds = Rounds(unit, game)
    last: Dealt | None = None  # may still be called a misdeal
    for event in events:
        if event is None:
            rounds.open = None
            continue
        ended = rounds.add(event)
        if last is not None and (rounds.open is not None or not _same(ended or last, last)):
            yield last
            last = None
        last = ended or last
    if last is not None:
        yield last


def _marked(dealt: Dealt, event: Event) -> Dealt:
    if dealt.not_understood is not None:
        return dealt
    return replace(dealt, not_understood=event.number)


def _same(one: Dealt, other: Dealt) -> bool:
    return one.first_event == other.first_event


def hit_names(bits: int) -> list[str]:
    """Return the names, from `enums.HITS`, of the hits whose bits are set."""
    return words_in(enums.HITS, bits)


def _is_of_a_box(event: Event) -> bool:
    return isinstance(event, CardEvent) and event.position.startswith(boxes.BOX)


def _of_blackjack(begun: Round) -> BlackjackRound:
    """Return the round of blackjack that has begun: its first card came to a box."""
    return BlackjackRound(
        begun.unit, begun.shoe, begun.round, begun.first_event, begun.started_unix_ms
    )


def _with_card(open_round: Round, event: CardEvent) -> Round:
    hand = _HAND_OF.get(event.position)
    if hand is None:
        return open_round
    card = Card(cards.name_of(event.card))
    by_hand = open_round.by_hand
    if event.by_hand:
        by_hand = (*by_hand, card)
    if hand == "player":
        return replace(open_round, player=(*open_round.player, card), by_hand=by_hand)
    return replace(open_round, banker=(*open_round.banker, card), by_hand=by_hand)


_OF_A_ROUND = (
    GhostHandEvent, CardEvent, SealEvent, SeatSealEvent, SealEscrowEvent, SealedCardEvent,
    SeatUnsealedEvent, UnsealedEvent, ResultEvent,
    RoundVoidEvent, HandBegunEvent, RunTwiceEvent, HandEndedEvent, PlayEvent, LookedEvent,
    HandResultEvent, BlackjackResultEvent,
)  # fmt: skip

_MAKE_ROUNDS = (*_OF_A_ROUND, BettingOpenEvent, ShoeEndedEvent, UnknownEvent)
"""Rounds are made from these kinds. Of the others a round may lack words and fields."""

_HAND_OF = {
    position: position.split("_")[0]
    for position in enums.POSITIONS
    if position.split("_")[0] in ("player", "banker")
}


def _with_event(dealt: Round, event: Event, opened: Sequence[CardEvent]) -> Round:
    """Return a round of baccarat with what the next event says. `opened` are the sealed cards that
    the event has made known."""
    if isinstance(event, GhostHandEvent):
        return replace(dealt, ghost_hand=event.count)
    if isinstance(event, CardEvent):
        return _with_card(dealt, event)
    if isinstance(event, SealedCardEvent):
        return replace(dealt, sealed=dealt.sealed + (event.position in _HAND_OF))
    if isinstance(event, UnsealedEvent):
        for card in opened:
            sealed = dealt.sealed - (card.position in _HAND_OF)
            dealt = _with_card(replace(dealt, sealed=sealed), card)
    if isinstance(event, ResultEvent):
        return replace(
            dealt,
            player_total=event.player_total,
            banker_total=event.banker_total,
            winner=event.winner,
            natural=event.player_natural or event.banker_natural,
            hits=tuple(hit_names(event.hits)),
        )
    return dealt


@dataclass(frozen=True, slots=True)
class _Taken:
    """How the rounds of a family take their events."""

    with_event: Callable[[Any, Event, Sequence[CardEvent]], Dealt]
    decided_by: type[Event]
    """The event with which a round ends, unless it is voided."""


_TAKEN: Mapping[type[Dealt], _Taken] = {
    Round: _Taken(_with_event, ResultEvent),
    BlackjackRound: _Taken(boxes.with_event, BlackjackResultEvent),
    Hand: _Taken(hands.with_event, HandEndedEvent),
}
