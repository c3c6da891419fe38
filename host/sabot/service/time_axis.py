"""The time axis of a picture: stretches in which nothing changes for long are left out."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sabot.service.pass_marks import Interval
from sabot.sim.waveform import SAMPLE_RATE_HZ, A, B, Levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAMPLES_PER_MS = SAMPLE_RATE_HZ // 1000

_LONG_SHARE = 0.5
"""A stretch is left out that is longer than this share of all that is shown without it..."""
_LONG_MS, _LONG_WITHOUT_MARKS_MS = 100, 1000
"""... and than this, because room is only needed for marks."""
_KEPT_SHARE = 0.04
"""What is shown of such a stretch at both ends, as a share of all that changes."""
_BREAK_SHARE = 0.07
"""How wide a break is, as a share of what is shown."""
_TICKS = 12
CLOSEST_SHARE = 0.035
"""How close two labels of three figures may be, as a share of the axis."""
_TEETH = 9


class TimeAxis:
    """Converts samples to places in the picture, in ms as shown. `left_out` is not shown."""

    def __init__(self, levels: Levels) -> None:
        self.left_out = _left_out(levels)
        samples = len(levels)
        whole = samples - sum(end - begin for begin, end in self.left_out)
        given, shown = [0], [0.0]
        for begin, end in self.left_out:
            shown.append(shown[-1] + begin - given[-1])
            shown.append(shown[-1] + _BREAK_SHARE * whole)
            given += [begin, end]
        shown.append(shown[-1] + samples - given[-1])
        self._given = [*given, samples]
        self._shown = shown
        self.width_ms = shown[-1] / SAMPLES_PER_MS or 1.0

    def ms(self, samples: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Where the samples lie; NaN stays NaN."""
        return np.interp(np.asarray(samples, np.float64), self._given, self._shown) / SAMPLES_PER_MS

    def ticks(self) -> tuple[list[float], list[str]]:
        """The places of round times that are shown, and the times."""
        from matplotlib.ticker import MaxNLocator

        values = MaxNLocator(_TICKS).tick_values(0, self.width_ms)
        step = max(1, round((values[1] - values[0]) * SAMPLES_PER_MS))
        times = np.arange(0, self._given[-1] + 1, step)
        for begin, end in self.left_out:
            times = times[(times <= begin) | (times >= end)]
        names = [f"{time / SAMPLES_PER_MS:,g}" for time in times]
        return self.apart(list(self.ms(times)), names)

    def apart(
        self, places: list[float], names: list[str], closest_share: float = CLOSEST_SHARE
    ) -> tuple[list[float], list[str]]:
        """The places and names without those that would be too close to the one before."""
        kept: list[tuple[float, str]] = []
        for place, name in zip(places, names, strict=True):
            if not kept or place - kept[-1][0] >= closest_share * self.width_ms:
                kept.append((place, name))
        return [place for place, _ in kept], [name for _, name in kept]

    def draw_breaks(self, axis: "Axes") -> None:
        """Cut the picture where time is left out: two torn edges, and how long it was."""
        low, high = axis.get_ylim()
        heights = np.linspace(low, high, 2 * _TEETH + 1)
        tooth = 0.004 * self.width_ms * (np.arange(len(heights)) % 2)
        for begin, end in self.left_out:
            left, right = self.ms([begin, end])
            axis.fill_betweenx(
                heights, left + tooth, right + tooth, color="white", zorder=5, clip_on=False
            )
            for edge in (left, right):
                axis.plot(
                    edge + tooth, heights, color="black", linewidth=1, zorder=6, clip_on=False
                )
            axis.plot(
                [left, right], [low, low], color="white", linewidth=4, zorder=5, clip_on=False
            )
            axis.text(
                (left + right) / 2,
                (low + high) / 2,
                f"{(end - begin) / SAMPLES_PER_MS:,.0f} ms\nleft out",
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                zorder=7,
            )


def _left_out(levels: Levels) -> list[Interval]:
    """What is not shown of stretches in which nothing changes."""
    changes = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist(), len(levels)]
    least_ms = _LONG_MS if (levels & (A | B)).any() else _LONG_WITHOUT_MARKS_MS
    found, rest = [], len(levels)
    for begin, end in sorted(pairwise(changes), key=lambda each: each[0] - each[1]):
        least = max(least_ms * SAMPLES_PER_MS, _LONG_SHARE * (rest - (end - begin)))
        if end - begin < least or end - begin == rest:
            break
        rest -= end - begin
        found.append((begin, end))
    kept = round(_KEPT_SHARE * rest)
    return sorted((begin + kept, end - kept) for begin, end in found if end - begin > 4 * kept)
