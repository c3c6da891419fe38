"""`sabot capture` with a naive shoe that keeps passes, and with one whose answers make no sense."""

import io
import json
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

from host.tests.support.commands import error_line_here
from host.tests.support.keeping_shoe import BOOT, UNIT, KeepingShoe, KeptPass, made_of, runs_of
from host.tests.support.made_passes import CARD_SET, FAULTS, SEVEN_OF_HEARTS, code, faulty, pulled
from host.tests.support.naive_shoe import Answering, answering_shoe
from sabot.cli import app
from sabot.errors import BadAnswer, BadRecording
from sabot.link import wire
from sabot.link.ports import Port
from sabot.service import capture, capture_folder, picture
from sabot.sim import pulls
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.replay import replay
from sabot.sim.waveform import unpack
from sabot_protocol import enums, messages
from sabot_protocol.schema import Shape

pytestmark = pytest.mark.slow

# Most tests have the same few passes. Each is drawn, and read again, once.
_drawn = cache(picture.png)


@pytest.fixture(autouse=True)
def _draw_each_picture_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "png", lambda recordings: _drawn(tuple(recordings)))


def good_card() -> KeptPass:
    return made_of(pulled(np.random.default_rng(3), code(), "steady")[0], CARD_SET)


def blank() -> KeptPass:
    return made_of(faulty("no_code"), CARD_SET)


def captured(port: Answering, folder: Path, *options: str) -> Result:
    """The result of `sabot capture`, which ends without an error."""
    done = CliRunner().invoke(app(), ["capture", port.path, "-o", str(folder), *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def named(number: int) -> set[str]:
    return {recording(number), recording(number).replace(".samples", ".png")}


def recording(number: int) -> str:
    return f"{UNIT}-boot{BOOT}-pass{number:03}.samples"


def index_in(folder: Path) -> Any:
    return json.loads((folder / capture_folder.INDEX).read_text())


SHARED = {capture_folder.INDEX, capture_folder.PAGE}


def test_runs_are_decoded_as_the_protocol_describes_them() -> None:
    assert capture.decoded(bytes.fromhex("13 10 5d 01 ff")).tolist() == [1] * 352 + [15] * 15
    assert capture.decoded(bytes.fromhex("00 01 00 11")).tolist() == [0, 1]
    assert capture.decoded(b"").tolist() == []


@pytest.mark.parametrize("longest", [15, 16, 300, 65_535])
def test_any_samples_are_decoded_from_their_runs(rng: random.Random, longest: int) -> None:
    levels = [
        level
        for _ in range(300)
        for level in [rng.randrange(16)] * rng.choice([1, 2, 14, 15, 16, 17, 255, 256, 70_000])
    ]
    assert capture.decoded(runs_of(levels, longest)).tolist() == levels


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        (b"\x10", "without a length"),
        (b"\x13\x10\x05", "without a length"),
        (b"\x10\x00\x00", "without a length"),
        (b"\x10\xff\xff" * 153, "more than 10,000,000 samples"),
        (b"\x10\xff\xff" * 30_000, "more than 10,000,000 samples"),
    ],
)
def test_bytes_that_are_not_runs_are_refused(runs: bytes, problem: str) -> None:
    with pytest.raises(capture.RunsError, match=problem):
        capture.decoded(runs)


