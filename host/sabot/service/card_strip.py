"""The card as it passed: where its marks must be, and where the marks were found."""

from typing import TYPE_CHECKING, Any

import numpy as np

from sabot.service.pass_marks import Interval, intervals
from sabot.service.pass_reading import Reading, printed_mm
from sabot.sim.waveform import CARD_MM, EXIT_MM, UV_MM, A, B
from sabot_protocol.cards import MARK_COUNT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

COLOURS = {A: "tab:blue", B: "tab:red"}

_EXPECTED, _TRACK_A, _TRACK_B, _SYMBOLS = 2.6, 1.55, 0.95, 0.2
_HIGH = 0.5
_BAD = "crimson"
_GOOD = "darkgreen"
_MOST_SYMBOLS = 40
_CLOSEST_MM = 1.2


def draw(axis: "Axes", reading: Reading) -> None:
    """Draw the card, in mm from its leading edge."""
    axis.set_xlim(-UV_MM, CARD_MM + EXIT_MM - UV_MM)
    axis.set_ylim(0, 3.75)
    axis.add_patch(_box(0, CARD_MM, _EXPECTED - 0.2, 0.95, fc="0.97", ec="0.6"))
    for place in range(MARK_COUNT):
        begin_mm, end_mm = printed_mm(place)
        axis.axvspan(begin_mm, end_mm, 0, 0.9, color="0.93", zorder=0)
        width = end_mm - begin_mm
        axis.add_patch(_box(begin_mm, width, _EXPECTED, _HIGH, fc="white", ec="0.3"))
        middle = (begin_mm + end_mm) / 2
        axis.text(middle, _EXPECTED + 0.12, str(place), ha="center", fontsize=8, color="0.3")
    rows = [(_EXPECTED, "expected", "0.3"), (_SYMBOLS, "symbol", "0.3")]
    rows += [(_TRACK_A, "A found", COLOURS[A]), (_TRACK_B, "B found", COLOURS[B])]
    for height, name, colour in rows:
        beside = axis.get_yaxis_transform()
        axis.text(-0.006, height + 0.1, name, transform=beside, ha="right", color=colour)
    marks = [(mark.begin, mark.end) for mark in reading.marks.found]
    if len(reading.track.samples) < 2 or (marks and not _mm_of(reading, marks)):
        why = "The marks cannot be placed: the exit does not show where the card was."
        box = {"facecolor": "white", "edgecolor": "none"}
        middle = CARD_MM / 2
        axis.text(middle, _TRACK_A - 0.2, why, ha="center", color=_BAD, fontsize=10, bbox=box)
    else:
        _draw_found(axis, reading)
    axis.set_yticks([])
    axis.set_xticks(range(0, 65, 5))
    axis.text(-0.006, -0.09, "card mm", transform=axis.transAxes, ha="right", va="top", color="0.3")
    for side in ("top", "left", "right"):
        axis.spines[side].set_visible(False)


def _draw_found(axis: "Axes", reading: Reading) -> None:
    for track, height in ((A, _TRACK_A), (B, _TRACK_B)):
        bars = _mm_of(reading, intervals((reading.clean & track) > 0))
        axis.axhline(height, color=COLOURS[track], linewidth=0.7)
        axis.broken_barh(
            [(begin, end - begin) for begin, end in bars],
            (height, _HIGH),
            color=COLOURS[track],
            linewidth=0.4,
        )
    low, high = _TRACK_B - 0.08, _TRACK_A + _HIGH + 0.08
    for place in reading.marks.missing:
        begin_mm, end_mm = printed_mm(place)
        box = _box(begin_mm, end_mm - begin_mm, low, high - low, fc="mistyrose", ec=_BAD, ls="--")
        axis.add_patch(box)
        middle = (begin_mm + end_mm) / 2
        axis.text(middle, _SYMBOLS + 0.1, "missing", ha="center", fontsize=8, color=_BAD)
    found = reading.marks.found
    if len(found) > _MOST_SYMBOLS:
        return
    last_mm = -np.inf
    for mark, symbol in zip(found, reading.symbols, strict=True):
        shown = _mm_of(reading, [(mark.begin, mark.end)])
        if not shown:
            continue
        begin_mm, end_mm = shown[0]
        middle = (begin_mm + end_mm) / 2
        added = reading.marks.clear and mark.place is None
        wrong = added or mark.place in reading.wrong or symbol == "?"
        if wrong:
            wide = end_mm - begin_mm + 0.6
            axis.add_patch(_box(begin_mm - 0.3, wide, low, high - low, fc="none", ec=_BAD, lw=1.6))
        if middle - last_mm < _CLOSEST_MM:
            continue
        colour = _BAD if wrong else _GOOD if reading.good else "black"
        text = f"{symbol} added" if added else symbol
        axis.text(
            middle,
            _SYMBOLS + 0.05,
            text,
            ha="center",
            fontsize=9 if added else 11,
            fontweight="bold",
            color=colour,
        )
        last_mm = middle


def _mm_of(reading: Reading, samples: list[Interval]) -> list[tuple[float, float]]:
    """Where these samples are in the strip. What is only in part on the card's way is cut off."""
    first, last = reading.track.samples[0], reading.track.samples[-1]
    inside = [each for each in samples if each[0] < last and each[1] > first]
    places = reading.track.mm(np.clip(np.array(inside).reshape(-1, 2), first, last))
    return [(float(begin), float(end)) for begin, end in places]


def _box(x: float, width: float, y: float, height: float, **style: Any) -> "Rectangle":
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **style)
