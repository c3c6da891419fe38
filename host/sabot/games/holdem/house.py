"""What the house chooses in Texas hold'em, with the clause of each choice.

The document is Maryland's Standard Rules - Poker. Only Chapter 8, on bets, was available.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sabot.errors import Forbidden
from sabot.games.choices import ALL, MOST_CENTS, OVER, Choice, chosen_values
from sabot.text import amount

NAME = "holdem"
TITLE = "Texas hold'em"
SOURCE = "Maryland State Lottery and Gaming Control Agency, Standard Rules - Poker"

NO_LIMIT, POT_LIMIT, FIXED_LIMIT = LIMITS = ("no_limit", "pot_limit", "fixed_limit")
FULL_RAISE, HALF_RAISE = REOPENED_BY = ("full_raise", "half_raise")
IN_TURN, ALL_TO_FIRST, HIGHEST_CARD = ODD_CHIPS = ("in_turn", "all_to_first", "highest_card")
FIRST, SECOND = HALVES = ("first", "second")

_SILENT = "not in the document"
_PRACTICE = f"{_SILENT}: common practice"
_CENTS = range(1, MOST_CENTS + 1)
_CENTS_OR_NONE = range(MOST_CENTS + 1)
_FLAGS = (True, False)

CHOICES = (
    Choice("limit", NO_LIMIT, LIMITS, "J: the sign has the minimum and maximum bets"),
    Choice("minimum_bet_cents", 200, _CENTS, "J: the posted minimum bet", ALL),
    Choice(
        "maximum_bet_cents",
        0,
        _CENTS_OR_NONE,
        "J: the posted maximum of a bet and of a raise, 0 for none; in fixed_limit the bet on turn "
        "and river, 0 for twice the minimum",
        ALL,
    ),
    Choice("small_blind_cents", 100, _CENTS_OR_NONE, f"B(4), amount {_PRACTICE}", ALL),
    Choice("big_blind_cents", 200, _CENTS, f"B(4), amount {_PRACTICE}", ALL),
    Choice("ante_cents", 0, _CENTS_OR_NONE, f"B(4), amount {_PRACTICE}", ALL),
    Choice(
        "raises_most",
        0,
        range(100),
        "J and K(1): raises in a betting round, 0 for any number",
        OVER,
    ),
    Choice("check_and_raise", True, _FLAGS, "J(2): unless posted to the contrary"),
    Choice(
        "minimum_increase_most_cents",
        0,
        _CENTS_OR_NONE,
        "K(2): the most by which players may agree to increase the minimum, 0 for any amount",
        ALL,
    ),
    Choice("run_it_twice", True, _FLAGS, "L: if specified in the Rules Submission"),
    Choice("tournament", False, _FLAGS, "L(2)(a): a tournament table"),
    Choice(
        "reopened_by",
        FULL_RAISE,
        REOPENED_BY,
        f"{_SILENT}: what must be faced to raise again after having acted",
    ),
    Choice("chip_cents", 100, _CENTS, f"{_SILENT}: the smallest chip", ALL),
    Choice("odd_chips", IN_TURN, ODD_CHIPS, f"{_SILENT}: who gets chips that cannot be divided"),
    Choice("odd_half", FIRST, HALVES, f"{_SILENT}: the board whose half has the odd chip"),
    Choice("rake_permille", 0, range(101), f"{_SILENT}: of each pot", ALL),
    Choice("rake_most_cents", 0, _CENTS_OR_NONE, f"{_SILENT}: of a hand, 0 for no limit", ALL),
    Choice("rake_without_flop", False, _FLAGS, _PRACTICE),
)


@dataclass(frozen=True, slots=True)
class House:
    """The choices of a house; the meaning of each is in CHOICES."""

    limit: str
    minimum_bet_cents: int
    maximum_bet_cents: int
    small_blind_cents: int
    big_blind_cents: int
    ante_cents: int
    raises_most: int
    check_and_raise: bool
    minimum_increase_most_cents: int
    run_it_twice: bool
    tournament: bool
    reopened_by: str
    chip_cents: int
    odd_chips: str
    odd_half: str
    rake_permille: int
    rake_most_cents: int
    rake_without_flop: bool


def house_of(chosen: Mapping[str, object]) -> House:
    """Return the choices of a house; those not in `chosen` have their defaults.

    Raises Forbidden, with the clause, for a choice that hold'em does not have, a value that is not
    allowed, and values that contradict each other.
    """
    house = House(**chosen_values(NAME, CHOICES, chosen))
    _check_together(house)
    return house


def _check_together(house: House) -> None:
    for name in (
        "minimum_bet_cents", "maximum_bet_cents", "small_blind_cents", "big_blind_cents",
        "ante_cents", "minimum_increase_most_cents", "rake_most_cents",
    ):  # fmt: skip
        cents = getattr(house, name)
        if cents % house.chip_cents:
            raise Forbidden(
                f"{NAME}: {name} {cents} cannot be paid with chips of {house.chip_cents} cents; "
                f"change it or chip_cents ({_PRACTICE})"
            )
    if house.small_blind_cents > house.big_blind_cents:
        raise Forbidden(
            f"{NAME}: the small blind of {amount(house.small_blind_cents)} is above the big blind "
            f"of {amount(house.big_blind_cents)}; change one of them ({_PRACTICE})"
        )
    if 0 < house.maximum_bet_cents < house.minimum_bet_cents:
        raise Forbidden(
            f"{NAME}: the maximum bet of {amount(house.maximum_bet_cents)} is below the minimum of "
            f"{amount(house.minimum_bet_cents)}; change one of them (J)"
        )
    if house.tournament and house.rake_permille:
        raise Forbidden(
            f"{NAME}: tournament chips cannot be raked; set rake_permille to 0 ({_PRACTICE})"
        )