def test_recordings_are_read_as_the_shoe_read_the_passes(
    tmp_path: Path, rng: random.Random
) -> None:
    random = np.random.default_rng(rng.randrange(1 << 30))
    made = [
        made_of(noisy_pass(random, NOISE[noise], card, CARD_SET, kind), CARD_SET)
        for noise, kind, card in zip(NOISE, pulls.KINDS, (0, SEVEN_OF_HEARTS, 52), strict=False)
    ]
    made += [made_of(faulty(fault), CARD_SET) for fault in FAULTS]
    folder = tmp_path / "new" / "captures"
    with answering_shoe(KeepingShoe(dict(enumerate(made, 7)))) as port:
        done = captured(port, folder, "--json")
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert index_in(folder) == printed
    assert files_in(folder) == SHARED.union(*(named(each["pass"]) for each in printed))
    assert [each["pass"] for each in printed] == list(range(7, 7 + len(made)))
    assert {each["fault"] for each in printed if "fault" in each} >= set(FAULTS)
    for each in printed:
        assert (each["unit"], each["boot"], each["t_ms"]) == (UNIT, BOOT, 1000 * each["pass"])
        (read,) = replay(folder / each["recording"], CARD_SET)
        assert read.as_json() == {name: each[name] for name in read.as_json()}
        assert (folder / each["picture"]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_one_line_is_printed_for_each_pass(tmp_path: Path) -> None:
    shoe = KeepingShoe({5: good_card(), 41: blank()}, spoilt={messages.PASS_REPORT: {"cut": True}})
    with answering_shoe(shoe) as port:
        lines = captured(port, tmp_path).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [["pass", "5", "7H"], ["pass", "41", "no_code"]]
    assert lines[1].endswith(f"{tmp_path}/U1-boot3-pass041.png  (its end was not kept)")
    assert " mm/s  " in lines[0]


def test_a_shoe_that_keeps_nothing_is_reported(tmp_path: Path) -> None:
    with answering_shoe(KeepingShoe({})) as port:
        done = captured(port, tmp_path)
    assert done.stderr == "U1 keeps no pass: no card has passed since its start\n"
    assert done.stdout == ""


def test_a_pass_that_is_no_longer_kept_is_left_out_and_reported(tmp_path: Path) -> None:
    with answering_shoe(KeepingShoe({n: good_card() for n in (1, 2, 3)}, gone=2)) as port:
        done = captured(port, tmp_path)
    assert done.stderr.startswith(
        "pass 2 left out: U1 refused read_pass: pass 2 is not kept any more\n"
    )
    assert files_in(tmp_path) - {"run"} == SHARED | named(1) | named(3)


def test_several_captures_share_a_folder_and_its_index(tmp_path: Path) -> None:
    for passes in ((1, 2), (2, 3)):
        with answering_shoe(KeepingShoe({n: good_card() for n in passes})) as port:
            captured(port, tmp_path)
    assert [each["pass"] for each in index_in(tmp_path)] == [1, 2, 3]


def test_no_more_passes_are_asked_for_than_a_shoe_can_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "_MOST_PASSES", 3)
    with answering_shoe(KeepingShoe({n: good_card() for n in range(1, 9)})) as port:
        assert len(captured(port, tmp_path).stdout.splitlines()) == 3


@pytest.mark.parametrize(
    "unit", ["../../x", "/etc/x", "a b\n\x1b[2J", "$\\frac{1}$", "x" * 400, ""]
)
def test_an_odd_unit_id_leads_to_no_other_folder(tmp_path: Path, unit: str) -> None:
    shoe = KeepingShoe({1: good_card()}, spoilt={})
    shoe.unit = unit
    folder = tmp_path / "a" / "b" / "captures"
    with answering_shoe(shoe) as port:
        done = CliRunner().invoke(app(), ["capture", port.path, "-o", str(folder)])
    assert isinstance(done.exception, BadAnswer) and "no unit can have" in str(done.exception)
    assert "\x1b" not in done.output + str(done.exception)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


_NONSENSE: dict[str, Mapping[Shape, Mapping[str, Any]]] = {
    "the same pass for ever": {messages.PASS_REPORT: {"pass": 1}},
    "more bytes than a shoe has": {messages.PASS_REPORT: {"bytes": 100_001}},
    "no end of bytes": {messages.PASS_REPORT: {"bytes": (1 << 64) - 1}},
    "a card and a fault": {messages.PASS_REPORT: {"fault": 5, "card": 3}},
    "neither card nor fault": {messages.PASS_REPORT: {"fault": 0, "card": None}},
    "no runs": {messages.PASS_SAMPLES: {"runs": b""}},
    "more runs than announced": {messages.PASS_SAMPLES: {"runs": b"\x11" * 480}},
    "another offset": {messages.PASS_SAMPLES: {"offset": 400}},
    "another pass": {messages.PASS_SAMPLES: {"pass": 2}},
    "runs without a length": {
        messages.PASS_REPORT: {"bytes": 400},
        messages.PASS_SAMPLES: {"runs": b"\x10\x00\x00" * 133 + b"\x10"},
    },
}


@pytest.mark.parametrize("spoilt", _NONSENSE.values(), ids=list(_NONSENSE))
def test_answers_that_make_no_sense_are_reported_and_nothing_is_written(
    tmp_path: Path, spoilt: Mapping[Shape, Mapping[str, Any]]
) -> None:
    with answering_shoe(KeepingShoe({1: good_card()}, spoilt=spoilt)) as port:
        line = error_line_here(tmp_path, "capture", port.path, code=16)
    assert line.startswith("U1: ") and "makes no sense; switch" in line
    assert files_in(tmp_path / "captures") == {capture_folder.INDEX}


def test_an_answer_of_another_kind_is_reported(tmp_path: Path) -> None:
    class Other(KeepingShoe):
        def answer(self, message: Any) -> list[bytes]:
            return [self._framed(messages.REPLY, id=message.fields["id"])]

    with answering_shoe(Other({})) as port:
        for command in ("capture", "health"):
            line = error_line_here(tmp_path, command, port.path, code=16)
            assert line.startswith("U1: answers ") and "with reply; update its firmware" in line


