"""Cards that are due, pulled in every phase of what the shoe does, on the emulated Pico.

A shoe is brought to the moment in which a card may come. Then its time goes on in steps, and at
each step a copy of this process (`os.fork`) pulls the card. So a card costs a fraction of a second,
and all cards of a scene meet the same shoe.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sabot.link import wire
from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, E, X, pass_samples, unpack
from sabot_hil.emulation.copies import in_a_copy
from sabot_hil.kit.dealer import load_cards
from sabot_hil.kit.witness import Witness
from sabot_hil.sweeps.locking.judging import Outcome, outcome
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import VERSION, cards, messages

_BEFORE = {True: ("AC", "2C", "9C", "TD", "KH", "7S"), False: ("AC", "2C", "9C", "TD", "KH")}
"""A burn of one and a round of baccarat: the last of these is the card that is pulled, and whether
none is due after it."""

_MS = 1000  # in us
_CARD_TIME_MS = 150.0
"""For how long after a card the lock is watched: longer than the shoe works on one card."""
_QUESTIONS = 400
_FLOOD_BEGINS_MS = 120.0


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens before the card. `gap` says whether the steps are times from the end of the card
    before it; otherwise the shoe was idle for half a second, and the steps go on from there."""

    last: bool
    gap: bool
    flooded: bool
    speed_mm_s: float
    flash_percent: int

    @property
    def name(self) -> str:
        """The name, for people."""
        card = "last card" if self.last else "due card"
        when = "after a card" if self.gap else "after a pause"
        return f"{card} {when}, {'flooded' if self.flooded else 'quiet'}"


@dataclass(frozen=True, slots=True)
class Pulled:
    """A card, and what the lock did."""

    scene: Scene
    step_ms: float
    outcome: Outcome

    @property
    def faults(self) -> list[str]:
        """What was wrong, in words."""
        return self.outcome.faults(self.scene.last)


def pull_all(scene: Scene, steps_ms: "list[float]", image: Path | None = None) -> list[Pulled]:
    """Pull the card of `scene` at each of `steps_ms`, which rise."""
    return list(_pulled(scene, steps_ms, image))


def _pulled(scene: Scene, steps_ms: list[float], image: Path | None) -> Iterator[Pulled]:
    *dealt, before, card = _BEFORE[scene.last]
    with _target(scene, image) as target:
        load_cards(target.bench, *dealt)
        if scene.flooded:
            _flood(target)
        pico = target.pico
        if scene.gap:
            samples, _, _ = _marks_of(before, scene.speed_mm_s)
            pico.run_us(pico.play(samples))
        else:
            samples, _, _ = _marks_of(before, 300.0)
            pico.run_us(pico.play(samples))
            pico.run_us(500 * _MS)
        begun_us = pico.t_us
        for step_ms in steps_ms:
            pico.run_us(begun_us + step_ms * _MS - pico.t_us)
            target.bench.seen()
            released = target.bench.outputs.lock_released
            moves, edge_ms, last_ms = in_a_copy(partial(_moves_of, target, card, scene.speed_mm_s))
            yield Pulled(scene, step_ms, outcome(released, moves, edge_ms, last_ms, scene.last))


@contextmanager
def _target(scene: Scene, image: Path | None) -> Iterator[EmulatorTarget]:
    with tempfile.TemporaryDirectory() as folder:
        target = EmulatorTarget(
            "lock", Path(folder), Witness(), image=image, flash_percent=scene.flash_percent
        )
        try:
            target.power.on()
            yield target
        finally:
            target.close()


def _flood(target: EmulatorTarget) -> None:
    """Let a host ask without a pause, each time before the last question is answered."""
    line = target.shoe.line()
    line.write(wire.frame_of(messages.HELLO, VERSION, 1) + wire.frame_of(messages.ACK, 0))
    line.write(b"".join(wire.frame_of(messages.STATUS, 1 + n) for n in range(_QUESTIONS)))
    target.clock.pass_ms(_FLOOD_BEGINS_MS)


def _marks_of(name: str, speed_mm_s: float) -> tuple[bytes, float, float]:
    """Return the samples of a card without the rest after it, when it comes to the first sensor,
    and when its last mark has passed; both in ms."""
    samples = pass_samples(cards.number_of(name), 0, speed_mm_s=speed_mm_s)
    seen = unpack(samples)
    edge = int(np.flatnonzero((seen & E) > 0)[0])
    marked = int(np.flatnonzero((seen & (A | B)) > 0)[-1]) + 1
    out = int(np.flatnonzero((seen & (E | X)) > 0)[-1]) + 1
    per_ms = SAMPLE_RATE_HZ / 1000
    return samples[: (out + 2) // 2], edge / per_ms, marked / per_ms


_Found = tuple[list[tuple[float, bool]], float, float]
"""The moves of the lock, the card's edge and its last mark, in ms."""


def _moves_of(target: EmulatorTarget, card: str, speed_mm_s: float) -> _Found:
    """Pull `card`; return the moves of the lock, the card's edge and its last mark, in ms."""
    samples, edge_ms, last_ms = _marks_of(card, speed_mm_s)
    pico = target.pico
    begun_us = pico.t_us
    pico.run_us(pico.play(samples))
    pico.run_us(_CARD_TIME_MS * _MS)
    moves = [
        ((seen.t_us - begun_us) / _MS, bool(seen.value))
        for seen in target.bench.seen()
        if seen.what == "lock_released"
    ]
    return moves, edge_ms, last_ms
