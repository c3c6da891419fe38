"""`sabot read` and `sabot waveform`: recordings through the firmware's reader under MicroPython."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sabot.cli import app
from sabot.errors import BadRecording
from sabot.sim.replay import replay

_RECORDINGS = Path(__file__).resolve().parents[2] / "firmware" / "tests" / "samples"


@pytest.mark.parametrize("name", ["clean", "clean-set-7", "nominal", "harsh", "faults"])
def test_every_recording_comes_out_as_its_answers_say(name: str) -> None:
    wanted = json.loads((_RECORDINGS / "answers.json").read_text())[name]
    options = ["--set", str(wanted["set"]), "--json"]
    done = CliRunner().invoke(app, ["read", str(_RECORDINGS / f"{name}.samples"), *options])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    answers = [{"fault": each["fault"]} if "fault" in each else each["card"] for each in found]
    assert answers == wanted["passes"]
    assert all(each["samples"] > 0 for each in found)


def test_a_waveform_that_was_written_reads_back_and_is_the_same_for_a_seed(tmp_path: Path) -> None:
    names = ["7H", "TC", "as", "CUT", "TEST"]
    made = []
    for n in range(2):
        out = tmp_path / f"{n}.samples"
        options = ["--noise", "nominal", "--seed", "3", "--set", "5", "-o", str(out)]
        done = CliRunner().invoke(app, ["waveform", *names, *options])
        assert done.exit_code == 0, done.output
        made.append(out)
    assert made[0].read_bytes() == made[1].read_bytes()
    assert [each.card for each in replay(made[0], 5)] == [name.upper() for name in names]
    assert {each.fault for each in replay(made[0], 6)} == {"foreign_set"}


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "empty"), (b"\x11" * 7, "no whole sample words"), (None, "cannot be read")],
)
def test_a_recording_that_is_none_is_refused(tmp_path: Path, data: bytes | None, said: str) -> None:
    path = tmp_path / "x.samples"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadRecording, match=said):
        list(replay(path, 0))


@pytest.mark.parametrize("octet", [0x00, 0xFF, 0x11, 0x22])
def test_streams_that_never_change_name_no_card(tmp_path: Path, octet: int) -> None:
    path = tmp_path / "x.samples"
    path.write_bytes(bytes([octet]) * 400_000 + bytes(4000))
    assert all(each.card is None for each in replay(path, 0))


def test_wrong_words_are_wrong_usage(tmp_path: Path) -> None:
    for arguments in (["1H"], ["7H", "--noise", "loud"], ["7H", "--set", "13"]):
        done = CliRunner().invoke(app, ["waveform", *arguments, "-o", str(tmp_path / "x")])
        assert done.exit_code == 2, arguments
