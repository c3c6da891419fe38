"""How soon the shoe acts. Only on targets with the chip's own time; a simulator has none."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from sabot.games import catalogue
from sabot.link import wire
from sabot.link.messages import HealthCommand, LoadGameCommand, StatusCommand
from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, pass_samples, unpack
from sabot_hil.capabilities import Bench, Clock, Measure, ShoeLink, Target, Unable, session_with
from sabot_hil.kit.dealer import load_cards
from sabot_protocol import VERSION, cards, messages

_SAMPLE_US = 1_000_000 // SAMPLE_RATE_HZ
_LAST_CARD = "7S"
_QUESTIONS = 60
_SPEEDS_MM_S = (300.0, 1000.0, 3000.0) * 2
_SPEEDS_WITH_HOST_MM_S = (300.0, *(1000.0, 3000.0) * 4)


@pytest.fixture(autouse=True)
def _time_is_the_chips(clock: Clock) -> None:
    if not clock.emulated:
        raise Unable("the simulator's times are those of this machine")


def _last_mark_us(samples: bytes) -> int:
    """Return when the last mark has left the head, in us from the first sample."""
    marked = np.flatnonzero((unpack(samples) & (A | B)) > 0)
    return int(marked[-1] + 1) * _SAMPLE_US


def _lock_shut_ms(bench: Bench, begun_us: int, samples: bytes) -> float:
    """Return how long after the last mark of the last card the lock shut and stayed shut. Less than
    0 if it shut because the firmware could not watch the card.
    """
    last = [change for change in bench.seen() if change.what == "lock_released"][-1]
    assert last.value is False
    return (last.t_us - begun_us - _last_mark_us(samples)) / 1000


def _first_three(bench: Bench) -> None:
    """Deal a round except the card that ends it."""
    load_cards(bench, "AC", "2C", "9C", "TD", "KH")


def test_the_lock_shuts_after_the_last_card(
    bench: Bench, clock: Clock, seed: int, measure: Measure
) -> None:
    """At three speeds, and at random moments of the shoe's other work."""
    phase_ms = random.Random(seed)
    _first_three(bench)
    taken_ms = []
    for speed_mm_s in _SPEEDS_MM_S:
        clock.pass_ms(phase_ms.uniform(0, 10))
        samples = pass_samples(cards.number_of(_LAST_CARD), 0, speed_mm_s=speed_mm_s)
        bench.seen()
        begun_us = bench.play(samples)
        bench.settle()
        taken_ms.append(_lock_shut_ms(bench, begun_us, samples))
        bench.press("next")
        bench.settle()
        if len(taken_ms) < len(_SPEEDS_MM_S):
            for card in ("9D", "TS", "KC"):
                bench.pull(card)
    measure("last mark to lock", max(taken_ms), "ms", at_most=5.0)


def test_the_lock_shuts_in_time_whatever_a_host_asks(
    target: Target, seed: int, measure: Measure
) -> None:
    """Questions without a pause, each queued before the last one is answered. They make garbage all
    the time, so some cards come while it is collected.
    """
    worst_ms = -float("inf")
    phase_ms = random.Random(seed)
    for speed_mm_s in _SPEEDS_WITH_HOST_MM_S:
        _first_three(target.bench)
        samples = pass_samples(cards.number_of(_LAST_CARD), 0, speed_mm_s=speed_mm_s)
        line = target.shoe.line()
        line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
        target.bench.seen()
        line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
        target.clock.pass_ms(phase_ms.uniform(0, 40))
        begun_us = target.bench.play(samples)
        target.shoe.detach()
        target.bench.settle()
        worst_ms = max(worst_ms, _lock_shut_ms(target.bench, begun_us, samples))
        _end_the_shoe(target.bench)
    measure("last mark to lock, with a host that asks without a pause", worst_ms, "ms", at_most=5.0)


def _end_the_shoe(bench: Bench) -> None:
    bench.switch("key_on", True)
    bench.press("void")
    bench.press("void")
    bench.switch("key_on", False)


def test_a_card_is_on_flash_and_at_the_host_soon(target: Target, measure: Measure) -> None:
    _first_three(target.bench)
    with session_with(target.shoe) as client:
        client.begin(1)
        while client.receive(0.5).records:
            client.acknowledge()
        samples = pass_samples(cards.number_of(_LAST_CARD), 0)
        begun_us = target.bench.play(samples)
        left_us = begun_us + _left_us(samples)
        while not any(each.event.kind == "result" for each in client.receive(0.005).records):
            assert target.clock.now_us() < left_us + 5_000_000
        reported_ms = (target.clock.now_us() - left_us) / 1000
        target.bench.settle()
        written_ms = (target.power.written_us() - left_us) / 1000
    measure("card out of the head to its result with the host", reported_ms, "ms", at_most=500.0)
    measure("card out of the head to all of it on flash", written_ms, "ms", at_most=500.0)


def _left_us(samples: bytes) -> int:
    """Return when the card has left the head, in us from the first sample."""
    covered = np.flatnonzero(unpack(samples) > 0)
    return int(covered[-1] + 1) * _SAMPLE_US


def test_the_processor_has_time_to_spare(target: Target, measure: Measure) -> None:
    measure("processor's share while idle", _share(target, _idle), "%", at_most=50.0)
    _first_three(target.bench)
    samples = pass_samples(cards.number_of(_LAST_CARD), 0)
    share = _share(target, lambda target: target.bench.play(samples))
    measure("processor's share while a card passes", share, "%", at_most=90.0)


def _idle(target: Target) -> None:
    target.clock.pass_ms(2000)


def _share(target: Target, what: Callable[[Target], object]) -> float:
    """Return the busy share of the processor's time, in percent, while `what` is done."""
    begun_us, slept_us = target.clock.now_us(), target.clock.slept_us()
    what(target)
    slept_us = target.clock.slept_us() - slept_us
    return 100 * (1 - slept_us / (target.clock.now_us() - begun_us))


def test_no_sample_is_lost_while_flash_is_erased(target: Target, measure: Measure) -> None:
    """A game is stored while a card passes: the shoe erases flash for it, and its processor stops
    meanwhile."""
    document = catalogue.document("pa-midi")
    client = target.shoe.attach()
    parts = [*range(0, len(document), messages.MAX_GAME_PART)]
    for offset in parts[:-1]:
        part = document[offset : offset + messages.MAX_GAME_PART]
        client.ask(LoadGameCommand(offset, len(document), part))
    client.send_signed(LoadGameCommand(parts[-1], len(document), document[parts[-1] :]))
    # So slowly that the game is stored within the pass: the host gets its turn 0.3 s later.
    target.bench.play(pass_samples(cards.number_of("4C"), 0, speed_mm_s=100.0))
    shown = target.bench.settle()
    with session_with(target.shoe) as client:
        assert client.welcome.game == "pa-midi"
        lost = client.ask(HealthCommand()).overruns
    assert "CARD NOT DUE" in shown.display, shown
    measure("samples lost while flash is erased", lost, "times", at_most=0)


def test_the_heap_has_room(shoe: ShoeLink, bench: Bench, measure: Measure) -> None:
    measure("heap free after the start", _heap_free(shoe), "bytes", at_least=20_000)
    _first_three(bench)
    measure("heap free within a round", _heap_free(shoe), "bytes", at_least=20_000)


def _heap_free(shoe: ShoeLink) -> float:
    with session_with(shoe) as client:
        return float(client.ask(StatusCommand()).heap_free)
