"""The outbox, against a naive model, with a journal on a small chip."""

import random

from firmware.tests.fakes.fake_flash import RING, new_chip
from firmware.tests.support.held import cut_off_before_newest_key, sector_of
from firmware.tests.support.ledger import Ledger, epoch_events, events_of, filled
from protocol.tests.helpers import seed_random
from sabot_firmware.journal.contents import RESERVE_SECTORS
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.ring import NOTE

_SECTOR = 4096


class _Model:
    """What an outbox must do with the events that are on flash, `first` to `durable`."""

    def __init__(self, journal, acked):
        self.journal = journal
        self.acked = acked
        self.cursor = acked + 1

    def next(self):
        return self.journal.durable + 1

    def acknowledge(self, number):
        if number >= self.next():
            return False
        if number > self.acked:
            self.acked = number
            self.cursor = max(self.cursor, number + 1)
        return True

    def serve_from(self, number):
        if number >= self.next():
            return False
        self.acked = max(number, self.journal.first_held - 1)
        self.cursor = self.acked + 1
        return True

    def seek(self, number):
        if not self.journal.first_held <= number <= self.next():
            return False
        self.cursor = number
        return True

    def take(self):
        if self.cursor >= self.next():
            return 0
        self.cursor = max(self.cursor, self.journal.first_held) + 1
        return self.cursor - 1

    def rewind(self):
        self.cursor = min(self.cursor, max(self.acked + 1, self.journal.first_held))


def _number_of(ledger, taken):
    """Return the number of an event, which must be as it was put; 0 for none."""
    if taken is None:
        return 0
    number = int.from_bytes(taken.record[:4], "big")
    assert bytes(taken.mac) == ledger.macs[number]
    return number


def _check(outbox, model):
    journal = model.journal
    assert outbox.first_held == journal.first_held
    assert outbox.next_number == model.next()
    assert outbox.acked == model.acked
    assert outbox.cursor_number == model.cursor
    assert outbox.unacked() == model.next() - max(model.acked + 1, journal.first_held)
    assert outbox.left_out == []


def _any_number(model):
    return random.randint(max(0, model.journal.first_held - 3), model.next() + 2)


def _random_life(may_overwrite, operations):
    ledger = Ledger()
    journal = ledger.journal
    journal.may_overwrite = may_overwrite
    outbox, model = Outbox(journal, 0), _Model(journal, 0)
    for _ in range(operations):
        choice = random.randrange(12)
        if choice < 3:
            for _ in range(random.choice((1, 3, 20))):
                ledger.some()
                # As a shoe, which stops dealing before the queue has no place to go to.
                if journal.stuck or (not may_overwrite and journal.spare_sectors() < 1):
                    ledger.drain()
                    outbox.acknowledge(journal.durable)
                    model.acknowledge(journal.durable)
                    ledger.drain()
        elif choice < 5:
            for _ in range(random.randrange(20)):
                journal.step(random.getrandbits(1) == 1)
        elif choice < 8:
            for _ in range(random.choice((1, 1, 10))):
                assert _number_of(ledger, outbox.take()) == model.take()
        elif choice == 8:
            number = random.choice((model.cursor - 1, model.acked + 1, _any_number(model)))
            assert outbox.acknowledge(number) == model.acknowledge(number)
        elif choice == 9:
            outbox.rewind()
            model.rewind()
        elif choice == 10:
            number = _any_number(model)
            assert outbox.seek(number) == model.seek(number)
        else:
            number = random.choice((model.acked, _any_number(model)))
            assert outbox.serve_from(number) == model.serve_from(number)
        _check(outbox, model)
    return journal


def test_random_operations_do_what_the_model_does():
    seed_random()
    laps = 0
    for may_overwrite in (False, True):
        for _ in range(2):
            laps += _random_life(may_overwrite, 250)._open // RING
    assert laps > 0, "the ring went round"


def test_only_what_is_on_flash_is_given():
    seed_random()
    ledger = Ledger()
    outbox = Outbox(ledger.journal, 0)
    for _ in range(30):
        ledger.event()
    assert outbox.take() is None and outbox.next_number == 1 and not outbox.acknowledge(1)
    given = 0
    while ledger.journal.unwritten():
        ledger.journal.step()
        taken = outbox.take()
        while taken is not None:
            given += 1
            assert _number_of(ledger, taken) == given <= ledger.journal.durable
            taken = outbox.take()
    assert given == 30


