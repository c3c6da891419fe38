"""The journal on a chip with bad sectors and flipped bits, and what a start refuses."""

import binascii
import random

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, FIRST_KEY, RING, TORN, PowerCut, new_chip
from firmware.tests.support.held import cut_off_before_newest_key, sector_of
from firmware.tests.support.ledger import (
    Ledger,
    epoch_events,
    events_of,
    filled,
    rows,
    scrubbed,
    wear,
)
from protocol.tests.helpers import raised, seed_random, some, times
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.contents import DAMAGED, JournalError
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.journal import ERASE_FAILED, PROGRAM_FAILED, Journal
from sabot_firmware.journal.ring import EVENT, HEADER_SIZE, NOTE, STATE

# Sectors that go bad


def test_sectors_that_cannot_be_erased_are_left_out_and_reported() -> None:
    seed_random()
    ledger = Ledger()
    bad = {keyring.SECTORS + 2, keyring.SECTORS + 5, keyring.SECTORS + 6}
    ledger.flash.stuck_low |= bad
    reported = []
    while ledger.journal._open < 3 * RING:
        wear(ledger, 20)
        reported += ledger.journal.faults
        ledger.journal.faults.clear()
        ledger.restart()
    assert {fault for fault, _, _, _ in reported} == {ERASE_FAILED}
    assert {sector for _, sector, _, _ in reported} == bad
    assert not [fault for fault in reported if fault[2:] != (0, 0)]


def test_sectors_that_take_no_program_are_left_out_and_reported() -> None:
    seed_random()
    ledger = Ledger()
    bad = {keyring.SECTORS, keyring.SECTORS + 4, keyring.SECTORS + 5}
    ledger.flash.stuck_high |= bad
    reported = []
    while ledger.journal._open < 2 * RING:
        wear(ledger, 20)
        reported += ledger.journal.faults
        ledger.journal.faults.clear()
        ledger.restart()
    assert {fault for fault, _, _, _ in reported} == {PROGRAM_FAILED}
    assert {sector for _, sector, _, _ in reported} == bad


def test_a_sector_that_goes_bad_while_it_is_written_loses_and_doubles_nothing() -> None:
    seed_random()
    for _ in range(times(12, 6)):
        ledger = Ledger()
        wear(ledger, random.randint(10, 60))
        while ledger.journal._at > SECTOR - 100:  # the next entry must go into it
            wear(ledger, 1)
        ledger.flash.stuck_high.add(sector_of(ledger.journal, ledger.journal._open))
        ledger.put(NOTE, 6)
        for _ in range(random.randrange(4)):
            ledger.event()
        ledger.put(NOTE, 7)
        ledger.drain()
        assert ledger.journal.durable == ledger.last()
        assert [fault[0] for fault in ledger.journal.faults] == [PROGRAM_FAILED]
        ledger.restart()
        assert ledger.journal.durable == ledger.last()
        ledger.flash.stuck_high.clear()
        wear(ledger, 5)
        ledger.restart()


def test_a_torn_entry_is_written_again_wherever_in_the_page_it_was() -> None:
    # A chip that programs only a part: some bytes of the page differ when they are read.
    seed_random()
    for _ in range(times(40, 16)):
        ledger = Ledger()
        wear(ledger, random.randint(1, 20))
        flash = ledger.flash
        journal = ledger.journal
        wrong = journal._address(journal._open) + journal._at + random.randrange(200)
        flash.misread.add(wrong)
        for _ in range(3):
            ledger.put(NOTE, 6)
            for _ in range(random.randrange(3)):
                ledger.event()
        ledger.drain()
        flash.misread.clear()
        assert ledger.journal.durable == ledger.last()
        ledger.restart()
        assert ledger.journal.durable == ledger.last()
        wear(ledger, 3)
        ledger.restart()


def test_cuts_while_a_sector_is_given_up_lose_and_double_nothing() -> None:
    seed_random()
    for _ in range(times(60, 20)):
        ledger = Ledger()
        wear(ledger, random.randint(1, 20))
        flash, journal = ledger.flash, ledger.journal
        flash.misread.add(journal._address(journal._open) + journal._at + random.randrange(150))
        flash.cut_at, flash.cut = flash.operations + random.randrange(6), random.randrange(3)
        try:
            for _ in range(3):
                ledger.put(NOTE, 6)
                ledger.event()
            ledger.drain()
        except PowerCut:
            pass
        flash.misread.clear()
        flash.power_on()
        ledger.restart()
        wear(ledger, 3)
        ledger.restart()


