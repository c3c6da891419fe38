"""A journal on a chip in memory, with a ledger of what was put into it, to compare both.

The ledger keeps only kind and checksum of an entry, as one small integer, and only the last MACs:
the heap is as small as the board's.
"""

import binascii
import random

from firmware.tests.fakes.fake_flash import FIRST_KEY, Flash, new_chip
from firmware.tests.support.naive_chain import NaiveChain
from protocol.tests.helpers import random_bytes
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.ring import EVENT, NOTE, PASSING, STATE

_QUEUE = bytearray(4096)


class _Macs:
    """The last MACs, by number."""

    _MOST = 1100

    _octets = bytearray(16 * _MOST)  # of the one ledger that is in use

    def __init__(self) -> None:
        self.last = -1

    def append(self, mac: bytes) -> None:
        self.last += 1
        at = self.last % self._MOST * 16
        self._octets[at : at + 16] = mac

    def __getitem__(self, number: int) -> bytes:
        assert self.last - self._MOST < number <= self.last, "not kept"
        at = number % self._MOST * 16
        return bytes(self._octets[at : at + 16])


class Ledger:
    """The journal of a new unit, or the one on `flash`. `queue` is the size of its queue."""

    def __init__(self, flash: "Flash | None" = None, queue: int = 4096, naive=None) -> None:
        self.flash = new_chip() if flash is None else flash
        self.naive = NaiveChain(FIRST_KEY) if naive is None else naive
        self.entries: "list[int]" = []
        """Kind and checksum of the entries that can still be needed."""
        self.first_entry_event = 1
        """Number of the first event among them."""
        self.macs = _Macs()
        """By event number; at 0 the chain id."""
        self.macs.append(self.naive.name)
        self.journal: Journal = None  # type: ignore[assignment]
        self._queue = queue
        Journal(self.flash, bytearray(0)).begin(FIRST_KEY)
        self.mount()

    def mount(self) -> Journal:
        """Start again: everything in memory is lost."""
        queue = _QUEUE if self._queue == len(_QUEUE) else bytearray(self._queue)
        self.journal = Journal(self.flash, queue)
        self.journal.mount()
        return self.journal

    def event(self, size: int = 0) -> int:
        """Put an event of some size; return its number."""
        number = self.journal.number
        assert number == self.macs.last + 1
        record = number.to_bytes(4, "big") + random_bytes((size or random.randint(12, 90)) - 4)
        self.macs.append(self.naive.mac(number, self.macs[number - 1], record))
        self.entries.append(_entry(EVENT, record))
        # The buffer is larger than the event, and is used again.
        self.journal.put_event(memoryview(record + b"beyond"), len(record))
        return number

    def put(self, kind: int, size: int) -> None:
        """Put an entry that is not an event."""
        payload = random_bytes(size)
        self.entries.append(_entry(kind, payload))
        self.journal.put(kind, memoryview(payload + b"beyond"), size)

    def some(self) -> None:
        """Put the entries that a shoe puts for an input."""
        self.put(NOTE, random.randint(2, 20))
        for _ in range(random.randint(0, 3)):
            self.event()
        luck = random.getrandbits(4)
        if luck == 0:
            self.put(STATE, random.randint(60, 180))
        elif luck == 1:
            self.put(PASSING, 0)
        if len(self.entries) > 400:
            self._forget_old()

    def drain(self) -> None:
        self.journal.drain()

    def rest(self, steps: int = 30) -> None:
        """Let time pass in which no card can come."""
        for _ in range(steps):
            self.journal.step(True)

    def last(self) -> int:
        """Return the number of the last event that was put."""
        return self.macs.last

    def restart(self, check: bool = True) -> Journal:
        """Start again, and check that the journal holds the first part of what was put, without
        holes. Without `check` it does not read every event."""
        durable = self.journal.durable if self.journal else 0
        journal = self.mount()
        assert journal.lost_first == 0
        assert durable <= journal.durable <= self.last(), (durable, journal.durable, self.last())
        assert journal.number == journal.durable + 1
        assert bytes(journal.chain.mac) == self.macs[journal.durable]
        assert journal.chain.epoch == journal.number // 4 or journal.number % 4 == 0
        self.cut_to(journal)
        if check:
            self.check()
        return journal

    def cut_to(self, journal: Journal) -> None:
        """Forget the entries that did not get onto the flash; check that no more is missing."""
        self.macs.last = journal.durable
        at, number = 0, self.first_entry_event - 1
        while at < len(self.entries) and number < journal.durable:
            number += _kind(self.entries[at]) == EVENT
            at += 1
        assert number == journal.durable
        while at < len(self.entries) and _kind(self.entries[at]) != EVENT:
            at += 1
        found = self.since_state()
        while at > 0 and not self._ends_with(at, found):
            at -= 1
            assert _kind(self.entries[at]) != EVENT, "more than notes are missing"
        del self.entries[at:]

    def _ends_with(self, at: int, found) -> bool:
        """Whether `found` is the last state of the first `at` entries, and all entries after it."""
        begin = at - len(found)
        if begin < 0 or self.entries[begin:at] != found:
            return False
        kinds = [_kind(entry) for entry in found]
        return STATE not in kinds[1:] and (kinds[:1] == [STATE] or begin == 0)

    def since_state(self) -> "list[int]":
        """Return what the journal has of the last state and all after it."""
        found = []

        def visit(kind, payload):
            size = len(payload) - (16 if kind == EVENT else 0)
            found.append(_entry(kind, payload[:size]))

        self.journal.each_since_state(visit)
        return found

    def held(self) -> "list[tuple[int, int]]":
        """Return the first and last number of each row of events that can be read, from the oldest
        held on. Checks that each is as it was put."""
        journal = self.journal
        cursor = Cursor(journal)
        cursor.seek(journal.first_held)
        rows: "list[tuple[int, int]]" = []
        first = cursor.number
        while cursor.number <= journal.durable:
            number = cursor.number
            if cursor.next():
                assert int.from_bytes(cursor.record[:4], "big") == number
                assert bytes(cursor.mac) == self.macs[number], number
                continue
            if first < number:
                rows.append((first, number - 1))
            cursor.skip()
            first = cursor.number
        if first <= journal.durable:
            rows.append((first, journal.durable))
        return rows

    def check(self) -> None:
        """Check that every event from the oldest held to the last is there, once and in order."""
        journal = self.journal
        assert self.held() == rows(journal.first_held, journal.durable)

    def _forget_old(self) -> None:
        """Keep only the entries that a restart needs: the queue holds 80, and there are some states
        among those before."""
        at = len(self.entries) - 300
        while at > 0 and _kind(self.entries[at]) != STATE:
            at -= 1
        for _ in range(at):
            self.first_entry_event += _kind(self.entries.pop(0)) == EVENT


