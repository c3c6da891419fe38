"""The chain's secret survives every loss of power, and no old secret can be found on the chip."""

import binascii
import os
import random

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, TORN, Flash, PowerCut
from firmware.tests.fakes.fake_nor import NorModel, Select, Spi
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.test_store import Folder
from protocol.tests.helpers import random_bytes, seed_random
from sabot_firmware.boards.nor import PAGE, SECTOR, FlashError, NorFlash
from sabot_firmware.boards.sim.flash import SimFlash
from sabot_firmware.journal import hand_slot, keyring
from sabot_firmware.journal.keyring import SECTORS, SLOT_SIZE, Keyring, fill
from sabot_protocol.chain import EPOCH_RECORDS, Chain, chain_id

SLOTS = SECTOR // SLOT_SIZE
FIRST = bytes(range(100, 132))


class _Ring:
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


def _sector():
    return memoryview(bytearray(SECTOR))


def mac_before(epoch: int) -> bytes:
    return bytes([epoch & 0xFF, epoch >> 8]) * 8


def _restarted(flash) -> "_Ring | None":
    """Return the ring as the shoe finds and completes it after a loss of power; None for no key."""
    unit = _Ring(flash)
    if not unit.ring.mount(_sector()):
        return None
    ring = unit.ring
    unit.chain = Chain(ring.epoch(), ring.secret(), ring.mac())
    unit.run(ring.clear())
    return unit


def check(flash, epoch: int, naive: NaiveChain, place: int = 0) -> _Ring:
    """Check that the newest secret is that of `epoch` and that no older one is on the chip."""
    unit = _restarted(flash)
    assert unit is not None, "no key"
    assert unit.chain.epoch == epoch
    assert bytes(unit.chain.secret) == naive.secret(epoch)
    assert bytes(unit.chain.mac) == (naive.name if epoch == 0 else mac_before(epoch))
    assert unit.ring.place() == place
    _check_no_old_one(flash, epoch, naive)
    return unit


def _check_no_old_one(flash, epoch: int, naive: NaiveChain) -> None:
    assert flash.holds(naive.secret(epoch))
    for old in range(max(0, epoch - 70), epoch):
        assert not flash.holds(naive.secret(old)), (old, epoch)


def new(flash=None) -> "tuple[_Ring, Flash]":
    flash = Flash(SECTORS) if flash is None else flash
    unit = _Ring(flash)
    assert not unit.ring.mount(_sector()), "a blank chip has no key"
    unit.begin()
    return unit, flash


def _at_slot(slot: int, epoch: int = 0) -> "tuple[_Ring, Flash]":
    """Return a ring whose newest slot is this one, counted over the whole ring. As on a real chip
    its sector has zeros before this slot and is blank after it."""
    flash = Flash(SECTORS)
    unit = _Ring(flash)
    naive = NaiveChain(FIRST)
    unit.chain = Chain(epoch, naive.secret(epoch), mac_before(epoch) if epoch else naive.name)
    at = slot // SLOTS * SLOTS
    while at < slot:
        flash.program(at * SLOT_SIZE, bytes(SLOT_SIZE))
        at += 1
    keyring.fill(unit.slot, 0, unit.chain)
    flash.program(slot * SLOT_SIZE, unit.slot)
    found = _restarted(flash)
    assert found is not None
    return found, flash


def test_a_slot_lies_within_a_page() -> None:
    assert PAGE % SLOT_SIZE == 0 and SECTOR % SLOT_SIZE == 0


def test_the_newest_slot_is_found_after_any_number_of_steps() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = new()
    check(flash, 0, naive)
    for epoch in range(1, 2 * SLOTS + 6):
        unit.step(epoch * 7)
        if random.getrandbits(2) == 0:
            unit = check(flash, epoch, naive, epoch * 7)
        if random.getrandbits(1):
            unit.tidy()
    check(flash, epoch, naive, epoch * 7)


def test_it_continues_around_the_end_of_the_ring() -> None:
    naive = NaiveChain(FIRST)
    for slot in range(SECTORS * SLOTS - 3, SECTORS * SLOTS):
        for tidy in (False, True):
            unit, flash = _at_slot(slot)
            # The rest of the previous lap is at the beginning of the ring.
            flash.store(0, bytes(SECTOR))
            for epoch in range(1, 6):
                if tidy:
                    unit.tidy()
                unit.step()
                unit = check(flash, epoch, naive)


def test_at_every_cut_the_newest_whole_slot_is_found_and_no_older_secret() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for slot in (0, 1, SLOTS - 2, SLOTS - 1, SLOTS, SECTORS * SLOTS - 1):
        for tidy in (False, True):
            _cut_everywhere(slot, tidy, naive)


