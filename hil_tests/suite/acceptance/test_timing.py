"""How soon the shoe acts. Only where time is the chip's own: on a simulator it is the machine's."""

from collections.abc import Callable

import numpy as np
import pytest

from hil_tests.capabilities import Bench, Clock, Shoe, Target, Unable, attached
from hil_tests.dealer import load_cards
from protocol import VERSION, cards, messages
from sabot import wire
from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, pass_samples, unpack

_SAMPLE_US = 1_000_000 // SAMPLE_RATE_HZ
_LAST_CARD = "7S"
_QUESTIONS = 60


@pytest.fixture(autouse=True)
def _time_is_the_chips(clock: Clock) -> None:
    if not clock.emulated:
        raise Unable("the simulator's times are those of this machine")


def _last_mark_us(samples: bytes) -> int:
    """When the last mark has left the head, from the first sample on."""
    marked = np.flatnonzero((unpack(samples) & (A | B)) > 0)
    return int(marked[-1] + 1) * _SAMPLE_US


def _first_three(bench: Bench) -> None:
    """All of a round but the card that ends it."""
    load_cards(bench, "AC", "2C", "9C", "TD", "KH")


def test_the_lock_shuts_behind_the_last_card(bench: Bench, measure: Callable[..., None]) -> None:
    _first_three(bench)
    bench.seen()
    samples = pass_samples(cards.number_of(_LAST_CARD), 0)
    begun_us = bench.play(samples)
    bench.settle()
    (shut_us,) = [
        change.t_us
        for change in bench.seen()
        if change.what == "lock_released" and change.value is False
    ]
    taken_ms = (shut_us - begun_us - _last_mark_us(samples)) / 1000
    measure("last mark to lock", taken_ms, "ms", at_most=5.0)


def test_the_lock_shuts_in_time_whatever_a_host_asks(
    target: Target, measure: Callable[..., None]
) -> None:
    """Questions without a pause, each in the queue before the one before it is answered."""
    worst_ms = 0.0
    for speed_mm_s in (300.0, 1000.0):
        _first_three(target.bench)
        samples = pass_samples(cards.number_of(_LAST_CARD), 0, speed_mm_s=speed_mm_s)
        line = target.shoe.line()
        line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
        target.bench.seen()
        line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
        begun_us = target.bench.play(samples)
        target.shoe.detach()
        target.bench.settle()
        (shut_us,) = [
            change.t_us
            for change in target.bench.seen()
            if change.what == "lock_released" and change.value is False
        ]
        worst_ms = max(worst_ms, (shut_us - begun_us - _last_mark_us(samples)) / 1000)
        _end_the_shoe(target.bench)
    measure("last mark to lock, with a host that asks and asks", worst_ms, "ms", at_most=5.0)


def _end_the_shoe(bench: Bench) -> None:
    bench.switch("key_on", True)
    bench.press("void")
    bench.press("void")
    bench.switch("key_on", False)


def test_a_card_is_on_flash_and_told_soon(target: Target, measure: Callable[..., None]) -> None:
    """An event is on flash before it goes out on the link."""
    _first_three(target.bench)
    with attached(target.shoe) as client:
        client.begin(1)
        while client.receive(0.5).records:
            client.acknowledge()
        samples = pass_samples(cards.number_of(_LAST_CARD), 0)
        begun_us = target.bench.play(samples)
        last_us = begun_us + len(samples) * 2 * _SAMPLE_US
        while not any(each.event.kind == "result" for each in client.receive(0.05).records):
            assert target.clock.now_us() < last_us + 5_000_000
        told_ms = (target.clock.now_us() - begun_us - _last_mark_us(samples)) / 1000
    measure("last mark to its result on flash and with the host", told_ms, "ms")


def test_the_heap_has_room(shoe: Shoe, bench: Bench, measure: Callable[..., None]) -> None:
    _first_three(bench)
    with attached(shoe) as client:
        status = client.command(messages.STATUS)
    measure("heap free within a round", status["heap_free"], "bytes", at_least=20_000)
