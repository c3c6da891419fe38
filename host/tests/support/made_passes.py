"""Passes with known marks: pulled by hand as any kind, or with a fault that has a name."""

from dataclasses import replace

import numpy as np

from sabot.sim import disturbed, waveform
from sabot.sim.disturbed import NOISE, Noise
from sabot.sim.waveform import CARD_MM, TRAVEL_MM, UV_MM, A, B, Levels, Mark, Positions, X
from sabot_protocol import cards

SEVEN_OF_HEARTS = 32
CARD_SET = 3
DIGITS = "20210120221220"
"""The symbols of the seven of hearts of set 3, from the card code specification's example."""


def code(card: int = SEVEN_OF_HEARTS, card_set: int = CARD_SET) -> list[Mark]:
    """The marks of a card as printed."""
    return waveform.marks_as_printed(cards.marks_of(card, card_set))


def pulled(
    random: np.random.Generator, marks: list[Mark], kind: str, noise: Noise = NOISE["clean"]
) -> tuple[Levels, Positions]:
    """The samples of a card with these marks, and where its edge was at each of them."""
    edge_mm = disturbed.pull(random, noise, kind)
    printed = disturbed.with_print_faults(random, noise, marks)
    levels = waveform.sensor_levels(edge_mm, printed, skew_mm=disturbed.skew(random, noise))
    return disturbed.with_rest_and_flips(random, noise, levels), edge_mm


def faulty(fault: str, seed: int = 1) -> Levels:
    """A pass with this fault, at the speed of a dealer; for a shoe of set 3."""
    random = np.random.default_rng(seed)
    edge_mm = waveform.positions_at(800.0)
    marks = code()
    if fault == "double_feed":
        lag_mm = 20.0
        edge_mm = waveform.positions_at(800.0, travel_mm=TRAVEL_MM + lag_mm)
        first = waveform.sensor_levels(edge_mm, marks)
        second = waveform.sensor_levels(edge_mm - lag_mm, code(5))
        tracks = np.where(edge_mm < UV_MM + CARD_MM, first, second) & (A | B)
        return waveform.with_rest(waveform.covered(edge_mm, CARD_MM + lag_mm) | tracks)
    if fault == "pushed_back":
        edge_mm = waveform.positions_at(800.0, travel_mm=40.0)
        edge_mm = np.concatenate([edge_mm, edge_mm[::-1]])
    elif fault == "reversed":
        marks = [
            replace(mark, begin_mm=CARD_MM - mark.end_mm, end_mm=CARD_MM - mark.begin_mm)
            for mark in marks
        ]
    elif fault == "no_code":
        marks = []
    elif fault == "bad_code":
        del marks[int(random.integers(1, 13))]
    elif fault == "foreign_set":
        marks = code(SEVEN_OF_HEARTS, 5)
    elif fault == "jam":
        edge_mm = disturbed.paused(edge_mm, len(edge_mm) // 2, 3.2)
    levels = waveform.with_rest(waveform.sensor_levels(edge_mm, marks))
    if fault == "sensor_fault":
        levels &= ~np.uint8(X)
    return levels


FAULTS = (
    "double_feed",
    "pushed_back",
    "reversed",
    "no_code",
    "bad_code",
    "foreign_set",
    "jam",
    "sensor_fault",
)