def test_a_firmware_that_does_not_know_the_command_is_reported(tmp_path: Path) -> None:
    class Older(KeepingShoe):
        def answer(self, message: Any) -> list[bytes]:
            refusal = enums.REFUSALS.index("no_slot")
            return [self._framed(messages.REPLY, id=message.fields["id"], refusal=refusal)]

    with answering_shoe(Older({})) as port:
        line = error_line_here(tmp_path, "capture", port.path, code=13)
    assert line.startswith("U1 refused next_pass")


def test_ports_without_a_shoe_leave_no_folder(tmp_path: Path) -> None:
    for command in ("capture", "health"):
        line = error_line_here(tmp_path, command, "SHOE-99", code=3)
        assert line == "SHOE-99: no such unit is attached; `sabot ports` lists those that are"
        with Answering(lambda data: b"") as silent, Port(silent.path):
            line = error_line_here(tmp_path, command, silent.path, code=4)
            assert line.startswith(f"{silent.path}: in use") and "`sabot log`; stop that" in line
    assert files_in(tmp_path) == {"run"}


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/none", "/dev/full"])
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("mine")
    with answering_shoe(KeepingShoe({1: good_card()})) as port:
        line = error_line_here(tmp_path, "capture", port.path, "-o", folder, code=14)
    assert line.startswith(f"{folder}: cannot be written (") and "name another folder" in line
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "text",
    ["", "{}}", '{"a": 1}', "[1]", '[{"pass": 1}]', "\udcff", "5", "[" * 100_000],
)
def test_a_file_that_is_not_an_index_is_kept_and_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / capture_folder.INDEX).write_text(text, errors="surrogateescape")
    with answering_shoe(KeepingShoe({1: good_card()})) as port:
        line = error_line_here(tmp_path, "capture", port.path, "-o", ".", code=14)
    assert line == "captures.json: not an index of captures; name another folder with -o"
    assert (tmp_path / capture_folder.INDEX).read_text(errors="surrogateescape") == text
    assert files_in(tmp_path) == {"run", capture_folder.INDEX}


class CountingShoe(KeepingShoe):
    """Notes the passes of which samples are asked for."""

    def __init__(self, passes: Mapping[int, KeptPass]) -> None:
        super().__init__(passes)
        self.read: list[int] = []

    def answer(self, message: wire.Message) -> list[bytes]:
        if message.shape is messages.READ_PASS and not message.fields["offset"]:
            self.read.append(message.fields["pass"])
        return super().answer(message)


def fetched_from(passes: Mapping[int, KeptPass], folder: Path, *options: str) -> list[int]:
    """The passes of which the samples were asked for."""
    shoe = CountingShoe(passes)
    with answering_shoe(shoe) as port:
        captured(port, folder, *options)
    return shoe.read


FIVE = {n: good_card() if n % 2 else blank() for n in range(1, 6)}


@pytest.mark.parametrize(
    ("options", "fetched"),
    [
        ((), [1, 2, 3, 4, 5]),
        (("--last", "2"), [4, 5]),
        (("--last", "99"), [1, 2, 3, 4, 5]),
        (("--unread",), [2, 4]),
        (("--unread", "--last", "1"), [4]),
    ],
)
def test_only_the_chosen_passes_are_fetched(
    tmp_path: Path, options: tuple[str, ...], fetched: list[int]
) -> None:
    assert fetched_from(FIVE, tmp_path, *options) == fetched
    assert files_in(tmp_path) - {"run"} == SHARED.union(*map(named, fetched))


def test_the_newest_passes_are_at_least_one(tmp_path: Path) -> None:
    with answering_shoe(KeepingShoe(FIVE)) as port:
        for number in ("0", "-1", "x"):
            done = CliRunner().invoke(app(), ["capture", port.path, "--last", number])
            assert done.exit_code == 2


def test_a_shoe_that_read_every_card_is_reported(tmp_path: Path) -> None:
    with answering_shoe(KeepingShoe({1: good_card()})) as port:
        done = captured(port, tmp_path, "--unread")
    assert done.stderr == "U1 keeps no pass of which no card came\n"


def test_a_pass_is_not_fetched_twice(tmp_path: Path) -> None:
    three = {n: FIVE[n] for n in (1, 2, 3)}
    assert fetched_from(three, tmp_path) == [1, 2, 3]
    pictures = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.png")}
    index = index_in(tmp_path)
    assert fetched_from(FIVE, tmp_path) == [4, 5]
    assert index_in(tmp_path)[:3] == index
    assert {path: path.stat().st_mtime_ns for path in pictures} == pictures
    with answering_shoe(KeepingShoe(FIVE)) as port:
        lines = captured(port, tmp_path).stdout.splitlines()
    assert len(lines) == 5 and all(line.endswith("  (fetched before)") for line in lines)


