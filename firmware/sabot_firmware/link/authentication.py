"""Who may ask: MACs of commands under the unit's key (protocol/README.md, "Who may ask")."""

import hashlib
import os

from sabot_protocol import events, messages
from sabot_protocol.chain import hmac_blocks

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_protocol.schema import Shape

_CLOSED_MS = 1000
_LONGEST_CLOSED_MS = 16000
_LONGEST_COMMAND = 460


class Guard:
    """Of one unit. With no `key`, before it is provisioned, everybody may ask everything."""

    def __init__(self, key: "bytes | None") -> None:
        self.proven = key is None
        """Whether the host of this session has shown that it has the key."""
        self.challenge = b""
        """What this session's MACs are made over."""
        self.wrong = 0
        """MACs that were wrong, since the start."""
        self._keyed = key is not None
        self._inner, self._outer = hmac_blocks(key or b"")
        self._session = -1
        self._last_id = -1
        self._closed_ms = 0  # how long one more wrong MAC closes it
        self._closed_until_ms = 0

    def begin(self, session: int) -> None:
        """A host has said `hello`. The session of before goes on where it has its number."""
        if self._keyed and session != self._session:
            self._session = session
            self._last_id = -1
            self.challenge = os.urandom(messages.CHALLENGE_SIZE)
            self.proven = False

    def end(self) -> None:
        """Nobody has heard the host of this session for long: whoever comes is another."""
        self._session = -1
        self.proven = not self._keyed

    def refusal(self, shape: "Shape") -> str:
        """Why a command that came without a MAC is not carried out; empty where it is."""
        if not self._keyed or shape in messages.OPEN:
            return ""
        if shape in messages.PROVEN:
            return "" if self.proven else "this session is not proven: it has no signed command"
        return "not signed with the unit's command key"

    def refusal_of_signed(self, command_id: int, command: bytes, mac: bytes, now_ms: int) -> str:
        """The same of the command in a `signed`, at `now_ms`."""
        if not self._keyed:
            return "this unit has no key yet: provision it"
        if now_ms < self._closed_until_ms:
            wait_s = (self._closed_until_ms - now_ms) // 1000 + 1
            return "a wrong MAC has come: try again in %d s" % wait_s
        if not 0 < len(command) <= _LONGEST_COMMAND or mac != self._mac(command):
            self.wrong += 1
            self._closed_ms = min(2 * self._closed_ms, _LONGEST_CLOSED_MS) or _CLOSED_MS
            self._closed_until_ms = now_ms + self._closed_ms
            return "its MAC is wrong: another unit's command key?"
        if command_id <= self._last_id:
            return "played again: its id is not above the last one"
        self._closed_ms = 0
        self._last_id = command_id
        self.proven = True
        return ""

    def _mac(self, command: bytes) -> bytes:
        inner = hashlib.sha256(self._inner)
        inner.update(self.challenge)
        inner.update(command)
        outer = hashlib.sha256(self._outer)
        outer.update(inner.digest())
        return outer.digest()[: events.MAC_SIZE]
