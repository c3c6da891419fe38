"""The journal on a small chip: order, losses of power, its queue, its cost in time and wear."""

import random

from firmware.tests.fakes.fake_flash import AFTER, BEFORE, RING, TORN, PowerCut, new_chip
from firmware.tests.support.ledger import Ledger, scrubbed
from firmware.tests.test_store import Folder
from protocol.tests.helpers import seed_random, some, times
from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.boards.sim.flash import SimFlash
from sabot_firmware.journal import keyring
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.ring import NOTE, STATE

# Order, numbers


def test_a_new_unit_begins_with_event_1_under_its_first_key() -> None:
    ledger = Ledger()
    journal = ledger.journal
    assert (journal.number, journal.durable, journal.first_held) == (1, 0, 1)
    assert (journal.lost_first, journal.chain.epoch) == (0, 0)
    assert ledger.since_state() == [] and ledger.held() == []
    assert bytes(journal.chain.mac) == ledger.naive.name
    ledger.restart()
    assert ledger.journal.number == 1


def test_what_was_put_is_read_in_order_with_its_macs() -> None:
    seed_random()
    ledger = Ledger()
    for _ in range(60):
        ledger.some()
    assert ledger.journal.number == ledger.last() + 1
    ledger.drain()
    assert ledger.journal.durable == ledger.last() and not ledger.journal.unwritten()
    ledger.check()
    ledger.restart()
    assert ledger.journal.durable == ledger.last(), "all of it"


def test_events_of_every_size_come_back_as_they_were() -> None:
    ledger = Ledger()
    for size in range(4, 193, 4):
        ledger.event(size)
    for size in range(0, 200, 9):
        ledger.put(NOTE, size)
    ledger.drain()
    ledger.check()
    ledger.restart()


def test_an_event_is_durable_only_once_it_was_read_back() -> None:
    ledger = Ledger()
    ledger.put(NOTE, 5)
    ledger.event()
    journal = ledger.journal
    assert journal.durable == 0 and journal.unwritten()
    while journal.durable == 0:
        begun = ledger.flash.operations
        journal.step()
    assert ledger.flash.operations == begun, "the step that found it there began nothing"


def test_any_event_can_be_found() -> None:
    seed_random()
    ledger = Ledger()
    while ledger.journal._open < 6:
        ledger.some()
        ledger.drain()
    journal = ledger.journal
    for number in range(1, journal.durable + 2, 5):
        cursor = Cursor(journal)
        assert cursor.seek(number)
        assert cursor.next() == (number <= journal.durable)
        if number <= journal.durable:
            assert int.from_bytes(cursor.record[:4], "big") == number
    assert not Cursor(journal).seek(journal.durable + 2)


# Loss of power


def test_after_any_cut_the_first_part_of_what_was_put_is_there() -> None:
    seed_random()
    for busy_polls in some((0, 2), 2):
        ledger = Ledger(new_chip(busy_polls=busy_polls))
        flash = ledger.flash
        laps = acked = 0
        while laps < times(2 if busy_polls else 3, 1):
            flash.cut_at = flash.operations + random.randrange(90)
            flash.cut = random.randrange(3)
            try:
                while True:
                    ledger.some()
                    journal = ledger.journal
                    for _ in range(random.randrange(9)):
                        journal.step(random.getrandbits(2) == 0)
                    if journal.stuck or random.getrandbits(3) == 0:
                        acked = max(acked, journal.durable - random.randrange(30))
                        journal.acknowledge(acked)
                    if random.getrandbits(5) == 0:
                        ledger.drain()
            except PowerCut:
                flash.power_on()
            durable = ledger.journal.durable
            ledger.restart(check=False)
            assert ledger.journal.durable >= durable
            ledger.journal.restore_acknowledged(acked)
            assert scrubbed(ledger.journal) == [], "what was torn is no damage"
            ledger.check()
            laps = ledger.journal._open // RING
        assert min(flash.erases[keyring.SECTORS :]) >= laps - 1


def test_every_operation_of_a_sectors_change_can_be_the_last() -> None:
    seed_random()
    ledger = Ledger()
    while ledger.journal._open < RING + 2:  # the next sectors were in use before
        ledger.some()
        ledger.drain()
        ledger.journal.acknowledge(ledger.journal.durable)
    while ledger.journal._at < SECTOR - 600:
        ledger.put(NOTE, 30)
        ledger.drain()
    ledger.put(STATE, 100)
    ledger.drain()
    begun = ledger.flash.save(), ledger.entries[:], ledger.first_entry_event, ledger.last()
    for at_rest in (False, True):
        every = times(1, 10)
        cut_at = random.randrange(every)
        while _cut(ledger, begun, cut_at, at_rest):
            cut_at += every
        assert cut_at > 15


def _cut(ledger: Ledger, begun, cut_at: int, at_rest: bool) -> bool:
    """Cut the power in this operation and after it; return False if there is no such operation."""
    flash = ledger.flash
    for cut in (TORN, AFTER):  # before it is the same as after the previous one
        flash.load(begun[0])
        ledger.entries, ledger.first_entry_event = begun[1][:], begun[2]
        ledger.macs.last = begun[3]
        ledger.journal = None
        ledger.restart(check=False)
        ledger.journal.acknowledge(ledger.journal.durable)
        flash.cut_at, flash.cut = flash.operations + cut_at, cut
        try:
            if at_rest:
                ledger.rest()
            for size in (40, 150, 40, 180, 90, 120, 60, 30):
                ledger.put(NOTE, 20)
                ledger.event(size)
                ledger.event(size)
            ledger.drain()
            return False
        except PowerCut:
            flash.power_on()
        ledger.restart(check=False)
        ledger.journal.restore_acknowledged(begun[3])
        if cut == TORN:
            ledger.check()
            assert scrubbed(ledger.journal) == []
        for _ in range(10):
            ledger.some()
        ledger.drain()
        ledger.restart(check=False)
        assert ledger.journal.bad_sectors == 0
    return True


