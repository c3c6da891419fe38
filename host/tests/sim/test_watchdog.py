"""The watchdog of a simulated shoe: one that hangs or has an error starts again and says why."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sabot.errors import SabotError
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.waiting import wait_until
from sabot_protocol import cbor, frame

pytestmark = pytest.mark.slow

_WATCHDOG_S = 3.0
_NO_MESSAGE = 100  # that a bench sends
_WITHIN_S = 120.0


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[SimulatedShoe]:
    """A simulated shoe with a watchdog and a card that may come, so that its lock is open."""
    with SimulatedShoe("SHOE-7", state=tmp_path / "state", watchdog_s=_WATCHDOG_S) as made:
        made.power_on()
        for is_open in (True, False):
            made.bench.switch("lid_open", is_open)
            made.bench.settle()
        assert made.bench.outputs.lock_released
        yield made


def _cause(shoe: SimulatedShoe) -> str:
    try:
        with Port(shoe.port) as port:
            return Client(port).welcome.reset_cause
    except SabotError:  # it starts
        return ""


def _send_nonsense(shoe: SimulatedShoe) -> None:
    payload, out = bytearray(16), bytearray(32)
    size = cbor.encode_array(payload, 0, [_NO_MESSAGE], 1)
    shoe.bench._send(bytes(out[: frame.write_frame(payload, size, out, 0)]))


def test_a_shoe_that_hangs_is_restarted_and_goes_on_in_the_same_state(shoe: SimulatedShoe) -> None:
    shown = shoe.bench.outputs.title
    assert _cause(shoe) == "power_on"
    shoe.hang()
    assert wait_until(lambda: _cause(shoe) == "watchdog", _WITHIN_S)
    shoe.bench.settle()
    assert shoe.bench.outputs.title == shown and shoe.bench.outputs.lock_released


def test_a_shoe_with_an_error_restarts_and_after_the_third_time_stays_out_of_service(
    shoe: SimulatedShoe,
) -> None:
    for _ in range(2):
        _send_nonsense(shoe)
        assert wait_until(lambda: _cause(shoe) == "error", _WITHIN_S)
        shoe.bench.settle()
        assert shoe.bench.outputs.lock_released
    _send_nonsense(shoe)
    assert wait_until(lambda: not shoe.running(), _WITHIN_S)
    assert shoe.bench.outputs.title == "OUT OF SERVICE" and not shoe.bench.outputs.lock_released
