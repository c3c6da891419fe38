"""The contents of the journal's chip: find them at the start, give up old events, check for damage.

This module writes only the first key of a new unit and, at a start, the value of the pool;
journal.py does all other writing.
"""

from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.keyring import Keyring
from sabot_firmware.journal.ring import (
    EVENT,
    HEAD_SIZE,
    HEADER_SIZE,
    MAGIC,
    MISSING,
    MOST_ENTRY,
    STATE,
    Ring,
)
from sabot_firmware.native import const
from sabot_protocol import enums
from sabot_protocol.chain import EPOCH_RECORDS, Chain, chain_id

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable, Iterable

    from sabot_firmware.interfaces import Flash

RESERVE_SECTORS = const(8)
"""Kept free for entries that an open round and the supervisor may still add to a full journal."""

MOST_BAD = const(16)
"""The most sectors without a header between two that have one."""
MOST_BACK = const(16)
"""The most sectors that are searched for the last state."""

_WOULD_SHOW = const(4 * MOST_BAD)  # sectors; of a used chip at least one of these has a header
_SCRUBBED_AT_ONCE = const(4)  # entries
_MOST_KEPT = const(8)  # sectors released in one step, after a host has acknowledged their events

DAMAGED = enums.JOURNAL_FAULTS.index("damaged")


class JournalError(Exception):
    """The journal cannot be used, and nothing is guessed from it."""


