"""Checks a round of blackjack by its cards and decisions: order, totals, what a hand did, the look
at the hole card, the dealer's draws, the results.

The rules are written from protocol/README.md, "The game document of blackjack"; no code is shared
with the firmware or with `sabot.games.blackjack`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sabot.audit.checks.decoding import Values
from sabot.text import counted
from sabot_protocol import cards, enums, events
from sabot_protocol.blackjack import BlackjackGame

_OWN = 7
"""Index in a record's values where its own fields begin."""
_POSITIONS = list(enums.POSITIONS)
_BOXES = [word for word in _POSITIONS if word.startswith("box_")]
_OF_ROUND = [word in (*_BOXES, "dealer", "hole") for word in _POSITIONS]
_ACTIONS = list(enums.PLAY_ACTIONS)
_OUTCOMES = list(enums.OUTCOMES)
_MOST = 21
_STANDS = 17


@dataclass(slots=True)
class _Hand:
    """A hand of a box."""

    cards: list[str]
    split: bool = False
    doubled: bool = False
    surrendered: bool = False

    @property
    def total(self) -> tuple[int, bool]:
        """Its total, and whether an ace counts eleven in it."""
        return total_of(self.cards)

    @property
    def natural(self) -> bool:
        """Whether it is a blackjack."""
        return len(self.cards) == 2 and self.total[0] == _MOST and not self.split

    @property
    def needs_dealer(self) -> bool:
        """Whether its result depends on the dealer's total."""
        return not (self.surrendered or self.natural or self.total[0] > _MOST)


@dataclass(slots=True)
class _Round:
    """What the log has of a round, in order."""

    entries: list[list[Any]] = field(default_factory=list)
    """["card", position, name or None while it is sealed], ["play", box, hand, action, total,
    soft], ["looked", blackjack]."""
    results: list[list[Any]] = field(default_factory=list)
    """The own fields of each `hand_result`."""


class BlackjackChecks:
    """The cards and events of one round; see `round_checks.RoundChecks`."""

    def __init__(self) -> None:
        self.begin()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlackjackChecks) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def begin(self) -> None:
        """Begin a new round."""
        self._round = _Round()

    def takes(self, position: int) -> bool:
        """Whether a card at this position belongs to a round of blackjack."""
        return _OF_ROUND[position]

    def sealed(self, position: int) -> None:
        """A card came out face down."""
        self._round.entries.append(["card", _POSITIONS[position], None])

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        """Take a card face up, or one that was opened: it came out earlier."""
        if not in_round:
            return
        name, place = cards.name_of(card), _POSITIONS[position]
        for entry in self._round.entries:
            if entry == ["card", place, None]:
                entry[2] = name
                return
        self._round.entries.append(["card", place, name])

    def decision(self, values: Values) -> None:
        """Take the values of an event `play`, `looked` or `hand_result`."""
        kind, own = values[0], values[_OWN:]
        if kind == events.HAND_RESULT.number:
            self._round.results.append(own)
        elif kind == events.PLAY.number:
            box, hand, action, total, soft = own
            entry = ["play", box, hand, _ACTIONS[action], total, soft]
            self._round.entries.append(entry)
        else:
            self._round.entries.append(["looked", own[0]])

    def wrong_with(self, result: list[Any], game: BlackjackGame) -> Iterator[str]:
        """Yield what is wrong with the round. `result` are the fields of `blackjack_result` without
        the game's SHA-256."""
        try:
            due = _Replay(self._round.entries, game).due()
        except _Wrong as wrong:
            yield str(wrong)
            return
        for place, each in enumerate(due.results):
            logged = self._round.results[place] if place < len(self._round.results) else None
            if logged not in (each, due.before_0_3.get(place, each)):
                yield f"{_result_text(logged)} in the log, {_result_text(each)} by the cards"
        for logged in self._round.results[len(due.results) :]:
            yield f"{_result_text(logged)} in the log, but there is no such hand"
        if result != due.dealer:
            text = [
                f"{total}{' soft' * soft} with {counted(count, 'card')}"
                for total, soft, count in (result, due.dealer)
            ]
            yield f"the dealer's hand is {text[0]} in the log, {text[1]} by the cards"


@dataclass(frozen=True, slots=True)
class _Due:
    """What the log must have of a round."""

    results: list[list[Any]]
    dealer: list[Any]
    before_0_3: dict[int, list[Any]]
    """By its place, the result of a late surrender against a blackjack as firmware before 0.3
    recorded it, "surrendered". What is paid follows from the rules, and is the same."""


class _Wrong(Exception):
    """The round is not one by the rules; what came after is not judged."""


