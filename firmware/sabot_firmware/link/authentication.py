"""Checks the MACs of commands under the unit's key (protocol/README.md, "Who may ask")."""

import hashlib
import os

from sabot_firmware.link.answers import Refusal
from sabot_protocol import events, messages
from sabot_protocol.chain import hmac_blocks

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_protocol.schema import Shape

_CLOSED_MS = 1000
_LONGEST_CLOSED_MS = 16000
_LONGEST_COMMAND = 460


class CommandGuard:
    """Decides which commands a unit takes: without a `key`, before it is provisioned, all."""

    def __init__(self, key: "bytes | None") -> None:
        self.proven = key is None
        """Whether the host of this session has proved that it has the key."""
        self.challenge = b""
        """Random bytes that are part of each MAC of this session."""
        self.wrong = 0
        """The number of wrong MACs since the start."""
        self._keyed = key is not None
        self._inner, self._outer = hmac_blocks(key or b"")
        self._session = -1
        self._last_id = -1
        self._closed_ms = 0  # how long the last wrong MAC blocks signed commands
        self._closed_until_ms = 0

    def begin(self, session: int) -> None:
        """Begin a session at a host's `hello`; the number of the last session continues it."""
        if self._keyed and session != self._session:
            self._session = session
            self._last_id = -1
            self.challenge = os.urandom(messages.CHALLENGE_SIZE)
            self.proven = False

    def end(self) -> None:
        """End the session after a long silence: the next host must prove itself again."""
        self._session = -1
        self.proven = not self._keyed

    def allow(self, shape: "Shape") -> None:
        """Raise Refusal if a command without a MAC must not be carried out."""
        if not self._keyed or shape.by == messages.OPEN:
            return
        if shape.by == messages.IN_SIGNED:
            raise Refusal("not_signed")
        if not self.proven:
            raise Refusal("not_proven")

    def allow_signed(self, command_id: int, command: bytes, mac: bytes, now_ms: int) -> None:
        """Raise Refusal if the command in a `signed` of `now_ms` must not be carried out."""
        if not self._keyed:
            raise Refusal("not_a_unit")
        if now_ms < self._closed_until_ms:
            raise Refusal("closed", str((self._closed_until_ms - now_ms) // 1000 + 1))
        if not 0 < len(command) <= _LONGEST_COMMAND or mac != self._mac(command):
            self.wrong += 1
            self._closed_ms = min(2 * self._closed_ms, _LONGEST_CLOSED_MS) or _CLOSED_MS
            self._closed_until_ms = now_ms + self._closed_ms
            raise Refusal("wrong_mac")
        if command_id <= self._last_id:
            raise Refusal("replayed")
        self._closed_ms = 0
        self._last_id = command_id
        self.proven = True

    def _mac(self, command: bytes) -> bytes:
        inner = hashlib.sha256(self._inner)
        inner.update(self.challenge)
        inner.update(command)
        outer = hashlib.sha256(self._outer)
        outer.update(inner.digest())
        return outer.digest()[: events.MAC_SIZE]