def test_nothing_is_read_while_the_chip_is_busy():
    seed_random()
    ledger = Ledger(new_chip(busy_polls=3))
    journal = ledger.journal
    outbox = Outbox(journal, 0)
    given, refused, taken_ones = 0, 0, 0
    for _ in range(150):
        ledger.some()
        for _ in range(random.randrange(12)):
            journal.step(random.getrandbits(1) == 1)
            luck = random.randrange(6)
            if luck == 0:
                outbox.rewind()
                given = outbox.cursor_number - 1
            elif luck == 1:
                outbox.acknowledge(given)
            elif luck == 2 and random.getrandbits(3) == 0:
                outbox.serve_from(max(0, given - 5))
                given = outbox.acked
            elif luck == 3:
                outbox.seek(max(outbox.first_held, given))
                given = outbox.cursor_number - 1
            elif luck == 4:
                journal.scrub(random.randrange(max(1, journal._open)))
            taken = outbox.take()  # raises FlashError if it reads a busy chip
            if taken is not None:
                given += 1
                taken_ones += 1
                assert _number_of(ledger, taken) == given
            elif outbox.cursor_number <= journal.durable:
                refused += 1
    assert taken_ones > 30 and refused > 30
    assert journal.faults == [] and outbox.left_out == []


def test_a_host_that_has_fewer_events_than_the_previous_one_gets_them_again():
    ledger = filled(2)
    outbox = Outbox(ledger.journal, ledger.journal.durable)
    assert outbox.take() is None
    assert outbox.serve_from(4)
    assert [_number_of(ledger, outbox.take()) for _ in range(3)] == [5, 6, 7]
    assert ledger.journal.acknowledged() == 4, "what was acknowledged once is kept in the journal"


def test_a_host_that_has_more_events_than_were_ever_written_is_refused():
    ledger = filled(1)
    outbox = Outbox(ledger.journal, 0)
    number = ledger.journal.durable + 1
    for _ in range(2):
        assert not outbox.serve_from(number) and not outbox.acknowledge(number)
        assert outbox.acked == 0
        ledger.event()  # queued but not written
    ledger.drain()
    assert outbox.serve_from(number)


def test_a_rewind_does_not_skip_what_is_being_read_again():
    ledger = filled(1)
    outbox = Outbox(ledger.journal, 0)
    assert outbox.acknowledge(5)
    assert outbox.seek(2)
    outbox.rewind()
    assert [_number_of(ledger, outbox.take()) for _ in range(5)] == [2, 3, 4, 5, 6]


def test_events_that_are_overwritten_while_they_are_given_are_skipped():
    seed_random()
    ledger = filled(4)
    journal = ledger.journal
    journal.may_overwrite = True
    outbox = Outbox(journal, 0)
    for number in range(1, 11):
        assert _number_of(ledger, outbox.take()) == number
    while journal._open < RING + 3:
        ledger.some()
        ledger.drain()
    first = journal.first_held
    assert first > 11 and outbox.first_held == first
    assert _number_of(ledger, outbox.take()) == first
    outbox.rewind()
    assert _number_of(ledger, outbox.take()) == first
    assert outbox.left_out == [], "the journal reports those"


def test_a_cursor_is_right_whatever_is_erased_before_its_place():
    seed_random()
    ledger = Ledger()
    journal = ledger.journal
    outbox = Outbox(journal, 0)
    given = 0
    while journal._open < 3 * RING:
        ledger.some()
        ledger.drain()
        ledger.rest(3)
        for _ in range(random.randrange(8)):
            taken = outbox.take()
            if taken is not None:
                given += 1
                assert _number_of(ledger, taken) == given
        if journal.spare_sectors() < RESERVE_SECTORS:
            outbox.acknowledge(given)
    assert given > 1000


# Damage


def _damage(ledger, sector, header=False):
    """Flip a bit; return the first and the last event that can no longer be read."""
    journal = ledger.journal
    first, last = events_of(journal, sector)
    at = 4 if header else 16 + 2
    ledger.flash.flip(sector_of(journal, sector) * _SECTOR + at)
    return first, last


def _host_takes_all(outbox, ledger, has=0):
    """Take events as a host's session does: in order, skipping those reported as given up.

    Returns the numbers of the events taken."""
    got, early = [], []
    durable = ledger.journal.durable
    for _ in range(100):
        first_held = outbox.first_held  # the heartbeat
        outbox.rewind()
        for _ in range(200):
            taken = outbox.take()
            if taken is not None:
                early.append(_number_of(ledger, taken))
            elif outbox.cursor_number > outbox.acked + 48:
                break
        going = True
        while going:
            going = False
            if has + 1 in early:
                has += 1
                got.append(has)
                going = True
            elif has + 1 < first_held:
                has = min([first_held] + [n for n in early if n > has]) - 1
                going = True
        early = []
        assert outbox.acknowledge(has)
        if has == durable:
            return got
    raise AssertionError("the host never gets past %d of %d" % (has, durable))


