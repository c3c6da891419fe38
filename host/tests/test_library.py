"""`import sabot` as other programs use it, outside the checkout."""

import inspect
import os
import random
import re
import subprocess
import sys
import typing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import sabot
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import TEST_KEY, FirmwareLog, new_log, stored
from sabot.keys import chain_keys as unit_keys
from sabot_firmware import VERSION

_DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "library.md"
_START = datetime(2026, 11, 18, 11, 6, 40, tzinfo=UTC)
_TIMEOUT_S = 240

_SHOES = "AS 2C 9S KC KD 7D next CUT JD AD 7C 6H key", "2S 3C 4C 6S 5D QH KH 2D"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with evening.sqlite, a log of two shoes of cards of SHOE-7, and its keys."""
    log = FirmwareLog()
    for cards in _SHOES:
        log.load().draw(*cards.split())
    with new_log(tmp_path / "evening.sqlite") as store:
        store.append("SHOE-7", stored(log.records))
    unit_keys.add(tmp_path / "sabot.keys", "SHOE-7", TEST_KEY)
    return tmp_path


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "evening.sqlite"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _DOCUMENT.read_text(), re.DOTALL)


def _python(folder: Path, *arguments: str) -> str:
    """The output of Python in `folder`, where it finds only the installed package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_program_in_the_document_passes_mypy_and_prints_what_is_shown(folder: Path) -> None:
    (program,) = _blocks("python")
    (printed,) = _blocks("text")
    (folder / "program.py").write_text(program)
    cache = f"--cache-dir={folder / 'cache'}"
    assert "no issues" in _python(folder, "-m", "mypy", "--strict", cache, "program.py")
    assert _python(folder, "program.py") == printed


