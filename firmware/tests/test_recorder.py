"""Numbers, boots and times of events over restarts, and what a host is told of losses."""

import binascii
import random

from firmware.recorder import Recorder
from firmware.store import Store
from firmware.tests.held import records_in
from firmware.tests.test_store import Folder
from protocol import cbor, events, words
from protocol.tests.helpers import allocates, seed_random

_ROOM = 8000
_RESTART = words.GAP_REASONS.index("restart")
_QUEUE_FULL = words.GAP_REASONS.index("queue_full")

# The largest values that a unit will see in its life, and the longest texts that are let in.
_NAME = "\U0001f0a1" * 16  # of a game
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


class _Host:
    """Knows which events it has taken, and which numbers nobody accounts for."""

    def __init__(self):
        self.events = {}
        self.gaps = []
        self.last = 0

    def attach(self, recorder):
        assert recorder.outbox.stand_at(self.last)
        recorder.record_loss()

    def take(self, recorder, count):
        for _ in range(count):
            record = recorder.outbox.take()
            if record is None:
                break
            event = _decoded(record)
            number, check = event[1], binascii.crc32(record)
            assert self.events.get(number, check) == check, number
            if event[0] == events.GAP.number and number not in self.events:
                self.gaps.append(tuple(event[7:]))  # first, last, reason
            self.events[number] = check
            self.last = max(self.last, number)

    def acknowledge(self, recorder):
        assert recorder.outbox.acknowledge(self.last)
        recorder.record_loss()

    def unexplained(self, last):
        """The ranges up to `last` of which no event has come and no gap event tells."""
        known = [(number, number) for number in self.events]
        known += [(first, end) for first, end, _ in self.gaps]
        known.sort()
        expect, missing = 1, []
        for first, end in known + [(last + 1, last)]:
            if first > expect:
                missing.append((expect, first - 1))
            expect = max(expect, end + 1)
        return missing


def _decoded(record):
    return cbor.decode(record, 0, len(record))


def _start(folder, clock=None, room=_ROOM):
    return Recorder(Store(folder.path), bytearray(room), clock or _Clock())


def _record(recorder, count=1):
    for _ in range(count):
        recorder.record(events.BUTTON, 3, 4, (2,))


def _all_of(recorder):
    return [_decoded(record) for record in records_in(recorder.outbox)]


def _largest(shape):
    values = []
    for _, kind in shape.fields:
        if kind in words.ENUMERATIONS:
            values.append(len(words.ENUMERATIONS[kind]) - 1)
        else:
            values.append(_LARGEST[kind])
    return tuple(values)


def test_an_event_carries_its_number_boot_time_shoe_and_round():
    with Folder() as folder:
        clock = _Clock()
        recorder = _start(folder, clock)
        clock.now_ms = 1234
        recorder.record(events.LID, 7, 9, (True,))
        clock.now_ms = 70000
        recorder.record(events.RESULT, 7, 9, (2, 6, 6, False, False))
        assert _all_of(recorder) == [
            [2, 1, 1, 1234, None, 7, 9, True],
            [13, 2, 1, 70000, None, 7, 9, 2, 6, 6, False, False],
        ]


def test_the_first_start_of_a_unit_has_lost_nothing():
    with Folder() as folder:
        recorder = _start(folder)
        _record(recorder, 3)
        held = _all_of(recorder)
        assert [event[1] for event in held] == [1, 2, 3]
        assert [event[0] for event in held] == [events.BUTTON.number] * 3


def test_each_start_is_a_new_boot():
    with Folder() as folder:
        for boot in range(1, 6):
            recorder = _start(folder)
            _record(recorder)
            assert recorder.boot == boot
            assert [event[2] for event in _all_of(recorder)] == [boot] * (1 if boot == 1 else 2)


def test_the_shoe_of_cards_is_known_after_a_restart():
    with Folder() as folder:
        recorder = _start(folder)
        assert (recorder.shoe, recorder.shoe_open) == (0, False)
        for shoe, is_open in ((1, True), (1, False), (2, True)):
            recorder.save(shoe, is_open)
            recorder = _start(folder)
            assert (recorder.shoe, recorder.shoe_open) == (shoe, is_open)


def test_events_have_no_time_of_day_until_the_clock_is_set():
    with Folder() as folder:
        for _ in range(2):  # after a restart nobody knows the time either
            clock = _Clock()
            recorder = _start(folder, clock)
            assert recorder.unix_ms() is None
            clock.now_ms = 5000
            recorder.set_clock(1800000000000, 1, 2)
            clock.now_ms = 5250
            assert recorder.unix_ms() == 1800000000250
            recorder.set_clock(1799999999000, 1, 2)
            clock.now_ms = 6250
            _record(recorder)
            clock_set = events.CLOCK_SET.number
            held = [event for event in _all_of(recorder) if event[0] != events.GAP.number]
            assert [event[0] for event in held] == [clock_set, clock_set, events.BUTTON.number]
            assert [event[4] for event in held] == [1800000000000, 1799999999000, 1800000000000]
            assert [event[7] for event in held[:2]] == [None, 1800000000250]


