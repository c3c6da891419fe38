"""A hand of Texas hold'em with the interface of rounds.pyi: who gets the next card, and when.

The shoe deals; betting and pots are at the table. One deck is shuffled for each hand. The cards of
the seats are dealt face down and are not kept here: the order of play does not depend on them.

Source: Maryland, Standard Rules - Poker, chapter 8, L: running it twice. The rest of the order is
not in the document: common practice.
"""

from sabot_firmware.native import const
from sabot_firmware.table.pending import BURNED, FACE_DOWN, FACE_UP
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, NOT_DUE
from sabot_protocol import cards, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.rounds import RecordEvent
    from sabot_protocol.holdem import HoldemGame

_LEAST_SEATS = const(2)
_STREETS = const(4)
_OF_FLOP = const(3)
_OF_TURN = const(4)
_OF_RIVER = const(5)
"""How many cards the board has once the flop, the turn, the river is dealt."""

_ONCE = const(0)
_ASKED = const(-1)
"""Values of `twice`, besides the number of cards that both boards have."""

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
_SEAT_1 = const(18)
_BOARD_BURN = const(28)
_FLOP = const(29)
_TURN = const(30)
_RIVER = const(31)
_NEXT = const(0)
_REVEAL = const(1)
_BURN = const(3)

_BETS = ("PREFLOP BETS", "FLOP BETS", "TURN BETS", "RIVER BETS", "SHOWDOWN")