def rows(first: int, last: int, *without: "tuple[int, int]") -> "list[tuple[int, int]]":
    """Return the result of `held` if all from `first` to `last` are there except those rows."""
    found = []
    for gone_first, gone_last in without:
        if first < gone_first:
            found.append((first, gone_first - 1))
        first = gone_last + 1
    return found + [(first, last)] if first <= last else found


def _entry(kind: int, payload) -> int:
    return binascii.crc32(payload) * 8 + kind


def _kind(entry: int) -> int:
    return entry & 7


def wear(ledger: Ledger, rounds: int) -> None:
    """Continue writing while a host acknowledges all events."""
    for _ in range(rounds):
        ledger.some()
        ledger.drain()
        ledger.rest(2)
        ledger.journal.acknowledge(ledger.journal.durable)


def filled(sectors: int = 7) -> Ledger:
    """Return a journal that has reached this sector, with no event acknowledged."""
    ledger = Ledger()
    while ledger.journal._open < sectors:
        ledger.some()
        ledger.drain()
    return ledger


def events_of(journal: Journal, sector: int) -> "tuple[int, int]":
    """Return the first and the last event of a sector that has events."""
    first = journal._first_of(sector)
    return first, Cursor(journal).last_in(sector, first)


def sectors_in_use(journal: Journal) -> "list[int]":
    """Return the sectors with a header, the oldest first, as numbers of the journal's order."""
    first = max(0, journal._open - journal.sectors + 1)
    return [sector for sector in range(first, journal._open + 1) if journal._first_of(sector) >= 0]


def epoch_events(ledger: Ledger, count: int) -> None:
    """Put events until the newest epoch has `count` of them; they are the last ones."""
    while ledger.last() % 4 != 3:
        ledger.event(30)
    for _ in range(count):
        ledger.event(30)
    ledger.drain()


STEPS_OF_A_SECTOR = 40
"""More steps than a scrub of one sector takes."""


def scrubbed(journal: Journal) -> "list[tuple[int, int, int, int]]":
    """Return the faults that one scrub of all sectors reports."""
    journal.faults.clear()
    sector = journal._first
    for _ in range(2 * journal.sectors * STEPS_OF_A_SECTOR):
        sector = journal.scrub(sector)
    return journal.faults
