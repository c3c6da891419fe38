"""Checks a hand of hold'em by its events: who got cards in which order, burns, the board.

The order is written here as patterns, once for all. Source: Maryland, Standard Rules - Poker,
chapter 8, L: "before the river card has been dealt"; "burning a card before each up card"; "another
set of community cards including either the turn and river, or the river". The rest is common
practice.
"""

import re
from collections.abc import Iterator

from sabot.text import counted
from sabot_protocol import enums
from sabot_protocol.games import FamilyGame
from sabot_protocol.holdem import HoldemGame

_POSITIONS = list(enums.POSITIONS)
_OF_HAND = [
    word.startswith(("seat_", "board_burn", "flop", "turn", "river")) for word in _POSITIONS
]
_LETTERS = {"board_burn": "B", "flop": "F", "turn": "T", "river": "R"}
_BETS = dict(zip(enums.STREETS, "pftr", strict=True))
_TWICE = {"turn": "2", "river": "3"}
_OTHER = "?"

# A hand may end where the shoe waits, and before a burn.
_ONCE = re.compile("(p(BFFF(f(BT(t(BRr?)?)?)?)?)?)?")
_FROM_TURN = re.compile("pBFFFf(2B|B2)TBRBTBR")
_FROM_RIVER = re.compile("pBFFFfBTt(3B|B3)RBR")

_FEWEST, _MOST = 2, 10
_OF_BOARD = 5
_COMMON = {"2": 3, "3": 4}


class HoldemChecks:
    """The events of one hand."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a round: it is one of hold'em once it has `begun`."""
        self.seats: int | None = None
        self._seats: list[str] = []
        self._order = ""
        self._board: list[int] = []

    def begun(self, seats: int) -> Iterator[str]:
        """Take the number of seats. Yield what is wrong with it."""
        if self.seats is not None:
            yield "a hand has begun twice"
        if not _FEWEST <= seats <= _MOST:
            yield f"{counted(seats, 'seat')} dealt in, {_FEWEST} to {_MOST} can be"
        self.seats = seats

    def takes(self, position: int) -> bool:
        """Whether a card at a position, index in `enums.POSITIONS`, belongs to a hand."""
        return _OF_HAND[position]

    def card(self, position: int, card: int | None, *, in_round: bool) -> None:
        """Take a card of the open round, of a hand or not; None if it is sealed, or was left
        unseen."""
        if self.seats is None or not in_round:
            return
        name = _POSITIONS[position]
        if name.startswith("seat_") and not self._order:
            self._seats.append(name)
            return
        letter = _LETTERS.get(name, _OTHER)
        self._order += letter
        if letter in "FTR" and card is not None:
            self._board.append(card)

    def betting_ended(self, street: int) -> None:
        """Take the end of a round of betting, a place in `enums.STREETS`."""
        self._order += _BETS[enums.STREETS[street]]

    def run_twice(self, street: int) -> None:
        """Take that the rest of the board is dealt twice, from this street on."""
        self._order += _TWICE.get(enums.STREETS[street], _OTHER)

    def wrong_with(self, seats: int, board: bytes, second: bytes) -> Iterator[str]:
        """Yield what is wrong with the hand, which ended with these boards."""
        if self.seats is None:
            yield "a hand ended that has not begun"
            return
        if seats != self.seats:
            yield f"{counted(seats, 'seat')} at the end, {self.seats} at the begin"
        if self._seats != [f"seat_{seat}" for seat in range(1, self.seats + 1)] * 2:
            yield f"order is {_text(self._seats)}, two cards to each of {self.seats} seats are due"
        patterns = (_ONCE, _FROM_TURN, _FROM_RIVER)
        if not any(pattern.fullmatch(self._order) for pattern in patterns):
            yield f"order is {_text(map(_word, self._order))}, which is not that of a hand"
        twice = next((_COMMON[letter] for letter in self._order if letter in _COMMON), None)
        first = self._board[:_OF_BOARD]
        again = [] if twice is None else first[:twice] + self._board[_OF_BOARD:]
        for name, logged, dealt in (("board", board, first), ("second board", second, again)):
            if list(logged) != dealt:
                yield f"the {name} has cards {list(logged)} in the log, {dealt} were dealt"

    def unlike(self, game: FamilyGame) -> Iterator[str]:
        """Yield what of the hand contradicts the document of its game."""
        if not isinstance(game, HoldemGame):
            yield f"a hand of hold'em, but {game.name} is a game of {game.family}"
            return
        if self.seats is not None and self.seats > game.seats:
            yield f"{counted(self.seats, 'seat')} dealt in, {game.name} has {game.seats} at most"
        if not game.run_it_twice and set(_COMMON) & set(self._order):
            yield f"run twice, which {game.name} does not offer (Maryland poker, 8 L)"


def _word(letter: str) -> str:
    words = {value: key for key, value in _LETTERS.items()}
    words |= {value: f"{key} bets" for key, value in _BETS.items()}
    words |= {value: f"twice from the {key}" for key, value in _TWICE.items()}
    return words.get(letter, "another card").replace("_", " ")


def _text(words: "map[str] | list[str]") -> str:
    return ", ".join(words).replace("_", " ") or "no card"
