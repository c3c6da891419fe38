"""A full journal keeps the events that no host has and dealing stops, or it overwrites them."""

import random

from firmware.tests.fakes.fake_flash import RING
from firmware.tests.support.held import sector_of
from firmware.tests.support.ledger import Ledger, events_of, filled, rows, sectors_in_use, wear
from protocol.tests.helpers import raised, seed_random
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.contents import RESERVE_SECTORS, JournalError
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.ring import NOTE


def _fill_up(ledger: Ledger) -> None:
    """Put events until not even the reserve has room."""
    for _ in range(3000):
        ledger.event(60)
        ledger.put(NOTE, 8)
        while ledger.journal.unwritten():
            ledger.journal.step()
        if ledger.journal.stuck:
            return
    raise AssertionError("it never gets full")


def test_room_shrinks_until_the_reserve_and_dealing_must_stop() -> None:
    ledger = Ledger()
    journal = ledger.journal
    rooms = [journal.room()]
    while not journal.full():
        before = journal.durable
        ledger.event(60)
        ledger.drain()
        if journal.room() != rooms[-1]:
            rooms.append(journal.room())
        assert journal.room() + journal.durable - before <= rooms[0] + journal.durable
    assert rooms == sorted(rooms, reverse=True)
    assert journal.spare_sectors() == RESERVE_SECTORS - 1 and not journal.stuck
    room, durable = journal.room(), journal.durable
    for _ in range(room):
        ledger.event(192)
    ledger.drain()
    assert not journal.stuck and journal.durable == durable + room, "the room is there"


def test_a_full_ring_erases_nothing_that_no_host_has_and_then_waits() -> None:
    seed_random()
    ledger = Ledger()
    _fill_up(ledger)
    journal = ledger.journal
    erased = list(ledger.flash.erases)
    assert journal.stuck and not journal.unwritten()
    for _ in range(200):
        journal.step(random.getrandbits(1) == 1)
    assert ledger.flash.erases[keyring.SECTORS :] == erased[keyring.SECTORS :]
    assert journal.first_held == 1 and ledger.held() == rows(1, journal.durable)
    assert ledger.last() > journal.durable
    ledger.restart()


def test_a_full_ring_goes_on_after_a_host_has_acknowledged_events() -> None:
    seed_random()
    ledger = Ledger()
    _fill_up(ledger)
    journal = ledger.journal
    last = ledger.last()
    for number in (5, journal.durable // 3, journal.durable):
        durable = journal.durable
        journal.acknowledge(number)
        ledger.drain()
        if number > 5:
            assert journal.durable == last and not journal.stuck
            break
        assert journal.durable == durable and journal.stuck, "that frees no sector"
    journal.acknowledge(journal.durable)
    for _ in range(40):
        journal.step(True)
    assert not journal.full() and journal.spare_sectors() > RESERVE_SECTORS
    wear(ledger, 200)
    ledger.check()
    ledger.restart()


def test_a_ring_is_full_no_longer_once_a_host_has_all_even_with_sectors_erased() -> None:
    ledger = Ledger()
    journal = ledger.journal
    while not journal.full():
        ledger.event(60)
        ledger.drain()
        ledger.rest()
    assert len(journal._erased) > 0
    journal.acknowledge(journal.durable)
    ledger.rest()
    assert not journal.full() and journal.spare_sectors() >= RING - 2


def test_what_a_host_has_just_acknowledged_counts_before_the_next_step() -> None:
    ledger = Ledger()
    while not ledger.journal.full():
        ledger.event(60)
        ledger.drain()
    ledger.journal.acknowledge(ledger.journal.durable)
    assert not ledger.journal.full()


def test_what_cannot_be_queued_any_more_puts_the_shoe_out_of_service() -> None:
    ledger = Ledger()
    _fill_up(ledger)
    assert raised(JournalError, _fill_without_end, ledger)


def _fill_without_end(ledger: Ledger) -> None:
    for _ in range(500):
        ledger.event(100)


def test_nothing_is_erased_while_an_event_in_it_is_not_acknowledged() -> None:
    seed_random()
    ledger = Ledger()
    flash = ledger.flash

    def watch(kind, address, data):
        sector = address // SECTOR
        if kind == "E" and sector >= keyring.SECTORS:
            for held in sectors_in_use(ledger.journal):
                if sector_of(ledger.journal, held) == sector:
                    _, last = events_of(ledger.journal, held)
                    assert last <= acked

    flash.before = watch
    acked = 0
    while ledger.journal._open < 3 * RING:
        ledger.some()
        ledger.journal.step(True)
        if ledger.journal.stuck or random.getrandbits(4) == 0:
            ledger.drain()
            durable = ledger.journal.durable
            acked = random.randint(acked, durable) if not ledger.journal.stuck else durable
            ledger.journal.acknowledge(acked)
        if random.getrandbits(6) == 0:
            ledger.drain()
            ledger.restart()
            ledger.journal.restore_acknowledged(acked)


def test_a_house_that_chose_to_go_on_loses_the_oldest_and_learns_which() -> None:
    seed_random()
    for acked in (0, 10, 150):
        ledger = Ledger()
        journal = ledger.journal
        journal.may_overwrite = True
        reported = 0
        while journal._open < 2 * RING:
            ledger.some()
            ledger.drain()
            assert not journal.stuck and not journal.full()
            if journal.durable >= acked > reported:
                reported = acked
                journal.acknowledge(acked)
        assert journal.lost_first == acked + 1
        assert journal.lost_last == journal.first_held - 1
        assert journal.lost_mac == ledger.macs[journal.lost_last]
        ledger.check()
        ledger.restart()


def test_damaged_events_that_are_overwritten_are_among_the_lost() -> None:
    seed_random()
    for what in ("header", "middle", "end"):
        ledger = filled(5)
        journal = ledger.journal
        sector = 2
        address = sector_of(journal, sector) * SECTOR
        at = {"header": 5, "middle": 16 + 3, "end": 16 + 3}[what]
        if what == "end":
            _, last = events_of(journal, sector)
            cursor = Cursor(journal)
            cursor.seek(last)
            cursor.next()
            at = cursor._at - 10
        ledger.flash.flip(address + at)
        journal.may_overwrite = True
        while journal._first <= sector:
            ledger.event(60)
            ledger.drain()
        assert (journal.lost_first, journal.lost_last) == (1, journal.first_held - 1), what
        assert journal.lost_mac == b"", "it cannot be known: " + what
        while journal._first <= sector + 1:
            ledger.event(60)
            ledger.drain()
        assert (journal.lost_first, journal.lost_last) == (1, journal.first_held - 1), what
        assert journal.lost_mac == ledger.macs[journal.lost_last]
