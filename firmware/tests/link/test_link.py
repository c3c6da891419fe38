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
    frame_of,
    messages_of,
    problems_of,
)
from protocol.tests.helpers import memory_in_use, random_bytes, seed_random
from sabot_firmware.link.link import RESEND_MS, REWIND_PAUSE_MS, STUCK_MS, WINDOW
from sabot_protocol import OLDEST, VERSION, cbor, frame, messages

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


def test_every_version_from_the_oldest_on_is_spoken_up_to_the_newest_of_the_shoe():
    for version in (OLDEST, VERSION, VERSION + 1, 1 << 40):
        line = Line()
        line.put(10)
        line.say([messages.HELLO.number, version, 77])
        assert line.hear() == [WELCOME, GAME, CHALLENGE], "welcome names the newest of the shoe"
        assert line.link.version == min(version, VERSION)
        line.say(ack(0))
        assert events_of(line.hear()) == list(range(1, 11)), version


def test_a_session_has_the_version_of_the_last_hello():
    line = Line()
    for version in (VERSION, OLDEST, VERSION):
        line.say([messages.HELLO.number, version, 77])
        assert line.link.version == version


def test_a_host_of_version_10_gets_only_the_fields_of_version_10():
    messages.GROWN[messages.REPLY.number] = 2
    try:
        for version, fields in ((OLDEST, [7, 0]), (VERSION, [7, 0, "number 1"])):
            line = Line()
            line.say([messages.HELLO.number, version, 77], [_STATUS, 7])
            payload = list(line.reader.feed(line.sent()))[-1]
            sent = cbor.decode(payload, 0, len(payload))
            assert sent == [messages.REPLY.number] + fields
    finally:
        del messages.GROWN[messages.REPLY.number]


def test_a_host_of_version_10_gets_a_word_that_it_knows_in_place_of_a_later_one():
    line = Line(key=bytes(32))
    (reset_cause, phase, error), known = (97, 98, 99), (4, 6, 9)
    line.device.welcome = lambda session: [WELCOME[:5] + [reset_cause] + WELCOME[6:], GAME]
    line.device.heartbeat = lambda now_ms: [messages.HEARTBEAT.number, 0, phase, error, 0, 0, 1, 0]
    for version, words in ((VERSION, (reset_cause, phase, error)), (OLDEST, known)):
        line.say([messages.HELLO.number, version, 77])
        payloads = list(line.reader.feed(line.sent()))
        line.now_ms += 1000
        payloads += list(line.reader.feed(line.sent()))
        said = [cbor.decode(payload, 0, len(payload)) for payload in payloads]
        assert (said[0][5], said[-1][2], said[-1][3]) == words
        answers = b"".join([bytes(payload) for payload in payloads[:2]])
        assert said[2][3] == line.link._guard.proof(memoryview(answers)), "of what was sent"


def _heard_while_it_asks(line, wait_ms, number=0):
    """Return the last messages of a shoe to a host that has events up to `number` and asks for
    more. A shoe that sends the host away says nothing after that."""
    heard = []
    for _ in range(0, wait_ms, 500):
        line.now_ms += 500
        line.say(ack(number))
        heard = (heard + line.hear())[-5:]
    return heard


def test_a_host_of_version_10_that_never_takes_the_next_event_is_sent_wrong_version():
    line = Line()
    line.put(3)
    line.say([messages.HELLO.number, OLDEST, 77], ack(1))
    refused = [messages.WRONG_VERSION.number, VERSION, OLDEST]
    assert refused not in _heard_while_it_asks(line, STUCK_MS, 1)
    heard = _heard_while_it_asks(line, 1000, 1)
    assert heard[-1] == refused and not line.link.attached
    line.say([messages.HELLO.number, OLDEST, 77], ack(0))
    assert events_of(line.hear()) == [1, 2, 3], "nothing is lost, and it may try again"


def test_a_later_host_or_one_that_takes_events_is_never_sent_away():
    for version, takes in ((VERSION, False), (OLDEST, True)):
        line = Line()
        line.put(200)
        line.say([messages.HELLO.number, version, 77], ack(0))
        for number in range(1, 5):
            heard = _heard_while_it_asks(line, STUCK_MS - 1000, number if takes else 0)
            assert messages.WRONG_VERSION.number not in [each[0] for each in heard]
    line.say(ack(200))
    _heard_while_it_asks(line, 2 * STUCK_MS, 200)
    line.put()
    assert events_of(_heard_while_it_asks(line, 1000, 200))[-1] == 201, "it had them all"


def test_a_host_of_a_version_that_is_not_spoken_gets_wrong_version_and_nothing_more():
    for version in (0, 1, OLDEST - 1):
        line = Line()
        line.put(10)
        hello = [messages.HELLO.number, version, 77]
        line.say(hello)
        assert line.hear() == [[messages.WRONG_VERSION.number, VERSION, version]]
        line.say(ack(0), [_STATUS, 1])
        line.now_ms += 2000
        assert line.hear() == [] and not line.link.attached
        line.attach()
        assert events_of(line.hear()) == list(range(1, 11))
        line.say(hello)  # another host: the previous one is gone
        line.put(5)
        assert line.hear() == [[messages.WRONG_VERSION.number, VERSION, version]], version


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


