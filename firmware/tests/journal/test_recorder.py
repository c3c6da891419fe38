"""Numbers, times and MACs of events over restarts, and how losses are reported to a host."""

import binascii
import random

from firmware.tests.fakes.fake_flash import FIRST_KEY, PowerCut, new_chip
from firmware.tests.support.held import records_in
from firmware.tests.support.naive_chain import NaiveChain
from protocol.tests.helpers import allocates, seed_random
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.recorder import Recorder
from sabot_firmware.journal.ring import STATE
from sabot_protocol import cbor, enums, events
from sabot_protocol.chain import EPOCH_RECORDS

_JOURNAL_DAMAGED = enums.GAP_REASONS.index("journal_damaged")
_QUEUE_FULL = enums.GAP_REASONS.index("queue_full")
_QUEUE = bytearray(4096)
_KEPT = bytearray(2 * 12000)
"""The host's events, by number: two bytes of a checksum, the first not 0."""

# The largest values that a unit will see in its life, and the longest texts that are accepted.
_NAME = "\U0001f0a1" * 16  # the name of a game
_LARGEST = {
    "uint": 0xFFFFFFFF,
    "uint?": 1 << 41,
    "text": "mini and more...",
    "bytes": bytes(32),
    "flag": True,
    "card": 53,
    "card?": 53,
}


class _Clock:
    def __init__(self):
        self.now_ms = 0

    def __call__(self):
        return self.now_ms


def _start(flash, clock=None, boot=1):
    journal = Journal(flash, _QUEUE)
    if not flash.operations:
        journal.begin(FIRST_KEY)
    journal.mount()
    return Recorder(journal, boot, clock or _Clock()), journal


def _decoded(record):
    return cbor.decode(record, 0, len(record))


def _record(recorder, count=1):
    for _ in range(count):
        recorder.record(events.BUTTON, 3, 4, (2,))


def _all_of(journal):
    return [_decoded(record) for record in records_in(journal)]


def _largest(shape):
    values = []
    for _, kind in shape.fields:
        if kind in enums.ENUMERATIONS:
            values.append(len(enums.ENUMERATIONS[kind]) - 1)
        else:
            values.append(_LARGEST[kind.rstrip("?")])
    if shape is events.COMPOSITION:
        values[0] = bytes(52)
    return tuple(values)


def test_an_event_carries_its_number_boot_time_shoe_and_round():
    clock = _Clock()
    recorder, journal = _start(new_chip(), clock, boot=6)
    clock.now_ms = 1234
    recorder.record(events.LID, 7, 9, (True,))
    clock.now_ms = 70000
    recorder.record(events.RESULT, 7, 9, (2, 6, 6, False, False))
    assert _all_of(journal) == [
        [2, 1, 6, 1234, None, 7, 9, True],
        [13, 2, 6, 70000, None, 7, 9, 2, 6, 6, False, False],
    ]


def test_numbers_go_on_over_a_restart_without_a_gap():
    flash = new_chip()
    given = 0
    for boot in range(1, 6):
        recorder, journal = _start(flash, boot=boot)
        assert journal.number == given + 1 and journal.lost_first == 0
        _record(recorder, 7)
        journal.drain()
        given += 7
    held = _all_of(journal)
    assert [event[1] for event in held] == list(range(1, given + 1))
    assert [event[2] for event in held] == [1] * 7 + [2] * 7 + [3] * 7 + [4] * 7 + [5] * 7


def test_what_was_not_on_flash_when_the_power_went_has_no_number():
    flash = new_chip()
    recorder, journal = _start(flash)
    _record(recorder, 5)
    journal.drain()
    _record(recorder, 9)
    assert journal.number == 15
    recorder, journal = _start(flash, boot=2)
    assert journal.number == 6
    _record(recorder)
    assert [event[1:3] for event in _all_of(journal)][4:] == [[5, 1], [6, 2]]


