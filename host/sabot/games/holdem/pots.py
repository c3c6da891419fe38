"""The main pot and the side pots, and the rake: Chapter 8 B(5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sabot.games.holdem.house import ALL_TO_FIRST, FIRST, IN_TURN, House


@dataclass(frozen=True, slots=True)
class Pot:
    """A pot, and who may win it."""

    name: str
    cents: int
    """Before the rake."""
    seats: tuple[int, ...]
    """Who may win it, in the order of the players given."""
    rake_cents: int = 0


def pots_of(put_cents: Mapping[int, int], live: Sequence[int]) -> tuple[Pot, ...]:
    """Return the pots, the main pot first.

    `put_cents` is what each player has in the pot, by seat; `live` are the seats of those who have
    not folded. A player may win of each other player as much as he put in himself. What was folded
    goes into the pots in the same layers.
    """
    pots: list[Pot] = []
    below = 0
    for level in sorted({put_cents[seat] for seat in live}):
        cents = sum(min(put, level) - min(put, below) for put in put_cents.values())
        may_win = tuple(seat for seat in live if put_cents[seat] >= level)
        if cents:
            name = f"side pot {len(pots)}" if pots else "main pot"
            pots.append(Pot(name, cents, may_win))
        below = level
    return tuple(pots)


def raked(pots: Iterable[Pot], house: House, *, flop: bool) -> tuple[Pot, ...]:
    """Return the pots with the rake of each: a share, in whole chips, of pot after pot until the
    most of a hand is reached. Not in the document."""
    permille = house.rake_permille if flop or house.rake_without_flop else 0
    left = house.rake_most_cents or None
    done: list[Pot] = []
    for pot in pots:
        rake = _in_chips(pot.cents * permille // 1000, house)
        if left is not None:
            rake = min(rake, left)
            left -= rake
        done.append(Pot(pot.name, pot.cents, pot.seats, rake))
    return tuple(done)


def halves(cents: int, house: House) -> tuple[int, int]:
    """Return the halves for the first and the second board. An odd chip: as the house chose."""
    less = _in_chips(cents // 2, house)
    more = cents - less
    return (more, less) if house.odd_half == FIRST else (less, more)


def shares(
    cents: int, winners: Sequence[int], house: House, highest_card: int
) -> tuple[tuple[int, int], ...]:
    """Return what each winner of equal hands gets, as (seat, cents).

    `winners` are clockwise from the left of the button; `highest_card` is the winner with the
    highest card. Odd chips: as the house chose.
    """
    each = _in_chips(cents // len(winners), house)
    odd = cents - each * len(winners)
    if house.odd_chips == IN_TURN:
        chips = odd // house.chip_cents
        return tuple(
            (seat, each + house.chip_cents * (place < chips)) for place, seat in enumerate(winners)
        )
    first = winners[0] if house.odd_chips == ALL_TO_FIRST else highest_card
    return tuple((seat, each + odd * (seat == first)) for seat in winners)


def _in_chips(cents: int, house: House) -> int:
    return cents - cents % house.chip_cents
