"""Records of units that only idle, each with its right MAC, made quickly and always the same from a
seed. Written from protocol/README.md ("Events", "Audit chain") alone.

They are real events: a start, the clock, the table, and then a supervisor who turns keys. No cards
come, so a log of them is right as it is wherever it ends.
"""

import hashlib
import hmac
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import cbor2

_EPOCH = 4  # events under one key
_MAC = 16  # bytes
_BOOT, _KEY, _SERVICE, _CLOCK_SET, _GAP, _IDENTIFIED, _PROVISIONED = (
    1, 3, 4, 20, 21, 23, 32,
)  # fmt: skip
_JOURNAL_DAMAGED = 2  # why events are missing
_POWER_ON = 0
_START_UNIX_MS = 1_795_000_000_000
_LONGEST_PAUSE_MS = 4000
_LOST_PERMILLE, _MOST_LOST = 4, 6  # how often events are lost to the shoe itself, and how many
_RESTARTS_PERCENT = 2


class Chained(NamedTuple):
    """An event of a unit: its number, its bytes and its MAC."""

    number: int
    record: bytes
    mac: bytes


class ChainedUnit:
    """A unit whose events never end. The same name and seed always give the same events."""

    def __init__(self, name: str, seed: int = 1, *, loses: bool = True) -> None:
        """With `loses` some events are lost before any host gets them, as a `gap` says later."""
        self.name = name
        self.first_key = hashlib.sha256(f"first key {name} {seed}".encode()).digest()
        self._rng = random.Random(f"{name} {seed}")
        self._loses = loses
        self._made = self._endless()
        self._secret, self._epoch = self.first_key, 0
        self.chain = hashlib.sha256(b"sabot chain" + self.first_key).digest()[:_MAC]
        self._mac = self.chain
        self._number = self._boot = 0
        self._t_ms, self._start_ms = 0, _START_UNIX_MS + self._rng.randrange(1000)

    def take(self, count: int) -> Sequence[Chained]:
        """The next events that a host gets, at least `count`: what belongs together is not divided,
        such as a loss and the `gap` that names it."""
        taken: list[Chained] = []
        while len(taken) < count:
            taken += next(self._made)
        return taken

    def _endless(self) -> Iterator[Sequence[Chained]]:
        start = self._restart(), self._event(_CLOCK_SET, None)
        yield [*start, self._event(_PROVISIONED, self.name[:12], 0)]
        rng = self._rng
        while True:
            if self._loses and rng.randrange(1000) < _LOST_PERMILLE:
                lost = [self._event(_IDENTIFIED) for _ in range(rng.randint(1, _MOST_LOST))]
                first, last = lost[0], lost[-1]
                after = [each for _ in range(rng.randrange(3)) for each in self._quiet()]
                gap = first.number, last.number, _JOURNAL_DAMAGED, last.mac
                yield [*after, self._event(_GAP, *gap)]
            elif rng.randrange(100) < _RESTARTS_PERCENT:
                yield [self._restart(), self._event(_CLOCK_SET, None)]
            else:
                yield self._quiet()

    def _quiet(self) -> Sequence[Chained]:
        kind = self._rng.choice((_IDENTIFIED, _IDENTIFIED, _KEY, _SERVICE))
        if kind == _IDENTIFIED:
            return [self._event(kind)]
        return [self._event(kind, True), self._event(kind, False)]

    def _restart(self) -> Chained:
        self._start_ms += self._t_ms + 60_000
        self._boot += 1
        self._t_ms = 0
        own = _POWER_ON, "0.2.0", bytes([1]) * 32, "sim", "mini", self.chain
        return self._event(_BOOT, *own, clock=False)

    def _event(self, kind: int, *own: Any, clock: bool = True) -> Chained:
        self._number += 1
        self._t_ms += self._rng.randint(1, _LONGEST_PAUSE_MS)
        unix_ms = self._start_ms + self._t_ms if clock else None
        head = kind, self._number, self._boot, self._t_ms, unix_ms, 0, 0
        record = cbor2.dumps([*head, *own], canonical=True)
        self._mac = hmac.new(self._key(), self._mac + record, "sha256").digest()[:_MAC]
        return Chained(self._number, record, self._mac)

    def _key(self) -> bytes:
        while self._epoch < self._number // _EPOCH:
            self._secret = hashlib.sha256(b"sabot next" + self._secret).digest()
            self._epoch += 1
        return hashlib.sha256(b"sabot mac" + self._secret).digest()
