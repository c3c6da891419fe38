"""What must hold among the events of one unit: every round as its cards demand, every shoe of
cards as its decks allow.

Works on the values of records (values.py), in the order of their numbers; only what is wrong is
looked at twice. Rounds are folded here once more: verify shares nothing with rounds.py.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from sabot.audit import rules
from sabot.audit.decoding import Values
from sabot_protocol import cards, enums, events

Tell = Callable[[int, str, str], None]
"""Takes a finding: event number, kind, detail."""

_NUMBER, _UNIX, _SHOE, _ROUND, _OWN = 1, 4, 5, 6, 7
"""Places in a record's values; its own fields begin at the last."""

_NAMES = [cards.name_of(card) for card in range(cards.CARD_COUNT)]
_POINTS = [rules.total([name]) for name in _NAMES[: cards.DECK_SIZE]] + [0, 0]
_OF_PLAYER = [word.startswith("player") for word in enums.POSITIONS]
_OF_HAND = [word.startswith(("player", "banker")) for word in enums.POSITIONS]
_BURN_FIRST, _BURN, _NOT_DUE = map(enums.POSITIONS.index, ("burn_first", "burn", "not_due"))
_ENTERED, _DRAWN_AGAIN, _UNSEEN = map(enums.RESOLUTIONS.index, ("entered", "drawn_again", "unseen"))
_NO_FAULT = enums.FAULTS.index("none")
_UNREADABLE = enums.ERRORS.index("unreadable")

# Cards of the shoe that came out with a fault, where it is not one.
_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
_CAME_OUT_WITH = [_CAME_OUT.get(fault, 1) for fault in enums.FAULTS]
# Faults with which a card that is drawn again has not come out after all.
_STAYED_IN = [
    fault in ("double_feed", "jam", "sensor_fault", "power_lost") for fault in enums.FAULTS
]

_SHA_SHOWN = 16  # digits of a game's hash
_SHOWN = 3  # of the cards in which a composition differs
_NO_THIRD = -1

_AFTER_THE_END = ("composition", "boot", "gap")
_MAY_FOLLOW = [shape.number for shape in events.KINDS if shape.name in _AFTER_THE_END]


