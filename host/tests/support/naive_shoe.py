"""A naive shoe, a bad line and special ports, to test the host's end of the link."""

import hashlib
import hmac
import os
import random
import select
import socket
import termios
import threading
import time
import tty
from collections.abc import Callable

from host.tests.support.helpers import event_bytes, framed
from sabot.link import wire
from sabot.link.command_keys import CommandKeyFile
from sabot.link.session import Record
from sabot_protocol import OLDEST, VERSION, baccarat, messages
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import FrameReader

KEY = bytes(range(60, 92))
"""The command key of every naive shoe."""

KEYS = CommandKeyFile()
KEYS.put("U1", KEY)

GAME = baccarat.document_of("mini")
"""The document of the game that a naive shoe deals."""

_CHALLENGE = bytes(range(160, 176))


def proof_of(key: bytes, session: int, challenge: bytes, *frames: bytes) -> bytes:
    """The MAC that proves which unit sends these frames, by protocol/README.md, "Who may ask"."""
    answers = b"".join(payload for each in frames for payload in FrameReader().feed(each))
    part = session.to_bytes(8, "big") + bytes([len(challenge)]) + challenge
    message = b"sabot shoe to host" + part + len(answers).to_bytes(2, "big") + answers
    return hmac.digest(key, message, "sha256")[:MAC_SIZE]


def fake_mac(data: bytes) -> bytes:
    """A MAC of no chain, for code that only carries and stores MACs."""
    return hashlib.sha256(data).digest()[:MAC_SIZE]


def recorded(data: bytes) -> Record:
    """An event as a session delivers it, from its record."""
    return Record(wire.parse_event(data), data, fake_mac(data))


def naive_event(number: int) -> bytes:
    """The record that a naive shoe makes for event `number`."""
    return event_bytes("identified", number, t_ms=7 * number, round=number // 50)


class BadLine:
    """One direction: whole frames go in; bytes come out, some late, twice, damaged or never."""

    def __init__(self, rng: random.Random, trouble: float) -> None:
        self._rng = rng
        self._trouble = trouble
        self._on_the_way: list[tuple[float, bytes]] = []

    def send(self, frame: bytes, now_s: float) -> None:
        rng, arrives_s = self._rng, now_s + 0.001
        if rng.random() < self._trouble:
            trouble = rng.choice(("lost", "twice", "late", "changed", "cut", "noise"))
            at = rng.randrange(len(frame))
            if trouble == "lost":
                return
            if trouble == "twice":
                self._on_the_way.append((arrives_s + rng.random() / 5, frame))
            elif trouble == "late":
                arrives_s += rng.random() / 5
            elif trouble == "changed":
                frame = frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]
            elif trouble == "cut":
                frame = frame[:at]
            else:
                frame = rng.randbytes(rng.randrange(1, 700)) + frame
        self._on_the_way.append((arrives_s, frame))

    def arrived(self, now_s: float) -> bytes:
        due = sorted((each for each in self._on_the_way if each[0] <= now_s), key=lambda e: e[0])
        self._on_the_way = [each for each in self._on_the_way if each[0] > now_s]
        return b"".join(frame for _, frame in due)


