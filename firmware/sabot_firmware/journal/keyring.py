"""The keyring: keeps the chain's secret on the journal's chip over a loss of power, and no old one.

It is a ring of sectors, each of 64 slots. A slot is written when an epoch begins, before the first
event of the epoch; then the slot of the previous epoch is programmed to zeros. At most two slots
are good at any time, and the newer one counts. A sector that is all zeros is erased ahead.

In the same way it keeps a part of the secret that seals cards (seals.py), if cards stay closed: a
new one replaces it after each such round. Older firmware takes its slot for a torn one.
"""

import binascii

from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError
from sabot_protocol.chain import KEY_SIZE
from sabot_protocol.events import MAC_SIZE

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Generator, Iterator

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
_TRIES = 3  # a program that the chip did not hear looks as if it was done
_BLANK = b"\xff" * _SLOT
_OF_HAND = 0x5EA1
"""With this the CRC of a slot begins that has the part of the sealing secret."""

assert PAGE % _SLOT == 0 and _END <= _SLOT  # a slot never crosses the end of a page


class Keyring:
    """The keyring in the first SECTORS sectors of `flash`.

    The methods that write are generators: they yield after the start of an operation, and must be
    continued once the chip is ready.
    """

    # Few shoes have a part of the sealing secret there, so these are in the class.
    hand_secret = b""
    """The part of the sealing secret; empty if there is none."""
    hand = -1
    """Its slot; -1 for none."""
    hands = 0
    """How often it was replaced."""

    def __init__(self, flash: "Flash") -> None:
        self._flash = flash
        self._slot = bytearray(_SLOT)
        self._view = memoryview(self._slot)
        self._newest = -1  # slot, counted over the whole ring
        self._next = 0
        self._erased = -1  # the sector that was erased last since the start
        self._to_clear: "list[int]" = []  # slots that must become zeros

    def mount(self, sector: "memoryview") -> bool:
        """Find the newest slot; return whether there is one. `epoch`, `place`, `secret` and `mac`
        then return its values.

        `sector` is a buffer for a sector: to read the whole ring by pages would take half a second.
        """
        newest = -1
        for first in range(0, SECTORS * _SLOTS, _SLOTS):
            self._flash.read(first * _SLOT, sector)
            if _all_as(_ZEROS, sector) or _all_as(_BLANK, sector):
                continue
            for at in range(first, first + _SLOTS):
                slot = sector[at % _SLOTS * _SLOT :][:_SLOT]
                self._view[:] = slot
                slot[:] = _ZEROS  # so that no secret stays in the buffer
                if self._view == _BLANK or self._view == _ZEROS:
                    continue
                self._to_clear.append(at)
                if self._good() and self.epoch() > newest:
                    newest = self.epoch()
                    self._newest = at
                elif self._good(_OF_HAND) and self.epoch() > self.hands:
                    self.hand, self.hands, self.hand_secret = at, self.epoch(), self.secret()
        if newest < 0:
            return False
        self._to_clear.remove(self._newest)
        after = self._newest
        if self.hand >= 0:
            self._to_clear.remove(self.hand)
            if (self.hand - after) % (SECTORS * _SLOTS) <= _SLOTS:
                after = self.hand  # it was written last: its sector must not be erased
        self._next = after + 1
        while self._next % _SLOTS:  # skip a torn slot: only a blank one can be written
            self._read(self._next)
            if self._view == _BLANK:
                break
            self._next += 1
        self._next %= SECTORS * _SLOTS
        self._read(self._newest)
        return True

    def begin(self, slot: "memoryview") -> "Iterator[None]":
        """Write the first slot of a new unit. What an earlier try has left is erased."""
        if self._newest >= 0:
            self._to_clear.append(self._newest)
        if self.hand >= 0:
            self._to_clear.append(self.hand)
            self.hand = -1
        self._newest, self._next = -1, 0
        yield from self.write(slot)

    def epoch(self) -> int:
        """Return the epoch of the slot that was read last."""
        return self._uint(_EPOCH)

    def place(self) -> int:
        """Return the sector of the journal that was open when that epoch began."""
        return self._uint(_PLACE)

    def secret(self) -> bytes:
        """Return the secret of that epoch."""
        return bytes(self._view[_SECRET:_MAC])

    def mac(self) -> bytes:
        """Return the MAC of the last event before that epoch."""
        return bytes(self._view[_MAC:_CRC])

    def clear(self, old: int = -1) -> "Iterator[None]":
        """Program old secrets to zeros, that of the slot `old` and those that a loss of power has
        left. A slot that does not take them is left to the next start."""
        if old >= 0:
            self._to_clear.append(old)
        left = bytearray(_SLOT)
        while self._to_clear:
            at = self._to_clear.pop()
            for _ in range(_TRIES):
                self._flash.program(at * _SLOT, _ZEROS)
                yield
                self._flash.read(at * _SLOT, left)
                if left == _ZEROS:
                    break

    def write(self, slot: "memoryview") -> "Iterator[None]":
        """Write the slot that `fill` has made, then program the previous one to zeros.

        If a slot cannot be written correctly, it is given up and the next one is used. Raises
        FlashError if all are given up.
        """
        if self.hand // _SLOTS == (self._next // _SLOTS + 1) % SECTORS:
            from sabot_firmware.journal import hand_slot  # few shoes have such a slot

            yield from hand_slot.move(self)
        at: int = yield from self.program(slot)
        old, self._newest = self._newest, at
        yield from self.clear(old)

    def program(self, slot: "memoryview") -> "Generator[None, None, int]":
        """Write the next slot that takes it, and return which one that is."""
        for _ in range(SECTORS * _SLOTS):
            at = self._next
            if at % _SLOTS == 0 and self._erased != at // _SLOTS:
                yield from self.erase(at // _SLOTS)
            self._next = (at + 1) % (SECTORS * _SLOTS)
            self._flash.program(at * _SLOT, slot)
            yield
            self._read(at)
            if self._view == slot:
                return at
            self._to_clear.append(at)
        raise FlashError("chip takes no key: replace the journal's chip")

    def to_erase(self) -> int:
        """Return the sector that should be erased ahead, -1 for none."""
        sector = (self._next // _SLOTS + 1) % SECTORS
        half_full = self._next % _SLOTS >= _SLOTS // 2
        return sector if half_full and sector != self._erased else -1

    def erase(self, sector: int) -> "Iterator[None]":
        """Erase one of the ring's sectors."""
        self._flash.erase(sector)
        yield
        self._erased = sector
        # Its slots need no zeros any more, and the next secret may be in one of them.
        self._to_clear = [at for at in self._to_clear if at // _SLOTS != sector]

    def _read(self, at: int) -> None:
        self._flash.read(at * _SLOT, self._slot)

    def _good(self, begin: int = 0) -> bool:
        return self._uint(_CRC) == binascii.crc32(self._view[:_CRC], begin)

    def _uint(self, at: int) -> int:
        return int.from_bytes(self._view[at : at + 4], "little")


def _all_as(slot: bytes, sector: "memoryview") -> bool:
    """Whether every slot of a sector equals this slot."""
    return sector[:_SLOT] == slot and sector[_SLOT:] == sector[:-_SLOT]


def fill(slot: "memoryview", place: int, chain: "Chain") -> None:
    """Fill `slot`, 64 bytes, with the values of the epoch that `chain` has just begun."""
    slot[_EPOCH:_PLACE] = chain.epoch.to_bytes(4, "little")
    slot[_PLACE:_SECRET] = place.to_bytes(4, "little")
    slot[_SECRET:_MAC] = chain.secret
    slot[_MAC:_CRC] = chain.mac
    slot[_CRC:_END] = binascii.crc32(slot[:_CRC]).to_bytes(4, "little")
    slot[_END:_SLOT] = _BLANK[_END:]
