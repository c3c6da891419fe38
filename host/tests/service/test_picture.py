"""Pictures of recordings: what they show, and that any samples can be drawn."""

import io
import subprocess
import sys
from itertools import combinations, cycle
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from host.tests.support.made_passes import DIGITS, FAULTS, code, faulty, pulled
from sabot.service.picture import png
from sabot.service.time_axis import TimeAxis
from sabot.sim import disturbed, pulls, waveform
from sabot.sim.disturbed import NOISE
from sabot.sim.waveform import A, B, E

pytestmark = pytest.mark.slow


def test_other_commands_do_not_import_matplotlib() -> None:
    program = "import sabot.cli, sys; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def size(picture: bytes) -> tuple[int, ...]:
    return tuple(imread(io.BytesIO(picture), "png").shape[:2])


@pytest.mark.parametrize(
    "samples",
    [
        b"",
        bytes(1),
        bytes(400),
        b"\xff" * 400,
        b"\x01" + bytes(399),
        bytes([E, A, B, E | A] * 1000),
        bytes(400_000) + b"\x11" * 100 + bytes(400_000),
        np.random.default_rng(1).bytes(4000),
    ],
)
def test_any_samples_can_be_drawn(samples: bytes, recwarn: pytest.WarningsRecorder) -> None:
    one, two = png([("$x^", samples)]), png([("$x^", samples), ("7H", samples)])
    assert size(two)[0] > size(one)[0] and size(two)[1] == size(one)[1]
    assert not list(recwarn)


def texts_in(axis: Axes) -> list[str]:
    return [text.get_text() for text in axis.texts]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that `png` saves."""
    figures: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *given: Any, **named: Any) -> None:
        figures.append(figure)
        save(figure, *given, **named)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def overlaps_in(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of which one covers a part of the other."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    shown = [
        (text.get_text(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip()
    ]
    return [
        (name, other)
        for (name, box), (other, other_box) in combinations(shown, 2)
        if box.overlaps(other_box)
    ]


@pytest.mark.parametrize(
    ("kind", "noise", "place"),
    [*zip(pulls.KINDS, cycle(NOISE), cycle((0, 6, 13, None)))],
)
def test_no_text_covers_another(
    drawn: list[Figure], kind: str, noise: str, place: int | None
) -> None:
    """Each kind of pull; each noise, and a mark that is missing at the beginning, within, at the
    end, or nowhere, in turn."""
    marks = [mark for i, mark in enumerate(code()) if i != place]
    levels, _ = pulled(np.random.default_rng(5), marks, kind, NOISE[noise])
    png([("7H", waveform.pack(levels))])
    assert [overlaps_in(figure) for figure in drawn] == [[]]


def test_marks_that_are_close_together_are_numbered_apart(drawn: list[Figure]) -> None:
    edge_mm = disturbed.paused(waveform.positions_at(2500.0), 500, 0.095)
    levels = waveform.with_rest(waveform.sensor_levels(edge_mm, code()))
    png([("7H", waveform.pack(levels))])
    assert overlaps_in(drawn[0]) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_drawn_without_texts_that_cover_another(drawn: list[Figure], fault: str) -> None:
    assert size(png([(fault, waveform.pack(faulty(fault)))]))[0] > 200
    assert overlaps_in(drawn[0]) == []


def test_the_places_of_the_code_and_the_symbols_are_shown(drawn: list[Figure]) -> None:
    levels, _ = pulled(np.random.default_rng(1), code(), "stroke")
    png([("7H", waveform.pack(levels))])
    _, strip, _ = drawn[0].axes
    texts = texts_in(strip)
    assert texts[:14] == [str(place) for place in range(14)]
    assert "".join(text for text in texts[14:] if text in {"0", "1", "2"}) == DIGITS
    assert strip.get_title(loc="left") == "14 marks; valid: 7H of set 3"


def test_a_missing_mark_is_written_at_its_place(drawn: list[Figure]) -> None:
    marks = code()
    del marks[6]
    levels, _ = pulled(np.random.default_rng(1), marks, "stroke")
    png([("bad_code", waveform.pack(levels))])
    (missing,) = (text for text in drawn[0].axes[1].texts if text.get_text() == "missing")
    assert missing.get_position()[0] == pytest.approx(7.0 + 3.5 * 6 + 1.0)


def test_time_that_is_left_out_is_written_on_the_break(drawn: list[Figure]) -> None:
    png([("jam", waveform.pack(faulty("jam")))])
    png([("7H", waveform.pack(pulled(np.random.default_rng(1), code(), "steady")[0]))])
    breaks = [
        [text for axis in figure.axes for text in texts_in(axis) if "left out" in text]
        for figure in drawn
    ]
    (duration,) = breaks[0]
    assert 3_000 < int(duration.split()[0].replace(",", "")) < 3_200
    assert breaks[1] == []


def test_a_break_keeps_the_times_of_what_is_shown() -> None:
    levels = faulty("jam")
    axis = TimeAxis(levels)
    ((begin, end),) = axis.left_out
    assert len(set(levels[begin:end])) == 1
    shown = axis.ms(np.array([0, begin, end, len(levels)]))
    assert shown[1] == begin / 20 and shown[3] - shown[2] == pytest.approx((len(levels) - end) / 20)
    places, names = axis.ticks()
    times = [20 * float(name.replace(",", "")) for name in names]
    assert np.allclose(axis.ms(times), places)
    assert not [time for time in times if begin < time < end]
