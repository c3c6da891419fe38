"""Checks a round of baccarat by its cards: order, decisions, result.

Most rounds are right, and one look at a cached table shows it. Only a wrong one is judged in full.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sabot.audit.checks.decoding import Values
from sabot.audit.play import rules
from sabot_protocol import cards, enums

_OWN = 7
"""Index in a record's values where its own fields begin."""

_NAMES = [cards.name_of(card) for card in range(cards.CARD_COUNT)]
_POINTS = [rules.total([name]) for name in _NAMES[: cards.DECK_SIZE]] + [0, 0]
_OF_PLAYER = [word.startswith("player") for word in enums.POSITIONS]
_OF_HAND = [word.startswith(("player", "banker")) for word in enums.POSITIONS]
_NO_THIRD = -1


class BaccaratChecks:
    """The cards and decisions of one round; see `play_checks.RoundChecks`."""

    def __init__(self) -> None:
        self.begin()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaccaratChecks) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def begin(self) -> None:
        self._player: list[int] = []
        self._banker: list[int] = []
        self._positions: list[int] = []
        self._decisions: list[tuple[int, int, int]] = []

    def takes(self, position: int) -> bool:
        return _OF_HAND[position]

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        self._positions.append(position)
        if in_round:
            (self._player if _OF_PLAYER[position] else self._banker).append(card)

    def decision(self, values: Values) -> None:
        hand, action, total = values[_OWN : _OWN + 3]
        self._decisions.append((hand, action, total))

    def burn_counts(self, card: str) -> range:
        return rules.burn_counts(card)

    def wrong_with(self, result: list[Any], reported: int | None = None) -> Iterator[str]:
        *by_cards, hits = result
        player, banker = self._player, self._banker
        as_due = _due(player, banker) == (by_cards, self._positions, self._decisions)
        if as_due and not hits and not reported:
            return
        hands = [[_NAMES[card] for card in hand] for hand in (player, banker)]
        if {"CUT", "TEST"} & {*hands[0], *hands[1]}:
            return  # these cards have been reported already
        if not as_due:
            yield from self._differing(by_cards, *hands)
        yield from _wrong_hits(hits, reported, *hands)

    def _differing(self, result: list[Any], player: list[str], banker: list[str]) -> Iterator[str]:
        verdict = rules.judge(player, banker)
        if verdict.wrong is not None:
            yield verdict.wrong
        winner, player_total, banker_total, player_natural, banker_natural, margin = result
        order = [enums.POSITIONS[position] for position in self._positions]
        decisions = [_decision_text(*decision) for decision in self._decisions]
        for name, logged, right in (
            ("Player's total", player_total, verdict.player_total),
            ("Banker's total", banker_total, verdict.banker_total),
            ("winner", enums.WINNERS[winner], verdict.winner),
            ("Player's natural", player_natural, _is_natural(player)),
            ("Banker's natural", banker_natural, _is_natural(banker)),
            ("margin", margin, abs(verdict.player_total - verdict.banker_total)),
            ("order", ", ".join(order), ", ".join(_order(len(player), len(banker)))),
            ("decision", ", ".join(decisions) or "none", ", ".join(_decided(player, banker))),
        ):
            if logged != right:
                yield f"{name} is {logged} in the log, {right} by the cards"


def _due(player: list[int], banker: list[int]) -> object:
    """What the shoe must have recorded for these hands: result, positions, decisions."""
    if not 2 <= len(player) <= 3 or not 2 <= len(banker) <= 3:
        return None
    points = _POINTS
    return _due_by_points(
        (points[player[0]] + points[player[1]]) % 10,
        (points[banker[0]] + points[banker[1]]) % 10,
        points[player[2]] if len(player) == 3 else _NO_THIRD,
        points[banker[2]] if len(banker) == 3 else _NO_THIRD,
    )


@cache  # at most 12,100 entries
def _due_by_points(player: int, banker: int, player_third: int, banker_third: int) -> object:
    """As `_due`, from the totals of the first two cards and the points of the third; None if the
    cards are not a round."""
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


def _wrong_hits(
    hits: int, reported: int | None, player: list[str], banker: list[str]
) -> Iterator[str]:
    if hits >> len(enums.HITS):
        yield f"hits are {hits:#x} in the log, some of them without a name"
    if min(len(player), len(banker)) >= 2:  # fewer cards have been reported already
        by_cards = rules.hits(player, banker)
        for place, hit in enumerate(enums.HITS):
            name = hit.replace("_", " ")
            logged, due = hits >> place & 1, hit in by_cards
            if logged and not due:
                yield f"{name} in the log, not by the cards"
            elif reported is not None and due and logged != reported >> place & 1:
                missing = "not in the log" if not logged else "though no wager depends on it"
                yield f"{name} by the cards, {missing}"


def _is_natural(hand: Sequence[str]) -> bool:
    return rules.total(hand[:2]) >= 8


def _order(player_cards: int, banker_cards: int) -> list[str]:
    """The positions of a round's cards in order, for these numbers of cards in the hands."""
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
    """The decisions in a round, the Player's first."""
    for place, hand in enumerate((player, banker)):
        yield _decision_text(*_decision_of(place, hand))


def _decision_text(hand: int, action: int, total: int) -> str:
    return f"{enums.HANDS[hand]} {enums.ACTIONS[action]} on {total}"