def test_events_have_no_time_of_day_until_the_clock_is_set():
    flash = new_chip()
    for boot in (1, 2):  # after a restart the time is not known either
        clock = _Clock()
        recorder, journal = _start(flash, clock, boot)
        assert recorder.unix_ms() is None
        clock.now_ms = 5000
        recorder.set_clock(1800000000000, 1, 2)
        clock.now_ms = 5250
        assert recorder.unix_ms() == 1800000000250
        recorder.set_clock(1799999999000, 1, 2)
        clock.now_ms = 6250
        _record(recorder)
        clock_set = events.CLOCK_SET.number
        held = [event for event in _all_of(journal) if event[2] == boot]
        assert [event[0] for event in held] == [clock_set, clock_set, events.BUTTON.number]
        assert [event[4] for event in held] == [1800000000000, 1799999999000, 1800000000000]
        assert [event[7] for event in held[:2]] == [None, 1800000000250]


def test_the_macs_are_those_of_the_records():
    recorder, journal = _start(new_chip())
    _record(recorder, 30)
    macs = NaiveChain(FIRST_KEY).macs(records_in(journal))
    assert bytes(journal.chain.mac) == macs[30]
    taken = Outbox(journal, 10).take()
    assert taken is not None and bytes(taken.mac) == macs[11]


def test_a_checkpoint_holds_how_many_came_before_and_the_mac_of_the_last():
    recorder, journal = _start(new_chip())
    for before in (0, 1, 6, 3):
        _record(recorder, before)
        recorder.checkpoint(5, 80)
    records = records_in(journal)
    macs = NaiveChain(FIRST_KEY).macs(records)
    found = [_decoded(record) for record in records]
    found = [event for event in found if event[0] == events.CHECKPOINT.number]
    assert [event[1] for event in found] == [1, 3, 10, 14]
    for event in found:
        assert event[5:] == [5, 80, event[1] - 1, macs[event[1] - 1]]


def test_what_the_journal_has_lost_is_recorded_once():
    recorder, journal = _start(new_chip())
    mac = bytes(range(16))
    for reason in ("journal_damaged", "queue_full"):
        journal.lost_first, journal.lost_last, journal.lost_mac = 12, 40, mac
        recorder.record_lost(reason)
        assert journal.lost_first == 0
        event = _all_of(journal)[-1]
        assert event[0] == events.GAP.number
        assert event[7:] == [12, 40, enums.GAP_REASONS.index(reason), mac]


class _Host:
    """Takes events and keeps them; skips those that are reported as given up."""

    def __init__(self):
        for i in range(len(_KEPT)):
            _KEPT[i] = 0
        self.gaps = []
        """The first and the last number of each gap."""
        self.macs = []
        """The MAC from which the chain continues after each gap, as the gap reports it."""
        self.last = 0

    def attach(self, outbox):
        self.last = max(self.last, outbox.first_held - 1)
        assert outbox.serve_from(self.last)

    def take(self, outbox, count):
        for _ in range(count):
            taken = outbox.take()
            if taken is None:
                break
            event = _decoded(taken.record)
            number, at = event[1], 2 * event[1]
            kept = binascii.crc32(taken.mac, binascii.crc32(taken.record)) & 0xFFFF | 1
            kept = kept.to_bytes(2, "little")
            known = _KEPT[at : at + 2]
            assert known == bytes(2) or known == kept, "a number came twice: %d" % number
            if event[0] == events.GAP.number and known == bytes(2):
                self.gaps.append((event[7], event[8]))
                self.macs.append(event[10])
            _KEPT[at : at + 2] = kept
            assert number == self.last + 1 or outbox.first_held > self.last + 1
            self.last = number

    def unexplained(self, recorded=()):
        """Return the first number with no event and no gap event for it; 0 for none.

        A gap event may be lost itself. `recorded` has number, first and last of all of them.
        """
        for number, first, last in recorded:
            if [gap for gap in self.gaps if gap[0] <= number <= gap[1]]:
                self.gaps.append((first, last))
        expect = 1
        while expect <= self.last:
            if _KEPT[2 * expect]:
                expect += 1
                continue
            ends = [last for first, last in self.gaps if first <= expect <= last]
            if not ends:
                return expect
            expect = max(ends) + 1
        return 0


def _caught_up(recorder, outbox):
    """Record losses, as sabot_firmware/shoe.py does when the host has more events."""
    journal = recorder._journal
    gap = (journal.number, journal.lost_first, journal.lost_last)
    if journal.lost_first and outbox.unacked() <= 16:
        recorder.record_lost("queue_full")
        return [gap]
    return []


def _keep(journal):
    """Write a state, with the part of sabot_firmware/journal/recovery.py that matters here."""
    journal.put(STATE, memoryview(journal.acknowledged().to_bytes(4, "big")), 4)


