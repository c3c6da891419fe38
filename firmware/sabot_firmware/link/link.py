"""The shoe's end of the link: bytes in, bytes out. It uses no port and no clock.

Nothing is sent before a host's `hello`. Its first `ack` says which events it has. The next ones are
sent in order, up to WINDOW ahead of the acknowledged ones, and sent again if there is no progress.
If a host is silent for long, nothing is sent until the next `hello`.

A session has the highest version of the protocol that both ends know. A host of version 10 knows
fewer fields and events than a host of a later version, which takes all that it does not know.
"""

from sabot_firmware.link.answers import Refusal, reply
from sabot_firmware.native import const
from sabot_protocol import OLDEST, VERSION, cbor, enums, events, frame, messages, schema

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Device, Events
    from sabot_firmware.link.authentication import CommandGuard
    from sabot_protocol.schema import Shape

WINDOW = const(48)
"""How many events may be sent ahead of the last acknowledged one."""
RESEND_MS = const(250)
REWIND_PAUSE_MS = const(15)
"""A repeated `ack` asks for missing events. The least time between two that count."""

STUCK_MS = const(30000)
"""How long events may wait for a host of version 10 that asks for them and takes none. It cannot
read the next one then, and does not say so."""

_BUFFER_SIZE = const(2048)
_MOST_EVENTS = const(4)
"""In one turn: an event takes a Pico 3 ms, and cards and the display must wait for it."""
_DAMAGED = enums.PROBLEMS.index("damaged")
_OVERSIZE = enums.PROBLEMS.index("oversize")
_NOT_A_MESSAGE = enums.PROBLEMS.index("not_a_message")
_NOT_PROVEN = enums.PROBLEMS.index("not_proven")
_MAX_ANSWERS = const(5)
_SHAPES = {shape.number: shape for shape in messages.TO_DEVICE}


