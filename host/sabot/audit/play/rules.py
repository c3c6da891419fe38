"""A second implementation of the rules of baccarat, from the rule documents.

The verifier recomputes every round with these rules. They share nothing with the firmware's rules.
They follow the Maryland standard rules, Mini Baccarat; the tests check them against the table of
"mini-baccarat-pairs". The Treasures are defined by Pennsylvania's "5 Treasures Bonus".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sabot.text import counted

_POINTS = dict(zip("A23456789TJQK", (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0), strict=True))

# One row for each total of the Banker, one letter for each value of the Player's third card:
# D draws, S stands.
_BANKER_ROWS = {
    3: "DDDDDDDDSD",
    4: "SSDDDDDDSS",
    5: "SSSSDDDDSS",
    6: "SSSSSSDDSS",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a round's cards by the rules."""

    player_total: int
    banker_total: int
    winner: str
    natural: bool
    wrong: str | None
    """Why these cards are not a whole round; None if they are."""


def total(hand: Sequence[str]) -> int:
    """The total, 0-9, of cards such as "7H"."""
    return sum(_POINTS[card[0]] for card in hand) % 10


def burn_counts(card: str) -> range:
    """How many cards may be burned if `card` was the first of the shoe; for an ace the house
    chooses."""
    if card[0] == "A":
        return range(1, 12)
    count = 10 if card[0] in "TJQK" else _POINTS[card[0]]
    return range(count, count + 1)


def hits(player: Sequence[str], banker: Sequence[str]) -> frozenset[str]:
    """The hits of a whole round, as in `sabot_protocol.enums.HITS`."""
    return frozenset(_hits(player, banker))


def _hits(player: Sequence[str], banker: Sequence[str]) -> Iterator[str]:
    for name, hand in (("player", player), ("banker", banker)):
        if hand[0][0] == hand[1][0]:
            yield f"{name}_pair"
    hands = (len(player), total(player)), (len(banker), total(banker))
    if hands[1] == (3, 7) and total(player) < 7:
        yield from ("dragon_7", "fortune_7")
    if hands[0] == (3, 8) and total(banker) < 8:
        yield from ("panda_8", "golden_8")
    if (3, 9) in hands:
        yield "heavenly_9" if hands.count((3, 9)) == 1 else "heavenly_9_both"
    if hands == ((2, 7), (2, 7)):
        yield "blazing_7s_two"
    if hands == ((3, 7), (3, 7)):
        yield "blazing_7s_three"


def judge(player: Sequence[str], banker: Sequence[str]) -> Verdict:
    """Judge a round by its cards; each hand is in the order of dealing."""
    player_total, banker_total = total(player), total(banker)
    first_player, first_banker = total(player[:2]), total(banker[:2])
    if player_total == banker_total:
        winner = "tie"
    else:
        winner = "player" if player_total > banker_total else "banker"
    natural = max(first_player, first_banker) >= 8
    return Verdict(player_total, banker_total, winner, natural, _wrong(player, banker, natural))


def _wrong(player: Sequence[str], banker: Sequence[str], natural: bool) -> str | None:
    for name, hand in (("Player", player), ("Banker", banker)):
        if not 2 <= len(hand) <= 3:
            return f"{name} has {counted(len(hand), 'card')}"
    player_drew, banker_drew = len(player) == 3, len(banker) == 3
    third = "third card was not due", "third card is missing"
    player_due = not natural and total(player[:2]) <= 5
    if player_drew != player_due:
        return f"Player's {third[player_due]}"
    banker_due = not natural and _banker_draws(total(banker[:2]), player)
    if banker_drew != banker_due:
        return f"Banker's {third[banker_due]}"
    return None


def _banker_draws(banker_total: int, player: Sequence[str]) -> bool:
    if len(player) == 2:
        return banker_total <= 5
    if banker_total <= 2:
        return True
    row = _BANKER_ROWS.get(banker_total)
    return row is not None and row[_POINTS[player[2][0]]] == "D"
