"""What the shoe saw, on its own flash chip, before anybody is told: a ring of records.

Sectors (ring.py) are used one after the other. In them lie events with their MACs, and what the
shoe needs to stand where it stood after a loss of power (notes of inputs, states, a mark that a
card passes).

`put` only queues an entry. `step` writes, one flash operation at a time, and never waits for
the chip; what it programs it reads back. A sector is erased ahead, or, with none left, when it is
needed. Only a sector that was erased since the start is written to.

A cut of the power leaves a prefix of what was queued: what is torn is at the very end, its CRC
is wrong, and the sector is closed behind it.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.chain import EPOCH_RECORDS, Chain, name_of
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.keyring import Keyring
from sabot_firmware.journal.ring import (
    EVENT,
    HEAD_SIZE,
    HEADER_SIZE,
    MAGIC,
    MISSING,
    MOST_ENTRY,
    OVERHEAD,
    STATE,
    Ring,
)
from sabot_firmware.native import const
from sabot_protocol import enums

_KEY = const(5)  # in the queue only: the secret of a new epoch, for the keyring

RESERVE_SECTORS = const(8)
"""Left for what an open round and the supervisor may still add to a full journal."""

_AHEAD = const(3)  # sectors kept erased
_MOST_BAD = const(16)  # sectors with no header between two that have one
_WOULD_SHOW = const(4 * _MOST_BAD)  # sectors, one of which has a header wherever any has
_MOST_BACK = const(16)  # sectors searched for the last state
_SCRUBBED_AT_ONCE = const(4)  # entries
_MOST_KEPT = const(8)  # sectors that are let go in one step once a host has them
_ZERO_PAGE = bytes(PAGE)

ERASE_FAILED = enums.JOURNAL_FAULTS.index("erase_failed")
PROGRAM_FAILED = enums.JOURNAL_FAULTS.index("program_failed")
DAMAGED = enums.JOURNAL_FAULTS.index("damaged")


class JournalError(Exception):
    """The journal cannot be used. Nothing is guessed from it."""


class Journal(Ring):
    """The journal on the chip `flash`; `mount` comes first."""

    def __init__(self, flash, queue: bytearray) -> None:
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
        self.bad_sectors = 0
        """Found since the start."""
        self.faults: "list[tuple[int, int, int, int]]" = []
        """What is to be recorded, as in the event `journal_fault`."""
        self.first_held = 1
        """Number of the oldest event on flash; `durable` + 1 where there is none."""
        self.stuck = False
        """Whether what is queued waits until a host has taken older events."""
        self._queue = queue
        self._queued = memoryview(queue)
        self._head = self._tail = 0
        self._verified = 0  # bytes of the queue, from _head on, that are on flash
        self._out = bytearray(HEADER_SIZE)
        self._slot = memoryview(bytearray(keyring.SLOT_SIZE))
        self._first = 0  # the oldest sector that still holds something
        self._kept = 0  # the oldest with an event that no host has
        self._acked = 0
        self._open = -1  # the sector that is written to
        self._at = SECTOR  # behind what is written there
        self._last = -1  # the sector that was tried last
        self._erased: "list[int]" = []
        self._damaged: "list[int]" = []  # told of since the start
        self._scrubbed = -1  # the sector that `scrub` has begun with
        self._scrub_at = self._scrub_number = 0  # the next entry, and the number of the next event
        self._at_rest = False
        self._state_sector = 0  # that was open when a state was queued last
        self._worker = self._work()

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
        self.chain = Chain(0, first_secret, name_of(first_secret))
        keyring.fill(self._slot, 0, self.chain)
        self._finish(self._keys.write(self._slot))

    def _finish(self, work) -> None:
        for _ in work:
            while self._flash.busy():
                pass

    def _find_end(self, place: int) -> None:
        """The last sector in use, at `place` or not far behind it, and the last event in it."""
        last, probe = place, place + 1
        while last >= 0 and self._first_of(last) < 0:
            last -= 1  # it was damaged, or nothing was ever written
            if last < place - _MOST_BAD:
                raise JournalError("journal damaged: no sector near %d can be read" % place)
        while probe <= max(last, place) + _MOST_BAD:
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
        """Behind the last good entry of a sector; SECTOR where anything but blank comes then."""
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

    def each_since_state(self, visit) -> None:
        """Call `visit(kind, payload)` for the last state and all that was written behind it.

        With no state it begins with the oldest entry. `payload` is good until `visit` returns.
        Where an event behind the state cannot be read, `visit(MISSING, b"")`.
        """
        sector = self._open
        least = max(self._first, self._open - _MOST_BACK)
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
        """Events `first` to `last` must have been there; some may have been told of already."""
        self.lost_first = min(self.lost_first or first, first)
        if last > self.lost_last:
            self.lost_last = last
            # The keys tell the MAC of one event: of the last before the newest epoch.
            known = last == self.chain.epoch * EPOCH_RECORDS - 1
            self.lost_mac = self._keys.mac() if known else b""

    def told_of(self, last: int) -> None:
        """There is a gap on flash that tells what is missing, up to event `last`."""
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

    # ---- writing

    def put_event(self, record: "memoryview", size: int) -> None:
        """Queue the next event, and chain it to those before."""
        chain = self.chain
        if chain.move_on(self.number):
            self._make_queue_room(keyring.SLOT_SIZE + HEAD_SIZE)
            at = self._tail
            self._queue[at] = _KEY
            begin = at + HEAD_SIZE
            # The sector that is open now: the epoch's events are in it, or behind it.
            place = max(self._open, 0)
            keyring.fill(self._queued[begin : begin + keyring.SLOT_SIZE], place, chain)
            self._tail = begin + keyring.SLOT_SIZE
        chain.add(record[:size])
        self._put(EVENT, record, size, chain.mac)
        self.number += 1

    def put(self, kind: int, payload: "memoryview", size: int) -> None:
        """Queue an entry that is no event."""
        if kind == STATE:
            self._state_sector = self._open
        self._put(kind, payload, size, b"")

    def state_is_far(self) -> bool:
        """Whether so much was written behind the last state that another one should be."""
        return self._open - self._state_sector > _MOST_BACK // 2

    def _put(self, kind: int, payload, size: int, behind) -> None:
        length = size + len(behind)
        self._make_queue_room(length + OVERHEAD)
        queue, at = self._queue, self._tail
        begin = at + HEAD_SIZE
        end = begin + length
        queue[at] = kind
        queue[at + 1] = length
        self._queued[begin : begin + size] = payload[:size]
        self._queued[begin + size : end] = behind
        crc = binascii.crc32(self._queued[at:end])
        queue[end : end + 4] = crc.to_bytes(4, "little")
        self._tail = end + 4

    def _make_queue_room(self, size: int) -> None:
        if self._tail + size <= len(self._queue):
            return
        while self._tail - self._head + size > len(self._queue):
            if self.stuck:
                raise JournalError("journal full: connect a host")
            self.step()
        rest = self._tail - self._head
        self._queue[:rest] = bytes(self._queued[self._head : self._tail])
        self._head = 0
        self._tail = rest

    def crowded(self) -> bool:
        """Whether it waits for a host, and what may still come is kept room for in the queue."""
        return self.stuck and self._tail - self._head > len(self._queue) // 2

    def unwritten(self) -> bool:
        """Whether something that can be written now is not on flash yet."""
        return self._head != self._tail and not self.stuck

    def drain(self) -> None:
        """Write all that is queued, and wait for it."""
        while self.unwritten():
            self.step()

    def step(self, at_rest: bool = False) -> bool:
        """Go on writing. False where the chip is busy, or nothing is to be done.

        `at_rest`: with nothing left to be written there is time to erase ahead, which takes up to
        400 ms.
        """
        if self._flash.busy():
            return False
        self._at_rest = at_rest
        return next(self._worker)

    def _work(self):
        """All flash operations but reading, in one order. Yields whether it did something."""
        while True:
            if self._head != self._tail:
                if self._queue[self._head] == _KEY:
                    yield from self._write_key()
                elif self._fits() == 0:
                    yield from self._open_sector()
                else:
                    yield from self._write_page()
            elif self._at_rest:
                yield from self._erase_ahead()
            else:
                yield False

    def _write_key(self):
        size = HEAD_SIZE + keyring.SLOT_SIZE
        slot = self._slot
        slot[:] = self._queued[self._head + HEAD_SIZE : self._head + size]
        for _ in self._keys.write(slot):
            yield True
        for i in range(self._head, self._head + size):
            self._queue[i] = 0
        self._pop(size)

    def _fits(self) -> int:
        """Bytes from the queue's head on that are whole entries and fit into the sector."""
        at = self._head
        while at != self._tail and self._queue[at] != _KEY:
            end = at + self._queue[at + 1] + OVERHEAD
            if self._at + end - self._head - self._verified > SECTOR:
                break
            at = end
        return at - self._head

    def _write_page(self):
        """Program what fits into one page, and read it back."""
        begin = self._head + self._verified
        size = min(self._fits() - self._verified, PAGE - self._at % PAGE)
        address = self._address(self._open) + self._at
        self._flash.program(address, self._queued[begin : begin + size])
        yield True
        begin = self._head + self._verified  # the queue may have been moved up meanwhile
        window = self._window[:size]
        self._flash.read(address, window)
        if window == self._queued[begin : begin + size]:
            self._at += size
            self._verified += size
            self._pop_written()
            return
        # What is torn stays behind and is written again, to the next sector.
        self._fault(PROGRAM_FAILED, self._open)
        same = 0
        while window[same] == self._queue[begin + same]:
            same += 1
        self._verified += same
        self._pop_written()
        torn = max(0, same - self._verified)
        self._verified = 0
        self._at = SECTOR
        # Was it only misread, it would be there twice: now it is no entry for sure.
        self._flash.program(address + torn, _ZERO_PAGE[: size - torn])
        yield True

    def _pop_written(self) -> None:
        while self._verified:
            size = self._queue[self._head + 1] + OVERHEAD
            if size > self._verified:
                return
            if self._queue[self._head] == EVENT:
                self.durable += 1
            self._verified -= size
            self._pop(size)

    def _pop(self, size: int) -> None:
        self._head += size
        if self._head == self._tail:
            self._head = self._tail = 0

    def _open_sector(self):
        """Begin with the next sector, erased ahead or now."""
        if not self._erased:
            yield from self._erase_next()
            if not self._erased:
                return
        sector = self._erased.pop(0)
        out = self._out
        out[0:4] = MAGIC
        out[4:8] = sector.to_bytes(4, "little")
        out[8:12] = (self.durable + 1).to_bytes(4, "little")
        out[12:16] = binascii.crc32(memoryview(out)[:12]).to_bytes(4, "little")
        self._flash.program(self._address(sector), out)
        yield True
        if self._first_of(sector) != self.durable + 1:
            self._fault(PROGRAM_FAILED, sector)
            return
        if self._open < 0:
            self._first = self._kept = sector
            self.first_held = self.durable + 1
        self._open = sector
        self._at = HEADER_SIZE
        self._verified = 0

    def _erase_ahead(self):
        sector = self._keys.to_erase()
        if sector >= 0:
            for _ in self._keys.erase(sector):
                yield True
        if len(self._erased) < _AHEAD:
            self._let_go()
            if self._may_erase(self._last + 1):
                yield from self._erase_next()
        yield False

    def _erase_next(self):
        sector = self._last + 1
        if sector > self._open + _MOST_BAD:  # further on a start would not look for it
            raise JournalError("journal worn out: replace its chip")
        self._let_go()
        if not self._may_erase(sector):
            if not self.may_overwrite:
                self.stuck = True
                yield False
                return
            self._give_up(sector - self.sectors)
        self.stuck = False
        self._last = sector
        if self._first <= sector - self.sectors:
            self._first = sector - self.sectors + 1
            while self._first < self._open and self._first_of(self._first) < 0:
                self._first += 1
            self.first_held = self._first_of(self._first)
        self._flash.erase(self._address(sector) // SECTOR)
        yield True
        if self._is_blank(sector, 0):
            self._erased.append(sector)
        else:
            self._fault(ERASE_FAILED, sector)

    def _fault(self, fault: int, sector: int) -> None:
        self.bad_sectors += 1
        self.faults.append((fault, self._address(sector) // SECTOR, 0, 0))

    # ---- what may be overwritten

    def acknowledge(self, number: int) -> None:
        """A host has every event up to `number`."""
        if number > self._acked:
            self._acked = number
            self.stuck = False

    def acknowledged(self) -> int:
        """Every event up to this number has been acknowledged by a host.

        A host goes on behind what is lost: until that is recorded it is not among them.
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
        sector, behind = self._first, self._first + 1
        if sector + self.sectors > self._open + _MOST_BAD:
            return  # its place is not wanted yet
        while behind < self._open and self._first_of(behind) < 0:
            behind += 1
        last = self._first_of(behind) - 1
        if last > self._acked and not self.may_overwrite:
            return  # nobody would have erased it
        if Cursor(self).last_in(sector, self._first_of(sector)) < last:
            self._first = behind
            self._kept = max(self._kept, behind)
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
            sector = self._behind(self._kept)
            if sector > self._open or self._first_of(sector) > self._acked + 1:
                return
            self._kept = sector

    def _behind(self, sector: int) -> int:
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
        last = self._first_of(self._behind(sector)) - 1
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

        A few entries at a time: all of a sector take 0.1 s, in which nobody looks at the buttons.
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
        behind = self._behind(sector)
        last = self._first_of(behind) - 1
        if size == 0 and behind > sector + 1:
            sector += 1  # it is sound: what is missing was in one without a header
        if 0 < number <= last and sector not in self._damaged:
            self._damaged.append(sector)
            self.faults.append((DAMAGED, self._address(sector) // SECTOR, number, last))
        return behind
