"""Turns samples of the sensor head into inputs of the dealing: cards, faults, a failed head."""

from sabot_firmware.cards.health import NOTHING as NOTHING_DIRTY
from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.cards.reader import NONE as NO_FAULT
from sabot_firmware.native import const, micropython
from sabot_firmware.table import input_log
from sabot_protocol import cards, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Sequence

    from sabot_firmware.acting import Acting
    from sabot_firmware.cards.health import Health
    from sabot_firmware.cards.passes import Passes
    from sabot_firmware.cards.reader import Reader
    from sabot_firmware.heap import Heap
    from sabot_firmware.interfaces import Board
    from sabot_firmware.panel import Presenting
    from sabot_firmware.store import SettingsStore

_SAMPLE_BYTES = const(512)
LATE_BYTES = const(40)
"""12 ms of samples. To read more than that takes so long that more arrive meanwhile."""

_ALL_BUT_TWO = const(12)  # marks, as in priority.py
_POLLS = const(400)  # 60 to 200 ms; a word of samples comes every 0.4 ms
_SURELY_PASSING = const(200)  # samples, 10 ms; a card at 3 m/s takes 500
_DONE_MS = const(80)
# In a game that deals cards face down the outcome of a pass comes this long after its last samples
# were taken. The verdict takes a Pico 15.6 to 18.8 ms: how long depends on the card.
_VERDICT_MS = const(20)
# A pass that seems longer than one card by this is recorded. However a hand pulls, with every
# disturbance of the specification, this is 0 to 5 of 100 single cards, most of them stopped.
_LONG_UM = const(1500)
_MOST_UM = const(65535)
_CALIBRATION = "calibration"


class Sensing:
    """Reads the samples of `board`. A pass goes to `acting` once it is over, and to `passes`."""

    def __init__(
        self,
        board: "Board",
        store: "SettingsStore",
        acting: "Acting",
        presenting: "Presenting",
        reader: "Reader",
        passes: "Passes",
        health: "Health",
        heap: "Heap",
    ) -> None:
        self.calibration: "list[int | None]" = store.load(_CALIBRATION) or [None] * 5  # type: ignore[assignment]
        """The four channels of the last test card in permille, and when it passed, in Unix ms."""
        self.passing_marked = False
        """Whether the journal has a note that a card passes."""
        self._board = board
        self._store = store
        self._acting = acting
        self._recorder = acting.recorder
        self._dealing = acting.dealing
        self._presenting = presenting
        self._reader = reader
        self._passes = passes
        self._health = health
        self._heap = heap
        self._runs = memoryview(reader.scanner.runs)
        self._samples = bytearray(_SAMPLE_BYTES)
        self._overruns = 0

    @micropython.native
    def read(self, last_marks: bool = False) -> int:
        """Read the samples that are there now; return how many bytes they are. It does not wait
        until none is left: on a Pico the next word arrives meanwhile, and the loop would never end.

        With `last_marks` it waits for samples, and if no more than two marks are missing it goes on
        until the card is known: a turn of the task takes a Pico as long as two words of samples. It
        gives up after some milliseconds. It returns 0 if no sample came.
        """
        board, reader, samples = self._board, self._reader, self._samples
        scanner = reader.scanner
        sealing = self._recorder.seals is not None
        if sealing and self._passes.held and not self._dealing.sealed:
            self._count_held()
        polls = _POLLS if last_marks else 1
        total = begun_ms = 0
        while polls:
            polls -= 1
            size = board.read_samples(samples)
            if board.overruns != self._overruns:
                self._samples_lost()
            if not size:
                continue
            if sealing:
                begun_ms = board.ticks_ms()
            total += size
            at = 0
            while at < size:
                was_known = reader.known
                at = reader.read(samples, at, size)
                if reader.ended:
                    self._pass_ended(begun_ms)
                elif reader.known != was_known:
                    self._presenting.set_lock()
                else:
                    break  # all are read
                board.judged(size - at, False)
            board.judged(0, scanner.in_pass)
            if size == _SAMPLE_BYTES:
                polls += 1
            elif (
                scanner.marks_gone < _ALL_BUT_TWO or not scanner.in_pass or reader.known != NO_CARD
            ):
                break
        return total

    def mark_passing(self) -> None:
        """Note in the journal that a card passes: once for each card of a shoe of cards in play."""
        if self.passing_marked or self._reader.scanner.passing_samples < _SURELY_PASSING:
            return
        if not self._dealing.can_change_game():
            self.passing_marked = True
            self._acting.mark_passing()

    def stop_if_blocked(self) -> None:
        """Stop play if a channel cannot be right although no card passes."""
        if self._reader.blocked and not self._dealing.error:
            self._acting.carry_out([input_log.SENSOR_FAILED])

    def _samples_lost(self) -> None:
        """Give up the pass before the next samples are read: they do not continue the last ones."""
        self._overruns = self._board.overruns
        self.passing_marked = False
        self._reader.samples_lost()
        self._acting.carry_out([input_log.SAMPLES_LOST])

    def _pass_ended(self, begun_ms: int) -> None:
        if self._recorder.seals is not None:
            self._board.sleep_ms(max(0, begun_ms + _VERDICT_MS - self._board.ticks_ms()))
        self._heap.due = True
        marked, self.passing_marked = self.passing_marked, False
        passed, dealing = self._reader.passed, self._dealing
        if not passed.samples:
            if (
                marked or not dealing.error
            ):  # the note of a passing card must not stay without a result
                self._acting.carry_out([input_log.SENSOR_FAILED])
        elif passed.card == cards.TEST_CARD and dealing.can_change_game():
            self._calibrate()
        else:
            figures = [
                passed.speed_mm_s,
                passed.margin_permille,
                passed.skew_um,
                passed.samples,
            ]
            if passed.fault == NO_FAULT:
                self._acting.carry_out([input_log.CARD, passed.card] + figures)
                longer_um = min(passed.longer_um, _MOST_UM)
                if longer_um > _LONG_UM:
                    card = None if self._dealing.came_sealed else passed.card
                    self._acting.record(events.LONG_PASS, (card, longer_um))
                if self._dealing.came_sealed:
                    self._passes.hold(passed.permille)
                else:
                    self._watch_health(passed.permille)
            else:
                self._acting.carry_out([input_log.FAULT, passed.fault] + figures)
        scanner = self._reader.scanner
        runs = self._runs[: scanner.close_runs()]
        self._passes.keep(passed, runs, scanner.cut, self._board.ticks_ms())

    def _count_held(self) -> None:
        """Count cards that are no longer sealed. Before, the change of a mean would tell them."""
        held, self._passes.held = self._passes.held, []
        for permille in held:
            self._watch_health(permille)

    def _watch_health(self, permille: "Sequence[int]") -> None:
        channel = self._health.add(permille)
        if channel != NOTHING_DIRTY:
            mean = self._health.mean_permille(channel)
            self._acting.record(events.CLEAN_SENSOR, (channel, mean))

    def _calibrate(self) -> None:
        """Store the figures of a test card that passed with no cards in play."""
        passed = self._reader.passed
        self.calibration[:] = passed.permille + [self._acting.recorder.unix_ms()]
        if self._board.supply_good():
            self._store.save(_CALIBRATION, self.calibration)
        figures = (passed.speed_mm_s, passed.margin_permille, passed.skew_um, passed.samples)
        self._acting.record(events.CALIBRATED, tuple(passed.permille) + figures)
        self._board.buzz(_DONE_MS)
