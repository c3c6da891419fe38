"""The dealing of a shoe of cards as a pure state machine: inputs in, events to record out.

It uses no pins, no clock and no link. Each input method returns actions: `(shape, shoe, round,
values)`, the events to record, in order. The lock follows from the state (`lock_released`), and so
do lamps and display (panel.py).

This module has what people and the sensor head can do to a shoe of cards; what follows within the
shoe is in shoe_of_cards.py. An error stops play in any phase until the supervisor's key clears it.

A card of the shoe in play that cannot be read, or is one too many, is *pending*: it stops play
until the supervisor decides about it (pending.py). Then play continues.
"""

from sabot_firmware.native import const
from sabot_firmware.table import pending
from sabot_firmware.table.shoe_of_cards import (
    BETTING,
    BETWEEN,
    BURNING,
    DEALING,
    FIRST_BURN,
    GHOST_ASKED,
    GHOST_MARKED,
    NO_ERROR,
    NOT_DUE,
    POWER_WAS_OFF,
    ShoeOfCards,
)
from sabot_protocol import cards, enums, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.shoe_of_cards import Figures

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
UNREADABLE = const(2)
_CARD_NOT_DUE = const(1)
_LID_OPENED = const(3)
_TEST_CARD_PULLED = const(5)
_SENSOR_FAILED = const(9)
_SAMPLES_LOST = const(10)
_JOURNAL_FULL = const(11)
NO_RANDOM = const(12)
LOCK_STUCK = const(14)
SUPPLY_LOW = const(15)
_DOUBLE_FEED = const(1)
_SENSOR_FAULT = const(8)
_POWER_LOST = const(9)
_NEXT = const(0)
_REVEAL = const(1)
_VOID = const(2)
_BURN_BUTTON = const(3)
LID = const(0)
KEY = const(1)
SERVICE = const(2)
_BY_BUTTON = const(0)
_BY_SUPERVISOR = const(1)
_VOID_BY_SUPERVISOR = const(0)
_VOID_FOR_UNREADABLE = const(1)
_MISDEAL = const(3)

_NO_FIGURES = (0, 0, 0, 0)


