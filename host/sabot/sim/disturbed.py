"""Realistic passes: pulls by hand, faded inks, dirty sensors.

The figures are those of the card code specification, "What real passes look like".
"""

from dataclasses import dataclass, replace

import numpy as np

from sabot.sim import pulls, waveform
from sabot.sim.waveform import SAMPLE_RATE_HZ, TRAVEL_MM, Levels, Mark, Positions
from sabot_protocol import cards


@dataclass(frozen=True, slots=True)
class Noise:
    """The strength of each disturbance. Values are drawn evenly up to the one given here."""

    skew_mm: float
    width_share: float
    hole_chance: float
    hole_mm: float
    flip_chance: float
    pause_chance: float
    pause_s: float
    bounds: pulls.Bounds


NOISE = {
    "clean": Noise(0, 0, 0, 0, 0, 0, 0, pulls.Bounds(100, 2000, 10_000)),
    "nominal": Noise(0.2, 0.1, 1 / 20, 0.2, 0.001, 1 / 50, 0.5, pulls.Bounds(100, 2000, 10_000)),
    "harsh": Noise(0.3, 0.2, 1 / 10, 0.3, 0.005, 1 / 10, 0.5, pulls.Bounds(50, 3000, 30_000)),
}


def noisy_pass(
    random: np.random.Generator, noise: Noise, card: int, card_set: int, kind: str
) -> Levels:
    """Return one pass of `card` 0-53 of set 0-12, pulled as `kind`, with the rest after it."""
    marks = with_print_faults(
        random, noise, waveform.marks_as_printed(cards.marks_of(card, card_set))
    )
    edge_mm = pull(random, noise, kind)
    levels = waveform.sensor_levels(edge_mm, marks, skew_mm=skew(random, noise))
    return with_rest_and_flips(random, noise, levels)


def with_rest_and_flips(random: np.random.Generator, noise: Noise, levels: Levels) -> Levels:
    """Return the pass with its rest, with single samples flipped on single channels."""
    levels = waveform.with_rest(levels)
    if noise.flip_chance:
        for channel in (waveform.E, waveform.A, waveform.B, waveform.X):
            levels[random.random(len(levels)) < noise.flip_chance] ^= channel
    return levels


def skew(random: np.random.Generator, noise: Noise) -> float:
    """Return how far track B lags track A on this card, in mm."""
    return float(random.uniform(-noise.skew_mm, noise.skew_mm))


def pull(
    random: np.random.Generator, noise: Noise, kind: str, travel_mm: float = TRAVEL_MM
) -> Positions:
    """Return a pull through the head, one of `pulls.KINDS`, perhaps with a pause."""
    edge_mm = pulls.pull(random, kind, noise.bounds, travel_mm)
    if random.random() < noise.pause_chance:
        edge_mm = paused(
            edge_mm, int(random.integers(1, len(edge_mm))), random.uniform(0, noise.pause_s)
        )
    return edge_mm


def paused(edge_mm: Positions, at: int, pause_s: float) -> Positions:
    """Return the same pull with a standstill of `pause_s` at sample `at`."""
    still = np.full(int(pause_s * SAMPLE_RATE_HZ), edge_mm[at - 1])
    return np.concatenate([edge_mm[:at], still, edge_mm[at:]])


def faded(marks: list[Mark], track: int, share: float) -> list[Mark]:
    """Return the marks as a dirty sensor sees them: narrower by `share` on `track` (A or B)."""
    made: list[Mark] = []
    for mark in marks:
        less_mm = (mark.end_mm - mark.begin_mm) * share / 2
        if mark.tracks & ~track:
            made.append(replace(mark, tracks=mark.tracks & ~track))
        if mark.tracks & track:
            narrow = replace(mark, tracks=track)
            made.append(
                replace(narrow, begin_mm=mark.begin_mm + less_mm, end_mm=mark.end_mm - less_mm)
            )
    return made


def with_print_faults(random: np.random.Generator, noise: Noise, marks: list[Mark]) -> list[Mark]:
    """Return the marks with changed widths. Some have a hole, on each track by itself."""
    made: list[Mark] = []
    for mark in marks:
        more_mm = waveform.MARK_MM * random.uniform(-noise.width_share, noise.width_share) / 2
        begin_mm, end_mm = mark.begin_mm - more_mm, mark.end_mm + more_mm
        for track in (waveform.A, waveform.B):
            if not mark.tracks & track:
                continue
            on_track = Mark(begin_mm, end_mm, track)
            if random.random() < noise.hole_chance:
                hole_mm = random.uniform(0, noise.hole_mm)
                at_mm = random.uniform(begin_mm, end_mm - hole_mm)
                made.append(replace(on_track, end_mm=at_mm))
                on_track = replace(on_track, begin_mm=at_mm + hole_mm)
            made.append(on_track)
    return made
