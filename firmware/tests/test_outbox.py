"""The outbox against a naive model: a list that holds everything and looks everything up."""

import random

from firmware.outbox import Outbox
from protocol.tests.helpers import random_bytes, seed_random


class _Model:
    """All events ever, and which of them are gone. When one must go, the outbox is asked."""

    def __init__(self, capacity, first):
        self.capacity = capacity
        self.first = self.held = self.cursor = first
        self.acked = first - 1
        self.events = []
        self.lost = []

    def next(self):
        return self.first + len(self.events)

    def event(self, number):
        return self.events[number - self.first]

    def bytes_from(self, number):
        return sum([len(event) + 2 for event in self.events[number - self.first :]])

    def put(self, event, held):
        """`event` was put and `held` is the oldest one kept: was giving the others up right?"""
        room = len(event) + 2
        if held > self.held:  # without the last one given up there was no room in one piece
            longest = max([len(event) for event in self.events]) + 2
            assert self.bytes_from(held - 1) + room + max(room, longest) > self.capacity
        self.lost += range(max(self.held, self.acked + 1), held)
        self.held = held
        self.events.append(event)
        assert self.bytes_from(held) <= self.capacity
        self.cursor = max(self.cursor, held)

    def acknowledge(self, number):
        if number >= self.next():
            return False
        if number > self.acked:
            self.acked = number
            self.cursor = max(self.cursor, number + 1)
        return True

    def stand_at(self, number):
        if number >= self.next():
            return False
        self.acked = max(number, self.held - 1)
        self.cursor = self.acked + 1
        return True

    def seek(self, number):
        if not self.held <= number <= self.next():
            return False
        self.cursor = number
        return True

    def take(self):
        if self.cursor == self.next():
            return None
        self.cursor += 1
        return self.event(self.cursor - 1)

    def rewind(self):
        self.cursor = min(self.cursor, max(self.acked + 1, self.held))


def _put(outbox, event):
    record = memoryview(event + b"behind the event")
    outbox.put(record, len(event))


def _check(outbox, model):
    assert outbox.first_held == model.held
    assert outbox.next_number == model.next()
    assert outbox.acked == model.acked
    assert outbox.cursor_number == model.cursor
    assert outbox.unacked() == model.next() - max(model.acked + 1, model.held)
    assert outbox.used_bytes() == model.bytes_from(model.held)
    if model.lost:
        assert (outbox.lost_first, outbox.lost_last) == (model.lost[0], model.lost[-1])
    else:
        assert (outbox.lost_first, outbox.lost_last) == (0, 0)


def _taken(outbox):
    record = outbox.take()
    return None if record is None else bytes(record)


def _all_of(outbox):
    assert outbox.seek(outbox.first_held)
    events = []
    while True:
        event = _taken(outbox)
        if event is None:
            return events
        events.append(event)


def _any_number(model):
    return random.randint(max(0, model.held - 3), model.next() + 2)


def _random_life(capacity, longest, operations):
    first = random.choice((1, 2, 1000, 70000))
    outbox, model = Outbox(bytearray(capacity), first), _Model(capacity, first)
    for _ in range(operations):
        choice = random.randrange(12)
        if choice < 5:
            event = random_bytes(random.randint(0, longest))
            _put(outbox, event)
            model.put(event, outbox.first_held)
        elif choice < 8:
            assert _taken(outbox) == model.take()
        elif choice == 8:
            number = random.choice((model.cursor - 1, model.acked + 1, _any_number(model)))
            assert outbox.acknowledge(number) == model.acknowledge(number)
        elif choice == 9:
            outbox.rewind()
            model.rewind()
        elif choice == 10:
            number = _any_number(model)
            assert outbox.seek(number) == model.seek(number)
        elif random.getrandbits(1):
            number = random.choice((model.acked, _any_number(model)))
            assert outbox.stand_at(number) == model.stand_at(number)
        else:
            outbox.forget_lost()
            model.lost = []
        _check(outbox, model)
    assert _all_of(outbox) == model.events[model.held - first :]


def test_random_operations_do_what_the_model_does():
    seed_random()
    for _ in range(60):
        longest = random.choice((0, 1, 5, 30))
        _random_life(random.randint(longest + 2, 4 * longest + 40), longest, 150)


def test_random_operations_with_events_of_real_sizes():
    seed_random()
    for _ in range(4):
        _random_life(random.choice((700, 1500)), 160, 300)


def test_the_ring_goes_round_at_every_offset():
    for capacity in range(8, 40):
        for size in range(capacity // 3 - 2):
            outbox = Outbox(bytearray(capacity), 1)
            for number in range(1, 2 * capacity // (size + 2) + 4):
                event = bytes([number] * size)
                _put(outbox, event)
                assert _taken(outbox) == event, (capacity, size, number)
                assert outbox.acknowledge(number - 1)
            expected = [bytes([n] * size) for n in range(outbox.first_held, number + 1)]
            assert _all_of(outbox) == expected, (capacity, size)
            assert not outbox.lost_first, (capacity, size)


def test_events_of_any_size_come_out_as_they_went_in():
    outbox = Outbox(bytearray(3000), 1)
    for size in (0, 1, 254, 255, 256, 257, 511, 512, 1000):
        event = bytes([size & 0xFF]) * size
        _put(outbox, event)
        assert _taken(outbox) == event, size


def test_an_event_as_large_as_the_ring_takes_the_place_of_all():
    outbox = Outbox(bytearray(50), 1)
    for size in (48, 0, 48, 20, 20, 48):
        _put(outbox, bytes(size))
        assert _taken(outbox) == bytes(size)
    assert (outbox.first_held, outbox.next_number) == (6, 7)
    assert (outbox.lost_first, outbox.lost_last) == (1, 5)


def test_acknowledged_events_go_first_and_without_loss():
    outbox = Outbox(bytearray(100), 1)
    for _ in range(30):
        _put(outbox, bytes(8))
        outbox.acknowledge(outbox.next_number - 1)
    assert outbox.first_held == 30 - 10 + 1
    assert outbox.lost_first == 0


def test_an_overflow_tells_exactly_which_events_are_lost():
    for acked in range(11):
        for more in range(25):
            outbox = Outbox(bytearray(100), 1)
            for n in range(10 + more):
                _put(outbox, bytes([n] * 8))
                if n == 9:
                    outbox.acknowledge(acked)
            held = [event[0] + 1 for event in _all_of(outbox)]
            assert len(held) >= 9, held
            lost = [n for n in range(acked + 1, 11 + more) if n not in held]
            told = [outbox.lost_first, outbox.lost_last]
            assert told == ([lost[0], lost[-1]] if lost else [0, 0]), (acked, more)


def test_an_acknowledgement_of_what_was_never_given_is_refused():
    outbox = Outbox(bytearray(100), 5)
    assert not outbox.acknowledge(5)
    assert not outbox.stand_at(5)
    _put(outbox, b"five")
    assert not outbox.acknowledge(6)
    assert outbox.acked == 4 and outbox.unacked() == 1
    assert outbox.acknowledge(5) and outbox.acknowledge(1), "an old one is no error"
    assert outbox.acked == 5 and outbox.unacked() == 0


def test_a_rewind_does_not_skip_what_is_being_read_again():
    outbox = Outbox(bytearray(100), 1)
    for n in range(5):
        _put(outbox, bytes([n]))
    assert outbox.acknowledge(5)
    assert outbox.seek(2)
    outbox.rewind()
    assert [_taken(outbox) for _ in range(5)] == [b"\1", b"\2", b"\3", b"\4", None]
