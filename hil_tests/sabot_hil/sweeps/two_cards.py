"""Two overlapping cards that leave at once: when one card can look the same, and what the
firmware's reader finds.

    python -m sabot_hil.sweeps.two_cards [--out FILE.png] [--passes N] [--seed N]

The second card follows the first by an offset of 5 to 12 mm. The first card hides the code of the
second from the UV sensors. Only the photo-interrupters then differ from one card at an even speed:
E and X are covered for longer, by the offset. One card looks the same if it stopped between its
last mark and its end. To do so it must brake, and `least_acceleration` says how hard.

Positions are those of the leading edge, in mm past the entry, as in the card code specification.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt
import typer

from sabot.sim import disturbed, waveform
from sabot.sim.disturbed import NOISE
from sabot.sim.waveform import CARD_MM, EXIT_MM, MARK_MM, PITCH_MM, TRAVEL_MM, UV_MM, A, B
from sabot_hil.kit.runner import Seed, run
from sabot_hil.sweeps.accuracy import FirmwareReader
from sabot_protocol import cards

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HARSH_M_S2 = NOISE["harsh"].bounds.accel_mm_s2 / 1000
NOMINAL_M_S2 = NOISE["nominal"].bounds.accel_mm_s2 / 1000

MARKS_END_MM = UV_MM + waveform.FIRST_MARK_MM + PITCH_MM * (cards.MARK_COUNT - 1) + MARK_MM
"""Where the last mark has passed the UV sensors."""

AFTER_MARKS_MM = CARD_MM - MARKS_END_MM
"""The way from there to the card's end at E. No sensor changes on it."""

GAP_MM = PITCH_MM - MARK_MM

SHOWS_FROM_MM = UV_MM + CARD_MM - MARKS_END_MM
"""Above this offset the end of the second card's last mark shows, once the first card is past the
UV sensors."""

OFFSETS_MM = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
SPEEDS_M_S = (0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8, 1.5, 3.0)
_PASSES = 40

Floats = npt.NDArray[np.float64]

Shares = Mapping[tuple[float, float], float]
"""By offset in mm and speed in m/s: the share of passes that were found to be a double feed."""

_MARKS_BEFORE = 3  # earlier ones change nothing: each edge fixes where the card is
_STEEPEST_PER_MM = 10.0
_BISECTIONS = 25
_TRIES = 3, 3, 3, 31
_CLOSER, _ROUNDS = 0.6, 8


@dataclass(frozen=True, slots=True)
class Ink:
    """How far the last mark may be from what is printed."""

    width_share: float = 0.0
    skew_mm: float = 0.0
    hole_mm: float = 0.0


AS_PRINTED = Ink()
NOMINAL_INK, HARSH_INK = (
    Ink(noise.width_share, noise.skew_mm, noise.hole_mm)
    for noise in (NOISE["nominal"], NOISE["harsh"])
)


def least_acceleration(offset_mm: float, speed_m_s: float, ink: Ink = AS_PRINTED) -> float:
    """Return the least acceleration, in m/s2, with which one card looks like two at this speed.

    It must be within the bound both when the card brakes and when it starts again. Infinite if one
    card cannot look like this: above `SHOWS_FROM_MM`, without a hole in its last mark.
    """
    shows = offset_mm > SHOWS_FROM_MM
    per_mm = least_per_mm_with_hole(offset_mm, ink) if shows else least_per_mm(offset_mm, ink)
    return 1000 * per_mm * speed_m_s**2


def fastest_alike(per_mm: float, bound_m_s2: float) -> float:
    """Return up to which speed, in m/s, one card within the bound can look like two."""
    return float(np.sqrt(bound_m_s2 / (1000 * per_mm)))


def closed_form_per_mm() -> float:
    """Return `least_per_mm` for marks as printed and offsets of 4.1 mm and more.

    Call the acceleration a. The one card

    - is fast when its last mark begins, 1 + a GAP/2, and slow when the mark ends: w = 1 - k a;
    - brakes to a stop, stands, and is at speed u when its end is at E: w2 + u2 = 2 a AFTER_MARKS;
    - needs u = 1 - a EXIT/2 to get from there to its end at X in time.

    The offset is not in it: a larger offset is only a longer stop.
    """
    fast = GAP_MM / 2
    k = np.sqrt(2 * (fast + MARK_MM) ** 2 - 2 * fast**2) - (fast + MARK_MM)
    half_exit = EXIT_MM / 2
    square, linear = k**2 + half_exit**2, 2 * (k + half_exit + AFTER_MARKS_MM)
    return float((linear - np.sqrt(linear**2 - 8 * square)) / (2 * square))


