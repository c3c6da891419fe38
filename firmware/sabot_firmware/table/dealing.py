"""The dealing of a shoe of cards as a pure state machine: inputs in, events to record out.

It uses no pins, no clock and no link. Each input method returns actions: `(shape, shoe, round,
values)`, the events to record, in order. The lock follows from the state (`lock_released`), and so
do lamps and display (panel.py).

This module has what every game has: lid, burned cards, cut card, inventory, errors, end of the
shoe. The rounds depend on the game's family and have a module for each; rounds.pyi defines their
interface.

Phases (`enums.PHASES`): no_shoe - first_burn - burning - betting - dealing - between - betting
... ended. A game that burns less skips the first two; the round sets `betting` and `dealing`. An
error stops play in any phase until the supervisor's key clears it.

A card of the shoe in play that cannot be read, or is one too many, is *pending*: it stops play
until the supervisor decides about it (pending.py). Then play continues.
"""

from sabot_firmware.native import const, micropython
from sabot_firmware.table import pending
from sabot_firmware.table.inventory import Inventory
from sabot_firmware.table.pending import Pending
from sabot_protocol import cards, enums, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.table.rounds import FamilyRound, RecordEvent
    from sabot_protocol.games import Game
    from sabot_protocol.schema import Shape

    Figures = tuple[int, int, int, int]

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
NO_SHOE = const(0)
FIRST_BURN = const(1)
BURNING = const(2)
BETWEEN = const(3)
BETTING = const(4)
DEALING = const(5)
ENDED = const(6)
NOT_DUE = const(8)
_BURN_FIRST = const(0)
_BURN = const(1)
UNREADABLE = const(2)
_NO_ERROR = const(0)
_CARD_NOT_DUE = const(1)
_LID_OPENED = const(3)
_CUT_CARD_MISPLACED = const(4)
_TEST_CARD_PULLED = const(5)
_CARDS_MISSING = const(8)
_SENSOR_FAILED = const(9)
_SAMPLES_LOST = const(10)
_JOURNAL_FULL = const(11)
_DOUBLE_FEED = const(1)
_SENSOR_FAULT = const(8)
_POWER_LOST = const(9)
_NEXT = const(0)
_VOID = const(2)
LID = const(0)
KEY = const(1)
SERVICE = const(2)
_BY_BUTTON = const(0)
_BY_CARD = const(1)
_BY_CUT_CARD = const(0)
_BY_SUPERVISOR = const(1)
_VOID_BY_SUPERVISOR = const(0)
_VOID_FOR_UNREADABLE = const(1)

_NO_LIMIT = const(-1)
_NO_FIGURES = (0, 0, 0, 0)


def _baccarat() -> "Callable[[Game, RecordEvent], FamilyRound]":
    from sabot_firmware.table.baccarat import BaccaratRound

    return BaccaratRound


ROUNDS = {"baccarat": _baccarat}
"""By family, as in `games.FAMILIES`: a function that imports the class of its rounds. It is called
when a game of the family is dealt, so other families take no memory."""