class Conduct:
    """Takes the events that say something of the dealing, by `handlers`, and tells findings."""

    def __init__(self, tell: Tell) -> None:
        self.rounds = 0
        """Rounds that ended, void ones too."""
        self.timeless = 0
        """Of these, those with a result and no time of day."""
        self.not_composed = False
        """Whether a shoe of cards has ended and its composition is due: see `end_of`."""
        self.handlers: list[Callable[[Values], None] | None] = [None] * 256
        """By the number of an event's kind; None for kinds that say nothing here."""
        self._tell = tell
        self._whole = False  # whether all events of this shoe of cards are there, so far as known
        self._game: bytes | None = None  # SHA-256 of the one in the shoe, so far as known
        self._open: tuple[int, int] | None = None  # shoe and number of the round that is open
        self._new_round()
        self._new_shoe(0)
        for shape, handler in (
            (events.BOOT, self._boot),
            (events.SHOE_LOADED, self._shoe_loaded),
            (events.BURN, self._burn),
            (events.BETTING_OPEN, self._betting_open),
            (events.CARD, self._card),
            (events.UNREADABLE, self._unreadable),
            (events.DECISION, self._decision),
            (events.RESULT, self._result),
            (events.ROUND_VOID, self._round_void),
            (events.CUT_CARD, self._cut_card),
            (events.SHOE_ENDED, self._shoe_ended),
            (events.GAME_LOADED, self._game_loaded),
            (events.RESOLVED, self._resolved),
            (events.COMPOSITION, self._composition),
        ):
            self.handlers[shape.number] = handler

    def not_judged(self, number: int) -> None:
        """At `number` something is not there: what it was part of cannot be judged."""
        self._whole = self.not_composed = False
        self._game = None
        self._never_ended(number)

    def end_of(self, values: Values) -> None:
        """Take the event behind a shoe of cards' end, before its handler."""
        if values[0] not in _MAY_FOLLOW:
            self._tell(values[_NUMBER], "cards", "the shoe of cards ended without its composition")
            self._whole = self.not_composed = False

    def _new_shoe(self, decks: int) -> None:
        self._decks = decks
        self._drawn = [0] * cards.CARD_COUNT
        self._unread = 0
        self._results = 0
        self._round = 0
        self._burn_counts = range(1, 2)  # of one that is burned face down
        self._burn_due: int | None = None
        self._burned = 0
        self._entered = False  # by the supervisor, and not dealt yet
        self._ended = self.not_composed = False

    def _new_round(self) -> None:
        self._player: list[int] = []
        self._banker: list[int] = []
        self._positions: list[int] = []
        self._decisions: list[tuple[int, int, int]] = []

    def _never_ended(self, number: int) -> None:
        if self._open is not None:
            shoe, round_ = self._open
            self._tell(number, "incomplete", f"round {round_} of shoe {shoe} has no result")
            self._open = None

    def _boot(self, values: Values) -> None:
        if self._ended or not self._whole:
            self._game = None  # another firmware may have come with another one

    def _game_loaded(self, values: Values) -> None:
        if self._whole and not self._ended:
            self._tell(values[_NUMBER], "game", "loaded while cards were in play")
        self._game = values[_OWN + 1]

    def _shoe_loaded(self, values: Values) -> None:
        self._never_ended(values[_NUMBER])
        self._new_round()
        self._new_shoe(values[_OWN])
        self._whole = True

    def _betting_open(self, values: Values) -> None:
        number, round_ = values[_NUMBER], values[_ROUND]
        self._never_ended(number)
        if self._whole and self._burn_due not in (None, self._burned):
            self._tell(number, "rules", f"{self._burned} cards burned, {self._burn_due} were to be")
        self._burn_due = None
        self._new_round()
        self._round += 1
        if self._whole and round_ != self._round:
            self._tell(number, "rules", f"round {round_} follows round {self._round - 1}")
        self._round = round_
        self._open = (values[_SHOE], round_)

    def _of_open_round(self, values: Values) -> bool:
        """Whether a round is open and this belongs to it; two are never mixed."""
        if self._open is None:
            return False
        if self._open != (values[_SHOE], values[_ROUND]):
            self._never_ended(values[_NUMBER])
            return False
        return True

    def _card(self, values: Values) -> None:
        card, position, *_, by_hand = values[_OWN:]
        if by_hand or position != _NOT_DUE:  # not due, it came while another one was decided about
            if by_hand != self._entered and self._whole:
                what = "entered by hand, but nobody has" if by_hand else "read, but one was entered"
                detail = f"{_NAMES[card]} is said to be {what}"
                self._tell(values[_NUMBER], "rules", detail)
            self._entered = False
        drawn = self._drawn[card] = self._drawn[card] + 1
        if drawn > self._decks or card >= cards.DECK_SIZE:
            self._too_many(values[_NUMBER], card, position)
        if _OF_HAND[position]:
            self._positions.append(position)
            if self._of_open_round(values):
                (self._player if _OF_PLAYER[position] else self._banker).append(card)
        elif position == _BURN:
            self._burned += 1
        elif position == _BURN_FIRST and card < cards.DECK_SIZE:
            self._burn_counts = rules.burn_counts(_NAMES[card])

    def _too_many(self, number: int, card: int, position: int) -> None:
        name = _NAMES[card]
        if card >= cards.DECK_SIZE:
            what = f"{name}, which is no playing card, drawn as {enums.POSITIONS[position]}"
            self._tell(number, "cards", what)
        elif self._whole:
            copies = f"copy {self._drawn[card]} of {name}"
            self._tell(number, "cards", f"{copies} in a shoe of {self._decks} decks")

    def _cut_card(self, values: Values) -> None:
        self._entered = False

    def _unreadable(self, values: Values) -> None:
        self._unread += _CAME_OUT_WITH[values[_OWN]]

    def _resolved(self, values: Values) -> None:
        error, fault, position, resolution = values[_OWN:]
        if self._whole and self._entered and error == _UNREADABLE:
            detail = "a card was entered by hand before, and it was not dealt"
            self._tell(values[_NUMBER], "rules", detail)
        if resolution == _ENTERED:
            self._entered = True
            self._unread -= fault != _NO_FAULT and _CAME_OUT_WITH[fault] > 0
        elif resolution == _DRAWN_AGAIN:
            self._unread -= _STAYED_IN[fault]
        elif resolution == _UNSEEN:
            self._burned += position == _BURN

    def _burn(self, values: Values) -> None:
        """So many are to be burned; without a first card face up it is one."""
        count = self._burn_due = values[_OWN]
        if self._whole and count not in self._burn_counts:
            self._burn_due = self._burn_counts[0]
            due = " or ".join(map(str, self._burn_counts))
            self._tell(values[_NUMBER], "rules", f"{count} cards to burn, {due} by the first card")

    def _decision(self, values: Values) -> None:
        hand, action, total = values[_OWN:]
        self._decisions.append((hand, action, total))

    def _round_void(self, values: Values) -> None:
        if self._of_open_round(values):
            self._open = None
            self.rounds += 1

    def _result(self, values: Values) -> None:
        *told, hits, game = values[_OWN:]
        if game != self._game:
            if self._game is not None:
                dealt, known = (sha.hex()[:_SHA_SHOWN] for sha in (game, self._game))
                detail = f"{dealt} was dealt, {known} is in the shoe"
                self._tell(values[_NUMBER], "game", detail)
            self._game = game
        self._results += 1
        if not self._of_open_round(values):
            return
        self._open = None
        self.rounds += 1
        self.timeless += values[_UNIX] is None
        player, banker = self._player, self._banker
        due = _due(player, banker)
        as_due = due == (told, self._positions, self._decisions)
        if as_due and not hits:
            return
        hands = [[_NAMES[card] for card in hand] for hand in (player, banker)]
        if {"CUT", "TEST"} & {*hands[0], *hands[1]}:
            return  # that has been found already
        where = f"shoe {values[_SHOE]} round {values[_ROUND]}: "
        if not as_due:
            for detail in self._wrong_with(told, *hands):
                self._tell(values[_NUMBER], "rules", where + detail)
        for detail in _wrong_hits(hits, *hands):
            self._tell(values[_NUMBER], "rules", where + detail)

    def _wrong_with(self, told: list[Any], player: list[str], banker: list[str]) -> Iterator[str]:
        verdict = rules.judge(player, banker)
        if verdict.wrong is not None:
            yield verdict.wrong
        winner, player_total, banker_total, player_natural, banker_natural, margin = told
        order = [enums.POSITIONS[position] for position in self._positions]
        decisions = [_decision_text(*decision) for decision in self._decisions]
        for name, said, right in (
            ("Player's total", player_total, verdict.player_total),
            ("Banker's total", banker_total, verdict.banker_total),
            ("winner", enums.WINNERS[winner], verdict.winner),
            ("Player's natural", player_natural, _is_natural(player)),
            ("Banker's natural", banker_natural, _is_natural(banker)),
            ("margin", margin, abs(verdict.player_total - verdict.banker_total)),
            ("order", ", ".join(order), ", ".join(_order(len(player), len(banker)))),
            ("decision", ", ".join(decisions) or "none", ", ".join(_decided(player, banker))),
        ):
            if said != right:
                yield f"{name} is {said} in the log, {right} by the cards"

    def _shoe_ended(self, values: Values) -> None:
        _, rounds, count = values[_OWN:]
        number = values[_NUMBER]
        if self._open is not None:  # a restart of firmware before 0.2 ended it so
            self._open = None
            self.rounds += 1
        drawn = sum(self._drawn) + self._unread
        if self._whole and rounds is not None and rounds != self._results:
            detail = f"shoe ended after {rounds} rounds, {self._results} are in the log"
            self._tell(number, "rules", detail)
        if self._whole and count is not None and count != drawn:
            detail = f"shoe ended after {count} cards, {drawn} are in the log"
            self._tell(number, "rules", detail)
        self._ended = True
        self.not_composed = self._whole

    def _composition(self, values: Values) -> None:
        counts, unread, expected = values[_OWN:]
        if self._whole:
            self._compared(values[_NUMBER], counts, unread, expected)
        self._whole = self.not_composed = False  # what comes out now is in no shoe of cards

    def _compared(self, number: int, counts: bytes, unread: int, expected: int) -> None:
        if not self._ended:
            self._tell(number, "cards", "the composition of a shoe of cards that has not ended")
            return
        differing = [
            f"{told} of {_NAMES[card]}, {right} in the log"
            for card, (told, right) in enumerate(
                zip(counts, self._drawn[: cards.DECK_SIZE], strict=False)
            )
            if told != right
        ]
        if len(counts) != cards.DECK_SIZE:
            differing.append(f"{len(counts)} kinds of card")
        if unread != self._unread:
            differing.append(f"{unread} unread, {self._unread} in the log")
        if expected != self._decks * cards.DECK_SIZE:
            differing.append(f"{expected} cards in {self._decks} decks")
        if differing:
            self._tell(number, "cards", f"the composition says {'; '.join(differing[:_SHOWN])}")


