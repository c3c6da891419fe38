"""A whole unit whose chip the attacker knows, an honest host at its line, and all that the attacker
has of both, in order.

The host speaks the protocol as protocol/README.md describes it. The unit is provisioned over its
line, as a technician does it.
"""

import hmac
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import cbor2

from firmware.tests.support.scripted import LID, NEXT, REVEAL, card_samples
from host.tests.adversary.generator.chip import Chip
from host.tests.adversary.line_adversary import Message, frame_of, payload_of
from host.tests.adversary.whole_shoe import Memory, Script, Unit, firmware_in_place
from sabot.games.baccarat import catalogue
from sabot.release.provision import UnitSettings, provisioning_document
from sabot_firmware.release import provision
from sabot_firmware.table import inputs
from sabot_protocol import VERSION, events, messages
from sabot_protocol.schema import Shape

GAME = "ez-midi"
"""A game that is dealt face down."""
_UNIT = "SHOE-7"
_PART = 400
_REST_MS = 1500
"""After a start: then all is done that a unit does by itself."""
_ANSWER_MS = 10
_UNIX_MS = 1_790_000_000_000
_LID = [inputs.switched(LID, True), inputs.switched(LID, False)]
_ROUND = ("9C", "2D", "KC", "2H")  # the Player has 9: no third card


@dataclass(frozen=True)
class HostSecrets:
    """What the attacker is not given: the bytes that hosts draw, and the unit's first key."""

    first_key: bytes
    provisioning: bytes
    later: random.Random
    """Draws the bytes of each session."""


def secrets_of(seed: int) -> HostSecrets:
    """The secrets of a house, from its seed."""
    drawn = random.Random(seed)
    return HostSecrets(drawn.randbytes(32), drawn.randbytes(32), random.Random(drawn.random()))


@contextmanager
def no_wiping() -> Iterator[None]:
    """Let a board that is provisioned not overwrite its file system, which is this computer's.
    Undo also what a `Unit` sets in the modules of the firmware."""
    with firmware_in_place(), mock.patch.object(provision, "wipe", lambda folder: None):
        yield


