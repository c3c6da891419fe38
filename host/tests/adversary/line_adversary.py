"""Adversaries on the line between a shoe and its host, who know everything but the command key.

They speak the protocol as protocol/README.md describes it, with cbor2 and zlib, and share no code
with either end. What they do in a case follows from the seed alone.
"""

import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import cbor2

_HELLO, _ACK, _SIGNED, _IDENTIFY, _LOAD_GAME = 1, 2, 29, 17, 20
_WELCOME, _WRONG_VERSION, _EVENT, _FIRMWARE, _GAME, _CHALLENGE = 64, 65, 66, 71, 72, 77

Message = list[Any]


def frame_of(payload: bytes) -> bytes:
    """Return the frame of a payload: CRC-32, COBS, a zero."""
    data = payload + zlib.crc32(payload).to_bytes(4, "little")
    out = bytearray()
    for block in data.split(b"\0"):
        while len(block) >= 254:
            out += b"\xff" + block[:254]
            block = block[254:]
        out += bytes([len(block) + 1]) + block
    return bytes(out) + b"\0"


def payload_of(frame: bytes) -> bytes:
    """Return the payload of a frame without its zero; empty if it is damaged."""
    out, at = bytearray(), 0
    while at < len(frame):
        code = frame[at]
        out += frame[at + 1 : at + code]
        at += code
        if code < 255 and at < len(frame):
            out.append(0)
    payload = bytes(out[:-4])
    good = zlib.crc32(payload).to_bytes(4, "little") == bytes(out[-4:])
    return payload if good else b""


def _encoded(message: Message) -> bytes:
    return cbor2.dumps(message, canonical=True)


class _Frames:
    """Cuts a stream into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> list[Message]:
        *frames, self._rest = (self._rest + data).split(b"\0")
        payloads = [payload_of(frame) for frame in frames]
        return [cbor2.loads(payload) for payload in payloads if payload]


class Knowledge:
    """All that was ever seen on lines: it is used again, whole and in parts."""

    def __init__(self) -> None:
        self.answers: list[list[Message]] = []
        """Answers of the real shoe to a `hello`: four messages each."""
        self.signed: list[Message] = []
        self.octets: list[bytes] = [b"", bytes(16), b"\xff" * 16]
        """Challenges, proofs and MACs."""


class ManInTheMiddle:
    """Changes, repeats, adds and drops what goes over the line, up to `active` messages.

    Once the host asks for events it changes nothing more: no MAC of the session covers them.
    """

    def __init__(self, rng: random.Random, known: Knowledge, active: int) -> None:
        self._rng = rng
        self._known = known
        self._left = active
        self._to_shoe, self._to_host = _Frames(), _Frames()
        self._answers: list[Message] = []
        self._begun = b""

    def from_host(self, data: bytes) -> bytes:
        """Return what reaches the shoe."""
        out = b""
        for message in self._to_shoe.take(data):
            if message[0] == _SIGNED:
                self._known.signed.append(message)
                self._known.octets.append(message[3])
            elif message[0] == _ACK:
                self._left = 0
            out += self._changed(message, self._ways_to_shoe)
        return out

    def from_shoe(self, data: bytes) -> bytes:
        """Return what reaches the host."""
        out = b""
        for message in self._to_host.take(data):
            if message[0] == _CHALLENGE:
                self._known.octets += message[2:4]
            if message[0] in (_WELCOME, _FIRMWARE, _GAME, _CHALLENGE):
                self._answers = [*self._answers[-3:], message]
                if message[0] == _CHALLENGE and len(self._answers) == 4:
                    self._known.answers.append(self._answers)
            out += self._changed(message, self._ways_to_host)
        return out

    def _changed(
        self, message: Message, ways: Callable[[Message], Sequence[Callable[[], list[Message]]]]
    ) -> bytes:
        sent = [message]
        if self._left and self._rng.random() < 0.6:
            self._left -= 1
            sent = self._rng.choice(ways(message))()
        return b"".join(frame_of(_encoded(each)) for each in sent)

    # ---- towards the shoe

    def _ways_to_shoe(self, message: Message) -> Sequence[Callable[[], list[Message]]]:
        rng, known = self._rng, self._known
        ways: list[Callable[[], list[Message]]] = [
            list,  # dropped
            lambda: [message, message],
            lambda: [message, [_ACK, rng.choice((0, 1, 5, 99))]],
            lambda: [message, [_IDENTIFY, rng.randrange(1, 50)]],
            lambda: [[_HELLO, rng.choice((0, 8, 10, 1 << 40)), rng.getrandbits(64)], message],
        ]
        if known.signed:
            ways.append(lambda: [message, self._command()])
            ways.append(lambda: [message, rng.choice(known.signed)])
        if message[0] == _HELLO:
            ways.append(lambda: [[_HELLO, message[1], rng.choice((0, rng.getrandbits(64)))]])
        if message[0] == _SIGNED:
            ways += [lambda: [self._resigned(message)]] * 4
        return ways

    def _resigned(self, message: Message) -> Message:
        """The host's MAC on another command: one that ends like the signed one, and others."""
        rng = self._rng
        _, command_id, command, mac = message
        other = rng.choice(
            (
                _encoded([_IDENTIFY, command_id]),
                _encoded([_LOAD_GAME, command_id, 0, 500, rng.randbytes(9) + command]),
                _encoded([_LOAD_GAME, command_id, 0, 500, command]),
                self._begun + command,
                self._begun + command,
                command + bytes([rng.randrange(256)]),
                command[:-1],
                rng.choice(self._known.octets) + command,
                b"\0\0" + command,
            )
        )
        return [_SIGNED, command_id, other, mac]

    def _command(self) -> Message:
        """A command of its own, with any MAC or proof that was ever seen."""
        rng = self._rng
        command_id = rng.randrange(1, 50)
        mac = rng.choice(self._known.octets)
        return [_SIGNED, command_id, _encoded([_IDENTIFY, command_id]), mac]

    # ---- towards the host

    def _ways_to_host(self, message: Message) -> Sequence[Callable[[], list[Message]]]:
        rng = self._rng
        ways: list[Callable[[], list[Message]]] = [
            list,
            lambda: [message, message],
            lambda: [_event(rng), message],
            lambda: [_forged(rng, message, self._known)],
        ]
        if message[0] == _CHALLENGE:
            ways += [lambda: [self._other_challenge(message)]] * 4
        return ways

    def _other_challenge(self, message: Message) -> Message:
        """A challenge that begins as the real one: what the host signs may serve elsewhere."""
        rng = self._rng
        _, session, challenge, proof = message
        # With this before it, a short command is the part of a game document in another command.
        size = rng.choice((3, 4, 12))
        self._begun = _encoded([_LOAD_GAME, rng.randrange(1, 4), 0, 500, bytes(size)])[:-size]
        other = rng.choice(
            (
                challenge + self._begun,
                challenge + self._begun,
                challenge + self._begun[: rng.randrange(1, len(self._begun))],
                challenge + rng.choice(self._known.octets),
                challenge[: rng.randrange(16)],
                rng.choice(self._known.octets),
                rng.randbytes(rng.choice((16, 17, 32, 200))),
                b"",
            )
        )
        return [_CHALLENGE, session, other, rng.choice((proof, b"", rng.randbytes(16)))]