def test_a_cut_at_the_first_start_leaves_a_unit_that_can_start() -> None:
    seed_random()
    for cut_at in range(3):
        for cut in (BEFORE, TORN, AFTER):
            flash = new_chip()
            flash.cut_at, flash.cut = cut_at, cut
            try:
                Ledger(flash)
            except PowerCut:
                pass
            flash.power_on()
            ledger = Ledger(flash)
            ledger.restart()
            ledger.event()
            ledger.drain()
            ledger.restart()
            assert ledger.journal.durable == 1


def test_a_state_is_far_before_it_can_no_longer_be_found() -> None:
    ledger = Ledger(new_chip(ring=40))
    ledger.put(STATE, 100)
    journal = ledger.journal
    while not journal.state_is_far():
        ledger.event(150)
        ledger.drain()
    assert journal._open < 14
    found = ledger.since_state()
    assert found[:1] == ledger.entries[:1], "it is found still"
    ledger.put(STATE, 100)
    assert not journal.state_is_far()


def test_only_sectors_erased_since_the_start_are_begun() -> None:
    seed_random()
    ledger = Ledger()
    flash = ledger.flash
    erased = set()
    begun = []

    def watch(kind, address, data):
        sector = address // SECTOR
        if kind == "E":
            erased.add(sector)
        elif sector >= keyring.SECTORS and address % SECTOR == 0:
            begun.append(sector)
            assert sector in erased
            erased.remove(sector)

    flash.before = watch
    n = 0
    while len(begun) <= RING:
        n += 1
        ledger.some()
        ledger.drain()
        ledger.rest(random.randrange(4))
        ledger.journal.acknowledge(ledger.journal.durable)
        if n % 37 == 0:
            erased.clear()
            ledger.restart()


# The queue, and how long things take


def test_a_queue_that_runs_over_writes_and_loses_nothing() -> None:
    seed_random()
    for busy_polls in (0, 4):
        ledger = Ledger(new_chip(busy_polls=busy_polls), queue=600)
        for _ in range(150):
            ledger.some()
            for _ in range(random.randrange(3)):
                ledger.journal.step()
            if random.getrandbits(2) == 0:
                ledger.journal.acknowledge(ledger.journal.durable)
        ledger.drain()
        ledger.check()
        ledger.restart()
        assert ledger.journal.durable == ledger.last()


def test_a_queue_that_is_moved_up_while_it_is_written_loses_nothing() -> None:
    seed_random()
    for _ in range(times(20, 8)):
        ledger = Ledger(new_chip(busy_polls=2), queue=random.randint(450, 700))
        for _ in range(60):
            ledger.some()
            if random.getrandbits(1):
                ledger.journal.step()  # an operation begins or continues
        ledger.drain()
        ledger.restart()
        assert ledger.journal.durable == ledger.last()


def test_no_step_erases_while_sectors_are_erased_ahead() -> None:
    seed_random()
    ledger = Ledger()
    for _ in range(10):
        ledger.journal.acknowledge(ledger.journal.durable)
        ledger.rest()
        erased = sum(ledger.flash.erases)
        opened = ledger.journal._open
        while ledger.journal._open < opened + 2:
            ledger.some()
            ledger.drain()
        assert sum(ledger.flash.erases) == erased


def test_a_step_begins_one_operation_at_most_and_none_while_the_chip_is_busy() -> None:
    seed_random()
    ledger = Ledger(new_chip(busy_polls=2))
    flash = ledger.flash
    for _ in range(120):
        ledger.some()
        while ledger.journal.unwritten():
            begun = flash.operations
            ledger.journal.step(random.getrandbits(1) == 1)
            assert flash.operations - begun <= 1
        ledger.journal.acknowledge(ledger.journal.durable)


def test_a_shoe_of_cards_costs_few_erases_and_little_flash() -> None:
    """As many entries as `sabot_firmware/shoe.py` makes for 80 rounds of 5 cards."""
    seed_random()
    ledger = Ledger()
    flash = ledger.flash
    erases, programmed = sum(flash.erases), flash.programmed
    for _ in range(80):
        for _ in range(5):
            ledger.put(4, 0)
            ledger.put(NOTE, 14)
            ledger.event(34)
            ledger.drain()
        ledger.put(NOTE, 3)
        for size in (23, 22, 20):  # a button, betting, the lock
            ledger.event(size)
        for size in (24, 24, 65, 20):  # decisions, the result, the lock
            ledger.event(size)
        ledger.put(STATE, 130)
        ledger.journal.acknowledge(ledger.journal.durable)
        ledger.drain()
        ledger.rest()
    events = ledger.last()
    print(
        "%d events: %.4f erases and %.1f bytes programmed each"
        % (events, (sum(flash.erases) - erases) / events, (flash.programmed - programmed) / events)
    )
    assert 100 * (sum(flash.erases) - erases) <= 3 * events
    assert flash.programmed - programmed <= 300 * events


def test_the_simulated_boards_chip_holds_the_same() -> None:
    seed_random()
    with Folder() as folder:
        path = folder.file("journal.nor")
        sectors = keyring.SECTORS + RING
        ledger = Ledger(SimFlash(path, speed=0, sectors=sectors))
        for n in range(600):
            ledger.some()
            ledger.drain()
            ledger.journal.acknowledge(ledger.journal.durable)
            if n % 50 == 0:
                ledger.flash = SimFlash(path, speed=0, sectors=sectors)
                ledger.restart()
                ledger.restart()
        assert ledger.journal._open > RING