class KnownUnit:
    """A unit with power; `chip` is its hardware. `seen` is what the attacker has: samples as the
    chip gave them, with their source, and what was on the line, with its name. Only in
    `no_wiping`."""

    def __init__(self, root: Path, bare: Memory, chip: Chip, house: HostSecrets) -> None:
        assert provision.wipe.__name__ != "wipe", "it would write to the disk of this computer"
        self.chip = chip
        self.seen = chip.given
        self.parts: list[bytes] = []
        """Of the sealing secret, what the board kept after each start and each session."""
        self._house = house
        self._root = root
        self._starts = self._heard = 0
        self._random = random.Random(house.first_key)  # numbers of sessions, no secret
        self.unit = self._started(bare)
        self._provision()

    def _started(self, memory: Memory) -> Unit:
        self._id, self._rest = 0, b""
        self._starts += 1
        return Unit(self._root / str(self._starts), memory, noise=self.chip.noise)

    # ---- what happens to the unit

    def lose_power(self) -> None:
        """Lose the power now, and start again."""
        memory = self.unit.memory()
        self.unit.stop()
        self.unit = self._started(memory)

    def rest(self) -> None:
        """Let the unit do what it does by itself after a start."""
        self.unit.run(_REST_MS)
        self.seen.append(("rest", b""))
        self._note_part()

    def _note_part(self) -> None:
        path = Path(self.unit.board.storage) / "seal_secret.cbor"
        if path.exists():
            self.parts.append(path.read_bytes()[-36:-4])

    def play_round(self) -> None:
        """Deal a round of sealed cards, and turn them."""
        first = not self.unit.since(1) or self.unit.shoe.dealing.phase == 0
        begin: Script = [*_LID, card_samples("AC"), card_samples("2C")] if first else [NEXT]
        self.unit.play_all([*begin, NEXT, *(card_samples(name) for name in _ROUND), REVEAL])
        self.seen.append(("round over", b""))

    # ---- the host

    def _provision(self) -> None:
        house = self._house
        settings = UnitSettings(_UNIT, "T-1", 0, "stop", catalogue.document(GAME, {}), bytes(32))
        document = provisioning_document(settings, _UNIT, house.first_key, house.provisioning)
        self.seen.append(("provisioned", b""))
        self.hello(kept=False)
        for at in range(0, len(document), _PART):
            self._ask(messages.PROVISION, at, len(document), document[at : at + _PART])
        before = self.unit.resets
        for _ in range(100):
            self.unit.run(500)
            if self.unit.resets > before:
                break

    def hello(self, kept: bool = True) -> bytes:
        """Open a session; return the challenge."""
        self._session = self._random.getrandbits(64)
        self._id = 0
        self._say([messages.HELLO.number, VERSION, self._session])
        (challenge,) = [each[2] for each in self._hear() if each[0] == messages.CHALLENGE.number]
        self._challenge = bytes(challenge)
        if kept:
            self.seen.append(("session", self._session.to_bytes(8, "big")))
            self.seen.append(("challenge", self._challenge))
        return self._challenge

    def log_in(self) -> None:
        """Prove the host, give the unit random bytes, and take its events."""
        self._signed(messages.SET_CLOCK, _UNIX_MS)
        key, number = self.command_key, self._id + 1
        place = self._place() + number.to_bytes(8, "big")
        pad = hmac.digest(
            sha256(b"sabot host bytes key" + key).digest(), b"sabot host bytes" + place, "sha256"
        )
        data = self._house.later.randbytes(32)
        hidden = bytes(a ^ b for a, b in zip(data, pad, strict=True))
        self.seen.append(("hidden", number.to_bytes(8, "big") + hidden))
        answers = self._signed(messages.STIR, hidden)
        assert [each[0] for each in answers] == [messages.STIR_REPORT.number], answers
        self.take_events()

    def take_events(self) -> None:
        """Take all events that the unit has."""
        before = -1
        while before != self._heard:
            before = self._heard
            self._say([messages.ACK.number, self._heard])
            self._hear(50)

    @property
    def command_key(self) -> bytes:
        return sha256(b"sabot command" + self._house.first_key).digest()

    def _place(self) -> bytes:
        challenge = self._challenge
        return self._session.to_bytes(8, "big") + bytes([len(challenge)]) + challenge

    def _signed(self, shape: Shape, *values: object) -> list[Message]:
        self._id += 1
        inner = cbor2.dumps([shape.number, self._id, *values], canonical=True)
        said = b"sabot host to shoe" + self._place() + len(inner).to_bytes(2, "big") + inner
        mac = hmac.digest(self.command_key, said, "sha256")[:16]
        self._say([messages.SIGNED.number, self._id, inner, mac])
        return self._answers()

    def _ask(self, shape: Shape, *values: object) -> list[Message]:
        self._id += 1
        self._say([shape.number, self._id, *values])
        return self._answers()

    def _answers(self) -> list[Message]:
        unasked = (messages.EVENT.number, messages.HEARTBEAT.number)
        return [each for each in self._hear() if each[0] not in unasked]

    def _say(self, message: Message) -> None:
        self.unit.board.send(frame_of(cbor2.dumps(message, canonical=True)))

    def _hear(self, ms: int = _ANSWER_MS) -> list[Message]:
        self.unit.run(ms)
        board = self.unit.board
        *frames, self._rest = (self._rest + board.to_host).split(b"\0")
        board.to_host = b""
        heard = [cbor2.loads(payload) for frame in frames if (payload := payload_of(frame))]
        for message in heard:
            if message[0] == messages.EVENT.number:
                self._take(message[1], message[2])
        return heard

    def _take(self, record: bytes, mac: bytes) -> None:
        event: Any = cbor2.loads(record)
        if event[1] != self._heard + 1:
            return
        self._heard += 1
        self.seen.append(("mac", event[1].to_bytes(8, "big") + mac))
        for shape in (events.SEAL, events.UNSEALED):
            if event[0] == shape.number:
                own = event[len(events.HEADER)]
                self.seen.append((shape.name, event[1].to_bytes(8, "big") + own))