class Dealing(ShoeOfCards):
    """A shoe of cards with its inputs: the cards, the buttons, the switches, what went wrong."""

    def card_passed(self, card: int, figures: "Figures" = _NO_FIGURES) -> list:
        """Card 0-53 came out. `figures`: speed, margin, skew, samples as in `events.CARD`."""
        self.came_sealed = False
        if card == cards.TEST_CARD:
            self._fail(_TEST_CARD_PULLED, card)
        else:
            self._came_out(card, figures, False)
        return self._done()

    def pass_failed(self, fault: int, figures: "Figures" = _NO_FIGURES) -> list:
        """A card came out that cannot be read; `fault` is a place in `enums.FAULTS`."""
        stopped = self.error
        position = self._position_of_next()
        self.record(events.UNREADABLE, fault, position, *self._recorded_figures(position, figures))
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

    def no_random(self) -> list:
        """Cards would lie face down, and the unit has no random bytes of a host to seal them."""
        self._fail(NO_RANDOM)
        return self._done()

    def random_came(self) -> list:
        """The unit has random bytes of a host: play goes on without the supervisor."""
        if self.error == NO_RANDOM:
            self._clear_error()
        return self._done()

    def stop(self, error: int) -> list:
        """Something other than a card stops play: `error`, a place in `enums.ERRORS`.

        After POWER_WAS_OFF the supervisor must have looked at the cards before one is dealt. So if
        another error stands, or a card is pending, this stop follows once that is cleared.
        """
        if error == POWER_WAS_OFF:
            self.unchecked = not self.can_change_game()
        else:
            self._fail(error)
        return self._done()

    def pressed(self, button: int) -> list:
        """A button of `enums.BUTTONS` was pressed."""
        self.record(events.BUTTON, button)
        asked, self.asked = self.asked, False
        if self.pending.waits():
            if self.key_on and not self.lid_open:
                self._resolve(self.pending.pressed(button))
        elif button == _VOID and self.key_on:
            if asked:
                self._misdeal()
            else:
                self._void(_VOID_BY_SUPERVISOR)
        elif asked:
            if button == _BURN_BUTTON and not self.can_change_game():
                self._clear_error()
                self._end_shoe(_BY_SUPERVISOR)
        elif self.error or self.lid_open:
            pass
        elif button == _NEXT and self.phase == BETTING:
            self._close_betting(_BY_BUTTON)
        elif button == _NEXT and self.phase == BETWEEN:
            self._begin_round()
        elif button == _REVEAL and self.phase == BETTING:
            if self.ghost == GHOST_ASKED:
                self._mark_ghost()
            elif self.can_be_ghost():
                self.ghost = GHOST_ASKED
        elif self.phase in (BETTING, DEALING, BETWEEN):
            was_open = self.current_round.open
            count = self.current_round.pressed(button)
            if count:
                self._burn_until(BETWEEN, count)
            else:
                self._follow(was_open)
        return self._done()

    def ghost_hand(self) -> list:
        """A host marked the round whose betting is open as a ghost hand, with firmware 0.2.0."""
        if self.can_be_ghost():
            self._mark_ghost()
        return self._done()

    def _mark_ghost(self) -> None:
        """The round is dealt without wagers, "all cards in the hand being dealt face up"
        (Washington, Ghost hands)."""
        self.ghosts += 1
        self.ghost = GHOST_MARKED
        self.current_round.revealed = True
        self.record(events.GHOST_HAND, self.ghosts)

    def switched(self, switch: int, on: bool) -> list:
        """A switch of `enums.SWITCHES` changed."""
        if switch == LID:
            self.record(events.LID, on)
            self.lid_open = on
            if not self.can_change_game():
                if on:
                    self._fail(_LID_OPENED)
            elif not on:
                self._load_shoe()
        elif switch == KEY:
            self.record(events.KEY, on)
            self.key_on = on
            self.asked = False
            if self.pending.waits():
                self.pending.forget()
            elif on:
                self._clear_error()
        else:
            self.record(events.SERVICE, on)
            self.service_on = on
        return self._done()

    def _done(self) -> list:
        if self.second_card and not self.error:
            self._stop_for_second_card()
        if self.unchecked and not self.error:
            self._fail(POWER_WAS_OFF)
        released = self.lock_released()
        if released != self.lock_recorded:
            self.lock_recorded = released
            self.record(events.LOCK, released)
        actions, self._actions = self._actions, []
        return actions

    def _came_out(self, card: int, figures: "Figures", by_hand: bool) -> None:
        """Deal card 0-52, or stop play if it is one too many."""
        if card == cards.CUT_CARD:
            self._cut_card()
            return
        surplus = NO_ERROR if self.can_change_game() else self.inventory.surplus(card)
        if surplus and not self.error:
            position = self._position_of_next()
            self._wait_for_supervisor(enums.ERRORS[surplus], position)
            self.came_sealed = self._secret(position)
            self._fail(surplus, None if self.came_sealed else card)
            self.pending.keep_read(card, figures, by_hand)
            return
        self._deal(card, figures, by_hand)
        if surplus:
            self._fail(surplus, None if self.came_sealed else card)

    def _deal(self, card: int, figures: "Figures", by_hand: bool) -> None:
        position = self._position_of_next()
        self._draw(card, position, figures, by_hand)
        if position == NOT_DUE:
            self._fail(_CARD_NOT_DUE, None if self.came_sealed else card)
        elif self.phase == FIRST_BURN:
            self._burn_new_cards(self.current_round.burn_count(card))
        elif self.phase == BURNING:
            self._burned()
        else:
            self.current_round.card(card)
            self._follow(True)

    def _wait_for_supervisor(self, why: str, position: int) -> None:
        """The card at `position` stops play for the reason `why`, a row of the pending table."""
        self.asked = False  # the card comes first
        if position == NOT_DUE:
            column = pending.NOT_DUE
        elif self.phase == FIRST_BURN:
            column = pending.BURN_FIRST
        elif self.phase == BURNING or self.current_round.facing(position) == pending.BURNED:
            column = pending.BURN
        else:
            column = pending.COUNTS
        self.pending.begin(why, position, column, self._secret(position))

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
        self.record(events.RESOLVED, error, fault, position, resolution)
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
        """Void the round, or ask what to do if none is open."""
        self.second_card = False
        if self.current_round.open:
            self._clear_error()
            self._void_round(reason)
            self._round_over()
        else:
            self.asked = self.decided or not self.can_change_game()

    def _misdeal(self) -> None:
        """The last round is a misdeal, if it has a result: "all hands are called dead and bets
        returned" (mini-baccarat-pairs). The shoe of cards goes on."""
        if self.decided:
            self._clear_error()
            self._void_round(_MISDEAL)

    def _void_round(self, reason: int) -> None:
        if self.game.house.get("voided_cards") == "never":
            self.record(events.UNSEALED, b"")
        else:
            self.record(events.UNSEALED)
        self.record(events.ROUND_VOID, reason)
        if self.decided:
            self.rounds -= 1
        else:
            self._count_down()
        self.decided = False
        self.current_round.clear()
