"""A hand of HAND.json with the cards that a shoe dealt, from a log.

The shoe knows the cards, the cashier the betting. The shoe deals to the seats in their order from
the left of the button, and does not know which players sit there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sabot.errors import BadHand
from sabot.games.choices import check_stated
from sabot.games.holdem.hand_file import FOLD, Act, HandFile, Seat, check_once_each
from sabot.games.holdem.house import CHOICES
from sabot.log.families.hands import Hand
from sabot.text import counted

_BURNS = (0, 0, 0, 1, 2, 3)
"""By the number of cards of the board: how many were burned before them."""


def in_turn(hand: HandFile) -> list[Seat]:
    """The players in the order in which they get cards: from the left of the button."""
    after = [seat for seat in hand.seats if seat.number > hand.button]
    return after + [seat for seat in hand.seats if seat.number <= hand.button]


def with_cards(hand: HandFile, dealt: Hand, house: Mapping[str, object]) -> HandFile:
    """Return the hand of a file with the cards of `dealt`, and the choices `house` of its game.

    Who folded has no cards in it: no one saw them. The cards of a seat that the shoe has not opened
    are those of the file. Raises BadHand if the two do not fit, and GameDiffers for a choice of the
    house that the game does not have.
    """
    which = f"{dealt.unit} shoe {dealt.shoe}"
    if dealt.void is not None:
        raise BadHand(f"{which}: the hand is void ({dealt.void}); all stakes are returned")
    twice = hand.run_twice
    known = dict(zip((seat.number for seat in in_turn(hand)), dealt.hands, strict=False))
    doubled = any(seat.cards and known.get(seat.number) for seat in hand.seats)
    if hand.board or hand.burns or (twice and twice.cards) or doubled:
        raise BadHand(f"{which}: the file has cards too; leave out cards, board and burns")
    if len(hand.seats) != dealt.seats:
        raise BadHand(
            f"{which}: dealt to {counted(dealt.seats, 'seat')}, the file has {len(hand.seats)}; "
            "list all who got cards"
        )
    if (twice is None) != (dealt.run_twice is None):
        in_log = "run once" if dealt.run_twice is None else f"run twice from the {dealt.run_twice}"
        raise BadHand(f"{which}: {in_log}, which the file contradicts; correct run_twice")
    check_stated(which, CHOICES, hand.house, house)
    folded = {act.seat for act in _acts(hand) if act.says == FOLD}
    # Of a seat that the shoe has not opened the file may have the cards: who saw them wrote them.
    seats = tuple(
        seat if seat.number in folded else replace(seat, cards=known[seat.number] or seat.cards)
        for seat in hand.seats
    )
    second = dealt.second[_common(dealt) :]
    burned = _BURNS[len(dealt.board)] + len(second)
    full = replace(
        hand,
        seats=seats,
        board=tuple(dealt.board),
        burns=tuple(dealt.burned) if len(dealt.burned) == burned else None,
        run_twice=None if twice is None else replace(twice, cards=tuple(second)),
        house=dict(house),
    )
    check_once_each(full)
    return full


def _common(dealt: Hand) -> int:
    """How many cards both boards have."""
    return {"turn": 3, "river": 4}.get(dealt.run_twice or "", 0)


def _acts(hand: HandFile) -> Iterable[Act]:
    return (act for acts in hand.betting.values() for act in acts if isinstance(act, Act))