def test_after_a_restart_one_gap_event_covers_exactly_what_the_host_may_miss():
    for acked in range(6):
        for unsaved in (0, 1, 50, 63, 64, 65, 200):
            with Folder() as folder:
                recorder, host = _start(folder), _Host()
                _record(recorder, 5)
                host.attach(recorder)
                host.take(recorder, acked)
                host.acknowledge(recorder)
                recorder.save(1, True)
                _record(recorder, unsaved)
                last = recorder.outbox.next_number - 1
                recorder = _start(folder)
                _record(recorder)
                first = recorder.outbox.first_held
                assert first > last, (acked, unsaved)
                host.attach(recorder)
                host.take(recorder, 10)
                assert host.gaps == [(acked + 1, first - 1, _RESTART)], (acked, unsaved)
                assert not host.unexplained(first + 1)


def test_a_gap_event_that_is_lost_with_the_power_is_told_again():
    with Folder() as folder:
        recorder, host = _start(folder), _Host()
        _record(recorder, 5)
        for _ in range(3):
            recorder = _start(folder)
            _record(recorder, 2)
        host.attach(recorder)
        host.take(recorder, 10)
        last = recorder.outbox.next_number - 1
        assert not host.unexplained(last), (host.gaps, host.unexplained(last))


def test_an_overflow_is_told_in_one_gap_event_once_the_host_has_caught_up():
    with Folder() as folder:
        recorder, host = _start(folder, room=600), _Host()
        _record(recorder, 120)
        first = recorder.outbox.first_held
        assert 1 < first < 121
        host.attach(recorder)
        for _ in range(40):
            host.take(recorder, 4)
            host.acknowledge(recorder)
        assert host.gaps == [(1, first - 1, _QUEUE_FULL)]
        assert not host.unexplained(121)
        _record(recorder, 5)
        host.take(recorder, 9)
        assert len(host.gaps) == 1


def test_an_overflow_after_a_restart_is_one_of_the_queue():
    with Folder() as folder:
        recorder, host = _start(folder, room=600), _Host()
        host.attach(recorder)
        _record(recorder, 3)
        host.take(recorder, 3)
        host.acknowledge(recorder)
        recorder.save(0, False)
        recorder = _start(folder, room=600)
        _record(recorder, 2)
        host.attach(recorder)
        host.take(recorder, 9)
        host.acknowledge(recorder)
        begun = recorder.outbox.next_number
        _record(recorder, 120)
        first = recorder.outbox.first_held
        host.take(recorder, 500)
        host.acknowledge(recorder)
        host.take(recorder, 5)
        assert [gap[2] for gap in host.gaps] == [_RESTART, _QUEUE_FULL]
        assert host.gaps[1][:2] == (begun, first - 1)


def test_over_many_restarts_no_number_comes_twice_and_the_host_can_account_for_each():
    seed_random()
    for _ in range(12):
        with Folder() as folder:
            host = _Host()
            given = 0
            for _ in range(8):
                recorder = _start(folder, room=random.choice((500, 3000)))
                assert recorder.outbox.next_number > given
                attached = False
                for _ in range(random.randrange(60)):
                    choice = random.randrange(10)
                    if choice < 6:
                        _record(recorder, random.choice((1, 1, 5, 40)))
                    elif choice == 6:
                        recorder.save(1, True)
                    elif not attached:
                        host.attach(recorder)
                        attached = True
                    else:
                        host.take(recorder, random.randrange(30))
                        host.acknowledge(recorder)
                given = recorder.outbox.next_number - 1
            recorder = _start(folder)
            _record(recorder)
            host.attach(recorder)
            host.take(recorder, 500)
            last = recorder.outbox.next_number - 1
            assert not host.unexplained(last), (host.gaps, host.unexplained(last))


def test_the_largest_event_of_every_kind_fits():
    for shape in events.KINDS:
        with Folder() as folder:
            clock = _Clock()
            recorder = _start(folder, clock)
            clock.now_ms = 1 << 36  # two years
            values = _largest(shape)
            if shape is not events.BOOT:  # at that time no host has set the clock
                recorder.set_clock(1 << 41, 0, 0)
            if shape in (events.SHOE_LOADED, events.GAME_LOADED):
                values = tuple([_NAME if isinstance(value, str) else value for value in values])
            recorder.record(shape, 100000, 200, values)
            assert _all_of(recorder)[-1][7:] == list(values), shape.name


def test_encoding_an_event_allocates_nothing():
    # Held under MicroPython only: CPython has no heap to lock.
    buf = bytearray(events.MAX_SIZE)
    for shape in events.KINDS:
        items = [shape.number, 123456, 12, 3600000, 1800000000000, 1234, 80]
        items += list(_largest(shape))
        count = len(items)
        cbor.encode_array(buf, 0, items, count)  # letters become known strings
        assert not allocates(lambda items=items, n=count: cbor.encode_array(buf, 0, items, n)), (
            shape.name
        )
