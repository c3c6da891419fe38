"""A naive host at the other end of the shoe's link, for the tests of the link."""

import os

from firmware.tests.fakes.fake_flash import RING, new_chip
from firmware.tests.support.ledger import Ledger
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.randomness import Pool
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_protocol import VERSION, cbor, enums, frame, messages

_SHAPES = {shape.number: shape for shape in messages.TO_HOST}
WELCOME = [messages.WELCOME.number, 77, VERSION, "SHOE-7", 3, 0, 1, 5, 512]
GAME = [messages.GAME.number, 77, "mini", bytes(32)]
CHALLENGE = [messages.CHALLENGE.number, 77, b"", b""]
HELLO = [messages.HELLO.number, VERSION, 77]


class _Device:
    """The rest of the shoe: records the commands that it gets."""

    def __init__(self, outbox):
        self.outbox = outbox
        self.done = []
        self.acknowledgements = 0

    def welcome(self, session):
        assert session == 77
        return [WELCOME, GAME]

    def heartbeat(self, now_ms):
        outbox = self.outbox
        last = outbox.next_number - 1
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, outbox.first_held, last]

    def command(self, shape, values):
        self.done.append((shape.name, values))
        if shape is messages.READ_EVENTS:
            assert self.outbox.seek(values[1])
        return [messages.REPLY.number, values[0], 0, "number %d" % len(self.done)]

    def acknowledged(self):
        self.acknowledgements += 1


class Line:
    """A link with its outbox, and what the host sees of both."""

    def __init__(self, ring=RING, busy_polls=0, key=None):
        self.ledger = Ledger(new_chip(ring, busy_polls))
        self.journal = self.ledger.journal
        self.outbox = Outbox(self.journal, 0)
        self.device = _Device(self.outbox)
        self.link = Link(self.outbox, self.device, CommandGuard(key, Pool(os.urandom(32)).take))
        self.reader = frame.FrameReader()
        self.now_ms = 1000

    def put(self, count=1, size=20):
        """Put this many events and write them to flash."""
        for _ in range(count):
            self.ledger.event(size)
            self.ledger.drain()

    def say(self, *sent):
        for message in sent:
            self.link.feed(frame_of(message), self.now_ms)

    def sent(self):
        """Return the bytes that the shoe sends now."""
        size = self.link.fill(self.now_ms)
        assert size <= len(self.link.out)
        return bytes(self.link.out[:size])

    def hear(self):
        """Return the messages that the shoe sends until it has no more for now."""
        heard = []
        for _ in range(100):
            data = self.sent()
            if not data:
                return heard
            heard += messages_of(self.reader.feed(data))
            assert self.reader.damaged == self.reader.oversize == 0
        raise AssertionError("the shoe sends without end")

    def attach(self, has=0):
        self.say(HELLO)
        assert self.hear() == [WELCOME, GAME, CHALLENGE]
        self.say(ack(has))


def frame_of(message):
    payload = bytearray(frame.MAX_FRAME)
    out = bytearray(2 * frame.MAX_FRAME)
    size = cbor.encode_into(payload, 0, message)
    return bytes(out[: frame.write_frame(payload, size, out, 0)])


def messages_of(payloads):
    heard = [cbor.decode(payload, 0, len(payload)) for payload in payloads]
    for message in heard:
        _SHAPES[message[0]].check(message[1:])
    return heard


def ack(number):
    return [messages.ACK.number, number]


def events_of(heard):
    """Return the numbers of the events among the messages."""
    records = [message[1] for message in heard if message[0] == messages.EVENT.number]
    return [int.from_bytes(record[:4], "big") for record in records]


def problems_of(heard):
    return [
        (enums.PROBLEMS[message[1]], message[2])
        for message in heard
        if message[0] == messages.PROBLEM.number
    ]
