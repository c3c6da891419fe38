"""What each wager of a game of baccarat is worth with the cards that are left, exactly.

A round takes six cards at most. All orders of six cards by points are gone through once for a game:
which of them win, and which cards they take. With given cards left, each set of six cards is then
as likely as the number of ways in which these can come, and the expectation is one product of
matrices for all rounds of a shoe. `sabot.games.baccarat.odds` counts the same for new cards in
another way; a test compares the two.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from sabot.games.baccarat.score import score_unchecked
from sabot.games.baccarat.wagers import WAGERS, outcome_of
from sabot.integrity.dealt_shoe import RANKS, UNKNOWN, Counts, DealtShoe, Expected, Units
from sabot_firmware.table import rules
from sabot_protocol import cards
from sabot_protocol.baccarat import Game
from sabot_protocol.games import GameError

KeptGame = Callable[[bytes], bytes | None]
"""Returns the game document with a SHA-256; None if the log does not have it."""

_SIX = 6
_POINTS = 10
_OF_RANK = np.array([rules.point_of(rank) for rank in range(RANKS)])
_RANK_OF = [int(np.flatnonzero(point == _OF_RANK)[0]) for point in range(_POINTS)]
_PAIRS = ("player_pair", "banker_pair")
"""Wagers on ranks; all others depend on points alone."""
_ENDS = 400
"""Ways in which a round can end: both totals, and whether each hand has three cards."""

_SETS = list(combinations_with_replacement(range(_POINTS), _SIX))
"""Every set of six cards by points, in ascending order."""

# A set is a few cards of 0 to 4 points and the others of 5 to 9. The ways of the two parts are
# multiplied: there are 462 of each, and 5,005 sets.
_HALF = 5
_PARTS = [list(combinations_with_replacement(range(_HALF), count)) for count in range(_SIX + 1)]
"""By how many cards: the parts of sets by points, or by points less 5."""
_TAKEN = [
    np.array(
        [
            [point * _SIX + each[:place].count(point) for place, point in enumerate(each)]
            for each in parts
        ],
        dtype=np.intp,
    ).reshape(len(parts), count)
    for count, parts in enumerate(_PARTS)
]
"""For each part and each of its cards, its place in a table of how many cards are left of its
points, less those of the part that came before."""


class Expectations:
    """The expectation of each wager of a game."""

    def __init__(self, game: Game) -> None:
        self.wagers: tuple[str, ...] = tuple(game.wagers)
        kept = 1000 - game.house["vigorish_permille"]
        pays = np.zeros((len(self.wagers), _ENDS))
        for end, (player, banker) in _examples(game).items():
            scored = score_unchecked(game, player, banker)
            for place, wager in enumerate(self.wagers):
                verdict = outcome_of(wager, scored, game)
                won = verdict.pays_to_one * (kept / 1000 if WAGERS[wager].owes_vigorish else 1)
                pays[place, end] = {"win": won, "push": 0, "lose": -1}[verdict.outcome]
        self._weights = _by_parts(_ways(game) @ pays.T)
        self._pairs = {
            place: sum(WAGERS[wager].pays_to_one(game.house).values())
            for place, wager in enumerate(self.wagers)
            if wager in _PAIRS
        }

    def of(self, left: Counts) -> Units:
        """Return the expectation of each wager (columns) before each of some rounds (rows), of
        which `left` has how many cards of each of the 13 ranks are left. Fewer than six cards left
        give no number (NaN)."""
        number = left.sum(axis=1).astype(float)
        by_points = np.zeros((_POINTS, len(left)))
        np.add.at(by_points, _OF_RANK, left.T.astype(float))
        low, high = (_part_ways(half) for half in np.split(by_points, 2))
        units = np.zeros((len(self.wagers), len(left)))
        for count, weights in enumerate(self._weights):
            of_low = weights @ high[_SIX - count]  # by wager, part of low points, and round
            units += (of_low * low[count]).sum(axis=1)
        orders = np.prod([number - taken for taken in range(_SIX)], axis=0)
        orders[number < _SIX] = np.nan
        units = (units / orders).T
        twice = (left * (left - 1)).sum(axis=1) / (number * (number - 1))
        for place, to_one in self._pairs.items():
            units[:, place] = twice * to_one - (1 - twice)
        units[number < _SIX] = np.nan
        return np.asarray(units)


def _part_ways(by_points: Units) -> list[Units]:
    """In how many ways each part of a set (rows) can come before each round (columns), by how many
    cards it has; `by_points` has how many cards of each of its points are left."""
    table = np.repeat(by_points, _SIX, axis=0) - np.tile(np.arange(_SIX), _HALF)[:, None]
    return [table[taken].prod(axis=1) for taken in _TAKEN]


def _by_parts(weights: Units) -> list[Units]:
    """Return weights of sets (rows) for each wager (columns) by how many cards have low points: by
    wager, by the part of these, and by the other part."""
    found = [
        np.zeros((weights.shape[1], len(_PARTS[count]), len(_PARTS[_SIX - count])))
        for count in range(_SIX + 1)
    ]
    places = [{part: place for place, part in enumerate(parts)} for parts in _PARTS]
    for each, of_set in zip(_SETS, weights, strict=True):
        low = tuple(point for point in each if point < _HALF)
        high = tuple(point - _HALF for point in each if point >= _HALF)
        found[len(low)][:, places[len(low)][low], places[len(high)][high]] = of_set
    return found


def full_shoe(decks: int) -> Counts:
    """How many cards of each rank are in new decks."""
    return np.full(RANKS, decks * len(cards.SUITS), dtype=np.int64)


def left_before_rounds(shoe: DealtShoe) -> Counts:
    """How many cards of each rank were left before each round, as far as the table could know: a
    card that was burned face down, or not read, counts as left."""
    ranks = np.where((shoe.cards == UNKNOWN) | ~shoe.seen, RANKS, shoe.cards % RANKS)
    came = np.zeros((len(shoe.cards) + 1, RANKS), dtype=np.int64)
    for rank in range(RANKS):
        came[1:, rank] = np.cumsum(ranks == rank)
    left: Counts = full_shoe(shoe.decks) - came[shoe.rounds[:, 1]]
    return left


class ByGame:
    """Computes expectations, by the document of the game that dealt a shoe."""

    def __init__(self, kept: KeptGame) -> None:
        self._of = lru_cache(maxsize=32)(lambda sha256: _expectations(kept(sha256)))

    def __call__(self, shoe: DealtShoe) -> Expected | None:
        """Return what the wagers were worth before each round of a shoe; None if its game is not
        known, or is not one of baccarat."""
        known = self._of(shoe.document)
        if known is None:
            return None
        return Expected(known.wagers, known.of(left_before_rounds(shoe)))


def _expectations(document: bytes | None) -> Expectations | None:
    if document is None:
        return None
    try:
        return Expectations(Game(document))
    except GameError:
        return None  # of another family, or of a later version
    except (KeyError, TypeError, ValueError, IndexError):
        return None  # its house made choices that this version does not know


@lru_cache(maxsize=1)
def _ends(game: Game) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each order of six cards by points: the end of its round, and the order as a number."""
    order = np.arange(_POINTS**_SIX)
    drawn = [order // _POINTS**place % _POINTS for place in range(_SIX)]
    player, banker = (drawn[0] + drawn[2]) % 10, (drawn[1] + drawn[3]) % 10
    totals = range(10)
    natural = (player >= min(filter(rules.is_natural, totals))) | (
        banker >= min(filter(rules.is_natural, totals))
    )
    player_draws = np.array([rules.player_draws(game, total) for total in totals])
    stood = np.array([rules.banker_draws(game, total, rules.NO_CARD) for total in totals])
    after = np.array(
        [[rules.banker_draws(game, total, third) for third in _RANK_OF] for total in totals]
    )
    drew = player_draws[player] & ~natural
    banker_drew = np.where(drew, after[banker, drawn[4]], stood[banker]) & ~natural
    player = np.where(drew, (player + drawn[4]) % 10, player)
    third = np.where(drew, drawn[5], drawn[4])
    banker = np.where(banker_drew, (banker + third) % 10, banker)
    return ((player * 10 + banker) * 2 + drew) * 2 + banker_drew, order


def _ways(game: Game) -> npt.NDArray[np.float64]:
    """How many orders of each set of six cards (rows) end in each way (columns)."""
    ends, order = _ends(game)
    digits = np.sort(np.stack([order // _POINTS**place % _POINTS for place in range(_SIX)]), axis=0)
    codes = _POINTS ** np.arange(_SIX)[::-1]
    of_set = np.array([int(np.dot(codes, each)) for each in _SETS])
    sets = np.searchsorted(of_set, codes @ digits)
    ways = np.bincount(sets * _ENDS + ends, minlength=len(_SETS) * _ENDS)
    return ways.reshape(len(_SETS), _ENDS).astype(float)


def _examples(game: Game) -> dict[int, tuple[list[str], list[str]]]:
    """For each way in which a round can end, the hands of one that does, by name."""
    ends, _ = _ends(game)
    found, first = np.unique(ends, return_index=True)
    return {int(end): _hands(int(end), int(order)) for end, order in zip(found, first, strict=True)}


def _hands(end: int, order: int) -> tuple[list[str], list[str]]:
    points = [order // _POINTS**place % _POINTS for place in range(_SIX)]
    names = [cards.name_of(_RANK_OF[point]) for point in points]
    player, banker = [names[0], names[2]], [names[1], names[3]]
    if end // 2 % 2:
        player.append(names[4])
    if end % 2:
        banker.append(names[5 if end // 2 % 2 else 4])
    return player, banker
