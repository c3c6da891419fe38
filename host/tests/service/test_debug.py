"""A debug session: who gets MicroPython's prompt on a shoe, and which events record it."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mpremote.transport_serial import SerialTransport

from sabot.errors import CommandRefused, KeysUnusable
from sabot.keys import signing
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import DebugCommand, StatusCommand
from sabot.link.ports import Port
from sabot.release import layout
from sabot.service.debug import open_prompt
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import releases

pytestmark = pytest.mark.slow


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[SimulatedShoe]:
    """A shoe that runs from a slot, with power."""
    files = layout.contents(releases.compiled("sim"), signing.public_of(releases.HOUSE))
    with SimulatedShoe("DEBUG-1", state=tmp_path / "board", files=files) as simulated:
        simulated.power_on()
        yield simulated


def _open_prompt(shoe: SimulatedShoe, keys: CommandKeyFile | None = None) -> None:
    assert open_prompt(shoe.unit, shoe.port, keys or CommandKeyFile()) == shoe.unit


def _kinds(shoe: SimulatedShoe) -> list[str]:
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        kinds: list[str] = []
        last = client.welcome.last_held
        deadline = time.monotonic() + 100
        while len(kinds) < last and time.monotonic() < deadline:
            kinds += [record.event.kind for record in client.receive(0.1).records]
    return kinds


def _service(shoe: SimulatedShoe) -> None:
    shoe.bench.switch("lid_open", True)
    shoe.bench.switch("service_on", True)
    shoe.bench.settle()


def test_the_prompt_lasts_until_the_next_start_and_is_an_event_in_the_chain(
    shoe: SimulatedShoe,
) -> None:
    _service(shoe)
    _open_prompt(shoe)
    with closing(SerialTransport(shoe.port)) as transport:
        transport.enter_raw_repl(soft_reset=False)
        assert transport.eval("6 * 7") == 42
        assert "debug" not in transport.eval("__import__('os').listdir('/state')")
    shoe.power_off()
    shoe.bench.switch("service_on", False)
    shoe.bench.switch("lid_open", False)
    shoe.power_on()
    kinds = _kinds(shoe)
    assert kinds.count("debug_opened") == 1 and kinds.count("boot") == 2
    assert kinds.index("debug_opened") < len(kinds) - 1 - kinds[::-1].index("boot")


def test_without_the_service_switch_there_is_no_prompt(shoe: SimulatedShoe) -> None:
    with pytest.raises(CommandRefused, match="service switch is off"):
        _open_prompt(shoe)
    assert "debug_opened" not in _kinds(shoe)


def test_a_stranger_gets_no_prompt_even_with_the_service_switch_on(shoe: SimulatedShoe) -> None:
    _service(shoe)
    wrong = CommandKeyFile()
    wrong.put(shoe.unit, bytes(32))
    with pytest.raises(KeysUnusable, match="another command key"):
        _open_prompt(shoe, wrong)
    with Port(shoe.port) as port:
        client = Client(port, bare=True)
        assert client.unit == shoe.unit
        client._session.challenge = b""  # a host that signs nothing
        with pytest.raises(CommandRefused, match="not signed"):
            client.ask(DebugCommand())


def test_with_cards_in_play_there_is_none(shoe: SimulatedShoe) -> None:
    # With the lid closed behind an opening cards count as loaded.
    for stands in (True, False):
        shoe.bench.switch("lid_open", stands)
        shoe.bench.settle()
    with pytest.raises(CommandRefused, match="service switch is off"):
        _open_prompt(shoe)
    shoe.bench.switch("service_on", True)
    shoe.bench.settle()
    with pytest.raises(CommandRefused, match="shoe of cards is in play"):
        _open_prompt(shoe)


@pytest.mark.parametrize("noise", [b"\x03", b"\x03\x03\x01", b"\x04", b"\x02", b"\x05", b"\x1d"])
def test_in_service_no_byte_leads_to_a_prompt(shoe: SimulatedShoe, noise: bytes) -> None:
    with Port(shoe.port) as port:
        port.write(b"\r" + noise + b"import machine\r\n" + noise)
        time.sleep(0.3)
        answer = port.read(0.2)
    assert b">>>" not in answer and b"raw REPL" not in answer
    with Port(shoe.port) as port:
        Client(port).ask(StatusCommand())
    assert shoe.running()