def _due(player: list[int], banker: list[int]) -> object:
    """What the shoe must have told of these hands: result, positions, decisions."""
    if not 2 <= len(player) <= 3 or not 2 <= len(banker) <= 3:
        return None
    points = _POINTS
    return _due_by_points(
        (points[player[0]] + points[player[1]]) % 10,
        (points[banker[0]] + points[banker[1]]) % 10,
        points[player[2]] if len(player) == 3 else _NO_THIRD,
        points[banker[2]] if len(banker) == 3 else _NO_THIRD,
    )


@cache  # of 12,100 at the most
def _due_by_points(player: int, banker: int, player_third: int, banker_third: int) -> object:
    """The same, by the totals of two cards and the points of the third; None for no round."""
    hands = [
        ["TH", _OF_POINTS[two]] + ([] if third == _NO_THIRD else [_OF_POINTS[third]])
        for two, third in ((player, player_third), (banker, banker_third))
    ]
    verdict = rules.judge(*hands)
    if verdict.wrong is not None:
        return None
    result = [
        enums.WINNERS.index(verdict.winner),
        verdict.player_total,
        verdict.banker_total,
        _is_natural(hands[0]),
        _is_natural(hands[1]),
        abs(verdict.player_total - verdict.banker_total),
    ]
    positions = [enums.POSITIONS.index(name) for name in _order(len(hands[0]), len(hands[1]))]
    return (result, positions, [_decision_of(place, hand) for place, hand in enumerate(hands)])


