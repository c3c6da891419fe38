"""`sabot read` and `sabot waveform`: the firmware's reader reads recordings under MicroPython."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sabot.cli import app
from sabot.errors import BadRecording
from sabot.sim.replay import replay
from sabot.sim.waveform import SAMPLE_RATE_HZ, pass_samples
from sabot_protocol import cards

pytestmark = pytest.mark.slow

_RECORDINGS = Path(__file__).resolve().parents[3] / "firmware" / "tests" / "samples"


@pytest.mark.parametrize("name", ["clean", "clean-set-7", "nominal", "harsh", "faults"])
def test_every_recording_is_read_as_in_its_answers(name: str) -> None:
    wanted = json.loads((_RECORDINGS / "answers.json").read_text())[name]
    options = ["--set", str(wanted["set"]), "--json"]
    done = CliRunner().invoke(app(), ["read", str(_RECORDINGS / f"{name}.samples"), *options])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    answers = [{"fault": each["fault"]} if "fault" in each else each["card"] for each in found]
    assert answers == wanted["passes"]
    assert all(each["samples"] > 0 for each in found)


def test_a_waveform_can_be_read_and_depends_only_on_the_seed(tmp_path: Path) -> None:
    names = ["7H", "TC", "as", "CUT", "TEST"]
    made = []
    for n in range(2):
        out = tmp_path / f"{n}.samples"
        options = ["--noise", "nominal", "--seed", "3", "--set", "5", "-o", str(out)]
        done = CliRunner().invoke(app(), ["waveform", *names, *options])
        assert done.exit_code == 0, done.output
        made.append(out)
    assert made[0].read_bytes() == made[1].read_bytes()
    assert [each.card for each in replay(made[0], 5)] == [name.upper() for name in names]
    assert {each.fault for each in replay(made[0], 6)} == {"foreign_set"}


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "empty"), (b"\x11" * 7, "not whole sample words"), (None, "cannot be read")],
)
def test_a_file_that_is_not_a_recording_is_refused(
    tmp_path: Path, data: bytes | None, message: str
) -> None:
    path = tmp_path / "x.samples"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadRecording, match=message):
        list(replay(path, 0))


@pytest.mark.parametrize(
    ("octets", "faults"),
    [
        ("00", []),  # an empty head, as all night
        ("ff", ["sensor_fault"]),  # all ones
        ("11", ["jam"]),  # E covered
        ("22", ["sensor_fault"]),  # track A on, no card
        ("44", ["sensor_fault"]),
        ("88", ["jam"]),
        ("10", ["sensor_fault"]),  # E at 10 kHz
        ("20", ["sensor_fault"]),
        ("40", ["sensor_fault"]),
        ("80", ["sensor_fault"]),
        ("2200", ["sensor_fault"]),  # A at 5 kHz
        ("222222000000", ["sensor_fault"]),
    ],
)
def test_impossible_samples_are_a_fault_and_the_next_card_is_read(
    tmp_path: Path, octets: str, faults: list[str]
) -> None:
    path = tmp_path / "x.samples"
    card = pass_samples(cards.number_of("7H"), 0)
    path.write_bytes(bytes.fromhex(octets) * (600_000 // len(octets) * 2) + bytes(400) + card)
    found = list(replay(path, 0))
    assert [each.fault for each in found] == [*faults, None]
    assert found[-1].card == "7H"


def test_random_bytes_are_not_read_as_cards(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    path = tmp_path / "x.samples"
    path.write_bytes(random.Random(seed).randbytes(2_000_000) + bytes(400))
    found = list(replay(path, 0))
    assert found and all(each.card is None for each in found)


def test_three_hours_are_read_in_the_memory_of_a_shoe(tmp_path: Path) -> None:
    path = tmp_path / "x.samples"
    card = pass_samples(cards.number_of("KC"), 0)
    with path.open("wb") as file:
        for hour in range(4):
            file.seek(hour * 3600 * SAMPLE_RATE_HZ // 2)  # a hole in the file reads as rest
            file.write(card)
    assert [each.card for each in replay(path, 0)] == ["KC"] * 4


def test_wrong_arguments_are_wrong_usage(tmp_path: Path) -> None:
    for arguments in (["1H"], ["7H", "--noise", "loud"], ["7H", "--set", "13"]):
        done = CliRunner().invoke(app(), ["waveform", *arguments, "-o", str(tmp_path / "x")])
        assert done.exit_code == 2, arguments
