"""The shoe's end of the link with a naive host; the tests set the time."""

import random

from firmware.tests.support.line import (
    CHALLENGE,
    GAME,
    HELLO,
    WELCOME,
    Line,
    ack,
    events_of,
    messages_of,
)
from protocol.tests.helpers import random_bytes, seed_random
from sabot_firmware.link.link import RESEND_MS, REWIND_PAUSE_MS, WINDOW
from sabot_protocol import messages

_STATUS = messages.STATUS.number


def test_nothing_is_sent_before_hello():
    line = Line()
    line.put(10)
    line.say(ack(0), [_STATUS, 1], [messages.IDENTIFY.number, 2], ["nonsense"])
    line.link.feed(b"\1garbage\0", line.now_ms)
    for _ in range(100):
        assert line.hear() == []
        line.now_ms += 100
    assert not line.link.attached and line.device.done == [] and line.outbox.acked == 0


def test_a_host_that_has_said_hello_gets_events_once_it_says_what_it_has():
    for has in (0, 4, 10):
        line = Line()
        line.put(10)
        line.say(HELLO)
        assert line.hear() == [WELCOME, GAME, CHALLENGE]
        line.now_ms += 500
        assert line.hear() == [] and line.link.attached and not line.link.listening
        line.say(ack(has))
        assert line.link.listening
        assert events_of(line.hear()) == list(range(has + 1, 11))


def test_a_host_that_has_fewer_events_than_the_previous_one_gets_them_all():
    line = Line()
    line.put(10)
    line.attach()
    line.hear()
    line.say(ack(10))
    line.attach(3)
    assert events_of(line.hear()) == list(range(4, 11))


def test_events_of_every_size_arrive_as_they_are():
    line = Line()
    line.attach()
    for size in range(193):
        record = random_bytes(size)
        line.journal.put_event(memoryview(record), size)
        mac = bytes(line.journal.chain.mac)
        assert line.hear() == [], "not before it is on flash"
        line.journal.drain()
        assert line.hear() == [[messages.EVENT.number, record, mac]], size
        line.say(ack(size + 1))


def test_events_go_in_order_up_to_the_window_ahead_of_what_is_acknowledged():
    line = Line()
    line.put(200)
    line.attach()
    assert events_of(line.hear()) == list(range(1, WINDOW + 1))
    for acked in (1, 2, 10, WINDOW, 100):
        line.say(ack(acked))
        assert line.device.acknowledgements
        expected = list(range(line.outbox.cursor_number, min(acked + WINDOW, 200) + 1))
        assert events_of(line.hear()) == expected, acked
    line.say(ack(200))
    assert events_of(line.hear()) == []


def test_what_is_not_acknowledged_is_sent_again_after_a_while():
    line = Line()
    line.put(20)
    line.attach()
    assert events_of(line.hear()) == list(range(1, 21))
    line.now_ms += 100
    line.say(ack(5))
    line.now_ms += RESEND_MS - 1
    assert events_of(line.hear()) == []
    line.now_ms += 1
    assert events_of(line.hear()) == list(range(6, 21))
    line.now_ms += RESEND_MS
    assert events_of(line.hear()) == list(range(6, 21))


def test_what_a_slow_line_has_just_taken_is_not_sent_again_at_once():
    line = Line()
    line.put(20)
    line.attach()
    sent = []
    while len(sent) < 20:
        sent += events_of(messages_of(line.reader.feed(line.sent())))
        line.now_ms += 2 * RESEND_MS  # until the line has taken it all; only now can a host answer
    assert sent == list(range(1, 21)) and events_of(line.hear()) == []
    line.now_ms += RESEND_MS - 1
    assert events_of(line.hear()) == []
    line.now_ms += 1
    assert events_of(line.hear()) == list(range(1, 21))


def test_a_repeated_ack_asks_for_what_is_missing_but_not_too_often():
    line = Line()
    line.put(20)
    line.attach(4)
    line.hear()
    resent = []
    begun = line.now_ms
    for _ in range(4 * REWIND_PAUSE_MS):
        line.now_ms += 1
        line.say(ack(4), ack(4))
        events = events_of(line.hear())
        if events:
            assert events == list(range(5, 21))
            resent.append(line.now_ms - begun)
    assert resent == [REWIND_PAUSE_MS * n for n in range(1, 5)]


def test_a_repeated_ack_of_everything_sends_nothing():
    line = Line()
    line.put(20)
    line.attach(20)
    for _ in range(10):
        line.now_ms += 100
        line.say(ack(20))
        assert events_of(line.hear()) == []