_OF_POINTS = ["TS", *(f"{rank}S" for rank in "A23456789")]


def _wrong_hits(hits: int, player: list[str], banker: list[str]) -> Iterator[str]:
    if hits >> len(enums.HITS):
        yield f"hits are {hits:#x} in the log, of which some have no name"
    if min(len(player), len(banker)) >= 2:  # else that has been found already
        by_cards = rules.hits(player, banker)
        for place, hit in enumerate(enums.HITS):
            if hits >> place & 1 and hit not in by_cards:
                yield f"{hit.replace('_', ' ')} in the log, not by the cards"


def _is_natural(hand: Sequence[str]) -> bool:
    return rules.total(hand[:2]) >= 8


def _order(player_cards: int, banker_cards: int) -> list[str]:
    """What the cards of a round are drawn as, by how many the hands have."""
    hands = (("player", player_cards), ("banker", banker_cards))
    return [
        f"{name}_{place}"
        for place in range(1, max(player_cards, banker_cards) + 1)
        for name, count in hands
        if place <= count
    ]


def _decision_of(place: int, hand: Sequence[str]) -> tuple[int, int, int]:
    """Hand, action and total of the decision about a hand."""
    action = "draws" if len(hand) == 3 else "natural" if _is_natural(hand) else "stands"
    return (place, enums.ACTIONS.index(action), rules.total(hand[:2]))


def _decided(player: Sequence[str], banker: Sequence[str]) -> Iterator[str]:
    """The decisions in a round, Player's first."""
    for place, hand in enumerate((player, banker)):
        yield _decision_text(*_decision_of(place, hand))


def _decision_text(hand: int, action: int, total: int) -> str:
    return f"{enums.HANDS[hand]} {enums.ACTIONS[action]} on {total}"
