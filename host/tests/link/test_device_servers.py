"""A shoe behind a device server: what works, and what is said of each wrong setting."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from host.tests.support.device_server import (
    Change,
    DeviceServer,
    instead,
    same,
    seven_bits,
    without,
)
from host.tests.support.naive_shoe import KEYS, NaiveShoe
from sabot.errors import LineDamaged, NoShoe, PortNotFound, SabotError
from sabot.link import client as client_module
from sabot.link import damage
from sabot.link.client import Client
from sabot.link.damage import Cause
from sabot.link.ports import Port

pytestmark = pytest.mark.slow

_HURRY_S = 0.1
_TIMEOUT_S = 30.0
_EVENTS = 300
_DAMAGED = 30
_SOON = "?timeout=0.3"  # seconds, of pyserial


@pytest.fixture(autouse=True)
def _the_same_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is damaged does not depend on a random number."""
    monkeypatch.setattr(client_module.secrets, "randbits", lambda bits: 0x0123456789ABCDEF)


@contextmanager
def served(
    speaks: str = "raw", *, to_host: Change = same, to_shoe: Change = same, hosts: int = 1
) -> Iterator[DeviceServer]:
    """A shoe with events behind a device server."""
    shoe = NaiveShoe(1)
    shoe.record(_EVENTS)
    with DeviceServer(shoe, speaks, to_host=to_host, to_shoe=to_shoe, hosts=hosts) as server:
        yield server


def refusal(url: str, kind: type[SabotError]) -> str:
    """What is said, in one line, instead of attaching."""
    with pytest.raises(SabotError) as raised, Port(url) as port:
        Client(port, _HURRY_S)
    assert type(raised.value) is kind
    text = str(raised.value)
    assert "\n" not in text and text.startswith(f"{url}: ")
    return text


def said_of(port: Port) -> str:
    """What is said of a line after many damaged frames: of a session, or instead of one."""
    try:
        client = Client(port, _HURRY_S, keys=KEYS)
        client.begin(1)
        until_s = time.monotonic() + _TIMEOUT_S
        while client.damaged[0] < _DAMAGED and time.monotonic() < until_s:
            client.receive(0.05)
            client.acknowledge()
        text = client.damage_text()
        assert text.startswith(f"{client.damaged[0]} frames were damaged: ")
    except SabotError as error:
        text = str(error)
    return text


@pytest.mark.parametrize("speaks", ["raw", "rfc2217"])
def test_every_event_comes_through_raw_tcp_and_rfc_2217(speaks: str) -> None:
    with served(speaks) as server, Port(server.url) as port:
        client, numbers = Client(port, keys=KEYS), []
        client.begin(1)
        until_s = time.monotonic() + _TIMEOUT_S
        while len(numbers) < _EVENTS and time.monotonic() < until_s:
            numbers += [record.event.number for record in client.receive(0.25).records]
            client.acknowledge()
        assert numbers == [*range(1, _EVENTS + 1)]
        assert client.damaged == (0, 0) and client.damage_text() == ""


@pytest.mark.parametrize(
    ("to_host", "cause"),
    [
        (seven_bits, damage.SEVEN_BITS),
        (without(0x55), damage._missing(0x55)),
        (instead(b"U", b"U\r\n"), damage.UNKNOWN),
    ],
)
def test_a_setting_that_lets_no_introduction_pass_is_named(to_host: Change, cause: Cause) -> None:
    """The id of the naive shoe is U1, and U is 0x55."""
    with served(to_host=to_host) as server:
        text = refusal(server.url, LineDamaged)
    assert f"something answers, but its frames are damaged: {cause}" in text
    assert "power" not in text and "cable" not in text


@pytest.mark.parametrize(
    ("speaks", "to_host", "cause"),
    [
        ("telnet", same, damage.TELNET),
        ("raw", without(0x11, 0x13), damage.XON_XOFF),
        ("raw", instead(b"\n", b"\r\n"), damage.LINE_ENDS),
        ("raw", instead(b"\r", b"\n"), damage.LINE_ENDS),
    ],
)
def test_a_setting_that_lets_some_frames_pass_is_named(
    speaks: str, to_host: Change, cause: Cause
) -> None:
    with served(speaks, to_host=to_host) as server, Port(server.url) as port:
        assert str(cause) in said_of(port)


def test_nothing_of_the_host_arriving_is_not_said_to_be_the_power() -> None:
    with served(to_shoe=without(*range(0x80, 0x100))) as server:
        text = refusal(server.url, NoShoe)
    assert "of a device server check the settings too" in text


def test_a_second_host_that_gets_the_other_half_is_named() -> None:
    with served(hosts=2) as server, Port(server.url), Port(server.url) as port:
        assert str(damage.PARTS) in said_of(port)


def test_what_a_server_says_before_it_closes_is_shown() -> None:
    with served() as server, Port(server.url):
        text = refusal(server.url, NoShoe)
        through_rfc2217 = refusal(server.url.replace("socket://", "rfc2217://") + _SOON, NoShoe)
    for said in (text, through_rfc2217):
        assert "the device server says 'Port already in use' and closes the connection" in said


def test_a_server_that_does_not_speak_rfc_2217_is_told_from_one_that_is_not_there() -> None:
    with served() as server:
        url = server.url.replace("socket://", "rfc2217://") + _SOON
        with pytest.raises(PortNotFound, match=r"does not speak RFC 2217; .*socket://"):
            Port(url)
