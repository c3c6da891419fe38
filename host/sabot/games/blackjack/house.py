"""What the house chooses in blackjack, with the clause of each choice.

The document is Maryland's Standard Rules - Blackjack. Only Chapter 2, and Chapter 13 up to A(5)(a),
were available. The names and values of the choices of the deal are those of the shoe.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sabot.errors import Forbidden
from sabot.games.blackjack import paytables
from sabot.games.blackjack.clauses import cited
from sabot.games.choices import ALL, MOST_CENTS, Choice, chosen_values
from sabot.text import amount

NAME = "blackjack"
TITLE = "Blackjack"
SOURCE = "Maryland State Lottery and Gaming Control Agency, Standard Rules - Blackjack"

DEALT, NO_HOLE_CARD = HOLE_CARDS = ("dealt", "none")
STANDS, HITS = SOFT_17 = ("stands", "hits")
ACE, ACE_OR_TEN, NEVER = LOOKS = ("ace", "ace_or_ten", "never")
ANY_TWO, NINE_TO_ELEVEN, TEN_OR_ELEVEN = DOUBLE_ON = ("any_two", "9_to_11", "10_or_11")
ONE_CARD, PLAY_ON = SPLIT_ACES = ("one_card", "play_on")
RANK, VALUE = SPLIT_BY = ("rank", "value")
NONE, LATE, EARLY = SURRENDER = ("none", "late", "early")
THREE_TO_TWO, SIX_TO_FIVE = BLACKJACK_PAYS = ("3_to_2", "6_to_5")
ORIGINAL, ALL_WAGERS = TAKES = ("original", "all")
DOWN, UP = ODD_CENTS = ("down", "up")

_SILENT = "not in the document"
_PRACTICE = f"{_SILENT}: common practice"
_FLAGS = (True, False)
_CENTS = range(1, MOST_CENTS + 1)

DEAL_CHOICES = (
    Choice("decks", 6, range(1, 9), _PRACTICE, ALL),
    Choice("boxes", 7, range(1, 8), "2 A: betting positions for not more than seven players"),
    Choice("hole_card", DEALT, HOLE_CARDS, _PRACTICE),
    Choice("soft_17", STANDS, SOFT_17, _PRACTICE),
    Choice(
        "looks",
        ACE_OR_TEN,
        LOOKS,
        f"{_SILENT}, only card reader devices in the title of 2: the up cards with which the "
        "dealer looks for a blackjack",
    ),
    Choice("double_on", ANY_TWO, DOUBLE_ON, f"{_PRACTICE}: hands of two cards"),
    Choice("double_after_split", True, _FLAGS, _PRACTICE),
    Choice("hands_of_box", 4, range(2, 5), f"{_PRACTICE}: the most, after splitting", ALL),
    Choice("resplit_aces", False, _FLAGS, _PRACTICE),
    Choice("split_aces", ONE_CARD, SPLIT_ACES, _PRACTICE),
    Choice("split_by", RANK, SPLIT_BY, f"{_PRACTICE}: whether king and ten are a pair"),
    Choice("surrender", NONE, SURRENDER, _PRACTICE),
)

CASHIER_CHOICES = (
    Choice(
        "blackjack_pays",
        THREE_TO_TWO,
        BLACKJACK_PAYS,
        "2 B(3)(a) and (b): as inscribed on the layout; 13 A(2) names 3 to 2",
    ),
    Choice("insurance", True, _FLAGS, "2 B(3)(c), 13 A(3): it pays 2 to 1"),
    Choice(
        "insurance_most_percent",
        50,
        range(1, 101),
        f"{_SILENT}: of the blackjack wager; common practice is half",
        ALL,
    ),
    Choice(
        "even_money",
        True,
        _FLAGS,
        f"{_SILENT}: a blackjack against an ace may be paid 1 to 1 at once",
    ),
    Choice("double_for_less", True, _FLAGS, f"{_SILENT}: for less than the wager"),
    Choice(
        "blackjack_takes",
        ORIGINAL,
        TAKES,
        f"{_SILENT}: what a dealer's blackjack that was not looked for takes of a box that has "
        "split or doubled; 58 Pa. Code 633a.11(d) has original",
    ),
    Choice("minimum_cents", 500, _CENTS, _PRACTICE, ALL),
    Choice("maximum_cents", 500_000, _CENTS, _PRACTICE, ALL),
    Choice("side_minimum_cents", 100, _CENTS, f"{_PRACTICE}, of a side wager", ALL),
    Choice("side_maximum_cents", 10_000, _CENTS, f"{_PRACTICE}, of a side wager", ALL),
    Choice("chip_cents", 50, _CENTS, f"{_SILENT}: the smallest chip", ALL),
    Choice("odd_cents", DOWN, ODD_CENTS, f"{_SILENT}: payments that are not whole chips"),
)

CHOICES = DEAL_CHOICES + CASHIER_CHOICES + paytables.CHOICES


@dataclass(frozen=True, slots=True)
class House:
    """The choices of a house; the meaning of each is in CHOICES."""

    decks: int
    boxes: int
    hole_card: str
    soft_17: str
    looks: str
    double_on: str
    double_after_split: bool
    hands_of_box: int
    resplit_aces: bool
    split_aces: str
    split_by: str
    surrender: str
    blackjack_pays: str
    insurance: bool
    insurance_most_percent: int
    even_money: bool
    double_for_less: bool
    blackjack_takes: str
    minimum_cents: int
    maximum_cents: int
    side_minimum_cents: int
    side_maximum_cents: int
    chip_cents: int
    odd_cents: str
    side_wagers: Mapping[str, paytables.Paytable]
    """What each side wager that is offered pays, by name."""

    @property
    def blackjack_ratio(self) -> tuple[int, int]:
        """What a blackjack pays: (3, 2) for 3 to 2."""
        return (3, 2) if self.blackjack_pays == THREE_TO_TWO else (6, 5)

    def looks_at(self, up_points: int) -> bool:
        """Whether the dealer looks for a blackjack with an up card of these points, an ace is 1."""
        return (up_points == 1 and self.looks != NEVER) or (
            up_points == 10 and self.looks == ACE_OR_TEN
        )

    def in_chips(self, numerator: int, denominator: int) -> int:
        """Return a payment of numerator/denominator cents in whole chips, as the house chose."""
        chip = denominator * self.chip_cents
        chips = -(-numerator // chip) if self.odd_cents == UP else numerator // chip
        return chips * self.chip_cents


def values_of(chosen: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of all choices; those not in `chosen` have their defaults.

    Raises Forbidden, with the clause, for a choice that blackjack does not have, and a value that
    is not allowed.
    """
    return chosen_values(NAME, CHOICES, chosen, cited)


def house_of(chosen: Mapping[str, object]) -> House:
    """Return the choices of a house; those not in `chosen` have their defaults.

    Raises Forbidden as `values_of` does, and for values that contradict each other.
    """
    values = values_of(chosen)
    side_wagers = {
        name: paytable
        for name in paytables.SIDE_WAGERS
        if (paytable := paytables.paytable_of(name, values.pop(name), values["decks"])) is not None
    }
    house = House(side_wagers=side_wagers, **values)
    _check_together(house)
    return house


def _check_together(house: House) -> None:
    if house.hole_card == NO_HOLE_CARD and house.looks != NEVER:
        raise Forbidden(
            f"{NAME}: looks is {house.looks}, but the dealer has no hole card to look at; choose "
            f"looks never, or hole_card dealt ({_PRACTICE})"
        )
    for least, most in (
        (house.minimum_cents, house.maximum_cents),
        (house.side_minimum_cents, house.side_maximum_cents),
    ):
        if least > most:
            raise Forbidden(
                f"{NAME}: the minimum of {amount(least)} is above the maximum of {amount(most)}; "
                f"change one of them ({_PRACTICE})"
            )