class NaiveShoe:
    """A shoe that sends events again until they are acknowledged, and holds at most `room` events.

    With `forgets` it drops all acknowledged events but the last one: a host that acknowledges an
    event without storing it never gets it again.
    """

    def __init__(self, first: int, room: int = 10_000, *, forgets: bool = False) -> None:
        self.held: dict[int, bytes] = {}
        self.given_up: set[int] = set()
        self.next_number = first
        self.unit, self.boot = "U1", 0
        self.game, self.document = "mini", GAME
        self.version = VERSION
        """The version of the protocol that it speaks. One of version 10 speaks no other; a later
        one speaks all from 10 on."""
        self.key = KEY
        """The key with which it proves that it is the unit; empty: it is not a unit yet."""
        self.acknowledged = 0
        """The highest number that any host has acknowledged as durable."""
        self._room = room
        self._forgets = forgets
        self._acked: int | None = None
        self._attached = False
        self._frames = FrameReader()
        self._resend_s = 0.0
        self._heartbeat_s = 0.0
        self._sent = 0

    @property
    def _game_sha256(self) -> bytes:
        return hashlib.sha256(self.document).digest()

    @property
    def first_held(self) -> int:
        return min(self.held, default=self.next_number)

    def record(self, count: int) -> None:
        for _ in range(count):
            number = self.next_number
            self.held[number] = naive_event(number)
            self.next_number += 1
            if len(self.held) > self._room:
                oldest = self.first_held
                del self.held[oldest]
                if oldest > (self._acked or 0):
                    self.given_up.add(oldest)

    def answer(self, message: wire.Message) -> list[bytes]:
        """Frames that answer a command. Only SET_CLOCK is answered, but no clock is set; and
        UPDATE_STATUS, with which a host proves that it has the key; and READ_GAME."""
        if message.shape is messages.SET_CLOCK:
            return [framed(messages.REPLY, id=message.fields["id"])]
        if message.shape is messages.UPDATE_STATUS:
            return [framed(messages.UPDATE_REPORT, id=message.fields["id"])]
        if message.shape is messages.STIR:
            return [framed(messages.STIR_REPORT, id=message.fields["id"])]
        if message.shape is messages.READ_GAME:
            return [self.game_part(**message.fields)]
        return []

    def introduction(self, session: int) -> list[bytes]:
        """Frames that answer a `hello`."""
        numbers = {"first_held": self.first_held, "last_held": self.next_number - 1}
        own = {"session": session, "unit": self.unit, "boot": self.boot}
        frames = [
            framed(messages.WELCOME, protocol=self.version, **own, **numbers),
            framed(messages.FIRMWARE, session=session, version="9"),
            framed(messages.GAME, session=session, name=self.game, sha256=self._game_sha256),
        ]
        given: dict[str, bytes] = {}
        if self.key:
            proof = proof_of(self.key, session, _CHALLENGE, *frames)
            given = {"challenge": _CHALLENGE, "proof": proof}
        return [*frames, framed(messages.CHALLENGE, session=session, **given)]

    def game_part(self, id: int, offset: int) -> bytes:
        """The frame that answers READ_GAME."""
        part = self.document[offset : offset + messages.MAX_GAME_PART]
        whole = {"sha256": self._game_sha256, "size": len(self.document)}
        return framed(messages.GAME_PART, id=id, offset=offset, part=part, **whole)

    def step(self, data: bytes, now_s: float) -> list[bytes]:
        """Take `data` from the host; return the frames that the shoe sends at `now_s`."""
        out: list[bytes] = []
        for payload in self._frames.feed(data):
            try:
                message = wire.parse_message(payload)
            except wire.WireError:
                continue
            if message.shape is messages.HELLO and self._is_foreign(message.fields["protocol"]):
                self._attached, self._acked = False, None
                asked = message.fields["protocol"]
                out.append(framed(messages.WRONG_VERSION, protocol=self.version, asked=asked))
            elif message.shape is messages.HELLO:
                self._attached, self._acked, self._sent = True, None, 0
                out += self.introduction(message.fields["session"])
            elif message.shape is messages.ACK and self._attached:
                again = message.fields["number"] == self._acked
                self._acked = max(message.fields["number"], self._acked or 0)
                self._acknowledged(message.fields["number"])
                self._sent = self._acked if again else max(self._acked, self._sent)
            elif message.shape is messages.SIGNED:
                out += self.answer(wire.parse_message(message.fields["command"]))
            else:
                out += self.answer(message)
        if self._attached and now_s - self._heartbeat_s >= 1.0:
            self._heartbeat_s = now_s
            numbers = {"first_held": self.first_held, "last_held": self.next_number - 1}
            out.append(framed(messages.HEARTBEAT, **numbers))
        if self._acked is not None:
            if now_s - self._resend_s >= 0.25:
                self._resend_s, self._sent = now_s, self._acked
            last = min(max(self._acked, self.first_held - 1) + 48, self.next_number - 1)
            for number in range(self._sent + 1, last + 1):
                if number in self.held:
                    out.append(event_frame(self.held[number]))
            self._sent = max(last, self._sent)
        return out

    def _is_foreign(self, version: object) -> bool:
        if self.version == OLDEST:
            return version != OLDEST
        return not isinstance(version, int) or version < OLDEST

    def _acknowledged(self, acknowledged: int) -> None:
        self.acknowledged = max(acknowledged, self.acknowledged)
        if self._forgets:
            last = min(self.acknowledged, self.next_number - 1)
            self.held = {number: data for number, data in self.held.items() if number >= last}


def event_frame(data: bytes) -> bytes:
    """The frame that carries an event."""
    return framed(messages.EVENT, record=data, mac=fake_mac(data))


class Answering:
    """A pseudo-terminal that answers: `answer` turns received bytes into bytes to send.

    When nothing was received, it is called with b"".
    """

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.path = os.ttyname(self._theirs)
        self._answer = answer
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Answering":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([self._ours], [], [], 0.01)
            out = self._answer(os.read(self._ours, 4096) if ready else b"")
            if out:
                os.write(self._ours, out)

    def close(self) -> None:
        """Remove the port."""
        if not self._stop.is_set():
            self._stop.set()
            termios.tcflush(self._theirs, termios.TCIFLUSH)  # it may wait for room
            self._thread.join(100)
            os.close(self._ours)
            os.close(self._theirs)


def answering_shoe(shoe: NaiveShoe) -> Answering:
    """A naive shoe at a pseudo-terminal."""
    return Answering(lambda data: b"".join(shoe.step(data, time.monotonic())))


class Relay:
    """A device server: offers the serial port `path` as TCP port `url`, to one host at a time."""

    def __init__(self, path: str) -> None:
        self._port = os.open(path, os.O_RDWR | os.O_NOCTTY)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the serial port and the TCP port."""
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join(100)
            self._server.close()
            os.close(self._port)

    def _serve(self) -> None:
        self._server.settimeout(0.05)
        while not self._stop.is_set():
            try:
                host, _ = self._server.accept()
            except TimeoutError:
                continue
            with host:
                self._relay(host)

    def _relay(self, host: socket.socket) -> None:
        while not self._stop.is_set():
            ready, _, _ = select.select([host, self._port], [], [], 0.05)
            if host in ready:
                data = host.recv(4096)
                if not data:
                    return
                os.write(self._port, data)
            if self._port in ready:
                host.sendall(os.read(self._port, 4096))
