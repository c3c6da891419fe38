"""Who may send commands: MACs over the link, with a host written independently."""

import hashlib
import random

from firmware.tests.support.line import GAME, HELLO, WELCOME, Line, ack, events_of, problems_of
from protocol.tests.helpers import random_bytes, seed_random, vectors
from sabot_firmware.link.answers import Refusal
from sabot_firmware.link.authentication import CommandGuard
from sabot_protocol import OLDEST, cbor, enums, messages
from sabot_protocol.chain import command_key

_KEY = bytes(range(100, 132))
_STATUS, _HEALTH = messages.STATUS.number, messages.HEALTH.number
_SIGNED = messages.SIGNED.number
_REFUSED = ("closed", "no_command", "wrong_mac")
_COMMANDS = [shape for shape in messages.TO_DEVICE if shape.by is not None]
_FITTING = {"uint": 1, "bytes": b"a"}


def _hmac(key, message):
    """HMAC, written from RFC 2104."""
    key = key + bytes(64 - len(key))
    inner = hashlib.sha256(bytes(octet ^ 0x36 for octet in key) + message).digest()
    return hashlib.sha256(bytes(octet ^ 0x5C for octet in key) + inner).digest()


def _encoded(message):
    buf = bytearray(512)
    return bytes(buf[: cbor.encode_into(buf, 0, message)])


class _Host:
    """The other end of the link: a host, or a stranger with another key."""

    def __init__(self, key=_KEY):
        self.line = Line(key=_KEY)
        self.line.put(5)
        self.key = key
        self.challenge = self.proof = b""
        self.session = 77
        self.hello()

    def hello(self, session=77):
        self.line.device.welcome = lambda session: [WELCOME, GAME]
        self.line.say([HELLO[0], HELLO[1], session])
        *_, challenge = self.line.hear()
        assert challenge[:2] == [messages.CHALLENGE.number, session]
        self.session = session
        self.challenge, self.proof = challenge[2:]

    def mac(self, label, content):
        """Return a MAC by README.md, "Who may ask"."""
        message = label + self.session.to_bytes(8, "big") + b"\x10" + self.challenge
        return _hmac(self.key, message + len(content).to_bytes(2, "big") + content)[:16]

    def signed(self, *message):
        command = _encoded(list(message))
        return [_SIGNED, message[1], command, self.mac(b"sabot host to shoe", command)]

    def ask(self, *message):
        """Send a command; return its refusal, "none" if it is done, and the detail."""
        self.line.say(list(message))
        answers = [message for message in self.line.hear() if message[0] == messages.REPLY.number]
        assert len(answers) == 1 and answers[0][1] == message[1], answers
        return enums.REFUSALS[answers[0][2]], answers[0][3]

    @property
    def done(self):
        """Return the names of the commands that the shoe carried out."""
        return [name for name, _ in self.line.device.done]


def test_the_command_key_is_that_of_the_definition():
    first_key = bytes(range(32))
    assert command_key(first_key) == hashlib.sha256(b"sabot command" + first_key).digest()


def test_a_challenge_is_16_bytes_and_new_in_each_session():
    host = _Host()
    seen = {host.challenge}
    for session in range(78, 98):
        host.hello(session)
        seen.add(host.challenge)
    assert len(seen) == 21 and {len(challenge) for challenge in seen} == {16}


def test_a_shoe_proves_with_its_answers_which_unit_it_is():
    seed_random()
    host = _Host()
    answers = _encoded(WELCOME) + _encoded(GAME)
    for session in (77, 0, (1 << 64) - 1, random.getrandbits(32) << 31):
        host.hello(session)
        assert host.proof == host.mac(b"sabot shoe to host", answers)


def test_a_proof_is_not_the_mac_of_a_command():
    host = _Host()
    command = _encoded([_STATUS, 5])
    proof = host.line.link._guard.proof(memoryview(command))
    assert host.ask(_SIGNED, 5, command, proof)[0] == "wrong_mac"
    assert host.done == []


def test_a_hello_of_a_version_that_is_not_spoken_any_more_ends_the_session():
    for other in (0, 1, OLDEST - 1):
        host = _Host()
        before = host.challenge
        assert host.ask(*host.signed(_STATUS, 5))[0] == "none"
        host.line.say([HELLO[0], other, 77])
        host.line.hear()
        host.hello()
        assert host.challenge != before
        host.line.say(ack(0))
        heard = host.line.hear()
        assert events_of(heard) == [] and problems_of(heard) == [("not_proven", 1)]
        assert host.ask(messages.READ_EVENTS.number, 6, 1)[0] == "not_proven"