def _cut_everywhere(slot: int, tidy: bool, naive: NaiveChain) -> None:
    unit, flash = _at_slot(slot)
    begun = flash.save()
    for cut_at in range(100):
        for cut in (BEFORE, TORN, AFTER):
            flash.load(begun)
            unit = _restarted(flash)
            assert unit is not None
            flash.cut_at, flash.cut = flash.operations + cut_at, cut
            try:
                for _ in range(2):
                    if tidy:
                        unit.tidy()
                    unit.step()
            except PowerCut:
                pass
            else:
                assert cut_at > 3
                return
            _check_after_cut(flash, unit.chain.epoch, naive)


def _check_after_cut(flash: Flash, begun: int, naive: NaiveChain) -> None:
    """Check the ring after a loss of power during the write of epoch `begun`, or later."""
    flash.power_on()
    again = _restarted(flash)
    assert again is not None
    epoch = again.chain.epoch
    assert begun - 1 <= epoch <= begun
    again = check(flash, epoch, naive)
    for _ in range(2):
        again.step()
        epoch += 1
    check(flash, epoch, naive)


def test_a_cut_while_a_new_unit_gets_its_key_leaves_no_key_or_a_good_one() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for cut_at in range(4):
        for cut in (BEFORE, TORN, AFTER):
            for _ in range(4 if cut == TORN else 1):
                flash = Flash(SECTORS)
                flash.cut_at, flash.cut = cut_at, cut
                try:
                    new(flash)
                except PowerCut:
                    pass
                flash.power_on()
                unit = _restarted(flash)
                if unit is None:
                    unit = _Ring(flash)
                    unit.ring.mount(_sector())
                    unit.begin()
                unit = check(flash, 0, naive)
                unit.step()
                check(flash, 1, naive)


def test_a_cut_while_the_rest_of_an_earlier_cut_is_done_leaves_no_old_secret_either() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for slot in (5, SLOTS - 1):
        for _ in range(10):
            unit, flash = _at_slot(slot)
            while True:
                flash.cut_at = flash.operations + random.randrange(4)
                flash.cut = random.randrange(3)
                try:
                    unit.step()
                    break
                except PowerCut:
                    flash.power_on()
                    begun = unit.chain.epoch
                flash.cut_at = flash.operations + random.randrange(3)
                flash.cut = random.randrange(3)
                try:
                    again = _restarted(flash)
                except PowerCut:
                    flash.power_on()
                    again = _restarted(flash)
                assert again is not None and begun - 1 <= again.chain.epoch <= begun
                flash.power_on()
                unit = check(flash, again.chain.epoch, naive)
            flash.power_on()
            check(flash, unit.chain.epoch, naive)


def test_wear_is_even_and_each_epoch_costs_two_programs() -> None:
    unit, flash = new()
    erases, operations = sum(flash.erases), flash.operations
    laps = 2
    for epoch in range(laps * SECTORS * SLOTS):
        if epoch % 40 == 0:
            unit.tidy()
        unit.step()
    erased = sum(flash.erases) - erases
    assert erased == laps * SECTORS, "one for 64 epochs, none twice"
    assert max(flash.erases) - min(flash.erases) <= 1
    assert flash.operations - operations - erased == 2 * laps * SECTORS * SLOTS


def test_a_slot_that_is_not_programmed_correctly_is_given_up_and_made_zeros() -> None:
    naive = NaiveChain(FIRST)
    for slot in (3, SLOTS - 3, SLOTS - 2, SLOTS - 1):
        for wrong in (1, 2, 3):
            unit, flash = _at_slot(slot)
            for n in range(1, wrong + 1):
                at = slot + n
                flash.misread.add(at * SLOT_SIZE + 20)
            unit.step()
            assert not flash.misread
            _check_no_old_one(flash, 1, naive)
            held = [sector for sector in range(3) if flash.content(sector).count(naive.secret(1))]
            copies = sum([flash.content(sector).count(naive.secret(1)) for sector in held])
            assert copies == 1, "what was given up is zeros"
            unit = check(flash, 1, naive)
            unit.step()
            check(flash, 2, naive)


def test_cuts_while_slots_are_given_up_leave_no_copy_of_a_secret_for_later() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for slot in (3, SLOTS - 4, SLOTS - 3, SLOTS - 2, SLOTS - 1):
        for wrong in (1, 3):
            for cut_at in range(2 * wrong + 3):
                unit, flash = _at_slot(slot)
                for n in range(1, wrong + 1):
                    flash.misread.add((slot + n) * SLOT_SIZE + 20)
                flash.cut_at, flash.cut = flash.operations + cut_at, random.randrange(3)
                try:
                    unit.step()
                except PowerCut:
                    pass
                flash.misread.clear()
                _check_after_cut(flash, 1, naive)


