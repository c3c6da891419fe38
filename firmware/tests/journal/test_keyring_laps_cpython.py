"""The keyring over whole laps, and on a chip that is worn out: more than a board's heap holds."""

from firmware.tests.journal.test_randomness import chip, start_of
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    check,
    keep,
    mac_before,
    new,
    number_of,
)
from protocol.tests.helpers import raised
from sabot_firmware.boards.nor import FlashError
from sabot_firmware.journal import keyring
from sabot_firmware.journal.keyring import SECTORS


def test_over_a_lap_of_one_kind_of_slot_the_other_is_not_lost_and_no_old_one_stays():
    naive = NaiveChain(FIRST)
    unit, flash = new()
    keep(unit, 1)
    for number in range(2, SECTORS * SLOTS + 80):
        keep(unit, number)
        unit.tidy()
        if number % 61 == 0:
            unit = check(flash, 0, naive)
            assert number_of(unit) == number
            assert not flash.holds(bytes([number - 1 & 0xFF, number - 1 >> 8]) * 16)
    while unit.chain.epoch < SECTORS * SLOTS + 80:
        unit.step()
        unit.tidy()
        if unit.chain.epoch % 61 == 0:
            unit = check(flash, unit.chain.epoch, naive)
            assert number_of(unit) == number
    assert bytes(unit.ring.mac()) == mac_before(unit.chain.epoch)


def test_a_chip_that_takes_no_pool_puts_the_unit_out_of_service():
    flash = chip()
    for sector in range(keyring.SECTORS):
        flash.stuck_high.add(sector)
    assert raised(FlashError, start_of, flash)
