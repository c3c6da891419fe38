"""Shoes of a floor with a chain of their own each, for the load of a centre.

The events are those of `busy_floor.py`, dealt by the firmware's code; here each unit has a key, its
MACs continue its chain, and what it says of its chain is true. `verify` finds nothing in them.
"""

import hashlib
import random
import time
from collections.abc import Sequence
from pathlib import Path

from host.tests.support.busy_floor import BusyUnit, busy_units
from sabot.keys import chain_keys
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import open_store
from sabot_protocol import events

_EPOCH = 4  # events under one key
_BLOCK = 64
_INNER, _OUTER = (bytes(value ^ pad for value in range(256)) for pad in (0x36, 0x5C))
_AT_ONCE = 2000  # events in one transaction
_SPAN_MS = 30 * 86_400_000  # more than the events of a benchmark take


class ChainedShoe:
    """A unit of a busy floor whose MACs are right."""

    def __init__(self, unit: BusyUnit) -> None:
        self.name = unit.name
        self.document = unit.document
        self.first_key = hashlib.sha256(f"load {unit.name}".encode()).digest()
        self._unit = unit
        self._secret, self._epoch = self.first_key, 0
        self._chain = self._mac = hashlib.sha256(b"sabot chain" + self.first_key).digest()[:16]
        self._pads = self._pads_of(self._secret)

    def take(self, count: int) -> Sequence[Record]:
        """The next events."""
        return [self._record(*event) for event in self._unit.take(count)]

    def start_at(self, unix_ms: int) -> None:
        """Set the time at which the unit was started; before the first event is taken."""
        self._unit.start_unix_ms = unix_ms

    def _record(
        self, kind: int, number: int, t_ms: int, shoe: int, round_: int, own: Sequence[object]
    ) -> Record:
        if kind == events.BOOT.number:
            own = *own[:-1], self._chain
        elif kind == events.CHECKPOINT.number:
            own = number - 1, self._mac
        data = self._unit.record((kind, number, t_ms, shoe, round_, own))
        while self._epoch < number // _EPOCH:
            self._secret = hashlib.sha256(b"sabot next" + self._secret).digest()
            self._epoch += 1
            self._pads = self._pads_of(self._secret)
        inner, outer = self._pads[0].copy(), self._pads[1].copy()
        inner.update(self._mac + data)
        outer.update(inner.digest())
        self._mac = outer.digest()[:16]
        return Record(parse_event(data), data, self._mac)

    @staticmethod
    def _pads_of(secret: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
        """HMAC's two hashes after the key of an epoch."""
        key = hashlib.sha256(b"sabot mac" + secret).digest().ljust(_BLOCK, b"\0")
        return hashlib.sha256(key.translate(_INNER)), hashlib.sha256(key.translate(_OUTER))


class Floor:
    """Shoes in sites: a log for each site in a folder, and one file with all keys."""

    def __init__(self, folder: Path, *, sites: int, shoes: int, seed: int = 1) -> None:
        self.keys = folder / "sabot.keys"
        self.logs = {f"site_{at}": folder / f"site_{at}.sqlite" for at in range(sites)}
        """By the role of the site."""
        start_unix_ms = time.time_ns() // 1_000_000 - _SPAN_MS
        made = [ChainedShoe(unit) for unit in busy_units(shoes, random.Random(seed))]
        self.shoes = {role: made[at::sites] for at, role in enumerate(self.logs)}
        for shoe in made:
            shoe.start_at(start_unix_ms)
            chain_keys.add(self.keys, shoe.name, shoe.first_key)
        for role, log in self.logs.items():
            with open_store(log, create=True) as store:
                for document in {shoe.document for shoe in self.shoes[role]}:
                    store.keep_game(document)

    @property
    def units(self) -> dict[str, Sequence[str]]:
        """The names of the shoes of each site."""
        return {role: [shoe.name for shoe in shoes] for role, shoes in self.shoes.items()}

    def log_more(self, events_of_a_shoe: int) -> int:
        """Store the next events of every shoe; return how many these are."""
        count = 0
        for role, log in self.logs.items():
            with open_store(log, create=True) as store:
                for shoe in self.shoes[role]:
                    left = events_of_a_shoe
                    while left:
                        records = shoe.take(min(left, _AT_ONCE))
                        store.append(shoe.name, records)
                        left -= len(records)
                        count += len(records)
        return count