def test_a_session_is_over_after_a_long_silence_although_nothing_was_to_be_sent():
    host = _Host()
    assert host.ask(*host.signed(_STATUS, 5))[0] == "none"
    host.line.now_ms += messages.SILENCE_MS + 1  # no turn of the shoe in between
    host.line.say(ack(0))
    assert events_of(host.line.hear()) == [] and not host.line.link.attached


def test_a_session_with_the_same_number_continues():
    host = _Host()
    before = host.challenge
    assert host.ask(*host.signed(_STATUS, 5))[0] == "none"
    host.hello()
    assert host.challenge == before
    assert host.ask(*host.signed(messages.IDENTIFY.number, 5))[0] == "replayed"
    assert host.ask(*host.signed(messages.IDENTIFY.number, 6))[0] == "none"


def test_a_session_that_was_silent_for_long_is_over_although_its_number_is_known():
    host = _Host()
    before = host.challenge
    assert host.ask(*host.signed(_STATUS, 5))[0] == "none"
    host.line.now_ms += messages.SILENCE_MS + 1
    host.line.hear()
    host.hello()
    assert host.challenge != before
    host.line.say(ack(0))
    assert events_of(host.line.hear()) == []


def test_a_stranger_may_ask_for_the_status_and_nothing_else():
    for shape in _COMMANDS:
        host = _Host(key=bytes(32))
        values = [_FITTING[kind] for _, kind in shape.fields]
        refusal, _ = host.ask(shape.number, *values)
        if shape.name in ("status", "health", "update_status"):
            assert refusal == "none" and host.done == [shape.name]
        else:
            assert refusal in ("not_signed", "not_proven") and host.done == [], shape.name


def test_a_stranger_gets_no_events_and_acknowledges_none():
    host = _Host()
    for number in (0, 3, 5):
        host.line.say(ack(number))
        heard = host.line.hear()
        assert events_of(heard) == [] and problems_of(heard)[0][0] == "not_proven"
    host.line.now_ms += 500
    assert events_of(host.line.hear()) == []
    assert host.line.outbox.acked == 0 and not host.line.link.listening


def test_one_signed_command_of_any_kind_proves_a_session_until_the_next():
    host = _Host()
    assert host.ask(*host.signed(_HEALTH, 1))[0] == "none"
    host.line.say(ack(0))
    assert events_of(host.line.hear()) == [1, 2, 3, 4, 5]
    assert host.ask(messages.READ_EVENTS.number, 2, 1)[0] == "none"
    assert host.ask(messages.RESTART.number, 3)[0] == "not_signed"
    host.hello(78)
    host.line.say(ack(5))
    assert host.line.outbox.acked == 0


def test_every_command_is_carried_out_once_it_is_signed():
    for shape in _COMMANDS:
        host = _Host()
        values = [_FITTING[kind] for _, kind in shape.fields]
        assert host.ask(*host.signed(shape.number, *values))[0] == "none"
        assert host.done == [shape.name]


def test_a_signed_command_is_done_once_and_answered_each_time():
    host = _Host()
    sent = host.signed(messages.IDENTIFY.number, 1)
    assert host.ask(*sent) == host.ask(*sent) == ("none", "number 1")
    assert host.done == ["identify"]


def test_nothing_can_be_replayed_in_this_session_or_another():
    host = _Host()
    first, second = host.signed(messages.IDENTIFY.number, 1), host.signed(_STATUS, 2)
    assert host.ask(*first)[0] == host.ask(*second)[0] == "none"
    assert host.ask(*first)[0] == "replayed"
    for session in (78, 77):
        host.hello(session)
        assert host.ask(*first)[0] == "wrong_mac"
        host.line.now_ms += 60000
    assert host.done == ["identify", "status"]


def _wait(host):
    """Wait until MACs are checked again. The host goes on speaking, so that the session lasts."""
    for _ in range(7):
        host.line.now_ms += 3000
        host.line.say(ack(0))
        host.line.hear()