def _start_again(flash, boot):
    """Start a shoe that may lose the oldest events."""
    recorder, journal = _start(flash, boot=boot)
    journal.may_overwrite = True
    kept = [0]

    def visit(kind, payload):
        if kind == STATE:
            kept[0] = int.from_bytes(payload, "big")

    journal.each_since_state(visit)
    assert journal.lost_first == 0
    journal.restore_acknowledged(kept[0])
    outbox = Outbox(journal, kept[0])
    journal.restore_lost()
    return recorder, journal, outbox


def test_an_overflow_is_reported_in_one_gap_event_once_the_host_has_caught_up():
    recorder, journal = _start(new_chip(ring=6))
    journal.may_overwrite = True
    outbox, host = Outbox(journal, 0), _Host()
    host.attach(outbox)
    for _ in range(60):
        _record(recorder, 20)
        journal.drain()
    first = outbox.first_held
    assert first > 200
    mac = bytes(journal.lost_mac)
    host.attach(outbox)
    while outbox.unacked():
        host.take(outbox, 30)
        outbox.acknowledge(host.last)
        _caught_up(recorder, outbox)
        assert host.gaps == [] or outbox.unacked() <= 16
        journal.drain()
    assert host.gaps == [(1, first - 1)] and host.macs == [mac] and host.unexplained() == 0


def test_over_restarts_cuts_and_overflows_a_host_can_account_for_each_number():
    seed_random()
    gaps = 0
    for _ in range(5):
        flash = new_chip(ring=6)
        recorder, journal, outbox = _start_again(flash, 1)
        host = _Host()
        attached, recorded = False, []
        for _ in range(60):
            if random.getrandbits(4) == 0:
                flash.cut_at = flash.operations + random.randrange(12)
                flash.cut = random.randrange(3)
            try:
                for _ in range(random.randrange(4)):
                    _record(recorder, random.choice((1, 5, 40, 100)))
                    _keep(journal)
                    journal.drain()
                if random.getrandbits(4) == 0:
                    host.attach(outbox)
                    attached = True
                while attached and random.getrandbits(2):
                    host.take(outbox, random.randrange(60))
                    outbox.acknowledge(host.last)
                    recorded += _caught_up(recorder, outbox)
                if random.getrandbits(4) == 0:
                    raise PowerCut
            except PowerCut:
                flash.power_on()
                recorder, journal, outbox = _start_again(flash, recorder.boot + 1)
                attached = False
        flash.power_on()
        recorder, journal, outbox = _start_again(flash, recorder.boot + 1)
        _record(recorder)
        journal.drain()
        host.attach(outbox)
        while outbox.unacked():
            host.take(outbox, 100)
            outbox.acknowledge(host.last)
            recorded += _caught_up(recorder, outbox)
            journal.drain()
        assert host.last == journal.durable
        assert host.unexplained(recorded) == 0, (host.gaps, recorded)
        gaps += len(host.gaps)
    assert gaps > 0


def test_the_largest_event_of_every_kind_fits():
    for shape in events.KINDS:
        clock = _Clock()
        recorder, journal = _start(new_chip(), clock)
        journal.number = 10_000_000
        journal.chain.epoch = journal.number // EPOCH_RECORDS
        clock.now_ms = 1 << 36  # two years
        values = _largest(shape)
        if shape is not events.BOOT:  # at that time no host has set the clock
            recorder.set_clock(1 << 41, 0, 0)
        if shape in (events.SHOE_LOADED, events.GAME_LOADED):
            values = tuple([_NAME if isinstance(value, str) else value for value in values])
        recorder.record(shape, 100000, 200, values)
        assert _all_of(journal)[-1][7:] == list(values), shape.name


def test_encoding_an_event_allocates_nothing():
    # This checks under MicroPython only: CPython has no heap to lock.
    buf = bytearray(events.MAX_SIZE)
    for shape in events.KINDS:
        items = [shape.number, 123456, 12, 3600000, 1800000000000, 1234, 80]
        items += list(_largest(shape))
        count = len(items)
        cbor.encode_array(buf, 0, items, count)  # the strings are interned
        assert not allocates(lambda items=items, n=count: cbor.encode_array(buf, 0, items, n)), (
            shape.name
        )
