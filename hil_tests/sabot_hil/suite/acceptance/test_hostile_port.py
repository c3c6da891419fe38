import random
from pathlib import Path

import pytest

from sabot.link import wire
from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.logbook import Logbook
from sabot_hil.kit.waiting import seconds_of, wait_until
from sabot_protocol import VERSION, cbor, frame, messages
from sabot_protocol.schema import Shape

_FLOOD_BYTES = 400_000
_FLOOD_BYTES_EMULATED = 40_000  # four seconds of a Pico's time, half a minute of real time
_AT_ONCE = 1024  # a port takes that much within its time-out even if the shoe is slow
_ANSWER_S = 10.0


def _send(target: Target, data: bytes) -> None:
    """Write all of `data` to the port, as a host that never reads."""
    line = target.shoe.line()
    for at in range(0, len(data), _AT_ONCE):
        line.write(data[at : at + _AT_ONCE])
    target.shoe.detach()


def _framed(payload: bytes) -> bytes:
    body = bytearray(payload) + bytes(frame.CRC_SIZE)
    out = bytearray(2 * len(body) + 8)
    return bytes(out[: frame.write_frame(body, len(payload), out, 0)])


def _hostile(kind: str, seed: int, size: int) -> bytes:
    """Return hostile bytes of one kind; the long kinds have about `size` bytes."""
    chance = random.Random(seed)
    if kind == "garbage":
        return chance.randbytes(size)
    if kind == "oversize frames":
        return b"\0".join([b"\x01" * 5000, b"\xff" * (size // 4), b"\x42" * 600]) + b"\0"
    if kind == "a frame without an end":
        return b"\x55" * size
    if kind == "zeros":
        return bytes(size)
    if kind == "a flood of hellos":
        return wire.frame_of(messages.HELLO, VERSION, 1) * (size // 80)
    if kind == "acknowledgements of events that never were":
        return wire.frame_of(messages.HELLO, VERSION, 1) + b"".join(
            wire.frame_of(messages.ACK, number) for number in (10**6, 2**32, 2**64 - 1)
        )
    deep = bytes([0x81]) * 400 + b"\x00"
    bodies = [deep, b"\x9b" + b"\xff" * 8, b"\xbb" + b"\x7f" * 8, b"\x5a\xff\xff\xff\xff", b"\xa0"]
    assert kind == "good frames around bad messages"
    hello = wire.frame_of(messages.HELLO, VERSION, 1)
    return hello + b"".join(_framed(body) for body in bodies) * 50


@pytest.mark.parametrize(
    "kind",
    [
        "garbage",
        "oversize frames",
        "a frame without an end",
        "zeros",
        "a flood of hellos",
        "acknowledgements of events that never were",
        "good frames around bad messages",
    ],
)
def test_a_hostile_port_does_not_stop_the_dealing(
    target: Target, tmp_path: Path, seed: int, kind: str
) -> None:
    dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(seed))
    dealing.load()
    dealing.deal_round()
    size = _FLOOD_BYTES_EMULATED if target.clock.emulated else _FLOOD_BYTES
    _send(target, _hostile(kind, seed, size))
    dealing.deal_round()
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        dealing.deal_round()
        book.wait_for_rounds(target.shoe.unit, 3)
        book.check(target.shoe.unit, dealing.hands)


def _answer(target: Target, sent: bytes, wanted: Shape) -> wire.Message:
    """Write `sent` to the port and return the first message of shape `wanted` that comes back."""
    line, frames = target.shoe.line(), frame.FrameReader()
    line.write(sent)
    answers: list[wire.Message] = []

    def read() -> None:
        answers.extend(map(wire.parse_message, frames.feed(line.read(0.1))))

    def found() -> list[wire.Message]:
        return [each for each in answers if each.shape.number == wanted.number]

    assert wait_until(found, _ANSWER_S, read, seconds_of(target.clock)), answers
    target.shoe.detach()
    return found()[0]


def test_bad_messages_are_answered_with_a_problem_once_attached(target: Target) -> None:
    payload = bytearray(64)
    size = cbor.encode_into(payload, 0, [messages.ACK.number, "not a number"])
    hello = wire.frame_of(messages.HELLO, VERSION, 7)
    _answer(target, hello + _framed(bytes(payload[:size])), messages.PROBLEM)


def test_another_protocol_version_is_refused_with_both_versions_named(target: Target) -> None:
    hello = wire.frame_of(messages.HELLO, VERSION + 7, 1)
    answer = _answer(target, hello, messages.WRONG_VERSION)
    assert answer.fields == {"protocol": VERSION, "asked": VERSION + 7}


def test_nothing_is_sent_before_a_host_says_hello(target: Target) -> None:
    dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(1))
    dealing.load()
    dealing.deal_round()
    line = target.shoe.line()
    line.write(wire.frame_of(messages.ACK, 0) + wire.frame_of(messages.STATUS, 1))
    assert line.read(1.5) == b""
    target.shoe.detach()