class _Replay:
    """Goes through the entries of a round and deals it again."""

    def __init__(self, entries: list[list[Any]], game: BlackjackGame) -> None:
        self._left = list(entries)
        self._game = game
        self._boxes: list[list[_Hand]] = []
        self._dealer: list[str] = []

    def due(self) -> _Due:
        """Return what follows from the entries. Raises _Wrong."""
        self._first_cards()
        if not self._insurance():
            for box in range(len(self._boxes)):
                place = 0
                while place < len(self._boxes[box]):
                    self._play(box, place)
                    place += 1
            self._play_dealer()
        if self._left:
            raise _Wrong(f"{_entry_text(self._left[0])} is not due")
        total, soft = total_of(self._dealer)
        results = [
            [box + 1, place + 1, _OUTCOMES.index(self._outcome(hand)), *hand.total]
            for box, hands in enumerate(self._boxes)
            for place, hand in enumerate(hands)
        ]
        every = [hand for hands in self._boxes for hand in hands]
        before_0_3 = {
            place: [*each[:2], _OUTCOMES.index("surrendered"), *each[3:]]
            for place, (each, hand) in enumerate(zip(results, every, strict=True))
            if hand.surrendered
        }
        return _Due(results, [total, soft, len(self._dealer)], before_0_3)

    @property
    def _has_hole(self) -> bool:
        return any(entry[:2] == ["card", "hole"] for entry in self._left)

    def _card(self, position: str) -> str:
        if not self._left or self._left[0][:2] != ["card", position]:
            found = _entry_text(self._left[0]) if self._left else "the result"
            raise _Wrong(f"{found} comes, a card to {position.replace('_', ' ')} is due")
        name = self._left.pop(0)[2]
        if name is None:
            raise _Wrong("the hole card is sealed, and the round has its result")
        if name in ("CUT", "TEST"):
            raise _Wrong(f"{name} is not a playing card")
        return str(name)

    def _first_cards(self) -> None:
        places = [entry[1] for entry in self._left if entry[0] == "card"]
        count = places.index("dealer") if "dealer" in places else 0
        if not 1 <= count <= len(_BOXES):
            raise _Wrong("no box has got a card before the dealer")
        if count > self._game.boxes:
            raise _Wrong(f"{count} boxes are dealt in, the game has {self._game.boxes}")
        has_hole = self._has_hole
        if has_hole != (self._game.hole_card == "dealt"):
            raise _Wrong("a hole card" if has_hole else "no hole card, and the game deals one")
        self._boxes = [[_Hand([self._card(_BOXES[box])])] for box in range(count)]
        self._dealer = [self._card("dealer")]
        for box in range(count):
            self._boxes[box][0].cards.append(self._card(_BOXES[box]))
        if has_hole:
            self._dealer.append(self._card("hole"))

    def _insurance(self) -> bool:
        """Take early surrenders and the look; return whether the dealer was found to have a
        blackjack."""
        up = _points(self._dealer[0])
        stops = up == 1 or (up == 10 and self._game.looks == "ace_or_ten")
        looked = [place for place, entry in enumerate(self._left) if entry[0] == "looked"]
        until = looked[0] if looked else 0
        early = self._game.surrender == "early"
        if not looked and stops and early:
            # Without a look the early surrenders are those before the first box plays.
            while until < len(self._left) and self._left[until][3:4] == ["surrenders"]:
                until += 1
        for _ in range(until):
            entry = self._left.pop(0)
            box = entry[1] if entry[0] == "play" else 0
            hand = self._boxes[box - 1][0] if 1 <= box <= len(self._boxes) else None
            if entry[0] != "play" or entry[3] != "surrenders" or hand is None or not early:
                raise _Wrong(f"{_entry_text(entry)} comes before the dealer has looked")
            self._check_play(entry, box - 1, 0, hand)
            if hand.surrendered or hand.natural:
                raise _Wrong(f"{_entry_text(entry)}, which it cannot")
            hand.surrendered = True
        blackjack = len(self._dealer) == 2 and total_of(self._dealer)[0] == _MOST
        due = stops and len(self._dealer) == 2 and self._game.looks != "never"
        if due != bool(looked):
            raise _Wrong("the dealer has not looked" if due else "the dealer has looked")
        if not looked:
            return False
        said = self._left.pop(0)[1]
        if said != blackjack:
            words = {True: "dealer blackjack", False: "no blackjack"}
            raise _Wrong(f"{words[said]} in the log, {words[blackjack]} by the cards")
        return blackjack

    def _play(self, box: int, place: int) -> None:
        hands, position = self._boxes[box], _BOXES[box]
        hand = hands[place]
        while not (hand.surrendered or hand.doubled):
            if len(hand.cards) == 1:
                hand.cards.append(self._card(position))
            if hand.total[0] >= _MOST:
                return
            one_card = self._one_card_only(hand)
            if one_card and not self._may_split(hand, hands):
                return
            if self._left and self._left[0][:2] == ["card", position] and not one_card:
                hand.cards.append(self._card(position))
                continue
            if not self._left or self._left[0][0] != "play":
                found = _entry_text(self._left[0]) if self._left else "the result"
                raise _Wrong(f"{found} comes, box {box + 1} hand {place + 1} must decide")
            entry = self._left.pop(0)
            self._check_play(entry, box, place, hand)
            action = entry[3]
            if action == "stands":
                return
            allowed = {
                "doubles": self._may_double(hand) and not one_card,
                "splits": self._may_split(hand, hands),
                "surrenders": self._may_surrender(hand),
            }
            if not allowed[action]:
                raise _Wrong(f"{_entry_text(entry)}, which the game does not allow")
            if action == "surrenders":
                hand.surrendered = True
            elif action == "doubles":
                hand.doubled = True
                hand.cards.append(self._card(position))
            else:
                hand.split = True
                hands.insert(place + 1, _Hand([hand.cards.pop()], split=True))

    def _check_play(self, entry: list[Any], box: int, place: int, hand: _Hand) -> None:
        _, of_box, number, _, total, soft = entry
        if (of_box, number) != (box + 1, place + 1):
            raise _Wrong(f"{_entry_text(entry)}, box {box + 1} hand {place + 1} is due")
        if (total, soft) != hand.total:
            right, is_soft = hand.total
            raise _Wrong(f"{_entry_text(entry)}, its total is {right}{' soft' * is_soft}")

    def _one_card_only(self, hand: _Hand) -> bool:
        aces = hand.split and hand.cards[0][0] == "A"
        return aces and self._game.split_aces == "one_card"

    def _may_double(self, hand: _Hand) -> bool:
        if len(hand.cards) != 2:
            return False
        lowest = {"any_two": 0, "9_to_11": 9, "10_or_11": 10}[self._game.double_on]
        total, soft = hand.total
        in_range = lowest == 0 or (lowest <= total <= 11 and not soft)
        return in_range and (self._game.double_after_split or not hand.split)

    def _may_split(self, hand: _Hand, hands: list[_Hand]) -> bool:
        if len(hand.cards) != 2:
            return False
        one, two = hand.cards
        if _points(one) != _points(two):
            return False
        if self._game.split_by == "rank" and one[0] != two[0]:
            return False
        again = not hand.split or one[0] != "A" or self._game.resplit_aces
        return again and len(hands) < self._game.hands_of_box

    def _may_surrender(self, hand: _Hand) -> bool:
        first = len(hand.cards) == 2 and not hand.split
        return first and self._game.surrender != "none"

    def _play_dealer(self) -> None:
        hands = [hand for box in self._boxes for hand in box]
        needed = any(hand.needs_dealer for hand in hands)
        while self._dealer_draws(hands, needed=needed):
            self._dealer.append(self._card("dealer"))

    def _dealer_draws(self, hands: list[_Hand], *, needed: bool) -> bool:
        total, soft = total_of(self._dealer)
        if needed:
            return total < _STANDS or (total == _STANDS and soft and self._game.soft_17 == "hits")
        if len(self._dealer) > 1:
            return False
        up = _points(self._dealer[0])
        late = self._game.surrender == "late"
        depends = [hand.natural or (late and hand.surrendered) for hand in hands]
        return up == 1 or (up == 10 and any(depends))

    def _outcome(self, hand: _Hand) -> str:
        (total, _), (dealer, _) = hand.total, total_of(self._dealer)
        blackjack = len(self._dealer) == 2 and dealer == _MOST
        if hand.surrendered:
            return "loses" if blackjack and self._game.surrender == "late" else "surrendered"
        if hand.natural:
            return "pushes" if blackjack else "blackjack"
        if blackjack or total > _MOST:
            return "loses"
        if dealer > _MOST or total > dealer:
            return "wins"
        return "pushes" if total == dealer else "loses"


def total_of(hand: list[str]) -> tuple[int, bool]:
    """Return the total of cards by their names, and whether an ace counts eleven in it."""
    total = sum(_points(card) for card in hand)
    soft = total <= _MOST - 10 and any(card[0] == "A" for card in hand)
    return (total + 10 if soft else total), soft


def _points(card: str) -> int:
    return {"A": 1, "T": 10, "J": 10, "Q": 10, "K": 10}.get(card[0]) or int(card[0])


def _entry_text(entry: list[Any]) -> str:
    if entry[0] == "card":
        return f"{entry[2] or 'a sealed card'} to {entry[1].replace('_', ' ')}"
    if entry[0] == "looked":
        return "the look at the hole card"
    _, box, hand, action, total, soft = entry
    return f"box {box} hand {hand} {action} on {total}{' soft' * soft}"


def _result_text(result: list[Any] | None) -> str:
    if result is None:
        return "no result of a hand"
    box, hand, outcome, total, soft = result
    return f"box {box} hand {hand} {_OUTCOMES[outcome]} with {total}{' soft' * soft}"
