"""The odds of every wager of a game, counted exactly over all orders of six cards.

The rounds follow the shoe's own tables and rules (sabot_firmware/table/rules.py), and the wagers
are judged as in settling (`sabot.games.baccarat.wagers`): an error in either shows in the figures.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import perm
from typing import Any

from sabot.games.baccarat.score import Score, score_unchecked
from sabot.games.baccarat.wagers import WAGERS, House, outcome_of
from sabot_firmware.table import rules
from sabot_protocol import cards
from sabot_protocol.baccarat import Game

_RANKS = range(len(cards.RANKS))
_SUITS = len(cards.SUITS)
_POINT: list[int] = [rules.point_of(rank) for rank in _RANKS]
"""Points by rank 0-12. Cards 0-12 are one suit, so a rank is also a card number."""

_RANK_OF_POINT = [_POINT.index(point) for point in range(10)]
_SIX = 6
"""Cards in the longest round. After a shorter round, any cards may follow up to this number."""

Hand = tuple[int, ...]
"""Ranks 0-12, in drawing order."""


@dataclass(slots=True)
class PrizeOdds:
    """One prize of a wager: what it pays, and the number of combinations that win it."""

    pays_to_one: int
    combinations: int = 0


@dataclass(slots=True)
class WagerOdds:
    """The numbers of combinations in which a wager wins, pushes and loses."""

    prizes: dict[str, PrizeOdds]
    """By the prize's name; their combinations add up to `win`."""
    win: int = 0
    push: int = 0
    lose: int = 0
    edge: float = 0.0
    """The house edge: the expected loss for each unit wagered, vigorish included, not rounded."""


@dataclass(frozen=True, slots=True)
class Odds:
    """The odds of a game's wagers with new cards of `decks` decks."""

    decks: int
    total: int
    """All combinations: the orders in which six cards of the shoe can come."""
    wagers: dict[str, WagerOdds]

    def as_json(self) -> dict[str, Any]:
        """Return the odds as `sabot odds --json` prints them.

        A wager with several prizes has these in `pays`.
        """
        return {
            "decks": self.decks,
            "total": self.total,
            "wagers": {name: _wager_json(odds) for name, odds in self.wagers.items()},
        }


def odds(game: Game, decks: int) -> Odds:
    """Return the odds of all wagers of `game`, with new cards of `decks` decks (1 to 8)."""
    house: House = game.house
    wagers = {name: _new_odds(name, game) for name in game.wagers}
    total = perm(cards.DECK_SIZE * decks, _SIX)
    for scored, combinations in _scores(game, decks):
        for name, counted in wagers.items():
            verdict = outcome_of(name, scored, game)
            if verdict.outcome == "win":
                counted.win += combinations
                counted.prizes[verdict.prize].combinations += combinations
            elif verdict.outcome == "push":
                counted.push += combinations
            else:
                counted.lose += combinations
    for name, counted in wagers.items():
        kept_permille = 1000 - house["vigorish_permille"] * WAGERS[name].owes_vigorish
        won = sum(prize.pays_to_one * prize.combinations for prize in counted.prizes.values())
        counted.edge = (1000 * counted.lose - kept_permille * won) / (1000 * total)
    return Odds(decks, total, wagers)


def _new_odds(name: str, game: Game) -> WagerOdds:
    pays = WAGERS[name].pays_to_one(game.house)
    return WagerOdds({prize: PrizeOdds(pays_to_one) for prize, pays_to_one in pays.items()})


def _wager_json(counted: WagerOdds) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "win": counted.win,
        "push": counted.push,
        "lose": counted.lose,
        "edge": counted.edge,
    }
    if len(counted.prizes) > 1:
        shown["pays"] = {
            name: {"pays_to_one": prize.pays_to_one, "combinations": prize.combinations}
            for name, prize in counted.prizes.items()
        }
    return shown


def _scores(game: Game, decks: int) -> Iterator[tuple[Score, int]]:
    """Yield every score that makes a difference to some wager, with its combinations."""
    combinations: Counter[tuple[int, int, int, int, bool, bool]] = Counter()
    examples = {}
    for player, banker, count in _rounds(game, decks):
        kind = (
            _total(player),
            _total(banker),
            len(player),
            len(banker),
            player[0] == player[1],
            banker[0] == banker[1],
        )
        if kind not in examples:
            examples[kind] = player, banker
        combinations[kind] += count
    for kind, hands in examples.items():
        player_names, banker_names = ([cards.name_of(rank) for rank in hand] for hand in hands)
        yield score_unchecked(game, player_names, banker_names), combinations[kind]


def _rounds(game: Game, decks: int) -> Iterator[tuple[Hand, Hand, int]]:
    """Yield every round by ranks, with its combinations.

    The first two cards of a hand represent both of their orders; a third card represents all ranks
    with its points.
    """
    size = cards.DECK_SIZE * decks
    after_four, after_five = perm(size - 4, 2), size - 5
    draws = _Draws(game)
    for player, banker, count, left in _starts(decks):
        player_total, banker_total = _total(player), _total(banker)
        if rules.is_natural(player_total) or rules.is_natural(banker_total):
            yield player, banker, count * after_four
        elif not draws.player[player_total]:
            if not draws.banker_if_player_stood[banker_total]:
                yield player, banker, count * after_four
                continue
            for point, third in enumerate(_RANK_OF_POINT):
                yield player, (*banker, third), count * left[point] * after_five
        else:
            for point, third in enumerate(_RANK_OF_POINT):
                drew, ways = (*player, third), count * left[point]
                if not draws.banker[banker_total][point]:
                    yield drew, banker, ways * after_five
                    continue
                left[point] -= 1
                for other, banker_third in enumerate(_RANK_OF_POINT):
                    yield drew, (*banker, banker_third), ways * left[other]
                left[point] += 1


class _Draws:
    """The shoe's decisions by total and, for the Banker, by points of the Player's third card."""

    def __init__(self, game: Game) -> None:
        totals = range(10)
        self.player = [rules.player_draws(game, total) for total in totals]
        self.banker_if_player_stood = [
            rules.banker_draws(game, total, rules.NO_CARD) for total in totals
        ]
        self.banker = [
            [rules.banker_draws(game, total, third) for third in _RANK_OF_POINT] for total in totals
        ]


def _starts(decks: int) -> Iterator[tuple[Hand, Hand, int, list[int]]]:
    """Yield the first two cards of both hands, their combinations, and the cards left by points."""
    pairs = list(combinations_with_replacement(_RANKS, 2))
    left = [_SUITS * decks] * len(_RANKS)
    for player in pairs:
        player_count = _take(left, player)
        for banker in pairs:
            count = player_count * _take(left, banker)
            of_points = [0] * 10
            for rank in _RANKS:
                of_points[_POINT[rank]] += left[rank]
            yield player, banker, count, of_points
            _put_back(left, banker)
        _put_back(left, player)


def _take(left: list[int], two: Hand) -> int:
    """Take two cards from `left`; return in how many ways, both orders counted."""
    first, second = two
    ways = left[first]
    left[first] -= 1
    ways *= left[second]
    left[second] -= 1
    return ways if first == second else 2 * ways


def _put_back(left: list[int], two: Hand) -> None:
    for rank in two:
        left[rank] += 1


def _total(hand: Hand) -> int:
    return sum([_POINT[rank] for rank in hand]) % 10
