"""Recordings of the sensor head as a picture: four channels over time, the marks numbered."""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, E, Levels, X, unpack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LANES = ((E, "E entry", "0.45"), (A, "A", "tab:blue"), (B, "B", "tab:red"), (X, "X exit", "0.45"))
_LANE_HEIGHT = 0.7

_SPECK_SAMPLES = 3
"""A shorter pulse or gap is noise."""
_SLIVER_SHARE = 0.25
"""A piece narrower than this share of those around it is not a mark."""
_HOLE_SHARE = 0.5
"""A gap narrower than this share of the gaps around it is a hole inside a mark."""
_NEIGHBOURS = 2  # on each side; not more, because a card may be pulled slowly first and then fast

_SAMPLES_PER_MS = SAMPLE_RATE_HZ // 1000
_SHORTENED_SHARE = 0.08
"""How much of the picture a shortened stretch takes, against all that is not shortened."""
_TICKS = 12

Interval = tuple[int, int]
"""The first sample, and the first one after the interval."""


def png(recordings: Sequence[tuple[str, bytes]]) -> bytes:
    """A PNG of recordings, each with its title, one below the other.

    A stretch without a change that is longer than all the rest together is shown shortened, with
    its duration: otherwise a jam of three seconds would leave no room for the card.
    """
    from matplotlib.figure import Figure  # half a second that the other commands do not need

    figure = Figure(figsize=(14, 0.5 + 2.3 * len(recordings)), layout="constrained")
    axes = figure.subplots(len(recordings), 1, squeeze=False)[:, 0]
    for axis, (title, samples) in zip(axes, recordings, strict=True):
        _draw_one(axis, title, unpack(samples))
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def marks_in(levels: Levels) -> list[Interval]:
    """The marks in a recording: where A or B is on, without slivers and with holes closed."""
    pieces = np.array(_intervals_on((levels & (A | B)) > 0), np.int64).reshape(-1, 2)
    widths = pieces[:, 1] - pieces[:, 0]
    pieces = pieces[widths >= _SLIVER_SHARE * _typical(widths)]
    gaps = pieces[1:, 0] - pieces[:-1, 1]
    holes = gaps < _HOLE_SHARE * _typical(gaps)
    marks: list[Interval] = []
    for (begin, end), after_hole in zip(pieces.tolist(), [False, *holes], strict=False):
        marks.append((marks.pop()[0] if after_hole else begin, end))
    return marks


def _draw_one(axis: "Axes", title: str, levels: Levels) -> None:
    scale = _Scale(len(levels), _long_stretches(levels))
    for place, (channel, name, color) in enumerate(_LANES):
        bottom = len(_LANES) - 1 - place
        begins, ends = _edges((levels & channel) > 0)
        left = scale.ms(begins)
        bars = list(zip(left, scale.ms(ends) - left, strict=True))
        axis.axhline(bottom, color=color, linewidth=0.7)
        # With an outline even a single sample can be seen.
        axis.broken_barh(bars, (bottom, _LANE_HEIGHT), color=color, linewidth=0.4)
        beside = axis.get_yaxis_transform()
        axis.text(-0.006, bottom + 0.25, name, transform=beside, ha="right", color=color)
    marks = marks_in(levels)
    for number, (begin, end) in enumerate(marks):
        left, right = scale.ms(np.array([begin, end]))
        axis.axvspan(left, right, 0.22, 0.78, color="0.93", zorder=0)
        axis.text((left + right) / 2, 2 + _LANE_HEIGHT + 0.04, str(number), ha="center", fontsize=8)
    for begin, end in scale.shortened:
        left, right = scale.ms(np.array([begin, end]))
        axis.axvspan(left, right, color="white", alpha=0.6, hatch="//", ec="0.7", linewidth=0)
        duration = f"{(end - begin) / _SAMPLES_PER_MS:,.0f} ms"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        axis.text((left + right) / 2, 1.85, duration, ha="center", fontsize=9, bbox=box)
    axis.set_xticks(*scale.ticks())
    axis.set_yticks([])
    axis.set_xlim(0, scale.width_ms or 1)
    axis.set_ylim(-0.15, len(_LANES))
    axis.set_title(title, loc="left", fontsize=11, fontweight="bold", parse_math=False)
    axis.set_title(f"{len(marks)} marks", loc="right", fontsize=9)
    for side in ("top", "left", "right"):
        axis.spines[side].set_visible(False)


class _Scale:
    """Converts samples to places in the picture, in ms as shown: the `shortened` stretches take
    less room than they lasted."""

    def __init__(self, samples: int, shortened: list[Interval]) -> None:
        self.shortened = shortened
        whole = samples - sum(end - begin for begin, end in shortened)
        given, shown = [0], [0.0]
        for begin, end in shortened:
            shown.append(shown[-1] + begin - given[-1])
            shown.append(shown[-1] + _SHORTENED_SHARE * whole)
            given += [begin, end]
        shown.append(shown[-1] + samples - given[-1])
        self._given = [*given, samples]
        self._shown = shown
        self.width_ms = shown[-1] / _SAMPLES_PER_MS

    def ms(self, samples: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Where the samples lie."""
        return np.interp(samples, self._given, self._shown) / _SAMPLES_PER_MS

    def ticks(self) -> tuple[list[float], list[str]]:
        """The places of round times outside of shortened stretches, and the times, in ms."""
        from matplotlib.ticker import MaxNLocator

        values = MaxNLocator(_TICKS).tick_values(0, self.width_ms)
        step = max(1, round((values[1] - values[0]) * _SAMPLES_PER_MS))
        times = np.arange(0, self._given[-1] + 1, step)
        for begin, end in self.shortened:
            times = times[(times <= begin) | (times >= end)]
        names = [f"{time / _SAMPLES_PER_MS:g}" for time in times]
        return list(self.ms(times)), [f"{names[0]} ms", *names[1:]]


def _long_stretches(levels: Levels) -> list[Interval]:
    """Stretches without a change. Each is longer than the rest of the recording, which is counted
    without it and any longer one."""
    changes = {0, len(levels)}
    for channel in (E, A, B, X):
        changes.update(*_intervals_on((levels & channel) > 0))
    at = sorted(changes)
    found, left = [], len(levels)
    for begin, end in sorted(pairwise(at), key=lambda each: each[0] - each[1]):
        left -= end - begin
        if not 0 < left < end - begin:
            break
        found.append((begin, end))
    return sorted(found)


def _typical(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """For each size, the median of it and its neighbours."""
    around = [sizes[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1] for i in range(len(sizes))]
    return np.array([np.median(each) for each in around])


def _intervals_on(channel: npt.NDArray[np.bool_]) -> list[Interval]:
    """The intervals in which a channel is on, without gaps and pulses of less than
    `_SPECK_SAMPLES`."""
    found: list[Interval] = []
    for begin, end in zip(*(edges.tolist() for edges in _edges(channel)), strict=True):
        if found and begin - found[-1][1] < _SPECK_SAMPLES:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return [(begin, end) for begin, end in found if end - begin >= _SPECK_SAMPLES]


def _edges(channel: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The samples at which a channel goes on, and those at which it goes off."""
    change = np.diff(channel.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)