def test_damaged_events_in_the_middle_are_left_out_and_reported_once():
    seed_random()
    for header in (False, True):
        ledger = filled(5)
        outbox = Outbox(ledger.journal, 0)
        first, last = _damage(ledger, 2, header)
        got = _host_takes_all(outbox, ledger)
        durable = ledger.journal.durable
        assert got == [n for n in range(1, durable + 1) if not first <= n <= last]
        assert outbox.left_out == [(first, last)]
        outbox.left_out.clear()
        outbox.serve_from(0)  # another host
        assert _host_takes_all(outbox, ledger) == got
        assert outbox.left_out == [], "it is recorded already"


def test_first_held_moves_only_when_the_host_has_all_before_the_damage():
    ledger = filled(5)
    outbox = Outbox(ledger.journal, 0)
    first, last = _damage(ledger, 1)
    for _ in range(300):
        outbox.take()
    for acked in (1, first - 2):
        assert outbox.acknowledge(acked) and outbox.first_held == 1
    assert outbox.acknowledge(first - 1) and outbox.first_held == last + 1
    assert outbox.unacked() == ledger.journal.durable - last


def test_damage_in_several_places_is_skipped_one_after_another():
    seed_random()
    for sectors in ((1, 3), (1, 2), (1, 2, 3), (2, 4, 5)):
        for header in (False, True):
            ledger = filled(7)
            outbox = Outbox(ledger.journal, 0)
            gone = []
            for sector in sectors:
                first, last = _damage(ledger, sector, header and sector != 2)
                gone += range(first, last + 1)
            got = _host_takes_all(outbox, ledger)
            expected = [n for n in range(1, ledger.journal.durable + 1) if n not in gone]
            assert got == expected, (sectors, header)
            reported = [n for first, last in outbox.left_out for n in range(first, last + 1)]
            assert sorted(set(reported)) == gone, (sectors, header, outbox.left_out)


def test_damage_within_one_window_does_not_hold_a_host_up():
    """Few events to a sector, so that several damaged sectors are within one window."""
    seed_random()
    ledger = Ledger()
    while ledger.journal._open < 6:
        for _ in range(20):
            ledger.put(NOTE, 180)
        ledger.event(20)
        ledger.event(20)
        ledger.drain()
    outbox = Outbox(ledger.journal, 0)
    gone = []
    for sector in (1, 3, 4):
        first, last = _damage(ledger, sector)
        gone += range(first, last + 1)
    assert 1 <= len(gone) <= 9
    got = _host_takes_all(outbox, ledger)
    assert got == [n for n in range(1, ledger.journal.durable + 1) if n not in gone]


def test_an_event_that_is_misread_once_is_not_left_out():
    ledger = filled(2)
    journal = ledger.journal
    outbox = Outbox(journal, 0)
    for _ in range(3):
        outbox.take()
    ledger.flash.misread.add(journal._address(outbox._cursor.sector) + outbox._cursor._at + 3)
    taken = [_number_of(ledger, outbox.take()) for _ in range(3)]
    assert taken == [0, 4, 5] and outbox.left_out == [] and not ledger.flash.misread


def test_events_before_damage_can_be_read_again_after_it():
    seed_random()
    ledger = filled(5)
    outbox = Outbox(ledger.journal, 0)
    _damage(ledger, 2)
    got = _host_takes_all(outbox, ledger)
    for _ in range(2):
        assert outbox.seek(1) and outbox.first_held == 1
        again = []
        for _ in range(400):
            again.append(_number_of(ledger, outbox.take()))
        assert [number for number in again if number] == got


def test_what_the_start_has_reported_as_lost_is_not_reported_again():
    seed_random()
    ledger = filled(3)
    epoch_events(ledger, 2)
    due = cut_off_before_newest_key(ledger.journal, ledger.flash, 6)
    journal = ledger.mount()
    ledger.macs.last = due - 1
    assert (journal.lost_first, journal.lost_last) == (due - 6, due - 1)
    outbox = Outbox(journal, 0)
    journal.lost_first = journal.lost_last = 0  # recorded
    for _ in range(9):
        ledger.event()
    ledger.drain()
    assert _host_takes_all(outbox, ledger) == list(range(1, due - 6)) + list(range(due, due + 9))
    assert outbox.left_out == []
