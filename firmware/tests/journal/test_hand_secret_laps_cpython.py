"""The part of the sealing secret on the chip, over whole laps of the keyring: a board's heap has no
room for such a flash."""

import random

from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    check,
    keep,
    new,
    number_of,
    part,
    put_hand,
)
from protocol.tests.helpers import seed_random
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


def test_key_pool_and_part_are_all_there_over_a_lap_in_whatever_order_they_are_written() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    unit, flash = new()
    keep(unit, 1)
    put_hand(unit, part(1))
    epoch, pool, number = 0, 1, 1
    for turn in range(SECTORS * SLOTS + 300):
        kind = random.choice("kkkpph")
        if kind == "k":
            unit.step()
            epoch += 1
        elif kind == "p":
            pool += 1
            keep(unit, pool)
        else:
            number += 1
            put_hand(unit, part(number))
            assert not flash.holds(part(number - 1))
        if turn % 5 == 0:
            unit.tidy()
        if turn % 37 == 0:
            unit = check(flash, epoch, naive)
            assert number_of(unit) == pool and unit.ring.hand_secret == part(number)