def test_no_more_bad_sectors_in_a_row_are_skipped_than_a_start_searches() -> None:
    seed_random()
    for count in (15, 16, 17):
        ledger = Ledger(new_chip(ring=40))
        for sector in range(3, 3 + count):
            ledger.flash.stuck_low.add(keyring.SECTORS + sector)
        try:
            while ledger.journal._open < 22:
                wear(ledger, 5)
                ledger.put(STATE, 80)  # as the shoe does when the last state is far
                ledger.drain()
                ledger.restart()
        except JournalError as error:
            assert count > 15 and "worn out" in str(error), count
            ledger.restart()
        else:
            assert count < 17, "a start would not find the sectors after them"


def test_a_chip_that_takes_nothing_any_more_is_reported_and_not_tried_for_ever() -> None:
    ledger = Ledger()
    wear(ledger, 10)
    for sector in range(keyring.SECTORS, ledger.flash.sectors):
        ledger.flash.stuck_high.add(sector)
    begun = ledger.flash.operations
    assert raised(JournalError, _fill, ledger)
    assert ledger.flash.operations - begun < 100


def _fill(ledger: Ledger) -> None:
    while True:
        ledger.event()
        ledger.journal.acknowledge(ledger.journal.durable)


# Bits that flip


def test_a_scrub_of_good_sectors_reports_nothing_and_writes_nothing() -> None:
    seed_random()
    ledger = filled()
    ledger.flash.stuck_low.add(keyring.SECTORS + 9)
    for _ in range(3):
        begun = ledger.flash.operations
        assert scrubbed(ledger.journal) == []
        assert ledger.flash.operations == begun
        for _ in range(40):
            ledger.some()
        ledger.journal.acknowledge(ledger.journal.durable)
        ledger.rest()
        ledger.drain()
        ledger.restart()


def test_a_flipped_bit_of_an_old_event_is_found_once_and_named_with_its_events() -> None:
    seed_random()
    for _ in range(times(20, 3)):
        ledger = filled()
        journal = ledger.journal
        sector = random.randrange(journal._open)
        first, last = events_of(journal, sector)
        at = 16
        number = first
        size = journal._load(sector, at)
        for _ in range(random.randrange(20)):
            if size <= 0 or number > last:
                break
            number += journal._page[0] == EVENT
            at += size
            size = journal._load(sector, at)
        if size <= 0 or number > last:
            continue
        place = sector_of(journal, sector)
        ledger.flash.flip(place * SECTOR + at + random.randrange(size), random.randrange(8))
        reported = scrubbed(journal)
        assert reported == [(DAMAGED, place, number, last)], (reported, place, number, last)
        assert scrubbed(journal) == [], "once"
        assert ledger.held() == rows(1, journal.durable, (number, last))


def test_a_flipped_bit_of_a_header_is_found_and_named_with_the_sectors_events() -> None:
    seed_random()
    for sector in some((0, 1, 3, 6), 2):
        ledger = filled()
        journal = ledger.journal
        first, last = events_of(journal, sector)
        place = sector_of(journal, sector)
        ledger.flash.flip(place * SECTOR + random.randrange(16), random.randrange(8))
        assert scrubbed(journal) == [(DAMAGED, place, first, last)], sector
        assert scrubbed(journal) == []
        if sector:
            assert ledger.held() == rows(1, journal.durable, (first, last)), sector


def test_two_damaged_sectors_beside_each_other_are_all_named() -> None:
    seed_random()
    for headers in ((True, True), (True, False), (False, True), (False, False)):
        ledger = filled()
        journal = ledger.journal
        damaged = (events_of(journal, 2)[0], events_of(journal, 3)[1])
        for n in range(2):
            at = random.randrange(16) if headers[n] else 16 + 1
            ledger.flash.flip(sector_of(journal, 2 + n) * SECTOR + at)
        named = set()
        for _, place, first, last in scrubbed(journal):
            assert place - keyring.SECTORS in (2, 3)
            named.update(range(first, last + 1))
        assert sorted(named) == list(range(damaged[0], damaged[1] + 1)), headers
        assert ledger.held() == rows(1, journal.durable, damaged), headers


def test_a_scrub_takes_a_few_entries_at_a_time() -> None:
    ledger = filled(3)
    journal = ledger.journal
    entries = 0
    at = HEADER_SIZE
    size = journal._load(1, at)
    while size > 0:
        entries += 1
        at += size
        size = journal._load(1, at)
    steps = 1
    while journal.scrub(1) == 1:
        steps += 1
    assert entries > 30 and entries / 5 < steps < entries / 2, (entries, steps)
    assert scrubbed(journal) == []


def test_a_scrub_while_the_chip_is_busy_looks_at_nothing() -> None:
    ledger = filled()
    ledger.flash.busy_polls = 3
    ledger.event()
    ledger.journal.step()
    while ledger.flash.busy_polls and ledger.journal.scrub(2) != 2:
        ledger.journal.step()
    assert ledger.journal.faults == []


