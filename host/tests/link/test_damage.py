"""What damages frames is named from the frames that break."""

import random

import pytest

from host.tests.support.device_server import (
    Change,
    instead,
    same,
    seven_bits,
    without,
)
from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import NaiveShoe, fake_mac
from sabot.link import damage
from sabot.link.damage import Cause, Damage
from sabot_protocol import messages


def frames(seed: int, count: int = 60) -> list[bytes]:
    """The frames of a shoe that attaches a host, and sends the same events again and again."""
    rng = random.Random(seed)
    shoe = NaiveShoe(1)
    made = shoe.introduction(rng.getrandbits(64))
    for number in range(count):
        record = rng.randbytes(rng.randrange(20, 60))
        made.append(framed(messages.EVENT, record=record, mac=fake_mac(record)))
        if number % 5 == 0:
            held = {"first_held": 1, "last_held": rng.randrange(2, 9000)}
            made.append(framed(messages.HEARTBEAT, t_ms=rng.getrandbits(24), **held))
    return made


def telnet(data: bytes) -> bytes:
    return data.replace(b"\xff", b"\xff\xff")


SETTINGS: dict[str, tuple[Change, Cause]] = {
    "telnet": (telnet, damage.TELNET),
    "telnet of a terminal": (
        lambda data: telnet(data).replace(b"\r", b"\r\0"),
        damage.LINE_ENDS,
    ),
    "xon/xoff": (without(0x11, 0x13), damage.XON_XOFF),
    "0x0A becomes 0x0D 0x0A": (instead(b"\n", b"\r\n"), damage.LINE_ENDS),
    "0x0D becomes 0x0A": (instead(b"\r", b"\n"), damage.LINE_ENDS),
    "0x0A becomes 0x0D": (instead(b"\n", b"\r"), damage.LINE_ENDS),
    "0x0D becomes 0x0D 0x0A": (instead(b"\r", b"\r\n"), damage.LINE_ENDS),
    "0x0D is ignored": (without(0x0D), damage.LINE_ENDS),
    "7 data bits": (seven_bits, damage.SEVEN_BITS),
    "0x1D is an escape": (without(0x1D), damage._missing(0x1D)),
    "0x03 ends a program": (without(0x03), damage._missing(0x03)),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_setting_is_named(setting: str, seed: int) -> None:
    change, cause = SETTINGS[setting]
    watched = Damage()
    watched.feed(change(b"".join(frames(seed))))
    assert watched.any and watched.cause() == cause


@pytest.mark.parametrize("seed", range(5))
def test_the_introduction_alone_names_telnet_and_missing_bytes_if_it_is_damaged(seed: int) -> None:
    for change, cause in (SETTINGS["telnet"], SETTINGS["xon/xoff"]):
        shoe, watched = NaiveShoe(1), Damage()
        for attempt in range(20):
            watched.feed(change(b"".join(shoe.introduction(1000 * seed + attempt))))
        assert not watched.any or watched.cause() == cause


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [37, 62, 64])
def test_half_of_the_bytes_is_named(size: int, seed: int) -> None:
    """A second client of the device server gets each second piece. The shoe sends its events
    again, because it gets no acknowledgement."""
    rng, watched = random.Random(seed), Damage()
    sent = frames(seed, 24)
    for _ in range(4):
        data, at = b"".join(sent), 0
        while at < len(data):
            piece = rng.randrange(1, 2 * size)
            if rng.random() < 0.5:
                watched.feed(data[at : at + piece])
            at += piece
    assert watched.cause() == damage.PARTS


@pytest.mark.parametrize("seed", range(5))
def test_random_damage_has_no_name(seed: int) -> None:
    rng, watched = random.Random(seed), Damage()
    for each in frames(seed):
        at = rng.randrange(len(each) - 1)
        changed = each[at] ^ 1 << rng.randrange(8)
        watched.feed(each[:at] + bytes([changed]) + each[at + 1 :] if rng.random() < 0.3 else each)
    assert watched.cause() == damage.UNKNOWN


def test_garbage_has_no_name_and_whole_frames_are_no_damage() -> None:
    watched = Damage()
    assert not watched.any and watched.cause() == damage.UNKNOWN
    watched.feed(same(b"".join(frames(1))))
    assert not watched.any
    watched.feed(random.Random(1).randbytes(3000))
    assert watched.any and watched.cause() == damage.UNKNOWN


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Port already in use\r\n", "Port already in use"),
        (b"\xff\xfb\x03\xff\xfb\x01busy\r\n\r\nwith 10.0.0.7", "busy with 10.0.0.7"),
        (b"\x1b[2Jbusy", ""),
        (b"busy\0", ""),
        (b"", ""),
    ],
)
def test_text_is_one_printable_line(data: bytes, said: str) -> None:
    watched = Damage()
    watched.feed(data)
    assert watched.said() == said
