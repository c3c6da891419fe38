"""Pictures of recordings: which marks are numbered, and that any samples can be drawn."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

from sabot.service.picture import marks_in, png
from sabot.sim import waveform
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.faulty import FAULTS, faulty_pass
from sabot.sim.waveform import A, B, E, Mark
from sabot_protocol import cards

pytestmark = pytest.mark.slow


def test_marks_are_where_they_are_printed() -> None:
    marks = waveform.marks_as_printed(cards.marks_of(32, 3))
    edge_mm = waveform.positions_at(800.0)
    levels = waveform.sensor_levels(edge_mm, marks)
    found = [edge_mm[[begin, end]] - waveform.UV_MM for begin, end in marks_in(levels)]
    wanted = [(mark.begin_mm, mark.end_mm) for mark in marks]
    assert np.allclose(found, wanted, atol=0.05)


@pytest.mark.parametrize(("noise", "share"), [("clean", 1.0), ("nominal", 0.99), ("harsh", 0.85)])
def test_marks_are_counted_despite_holes_specks_and_pauses(noise: str, share: float) -> None:
    random = np.random.default_rng(1)
    counts = [len(marks_in(noisy_pass(random, NOISE[noise], n % 54, 3))) for n in range(300)]
    assert counts.count(14) >= share * len(counts)


def test_a_missing_mark_is_not_invented_and_an_added_one_not_hidden() -> None:
    marks = waveform.marks_as_printed(cards.marks_of(32, 3))
    edge_mm = waveform.positions_at(800.0)
    assert len(marks_in(waveform.sensor_levels(edge_mm, marks[:6] + marks[7:]))) == 13
    added = [*marks, Mark(marks[-1].begin_mm + 3.5, marks[-1].end_mm + 3.5, A)]
    assert len(marks_in(waveform.sensor_levels(edge_mm, added))) == 15
    assert marks_in(waveform.sensor_levels(edge_mm, [])) == []


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


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_can_be_drawn(fault: str) -> None:
    levels = faulty_pass(np.random.default_rng(2), NOISE["nominal"], fault, 3)
    assert size(png([(fault, waveform.pack(levels))]))[0] > 200
