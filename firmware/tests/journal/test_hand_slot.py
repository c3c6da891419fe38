"""The part of the sealing secret survives every loss of power, and no old one can be found."""

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, TORN, PowerCut
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    at_slot,
    check,
    new,
    part,
    put_hand,
    restarted,
)
from sabot_firmware.journal.keyring import SECTORS


def test_a_part_that_was_replaced_is_nowhere_on_the_chip() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = new()
    for number in range(1, 70):
        put_hand(unit, part(number))
        assert flash.holds(part(number)) and not flash.holds(part(number - 1))
        unit.step()
        unit = check(flash, number, naive)
        assert unit.ring.hand_secret == part(number)


def test_a_cut_while_the_part_is_replaced_leaves_the_old_or_the_new_one_and_not_both() -> None:
    naive = NaiveChain(FIRST)
    for slot in (0, 1, SLOTS - 2, SLOTS - 1, SECTORS * SLOTS - 1):
        unit, flash = at_slot(slot)
        put_hand(unit, part(1))
        begun = flash.save()
        for cut_at in range(4):
            for cut in (BEFORE, TORN, AFTER):
                flash.load(begun)
                unit = restarted(flash)
                assert unit is not None and unit.ring.hand_secret == part(1)
                flash.cut_at, flash.cut = flash.operations + cut_at, cut
                try:
                    put_hand(unit, part(2))
                except PowerCut:
                    pass
                flash.power_on()
                unit = check(flash, 0, naive)
                found = unit.ring.hand_secret
                assert found in (part(1), part(2))
                assert flash.holds(part(1)) == (found == part(1))
                assert flash.holds(part(2)) == (found == part(2))
                put_hand(unit, part(3))
                unit.step()
                unit = check(flash, 1, naive)
                assert unit.ring.hand_secret == part(3)
                assert not flash.holds(part(1)) and not flash.holds(part(2))
