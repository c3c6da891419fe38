"""The MACs of a session under the unit's command key (protocol/README.md, "Who may ask"): checks
those of commands, and makes the one that proves to the host which unit this is."""

import hashlib

from sabot_firmware.link.answers import Refusal
from sabot_protocol import events, messages
from sabot_protocol.chain import COMMAND_LABEL, PROOF_LABEL, hmac_blocks, session_part

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_protocol.schema import Shape

_CLOSED_MS = 1000
_LONGEST_CLOSED_MS = 16000
_LONGEST_COMMAND = 460


class CommandGuard:
    """Decides which commands a unit takes: without a `key`, before it is provisioned, all.

    `take(label, size)` returns random bytes for a use; a unit with a key needs it.
    """

    def __init__(
        self, key: "bytes | None", take: "Callable[[bytes, int], bytes] | None" = None
    ) -> None:
        self.proven = key is None
        """Whether the host of this session has proved that it has the key."""
        self.challenge = b""
        """Random bytes that are part of each MAC of this session."""
        self.wrong = 0
        """The number of wrong MACs since the start."""
        self._keyed = key is not None
        self._take = take
        self._inner, self._outer = hmac_blocks(key or b"")
        self._session = -1
        self._in_session = b""  # the part of each MAC that is the same in the session
        self._last_id = -1
        self._closed_ms = 0  # how long the last wrong MAC blocks signed commands
        self._closed_until_ms = 0

    def begin(self, session: int) -> None:
        """Begin a session at a host's `hello`; the number of the last session continues it."""
        if self._keyed and session != self._session:
            self._session = session
            self._last_id = -1
            assert self._take is not None
            self.challenge = self._take(b"challenge", messages.CHALLENGE_SIZE)
            self._in_session = session_part(session, self.challenge)
            self.proven = False

    def proof(self, answers: "memoryview") -> bytes:
        """Return the MAC of the shoe's other answers to `hello`, which proves which unit this is;
        empty without a key."""
        return self._mac(PROOF_LABEL, answers) if self._keyed else b""

    def end(self) -> None:
        """End the session: the next host must prove itself again."""
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
        if not 0 < len(command) <= _LONGEST_COMMAND or mac != self._mac(COMMAND_LABEL, command):
            self.wrong += 1
            self._closed_ms = min(2 * self._closed_ms, _LONGEST_CLOSED_MS) or _CLOSED_MS
            self._closed_until_ms = now_ms + self._closed_ms
            raise Refusal("wrong_mac")
        if command_id <= self._last_id:
            raise Refusal("replayed")
        self._closed_ms = 0
        self._last_id = command_id
        self.proven = True

    def place(self) -> bytes:
        """Return what no other command has: the session with its challenge, and the id of the
        `signed` that was taken last."""
        return self._in_session + self._last_id.to_bytes(8, "big")

    def _mac(self, label: bytes, content: "bytes | memoryview") -> bytes:
        inner = hashlib.sha256(self._inner)
        inner.update(label)
        inner.update(self._in_session)
        inner.update(len(content).to_bytes(2, "big"))
        inner.update(content)
        outer = hashlib.sha256(self._outer)
        outer.update(inner.digest())
        return outer.digest()[: events.MAC_SIZE]
