"""The bench of a simulated shoe: what it keeps of what the shoe shows."""

import gc
import socket
from collections.abc import Iterator

import pytest

from sabot.link import wire
from sabot.sim.channel import Outputs, SimHands
from sabot_protocol.sim import sim_channel

MANY = 3000


class ShowingShoe:
    """The shoe's end of the channel."""

    def __init__(self, bench: SimHands) -> None:
        ours, self._channel = socket.socketpair()
        bench.connect(ours)
        self._bench = bench

    def show(self, count: int) -> None:
        """Show `count` different displays, and wait until the bench has seen them."""
        for number in range(count):
            frame = wire.frame_of(sim_channel.DISPLAY, f"BETTING OPEN\n{number}\nHOST")
            self._channel.sendall(frame)
        last = str(count - 1)
        self._bench.wait_for(lambda seen: seen.display[1:2] == (last,), "shown the last display")

    def close(self) -> None:
        self._channel.close()


@pytest.fixture
def bench() -> SimHands:
    return SimHands()


@pytest.fixture
def shoe(bench: SimHands) -> Iterator[ShowingShoe]:
    made = ShowingShoe(bench)
    yield made
    made.close()
    bench.disconnect()


def _kept() -> int:
    gc.collect()
    return sum(isinstance(each, Outputs) for each in gc.get_objects())


@pytest.mark.slow
def test_what_a_shoe_showed_is_not_kept_for_no_one(shoe: ShowingShoe) -> None:
    shoe.show(10)
    before = _kept()
    shoe.show(MANY)
    assert _kept() <= before + 2


def test_every_state_since_the_last_look_is_reported(bench: SimHands, shoe: ShowingShoe) -> None:
    assert [outputs for _, outputs in bench.history()] == [Outputs()]
    for count in (5, 7):
        shoe.show(count)
        shown = [outputs.display[1] for _, outputs in bench.history()]
        assert shown == [str(number) for number in range(count)]
    assert bench.history() == []
