"""A keyring on a chip of its own, and what must hold of the secrets on it."""

from firmware.tests.fakes.fake_flash import Flash
from firmware.tests.support.naive_chain import NaiveChain
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.journal import hand_slot, keyring
from sabot_firmware.journal.keyring import SECTORS, SLOT_SIZE, Keyring
from sabot_protocol.chain import EPOCH_RECORDS, Chain, chain_id

SLOTS = SECTOR // SLOT_SIZE
FIRST = bytes(range(100, 132))


class Ring:
    """A keyring and the chain whose secrets it keeps."""

    def __init__(self, flash, first_key=FIRST) -> None:
        self.flash = flash
        self.ring = Keyring(flash)
        self.chain = Chain(0, first_key, chain_id(first_key))
        self.slot = memoryview(bytearray(SLOT_SIZE))

    def begin(self) -> None:
        """Write the first key, as a new unit does."""
        keyring.fill(self.slot, 0, self.chain)
        self.run(self.ring.write(self.slot))

    def step(self, place: int = 0) -> None:
        """Begin the next epoch."""
        self.chain.move_on((self.chain.epoch + 1) * EPOCH_RECORDS)
        self.chain.mac[:] = mac_before(self.chain.epoch)
        keyring.fill(self.slot, place, self.chain)
        self.run(self.ring.write(self.slot))

    def tidy(self) -> None:
        """Erase ahead, as in a quiet moment."""
        sector = self.ring.to_erase()
        if sector >= 0:
            self.run(self.ring.erase(sector))

    def run(self, work) -> None:
        for _ in work:
            while self.flash.busy():
                pass


def blank_sector():
    return memoryview(bytearray(SECTOR))


def mac_before(epoch: int) -> bytes:
    return bytes([epoch & 0xFF, epoch >> 8]) * 8


def restarted(flash) -> "Ring | None":
    """Return the ring as the shoe finds and completes it after a loss of power; None for no key."""
    unit = Ring(flash)
    if not unit.ring.mount(blank_sector()):
        return None
    ring = unit.ring
    unit.chain = Chain(ring.epoch(), ring.secret(), ring.mac())
    unit.run(ring.clear())
    return unit


def check(flash, epoch: int, naive: NaiveChain, place: int = 0) -> Ring:
    """Check that the newest secret is that of `epoch` and that no older one is on the chip."""
    unit = restarted(flash)
    assert unit is not None, "no key"
    assert unit.chain.epoch == epoch
    assert bytes(unit.chain.secret) == naive.secret(epoch)
    assert bytes(unit.chain.mac) == (naive.name if epoch == 0 else mac_before(epoch))
    assert unit.ring.place() == place
    check_no_old_one(flash, epoch, naive)
    return unit


def check_no_old_one(flash, epoch: int, naive: NaiveChain) -> None:
    assert flash.holds(naive.secret(epoch))
    for old in range(max(0, epoch - 70), epoch):
        assert not flash.holds(naive.secret(old)), (old, epoch)


def new(flash=None) -> "tuple[Ring, Flash]":
    flash = Flash(SECTORS) if flash is None else flash
    unit = Ring(flash)
    assert not unit.ring.mount(blank_sector()), "a blank chip has no key"
    unit.begin()
    return unit, flash


def at_slot(slot: int, epoch: int = 0) -> "tuple[Ring, Flash]":
    """Return a ring whose newest slot is this one, counted over the whole ring. As on a real chip
    its sector has zeros before this slot and is blank after it."""
    flash = Flash(SECTORS)
    unit = Ring(flash)
    naive = NaiveChain(FIRST)
    unit.chain = Chain(epoch, naive.secret(epoch), mac_before(epoch) if epoch else naive.name)
    at = slot // SLOTS * SLOTS
    while at < slot:
        flash.program(at * SLOT_SIZE, bytes(SLOT_SIZE))
        at += 1
    keyring.fill(unit.slot, 0, unit.chain)
    flash.program(slot * SLOT_SIZE, unit.slot)
    found = restarted(flash)
    assert found is not None
    return found, flash


def check_after_cut(flash: Flash, begun: int, naive: NaiveChain) -> None:
    """Check the ring after a loss of power during the write of epoch `begun`, or later."""
    flash.power_on()
    again = restarted(flash)
    assert again is not None
    epoch = again.chain.epoch
    assert begun - 1 <= epoch <= begun
    again = check(flash, epoch, naive)
    for _ in range(2):
        again.step()
        epoch += 1
    check(flash, epoch, naive)


def keep(unit, number):
    """Write the pool's value with this number."""
    slot = memoryview(bytearray(SLOT_SIZE))
    slot[4:8] = number.to_bytes(4, "little")
    slot[8:40] = bytes([number & 0xFF, number >> 8]) * 16
    unit.run(unit.ring.write_pool(slot))


def number_of(unit):
    """Return the number of the pool's value; None if it is not there."""
    slot = unit.ring.pool_slot()
    if slot is None:
        return None
    number = int.from_bytes(slot[4:8], "little")
    assert slot[8:40] == bytes([number & 0xFF, number >> 8]) * 16
    return number


def put_hand(unit, secret):
    hand_slot.fill(unit.slot, secret)
    unit.run(hand_slot.write(unit.ring, unit.slot))


def part(number):
    return bytes([number & 0xFF, number >> 8]) + bytes(range(30))
