"""What a bad link does to bytes, by hand and for random faults."""

import random
from collections.abc import Sequence

import pytest

from sabot_hil.kit.centre.link_faults import (
    DOWN,
    UP,
    Action,
    End,
    Kind,
    LinkFault,
    Send,
    Silence,
    Wait,
)

_KEEP_ORDER: Sequence[Kind] = ("doubled", "dropped", "changed", "cut", "delayed")


def sent(actions: Sequence[Action]) -> bytes:
    return b"".join(action.data for action in actions if isinstance(action, Send))


def test_what_each_fault_makes_of_ten_bytes() -> None:
    def of(kind: Kind, size: int = 1) -> bytes:
        return sent(LinkFault(kind, UP, 4, size=size).feed(UP, b"0123456789"))

    assert of("cut") == of("closed") == b"0123"
    assert of("doubled", 3) == b"0123456456789"
    assert of("swapped", 2) == b"0123674589"
    assert of("swapped", 9) == b"0123789456"
    assert of("dropped", 2) == b"01236789"
    assert of("changed") == b"0123556789", "a bit of the 4"
    assert of("trickled") == of("delayed") == b"0123456789"


def test_how_a_connection_ends_or_waits() -> None:
    def of(kind: Kind) -> Action:
        return LinkFault(kind, UP, 0, for_s=2.0).feed(UP, b"a")[0]

    assert of("cut") == End(reset=True)
    assert of("closed") == End(reset=False)
    assert of("silent") == Silence(2.0)
    assert of("delayed") == Wait(2.0)


@pytest.mark.parametrize("passed", [True, False])
def test_what_is_called_decides_whether_the_byte_is_passed_on(passed: bool) -> None:
    called = []

    def call() -> bool:
        called.append(1)
        return passed

    fault = LinkFault("call", UP, 3, call=call)
    actions = [*fault.feed(UP, b"01"), *fault.feed(UP, b"2345")]
    assert called == [1]
    assert actions[-1] == (Send(b"345") if passed else End(reset=True))
    assert sent(actions) == (b"012345" if passed else b"012")


@pytest.mark.parametrize("kind", _KEEP_ORDER)
def test_whatever_the_pieces_all_before_the_fault_is_passed_on(kind: Kind) -> None:
    rng = random.Random(kind)
    for _ in range(200):
        data, at = rng.randbytes(rng.randint(1, 300)), rng.randrange(400)
        fault, actions, left = LinkFault(kind, UP, at), list[Action](), data
        while left:
            size = rng.randint(1, 60)
            actions += fault.feed(UP, left[:size])
            left = left[size:]
        assert sent(actions)[: min(at, len(data))] == data[:at]
        assert fault.hit == (at < len(data))


def test_the_other_direction_is_left_alone_and_does_not_count() -> None:
    fault = LinkFault("cut", UP, 2)
    assert sent(fault.feed(DOWN, b"0123")) == b"0123"
    assert not fault.hit
    assert sent(fault.feed(UP, b"0123")) == b"01"
    assert sent(fault.feed(UP, b"0123")) == b"0123", "it happens once"