def test_a_command_with_any_bit_changed_is_not_carried_out():
    seed_random()
    host = _Host()
    good = host.signed(messages.SET_CLOCK.number, 9, 1764000067000)
    for part in (2, 3):
        for place in range(len(good[part])):
            spoiled = bytearray(good[part])
            spoiled[place] ^= 1 << random_bytes(1)[0] % 8
            changed = list(good)
            changed[part] = bytes(spoiled)
            assert host.ask(*changed)[0] in _REFUSED
            _wait(host)
    assert host.done == []
    for changed in (
        good[:1] + [10] + good[2:],
        good[:3] + [good[3][:15]],
        good[:3] + [good[3] + b"\0"],
        good[:3] + [b""],
        good[:2] + [b"", good[3]],
    ):
        assert host.ask(*changed)[0] in _REFUSED
        _wait(host)
    assert host.done == []
    assert host.ask(*host.signed(messages.SET_CLOCK.number, 11, 1764000067000))[0] == "none"


def test_a_signed_message_that_is_not_a_command_is_refused():
    host = _Host()
    inner = host.signed(_STATUS, 2)
    for number, message in enumerate((HELLO, ack(3), inner, [999, 1], [_STATUS], [_STATUS, "1"])):
        command = _encoded(message)
        mac = host.mac(b"sabot host to shoe", command)
        assert host.ask(_SIGNED, 10 + number, command, mac)[0] == "no_command"
    assert host.done == []
    assert host.line.link.attached


def test_wrong_macs_are_counted_and_slowed_down_up_to_16_s():
    host = _Host()
    stranger = _SIGNED, 1, _encoded([_STATUS, 1]), bytes(16)
    waited = []
    for count in range(1, 8):
        assert host.ask(*stranger)[0] == "wrong_mac"
        assert host.line.link._guard.wrong == count
        begin_ms = host.line.now_ms
        # Meanwhile no MAC is checked, and nothing is counted.
        refusal, wait_s = host.ask(*host.signed(_STATUS, 1))
        assert refusal == "closed" and 0 < int(wait_s) <= 17
        while host.ask(*stranger)[0] == "closed":
            host.line.now_ms += 100
            if host.line.now_ms - begin_ms > 100000:
                raise AssertionError("closed for ever")
            if host.line.link._guard._closed_until_ms <= host.line.now_ms:
                break
        waited.append(host.line.now_ms - begin_ms)
        assert host.line.link._guard.wrong == count
    assert waited == [1000, 2000, 4000, 8000, 16000, 16000, 16000]
    assert host.ask(*host.signed(messages.IDENTIFY.number, 1))[0] == "none"
    assert host.ask(_SIGNED, 2, _encoded([_STATUS, 2]), bytes(16))[0] == "wrong_mac"
    begin_ms = host.line.now_ms
    host.line.now_ms = begin_ms + 1000
    assert host.ask(*host.signed(messages.IDENTIFY.number, 2))[0] == "none"


def test_the_refusal_to_a_stranger_is_not_the_answer_to_the_host():
    host = _Host()
    assert host.ask(messages.IDENTIFY.number, 1)[0] == "not_signed"
    assert host.ask(*host.signed(messages.IDENTIFY.number, 1))[0] == "none"


def test_a_unit_without_a_key_takes_all_commands_and_no_macs():
    guard = CommandGuard(None)
    guard.begin(5)
    assert guard.challenge == b"" and guard.proven
    for shape in _COMMANDS:
        guard.allow(shape)
    try:
        guard.allow_signed(1, b"a", bytes(16), 0)
    except Refusal as refused:
        assert refused.reason == "not_a_unit"
    else:
        raise AssertionError("a MAC without a key")


def test_the_macs_of_the_golden_vectors_are_made_and_taken():
    document = vectors("sessions")
    for given in document["sessions"]:
        given = {name: bytes.fromhex(given[name]) for name in given}
        taken = _Taken(given["challenge"])
        guard = CommandGuard(bytes.fromhex(document["command_key"]), taken.take)
        guard.begin(int.from_bytes(given["session"], "big"))
        assert taken.labels == [b"challenge"]
        assert guard.challenge == given["challenge"]
        answers = given["welcome"] + given["firmware"] + given["game"]
        assert guard.proof(memoryview(answers)) == given["proof"]
        command_id = cbor.decode(given["command"], 0, len(given["command"]))[1]
        guard.allow_signed(command_id, given["command"], given["mac"], 0)
        assert guard.proven


class _Taken:
    """Gives random bytes that are known; `labels` are the uses that they were taken for."""

    def __init__(self, octets):
        self._octets = octets
        self.labels = []

    def take(self, label, size):
        assert size == len(self._octets)
        self.labels.append(label)
        return self._octets