class Link:
    """The link to one host at a time. `outbox` holds the events, `device` is the rest of the shoe
    (shoe.py), `guard` decides which commands to take."""

    def __init__(self, outbox: "Events", device: "Device", guard: "CommandGuard") -> None:
        self.attached = False
        """Whether a host has said `hello` and is not silent."""
        self.listening = False
        """Whether that host has sent its first `ack`, so that it gets events."""
        self.out = bytearray(_BUFFER_SIZE)
        """The bytes to send; `fill` writes them."""
        self.dropped = 0
        """The number of frames from the host that were not messages, since the start."""
        self.version = VERSION
        """The version of the protocol that this session has."""
        self._outbox = outbox
        self._device = device
        self._guard = guard
        self._reader = frame.FrameReader()
        self._payload = bytearray(frame.MAX_PAYLOAD + frame.CRC_SIZE)
        self._view = memoryview(self._payload)
        self._answers: "list[list[object]]" = []
        self._seen = [0] * len(enums.PROBLEMS)
        self._heard_ms = 0
        self._progress_ms = 0
        self._taken_ms = 0  # when the host last took an event, or had them all
        self._events_in_out = False
        self._heartbeat_ms = 0
        self._command_id = -1
        self._command_answer: "list[object]" = []

    def feed(self, data: bytes, now_ms: int) -> None:
        """Take bytes that came from the host at `now_ms`."""
        self._end_if_silent(now_ms)
        for payload in self._reader.feed(data):
            self._take(payload, now_ms)
        self._report(_DAMAGED, self._reader.damaged)
        self._report(_OVERSIZE, self._reader.oversize)
        self.dropped = sum(self._seen)

    def fill(self, now_ms: int) -> int:
        """Write the bytes to send at `now_ms` to `out`; return how many. The line has taken all
        that the last call wrote."""
        self._end_if_silent(now_ms)
        size = 0
        while self._answers and len(self.out) - size >= frame.MAX_FRAME:
            size = self._write(self._answers.pop(0), size)
        if not self.attached:
            return size
        room = len(self.out) - size >= frame.MAX_FRAME
        if room and now_ms - self._heartbeat_ms >= messages.HEARTBEAT_MS:
            self._heartbeat_ms = now_ms
            size = self._write(self._device.heartbeat(now_ms), size)
        return self._write_events(now_ms, size) if self.listening else size

    def _end_if_silent(self, now_ms: int) -> None:
        if self.attached and now_ms - self._heard_ms > messages.SILENCE_MS:
            self._detach()

    def _detach(self) -> None:
        self.attached = self.listening = False
        self._guard.end()

    def _write_events(self, now_ms: int, size: int) -> int:
        outbox = self._outbox
        if self._events_in_out:
            # Only now can the host have them all: 2 KB take a Pico up to half a second.
            self._events_in_out = False
            self._progress_ms = now_ms
        if now_ms - self._progress_ms >= RESEND_MS:
            self._rewind(now_ms)
        if not outbox.unacked():
            self._taken_ms = now_ms
        elif self.version == OLDEST and now_ms - self._taken_ms > STUCK_MS:
            self._refuse_version(self.version)
            return size
        # Do not wait for events that the outbox has given up.
        last = max(outbox.acked, outbox.first_held - 1) + WINDOW
        for _ in range(_MOST_EVENTS):
            room = len(self.out) - size >= frame.MAX_FRAME
            taken = outbox.take() if room and outbox.cursor_number <= last else None
            if taken is None:
                break
            size = self._write_event(taken.record, taken.mac, size)
            self._events_in_out = True
        return size

    def _write_event(self, record: memoryview, mac: memoryview, at: int) -> int:
        payload = self._payload
        size = len(record)
        # The same bytes as encode_array(payload, 0, [EVENT.number, record, mac], 3), but without a
        # loop over the bytes.
        payload[0] = 0x83
        payload[1] = 0x18
        payload[2] = messages.EVENT.number
        if size < 24:
            payload[3] = 0x40 | size
            begin = 4
        else:
            payload[3] = 0x58
            payload[4] = size
            begin = 5
        begin += size
        self._view[begin - size : begin] = record
        end = begin + 1 + events.MAC_SIZE
        payload[begin] = 0x40 | events.MAC_SIZE
        self._view[begin + 1 : end] = mac
        return frame.write_frame(payload, end, self.out, at)

    def _write(self, message: "list[object]", at: int) -> int:
        if self.version == OLDEST and message[0] in messages.GROWN:
            message = message[: 1 + messages.GROWN[message[0]]]  # type: ignore[index]
        size = cbor.encode_array(self._payload, 0, message, len(message))
        return frame.write_frame(self._payload, size, self.out, at)

    def _rewind(self, now_ms: int) -> None:
        self._progress_ms = now_ms
        self._outbox.rewind()

    def _report(self, problem: int, count: int) -> None:
        if count != self._seen[problem]:
            self._seen[problem] = count
            if self.attached:
                self._answer([messages.PROBLEM.number, problem, count])

    def _answer(self, message: "list[object]") -> None:
        # A flood gets only some answers: a host repeats a command that it needs.
        if len(self._answers) < _MAX_ANSWERS:
            self._answers.append(message)

    def _take(self, payload: bytes, now_ms: int) -> None:
        shape, values = _message(payload)
        if shape is None:
            self._count(_NOT_A_MESSAGE)
        elif shape is messages.HELLO:
            self._hello(values[0], values[1], now_ms)  # type: ignore[arg-type]
        elif self.attached:
            self._heard_ms = now_ms
            if shape is not messages.ACK:
                self._command(shape, values, now_ms)
            elif self._guard.proven:
                self._ack(values[0], now_ms)  # type: ignore[arg-type]
            else:
                self._count(_NOT_PROVEN)

    def _count(self, problem: int) -> None:
        self._report(problem, self._seen[problem] + 1)

    def _hello(self, protocol: int, session: int, now_ms: int) -> None:
        if protocol < OLDEST:
            self._refuse_version(protocol)
            return
        self._answers = []
        self.version = min(protocol, VERSION)
        self.attached = True
        self.listening = False
        self._heard_ms = self._heartbeat_ms = now_ms
        self._command_id = -1
        self._guard.begin(session)
        size = 0
        for message in self._device.welcome(session):
            self._answer(message)
            size = cbor.encode_array(self._payload, size, message, len(message))
        guard = self._guard
        proof = guard.proof(self._view[:size])
        self._answer([messages.CHALLENGE.number, session, guard.challenge, proof])

    def _refuse_version(self, asked: int) -> None:
        self._answers = []
        self._detach()
        self._answer([messages.WRONG_VERSION.number, VERSION, asked])

    def _ack(self, number: int, now_ms: int) -> None:
        outbox = self._outbox
        before = outbox.acked
        if not self.listening:
            self._taken_ms = now_ms
            self.listening = known = outbox.serve_from(number)
            self._rewind(now_ms)
            self._device.acknowledged()
        else:
            known = outbox.acknowledge(number)
        if not known:
            self._count(_NOT_A_MESSAGE)
        elif outbox.acked > before:
            self._progress_ms = self._taken_ms = now_ms
            self._device.acknowledged()
        elif now_ms - self._progress_ms >= REWIND_PAUSE_MS and outbox.unacked():
            self._rewind(now_ms)

    def _command(self, shape: "Shape", values: "list[object]", now_ms: int) -> None:
        # The host repeats a command until it is answered: do it once, answer each time.
        command_id: int = values[0]  # type: ignore[assignment]
        if command_id != self._command_id:
            try:
                command, values = self._allowed(shape, values, now_ms)
            except Refusal as refused:
                # Not kept: a refusal to a stranger must not answer the host.
                self._answer(reply(command_id, refused.reason, refused.detail))
                return
            self._command_id = command_id
            self._command_answer = self._device.command(command, values)
        self._answer(self._command_answer)

    def _allowed(
        self, shape: "Shape", values: "list[object]", now_ms: int
    ) -> "tuple[Shape, list[object]]":
        """Return the command and its values, taken out of a `signed`. Raises Refusal."""
        if shape.by is not None:
            self._guard.allow(shape)
            return shape, values
        command_id: int = values[0]  # type: ignore[assignment]
        signed: bytes = values[1]  # type: ignore[assignment]
        mac: bytes = values[2]  # type: ignore[assignment]
        inner, inner_values = _message(signed)
        if inner is None or inner.by is None or inner_values[0] != command_id:
            raise Refusal("no_command")
        self._guard.allow_signed(command_id, signed, mac, now_ms)
        return inner, inner_values


def _message(payload: bytes) -> "tuple[Shape | None, list[object]]":
    """Return the shape and the values of a message; None as shape if it is not a message."""
    try:
        message = cbor.decode(payload, 0, len(payload))
        if not isinstance(message, list) or type(message[0]) is not int:
            return None, []
        shape = _SHAPES[message[0]]
        values = message[1:]
        shape.check(values)
    except (cbor.CborError, schema.SchemaError, KeyError, TypeError, IndexError):
        return None, []
    return shape, values