def least_per_mm(offset_mm: float, ink: Ink = AS_PRINTED) -> float:
    """Return the least acceleration if the two cards' speed is 1, without what shows of the second
    card's mark: by bisection, in 1/mm.

    At another speed it is larger by the square of the speed, because only the unit of time differs.
    Ink is at its worst for offsets of 3 mm and more.
    """
    begin_mm, end_mm = MARKS_END_MM - MARK_MM, MARKS_END_MM
    # A narrow mark that comes early is the best for one card: there it is slow already, and it has
    # a longer way to brake.
    less_mm = MARK_MM * ink.width_share / 2
    at_mm = np.array([begin_mm - ink.skew_mm + less_mm, end_mm - ink.skew_mm - less_mm])
    return float(_least(*_with_other_edges(at_mm, np.array([begin_mm, end_mm]), offset_mm)))


@cache
def least_per_mm_with_hole(offset_mm: float, ink: Ink) -> float:
    """Return the same with what shows of the second card's mark, by a search.

    One card looks like this only if its last mark has a hole, and it stopped with the hole at the
    UV sensors. Infinite without a hole.
    """
    if not ink.hole_mm or offset_mm <= SHOWS_FROM_MM:
        return np.inf
    begin_mm, end_mm = MARKS_END_MM - MARK_MM, MARKS_END_MM
    times = np.array([begin_mm, end_mm, UV_MM + CARD_MM, MARKS_END_MM + offset_mm])
    around = np.stack(np.meshgrid(*[np.linspace(-1, 1, tries) for tries in _TRIES])).reshape(4, -1)
    best, size, least = np.full(4, 0.5), 0.5, np.inf
    for _ in range(_ROUNDS):  # ever closer around the best; it has no second valley
        tries = np.clip(best[:, None] + size * around, 0.0, 1.0)
        found = _least(*_with_other_edges(_marks_with_hole(tries, ink), times, offset_mm))
        best, least, size = tries[:, found.argmin()], float(found.min()), _CLOSER * size
    return least


def _marks_with_hole(shares: Floats, ink: Ink) -> Floats:
    """Return the last mark's four edges, for shares of what the ink allows."""
    skew, width, hole, place = shares
    shift_mm = ink.skew_mm * (2 * skew - 1)
    wider_mm = MARK_MM * ink.width_share / 2 * (2 * width - 1)
    begin_mm = MARKS_END_MM - MARK_MM + shift_mm - wider_mm
    end_mm = MARKS_END_MM + shift_mm + wider_mm
    hole_mm = ink.hole_mm * hole
    at_mm = begin_mm + (1 - (1 - place) ** 2) * (end_mm - begin_mm - hole_mm)
    return np.stack([begin_mm, at_mm, at_mm + hole_mm, end_mm])


def _with_other_edges(last_mark: Floats, times: Floats, offset_mm: float) -> tuple[Floats, Floats]:
    """Return where one card is at each edge, and when, from three marks before the last one on."""
    before = [
        MARKS_END_MM - PITCH_MM * mark - width
        for mark in range(_MARKS_BEFORE, 0, -1)
        for width in (MARK_MM, 0.0)
    ]
    shape = (-1, *[1] * (last_mark.ndim - 1))
    ends = np.array([CARD_MM, TRAVEL_MM])
    given = [np.reshape(part, shape) for part in (before, ends)]
    fixed = [np.broadcast_to(part, (len(part), *last_mark.shape[1:])) for part in given]
    return (
        np.concatenate([fixed[0], last_mark, fixed[1]]),
        np.concatenate([before, times, ends + offset_mm]),
    )


def _least(at_mm: Floats, times: Floats) -> Floats:
    """Return the least acceleration of a motion through all edges; one for each column."""
    low, high = np.full(at_mm.shape[1:], 0.0), np.full(at_mm.shape[1:], _STEEPEST_PER_MM)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        fits = passes_all(at_mm, times, middle)
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    return high


def passes_all(at_mm: Floats, times: Floats, most: Floats) -> npt.NDArray[np.bool_]:
    """Whether a motion passes every edge at its time, never backwards, within this acceleration.

    From edge to edge this keeps the slowest and the fastest speed that the card can have there. All
    speeds between them are possible, because a mean of two motions is a motion too.
    """
    slow, fast = np.zeros_like(most), np.full_like(most, np.inf)
    fits = np.ones_like(most, dtype=bool)
    for way, time in zip(np.diff(at_mm, axis=0), np.diff(times), strict=True):
        mean, change = way / time, most * time
        # Slower than this before, it arrives too late; faster, it cannot brake enough.
        stops = np.sqrt(np.maximum(2 * most * way, 0.0))
        slow = np.maximum(slow, mean - change / 2)
        fast = np.minimum(fast, np.where(mean >= change / 2, mean + change / 2, stops))
        fits &= (slow <= fast) & (way >= 0)
        with np.errstate(invalid="ignore"):
            slow, fast = (
                _slowest_after(
                    np.clip(np.maximum(mean + change / 2, 0), slow, fast), way, time, most
                ),
                _fastest_after(
                    np.clip(np.maximum(mean - change / 2, 0), slow, fast), way, time, most
                ),
            )
    return fits


