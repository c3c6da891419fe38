"""Shoes of cards, shuffled well or badly, honest or not; all from Python's own random numbers, and
dealt by rules that share no code with the firmware."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np

from sabot.games.baccarat import catalogue
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.expectation import ByGame
from sabot_protocol.baccarat import Game

_ORDER = ("player_1", "banker_1", "player_2", "banker_2")
# The Banker's third card, by the Banker's total: the points of the Player's third card.
_BANKER_DRAWS = {3: (0, 1, 2, 3, 4, 5, 6, 7, 9), 4: range(2, 8), 5: range(4, 8), 6: range(6, 8)}
_GAME = "ez-midi"
CUT_FROM_END = 14


Round = tuple[int, list[str]]
"""Where a round begins among the cards, and the positions of its cards."""


def new_cards(decks: int = 8) -> list[int]:
    """The cards of so many decks, by number."""
    return list(range(52)) * decks


def shuffled(random: Random, decks: int = 8) -> list[int]:
    """The cards of so many decks in a random order."""
    cards = new_cards(decks)
    random.shuffle(cards)
    return cards


def riffled(cards: Sequence[int], random: Random) -> list[int]:
    """Cards after one riffle (Gilbert, Shannon and Reeds): each card comes from one of two packets,
    the more likely the more cards are left in it."""
    cut = sum(random.random() < 0.5 for _ in cards)
    left, right = cards[:cut], cards[cut:]
    mixed: list[int] = []
    a = b = 0
    while a < len(left) or b < len(right):
        if random.random() * (len(left) - a + len(right) - b) < len(left) - a:
            mixed.append(left[a])
            a += 1
        else:
            mixed.append(right[b])
            b += 1
    return mixed


def riffled_times(cards: Sequence[int], times: int, random: Random) -> list[int]:
    """Cards after so many riffles."""
    for _ in range(times):
        cards = riffled(cards, random)
    return list(cards)


def rounds_of(cards: Sequence[int], at: int) -> Iterator[Round]:
    """Yield where each round of baccarat begins among the cards, from place `at` on, and the
    positions of its cards, while there are six cards left."""
    while at + 6 <= len(cards):
        points = [min(card % 13 + 1, 10) % 10 for card in cards[at : at + 6]]
        player, banker = (points[0] + points[2]) % 10, (points[1] + points[3]) % 10
        drawn = list(_ORDER)
        if max(player, banker) < 8:
            if player <= 5:
                drawn.append("player_3")
                draws = banker <= 2 or points[4] in _BANKER_DRAWS.get(banker, ())
            else:
                draws = banker <= 5
            if draws:
                drawn.append("banker_3")
        yield at, drawn
        at += len(drawn)


def rounds_of_shoe(cards: Sequence[int], cut_from_end: int = CUT_FROM_END) -> Iterator[Round]:
    """Yield the rounds of a whole shoe: up to the one in which the cut card came out, and one
    more."""
    for at, drawn in rounds_of(cards, burned(cards)):
        yield at, drawn
        if at >= len(cards) - cut_from_end:
            return


def burned(cards: Sequence[int]) -> int:
    """How many cards are burned: the first, and as many as its value."""
    return min(cards[0] % 13 + 1, 10) + 1


def dealt(
    cards: Sequence[int], number: int, unit: str, *, worth: bool = False, decks: int = 8
) -> DealtShoe:
    """Return a shoe of EZ Baccarat of these cards, dealt to its end. `worth`:
    with what each wager was worth before each round."""
    first = burned(cards)
    played = list(rounds_of_shoe(cards))
    begun = [at for at, _ in played]
    end = begun[-1] + len(played[-1][1])
    seen = np.ones(end, dtype=bool)
    seen[1:first] = False
    shoe = DealtShoe(
        unit=unit,
        shoe=number,
        decks=decks,
        cards=np.array(cards[:end], dtype=np.int8),
        seen=seen,
        rounds=np.array(list(enumerate(begun, 1)), dtype=np.int32).reshape(-1, 2),
        document=_game().sha256,
    )
    return replace(shoe, expected=_worth()(shoe)) if worth else shoe


@cache
def _game() -> Game:
    return Game(catalogue.document(_GAME))


@cache
def _worth() -> ByGame:
    return ByGame({_game().sha256: _game().document}.get)


_TAGS = np.array([0, 0, 0, -1, -1, -1, -1, 2, 2, 0, 0, 0, 0])
"""By rank from the ace: the tags of Jacobson's count for the Dragon 7."""
TRUE_COUNT = 4
"""At which this count wagers."""


def counted_rounds(shoe: DealtShoe) -> list[int]:
    """Return the places of the rounds in which a person with that count wagers on the Dragon 7: the
    running count of the cards that lay face up, for each deck that is left, is at least 4."""
    tags = np.where(shoe.seen, _TAGS[shoe.cards % 13], 0)
    running = np.concatenate(([0], np.cumsum(tags)))
    at = shoe.rounds[:, 1]
    decks_left = (shoe.size - at) / 52
    return np.flatnonzero(running[at] / decks_left >= TRUE_COUNT).tolist()
