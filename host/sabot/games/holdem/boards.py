"""The community cards that a hand must have, once or run twice: Chapter 8 B(5)(b) and L."""

from sabot.errors import BadHand, ImpossibleDeal
from sabot.games.holdem.betting import Played
from sabot.games.holdem.clauses import forbidden
from sabot.games.holdem.hand_file import STREETS, HandFile, RunTwice
from sabot.games.holdem.house import House
from sabot.text import counted

_CARDS = dict(zip(STREETS, (0, 3, 4, 5), strict=True))
"""Community cards that are on the table in each betting round."""
_ALL = _CARDS["river"]
_BURNS = {0: 0, 3: 1, 4: 2, 5: 3}
_WHERE = "run_twice"


def boards_of(hand: HandFile, played: Played, house: House) -> tuple[tuple[str, ...], ...]:
    """Return the board, or both boards if the hand was run twice. They have less than five cards if
    all but one player have folded.

    Raises Forbidden, with the clause; ImpossibleDeal for a board with too few or too many cards.
    """
    showdown = len(played.live) > 1
    cards = len(hand.board)
    due = _ALL if showdown else _CARDS[played.last_street]
    if cards != due:
        if showdown and cards < due and any(player.all_in for player in played.live):
            raise forbidden(
                "board", f"{counted(cards, 'card')}; all-in players get all {due}; add them",
                "B(5)(b)",
            )  # fmt: skip
        raise ImpossibleDeal(f"board: {counted(cards, 'card')}; this betting has {due}")
    second = hand.run_twice
    boards: tuple[tuple[str, ...], ...] = (hand.board,)
    if second is not None:
        _check_run_twice(second, played, house)
        boards = (hand.board, hand.board[: _ALL - len(second.cards)] + second.cards)
    _check_burns(hand, _BURNS[cards] + (0 if second is None else len(second.cards)))
    return boards


def _check_run_twice(second: RunTwice, played: Played, house: House) -> None:
    live = played.live
    if not house.run_it_twice:
        raise forbidden(_WHERE, "the house does not offer it; remove run_twice", "L")
    if house.tournament:
        raise forbidden(_WHERE, "this is a tournament table; remove run_twice", "L(2)(a)")
    if len(live) != 2:
        raise forbidden(
            _WHERE,
            f"{counted(len(live), 'player')} with live hands; there must be two; remove run_twice",
            "L(2)(b)",
        )
    if not any(player.all_in for player in live):
        raise forbidden(_WHERE, "neither player is all-in; remove run_twice", "L(2)(c)")
    if second.agreed != {player.seat.number for player in live}:
        both = " and ".join(str(player.seat) for player in live)
        raise forbidden(_WHERE, f"{both} must both agree; correct agreed", "L(2)(d)")
    if second.asked_after == STREETS[-1]:
        raise forbidden(
            _WHERE, "asked for after the river had been dealt; remove run_twice", "L(2)(e)"
        )
    if STREETS.index(second.asked_after) < STREETS.index(played.last_street):
        raise BadHand(
            f"{_WHERE}: asked_after {second.asked_after}, but there was betting on the "
            f"{played.last_street}; no one was all-in then"
        )
    due = 1 if second.asked_after == "turn" else 2
    if len(second.cards) != due:
        what = "the river" if due == 1 else "turn and river"
        raise forbidden(
            _WHERE,
            f"{counted(len(second.cards), 'card')}; the second set is {what}; correct cards",
            "L(4)(c)",
        )


def _check_burns(hand: HandFile, due: int) -> None:
    if hand.burns is None or len(hand.burns) == due:
        return
    text = f"{counted(len(hand.burns), 'card')}; {due} are burned, one before each deal of up cards"
    if hand.run_twice is not None:
        raise forbidden("burns", f"{text}; correct the list", "L(4)(a)")
    raise ImpossibleDeal(f"burns: {text}; correct the list")
