"""The pool's value beside the keys on the keyring."""

import binascii

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, TORN, PowerCut
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    at_slot,
    check,
    keep,
    new,
    number_of,
    restarted,
)
from protocol.tests.helpers import seed_random
from sabot_firmware.journal.keyring import SECTORS, SLOT_SIZE


def test_wherever_the_power_is_cut_as_a_sector_is_entered_key_and_pool_are_there():
    """The other one is in the sector that is erased next, so it is written again."""
    seed_random()
    for of_pool in (True, False):
        for cut in (BEFORE, TORN, AFTER):
            for operation in range(12):
                unit, flash = at_slot(5)
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
                after = restarted(flash)
                assert after is not None
                found = after.chain.epoch, number_of(after)
                wanted = (before, (0, 3) if of_pool else (2, 1))
                assert found in wanted, (of_pool, cut, operation, found)
                for _ in range(3 * SLOTS):  # over the sector that both were in
                    keep(after, 4)
                    after.tidy()
                last = restarted(flash)
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
