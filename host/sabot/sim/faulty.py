"""Faulty passes: one function for each fault in the table of the card code specification."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sabot.sim import disturbed, waveform
from sabot.sim.disturbed import Noise
from sabot.sim.waveform import CARD_MM, SAMPLE_RATE_HZ, TRAVEL_MM, A, B, Levels, Mark, Positions, X
from sabot_protocol import cards

Random = np.random.Generator

_OVERLAP_MM = (12.0, 55.0)  # how far the second card lags the first
_PUSHED_MM = (8.0, 60.0)  # how far a card goes in before it is pushed back
_JAM_S = (3.01, 4.0)
_UNUSED = range(cards.CARD_COUNT * cards.SET_COUNT, 3**cards.DIGIT_COUNT)


def faulty_pass(random: Random, noise: Noise, fault: str, card_set: int, kind: str) -> Levels:
    """Return one pass with the fault, for a shoe of `card_set`, pulled as `kind` of `pulls.KINDS`.

    `fault` is one of `enums.FAULTS` except power_lost. The noise adds no pauses: a pause of 0.5 s
    in the only place where the fault shows would hide it.
    """
    return _MAKERS[fault](random, replace(noise, pause_chance=0.0), card_set, kind)


def _code(random: Random, card_set: int) -> list[Mark]:
    card = int(random.integers(cards.CARD_COUNT))
    return waveform.marks_as_printed(cards.marks_of(card, card_set))


def _pass_of(random: Random, noise: Noise, marks: list[Mark], edge_mm: Positions) -> Levels:
    marks = disturbed.with_print_faults(random, noise, marks)
    levels = waveform.sensor_levels(edge_mm, marks, skew_mm=disturbed.skew(random, noise))
    return disturbed.with_rest_and_flips(random, noise, levels)


def _double_feed(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    lag_mm = random.uniform(*_OVERLAP_MM)
    edge_mm = disturbed.pull(random, noise, kind, TRAVEL_MM + lag_mm)
    skew_mm = disturbed.skew(random, noise)
    codes = [
        waveform.sensor_levels(
            at_mm,
            disturbed.with_print_faults(random, noise, _code(random, card_set)),
            skew_mm=skew_mm,
        )
        for at_mm in (edge_mm, edge_mm - lag_mm)
    ]
    first_covers = edge_mm < waveform.UV_MM + CARD_MM
    levels = waveform.covered(edge_mm, CARD_MM + lag_mm)
    levels |= np.where(first_covers, codes[0], codes[1]) & (A | B)
    return disturbed.with_rest_and_flips(random, noise, levels)


def _pushed_back(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    edge_mm = disturbed.pull(random, noise, kind)
    edge_mm = edge_mm[: int(np.searchsorted(edge_mm, random.uniform(*_PUSHED_MM)))]
    edge_mm = np.concatenate([edge_mm, edge_mm[::-1]])
    return _pass_of(random, noise, _code(random, card_set), edge_mm)


def _reversed(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    marks = [
        replace(mark, begin_mm=CARD_MM - mark.end_mm, end_mm=CARD_MM - mark.begin_mm)
        for mark in _code(random, card_set)
    ]
    return _pass_of(random, noise, marks, disturbed.pull(random, noise, kind))


def _no_code(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    return _pass_of(random, noise, [], disturbed.pull(random, noise, kind))


def _bad_code(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    marks = _code(random, card_set)
    spoil = random.choice(["missing", "added", "changed", "dead", "unused"])
    place = int(random.integers(len(marks)))
    if spoil == "missing":
        del marks[place]
    elif spoil == "added":
        first_mm, last_mm = marks[0].begin_mm, marks[-1].begin_mm
        begin_mm = random.choice([first_mm - waveform.PITCH_MM, last_mm + waveform.PITCH_MM])
        tracks = int(random.choice([A, B, A | B]))
        marks.append(Mark(begin_mm, begin_mm + waveform.MARK_MM, tracks))
    elif spoil == "changed":
        others = [tracks for tracks in (A, B, A | B) if tracks != marks[place].tracks]
        marks[place] = replace(marks[place], tracks=int(random.choice(others)))
    elif spoil == "dead":
        alive = int(random.choice([A, B]))
        marks = [replace(mark, tracks=mark.tracks & alive) for mark in marks]
    else:
        card_set, card = divmod(int(random.choice(_UNUSED)), cards.CARD_COUNT)
        marks = waveform.marks_as_printed(cards.marks_of(card, card_set))
    return _pass_of(random, noise, marks, disturbed.pull(random, noise, kind))


def _foreign_set(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    foreign = (card_set + int(random.integers(1, cards.SET_COUNT))) % cards.SET_COUNT
    marks = _code(random, foreign)
    return _pass_of(random, noise, marks, disturbed.pull(random, noise, kind))


def _jam(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    edge_mm = disturbed.pull(random, noise, kind)
    at = int(random.integers(1, len(edge_mm)))
    edge_mm = disturbed.paused(edge_mm, at, random.uniform(*_JAM_S))
    return _pass_of(random, noise, _code(random, card_set), edge_mm)


def _sensor_fault(random: Random, noise: Noise, card_set: int, kind: str) -> Levels:
    marks = _code(random, card_set)
    levels = _pass_of(random, noise, marks, disturbed.pull(random, noise, kind))
    channel = int(random.choice([A, B, X]))
    if channel == X:
        levels &= ~np.uint8(X)
    else:
        last = int(np.flatnonzero(levels & X)[-1])
        levels[: last + SAMPLE_RATE_HZ // 200] |= channel
    return levels


_MAKERS: dict[str, Callable[[Random, Noise, int, str], Levels]] = {
    "double_feed": _double_feed,
    "pushed_back": _pushed_back,
    "reversed": _reversed,
    "no_code": _no_code,
    "bad_code": _bad_code,
    "foreign_set": _foreign_set,
    "jam": _jam,
    "sensor_fault": _sensor_fault,
}

FAULTS = tuple(_MAKERS)