class Contents(Ring):
    """The contents of the chip `flash`. Call `mount` first."""

    def __init__(self, flash: "Flash") -> None:
        super().__init__(flash)
        self._keys = Keyring(flash)
        self.chain: Chain = None  # type: ignore[assignment]
        """The end of the chain, with the queued events."""
        self.durable = 0
        """Number of the last event on flash."""
        self.number = 1
        """Number of the next event."""
        self.lost_first = 0
        """The first of the events that are missing and not yet recorded as lost; 0 for none."""
        self.lost_last = 0
        """The last of them."""
        self.lost_mac = b""
        """The MAC of event `lost_last`, empty if it is not known."""
        self.may_overwrite = False
        """Whether new events may overwrite events that no host has acknowledged."""
        self.faults: "list[tuple[int, int, int, int]]" = []
        """Faults to be recorded, with the values of the event `journal_fault`."""
        self.first_held = 1
        """Number of the oldest event on flash; `durable` + 1 if there is none."""
        self.stuck = False
        """Whether the queue waits for a host to acknowledge older events."""
        self._slot = memoryview(bytearray(keyring.SLOT_SIZE))
        self._first = 0  # the oldest sector in use
        self._kept = 0  # the oldest sector with an event that no host has acknowledged
        self._acked = 0
        self._open = -1  # the sector that is being written
        self._at = SECTOR  # the place in it after the last entry
        self._last = -1  # the sector that was tried last
        self._damaged: "list[int]" = []  # sectors reported since the start
        self._scrubbed = -1  # the sector that `scrub` is reading
        self._scrub_at = self._scrub_number = 0  # the next entry, the number of the next event

    # ---- start

    def mount(self, work: "bytearray | None" = None) -> None:
        """Find the end of the journal. Raises JournalError if the chip cannot be used, or has no
        key because its board was never provisioned. `work` is a buffer for a sector: a shoe has one
        at its start, and a new one may stay in the heap."""
        if not self._keys.mount(memoryview(work or bytearray(SECTOR))[:SECTOR]):
            if self._is_written():
                raise JournalError("journal without its key: have it examined")
            raise JournalError("no key: provision this unit")
        keys = self._keys
        self.chain = Chain(keys.epoch(), keys.secret(), keys.mac())
        self._finish(keys.clear())
        self._find_end(keys.place())
        due = self.chain.epoch * EPOCH_RECORDS
        last = self.durable
        if last < due - 1:
            self._missing(last + 1, due - 1)
            self.durable = due - 1
            self._at = SECTOR  # more events in this sector would be counted from `last`
        else:
            self._check_tail(max(1, due))
        self.number = self.durable + 1
        self._first = self._kept = self._oldest()
        self.first_held = max(1, self._first_of(self._first))

    def hand_secret(self) -> bytes:
        """Return the part of the sealing secret that the chip keeps; empty if there is none."""
        return self._keys.hand_secret

    def begin(self, first_key: bytes) -> None:
        """Write the first key of a new unit, in place of a key with which no unit has recorded.

        Raises JournalError if a unit has recorded on this chip.
        """
        if self._keys.mount(memoryview(bytearray(SECTOR))) and self._keys.epoch():
            raise JournalError("the chip has the events of a unit")
        if self._is_written():
            raise JournalError("the chip has the events of a unit")
        keyring.fill(self._slot, 0, Chain(0, first_key, chain_id(first_key)))
        self._finish(self._keys.begin(self._slot))

    def pool_slot(self) -> "bytearray | None":
        """Return the slot of the keyring with the pool's value, None if there is none."""
        return self._keys.pool_slot()

    def write_pool(self, slot: "memoryview") -> None:
        """Write the slot that `PoolSlots.fill` has made, and wait until it is on flash and the one
        before is not. Only at the start, while nothing else is written."""
        self._finish(self._keys.write_pool(slot))

    def _is_written(self) -> bool:
        """Whether there are events on the chip."""
        magic = self._window[: len(MAGIC)]
        for sector in range(min(_WOULD_SHOW, self.sectors)):
            self._flash.read(self._address(sector), magic)
            if magic == MAGIC:
                return True
        return False

    def _finish(self, work: "Iterable[object]") -> None:
        for _ in work:
            while self._flash.busy():
                pass

    def _find_end(self, place: int) -> None:
        """Find the last sector in use, at `place` or soon after it, and the last event in it."""
        last, probe = place, place + 1
        while last >= 0 and self._first_of(last) < 0:
            last -= 1  # this sector is damaged or was never written
            if last < place - MOST_BAD:
                raise JournalError("journal damaged: no sector near %d can be read" % place)
        while probe <= max(last, place) + MOST_BAD:
            if self._first_of(probe) >= 0:
                last = probe
            probe += 1
        self._open = self._last = last
        if last < 0:
            return
        self.durable = self._first_of(last) - 1
        self._at = self._end_of(last)
        if last < place:
            self._open = self._last = place
            self._at = SECTOR

    def _end_of(self, sector: int) -> int:
        """Return the place after the last good entry of a sector; SECTOR if the rest is not blank.

        Adds the events of the sector to `durable`.
        """
        at = HEADER_SIZE
        while True:
            size = self._load(sector, at)
            if size <= 0:
                return at if size == 0 and self._is_blank(sector, at) else SECTOR
            if self._page[0] == EVENT:
                self.durable += 1
            at += size

    def _check_tail(self, first: int) -> None:
        """Check that the events from `first` on, all under the newest secret, were recorded so."""
        chain = self.chain
        cursor = Cursor(self)
        found = cursor.seek(first)
        while cursor.number <= self.durable:
            number = cursor.number
            if not found or not cursor.next():
                raise JournalError("journal damaged: event %d cannot be read" % number)
            chain.move_on(number)
            chain.add(cursor.record)
            if chain.mac != cursor.mac:
                raise JournalError("journal changed: event %d is not what was recorded" % number)

    def _oldest(self) -> int:
        sector = max(0, self._open - self.sectors + 1)
        while sector < self._open and self._first_of(sector) < 0:
            sector += 1
        return max(sector, 0)

    def each_since_state(self, visit: "Callable[[int, memoryview | bytes], object]") -> None:
        """Call `visit(kind, payload)` for the last state and every entry after it.

        With no state it begins with the oldest entry. `payload` is valid until `visit` returns. For
        events after the state that cannot be read it calls `visit(MISSING, b"")`.
        """
        sector = self._open
        least = max(self._first, self._open - MOST_BACK)
        while sector > least and self._last_state(sector) < 0:
            sector -= 1
        begin = self._last_state(sector)
        due = 1 if begin < 0 else self._first_of(sector)
        if begin < 0 and (sector > self._first or self.first_held > 1):
            visit(MISSING, b"")  # the state itself
            due = max(1, self._first_of(sector))
        while 0 <= sector <= self._open:
            first = self._first_of(sector)
            if first > due:
                self._missing(due, first - 1)
                visit(MISSING, b"")
            due = max(due, first)
            at = HEADER_SIZE
            size = self._load(sector, at) if first >= 0 else 0
            while size > 0:
                due += self._page[0] == EVENT
                if at >= begin:
                    visit(self._page[0], self._window[HEAD_SIZE : HEAD_SIZE + self._page[1]])
                at += size
                size = self._load(sector, at)
            sector += 1
            begin = HEADER_SIZE
        if due <= self.durable:
            self._missing(due, self.durable)
            visit(MISSING, b"")

    def _missing(self, first: int, last: int) -> None:
        """Note that events `first` to `last` are missing; some may be noted already."""
        self.lost_first = min(self.lost_first or first, first)
        if last > self.lost_last:
            self.lost_last = last
            # The keyring has the MAC of one event: the last one before the newest epoch.
            known = last == self.chain.epoch * EPOCH_RECORDS - 1
            self.lost_mac = self._keys.mac() if known else b""

    def gap_recorded(self, last: int) -> None:
        """Note that an event `gap` on flash reports what is missing, up to event `last`."""
        if self.lost_last <= last:
            self.lost_first = self.lost_last = 0

    def _last_state(self, sector: int) -> int:
        found, at = -1, HEADER_SIZE
        if self._first_of(sector) < 0:
            return found
        size = self._load(sector, at)
        while size > 0:
            if self._page[0] == STATE:
                found = at
            at += size
            size = self._load(sector, at)
        return found

    # ---- what may be overwritten

    def acknowledge(self, number: int) -> None:
        """Note that a host has every event up to `number`."""
        if number > self._acked:
            self._acked = number
            self.stuck = False

    def acknowledged(self) -> int:
        """Return the number up to which a host has acknowledged every event.

        A host continues after lost events; until the loss is recorded, the number stays before it.
        """
        return min(self._acked, self.lost_first - 1) if self.lost_first else self._acked

    def restore_acknowledged(self, number: int) -> None:
        """Do the same as `acknowledge` at the start of the unit."""
        self.acknowledge(number)
        self._leave_half_erased()
        cursor = Cursor(self)
        if cursor.seek(number + 1):
            self._kept = max(self._kept, cursor.sector)

    def restore_lost(self) -> None:
        """At the start: note overwritten events that no host has acknowledged as lost."""
        if self._acked + 1 < self.first_held:
            self.lost_first, self.lost_last = self._acked + 1, self.first_held - 1
            self.lost_mac = b""

    def _leave_half_erased(self) -> None:
        """Leave out the oldest sector if a loss of power interrupted its erase: it is no damage."""
        sector, after = self._first, self._first + 1
        if sector + self.sectors > self._open + MOST_BAD:
            return  # its place is not needed yet
        while after < self._open and self._first_of(after) < 0:
            after += 1
        last = self._first_of(after) - 1
        if last > self._acked and not self.may_overwrite:
            return  # it could not have been erased
        if Cursor(self).last_in(sector, self._first_of(sector)) < last:
            self._first = after
            self._kept = max(self._kept, after)
            self.first_held = last + 1

    @property
    def begun(self) -> int:
        """Sectors opened over the life of the chip."""
        return self._last + 1

    def busy(self) -> bool:
        """Whether the chip is busy, so that nothing can be read."""
        return self._flash.busy()

    def spare_sectors(self) -> int:
        """Return how many sectors can be opened before an event that no host has is overwritten."""
        return self._kept + self.sectors - 1 - max(self._open, 0)

    def full(self) -> bool:
        """Whether dealing must stop until a host has acknowledged events."""
        if self.may_overwrite or self.spare_sectors() >= RESERVE_SECTORS or self._flash.busy():
            return False
        self._let_go()  # a host may have acknowledged many events just now
        return self.spare_sectors() < RESERVE_SECTORS

    def room(self) -> int:
        """Return how many events fit at the least before one that no host has is overwritten."""
        return self.spare_sectors() * ((SECTOR - HEADER_SIZE) // MOST_ENTRY)

    def _let_go(self) -> None:
        """Release the sectors whose events are acknowledged, a few at a time."""
        for _ in range(_MOST_KEPT):
            sector = self._after(self._kept)
            if sector > self._open or self._first_of(sector) > self._acked + 1:
                return
            self._kept = sector

    def _after(self, sector: int) -> int:
        """Return the next sector with a header, or the open sector."""
        sector += 1
        while sector < self._open and self._first_of(sector) < 0:
            sector += 1
        return sector

    def _may_erase(self, sector: int) -> bool:
        return sector - self.sectors < self._kept

    def _give_up(self, sector: int) -> None:
        """Release an old sector although no host has its events; note them as lost."""
        self._kept = sector + 1
        lost = max(self.first_held, self._acked + 1)
        last = self._first_of(self._after(sector)) - 1
        if last < lost:
            return
        if not self.lost_first:
            self.lost_first = lost
        self.lost_last = last
        first = self._first_of(sector)
        cursor = Cursor(self)
        whole = first >= 0 and cursor.last_in(sector, first) == last
        self.lost_mac = bytes(cursor.mac) if whole else b""

    # ---- scrub

    def scrub(self, sector: int) -> int:
        """Check the next entries of an old sector and report damage; return the sector to check
        next.

        It reads a few entries at a time: a whole sector takes 0.1 s, and the buttons are not read
        during that time.
        """
        if self._flash.busy():
            return sector
        if not self._first <= sector < self._open:
            return self._first
        if sector != self._scrubbed:
            self._scrubbed, self._scrub_at = sector, HEADER_SIZE
            self._scrub_number = self._first_of(sector)
        number = self._scrub_number
        size = 0
        for _ in range(_SCRUBBED_AT_ONCE):
            size = self._load(sector, self._scrub_at) if number >= 0 else 0
            if size <= 0:
                break
            number += self._page[0] == EVENT
            self._scrub_at += size
        else:
            self._scrub_number = number
            return sector
        self._scrubbed = -1
        if number < 0 and sector == self._first:
            number = self.first_held
        after = self._after(sector)
        last = self._first_of(after) - 1
        if size == 0 and after > sector + 1:
            sector += 1  # this one is good: the missing events were in one without a header
        if 0 < number <= last and sector not in self._damaged:
            self._damaged.append(sector)
            self.faults.append((DAMAGED, self._address(sector) // SECTOR, number, last))
        return after
