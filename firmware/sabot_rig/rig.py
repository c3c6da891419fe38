"""The logic of the bench board: takes and answers frames, and acts on the shoe. It uses no hardware
itself; `board` is a board of sabot_rig/board.py, or a fake of a test.
"""

from sabot_protocol import cbor, enums, frame, schema
from sabot_protocol.rig import rig
from sabot_rig import VERSION

if 1 - 1:  # for type checkers: interfaces.pyi
    from typing import Any

    from sabot_rig.board import RigBoard

_BAD_ARGUMENTS = rig.REASONS.index("bad_arguments")
_NO_POWER = rig.REASONS.index("no_power")
_BUSY = rig.REASONS.index("busy")
_FULL = rig.REASONS.index("full")
_NOT_LOADED = rig.REASONS.index("not_loaded")
_NOT_KNOWN = rig.REASONS.index("not_known")
_NOT_FITTED = rig.REASONS.index("not_fitted")

_DAMAGED = rig.PROBLEMS.index("damaged")
_OVERSIZE = rig.PROBLEMS.index("oversize")
_NOT_A_MESSAGE = rig.PROBLEMS.index("not_a_message")
_CHANGES_LOST = rig.PROBLEMS.index("changes_lost")
_DISPLAY_LOST = rig.PROBLEMS.index("display_lost")
_UNDERRUN = rig.PROBLEMS.index("underrun")

_NUMBER_LIMIT = 1 << 32
_SHAPES = {shape.number: shape for shape in rig.TO_RIG}
_SILENCE_US = rig.SILENCE_MS * 1000
_MAX_ANSWERS = 32
_BUFFER_BYTES = 2048


class RigRefusal(Exception):
    """A command was not carried out; the argument is the place in `rig.REASONS`."""


