"""The shoe's end of the link where the line or the host is bad; the tests set the time."""

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
from sabot_protocol import OLDEST, frame, messages

_STATUS = messages.STATUS.number


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


def test_an_error_right_after_hello_is_reported_too():
    line = Line()
    line.say(HELLO, ["nonsense"])
    heard = line.hear()
    assert heard[:3] == [WELCOME, GAME, CHALLENGE]
    assert problems_of(heard) == [("not_a_message", 1)]