def test_flipped_bits_of_blank_flash_change_nothing_that_was_written() -> None:
    seed_random()
    for _ in range(times(10, 5)):
        ledger = filled(3)
        journal = ledger.journal
        at = random.randint(journal._at, SECTOR - 1)
        ledger.flash.flip(sector_of(journal, journal._open) * SECTOR + at, random.randrange(8))
        ledger.restart()
        assert ledger.journal.durable == ledger.last()
        wear(ledger, 5)
        ledger.restart()


# What a start refuses


def test_a_blank_chip_without_a_key_is_refused() -> None:
    flash = new_chip()
    assert raised(JournalError, Journal(flash, bytearray(4096)).mount)
    assert flash.operations == 0


def test_a_chip_with_events_takes_no_first_key_and_stays_as_it_was() -> None:
    seed_random()
    for events in (1, 3, 4, 200):  # in the first epoch, at its end, in later ones
        ledger = Ledger()
        for _ in range(events):
            ledger.event()
        ledger.drain()
        operations = ledger.flash.operations
        for key in (FIRST_KEY, bytes(32)):
            assert raised(JournalError, Journal(ledger.flash, bytearray(4096)).begin, key)
        assert ledger.flash.operations == operations
        ledger.restart()


def test_of_an_earlier_first_key_nothing_is_left_wherever_the_power_was_cut() -> None:
    seed_random()
    first, second = b"1" * 32, b"2" * 32
    for cut_first in range(5):
        for cut_second in range(5):
            for cut in (BEFORE, TORN, AFTER):
                flash = new_chip()
                for key, cut_at in ((first, cut_first), (second, cut_second), (second, -1)):
                    flash.power_on()
                    if cut_at >= 0:
                        flash.cut_at, flash.cut = flash.operations + cut_at, cut
                    try:
                        Journal(flash, bytearray(4096)).begin(key)
                    except PowerCut:
                        pass
                assert not flash.holds(first[:4]) and flash.holds(second)
                journal = Journal(flash, bytearray(4096))
                journal.mount()
                assert bytes(journal.chain.secret) == second and journal.number == 1


def test_a_journal_whose_keys_are_gone_is_refused_on_every_lap() -> None:
    seed_random()
    for laps in (0, 1, 2):
        ledger = Ledger()
        while ledger.journal._open < laps * RING + 3:
            wear(ledger, 10)
        for sector in range(keyring.SECTORS):
            ledger.flash.wipe(sector)
        assert raised(JournalError, ledger.mount), laps
        assert raised(JournalError, ledger.journal.begin, FIRST_KEY), laps


def test_a_flipped_bit_of_the_newest_key_is_refused() -> None:
    seed_random()
    ledger = filled(2)
    ledger.drain()
    slot = ledger.journal._keys._newest
    ledger.flash.flip(slot * keyring.SLOT_SIZE + random.randrange(60), random.randrange(8))
    assert raised(JournalError, ledger.mount)
    assert raised(JournalError, ledger.journal.begin, FIRST_KEY)


def test_changed_events_under_the_newest_key_are_refused() -> None:
    seed_random()
    for count in range(1, 5):
        for which in range(count):
            ledger = filled(1)
            epoch_events(ledger, count)
            _forge(ledger, ledger.last() - which)
            assert raised(JournalError, ledger.mount), (count, which)


def _forge(ledger: Ledger, number: int) -> None:
    """Change an event and correct its checksum, as an attacker with the chip would do."""
    journal, flash = ledger.journal, ledger.flash
    cursor = Cursor(journal)
    cursor.seek(number)
    cursor.next()
    size = journal._page[1] + 6
    address = journal._address(cursor.sector) + cursor._at - size
    entry = bytearray(size)
    flash.read(address, entry)
    entry[10] ^= 1
    entry[-4:] = binascii.crc32(entry[:-4]).to_bytes(4, "little")
    sector = address // SECTOR
    content = bytearray(flash.content(sector))
    content[address % SECTOR : address % SECTOR + size] = entry
    flash.store(sector, bytes(content))


def test_events_cut_off_after_the_newest_key_are_reported_as_lost() -> None:
    seed_random()
    for cut_off in (1, 2, 5, 20):
        ledger = filled(3)
        epoch_events(ledger, 2)
        due = cut_off_before_newest_key(ledger.journal, ledger.flash, cut_off)
        last = due - 1 - cut_off
        journal = ledger.mount()
        assert (journal.lost_first, journal.lost_last) == (last + 1, due - 1)
        assert journal.lost_mac == ledger.macs[due - 1]
        assert journal.number == due and journal.durable == due - 1
        assert bytes(journal.chain.mac) == ledger.macs[due - 1]
        ledger.macs.last = due - 1
        for _ in range(10):
            ledger.event()
        ledger.drain()
        assert ledger.held() == rows(1, ledger.last(), (last + 1, due - 1))
        ledger.mount()
        assert ledger.journal.lost_first == 0 and ledger.journal.durable == ledger.last()
