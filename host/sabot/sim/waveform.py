"""The samples of the sensor head for a card that is pulled through it, computed from geometry.

Positions and sizes: card code specification, "Geometry" and "The sensor head".
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sabot_protocol import cards

SAMPLE_RATE_HZ = 20_000
CARD_MM = 63.0
EXIT_MM = 12.0
TRAVEL_MM = EXIT_MM + CARD_MM
"""The way of a card's leading edge from the entry until the card has left the head."""

FIRST_MARK_MM = 7.0
PITCH_MM = 3.5
MARK_MM = 2.0
UV_MM = 6.0

E, A, B, X = 1, 2, 4, 8
_TRACKS = (A, B, A | B)
_SAMPLES_PER_WORD = 8

DEALER_SPEED_MM_S = 800.0
REST_S = 0.03
"""Least time between two cards (card code specification, "What real passes look like")."""

Levels = npt.NDArray[np.uint8]
"""The four channels, one element for each sample."""

Positions = npt.NDArray[np.float64]
"""The leading edge's distance past the entry in mm, one element for each sample."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Ink on a card, in mm from its leading edge; `tracks` is A, B or both."""

    begin_mm: float
    end_mm: float
    tracks: int


def marks_as_printed(symbols: Iterable[int]) -> list[Mark]:
    """Return the marks of a code's symbols, at their nominal places and widths."""
    begins = [FIRST_MARK_MM + PITCH_MM * place for place, _ in enumerate(symbols)]
    return [
        Mark(begin, begin + MARK_MM, _TRACKS[symbol])
        for begin, symbol in zip(begins, symbols, strict=True)
    ]


def sensor_levels(edge_mm: Positions, marks: Iterable[Mark], *, skew_mm: float = 0.0) -> Levels:
    """Return what the head sees while a card moves along `edge_mm`. Track B lags A by `skew_mm`."""
    levels = covered(edge_mm, CARD_MM)
    for mark in marks:
        for track, shift_mm in ((A, 0.0), (B, skew_mm)):
            if mark.tracks & track:
                begin, end = UV_MM + mark.begin_mm + shift_mm, UV_MM + mark.end_mm + shift_mm
                levels[(edge_mm >= begin) & (edge_mm < end)] |= track
    return levels


def covered(edge_mm: Positions, length_mm: float) -> Levels:
    """Return the photo-interrupters' channels only, for an object `length_mm` long."""
    levels = np.zeros(len(edge_mm), np.uint8)
    levels[(edge_mm >= 0.0) & (edge_mm < length_mm)] |= E
    levels[(edge_mm >= EXIT_MM) & (edge_mm < EXIT_MM + length_mm)] |= X
    return levels


def positions_at(
    speed_mm_s: float, accel_mm_s2: float = 0.0, travel_mm: float = TRAVEL_MM
) -> Positions:
    """Return the motion of a card with this speed at the entry and constant acceleration.

    It must not come to a stop.
    """
    last_mm_s = float(np.sqrt(speed_mm_s**2 + 2 * accel_mm_s2 * travel_mm))
    seconds = 2 * travel_mm / (speed_mm_s + last_mm_s)
    t_s = np.arange(int(np.ceil(seconds * SAMPLE_RATE_HZ))) / SAMPLE_RATE_HZ
    return np.asarray(speed_mm_s * t_s + accel_mm_s2 * t_s * t_s / 2, np.float64)


def with_rest(levels: Levels, rest_s: float = REST_S) -> Levels:
    """Return the samples of a pass and of the rest before the next one, in whole words."""
    rest = round(rest_s * SAMPLE_RATE_HZ)
    rest += -(len(levels) + rest) % _SAMPLES_PER_WORD
    return np.concatenate([levels, np.zeros(rest, np.uint8)])


def pack(levels: Levels) -> bytes:
    """Return samples as in a recording: eight to a little-endian word. Whole words only."""
    return bytes((levels[0::2] | levels[1::2] << 4).astype(np.uint8))


def unpack(samples: bytes) -> Levels:
    """Return the samples of a recording, or of whole bytes from one."""
    octets = np.frombuffer(samples, np.uint8)
    return np.stack([octets & 15, octets >> 4], 1).ravel()


def pass_samples(
    card: int,
    card_set: int,
    *,
    speed_mm_s: float = DEALER_SPEED_MM_S,
    accel_mm_s2: float = 0.0,
    rest_s: float = REST_S,
) -> bytes:
    """Return the sample words of a clean pass of `card` 0-53, moved as by `positions_at`.

    `rest_s` is the rest after it, in seconds.
    """
    levels = sensor_levels(
        positions_at(speed_mm_s, accel_mm_s2), marks_as_printed(cards.marks_of(card, card_set))
    )
    return pack(with_rest(levels, rest_s))


def blank_samples(*, speed_mm_s: float = DEALER_SPEED_MM_S) -> bytes:
    """Return the sample words of a card without a code, pulled at constant speed."""
    return pack(with_rest(sensor_levels(positions_at(speed_mm_s), [])))