def _slowest_after(before: Floats, way: Floats, time: float, most: Floats) -> Floats:
    """Return the speed after `way`: first faster, then braking."""
    top = before + most * time
    after = top - np.sqrt(np.maximum(2 * top**2 - 2 * before**2 - 4 * most * way, 0.0))
    return np.maximum(after, 0.0)


def _fastest_after(before: Floats, way: Floats, time: float, most: Floats) -> Floats:
    """Return the speed after `way`: first braking, perhaps standing, then faster."""
    low = before - most * time
    after = low + np.sqrt(np.maximum(2 * low**2 - 2 * before**2 + 4 * most * way, 0.0))
    stands = before + after < most * time
    return np.where(stands, np.sqrt(np.maximum(2 * most * way - before**2, 0.0)), after)


def measure(
    passes: int = _PASSES,
    seed: int = 1,
    offsets_mm: Sequence[float] = OFFSETS_MM,
    speeds_m_s: Sequence[float] = SPEEDS_M_S,
) -> dict[tuple[float, float], float]:
    """Let the firmware's reader read double feeds at even speeds, with nominal noise.

    Raises RuntimeError if the reader does not run.
    """
    reader = FirmwareReader()
    _check_runs(reader)
    random = np.random.default_rng(seed)
    shares = {}
    for offset_mm in offsets_mm:
        for speed_m_s in speeds_m_s:
            made = (double_feed(random, offset_mm, speed_m_s) for _ in range(passes))
            found = [outcome == ["double_feed"] for outcome in reader.read(made)]
            shares[offset_mm, speed_m_s] = sum(found) / passes
    return shares


def double_feed(
    random: np.random.Generator, offset_mm: float, speed_m_s: float
) -> tuple[int, bytes]:
    """Return a card set and the samples of two of its cards, with nominal noise."""
    noise = NOISE["nominal"]
    edge_mm = waveform.positions_at(1000 * speed_m_s, travel_mm=TRAVEL_MM + offset_mm)
    card_set, skew_mm = int(random.integers(cards.SET_COUNT)), disturbed.skew(random, noise)
    codes = []
    for at_mm in (edge_mm, edge_mm - offset_mm):
        symbols = cards.marks_of(int(random.integers(cards.CARD_COUNT)), card_set)
        marks = disturbed.with_print_faults(random, noise, waveform.marks_as_printed(symbols))
        codes.append(waveform.sensor_levels(at_mm, marks, skew_mm=skew_mm))
    first_covers = edge_mm < UV_MM + CARD_MM
    levels = waveform.covered(edge_mm, CARD_MM + offset_mm)
    levels |= np.where(first_covers, codes[0], codes[1]) & (A | B)
    return card_set, waveform.pack(disturbed.with_rest_and_flips(random, noise, levels))


def _check_runs(reader: FirmwareReader) -> None:
    wanted = cards.name_of(0)
    found = next(iter(reader.read([(0, waveform.pass_samples(0, 0))])))
    if found != [wanted]:
        raise RuntimeError(f"the reader reads a clean {wanted} as {found or 'nothing'}")


_TELL, _TELL_NOMINAL, _ALIKE = "#b7d9ef", "#f6e08c", "#e08e5e"
"""Light blue, yellow, vermilion: colour-blind people see them apart, also by their lightness."""

_LEFT_MM, _RIGHT_MM = 4.6, 12.4
_LOWEST_M_S, _HIGHEST_M_S = 0.043, 3.5
_CURVE_STEPS = 12
_BROKEN = (0, (6, 4))
_GRADES = (0.0, 0.25, 0.5, 0.75, 1.0)
_CIRCLE = 8.0
_HOLE = "one card looks the same only below a broken line,\nstopped just at a hole in its last mark"


