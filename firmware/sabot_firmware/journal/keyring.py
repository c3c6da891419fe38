"""The keyring: keeps the chain's secret, the value of the pool and a part of the sealing secret on
the journal's chip over a loss of power, and no old ones.

It is a ring of sectors, each of 64 slots. A slot is written when an epoch begins, before the first
event of the epoch; then the slot of the previous epoch is programmed to zeros. At most two slots
are good at any time, and the newer one counts. A sector that is all zeros is erased ahead.

The pool's value (pool_slot.py) is in such a slot too, with another CRC, and so is a part of the
secret that seals cards (seals.py), if cards stay closed: a new one replaces it after each such
round. Older firmware takes either for a torn slot and programs it to zeros. What is in the sector
that is erased next is written again before.
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
_OF_POOL = 0x6C6F6F70
"""The CRC of a slot with the pool's value differs by this."""
_OF_HAND = 0x646E6168
"""The CRC of a slot with the part of the sealing secret differs by this."""
_WORN_OUT = "chip takes no key: replace the journal's chip"
_ZEROS = bytes(_SLOT)
_TRIES = 3  # a program that the chip did not hear looks as if it was done
_BLANK = b"\xff" * _SLOT

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
        self._epoch = 0  # of that slot
        self._pool = -1  # the slot with the pool's value
        self._pool_slot = bytearray(_SLOT)  # its content
        self._next = 0
        self._erased = -1  # the sector that was erased last since the start
        self._to_clear: "list[int]" = []  # slots that must become zeros

    def mount(self, sector: "memoryview") -> bool:
        """Find the newest slot; return whether there is one. `epoch`, `place`, `secret` and `mac`
        then return its values.

        `sector` is a buffer for a sector: to read the whole ring by pages would take half a second.
        """
        newest = pool = of_hand = -1
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
                elif self._good(_OF_POOL):
                    # A copy that was written again has the same number, and a newer epoch.
                    order = self._uint(_PLACE) << 32 | self.epoch()
                    if order > pool:
                        pool = order
                        self._pool = at
                        self._pool_slot[:] = self._slot
                elif self._good(_OF_HAND) and self._uint(_PLACE) > self.hands:
                    self.hand, self.hands, self.hand_secret = at, self._uint(_PLACE), self.secret()
                    of_hand = self.epoch()
        if newest < 0:
            return False
        self._epoch = newest
        self._to_clear.remove(self._newest)
        ahead = 0  # how far after it the slot is that was written last
        for at, epoch in ((self._pool, pool & 0xFFFFFFFF), (self.hand, of_hand)):
            if at >= 0:
                self._to_clear.remove(at)
                if epoch >= newest:  # it was written after the newest epoch began
                    ahead = max(ahead, (at - self._newest) % (SECTORS * _SLOTS))
        self._next = (self._newest + ahead + 1) % (SECTORS * _SLOTS)
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
        self._to_clear += [at for at in (self._newest, self._pool, self.hand) if at >= 0]
        self._newest = self._pool = self.hand = -1
        self._next = 0
        yield from self.write(slot)

    def pool_slot(self) -> "bytearray | None":
        """Return the slot with the pool's value, None if there is none."""
        return self._pool_slot if self._pool >= 0 else None

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

    def clear(self) -> "Iterator[None]":
        """Program old secrets to zeros, also those that a loss of power has left. A slot that does
        not take them is left to the next start."""
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
        before = self._newest
        self._newest = yield from self.program(slot)
        self._epoch = int.from_bytes(slot[_EPOCH:_PLACE], "little")
        yield from self.replaced(before)

    def write_pool(self, slot: "memoryview") -> "Iterator[None]":
        """Do the same as `write` for the slot that `PoolSlots.fill` has made."""
        before = self._pool
        fill_pool(slot, self._epoch)
        self._pool = yield from self.program(slot)
        self._pool_slot[:] = slot
        yield from self.replaced(before)

    def program(self, slot: "memoryview") -> "Generator[None, None, int]":
        """Write a slot to the next place that takes it; return the place."""
        for _ in range(SECTORS * _SLOTS):
            at = self._next
            if at % _SLOTS == 0 and self._erased != at // _SLOTS:
                if self._needs(at // _SLOTS):
                    break  # a whole sector took nothing: what it has is still needed
                yield from self.erase(at // _SLOTS)
            self._next = (at + 1) % (SECTORS * _SLOTS)
            self._flash.program(at * _SLOT, slot)
            yield
            self._read(at)
            if self._view == slot:
                return at
            self._to_clear.append(at)
        raise FlashError(_WORN_OUT)

    def replaced(self, before: int) -> "Iterator[None]":
        """Program the slot `before` to zeros, -1 for none. Write again what is in the sector that
        is erased next."""
        if before >= 0:
            self._to_clear.append(before)
        ahead = (self._next - 1) // _SLOTS + 1
        if self._next and ahead % SECTORS == self._newest // _SLOTS:
            slot = memoryview(bytearray(_SLOT))
            self._flash.read(self._newest * _SLOT, slot)
            self._to_clear.append(self._newest)
            self._newest = yield from self.program(slot)
        if self._next and ahead % SECTORS == self._pool // _SLOTS:
            slot = memoryview(bytearray(self._pool_slot))
            self._to_clear.append(self._pool)
            fill_pool(slot, self._epoch)
            self._pool = yield from self.program(slot)
            self._pool_slot[:] = slot
        if self._next and ahead % SECTORS == self.hand // _SLOTS:
            from sabot_firmware.journal import hand_slot  # few shoes have such a slot

            self._to_clear.append(self.hand)
            yield from hand_slot.write_again(self)
        yield from self.clear()
        self._read(self._newest)  # for `mac` and the others

    def _needs(self, sector: int) -> bool:
        """Whether a slot counts that is in this sector."""
        return sector in (self._newest // _SLOTS, self._pool // _SLOTS, self.hand // _SLOTS)

    def to_erase(self) -> int:
        """Return the sector that should be erased ahead, -1 for none."""
        sector = (self._next // _SLOTS + 1) % SECTORS
        half_full = self._next % _SLOTS >= _SLOTS // 2
        if self._needs(sector):
            return -1  # the next slot that is written has that one written again
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

    def _good(self, differs: int = 0) -> bool:
        return self._uint(_CRC) ^ differs == binascii.crc32(self._view[:_CRC])

    def _uint(self, at: int) -> int:
        return int.from_bytes(self._view[at : at + 4], "little")


def _all_as(slot: bytes, sector: "memoryview") -> bool:
    """Whether every slot of a sector equals this slot."""
    return sector[:_SLOT] == slot and sector[_SLOT:] == sector[:-_SLOT]


def fill(slot: "memoryview", place: int, chain: "Chain") -> None:
    """Fill `slot`, 64 bytes, with the values of the epoch that `chain` has just begun."""
    slot[_PLACE:_SECRET] = place.to_bytes(4, "little")
    slot[_SECRET:_MAC] = chain.secret
    slot[_MAC:_CRC] = chain.mac
    finish(slot, chain.epoch, 0)


def fill_pool(slot: "memoryview", epoch: int) -> None:
    """Fill up a slot that `PoolSlots.fill` has filled, which is written while `epoch` is newest."""
    finish(slot, epoch, _OF_POOL)


def finish(slot: "memoryview", epoch: int, differs: int) -> None:
    """Fill up a slot of any kind: its epoch, its CRC, which differs by `differs`, and its end."""
    slot[_EPOCH:_PLACE] = epoch.to_bytes(4, "little")
    slot[_CRC:_END] = (binascii.crc32(slot[:_CRC]) ^ differs).to_bytes(4, "little")
    slot[_END:_SLOT] = _BLANK[_END:]
