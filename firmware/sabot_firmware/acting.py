"""Carries inputs out. An input becomes a note and goes to the dealing. Its outcome follows in this
order: the lock, the events, the outputs, the kept state."""

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.journal.recovery import keep_state
from sabot_firmware.journal.ring import MOST_STATE, NOTE, PASSING
from sabot_firmware.native import const
from sabot_firmware.table import input_log, inputs
from sabot_firmware.table.dealing import NO_RANDOM
from sabot_firmware.table.shoe_of_cards import DEALING, POWER_WAS_OFF
from sabot_protocol import cbor, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.cards.passes import Passes
    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.interfaces import Board
    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.journal.recorder import Recorder
    from sabot_firmware.panel import Presenting
    from sabot_firmware.release.running import RunningRelease
    from sabot_firmware.table.dealing import Dealing
    from sabot_protocol.schema import Shape

_NEXT = const(0)  # the button, a place in `enums.BUTTONS`
_MOST_NOTES = const(32)  # to be repeated after a loss of power


class Acting:
    """Carries inputs out. Calls `wake` when there may be something to send, and `mark_time` at each
    input."""

    def __init__(
        self,
        board: "Board",
        running: "RunningRelease",
        journal: "Journal",
        recorder: "Recorder",
        dealing: "Dealing",
        reader: "Reader",
        presenting: "Presenting",
        passes: "Passes",
        wake: "Callable[[], None]",
        mark_time: "Callable[[], None]",
    ) -> None:
        self.dealing = dealing
        self.recorder = recorder
        self.held = False
        """Whether no round with sealed cards may begin: its keys could be guessed."""
        self.round_over = False
        """Whether a round has ended; the shoe sets it back."""
        self.stopped = False
        """Whether buttons and switches wait for the restart that is due."""
        self.unchecked = False
        """Whether this start must ask for the supervisor: no program has watched the lid."""
        self.cards_closed = False
        """Whether cards are never to be known, and the secret that has sealed them is still
        there."""
        self._board = board
        self._running = running
        self._journal = journal
        self._reader = reader
        self._presenting = presenting
        self._passes = passes
        self._wake = wake
        self._mark_time = mark_time
        self._round_was_open = dealing.current_round.open
        self._shoe_was = dealing.shoe
        self._note = bytearray(64)
        self._state = bytearray(MOST_STATE)
        self._notes = 0  # since the last state
        self._inputs: "list[int]" = []

    def take_inputs(self) -> None:
        """Carry out the changes of buttons and switches."""
        board, waiting = self._board, self._inputs
        if self.stopped:
            return
        change = board.take_input()
        while change != inputs.NONE:
            waiting.append(change)
            change = board.take_input()
        # A card that has shown its code but has not left the head comes before them.
        while waiting and self._reader.known == NO_CARD:
            change = waiting.pop(0)
            if change >= inputs.BUTTON_COUNT:
                switch, on = divmod(change - inputs.BUTTON_COUNT, 2)
                self.switched(switch, on == 1)
            elif (
                not self._running.on_trial
            ):  # otherwise the other release might have to end a round
                if change != inputs.pressed(_NEXT) or not self._presenting.waits:
                    self.carry_out([input_log.PRESSED, change])

    def switched(self, switch: int, on: bool) -> None:
        """A switch is `on` or off now. Its level may be the same as when the power went."""
        dealing = self.dealing
        if on != (dealing.lid_open, dealing.key_on, dealing.service_on)[switch]:
            self.carry_out([input_log.SWITCHED, switch, on])

    def carry_out(self, note: list) -> None:
        """Give the dealing an input, a note as in input_log.py, and carry out its actions."""
        self._mark_time()
        size = cbor.encode_array(self._note, 0, note, len(note))
        seals = self.recorder.seals
        if seals is not None and input_log.tells_card(note):
            number = self._journal.number
            sealed, self.dealing.pending.seed = seals.note(number, memoryview(self._note)[:size])
            size = cbor.encode_array(self._note, 0, [input_log.SEALED, number, sealed], 3)
        self._journal.put(NOTE, memoryview(self._note), size)
        self._notes += 1
        self._act(input_log.carry_out(self.dealing, note))
        if self._journal.full() and not self.dealing.error and not self.dealing.current_round.open:
            self.carry_out([input_log.JOURNAL_FULL])
        self.hold_if_due()

    def hold_if_due(self) -> None:
        """Stop play before the next round if no card may be sealed. A round that is being dealt
        ends as it began; a release on trial stops nothing, since the one before knows no such stop.
        """
        dealing = self.dealing
        if self.held and not dealing.error and dealing.phase != DEALING:
            if not self._running.on_trial and not self.stopped:
                self.carry_out([input_log.NO_RANDOM])

    def ask_if_due(self) -> None:
        """Stop play until the supervisor has checked the cards, if this start must ask. A release
        on trial asks once it is confirmed: the one before may know no such stop."""
        if self.unchecked and not self._running.on_trial:
            self.unchecked = False
            dealing = self.dealing
            if not dealing.can_change_game() and not dealing.unchecked:
                self.carry_out([input_log.STOPPED, POWER_WAS_OFF])

    def watch_lid(self) -> None:
        """From now on the lid counts as watched, if the question that was due is on flash."""
        if not (self._board.lid_watched or self.unchecked or self._journal.unwritten()):
            self._board.set_lid_watched(True)

    def end_hold(self) -> None:
        """End the stop of `hold_if_due`, unless the lid is open."""
        dealing = self.dealing
        if dealing.error == NO_RANDOM and not dealing.lid_open and not self.held:
            self.carry_out([input_log.RANDOM_CAME])

    def mark_passing(self) -> None:
        """Note that a card passes: if the power goes now, it is unknown whether it came out."""
        self._journal.put(PASSING, memoryview(self._note), 0)

    def record(self, shape: "Shape", values: tuple) -> None:
        """Record an event that the dealing does not make."""
        self.recorder.record(shape, self.dealing.shoe, self.dealing.round, values)
        self._presenting.show()
        self._wake()

    def keep_state(self) -> None:
        """Write the state of the dealing to the journal."""
        self._shoe_was = self.dealing.shoe
        self._notes = 0
        recorder = self.recorder
        keep_state(self._journal, recorder.boot, self.dealing, self._state, recorder.seals)

    def _act(self, actions: list) -> None:
        """Set the lock at once, then record the events, then show the outcome."""
        dealing = self.dealing
        self._presenting.set_lock()
        ended = False
        for shape, shoe, round_, values in actions:
            self.recorder.record(shape, shoe, round_, values)
            ended = ended or shape is events.COMPOSITION
            if shape is events.UNSEALED and values:
                self._passes.forget()  # its cards are never to be known
                self.cards_closed = True
        if ended:
            self.recorder.checkpoint(dealing.shoe, dealing.round)
        self._presenting.show_input()
        self._keep_state_between()

    def _keep_state_between(self) -> None:
        """Keep the state if a round or a shoe of cards began or ended: there is time then."""
        dealing = self.dealing
        round_ended = self._round_was_open and not dealing.current_round.open
        self._round_was_open = dealing.current_round.open
        self.round_over = self.round_over or round_ended
        if round_ended or dealing.shoe != self._shoe_was or self._notes >= _MOST_NOTES:
            if not self._reader.scanner.in_pass:
                self.keep_state()
