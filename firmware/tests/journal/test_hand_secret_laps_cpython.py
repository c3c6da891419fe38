"""The part of the sealing secret on the chip, over whole laps of the keyring: a board's heap has no
room for such a flash."""

from firmware.tests.journal.test_hand_slot import part, put_hand
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import FIRST, SLOTS, check, new
from sabot_firmware.journal.keyring import SECTORS


def test_the_part_of_the_sealing_secret_stays_while_the_ring_goes_round_and_wears_no_more() -> None:
    naive = NaiveChain(FIRST)
    unit, flash = new()
    put_hand(unit, part(1))
    for epoch in range(1, SECTORS * SLOTS + 200):
        if epoch % 40 == 0:
            unit.tidy()
        unit.step()
        assert unit.ring.hand_secret == part(1)
        if epoch % 97 == 0:
            unit = check(flash, epoch, naive)
    assert unit.ring.hand_secret == part(1) and max(flash.erases) <= 2
