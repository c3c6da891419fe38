"""What the journal's chip holds: found at the start, given up for new events, checked for damage.

Nothing is written here but a blank chip's first key. Writing is for journal.py.
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
"""Left for what an open round and the supervisor may still add to a full journal."""

MOST_BAD = const(16)
"""Sectors with no header between two that have one, at the most."""
MOST_BACK = const(16)
"""Sectors that are searched for the last state."""

_WOULD_SHOW = const(4 * MOST_BAD)  # sectors, one of which has a header wherever any has
_SCRUBBED_AT_ONCE = const(4)  # entries
_MOST_KEPT = const(8)  # sectors that are let go in one step once a host has them

DAMAGED = enums.JOURNAL_FAULTS.index("damaged")


class JournalError(Exception):
    """The journal cannot be used. Nothing is guessed from it."""


class Contents(Ring):
    """Of the chip `flash`; `mount` comes first."""

    def __init__(self, flash: "Flash") -> None:
        super().__init__(flash)
        self._keys = Keyring(flash)
        self.chain: Chain = None  # type: ignore[assignment]
        """Its end, queued events counted."""
        self.durable = 0
        """Number of the last event that is on flash."""
        self.number = 1
        """Number that the next event will get."""
        self.lost_first = 0
        """At the start: first and last event that must have been there and is not; 0 for none."""
        self.lost_last = 0
        self.lost_mac = b""
        """The MAC of event `lost_last`."""
        self.may_overwrite = False
        """Whether events that no host has may be given up for new ones."""
        self.faults: "list[tuple[int, int, int, int]]" = []
        """What is to be recorded, as in the event `journal_fault`."""
        self.first_held = 1
        """Number of the oldest event on flash; `durable` + 1 where no event is."""
        self.stuck = False
        """Whether what is queued waits until a host has taken older events."""
        self._slot = memoryview(bytearray(keyring.SLOT_SIZE))
        self._first = 0  # the oldest sector that still holds something
        self._kept = 0  # the oldest with an event that no host has
        self._acked = 0
        self._open = -1  # the sector that is written to
        self._at = SECTOR  # the place after what is written there
        self._last = -1  # the sector that was tried last
        self._damaged: "list[int]" = []  # reported since the start
        self._scrubbed = -1  # the sector that `scrub` has begun with
        self._scrub_at = self._scrub_number = 0  # the next entry, and the number of the next event

    # ---- start

    def mount(self, first_secret: "bytes | None") -> None:
        """Find the end of what was written. A blank chip begins with `first_secret`.

        Raises JournalError where the chip was written to and cannot be used, or is blank and
        there is no secret.
        """
        if not self._keys.mount(memoryview(bytearray(SECTOR))):
            self._begin(first_secret)
            return
        keys = self._keys
        self.chain = Chain(keys.epoch(), keys.secret(), keys.mac())
        self._finish(keys.clear())
        self._find_end(keys.place())
        due = self.chain.epoch * EPOCH_RECORDS
        last = self.durable
        if last < due - 1:
            self._missing(last + 1, due - 1)
            self.durable = due - 1
            self._at = SECTOR  # its events would be counted on from `last`
        else:
            self._check_tail(max(1, due))
        self.number = self.durable + 1
        self._first = self._kept = self._oldest()
        self.first_held = max(1, self._first_of(self._first))

    def _begin(self, first_secret: "bytes | None") -> None:
        magic = self._window[: len(MAGIC)]
        for sector in range(min(_WOULD_SHOW, self.sectors)):
            self._flash.read(self._address(sector), magic)
            if magic == MAGIC:
                raise JournalError("journal without its key: have it looked into")
        if first_secret is None:
            raise JournalError("no key: provision this unit")
        self.chain = Chain(0, first_secret, chain_id(first_secret))
        keyring.fill(self._slot, 0, self.chain)
        self._finish(self._keys.write(self._slot))

    def _finish(self, work: "Iterable[object]") -> None:
        for _ in work:
            while self._flash.busy():
                pass

    def _find_end(self, place: int) -> None:
        """The last sector in use, at `place` or soon after it, and the last event in it."""
        last, probe = place, place + 1
        while last >= 0 and self._first_of(last) < 0:
            last -= 1  # it was damaged, or nothing was ever written
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
        """The place after the last good entry of a sector; SECTOR where the rest is not blank."""
        at = HEADER_SIZE
        while True:
            size = self._load(sector, at)
            if size <= 0:
                return at if size == 0 and self._is_blank(sector, at) else SECTOR
            if self._page[0] == EVENT:
                self.durable += 1
            at += size

    def _check_tail(self, first: int) -> None:
        """The events from `first` on, all under the newest secret, must be those recorded."""
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
        """Call `visit(kind, payload)` for the last state and all that was written after it.

        With no state it begins with the oldest entry. `payload` is good until `visit` returns.
        Where an event after the state cannot be read, `visit(MISSING, b"")`.
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
        """Events `first` to `last` must have been there; some may have been reported already."""
        self.lost_first = min(self.lost_first or first, first)
        if last > self.lost_last:
            self.lost_last = last
            # The keyring has the MAC of one event: of the last before the newest epoch.
            known = last == self.chain.epoch * EPOCH_RECORDS - 1
            self.lost_mac = self._keys.mac() if known else b""

    def told_of(self, last: int) -> None:
        """A gap on flash reports what is missing, up to event `last`."""
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
        """A host has every event up to `number`."""
        if number > self._acked:
            self._acked = number
            self.stuck = False

    def acknowledged(self) -> int:
        """Every event up to this number has been acknowledged by a host.

        A host goes on after what is lost: until that is recorded it does not count.
        """
        return min(self._acked, self.lost_first - 1) if self.lost_first else self._acked

    def restore_acknowledged(self, number: int) -> None:
        """As `acknowledge`, at the start."""
        self.acknowledge(number)
        self._leave_half_erased()
        cursor = Cursor(self)
        if cursor.seek(number + 1):
            self._kept = max(self._kept, cursor.sector)

    def restore_lost(self) -> None:
        """At the start: what was overwritten before, and no host is known to have."""
        if self._acked + 1 < self.first_held:
            self.lost_first, self.lost_last = self._acked + 1, self.first_held - 1
            self.lost_mac = b""

    def _leave_half_erased(self) -> None:
        """The power may have gone in the erase of the oldest sector; then it is not damaged."""
        sector, after = self._first, self._first + 1
        if sector + self.sectors > self._open + MOST_BAD:
            return  # its place is not wanted yet
        while after < self._open and self._first_of(after) < 0:
            after += 1
        last = self._first_of(after) - 1
        if last > self._acked and not self.may_overwrite:
            return  # it was not to be erased
        if Cursor(self).last_in(sector, self._first_of(sector)) < last:
            self._first = after
            self._kept = max(self._kept, after)
            self.first_held = last + 1

    @property
    def begun(self) -> int:
        """Sectors begun over the life of the chip."""
        return self._last + 1

    def busy(self) -> bool:
        """Whether nothing can be read now."""
        return self._flash.busy()

    def spare_sectors(self) -> int:
        """Sectors that can be opened before an event that no host has is overwritten."""
        return self._kept + self.sectors - 1 - max(self._open, 0)

    def full(self) -> bool:
        """Whether dealing must stop until a host has taken events."""
        if self.may_overwrite or self.spare_sectors() >= RESERVE_SECTORS or self._flash.busy():
            return False
        self._let_go()  # a host may have taken much just now
        return self.spare_sectors() < RESERVE_SECTORS

    def room(self) -> int:
        """Events that surely fit before one that no host has is overwritten."""
        return self.spare_sectors() * ((SECTOR - HEADER_SIZE) // MOST_ENTRY)

    def _let_go(self) -> None:
        """See how far the host has come, a few sectors at a time."""
        for _ in range(_MOST_KEPT):
            sector = self._after(self._kept)
            if sector > self._open or self._first_of(sector) > self._acked + 1:
                return
            self._kept = sector

    def _after(self, sector: int) -> int:
        """The next sector with a header, or the last one."""
        sector += 1
        while sector < self._open and self._first_of(sector) < 0:
            sector += 1
        return sector

    def _may_erase(self, sector: int) -> bool:
        return sector - self.sectors < self._kept

    def _give_up(self, sector: int) -> None:
        """Let an old sector go although no host has its events."""
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
        """Read on in an old sector and report what has changed in it; the one to look at next.

        A few entries at a time: all of a sector take 0.1 s, in which the buttons are not read.
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
            sector += 1  # it is sound: what is missing was in one without a header
        if 0 < number <= last and sector not in self._damaged:
            self._damaged.append(sector)
            self.faults.append((DAMAGED, self._address(sector) // SECTOR, number, last))
        return after
