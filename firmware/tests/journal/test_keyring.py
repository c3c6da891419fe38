"""The chain's secret survives every loss of power, and no old secret can be found on the chip."""

import os
import random

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, TORN, Flash, PowerCut
from firmware.tests.support.naive_chain import NaiveChain
from firmware.tests.support.secrets_ring import (
    FIRST,
    SLOTS,
    Ring,
    at_slot,
    blank_sector,
    check,
    check_after_cut,
    new,
    restarted,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import random_bytes, seed_random
from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.boards.sim.flash import SimFlash
from sabot_firmware.journal.keyring import SECTORS, SLOT_SIZE, Keyring


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
            unit, flash = at_slot(slot)
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
    unit, flash = at_slot(slot)
    begun = flash.save()
    for cut_at in range(100):
        for cut in (BEFORE, TORN, AFTER):
            flash.load(begun)
            unit = restarted(flash)
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
            check_after_cut(flash, unit.chain.epoch, naive)


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
                unit = restarted(flash)
                if unit is None:
                    unit = Ring(flash)
                    unit.ring.mount(blank_sector())
                    unit.begin()
                unit = check(flash, 0, naive)
                unit.step()
                check(flash, 1, naive)


def test_a_cut_while_the_rest_of_an_earlier_cut_is_done_leaves_no_old_secret_either() -> None:
    seed_random()
    naive = NaiveChain(FIRST)
    for slot in (5, SLOTS - 1):
        for _ in range(10):
            unit, flash = at_slot(slot)
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
                    again = restarted(flash)
                except PowerCut:
                    flash.power_on()
                    again = restarted(flash)
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


def test_no_secret_stays_in_the_buffer_that_the_ring_was_read_into() -> None:
    _, flash = new()
    naive = NaiveChain(FIRST)
    room = blank_sector()
    assert Keyring(flash).mount(room)
    assert flash.holds(naive.secret(0)) and bytes(room).find(naive.secret(0)) < 0


def test_on_the_simulated_boards_chip_too_no_old_secret_is_in_the_file() -> None:
    naive = NaiveChain(FIRST)
    with Folder() as folder:
        path = folder.file("journal.nor")
        unit = Ring(SimFlash(path, speed=0, sectors=SECTORS))
        assert not unit.ring.mount(blank_sector())
        unit.begin()
        for epoch in range(1, SLOTS + 10):
            unit.step()
            if epoch % 20 == 0:
                again = restarted(SimFlash(path, speed=0, sectors=SECTORS))
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
        unit = Ring(flash, first_key)
        unit.begin()
        again = restarted(flash)
        assert again is not None and bytes(again.chain.secret) == first_key
