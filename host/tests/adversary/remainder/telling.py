"""A log with a shoe of cards in play, and what finds in a text what is left in that shoe.

The finder knows no output: it looks for the numbers themselves. A count by card, rank or value, of
what came or of what is left, is a row of numbers in an order that people or programs use; enough of
them one after the other are no coincidence. It reads text, JSON and HTML.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from host.tests.support.helpers import FirmwareLog, shuffled_names
from sabot_firmware.table.shoe_of_cards import BETWEEN
from sabot_protocol import events

UNIT, TABLE = "SHOE-7", "T 12"
DECKS = 8
IN_PLAY = 2
"""The number of the shoe of cards in play. That before it has ended."""
_RANKS, _SUITS = "A23456789TJQK", "SHDC"
_IN_A_ROW = 8
"""So many numbers of a count one after the other."""
_ROUNDS = 43


@cache
def log() -> FirmwareLog:
    """A unit at a table, with one shoe of cards that has ended and one in play."""
    made = FirmwareLog()
    made.record(events.PROVISIONED, 0, 0, (TABLE, 0))
    made.deal_shoe(shuffled_names(11))
    deal_some(made, 12)
    return made


def deal_some(made: FirmwareLog, seed: int) -> None:
    """Load a shoe of cards and deal a part of it, up to the end of a round."""
    made.load()
    for name in shuffled_names(seed):
        if made.dealing.phase == BETWEEN and made.dealing.round == _ROUNDS:
            break
        while made.betting_due():
            made.draw("next")
            if made.dealing.current_round.card_first:
                break
        made.draw(name)


def what_it_tells(text: str, drawn: Counter[str]) -> str:
    """What a text tells of what is left when these cards have come; empty if nothing."""
    plain = re.sub(r"<[^>]*>", " ", text)
    numbers = [int(each) for each in re.findall(r"(?<![\w.#-])(?<!\d:)\d+(?![\w.-]|:\d)", plain)]
    for what, counts in _counts(drawn):
        windows = {tuple(counts[at : at + _IN_A_ROW]) for at in range(len(counts) - _IN_A_ROW + 1)}
        for at in range(len(numbers) - _IN_A_ROW + 1):
            if tuple(numbers[at : at + _IN_A_ROW]) in windows:
                return what
    out = drawn.total()
    left = DECKS * 52 - out
    fields = r"(?:cards_|decks_)?(?:left|remaining)|depth|(?:true|running)_count"
    found = re.search(rf"(?<![\w.]){left} cards?\b|\"(?:{fields})\"", plain)
    return found[0] if found else ""


def _counts(drawn: Counter[str]) -> Iterator[tuple[str, list[int]]]:
    """Every count that could help: what came and what is left, by card, rank and value."""
    by_suit = [rank + suit for suit in _SUITS for rank in _RANKS]
    orders = {
        "by suit": by_suit,
        "by rank and suit": [rank + suit for rank in _RANKS for suit in _SUITS],
        "by the cards' numbers": [rank + suit for suit in "CDHS" for rank in _RANKS],
        "by name": sorted(by_suit),
    }
    left = Counter({card: DECKS - drawn[card] for card in by_suit})
    for which, counted in (("what came", drawn), ("what is left", left)):
        for how, order in orders.items():
            yield f"{which}, {how}", [counted[card] for card in order]
        ranks = [sum(counted[rank + suit] for suit in _SUITS) for rank in _RANKS]
        yield f"{which}, by rank", ranks
        yield (
            f"{which}, by name of the rank",
            [n for _, n in sorted(zip(_RANKS, ranks, strict=True))],
        )
        yield f"{which}, by value", [*ranks[:9], sum(ranks[9:])]