@pytest.mark.slow
def test_mypy_finds_a_wrong_name_and_a_wrong_argument(folder: Path) -> None:
    (folder / "program.py").write_text(
        "import sabot\n"
        "sabot.nothing\n"
        'sabot.open("x").rounds(since="today")\n'
        'total: str = next(sabot.open("x").rounds()).player_total\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={folder / 'c'}", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in errors] == ["2", "3", "4"]


def test_the_document_lists_every_public_name_and_field() -> None:
    text = _DOCUMENT.read_text()
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)[`.(]", row)}
    assert named == set(sabot.__all__)
    for kind in (
        sabot.Round, sabot.Hand, sabot.LogEvent, sabot.Card, sabot.Verification, sabot.Finding,
    ):  # fmt: skip
        (row,) = re.findall(rf"^\| .*`{kind.__name__}`.*? \| (.*) \|$", text, re.MULTILINE)
        own = {name for name in vars(kind) if not name.startswith("_")} - {"as_json"}
        assert {name for name in own if f"`{name}`" not in row} == set(), kind
    for name, method in vars(sabot.Log).items():
        if callable(method) and not name.startswith("_"):
            (listed,) = re.findall(rf"^\| `Log\.{name}\((.*?)\)`", text, re.MULTILINE)
            parameters = [each for each in inspect.signature(method).parameters if each != "self"]
            assert re.findall(r"\w+", listed) == parameters, name


def test_every_public_name_has_a_docstring() -> None:
    for name in sabot.__all__:
        value = getattr(sabot, name)
        if name != "__version__":
            assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name
    for kind in (
        sabot.Log, sabot.Round, sabot.Hand, sabot.LogEvent, sabot.Card, sabot.Verification,
    ):  # fmt: skip
        for name, member in vars(kind).items():
            if name.startswith("_") or isinstance(member, type(vars(sabot.Round)["unit"])):
                continue
            assert inspect.getdoc(member), f"{kind.__name__}.{name}"


def test_importing_it_imports_almost_nothing_else() -> None:
    imported = _python(
        Path("/"),
        "-c",
        "import sys; before = {*sys.modules}; import sabot; sabot.__version__; dir(sabot)\n"
        "print(*sorted({*sys.modules} - before))",
    )
    assert len(imported.split()) <= 3, imported


def test_the_version_is_that_of_the_release() -> None:
    assert sabot.__version__ == VERSION
    assert set(sabot.__all__) <= set(dir(sabot))
    with pytest.raises(AttributeError, match="no attribute 'rounds_of'"):
        _ = sabot.rounds_of  # type: ignore[attr-defined]


def test_rounds_can_be_filtered(path: Path) -> None:
    with sabot.open(str(path)) as log:
        assert log.place == path and log.units() == ["SHOE-7"]
        whole = list(log.rounds())
        assert [(each.shoe, each.round) for each in whole] == [(1, 1), (1, 2), (2, 1)]
        assert [each.round for each in log.rounds("SHOE-7", shoe=2)] == [1]
        assert list(log.rounds("SHOE-8")) == []
        starts = [each.started for each in whole]
        assert starts == sorted(starts)  # type: ignore[type-var]
        assert list(log.rounds(since=starts[1])) == whole[1:]
        assert list(log.rounds(until=starts[1])) == whole[:1]
        assert list(log.rounds(since=starts[1], until=starts[2])) == whole[1:2]
        later = starts[1] + timedelta(microseconds=1)  # type: ignore[operator]
        assert list(log.rounds(since=later)) == whole[2:]
        assert list(log.rounds(until=later)) == whole[:2]
        elsewhere = later.astimezone(timezone(timedelta(hours=-7)))
        assert list(log.rounds(since=elsewhere)) == whole[2:]


def test_rounds_are_those_of_one_family(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    baccarat = FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D")
    boxes, hand = BoxLog().load(), HandLog()
    boxes.round(2, rng)
    hand.deal_random(rng)
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(baccarat.records))
        store.append("U2", stored(boxes.records))
        store.append("U3", stored(hand.records))
    with sabot.open(tmp_path / "log") as log:
        assert [type(each) for each in log.rounds(with_void=True)] == [sabot.Round]
        for family, unit in ((sabot.Round, "U1"), (sabot.BlackjackRound, "U2"), (sabot.Hand, "U3")):
            (only,) = log.rounds(family=family, with_void=True)
            assert type(only) is family and only.unit == unit
            assert list(log.rounds("U4", family=family)) == []


def test_a_round_has_cards_and_times(path: Path) -> None:
    with sabot.open(path) as log:
        dealt = next(log.rounds())
    assert dealt.player == ("9S", "KD") and dealt.banker == ("KC", "7D")
    assert [card.symbol for card in dealt.player] == ["9♠", "K♦"]
    assert (dealt.player[0].rank, dealt.player[0].suit) == ("9", "S")
    assert (sabot.Card("CUT").rank, sabot.Card("CUT").suit) == ("", "")
    assert dealt.started is not None and dealt.ended is not None
    assert dealt.started.tzinfo is UTC and _START < dealt.started < dealt.ended
    with pytest.raises(AttributeError):
        dealt.winner = "tie"  # type: ignore[misc]


def test_void_rounds_are_listed_on_request(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw("AS", "2C", "KS", "7H", "blank", "!void")
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(log.records))
    with sabot.open(tmp_path / "log") as opened:
        assert list(opened.rounds()) == []
        (voided,) = opened.rounds(with_void=True)
    assert voided.void == "unreadable" and voided.winner is None


def test_events_can_be_filtered(path: Path) -> None:
    with sabot.open(path) as log:
        whole = list(log.events())
        assert [each.number for each in whole] == list(range(1, len(whole) + 1))
        drawn = list(log.events(shoe=1, round=2, kinds=["card"]))
        assert [each.fields["card"] for each in drawn] == ["JD", "AD", "7C", "6H"]
        assert all(isinstance(each.fields["card"], sabot.Card) for each in drawn)
        assert list(log.events(kinds="card", shoe=1, round=2)) == drawn
        assert list(log.events("SHOE-8")) == []
        at = drawn[1].time
        assert next(log.events(kinds=["card"], since=at)) == drawn[1]
        assert list(log.events(kinds=["card"], until=at))[-1] == drawn[0]
        assert whole[0].time is None and whole[0].kind == "boot"
        assert re.fullmatch("[0-9a-f]{64}", whole[0].fields["build"])
        with pytest.raises(ValueError, match="no event is of kind 'cards'; kinds: boot, "):
            log.events(kinds=["cards"])


@pytest.mark.parametrize("bound", ["since", "until"])
@pytest.mark.parametrize("lists", ["rounds", "events"])
def test_a_time_without_a_zone_is_refused_at_once(path: Path, bound: str, lists: str) -> None:
    with sabot.open(path) as log:
        with pytest.raises(ValueError, match=f"{bound}: 2026-11-18T11:00:00 has no time zone"):
            getattr(log, lists)(**{bound: datetime(2026, 11, 18, 11)})


def test_a_log_is_verified_with_its_keys_and_without(folder: Path, path: Path) -> None:
    with sabot.open(path) as log:
        good = log.verify(keys=folder / "sabot.keys")
        assert good.ok and good.findings == () and (good.units, good.rounds) == (1, 3)
        unproven = log.verify()
        assert [finding.kind for finding in unproven.findings] == ["no_key"]
        assert not unproven.ok
        with pytest.raises(sabot.KeysUnusable, match="nowhere"):
            log.verify(keys=folder / "nowhere")


def test_every_error_is_a_sabot_error(tmp_path: Path) -> None:
    with pytest.raises(sabot.DatabaseUnusable, match="no such database"):
        sabot.open(tmp_path / "nothing")
    assert issubclass(sabot.DatabaseUnusable, sabot.SabotError)


def test_every_annotation_can_be_resolved() -> None:
    names = {"Finding": sabot.Finding, "Note": sabot.Note}
    hints = typing.get_type_hints(sabot.Verification, localns=names)
    assert hints["findings"] == tuple[sabot.Finding, ...]