def test_events_that_are_acknowledged_can_be_read_again_on_an_idle_line():
    line = Line()
    line.put(100)
    line.attach(100)
    for _ in range(10):
        line.now_ms += 700
        line.say(ack(100))
        line.hear()
    line.say([messages.READ_EVENTS.number, 1, 31])
    heard = []
    for _ in range(10):
        heard += events_of(line.hear())
        line.now_ms += 300
    assert heard == list(range(31, 101))


def test_a_host_that_was_slow_still_gets_all_that_is_held():
    line = Line(ring=6)
    line.journal.may_overwrite = True
    line.put(5)
    line.attach()
    line.hear()
    line.put(300, 180)  # far more than there is room for, and no acknowledgement
    first = line.outbox.first_held
    assert first > WINDOW + 5
    heard, has = [], 0
    for _ in range(40):
        line.now_ms += 100
        heard += events_of(line.hear())
        if heard:
            has = heard[-1]
        line.say(ack(has))
    assert heard[-1:] == [305] and heard[0] >= first


def test_a_silent_host_is_gone_until_it_says_hello():
    line = Line()
    line.put(3)
    line.attach()
    line.now_ms += messages.SILENCE_MS
    assert line.hear() and line.link.attached
    line.now_ms += 1
    assert line.hear() == [] and not line.link.attached and not line.link.listening
    line.say(ack(3), [_STATUS, 1])
    line.now_ms += 1000
    assert line.hear() == [] and line.outbox.acked == 0 and line.device.done == []
    line.attach()
    assert events_of(line.hear()) == [1, 2, 3]


def test_a_host_that_is_heard_stays_and_gets_heartbeats():
    line = Line()
    line.attach()
    beats = []
    for _ in range(300):
        line.now_ms += 50
        line.say(ack(0))
        beats += [m[1] for m in line.hear() if m[0] == messages.HEARTBEAT.number]
    assert beats == [1000 + messages.HEARTBEAT_MS * n for n in range(1, 16)]


def test_a_repeated_command_is_done_once_and_answered_each_time():
    line = Line()
    line.attach()
    command = [messages.SET_CLOCK.number, 5, 123]
    first = [messages.REPLY.number, 5, 0, "number 1"]
    for _ in range(3):
        line.say(command)
        assert line.hear() == [first]
    line.say([messages.IDENTIFY.number, 6], command)
    assert [reply[1] for reply in line.hear()] == [6, 5]
    assert line.device.done[:2] == [("set_clock", [5, 123]), ("identify", [6])]


def test_a_new_session_may_use_the_same_command_number():
    line = Line()
    for count in (1, 2):
        line.attach()
        line.say([messages.IDENTIFY.number, 0])
        assert line.hear()[-1][3] == "number %d" % count


def test_answers_for_the_previous_session_are_not_sent_in_the_next():
    line = Line()
    line.attach()
    line.say([_STATUS, 1], HELLO)
    assert line.hear() == [WELCOME, GAME, CHALLENGE]


def test_while_the_chip_is_busy_no_event_goes_out_but_all_else_does():
    seed_random()
    line = Line(busy_polls=5)
    line.attach()
    heard, has, beats, answers = [], 0, 0, 0
    for _ in range(400):
        line.ledger.some()
        for _ in range(random.randrange(4)):
            line.journal.step(random.getrandbits(1) == 1)
            line.say([messages.STATUS.number, random.randrange(100)], ack(has))
            for message in messages_of(line.reader.feed(line.sent())):
                heard = heard[-100:] + events_of([message])
                beats += message[0] == messages.HEARTBEAT.number
                answers += message[0] == messages.REPLY.number
            while has + 1 in heard:
                has += 1
            line.now_ms += random.randrange(60)
    while line.journal.unwritten():
        line.journal.step()
    for _ in range(100):
        line.now_ms += 50
        line.say(ack(has))
        heard = heard[-100:] + events_of(messages_of(line.reader.feed(line.sent())))
        while has + 1 in heard:
            has += 1
    assert has == line.journal.durable == line.ledger.last() > 300
    assert beats > 5 and answers > 100


def test_answers_that_do_not_fit_into_one_piece_come_in_the_next():
    line = Line()
    line.attach()
    line.hear()
    long = [messages.PASS_SAMPLES.number, 1, 1, 0, bytes(messages.MAX_RUN_BYTES)]
    line.device.command = lambda shape, values: long[:1] + [values[0]] + long[2:]
    line.say(*[[_STATUS, number] for number in range(1, 20)])
    ids = [message[1] for message in line.hear() if message[0] == messages.PASS_SAMPLES.number]
    assert ids == list(range(1, len(ids) + 1)) and len(ids) >= 4
