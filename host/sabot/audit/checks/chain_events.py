"""The MACs of one unit's chain, and the events about the chain itself."""

import os
from collections.abc import Sequence
from functools import lru_cache

from sabot.audit import chain
from sabot.audit.chain import MacKeys, mac_under
from sabot.audit.checks.decoding import Values
from sabot.audit.checks.findings import ReportFinding
from sabot.audit.checks.holes import Holes
from sabot.link.words import word_of
from sabot.text import counted
from sabot_protocol import enums, events
from sabot_protocol.chain import EPOCH_RECORDS, KEY_SIZE
from sabot_protocol.events import MAC_SIZE

RawRecord = tuple[int, bytes, bytes]
"""Number by the table, record, MAC."""

_KEYS_KEPT = 64
_AHEAD_EPOCHS = 16  # how far a shoe may be ahead of its log, with events that no host has yet

BOOT, _GAP, _CHECKPOINT, _JOURNAL_FAULT = (
    shape.number for shape in (events.BOOT, events.GAP, events.CHECKPOINT, events.JOURNAL_FAULT)
)
OF_THE_CHAIN = frozenset((BOOT, _GAP, _CHECKPOINT, _JOURNAL_FAULT))
"""Kinds of events that `ChainEvents` takes."""

_OWN = 7  # index in a record's values where its own fields begin
CHAIN = _OWN + [name for name, _ in events.BOOT.fields].index("chain")
"""Index of the chain's id in the values of a start."""

_LOST_BY = {
    "queue_full": "no host took them before the shoe's memory was full",
    "restart": "in the shoe's memory when its power failed, or numbers that were never used",
    "journal_damaged": "the shoe's journal was damaged, and it could no longer read them",
}
_LOST_BY_OTHER = "the shoe says why by a word that this version of Sabot does not know"
_DAMAGED = enums.JOURNAL_FAULTS.index("damaged")


class ChainMacs:
    """Computes what each MAC must be, as long as there is a key of the chain."""

    def __init__(self, keys: MacKeys | None) -> None:
        self.keys = keys
        """None if no MAC can be checked."""
        self.chain = None if keys is None else keys.chain
        """The id of the log's chain; None if it is not known."""
        self.pads = lru_cache(maxsize=_KEYS_KEPT)(self._pads_of)

    def right(self, before: bytes, number: int, record: bytes) -> bytes:
        """The MAC of event `number` after an event with the MAC `before`. Needs `keys`."""
        return mac_under(self.pads(chain.epoch_of(number)), before, record)

    def all_continue(self, before: bytes | None, first: int, records: Sequence[RawRecord]) -> bool:
        """Whether each of these records, of events from `first` on, has the MAC that the key makes
        of it and the MAC before it; `before` is the MAC of the event before them. True if there are
        no keys."""
        if self.keys is None or before is None:
            return self.keys is None
        epoch = chain.epoch_of(first)
        left = (epoch + 1) * EPOCH_RECORDS - first  # in this epoch
        inner, outer = self.pads(epoch)
        for _, record, mac in records:
            if not left:
                epoch, left = epoch + 1, EPOCH_RECORDS
                inner, outer = self.pads(epoch)
            left -= 1
            # `chain.mac_under` inline, because most of the time is spent here
            hashed = inner.copy()
            hashed.update(before + record)
            digest = hashed.digest()
            hashed = outer.copy()
            hashed.update(digest)
            if hashed.digest()[:MAC_SIZE] != mac:
                return False
            before = mac
        return True

    def epoch_of_key(
        self, number: int, before: bytes, record: bytes, mac: bytes, newest: int
    ) -> int | None:
        """Return the epoch whose key makes the MAC in the place of event `number`; None if no key
        does. It tries the keys near its own up to event `newest`, and a few more because the shoe
        may be ahead of its log."""
        keys = self.keys
        if keys is not None:
            last = chain.epoch_of(newest) + _AHEAD_EPOCHS
            for epoch in keys.epochs_near(chain.epoch_of(number), last):
                if chain.mac(keys.mac_key(epoch), before, record) == mac:
                    return epoch
        return None

    def give_up(self, named: bytes) -> None:
        """Note that the log continues in the chain `named`, whose key is not known."""
        self.keys, self.chain = None, named

    def _pads_of(self, epoch: int) -> chain.Pads:
        assert self.keys is not None
        try:
            return chain.pads(self.keys.mac_key(epoch))
        except KeyError:  # a random key, which no record fits
            return chain.pads(os.urandom(KEY_SIZE))


class ChainEvents:
    """Takes starts, checkpoints, gaps and journal faults. `report` takes findings."""

    def __init__(self, macs: ChainMacs, holes: Holes, report: ReportFinding) -> None:
        self._macs = macs
        self._holes = holes
        self._report = report
        self._several = False  # whether the log names several chains and there is no key
        self.local = True
        """Whether the events so far say nothing about other rows than those just before them."""

    def continues(self, values: Values) -> bool:
        """Whether one of these events is a checkpoint, or a start that names this chain."""
        kind = values[0]
        return bool(kind == _CHECKPOINT or (kind == BOOT and values[CHAIN] == self._macs.chain))

    def take(self, values: Values, before: bytes | None) -> None:
        """Take one of these events; `before` is the MAC of the event before it, None if unknown."""
        kind, number, own = values[0], values[1], values[_OWN:]
        self.local = self.local and kind in (BOOT, _CHECKPOINT)
        if kind == BOOT:
            self.start(number, values)
        elif kind == _CHECKPOINT:
            count, mac = own[:2]
            if count != number - 1:
                self._report(
                    number, "checkpoint", f"says {counted(count, 'record')}, event {number} follows"
                )
            elif before is not None and mac != before:
                detail = f"the MAC of event {count} is {mac.hex()}, {before.hex()} in the log"
                self._report(number, "checkpoint", detail)
        elif kind == _GAP:
            first, last, reason, mac = own[:4]
            word = word_of(enums.GAP_REASONS, reason)
            self._holes.declare(first, last, _LOST_BY.get(word, _LOST_BY_OTHER))
            record, own_mac = self._holes.take_following(last + 1)
            # The event after the lost ones can be checked only with the MAC of the last lost one.
            checked = record and mac and self._macs.keys
            if checked and self._macs.right(mac, last + 1, record) != own_mac:
                detail = f"it does not continue the events that the gap {number} reports"
                self._report(last + 1, "changed", detail)
        elif own[2] and (own[0] == _DAMAGED or own[0] >= len(enums.JOURNAL_FAULTS)):
            self._holes.declare(own[2], own[3], _LOST_BY["journal_damaged"])

    def start(self, number: int, values: Values) -> None:
        """Take a start of the unit: it names the chain."""
        named = values[CHAIN]
        if self._macs.chain is None:
            self._macs.chain = named
            return
        if named == self._macs.chain:
            return
        self.local = False
        if self._macs.keys is not None:
            self.other_chain(number, named)
        elif not self._several:
            self._several = True
            detail = (
                f"a start names the chain {named.hex()}, the log is of {_hex(self._macs.chain)}"
            )
            self._report(number, "wrong_key", detail)

    def other_chain(self, number: int, named: bytes) -> None:
        """Report that from event `number` the log is of the chain `named`, whose key is unknown."""
        key = _hex(self._macs.chain)
        detail = f"the log names the chain {named.hex()}, the key is of {key}"
        self._report(number, "wrong_key", f"{detail}; the chain is not checked from here on")
        self._macs.give_up(named)


def _hex(chain_: bytes | None) -> str:
    return "an unknown one" if chain_ is None else chain_.hex()
