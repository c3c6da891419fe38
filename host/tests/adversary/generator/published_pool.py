"""The pool as docs/randomness.md publishes it, followed by an attacker from what he has seen.

What he does not know he guesses once. Then all that he computes is right if his guess was, and he
was there each time.
"""

import hmac
from dataclasses import dataclass
from hashlib import sha256

from host.tests.adversary.generator.chip import OSCILLATOR, SYSTEM, TIMER

_HOST, _TIMES, _UNIT, _CHAIN, _SECRET = range(16, 21)
_AT_START = 1024
_PLACES = 32
_EPOCH = 4
"""Events of an epoch of the audit chain."""

Seen = tuple["int | str", bytes]


class Pool:
    """The published hashes."""

    def __init__(self, value: bytes = bytes(32)) -> None:
        self.value = value

    def stir(self, source: int, data: bytes) -> None:
        self.value = sha256(b"sabot pool stir" + bytes([source]) + data + self.value).digest()

    def take(self, label: bytes, size: int = 32) -> bytes:
        given = sha256(b"sabot pool use" + bytes([len(label)]) + label + self.value).digest()
        self.value = sha256(b"sabot pool next" + self.value).digest()
        return given[:size]


@dataclass(frozen=True)
class Guess:
    """What the attacker takes the secrets for; without `host_bytes` none were stirred in. `opens`
    says whether he takes the hidden bytes of sessions out of what he heard; else they are to him
    what he saw on the line."""

    host_bytes: bytes
    first_key: bytes
    opens: bool = True


class Follower:
    """Follows a unit from the time at which it was provisioned."""

    def __init__(self, guess: Guess) -> None:
        self._guess = guess
        self._pool = Pool()
        self._kept = self._more = b""
        self._provisioned = self._after_round = False
        self._command_key = sha256(b"sabot command" + guess.first_key).digest()
        self._mac, self._number = sha256(b"sabot chain" + guess.first_key).digest()[:16], 0
        self._session = self._challenge = b""
        self._times, self._marks = bytearray(_PLACES), 0
        self.part = b""
        """The board's part of the sealing secret."""

    def next_challenge(self) -> bytes:
        """Return what the next challenge is, if the guess is right."""
        return Pool(self._pool.value).take(b"challenge", 16)

    def next_part(self) -> bytes:
        """Return what the next part of the sealing secret is."""
        return Pool(self._pool.value).take(b"sealing secret")

    def take(self, what: "int | str", data: bytes) -> None:
        """Take what was seen next."""
        if isinstance(what, int):
            self._take_samples(what, data)
        elif what == "provisioned":
            self._provisioned = True
            if self._guess.host_bytes:
                self._pool.stir(_HOST, self._guess.host_bytes)
        elif what == "rest":
            self.part = self._pool.take(b"sealing secret")
        elif what == "session":
            self._session = data
        elif what == "challenge":
            self._pool.take(b"challenge", 16)
            self._challenge = data
        elif what == "hidden":
            self._pool.stir(_HOST, self._shown(data[:8], data[8:]))
            if not self._more:
                self._more = self._pool.take(b"kept")
        elif what == "mac":
            self._number, self._mac = int.from_bytes(data[:8], "big"), data[8:]

    def _take_samples(self, source: int, data: bytes) -> None:
        if len(data) == _AT_START and source == OSCILLATOR and not self._provisioned:
            self._begin_start()
        pool = self._pool
        if len(data) == _AT_START:
            pool.stir(source, data)
            if source == SYSTEM:
                self._kept = pool.take(b"kept")
                if not self._provisioned:
                    self._begin_sealing()
                self._provisioned = False
            return
        if source == TIMER and not self._after_round:
            self._marks += 1
            self._times[self._marks % _PLACES] ^= data[0]
            return
        pool.stir(source, data)
        self._after_round = source != SYSTEM
        if source == SYSTEM:
            pool.stir(_TIMES, bytes(self._times))

    def _begin_start(self) -> None:
        pool = self._pool = Pool(self._kept)
        if self._more:
            pool.stir(_HOST, self._more)
            self._more = b""
        pool.stir(_UNIT, self._command_key)
        secret = self._guess.first_key
        for _ in range(self._number // _EPOCH):
            secret = sha256(b"sabot next" + secret).digest()
        pool.stir(_CHAIN, secret + self._mac)
        self._times, self._marks = bytearray(_PLACES), 0

    def _begin_sealing(self) -> None:
        if self.part:
            self._pool.stir(_SECRET, self.part)
        else:
            self.part = self._pool.take(b"sealing secret")

    def _shown(self, number: bytes, hidden: bytes) -> bytes:
        """Return the bytes that are hidden in the `stir` with this number."""
        if not self._guess.opens:
            return hidden
        challenge = self._challenge
        said = b"sabot host bytes" + self._session + bytes([len(challenge)]) + challenge + number
        key = sha256(b"sabot host bytes key" + self._command_key).digest()
        pad = hmac.digest(key, said, "sha256")
        return bytes(a ^ b for a, b in zip(hidden, pad, strict=True))