class Impostor:
    """Says that it is `unit`. It answers a host as the real shoe would, with all that was seen of
    it, and with the keys of other units."""

    def __init__(
        self, rng: random.Random, known: Knowledge, unit: str, version: int, prove: bytes
    ) -> None:
        self._rng = rng
        self._known = known
        self._unit = unit
        self._version = version
        self._own_proof = prove
        self._frames = _Frames()
        self.number = 0

    def answer(self, data: bytes) -> bytes:
        """Return what it sends for what came."""
        out: list[Message] = []
        for message in self._frames.take(data):
            if message[0] == _HELLO:
                out += self._introduction(message[2])
            elif message[0] == _SIGNED:
                self._known.signed.append(message)
                self._known.octets.append(message[3])
                out.append(self._reply(message))
            elif message[0] == _ACK:
                out += [_event(self._rng, number) for number in range(1, 4)]
        if self._rng.random() < 0.1:
            out.append(_event(self._rng))
        return b"".join(frame_of(_encoded(each)) for each in out)

    def _reply(self, message: Message) -> Message:
        if cbor2.loads(message[2])[0] == 26:
            return [76, message[1], 0, b"", 0, 0, ""]
        return [67, message[1], 0, ""]

    def _introduction(self, session: int) -> list[Message]:
        rng = self._rng
        if self._known.answers and rng.random() < 0.6:
            answers = [list(message) for message in rng.choice(self._known.answers)]
            if rng.random() < 0.8:
                for message in answers:
                    message[1] = session
        else:
            held = rng.randrange(100)
            answers = [
                [_WELCOME, session, self._version, self._unit, 3, 0, 1, held, 512],
                [_FIRMWARE, session, "0.1.0", rng.randbytes(32), "pico"],
                [_GAME, session, "mini", rng.randbytes(32)],
                [_CHALLENGE, session, rng.randbytes(16), b""],
            ]
        challenge = answers[3]
        if rng.random() < 0.8:
            challenge[3] = rng.choice(
                (b"", bytes(16), rng.randbytes(16), rng.choice(self._known.octets), self._own_proof)
            )
        if rng.random() < 0.2:
            challenge[2] = rng.choice((b"", rng.choice(self._known.octets), rng.randbytes(17)))
        if rng.random() < 0.2:
            challenge[2:] = b"", b""  # as a board that is not a unit yet
        if rng.random() < 0.3:
            answers[rng.randrange(4)] = _forged(rng, rng.choice(answers), self._known)
        if rng.random() < 0.1:
            answers.append([_WRONG_VERSION, rng.choice((1, 10)), self._version])
        return answers


def _forged(rng: random.Random, message: Message, known: Knowledge) -> Message:
    """The message with a field changed, or another one that was seen."""
    if known.answers and rng.random() < 0.3:
        return rng.choice(rng.choice(known.answers))
    forged = list(message)
    place = rng.randrange(1, len(forged))
    value = forged[place]
    if isinstance(value, bytes):
        forged[place] = rng.choice((value[:-1], value + b"\0", rng.randbytes(len(value)), b""))
    elif isinstance(value, str):
        forged[place] = rng.choice((value + "x", "SHOE-8", "none", ""))
    elif isinstance(value, int):
        forged[place] = rng.choice((0, value + 1, max(0, value - 1), rng.getrandbits(20)))
    return forged


def _event(rng: random.Random, number: int = 0) -> Message:
    """An event of its own making: `identified`, with a MAC of no chain."""
    record = _encoded([23, number or rng.randrange(1, 9), 1, 500, None, 0, 0])
    return [_EVENT, record, rng.randbytes(16)]