class Dealing:
    """The shoes of cards that one unit deals, from power-on, with cards of the set `card_set` 0-12.
    `shoe` is the number of the last one dealt."""

    def __init__(self, game: "Game", card_set: int, shoe: int) -> None:
        self.change_game(game)
        self.card_set = card_set
        self.shoe = shoe
        self.round = 0  # the number of the open or last round
        self.phase = NO_SHOE
        self.error = _NO_ERROR
        self.fault = 0  # with `unreadable` and `sensor_fault`: place in `enums.FAULTS`
        self.lid_open = self.key_on = self.service_on = False
        self.burn_left = 0
        self.inventory = Inventory()
        self.pending = Pending()
        self.rounds = 0  # with a result, in this shoe of cards
        self.rounds_left = _NO_LIMIT
        """Rounds still to be finished, once the cut card has come."""
        self.after_burning = BETTING  # or BETWEEN: the phase once no card is left to burn
        self.lock_recorded = False  # the state of the lock in its last event
        self.second_card = False  # of a double feed, while the first is not resolved
        self.after_cut = 0  # cards left in the shoe when the cut card came
        self._actions: "list[tuple]" = []

    def change_game(self, game: "Game") -> None:
        """Deal `game` from now on. Only allowed while `can_change_game`."""
        self.game = game
        self.current_round: "FamilyRound" = ROUNDS[game.family]()(game, self._record)
        """The present or last round."""

    @property
    def cards(self) -> int:
        """The number of cards drawn from this shoe of cards, with burned and unreadable ones."""
        return self.inventory.drawn()

    def can_change_game(self) -> bool:
        """Whether no shoe of cards is in play."""
        return self.phase == NO_SHOE or self.phase == ENDED

    @micropython.native
    def card_due(self) -> bool:
        """Whether the next card may come out."""
        if self.error or self.lid_open:
            return False
        return (
            self.current_round.due != NOT_DUE or self.phase == FIRST_BURN or self.phase == BURNING
        )

    lock_released = card_due

    @micropython.native
    def lock_after(self, card: int) -> bool:
        """Whether the lock will be released once `card` 0-53, which is passing, is dealt.

        The lock is set from this while the end of that card is still in the head. Therefore it must
        change and allocate nothing, and take less than a millisecond.
        """
        if card == cards.CUT_CARD:
            return self._cut_card_fits()
        if card == cards.TEST_CARD or not self.card_due() or self.inventory.surplus(card):
            return False
        if self.phase == FIRST_BURN:
            return True
        if self.phase == BURNING:
            return self.burn_left > 1 or (
                self.after_burning == BETTING and self.current_round.card_first
            )
        return self.current_round.due_after(card) != NOT_DUE

    def card_passed(self, card: int, figures: "Figures" = _NO_FIGURES) -> list:
        """Card 0-53 came out. `figures`: speed, margin, skew, samples as in `events.CARD`."""
        if card == cards.TEST_CARD:
            self._fail(_TEST_CARD_PULLED, card)
        else:
            self._came_out(card, figures, False)
        return self._done()

    def pass_failed(self, fault: int, figures: "Figures" = _NO_FIGURES) -> list:
        """A card came out that cannot be read; `fault` is a place in `enums.FAULTS`."""
        stopped = self.error
        position = self._position_of_next()
        self._record(events.UNREADABLE, fault, position, *figures)
        self._fail(UNREADABLE, None, fault)
        if not self.can_change_game():
            self.inventory.pass_failed(fault)
            if not stopped:
                self._wait_for_supervisor(enums.FAULTS[fault], position)
                self.second_card = fault == _DOUBLE_FEED
        return self._done()

    def sensor_failed(self) -> list:
        """A channel of the head cannot be right although no card passes."""
        self._fail(_SENSOR_FAILED, None, _SENSOR_FAULT)
        return self._done()

    def samples_lost(self) -> list:
        """The head was not read in time: it is unknown what passed."""
        self._fail(_SAMPLES_LOST)
        return self._done()

    def power_lost(self) -> list:
        """The power went while a card passed: it is unknown whether the card came out."""
        return [] if self.can_change_game() else self.pass_failed(_POWER_LOST)

    def journal_full(self) -> list:
        """More events would overwrite events that no host has."""
        self._fail(_JOURNAL_FULL)
        return self._done()

    def pressed(self, button: int) -> list:
        """A button of `enums.BUTTONS` was pressed."""
        self._record(events.BUTTON, button)
        if self.pending.waits():
            if self.key_on and not self.lid_open:
                self._resolve(self.pending.pressed(button))
        elif button == _VOID and self.key_on:
            self._void(_VOID_BY_SUPERVISOR)
        elif self.error or self.lid_open:
            pass
        elif button == _NEXT and self.phase == BETTING:
            self._close_betting(_BY_BUTTON)
        elif button == _NEXT and self.phase == BETWEEN:
            self._begin_round()
        elif self.phase in (BETTING, DEALING, BETWEEN):
            was_open = self.current_round.open
            count = self.current_round.pressed(button)
            if count:
                self._burn_until(BETWEEN, count)
            else:
                self._follow(was_open)
        return self._done()

    def switched(self, switch: int, on: bool) -> list:
        """A switch of `enums.SWITCHES` changed."""
        if switch == LID:
            self._record(events.LID, on)
            self.lid_open = on
            if not self.can_change_game():
                if on:
                    self._fail(_LID_OPENED)
            elif not on:
                self._load_shoe()
        elif switch == KEY:
            self._record(events.KEY, on)
            self.key_on = on
            if self.pending.waits():
                self.pending.forget()
            elif on:
                self._clear_error()
        else:
            self._record(events.SERVICE, on)
            self.service_on = on
        return self._done()

    def _record(self, shape: "Shape", *values: object) -> None:
        self._actions.append((shape, self.shoe, self.round, values))

    def _done(self) -> list:
        if self.second_card and not self.error:
            self._stop_for_second_card()
        released = self.lock_released()
        if released != self.lock_recorded:
            self.lock_recorded = released
            self._record(events.LOCK, released)
        actions, self._actions = self._actions, []
        return actions

    def _load_shoe(self) -> None:
        self.shoe += 1
        self.round = self.rounds = 0
        self.rounds_left = _NO_LIMIT
        self.second_card = False
        self.inventory.load(self.game.decks)
        self.current_round.clear()
        self._record(events.SHOE_LOADED, self.game.decks, self.game.name, self.card_set)
        if self.game.burn == "by_first":
            self.phase = FIRST_BURN
        elif self.game.burn == "one":
            self._burn_new_cards(1)
        else:
            self._begin_round()

    def _came_out(self, card: int, figures: "Figures", by_hand: bool) -> None:
        """Deal card 0-52, or stop play if it is one too many."""
        if card == cards.CUT_CARD:
            self._cut_card()
            return
        surplus = _NO_ERROR if self.can_change_game() else self.inventory.surplus(card)
        if surplus and not self.error:
            self._wait_for_supervisor(enums.ERRORS[surplus], self._position_of_next())
            self._fail(surplus, card)
            self.pending.keep_read(card, figures, by_hand)
            return
        self._deal(card, figures, by_hand)
        if surplus:
            self._fail(surplus, card)

    def _deal(self, card: int, figures: "Figures", by_hand: bool) -> None:
        position = self._position_of_next()
        self._draw(card, position, figures, by_hand)
        if position == NOT_DUE:
            self._fail(_CARD_NOT_DUE, card)
        elif self.phase == FIRST_BURN:
            self._burn_new_cards(self.current_round.burn_count(card))
        elif self.phase == BURNING:
            self._burned()
        else:
            self.current_round.card(card)
            self._follow(True)

    def _follow(self, was_open: bool) -> None:
        """Take over the phase of the round; count the round when it gets its result, end it when it
        is over. `was_open` is whether it was open before the input."""
        self.phase = self.current_round.phase
        if was_open and not self.current_round.open:
            self.rounds += 1
            self._count_down()
        if self.phase == BETWEEN:
            self._round_over()

    def _draw(self, card: int, position: int, figures: "Figures", by_hand: bool) -> None:
        if not self.can_change_game():
            self.inventory.count(card)
        self._record(events.CARD, card, position, *figures, by_hand)

    def _position_of_next(self) -> int:
        """Return the position of the card that comes out now. Close betting if the card does."""
        if not self.card_due():
            return NOT_DUE
        if self.phase == FIRST_BURN:
            return _BURN_FIRST
        if self.phase == BURNING:
            return _BURN
        if self.phase == BETTING:
            self._close_betting(_BY_CARD)
        return self.current_round.due

    def _wait_for_supervisor(self, why: str, position: int) -> None:
        """The card at `position` stops play for the reason `why`, a row of the pending table."""
        if position == NOT_DUE:
            column = pending.NOT_DUE
        elif self.phase == FIRST_BURN:
            column = pending.BURN_FIRST
        elif self.phase == BURNING or self.current_round.facing(position) == pending.BURNED:
            column = pending.BURN
        else:
            column = pending.COUNTS
        self.pending.begin(why, position, column)

    def _burn_new_cards(self, count: int) -> None:
        self._record(events.BURN, count)
        self._burn_until(BETTING, count)

    def _burn_until(self, phase: int, count: int) -> None:
        self.phase = BURNING
        self.burn_left = count
        self.after_burning = phase

    def _burned(self) -> None:
        self.burn_left -= 1
        if not self.burn_left:
            if self.after_burning == BETTING:
                self._begin_round()
            else:
                self.phase = self.after_burning

    def _begin_round(self) -> None:
        self.round += 1
        self.current_round.begin()
        self.phase = self.current_round.phase

    def _close_betting(self, by: int) -> None:
        self.current_round.close_betting(by)
        self.phase = self.current_round.phase

    def _count_down(self) -> None:
        """After the cut card, count down the rounds still to be finished."""
        if self.rounds_left > 0:
            self.rounds_left -= 1

    def _round_over(self) -> None:
        self.phase = BETWEEN
        if self.rounds_left == 0:
            self._end_shoe(_BY_CUT_CARD)

    def _end_shoe(self, reason: int) -> None:
        self.phase = ENDED
        inventory = self.inventory
        self._record(events.SHOE_ENDED, reason, self.rounds, inventory.drawn())
        counts = bytes(inventory.counts)
        self._record(events.COMPOSITION, counts, inventory.unread, inventory.expected())
        if reason == _BY_CUT_CARD and self.after_cut > self.game.cut_from_end:
            self._fail(_CARDS_MISSING)

    def _cut_card_fits(self) -> bool:
        return self.card_due() and self.current_round.open and self.rounds_left == _NO_LIMIT

    def _cut_card(self) -> None:
        misplaced = not self._cut_card_fits()
        if self.rounds_left == _NO_LIMIT:
            within_round = self.current_round.open and self.current_round.begun
            self.rounds_left = 1 + self.game.rounds_after_cut if within_round else 1
            self.after_cut = self.inventory.expected() - self.inventory.drawn()
            if self.second_card:
                self.after_cut += 1  # it came out with the cut card, but lay after it in the shoe
        self._record(events.CUT_CARD, self.rounds_left)
        if misplaced:
            self._fail(_CUT_CARD_MISPLACED, cards.CUT_CARD)

    def _fail(self, error: int, card: "int | None" = None, fault: int = 0) -> None:
        self._record(events.ERROR, error, card, fault)
        if not self.error:  # the first error is the cause, and stays
            self.error = error
            self.fault = fault

    def _clear_error(self) -> None:
        """Clear the present error. With the lid open it stays."""
        error = self.error
        if not error or self.lid_open:
            return
        self.error = _NO_ERROR
        self.fault = 0
        self.pending.end()
        self._record(events.ERROR_CLEARED, error)

    def _stop_for_second_card(self) -> None:
        """The first card of a double feed is resolved: stop play for the second."""
        self.second_card = False
        if not self.can_change_game():
            self._wait_for_supervisor(pending.SECOND_CARD, self._position_of_next())
            self._fail(UNREADABLE, None, _DOUBLE_FEED)

    def _resolve(self, resolution: int) -> None:
        """Carry out the supervisor's decision about the pending card, if there is one."""
        if resolution == pending.NONE:
            return
        error, fault, waiting = self.error, self.fault, self.pending
        position, entered = waiting.position, waiting.entered()
        card, figures, by_hand = waiting.card, waiting.figures, waiting.by_hand
        self._record(events.RESOLVED, error, fault, position, resolution)
        self._clear_error()
        if resolution == pending.ENTERED:
            if error == UNREADABLE:
                self.inventory.named(fault)
            self._came_out(entered, _NO_FIGURES, True)
        elif resolution == pending.AS_READ:
            self._deal(card, figures, by_hand)
        elif card != pending.NONE:  # put aside; it has come out nevertheless
            self._draw(card, NOT_DUE, figures, by_hand)
        elif resolution == pending.DRAWN_AGAIN:
            self.inventory.drawn_again(fault)
        elif resolution == pending.UNSEEN and position != NOT_DUE:
            if self.phase == BURNING:
                self._burned()
            else:
                self.current_round.card(pending.NONE)
                self._follow(True)
        if resolution == pending.VOID:
            self._void(_VOID_FOR_UNREADABLE if error == UNREADABLE else _VOID_BY_SUPERVISOR)

    def _void(self, reason: int) -> None:
        self.second_card = False
        self._clear_error()
        if self.current_round.open:
            self._record(events.ROUND_VOID, reason)
            self.current_round.clear()
            self._count_down()
            self._round_over()
        elif self.current_round.phase == BETWEEN and not self.can_change_game():
            # If a round hides its result, the supervisor cannot see that it is too late for `void`,
            # and `void` must not end the shoe of cards then.
            self._end_shoe(_BY_SUPERVISOR)
