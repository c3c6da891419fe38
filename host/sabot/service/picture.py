"""Recordings of the sensor head as a picture: why a card was read, or was not.

Above, the four channels over time; below, the card as it passed (`card_strip`).
"""

from collections.abc import Sequence
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from sabot.service import card_strip
from sabot.service.pass_marks import intervals
from sabot.service.pass_reading import Reading, reading_of
from sabot.service.time_axis import TimeAxis
from sabot.sim.waveform import A, B, E, Levels, X, unpack

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LANES = (
    (E, "E entry", "0.45"),
    (A, "A", card_strip.COLOURS[A]),
    (B, "B", card_strip.COLOURS[B]),
    (X, "X exit", "0.45"),
)
_LANE_HEIGHT = 0.7
_HEIGHT_RATIOS = (2.3, 1.7)
_SHOWN_AFTER = 1.05
_LETTERS_IN_LINE = 150
_CLOSEST_SHARE = 0.016  # of two labels of two figures


def png(recordings: Sequence[tuple[str, bytes]]) -> bytes:
    """A PNG of recordings, each with its title, one below the other."""
    # Half a second that the other commands do not need.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    count = len(recordings)
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure(figsize=(14, 0.2 + 4.9 * count), layout=layout)
    axes = figure.subplots(2 * count, 1, squeeze=False, height_ratios=_HEIGHT_RATIOS * count)
    for i, (title, samples) in enumerate(recordings):
        levels = unpack(samples)
        reading = reading_of(levels)
        _draw_lanes(axes[2 * i, 0], title, levels, reading)
        says = fill("; ".join(reading.findings), _LETTERS_IN_LINE)
        colour = "darkgreen" if reading.good else "crimson"
        axes[2 * i + 1, 0].set_title(
            says, loc="left", fontsize=10, fontweight="bold", color=colour, parse_math=False
        )
        card_strip.draw(axes[2 * i + 1, 0], reading)
    layout.execute(figure)
    figure.set_layout_engine("none")  # or all is drawn once more, only for the layout
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def _draw_lanes(axis: "Axes", title: str, levels: Levels, reading: Reading) -> None:
    # Without most of the rest after the pass, which would take the room of the marks.
    covered = np.flatnonzero(reading.clean)
    shown = int(_SHOWN_AFTER * (covered[-1] + 1)) if len(covered) else len(levels)
    levels = levels[:shown]
    time = TimeAxis(reading.clean[:shown])
    for place, (channel, name, colour) in enumerate(_LANES):
        bottom = len(_LANES) - 1 - place
        on = np.array(intervals((levels & channel) > 0)).reshape(-1, 2)
        left, right = time.ms(on).T
        axis.axhline(bottom, color=colour, linewidth=0.7)
        # With an outline even a single sample can be seen.
        bars = list(zip(left, right - left, strict=True))
        axis.broken_barh(bars, (bottom, _LANE_HEIGHT), color=colour, linewidth=0.4)
        beside = axis.get_yaxis_transform()
        axis.text(-0.006, bottom + 0.25, name, transform=beside, ha="right", color=colour)
    if reading.marks.clear:
        _number_marks(axis, time, reading)
    axis.set_xlim(0, time.width_ms)
    axis.set_ylim(-0.15, len(_LANES))
    axis.set_xticks(*time.ticks())
    axis.set_yticks([])
    axis.text(-0.006, -0.075, "time ms", transform=axis.transAxes, ha="right", va="top")
    time.draw_breaks(_card_places(axis, time, reading))
    axis.set_title(title, loc="left", fontsize=11, fontweight="bold", parse_math=False)
    for side in ("top", "left", "right"):
        axis.spines[side].set_visible(False)


def _number_marks(axis: "Axes", time: TimeAxis, reading: Reading) -> None:
    middles, names = [], []
    for mark in reading.marks.found:
        left, right = time.ms([mark.begin, mark.end])
        axis.axvspan(left, right, 0.22, 0.78, color="0.93", zorder=0)
        middles.append((left + right) / 2)
        names.append("+" if mark.place is None else str(mark.place))
    for middle, name in zip(*time.apart(middles, names, _CLOSEST_SHARE), strict=True):
        axis.text(middle, 2 + _LANE_HEIGHT + 0.04, name, ha="center", fontsize=8)


def _card_places(axis: "Axes", time: TimeAxis, reading: Reading) -> "Axes":
    """A second axis at the top: which place of the card is under the UV sensors."""
    top = axis.twiny()
    top.set_xlim(axis.get_xlim())
    wanted = np.arange(0, 65, 5)
    samples = reading.track.samples_at(wanted)
    known = np.isfinite(samples)
    names = [f"{mm}" for mm in wanted[known]]
    top.set_xticks(*time.apart(list(time.ms(samples[known])), names, _CLOSEST_SHARE))
    top.tick_params(labelsize=9, colors="0.3", pad=1)
    top.text(-0.006, 1.02, "card mm", transform=top.transAxes, ha="right", color="0.3")
    for side in ("left", "right", "bottom"):
        top.spines[side].set_visible(False)
    top.spines["top"].set_color("0.7")
    return top