def png(shares: Shares | None = None) -> bytes:
    """Return the map as a PNG. The `shares` that were measured are circles on it."""
    from matplotlib.figure import Figure  # half a second that `measure` does not need

    figure = Figure(figsize=(10, 7), layout="constrained")
    axis = figure.subplots()
    _draw_regions(axis)
    _draw_worst_ink(axis)
    _write_labels(axis)
    if shares:
        _draw_shares(axis, shares)
    axis.set_yscale("log")
    axis.set_xlim(_LEFT_MM, _RIGHT_MM)
    axis.set_ylim(_LOWEST_M_S, _HIGHEST_M_S)
    axis.set_xticks(OFFSETS_MM)
    axis.set_yticks(SPEEDS_M_S, [f"{speed:g}" for speed in SPEEDS_M_S])
    axis.minorticks_off()
    axis.set_xlabel("offset of the second card, mm")
    axis.set_ylabel("speed of both cards, m/s")
    title = "Two overlapping cards at an even speed, or one card that stopped at its end?"
    axis.set_title(title, loc="left", fontsize=13, fontweight="bold")
    figure.legend(loc="outside lower left", frameon=False, ncols=6, fontsize=10, columnspacing=1)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def _borders() -> tuple[float, float]:
    """Return the speeds above which one card would have to brake harder than 30 and 10 m/s2."""
    per_mm = closed_form_per_mm()
    return fastest_alike(per_mm, HARSH_M_S2), fastest_alike(per_mm, NOMINAL_M_S2)


def _draw_regions(axis: "Axes") -> None:
    harsh, nominal = _borders()
    axis.set_facecolor(_TELL)
    hidden = [_LEFT_MM, SHOWS_FROM_MM]
    axis.fill_between(hidden, nominal, harsh, color=_TELL_NOMINAL, linewidth=0)
    axis.fill_between(hidden, _LOWEST_M_S, nominal, color=_ALIKE, linewidth=0)
    axis.plot([SHOWS_FROM_MM] * 2, [_LOWEST_M_S, harsh], color="black", linewidth=1.5)
    for border in (harsh, nominal):
        axis.plot(hidden, [border] * 2, color="black", linewidth=1.5)


def _draw_worst_ink(axis: "Axes") -> None:
    """Draw where the borders are with the worst ink: of harsh passes, and of nominal ones."""
    hidden = np.linspace(_LEFT_MM, SHOWS_FROM_MM, _CURVE_STEPS)
    shows = np.linspace(SHOWS_FROM_MM, _RIGHT_MM, _CURVE_STEPS)[1:]
    name = "borders with the worst ink"
    for ink, bound in ((HARSH_INK, HARSH_M_S2), (NOMINAL_INK, NOMINAL_M_S2)):
        for offsets, least in ((hidden, least_per_mm), (shows, least_per_mm_with_hole)):
            speeds = [fastest_alike(least(offset, ink), bound) for offset in offsets]
            axis.plot(offsets, speeds, color="0.2", linewidth=1, linestyle=_BROKEN, label=name)
            name = ""


def _write_labels(axis: "Axes") -> None:
    hidden_mm, shows_mm = (_LEFT_MM + SHOWS_FROM_MM) / 2, (SHOWS_FROM_MM + _RIGHT_MM) / 2
    middle_mm = (_LEFT_MM + _RIGHT_MM) / 2
    for at_mm, speed_m_s, what, why in (
        (middle_mm, 2.1, "any reader can tell", "one card would have to brake harder than 30 m/s²"),
        (hidden_mm, 0.37, "a reader can tell at 10 m/s², not at 30 m/s²", ""),
        (hidden_mm, 0.16, "no reader can tell", "one card may have stopped here"),
        (shows_mm, 0.64, "any reader can tell", "the end of the second code shows: a 15th mark"),
        (shows_mm, 0.068, "", _HOLE),
    ):
        axis.text(at_mm, speed_m_s, what, ha="center", va="bottom", fontsize=12, weight="bold")
        axis.text(at_mm, speed_m_s, why, ha="center", va="top", fontsize=11)
    for border in _borders():
        axis.text(SHOWS_FROM_MM + 0.05, border, f"{border:.2f} m/s", va="center", fontsize=10)


def _draw_shares(axis: "Axes", shares: Shares) -> None:
    for (offset_mm, speed_m_s), share in shares.items():
        _draw_circle(axis, offset_mm, speed_m_s, share, "")
    for grade in _GRADES:
        label = f"{grade:.0%}" if grade else "double feeds that the firmware's reader finds: 0%"
        _draw_circle(axis, np.nan, np.nan, grade, label)


def _draw_circle(axis: "Axes", x: float, y: float, share: float, label: str) -> None:
    axis.plot(
        x,
        y,
        "o",
        markersize=_CIRCLE,
        color=f"{1 - share:.2f}",
        markeredgecolor="black",
        label=label,
        clip_on=False,
    )


def main(
    out: Path = Path("build/two-cards.png"),
    passes: Annotated[int, typer.Option(help="Of each offset and speed; 0: the map only.")] = (
        _PASSES
    ),
    seed: Seed = 1,
) -> None:
    """Draw when two cards look like one, and what the reader finds."""
    shares = measure(passes, seed) if passes else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(png(shares))


if __name__ == "__main__":
    run(main)
