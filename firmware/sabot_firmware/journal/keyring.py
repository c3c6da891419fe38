"""Where the chain's secret outlasts a loss of power, on the journal chip; erased behind itself.

A ring of sectors, each of 64 slots. A slot is written when an epoch begins, before the epoch's
first event; then the slot of the epoch before is programmed to zeros. At most two slots are
good at any time, and the newer one counts. A sector that is all zeros is erased before its turn.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError
from sabot_protocol.chain import KEY_SIZE
from sabot_protocol.events import MAC_SIZE

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Iterator

    from sabot_firmware.interfaces import Flash
    from sabot_protocol.chain import Chain

SECTORS = 32
SLOT_SIZE = 64

_SLOT = SLOT_SIZE
_SLOTS = SECTOR // _SLOT
_EPOCH, _PLACE, _SECRET = 0, 4, 8
_MAC = _SECRET + KEY_SIZE
_CRC = _MAC + MAC_SIZE
_END = _CRC + 4
_ZEROS = bytes(_SLOT)
_BLANK = b"\xff" * _SLOT

assert PAGE % _SLOT == 0 and _END <= _SLOT  # a slot never lies across a page's end


class Keyring:
    """The first SECTORS sectors of `flash`. What writes is a generator: it yields when it has
    begun an operation, and goes on once the chip is ready.
    """

    def __init__(self, flash: "Flash") -> None:
        self._flash = flash
        self._slot = bytearray(_SLOT)
        self._view = memoryview(self._slot)
        self._newest = -1  # slot, counted over the whole ring
        self._next = 0
        self._erased = -1  # the sector that was erased last, since the start
        self._rests: "list[int]" = []  # slots that must become zeros

    def mount(self, sector: "memoryview") -> bool:
        """Look for the newest slot; whether there is one. `epoch` and the others tell of it.

        `sector` is room for one: all of the ring is read, and a page at a time that would take
        half a second.
        """
        newest = -1
        for first in range(0, SECTORS * _SLOTS, _SLOTS):
            self._flash.read(first * _SLOT, sector)
            if _all_as(_ZEROS, sector) or _all_as(_BLANK, sector):
                continue
            for at in range(first, first + _SLOTS):
                slot = sector[at % _SLOTS * _SLOT :][:_SLOT]
                self._view[:] = slot
                slot[:] = _ZEROS  # no secret stays there
                if self._view == _BLANK or self._view == _ZEROS:
                    continue
                self._rests.append(at)
                if self._good() and self.epoch() > newest:
                    newest = self.epoch()
                    self._newest = at
        if newest < 0:
            return False
        self._rests.remove(self._newest)
        self._next = self._newest + 1
        while self._next % _SLOTS:  # a slot that was torn is no place to write to
            self._read(self._next)
            if self._view == _BLANK:
                break
            self._next += 1
        self._next %= SECTORS * _SLOTS
        self._read(self._newest)
        return True

    def epoch(self) -> int:
        """Of the slot that was read last, as the next three."""
        return self._uint(_EPOCH)

    def place(self) -> int:
        """The journal's sector that was written to when the epoch began."""
        return self._uint(_PLACE)

    def secret(self) -> bytes:
        """The secret of that epoch."""
        return bytes(self._view[_SECRET:_MAC])

    def mac(self) -> bytes:
        """The MAC of the last event before that epoch."""
        return bytes(self._view[_MAC:_CRC])

    def clear(self) -> "Iterator[None]":
        """Bring to an end what a loss of power has left undone: old secrets become zeros."""
        while self._rests:
            self._flash.program(self._rests.pop() * _SLOT, _ZEROS)
            yield

    def write(self, slot: "memoryview") -> "Iterator[None]":
        """Write the slot that `fill` has made, then make the one before it zeros.

        A slot that cannot be written as it should is given up, and the next one taken. Raises
        FlashError where all are.
        """
        for _ in range(SECTORS * _SLOTS):
            at = self._next
            if at % _SLOTS == 0 and self._erased != at // _SLOTS:
                yield from self.erase(at // _SLOTS)
            self._next = (at + 1) % (SECTORS * _SLOTS)
            self._flash.program(at * _SLOT, slot)
            yield
            self._read(at)
            if self._view == slot:
                break
            self._rests.append(at)
        else:
            raise FlashError("chip takes no key: the journal's, have it replaced")
        if self._newest >= 0:
            self._rests.append(self._newest)
        self._newest = at
        yield from self.clear()

    def to_erase(self) -> int:
        """The sector that should be erased ahead, -1 for none."""
        sector = (self._next // _SLOTS + 1) % SECTORS
        half_full = self._next % _SLOTS >= _SLOTS // 2
        return sector if half_full and sector != self._erased else -1

    def erase(self, sector: int) -> "Iterator[None]":
        """Erase one of the ring's sectors."""
        self._flash.erase(sector)
        yield
        self._erased = sector
        # None of its slots must be made zeros any more: the next one may be in the same place.
        self._rests = [at for at in self._rests if at // _SLOTS != sector]

    def _read(self, at: int) -> None:
        self._flash.read(at * _SLOT, self._slot)

    def _good(self) -> bool:
        return self._uint(_CRC) == binascii.crc32(self._view[:_CRC])

    def _uint(self, at: int) -> int:
        return int.from_bytes(self._view[at : at + 4], "little")


def _all_as(slot: bytes, sector: "memoryview") -> bool:
    """Whether a sector is nothing but this slot again and again."""
    return sector[:_SLOT] == slot and sector[_SLOT:] == sector[:-_SLOT]


def fill(slot: "memoryview", place: int, chain: "Chain") -> None:
    """Make the slot of 64 bytes for the epoch that `chain` has just begun."""
    slot[_EPOCH:_PLACE] = chain.epoch.to_bytes(4, "little")
    slot[_PLACE:_SECRET] = place.to_bytes(4, "little")
    slot[_SECRET:_MAC] = chain.secret
    slot[_MAC:_CRC] = chain.mac
    slot[_CRC:_END] = binascii.crc32(slot[:_CRC]).to_bytes(4, "little")
    slot[_END:_SLOT] = _BLANK[_END:]
