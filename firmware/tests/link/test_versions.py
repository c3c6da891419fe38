"""The shoe's end of the link with hosts of other versions of the protocol."""

from firmware.tests.support.line import (
    CHALLENGE,
    GAME,
    WELCOME,
    Line,
    ack,
    events_of,
)
from sabot_firmware.link.link import STUCK_MS
from sabot_protocol import OLDEST, VERSION, cbor, messages

_STATUS = messages.STATUS.number


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
