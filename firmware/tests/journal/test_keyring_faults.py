"""The keyring on a chip whose slots, sectors or bits go bad."""

import random

from firmware.tests.fakes.fake_flash import PowerCut
from firmware.tests.fakes.fake_nor import NorModel, Select, Spi
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    at_slot,
    check,
    check_after_cut,
    check_no_old_one,
    restarted,
)
from protocol.tests.helpers import seed_random
from sabot_firmware.boards.nor import SECTOR, FlashError, NorFlash
from sabot_firmware.journal.keyring import SECTORS, SLOT_SIZE, Keyring, fill
from sabot_protocol.chain import Chain


def test_a_slot_that_is_not_programmed_correctly_is_given_up_and_made_zeros() -> None:
    naive = NaiveChain(FIRST)
    for slot in (3, SLOTS - 3, SLOTS - 2, SLOTS - 1):
        for wrong in (1, 2, 3):
            unit, flash = at_slot(slot)
            for n in range(1, wrong + 1):
                at = slot + n
                flash.misread.add(at * SLOT_SIZE + 20)
            unit.step()
            assert not flash.misread
            check_no_old_one(flash, 1, naive)
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
                unit, flash = at_slot(slot)
                for n in range(1, wrong + 1):
                    flash.misread.add((slot + n) * SLOT_SIZE + 20)
                flash.cut_at, flash.cut = flash.operations + cut_at, random.randrange(3)
                try:
                    unit.step()
                except PowerCut:
                    pass
                flash.misread.clear()
                check_after_cut(flash, 1, naive)


def test_a_sector_that_takes_nothing_is_followed_by_the_next() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = at_slot(SLOTS - 2)
    flash.stuck_high.add(1)
    for epoch in range(1, 6):
        unit.step()
        assert flash.holds(naive.secret(epoch))
    check(flash, 5, naive)


def test_a_sector_that_cannot_be_erased_stops_nothing() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for tidy in (False, True):
        unit, flash = at_slot(SLOTS - 2)
        flash.stuck_low.add(1)
        for epoch in range(1, SLOTS + 6):
            if tidy:
                unit.tidy()
            unit.step()
            if epoch % 9 == 0:
                unit = check(flash, epoch, naive)
        check(flash, epoch, naive)


def test_a_chip_that_takes_nothing_at_all_is_not_tried_for_ever() -> None:
    unit, flash = at_slot(5)
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
    unit, flash = at_slot(9)
    unit.step()
    begun = flash.save()
    for octet in range(0, SLOT_SIZE - 4, 3):  # the last four bytes are not used
        flash.load(begun)
        flash.flip(10 * SLOT_SIZE + octet, random.randrange(8))
        assert restarted(flash) is None, octet
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
        unit, flash = at_slot(random.randrange(SECTORS * SLOTS))
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
                again = restarted(flash)
                assert again is not None and before <= again.chain.epoch <= before + 1
                unit = check(flash, again.chain.epoch, naive)
        check_no_old_one(flash, unit.chain.epoch, naive)


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