class RigController:
    """Serves a host. Call `feed` with the bytes that came, `step` again and again, and `fill` for
    the bytes to send."""

    def __init__(self, board: "RigBoard") -> None:
        self.attached = False
        """Whether a host has sent `hello` and is not silent."""
        self.out = bytearray(_BUFFER_BYTES)
        """The bytes that `fill` has prepared."""
        self._board = board
        self._reader = frame.FrameReader()
        self._payload = bytearray(frame.MAX_PAYLOAD + frame.CRC_SIZE)
        self._answers: "list[list[object]]" = []
        self._seen = [0] * len(rig.PROBLEMS)
        self._underruns = self._not_messages = 0
        self._heard_us = 0
        self._power = False
        self._prepared = False
        self._start_number = 0
        self._begin_us = 0
        self._pressed = -1
        self._press_number = 0
        self._release_us = 0
        self._last_number = -1
        self._last_answer: "list[object]" = []
        self.make_safe()

    def make_safe(self) -> None:
        """Switch the shoe's power off, open all contacts, set the sensor outputs low."""
        board = self._board
        board.power(False)
        board.player.stop()
        board.open_contacts()
        self._power = self._prepared = False
        self._pressed = -1

    # In

    def feed(self, data: bytes) -> None:
        """Take bytes that came from the host."""
        for payload in self._reader.feed(data):
            self._take(payload)

    def _take(self, payload: bytes) -> None:
        try:
            message = cbor.decode(payload, 0, len(payload))
            if not isinstance(message, list) or type(message[0]) is not int:
                raise TypeError
            shape = _SHAPES[message[0]]
            values = message[1:]
            shape.check(values)
        except (cbor.CborError, schema.SchemaError, KeyError, TypeError, IndexError):
            self._not_messages += 1
            return
        if shape is rig.HELLO:
            self._hello(values[1])
            return
        if self.attached:
            self._heard_us = self._board.now_us()
        if shape is not rig.ALIVE:
            self._command(shape, values)

    def _hello(self, session: int) -> None:
        # A new session: everything that the previous one asked for ends.
        self.make_safe()
        self._answers.clear()
        self._board.watcher.changes.forget()
        self._board.screen.forget()
        self._last_number = -1
        self.attached = True
        self._heard_us = now_us = self._board.now_us()
        self._answer([rig.REPORT.number, rig.VERSION, VERSION, session, now_us])

    def _command(self, shape: schema.Shape, values: "list[Any]") -> None:
        number = values[0]
        if number == self._last_number:
            if self._last_answer:
                self._answer(self._last_answer)  # done once, answered each time
            return
        self._last_number = number
        self._last_answer = []
        try:
            if not self.attached:
                raise RigRefusal(_NOT_KNOWN)
            if number >= _NUMBER_LIMIT:
                raise RigRefusal(_BAD_ARGUMENTS)
            answer = self._carry_out(shape, values)
        except RigRefusal as refused:
            answer = [rig.REFUSED.number, number, refused.args[0]]
        if answer:
            self._last_answer = answer
            self._answer(answer)

    def _carry_out(self, shape: schema.Shape, values: "list[Any]") -> "list[object]":
        """Return the answer; empty if it comes later."""
        board, number, value = self._board, values[0], 0
        if shape is rig.POWER:
            self._set_power(values[1])
        elif shape is rig.BROWN_OUT:
            self._brown_out(values[1])
        elif shape is rig.SAG:
            self._sag(values[1], values[2], values[3], values[4])
        elif shape is rig.PRESS:
            self._press(number, values[1], values[2])
            return []
        elif shape is rig.SWITCH:
            board.contact("switch_" + enums.SWITCHES[values[1]], values[2])
        elif shape is rig.PREPARE:
            value = self._prepare(values[1])
        elif shape is rig.LOAD:
            value = self._load(values[1])
        elif shape is rig.START:
            value = self._start(number)
        elif shape is rig.STOP:
            board.player.stop()
            self._prepared = False
        else:
            return [rig.LEVELS.number, number, board.now_us(), board.levels()]
        return [rig.DONE.number, number, value]

    def _set_power(self, on: bool) -> None:
        if not on:
            # A shoe without power must get no current through its inputs.
            self._board.player.stop()
            self._prepared = False
        self._board.power(on)
        self._power = on

    def _brown_out(self, us: int) -> None:
        if not self._power:
            raise RigRefusal(_NO_POWER)
        if not 0 < us <= rig.MAX_BROWN_OUT_US:
            raise RigRefusal(_BAD_ARGUMENTS)
        self._board.brown_out(us)

    def _sag(self, mv: int, fall_us: int, low_us: int, rise_us: int) -> None:
        if not self._board.sags:
            raise RigRefusal(_NOT_FITTED)
        if not self._power:
            raise RigRefusal(_NO_POWER)
        if mv > rig.MAX_SUPPLY_MV or fall_us + low_us + rise_us > rig.MAX_SAG_US:
            raise RigRefusal(_BAD_ARGUMENTS)
        self._board.sag(mv, fall_us, low_us, rise_us)

    def _press(self, number: int, button: int, us: int) -> None:
        if self._pressed >= 0:
            raise RigRefusal(_BUSY)
        if not 0 < us <= rig.MAX_PRESS_US:
            raise RigRefusal(_BAD_ARGUMENTS)
        self._board.contact("button_" + enums.BUTTONS[button], True)
        self._pressed, self._press_number = button, number
        self._release_us = self._board.now_us() + us

    def _prepare(self, runs: int) -> int:
        player = self._board.player
        if player.playing:
            raise RigRefusal(_BUSY)
        if not 0 < runs <= rig.MAX_PATTERN_RUNS:
            raise RigRefusal(_BAD_ARGUMENTS)
        player.prepare(runs)
        self._prepared = True
        return player.room()

    def _load(self, runs: bytes) -> int:
        player = self._board.player
        if not self._prepared:
            raise RigRefusal(_NOT_LOADED)
        if not runs or len(runs) % rig.RUN_BYTES or len(runs) > rig.MAX_PART_BYTES:
            raise RigRefusal(_BAD_ARGUMENTS)
        for at in range(0, len(runs), rig.RUN_BYTES):
            us = runs[at] >> 4 | runs[at + 1] << 4 | runs[at + 2] << 12 | runs[at + 3] << 20
            if not rig.MIN_RUN_US <= us <= rig.MAX_RUN_US:
                raise RigRefusal(_BAD_ARGUMENTS)
        if len(runs) // rig.RUN_BYTES > player.room():
            raise RigRefusal(_FULL)
        if not player.load(runs):
            self._underrun()
            raise RigRefusal(_NOT_LOADED)
        return player.room()

    def _start(self, number: int) -> int:
        player = self._board.player
        if not self._power:
            raise RigRefusal(_NO_POWER)
        if player.playing:
            raise RigRefusal(_BUSY)
        if not self._prepared or not player.ready():
            raise RigRefusal(_NOT_LOADED)
        self._start_number = number
        self._begin_us = self._board.at_us(player.start())
        return self._begin_us

    # What the board does by itself

    def step(self) -> None:
        """Do everything that is due: end presses, play, watch, report problems."""
        board = self._board
        now_us = board.now_us()
        if self.attached and now_us - self._heard_us > _SILENCE_US:
            self.attached = False
            self.make_safe()
        if self._pressed >= 0 and now_us >= self._release_us:
            board.contact("button_" + enums.BUTTONS[self._pressed], False)
            self._pressed = -1
            answer: "list[object]" = [rig.DONE.number, self._press_number, 0]
            if self._press_number == self._last_number:
                self._last_answer = answer
            self._answer(answer)
        if not board.player.look():
            self._underrun()
        elif board.player.playing and now_us >= self._begin_us + board.player.length_us:
            self._played()
        board.watcher.look()
        self._report()

    def _played(self) -> None:
        # With runs still to be loaded, `length_us` is not yet the length of the pattern.
        player = self._board.player
        if player.room():
            return
        end_us = self._begin_us + player.length_us
        player.finish()
        self._prepared = False
        self._answer([rig.PLAYED.number, self._start_number, self._begin_us, end_us])

    def _underrun(self) -> None:
        self._board.player.stop()
        self._prepared = False
        self._underruns += 1

    def _report(self) -> None:
        counts = self._seen
        self._problem(counts, _DAMAGED, self._reader.damaged)
        self._problem(counts, _OVERSIZE, self._reader.oversize)
        self._problem(counts, _NOT_A_MESSAGE, self._not_messages)
        self._problem(counts, _CHANGES_LOST, self._board.watcher.changes.lost)
        self._problem(counts, _DISPLAY_LOST, self._board.screen.lost)
        self._problem(counts, _UNDERRUN, self._underruns)

    def _problem(self, counts: "list[int]", problem: int, count: int) -> None:
        if count != counts[problem]:
            counts[problem] = count
            if self.attached:
                self._answer([rig.PROBLEM.number, problem, count])

    # Out

    def fill(self) -> int:
        """Prepare the bytes to be sent in `out`; return how many there are."""
        if not self.attached:
            self._board.watcher.changes.forget()
            self._board.screen.forget()
        size = 0
        while len(self.out) - size >= frame.MAX_FRAME:
            message = self._next()
            if message is None:
                break
            end = cbor.encode_array(self._payload, 0, message, len(message))
            size = frame.write_frame(self._payload, end, self.out, size)
        return size

    def _next(self) -> "list[object] | None":
        # Changes come first: a host that has an answer then has every change seen before it.
        board = self._board
        change = board.watcher.changes.take()
        if change is not None:
            look_us, what, value = change
            return [rig.CHANGE.number, board.watching_since_us + look_us, what, value]
        written = board.screen.take()
        if written is not None:
            return [rig.DISPLAY.number, board.at_us(written[0]), written[1]]
        return self._answers.pop(0) if self._answers else None

    def _answer(self, message: "list[object]") -> None:
        # With too many commands some get no answer: a host repeats what it needs.
        if len(self._answers) < _MAX_ANSWERS:
            self._answers.append(message)