def test_a_pass_without_its_recording_is_fetched_again(tmp_path: Path) -> None:
    fetched_from(FIVE, tmp_path)
    (tmp_path / recording(4)).unlink()
    assert fetched_from(FIVE, tmp_path) == [4]


def test_another_pass_with_the_same_number_replaces_the_one_before(tmp_path: Path) -> None:
    fetched_from({1: good_card(), 2: good_card()}, tmp_path)
    assert fetched_from({1: blank(), 2: good_card()}, tmp_path) == [1]
    assert [each.get("fault") for each in index_in(tmp_path)] == ["no_code", None]
    assert read_again(tmp_path / recording(1)) == facts_of(blank())


def test_recordings_come_without_pictures_and_pictures_later(tmp_path: Path) -> None:
    with answering_shoe(KeepingShoe(FIVE)) as port:
        lines = captured(port, tmp_path, "--no-pictures").stdout.splitlines()
    assert [line.split("/")[-1] for line in lines] == [recording(n) for n in FIVE]
    assert files_in(tmp_path) - {"run"} == SHARED | {recording(n) for n in FIVE}
    assert [each["picture"] for each in index_in(tmp_path)] == [None] * 5
    assert "<img" not in (tmp_path / capture_folder.PAGE).read_text()
    assert fetched_from(FIVE, tmp_path) == []
    assert files_in(tmp_path) - {"run"} == SHARED.union(*map(named, FIVE))
    assert (tmp_path / capture_folder.PAGE).read_text().count("<img") == 5


def read_again(path: Path) -> dict[str, Any]:
    """The recording as the firmware's reader reads it, here without MicroPython."""
    return facts_of(_read(path.read_bytes()))


@cache
def _read(samples: bytes) -> KeptPass:
    return made_of(unpack(samples), CARD_SET)


@cache
def height(png: bytes) -> int:
    return int(imread(io.BytesIO(png)).shape[0])


def facts_of(kept: KeptPass) -> dict[str, Any]:
    names = ("fault", "card", "card_set", "speed_mm_s", "margin_permille", "skew_um", "samples")
    return {name: getattr(kept.passed, name) for name in names}


def is_whole(folder: Path) -> bool:
    """Whether the index names only files that are there and can be read."""
    for each in index_in(folder):
        if read_again(folder / each["recording"]) != facts_of(FIVE[each["pass"]]):
            return False
        if each["picture"] and height((folder / each["picture"]).read_bytes()) < 200:
            return False
    return not list(folder.glob(".*"))


@pytest.mark.parametrize("nth", range(20))
def test_ctrl_c_at_any_write_leaves_whole_files_and_what_was_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    replace, written = Path.replace, [0]

    def interrupted(path: Path, target: Path) -> Path:
        written[0] += 1
        if written[0] == nth + 1:
            raise KeyboardInterrupt
        return replace(path, target)

    (tmp_path / "captures.json").write_text("[]")
    first = CountingShoe(FIVE)
    with monkeypatch.context() as patch, answering_shoe(first) as port:
        patch.setattr(Path, "replace", interrupted)
        done = CliRunner().invoke(app(), ["capture", port.path, "-o", str(tmp_path)])
    assert done.exit_code == 130
    assert is_whole(tmp_path)
    kept = {each["pass"] for each in index_in(tmp_path)}
    assert kept >= set(first.read[:-1])
    assert set(fetched_from(FIVE, tmp_path)) == set(FIVE) - kept
    assert is_whole(tmp_path)
    assert files_in(tmp_path) - {"run"} == SHARED.union(*map(named, FIVE))


def test_ctrl_c_on_the_line_keeps_what_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels_of = capture.levels_of

    def interrupted(client: Any, kept: capture.SavedPass, on_progress: Any) -> Any:
        if kept.number == 3:
            raise KeyboardInterrupt
        return levels_of(client, kept, on_progress)

    monkeypatch.setattr(capture, "levels_of", interrupted)
    with answering_shoe(KeepingShoe(FIVE)) as port:
        done = CliRunner().invoke(app(), ["capture", port.path, "-o", str(tmp_path)])
    assert done.exit_code == 130
    assert f"2 passes so far in {tmp_path}; the same command goes on" in done.stderr
    assert files_in(tmp_path) - {"run"} == SHARED | {recording(1), recording(2)}
    assert is_whole(tmp_path)


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    capture_folder.prepare(tmp_path)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadRecording, match=r"captures\.json: cannot be written \(No space left"):
        capture_folder.prepare(tmp_path)
    assert index_in(tmp_path) == []