def test_a_sector_that_takes_nothing_is_followed_by_the_next() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = _at_slot(SLOTS - 2)
    flash.stuck_high.add(1)
    for epoch in range(1, 6):
        unit.step()
        assert flash.holds(naive.secret(epoch))
    check(flash, 5, naive)


def test_a_sector_that_cannot_be_erased_stops_nothing() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for tidy in (False, True):
        unit, flash = _at_slot(SLOTS - 2)
        flash.stuck_low.add(1)
        for epoch in range(1, SLOTS + 6):
            if tidy:
                unit.tidy()
            unit.step()
            if epoch % 9 == 0:
                unit = check(flash, epoch, naive)
        check(flash, epoch, naive)


def test_a_chip_that_takes_nothing_at_all_is_not_tried_for_ever() -> None:
    unit, flash = _at_slot(5)
    for sector in range(SECTORS):
        flash.stuck_high.add(sector)
    try:
        unit.step()
    except FlashError as error:
        assert flash.operations < 2 * SECTORS * SLOTS and "chip" in str(error)
        return
    raise AssertionError("a key was written where nothing can be")


def test_flipped_bits_of_the_newest_slot_leave_no_key_and_elsewhere_change_nothing() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    unit, flash = _at_slot(9)
    unit.step()
    begun = flash.save()
    for octet in range(0, SLOT_SIZE - 4, 3):  # the last four bytes are not used
        flash.load(begun)
        flash.flip(10 * SLOT_SIZE + octet, random.randrange(8))
        assert _restarted(flash) is None, octet
    for _ in range(20):
        flash.load(begun)
        slot = random.choice((0, 8, 9, 11, 12, 40, SLOTS - 1, SLOTS, 3 * SLOTS + 5))
        flash.flip(slot * SLOT_SIZE + random.randrange(SLOT_SIZE), random.randrange(8))
        unit = check(flash, 1, naive)
        unit.step()
        check(flash, 2, naive)


def test_random_histories_with_every_kind_of_fault() -> None:
    seed_random()
    for _ in range(3):
        naive = NaiveChain(FIRST)
        unit, flash = _at_slot(random.randrange(SECTORS * SLOTS))
        flash.busy_polls = random.choice((0, 3))
        for _ in range(60):
            if random.getrandbits(3) == 0:
                flash.cut_at = flash.operations + random.randrange(4)
                flash.cut = random.randrange(3)
            if random.getrandbits(4) == 0:
                flash.misread.add(random.randrange(SECTORS * SECTOR))
            before = unit.chain.epoch
            try:
                if random.getrandbits(1):
                    unit.tidy()
                unit.step()
            except PowerCut:
                flash.misread.clear()
                flash.power_on()
                again = _restarted(flash)
                assert again is not None and before <= again.chain.epoch <= before + 1
                unit = check(flash, again.chain.epoch, naive)
        _check_no_old_one(flash, unit.chain.epoch, naive)


def test_no_secret_stays_in_the_buffer_that_the_ring_was_read_into() -> None:
    _, flash = new()
    naive = NaiveChain(FIRST)
    room = _sector()
    assert Keyring(flash).mount(room)
    assert flash.holds(naive.secret(0)) and bytes(room).find(naive.secret(0)) < 0


def test_on_the_simulated_boards_chip_too_no_old_secret_is_in_the_file() -> None:
    naive = NaiveChain(FIRST)
    with Folder() as folder:
        path = folder.file("journal.nor")
        unit = _Ring(SimFlash(path, speed=0, sectors=SECTORS))
        assert not unit.ring.mount(_sector())
        unit.begin()
        for epoch in range(1, SLOTS + 10):
            unit.step()
            if epoch % 20 == 0:
                again = _restarted(SimFlash(path, speed=0, sectors=SECTORS))
                assert again is not None and again.chain.epoch == epoch
                unit = again
        data = folder.read("journal.nor")
        assert data.find(naive.secret(epoch)) >= 0
        for old in range(epoch):
            assert data.find(naive.secret(old)) < 0, old
        assert os.stat(path)[6] <= SECTORS * SECTOR


def test_secrets_that_look_blank_or_zero_are_secrets_all_the_same() -> None:
    for first_key in (bytes(32), b"\xff" * 32, random_bytes(32)):
        flash = Flash(SECTORS)
        unit = _Ring(flash, first_key)
        unit.begin()
        again = _restarted(flash)
        assert again is not None and bytes(again.chain.secret) == first_key


# ---- the pool's value beside the keys


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