def test_a_payload_that_is_not_a_message_is_a_problem_and_changes_nothing():
    line = Line()
    line.put(10)
    line.attach()
    line.hear()
    count = 0
    for sent in (
        5, "text", b"", b"\x02\x05", b"\x10\x01\x01", {}, {"a": 1}, [], [None], [True, 1, 77],
        [[2], 5], ["2", 5], [2], [2, 5, 5], [2, "5"], [2, -5], [2, None], [2, b"5"], [2, True],
        [999, 1], [16, 1], [20, 1, "game"], [messages.WELCOME.number, 1], [-2, 5],
    ):  # fmt: skip
        count += 1
        line.say(sent)
        assert problems_of(line.hear()) == [("not_a_message", count)], sent
        assert line.outbox.acked == 0 and line.device.done == [] and line.link.attached, sent
    assert line.link.dropped == count


def test_an_ack_of_a_number_not_given_yet_is_a_problem():
    line = Line()
    line.put(10)
    line.attach()
    line.hear()
    for number in (11, 1 << 40):
        line.say(ack(number))
        assert [problem[0] for problem in problems_of(line.hear())] == ["not_a_message"], number
        assert line.outbox.acked == 0
    line.say(HELLO, ack(11))  # the first one too
    assert [problem[0] for problem in problems_of(line.hear())] == ["not_a_message"]


def test_damaged_and_oversize_frames_are_counted_and_reported():
    line = Line()
    line.attach()
    line.hear()
    line.link.feed(b"\5ab\0", line.now_ms)
    assert problems_of(line.hear()) == [("damaged", 1)]
    line.link.feed(b"\xff" * 5000, line.now_ms)
    line.link.feed(b"\xff" * 5000 + b"\0", line.now_ms)
    assert problems_of(line.hear()) == [("oversize", 1)]
    assert line.link.dropped == 2
    line.say([_STATUS, 1])
    assert len(line.hear()) == 1, "synchronized again after the zero"


def test_garbage_takes_no_memory_and_the_link_continues():
    seed_random()
    line = Line()
    line.put(5)
    line.attach()
    line.hear()
    before = memory_in_use()
    for _ in range(300):
        line.link.feed(random_bytes(random.randrange(200)), line.now_ms)
        if not random.randrange(5):
            line.link.feed(frame_of(random_bytes(random.randrange(30))), line.now_ms)
    line.hear()
    assert memory_in_use() - before < 4000
    line.link.feed(b"\0", line.now_ms)
    line.say([_STATUS, 9])
    assert [messages.REPLY.number, 9] in [message[:2] for message in line.hear()]


def test_a_flood_is_answered_in_part_and_takes_no_memory():
    for message in (
        [_STATUS, 1], HELLO, [messages.HELLO.number, OLDEST - 1, 9], ["nonsense"], ack(99),
    ):  # fmt: skip
        line = Line()
        line.attach()
        line.hear()
        data = frame_of(message) * 50
        before = memory_in_use()
        for _ in range(20):
            line.link.feed(data, line.now_ms)
        assert memory_in_use() - before < 3000, message
        assert 1 <= len(line.hear()) <= 5, message
        assert len(line.device.done) <= 1


def _spoiled(data):
    """Return the bytes after a bad line: one in twenty is flipped, dropped, or one is added."""
    out = bytearray()
    for octet in data:
        luck = random.getrandbits(12)
        if luck >= 4096 // 20:
            out.append(octet)
        elif luck % 3:
            out.append(octet ^ 1 << random.randrange(8))
            if luck % 3 == 1:
                out.append(random.getrandbits(8))
    return bytes(out)


def test_over_a_bad_line_every_event_comes_once_and_every_command_is_done_once():
    seed_random()
    line = Line()
    line.put(60)
    reader = frame.FrameReader()
    early, has, command, answered = {}, 0, 1, 0
    for step in range(4000):
        if step % 8 == 0:
            if not line.link.attached:
                line.link.feed(_spoiled(frame_of(HELLO)), line.now_ms)
            line.link.feed(_spoiled(frame_of(ack(has))), line.now_ms)
            line.link.feed(_spoiled(frame_of([_STATUS, command])), line.now_ms)
        line.now_ms += 10
        for message in messages_of(reader.feed(_spoiled(line.sent()))):
            if message[0] == messages.EVENT.number:
                number = events_of([message])[0]
                assert early.get(number, message) == message
                early[number] = message
            elif message[0] == messages.REPLY.number and message[1] == command:
                answered += 1
                command += 1
        while has + 1 in early:
            has += 1
        if step == 100:
            line.put(60)
        if has == 120 and answered > 5:
            break
    assert has == 120 and sorted(early) == list(range(1, 121)), (has, step)
    ids = [values[0] for _, values in line.device.done]
    assert ids[:5] == [1, 2, 3, 4, 5] and ids == sorted(set(ids)), ids


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


def test_an_error_right_after_hello_is_reported_too():
    line = Line()
    line.say(HELLO, ["nonsense"])
    heard = line.hear()
    assert heard[:3] == [WELCOME, GAME, CHALLENGE]
    assert problems_of(heard) == [("not_a_message", 1)]


def test_answers_that_do_not_fit_into_one_piece_come_in_the_next():
    line = Line()
    line.attach()
    line.hear()
    long = [messages.PASS_SAMPLES.number, 1, 1, 0, bytes(messages.MAX_RUN_BYTES)]
    line.device.command = lambda shape, values: long[:1] + [values[0]] + long[2:]
    line.say(*[[_STATUS, number] for number in range(1, 20)])
    ids = [message[1] for message in line.hear() if message[0] == messages.PASS_SAMPLES.number]
    assert ids == list(range(1, len(ids) + 1)) and len(ids) >= 4