class HoldemRound:
    """The present or last hand; see `sabot_firmware.table.rounds.FamilyRound`."""

    KEPT: "tuple[str, ...]" = ("seats", "dealt", "board", "burned", "progress", "twice")
    seals = True
    ends_shoe = True
    hidden = False
    revealed = True

    def __init__(self, game: "HoldemGame", record: "RecordEvent") -> None:
        self._game = game
        self._record = record
        self.card_first: bool = game.betting_closed_by == "first_card"
        self.seats = game.seats
        """How many get cards: in the next hand too."""
        self.clear()

    def begin(self) -> None:
        self.clear()
        self.open = True
        self.phase = BETTING
        if self.card_first:
            self.due = _SEAT_1
        self._record(events.BETTING_OPEN)

    def clear(self) -> None:
        self.due = NOT_DUE
        self.phase = BETWEEN
        self.open = self.begun = False
        self.dealt = 0
        """Cards that the seats have got."""
        self.board: "list[int]" = []
        """The cards of the board. The cards after the fifth are those of the second set."""
        self.burned = 0
        self.bets_ended = 0
        """Rounds of betting that have ended."""
        self.marking = 0
        """The seat which the dealer marks as one that has shown its cards, at the end of the hand;
        0 before it."""
        self.marked = 0
        """The seats that are marked: bit n is seat n."""
        self.twice = _ONCE
        """Whether the hand is run twice: the number of cards that both boards have, 3 or 4."""

    def close_betting(self, by: int) -> None:
        self.phase = DEALING
        self.due = _SEAT_1
        self._record(events.BETTING_CLOSED, by)
        self._record(events.HAND_BEGUN, self.seats)

    def card(self, card: int) -> None:
        due = self.due_after(card)
        if self.due == _BOARD_BURN:
            self.burned += 1
        elif self.due >= _FLOP:
            self.board.append(card)
        else:
            self.dealt += 1
        self.begun = True
        self.due = due

    def due_after(self, card: int) -> int:
        dealt, burned, count = self.dealt, self.burned, len(self.board)
        if self.due == _BOARD_BURN:
            burned += 1
        elif self.due >= _FLOP:
            count += 1
        else:
            dealt += 1
        return self._due(dealt, burned, count)

    def _due(self, dealt: int, burned: int, count: int) -> int:
        """Return what is due once the seats have `dealt` cards, and the board has `count`."""
        seats, twice = self.seats, self.twice
        if twice == _ASKED:
            return NOT_DUE
        if dealt < 2 * seats:
            return _SEAT_1 + dealt % seats
        if count >= self._wanted():
            return NOT_DUE
        # One is burned before the flop, and before each card after it.
        if burned < (1 if count < _OF_FLOP else count - 1):
            return _BOARD_BURN
        if count >= _OF_RIVER:
            count += twice - _OF_RIVER
        if count < _OF_FLOP:
            return _FLOP
        return _TURN if count == _OF_FLOP else _RIVER

    def _wanted(self) -> int:
        """Return how many cards of the board are dealt before the shoe waits for a button."""
        if self.twice > 0:
            return 2 * _OF_RIVER - self.twice
        if not self.bets_ended:
            return 0
        return min(self.bets_ended + 2, _OF_RIVER)

    @property
    def progress(self) -> "int | list[int]":
        """What `bets_ended`, `marking` and `marked` are: before the marking a number, as older
        firmware kept it."""
        return [self.bets_ended, self.marking, self.marked] if self.marking else self.bets_ended

    @progress.setter
    def progress(self, kept: "int | list[int]") -> None:
        values: "list[int]" = kept if isinstance(kept, list) else [kept, 0, 0]
        self.bets_ended, self.marking, self.marked = values

    def pressed(self, button: int) -> int:
        if self.marking:
            self._pressed_for_mark(button)
        elif self.phase == BETTING:
            if button == _BURN:
                self.seats = _LEAST_SEATS if self.seats >= self._game.seats else self.seats + 1
        elif self.open:
            waits = self.due == NOT_DUE
            if self.twice == _ASKED:
                self.twice = _ONCE
                if button == _NEXT:
                    self._run_twice()
            elif button == _BURN:
                if self._may_ask():
                    self.twice = _ASKED
            elif waits and button == _NEXT:
                self._end_betting()
            elif button == _REVEAL:
                # All but one may have folded before the dealer pressed `next` or after it.
                if waits or (self.due == _BOARD_BURN and not self.twice):
                    self._show_or_end()
            self.due = NOT_DUE
            if self.open and not self.marking:
                self.due = self._due(self.dealt, self.burned, len(self.board))
        return 0

    def _may_ask(self) -> bool:
        """Whether the hand may be run twice from here: "before the river card has been dealt", and
        there is a second turn and river, or a second river (L(2)(e) and (4)(c))."""
        return (
            self._game.run_it_twice and not self.twice and _OF_FLOP <= len(self.board) <= _OF_TURN
        )

    def _run_twice(self) -> None:
        count = len(self.board)
        if count == self._wanted():
            self._end_betting()
        self.twice = count
        self._record(events.RUN_TWICE, count - 1)

    def _end_betting(self) -> None:
        if not self.twice and self.bets_ended < _STREETS:
            self._record(events.BETTING_ENDED, self.bets_ended)
            self.bets_ended += 1

    def _show_or_end(self) -> None:
        """No more cards come. If only the cards open that were shown, the dealer marks them."""
        if self._game.hole_cards == "shown":
            self.marking = 1
        else:
            self._end()

    def _pressed_for_mark(self, button: int) -> None:
        if button == _BURN:
            self.marking = 1 if self.marking >= self.seats else self.marking + 1
        elif button == _NEXT:
            self.marked ^= 1 << self.marking
        elif button == _REVEAL:
            self._end()

    def _end(self) -> None:
        first, second = self._boards()
        self.open = False
        self.phase = BETWEEN
        if self._game.by_seat:
            for seat in range(1, self.seats + 1):
                if self.marked >> seat & 1:
                    self._record(events.SEAT_UNSEALED, seat)
            self._record(events.UNSEALED, b"")
        else:
            self._record(events.UNSEALED)
        self.marking = 0
        self._record(events.HAND_ENDED, self.seats, bytes(first), bytes(second), self._game.sha256)

    def _boards(self) -> "tuple[list[int], list[int]]":
        board = self.board
        second = board[: self.twice] + board[_OF_RIVER:] if self.twice > 0 else []
        return board[:_OF_RIVER], second

    def burn_count(self, card: int) -> int:
        return 0

    def facing(self, position: int) -> int:
        if position == _BOARD_BURN:
            return BURNED
        return FACE_DOWN if self.open and position < _FLOP else FACE_UP

    def lines(self) -> "tuple[str, str, str, str]":
        first, second = self._boards()
        board, again = self._names(first), self._names(second)
        seats = again or "%d SEATS" % self.seats
        if self.phase == BETTING:
            return ("HAND: BLINDS", seats, "", "BURN: SEATS")
        if not self.open:
            return ("HAND ENDED", board, seats, "")
        if self.marking:
            return self._marking_lines()
        if self.twice == _ASKED:
            return ("RUN IT TWICE?", board, seats, "NEXT: YES")
        if self.due != NOT_DUE:
            return (self._due_name(), board, seats, "")
        if self.twice or self.bets_ended == _STREETS:
            return (_BETS[_STREETS], board, seats, "REVEAL ENDS HAND")
        return (_BETS[self.bets_ended], board, seats, "NEXT: BETS ENDED")

    def _marking_lines(self) -> "tuple[str, str, str, str]":
        shown = ""
        for seat in range(1, self.seats + 1):
            shown += str(seat % 10) if self.marked >> seat & 1 else "-"
        change = "NO" if self.marked >> self.marking & 1 else "YES"
        return (
            "SEAT %d SHOWED?" % self.marking,
            "SHOW " + shown,
            "N %s B SEAT" % change,
            "REVEAL ENDS HAND",
        )

    def _due_name(self) -> str:
        due = self.due
        if due == _BOARD_BURN:
            return "DEAL BURN"
        if due < _BOARD_BURN:
            return "DEAL SEAT %d" % (due - _SEAT_1 + 1)
        second = " 2" if len(self.board) >= _OF_RIVER else ""
        return "DEAL " + ("FLOP", "TURN", "RIVER")[due - _FLOP] + second

    def _names(self, board: "list[int]") -> str:
        return " ".join([cards.name_of(card) for card in board])

    def lamps(self) -> int:
        return 0

    def restored(self, phase: int) -> None:
        self.phase = phase
        # A hand that has ended leaves the phase `dealing`, as one that is void.
        self.open = phase != BETWEEN
        self.begun = self.dealt > 0
        self.due = NOT_DUE
        if self.marking:
            return
        if phase == DEALING:
            self.due = self._due(self.dealt, self.burned, len(self.board))
        elif phase == BETTING and self.card_first:
            self.due = _SEAT_1
