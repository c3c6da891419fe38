"""The journal: what the shoe saw, kept on its own flash chip in a ring of records.

Sectors (ring.py) are used one after another. They hold events with their MACs, and what the shoe
needs to continue after a loss of power (notes of inputs, states, a mark that a card is passing).
contents.py finds the entries on the chip at the start and decides which of them must stay.

`put` only queues an entry. `step` writes, one flash operation at a time, and never waits for the
chip; it reads back what it has programmed. Sectors are erased ahead, or when needed if none is
left. Only sectors erased since the start are written.

After a loss of power the first part of what was queued is on flash. A torn entry is at the very
end, its CRC is wrong, and nothing more is written to that sector.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.contents import MOST_BACK, MOST_BAD, Contents, JournalError
from sabot_firmware.journal.ring import EVENT, HEAD_SIZE, HEADER_SIZE, MAGIC, OVERHEAD, STATE
from sabot_firmware.native import const
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable, Iterator

    from sabot_firmware.interfaces import Flash, Readable

_KEY = const(5)  # a kind in the queue only: the secret of a new epoch, for the keyring
HAND = const(6)  # the same: a part of the sealing secret

_AHEAD = const(3)  # sectors kept erased
_ZERO_PAGE = bytes(PAGE)

ERASE_FAILED = enums.JOURNAL_FAULTS.index("erase_failed")
PROGRAM_FAILED = enums.JOURNAL_FAULTS.index("program_failed")


class Journal(Contents):
    """The journal on the chip `flash`. Call `mount` first. `queue` is the memory for entries that
    are not yet written."""

    def __init__(self, flash: "Flash", queue: bytearray) -> None:
        super().__init__(flash)
        self.may_write: "Callable[[], object] | None" = None
        """Whether the supply is good; None: it is not known, and taken for good."""
        self.bad_sectors = 0
        """Bad sectors found since the start."""
        self._queue = queue
        self._queued = memoryview(queue)
        self._head = self._tail = 0
        self._verified = 0  # bytes of the queue, from _head on, that are on flash
        self._out = bytearray(HEADER_SIZE)
        self._erased: "list[int]" = []
        self._at_rest = self._card_near = False
        self._state_sector = 0  # the sector that was open when a state was last queued
        self._worker = self._work()

    # ---- the queue

    def put_event(self, record: "memoryview", size: int) -> None:
        """Queue the next event and add it to the chain."""
        chain = self.chain
        if chain.move_on(self.number):
            # The events of the epoch are in the sector that is open now, or in later ones.
            keyring.fill(self.queued_slot(_KEY), max(self._open, 0), chain)
        chain.add(record[:size])
        self._put(EVENT, record, size, chain.mac)
        self.number += 1

    def queued_slot(self, kind: int) -> memoryview:
        """Queue a slot of the keyring; return its place in the queue, to be filled."""
        self._make_queue_room(keyring.SLOT_SIZE + HEAD_SIZE)
        self._queue[self._tail] = kind
        begin = self._tail + HEAD_SIZE
        self._tail = begin + keyring.SLOT_SIZE
        return self._queued[begin : self._tail]

    def put(self, kind: int, payload: "memoryview", size: int) -> None:
        """Queue an entry that is not an event."""
        if kind == STATE:
            self._state_sector = self._open
        self._put(kind, payload, size, b"")

    def state_is_far(self) -> bool:
        """Whether a new state is due, because much was written since the last one."""
        return self._open - self._state_sector > MOST_BACK // 2

    def _put(self, kind: int, payload: memoryview, size: int, mac: "Readable") -> None:
        length = size + len(mac)
        self._make_queue_room(length + OVERHEAD)
        queue, at = self._queue, self._tail
        begin = at + HEAD_SIZE
        end = begin + length
        queue[at] = kind
        queue[at + 1] = length
        self._queued[begin : begin + size] = payload[:size]
        self._queued[begin + size : end] = mac
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
        """Whether it waits for a host, and the rest of the queue must stay free for entries that
        may still come."""
        return self.stuck and self._tail - self._head > len(self._queue) // 2

    def unwritten(self) -> bool:
        """Whether there is something in the queue that can be written now."""
        return self._head != self._tail and not self.stuck

    def drain(self) -> None:
        """Write the whole queue and wait until it is on flash."""
        while self.unwritten():
            self.step()

    # ---- writing

    def step(self, at_rest: bool = False, card_near: bool = False) -> bool:
        """Continue writing. Return False if the chip is busy, the supply falls, or there is nothing
        to do. One call begins at most one operation of the chip.

        `at_rest` means that with an empty queue there is time to erase ahead, which takes up to
        400 ms. `card_near` means that a card is near its decision: an erased sector is read back
        later, because that takes 10 ms.
        """
        if self._flash.busy() or (self.may_write is not None and not self.may_write()):
            return False
        self._at_rest = at_rest
        self._card_near = card_near
        return next(self._worker)

    def _work(self) -> "Iterator[bool]":
        """Do all programs and erases, in one order. Yield whether it did something."""
        while True:
            if self._head != self._tail:
                if self._queue[self._head] >= _KEY:
                    yield from self._write_key()
                elif self._fits() == 0:
                    yield from self._open_sector()
                else:
                    yield from self._write_page()
            elif self._at_rest:
                yield from self._erase_ahead()
            else:
                yield False

    def _write_key(self) -> "Iterator[bool]":
        size = HEAD_SIZE + keyring.SLOT_SIZE
        slot = self._slot
        slot[:] = self._queued[self._head + HEAD_SIZE : self._head + size]
        work = self._keys.write(slot)
        if self._queue[self._head] == HAND:
            from sabot_firmware.journal import hand_slot

            work = hand_slot.write(self._keys, slot)
        for _ in work:
            yield True
        for i in range(self._head, self._head + size):
            self._queue[i] = 0
        self._pop(size)

    def _fits(self) -> int:
        """Return how many bytes of whole entries, from the queue's head on, fit into the sector."""
        at = self._head
        while at != self._tail and self._queue[at] < _KEY:
            end = at + self._queue[at + 1] + OVERHEAD
            if self._at + end - self._head - self._verified > SECTOR:
                break
            at = end
        return at - self._head

    def _write_page(self) -> "Iterator[bool]":
        """Program what fits into one page and read it back."""
        begin = self._head + self._verified
        size = min(self._fits() - self._verified, PAGE - self._at % PAGE)
        address = self._address(self._open) + self._at
        self._flash.program(address, self._queued[begin : begin + size])
        yield True
        begin = self._head + self._verified  # the queue may have been moved since the program
        window = self._window[:size]
        self._flash.read(address, window)
        if window == self._queued[begin : begin + size]:
            self._at += size
            self._verified += size
            self._pop_written()
            return
        # The torn entry stays there and is written again to the next sector.
        self._fault(PROGRAM_FAILED, self._open)
        same = 0
        while window[same] == self._queue[begin + same]:
            same += 1
        self._verified += same
        self._pop_written()
        torn = max(0, same - self._verified)
        self._verified = 0
        self._at = SECTOR
        # If it was only misread, it would be there twice. Zeros make sure that it is not an entry.
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

    def _open_sector(self) -> "Iterator[bool]":
        """Open the next sector; erase it first if none was erased ahead."""
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

    def _erase_ahead(self) -> "Iterator[bool]":
        sector = self._keys.to_erase()
        if sector >= 0:
            for _ in self._keys.erase(sector):
                yield True
        if len(self._erased) < _AHEAD:
            self._let_go()
            if self._may_erase(self._last + 1):
                yield from self._erase_next()
        yield False

    def _erase_next(self) -> "Iterator[bool]":
        sector = self._last + 1
        if sector > self._open + MOST_BAD:  # a start would not search any further
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
        while self._card_near:
            yield False
        if self._is_blank(sector, 0):
            self._erased.append(sector)
        else:
            self._fault(ERASE_FAILED, sector)

    def _fault(self, fault: int, sector: int) -> None:
        self.bad_sectors += 1
        self.faults.append((fault, self._address(sector) // SECTOR, 0, 0))