def test_wherever_the_power_is_cut_as_a_sector_is_entered_key_and_pool_are_there():
    """The other one is in the sector that is erased next, so it is written again."""
    seed_random()
    for of_pool in (True, False):
        for cut in (BEFORE, TORN, AFTER):
            for operation in range(12):
                unit, flash = _at_slot(5)
                keep(unit, 1)
                # All sectors but the first have been filled and made zeros.
                unit.ring._next = (SECTORS - 1) * SLOTS - 1
                (unit.step if not of_pool else lambda unit=unit: keep(unit, 2))()
                before = unit.chain.epoch, number_of(unit)
                flash.cut_at, flash.cut = flash.operations + operation, cut
                try:
                    (unit.step if not of_pool else lambda unit=unit: keep(unit, 3))()
                except PowerCut:
                    pass
                flash.power_on()
                after = _restarted(flash)
                assert after is not None
                found = after.chain.epoch, number_of(after)
                wanted = (before, (0, 3) if of_pool else (2, 1))
                assert found in wanted, (of_pool, cut, operation, found)
                for _ in range(3 * SLOTS):  # over the sector that both were in
                    keep(after, 4)
                    after.tidy()
                last = _restarted(flash)
                assert last is not None and last.chain.epoch == found[0] and number_of(last) == 4


def test_firmware_without_a_pool_takes_its_slot_for_a_torn_one():
    """It compares the CRC of every slot, and programs those that differ to zeros."""
    unit, flash = new()
    keep(unit, 1)
    content = flash.content(0)
    slots = [content[at : at + SLOT_SIZE] for at in range(0, 2 * SLOT_SIZE, SLOT_SIZE)]
    good = [binascii.crc32(slot[:56]) == int.from_bytes(slot[56:60], "little") for slot in slots]
    assert good == [True, False]
    flash.program(SLOT_SIZE, bytes(SLOT_SIZE))
    after = check(flash, 0, NaiveChain(FIRST))
    assert number_of(after) is None
    keep(after, 2)
    after.step()
    assert number_of(check(flash, 1, NaiveChain(FIRST))) == 2


# ---- the part of the sealing secret


def _put_hand(unit, secret):
    hand_slot.fill(unit.slot, secret)
    unit.run(hand_slot.write(unit.ring, unit.slot))


def _part(number):
    return bytes([number & 0xFF, number >> 8]) + bytes(range(30))


def test_a_part_that_was_replaced_is_nowhere_on_the_chip() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = new()
    for number in range(1, 70):
        _put_hand(unit, _part(number))
        assert flash.holds(_part(number)) and not flash.holds(_part(number - 1))
        unit.step()
        unit = check(flash, number, naive)
        assert unit.ring.hand_secret == _part(number)


def test_a_cut_while_the_part_is_replaced_leaves_the_old_or_the_new_one_and_not_both() -> None:
    naive = NaiveChain(FIRST)
    for slot in (0, 1, SLOTS - 2, SLOTS - 1, SECTORS * SLOTS - 1):
        unit, flash = _at_slot(slot)
        _put_hand(unit, _part(1))
        begun = flash.save()
        for cut_at in range(4):
            for cut in (BEFORE, TORN, AFTER):
                flash.load(begun)
                unit = _restarted(flash)
                assert unit is not None and unit.ring.hand_secret == _part(1)
                flash.cut_at, flash.cut = flash.operations + cut_at, cut
                try:
                    _put_hand(unit, _part(2))
                except PowerCut:
                    pass
                flash.power_on()
                unit = check(flash, 0, naive)
                found = unit.ring.hand_secret
                assert found in (_part(1), _part(2))
                assert flash.holds(_part(1)) == (found == _part(1))
                assert flash.holds(_part(2)) == (found == _part(2))
                _put_hand(unit, _part(3))
                unit.step()
                unit = check(flash, 1, naive)
                assert unit.ring.hand_secret == _part(3)
                assert not flash.holds(_part(1)) and not flash.holds(_part(2))


def test_an_old_secret_goes_also_if_the_chip_did_not_hear_the_zeros_once() -> None:
    chip = NorModel()
    flash = NorFlash(Spi(chip), Select(chip))
    keys = Keyring(flash)
    slots = [memoryview(bytearray(SLOT_SIZE)) for _ in range(2)]
    for epoch in range(2):
        fill(slots[epoch], 0, Chain(epoch, bytes([epoch + 1] * 32), bytes(16)))
    for _ in keys.begin(slots[0]):
        while flash.busy():
            pass
    writing = keys.write(slots[1])
    next(writing)
    while flash.busy():
        pass
    assert chip.peek(0, SLOT_SIZE) == bytes(slots[0])
    chip.ignores = 0x02
    for _ in writing:
        while flash.busy():
            pass
    assert chip.peek(0, SLOT_SIZE) == bytes(SLOT_SIZE)
