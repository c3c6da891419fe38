"""A host that lies: any message in any order, wrong, repeated, cut, huge; floods; half transfers.

It frames and encodes as protocol/README.md says, with cbor2 and zlib, and shares no code with
either end but the list of the messages. What it does follows from the seed alone, except for what
the shoe draws at random. With a `key` it is a host that has proved itself, and does harm all the
same.
"""

import hmac
import random
from collections.abc import Callable
from typing import Any

import cbor2

from host.tests.adversary.line_adversary import Message, frame_of, payload_of
from sabot_protocol import VERSION, enums, messages
from sabot_protocol.schema import Shape

_LABEL = b"sabot host to shoe"
_SIZES = (0, 1, 15, 16, 17, 64, 300, 460, 461)
_NUMBERS = (0, 1, 2, 3, 23, 24, 255, 256, 1 << 31, 1 << 32, (1 << 53) + 1, (1 << 64) - 1)
_COMMANDS = tuple(shape for shape in messages.TO_DEVICE if shape.by is not None)
_HARMLESS = (messages.STATUS, messages.HEALTH, messages.UPDATE_STATUS)


class LyingHost:
    """Sends to a shoe that has events up to `last`. `heard` are frames of honest sessions.

    `spares` are commands that it does not sign, because they do what they should.
    """

    def __init__(
        self,
        rng: random.Random,
        key: bytes,
        heard: list[bytes],
        documents: list[bytes],
        spares: tuple[Shape, ...],
    ) -> None:
        self._rng = rng
        self._key = key
        self._heard = heard
        self._documents = documents
        self._spares = spares
        self._session = 0
        self._challenge = b""
        self._last = 0
        self._own: list[bytes] = []
        self._rest = b""
        self._transfer: list[bytes] = []

    def hear(self, data: bytes) -> None:
        """Take what the shoe sends."""
        *frames, self._rest = (self._rest + data).split(b"\0")
        for frame in frames:
            payload = payload_of(frame)
            message = cbor2.loads(payload) if payload else [0]
            if message[0] == messages.CHALLENGE.number:
                self._session, self._challenge = message[1:3]
            elif message[0] in (messages.WELCOME.number, messages.HEARTBEAT.number):
                self._last = message[7]

    def says(self) -> bytes:
        """Return what it sends next."""
        rng = self._rng
        ways: tuple[tuple[int, Callable[[], bytes]], ...] = (
            (4, self._hello),
            (4, self._ack),
            (4, self._any_message),
            (6, self._signed),
            (3, self._heard_before),
            (3, self._broken),
            (2, self._flood),
            (4, self._part),
            (1, lambda: rng.randbytes(rng.choice((1, 40, 700, 5000)))),
        )
        (way,) = rng.choices([each for _, each in ways], [weight for weight, _ in ways])
        data = way()
        self._own = [*self._own[-50:], data]
        if rng.random() < 0.1:
            data = data[: rng.randrange(len(data) + 1)]  # a half frame: the next one is its end
        if rng.random() < 0.1:
            data *= rng.choice((2, 3, 20))
        return data

    # ---- what it says

    def _hello(self) -> bytes:
        rng = self._rng
        version = VERSION if rng.random() < 0.8 else rng.choice(_NUMBERS)
        session = rng.choice((self._session, rng.getrandbits(64), rng.choice(_NUMBERS)))
        return _framed([messages.HELLO.number, version, session])

    def _ack(self) -> bytes:
        rng, last = self._rng, self._last
        near = (last - 1, last, last + 1, last + 2, last // 2)
        return _framed([messages.ACK.number, max(0, rng.choice((*near, rng.choice(_NUMBERS))))])

    def _any_message(self) -> bytes:
        rng = self._rng
        shape = rng.choice(messages.TO_DEVICE + messages.TO_HOST)
        return _framed(self._message(shape))

    def _signed(self) -> bytes:
        rng = self._rng
        shape = rng.choice(_COMMANDS)
        if self._key and shape in self._spares:
            shape = rng.choice(_HARMLESS)
        message = self._message(shape)
        inner = cbor2.dumps(message, canonical=True)
        if rng.random() < 0.1:
            inner = inner[: rng.randrange(len(inner))]
        return self._under_mac(inner, message[1] if rng.random() < 0.9 else self._id())

    def _under_mac(self, inner: bytes, command_id: int) -> bytes:
        rng = self._rng
        key = self._key if rng.random() < 0.9 else b""
        mac = self._mac(key, inner) if key else rng.choice((b"", bytes(16), rng.randbytes(16)))
        if rng.random() < 0.05:
            mac = mac[:-1] or b"\0"
        return _framed([messages.SIGNED.number, command_id, inner, mac])

    def _mac(self, key: bytes, inner: bytes) -> bytes:
        challenge = self._challenge
        part = self._session.to_bytes(8, "big") + bytes([len(challenge)]) + challenge
        message = _LABEL + part + len(inner).to_bytes(2, "big") + inner
        return hmac.digest(key, message, "sha256")[:16]

    def _heard_before(self) -> bytes:
        known = self._heard + self._own
        count = self._rng.choice((1, 1, 4, len(self._heard)))
        if not known:
            return b"\0"
        at = self._rng.randrange(len(known))
        return b"".join(known[at : at + count])

    def _broken(self) -> bytes:
        rng = self._rng
        message = self._message(rng.choice(messages.TO_DEVICE))
        payload = cbor2.dumps(message, canonical=True)
        way = rng.randrange(7)
        if way == 0:
            return _frame(payload[: rng.randrange(len(payload))])
        if way == 1:
            message[rng.randrange(len(message))] = rng.choice(
                (None, "text", b"bytes", -1, 1.5, True, [], {"a": 1}, [[[[[[1]]]]]], 1 << 70)
            )
            return _framed(message)
        if way == 2:
            return _framed(message + [0] * rng.choice((1, 30)))
        if way == 3:
            head = rng.choice((b"\x9b", b"\x5b", b"\x7b", b"\xbb"))  # 2^63 items or bytes follow
            return _frame(head + b"\x7f" + 7 * b"\xff" + payload)
        if way == 4:
            changed = bytearray(_frame(payload))
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
        if way == 5:
            return rng.randbytes(rng.choice((600, 3000))).replace(b"\0", b"\1")  # no end
        return b"\x81" * 400 + b"\0" + _frame(400 * b"\x81")  # nested

    def _flood(self) -> bytes:
        rng = self._rng
        ways = (self._any_message, self._hello, self._ack, self._signed, self._broken)
        one = rng.choice(ways)
        if rng.random() < 0.5:
            return one() * rng.choice((20, 80))
        return b"".join(one() for _ in range(40))

    def _part(self) -> bytes:
        """The next part of a transfer that may stop at any part."""
        rng = self._rng
        if not self._transfer or rng.random() < 0.2:
            self._transfer = self._new_transfer()
        if rng.random() < 0.1:
            rng.shuffle(self._transfer)
        inner = self._transfer.pop(0)
        command_id = cbor2.loads(inner)[1]
        if self._challenge and rng.random() < 0.9:
            return self._under_mac(inner, command_id)
        return _frame(inner)

    def _new_transfer(self) -> list[bytes]:
        rng = self._rng
        document = rng.choice((*self._documents, rng.randbytes(900)))
        document = document[: rng.choice((len(document), rng.randrange(1, len(document) + 1)))]
        shape = rng.choice((messages.LOAD_GAME, messages.PROVISION, messages.UPDATE_PART))
        size = rng.choice((len(document), len(document) + 1, 6000))
        parts: list[Message] = []
        if shape is messages.UPDATE_PART:
            parts.append([messages.UPDATE.number, self._id(), size])
        for offset in range(0, len(document), 400):
            part = document[offset : offset + 400]
            fields = [offset, part] if shape is messages.UPDATE_PART else [offset, size, part]
            parts.append([shape.number, self._id(), *fields])
        spared = [part for part in parts if not self._spared(part[0])]
        return [cbor2.dumps(part, canonical=True) for part in spared] or [b"\x82\x12\x01"]

    def _spared(self, number: int) -> bool:
        return bool(self._key) and any(shape.number == number for shape in self._spares)

    # ---- values

    def _id(self) -> int:
        """Mostly one that was not used before."""
        rng = self._rng
        self._last_id = getattr(self, "_last_id", 0) + 1
        return self._last_id if rng.random() < 0.8 else rng.choice(_NUMBERS)

    def _message(self, shape: Shape) -> Message:
        values = [self._value(kind) for _, kind in shape.fields]
        if shape.by is not None or shape is messages.SIGNED:
            values[0] = self._id()
        return [shape.number, *values]

    def _value(self, kind: str) -> Any:
        rng = self._rng
        if kind.endswith("?"):
            return None if rng.random() < 0.3 else self._value(kind[:-1])
        if kind in ("uint", "int"):
            return rng.choice((*_NUMBERS[:-1], self._last, rng.getrandbits(20)))
        if kind == "text":
            return "x" * rng.choice(_SIZES)
        if kind == "bytes":
            return rng.randbytes(rng.choice(_SIZES))
        if kind == "flag":
            return rng.random() < 0.5
        if kind == "card":
            return rng.randrange(54)
        return rng.randrange(len(enums.ENUMERATIONS[kind]))


def _frame(payload: bytes) -> bytes:
    return frame_of(payload)


def _framed(message: Message) -> bytes:
    return frame_of(cbor2.dumps(message, canonical=True))
