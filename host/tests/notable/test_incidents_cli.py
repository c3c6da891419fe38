"""`sabot incidents`: which incidents it lists, for which time, and in which form."""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import event_bytes, new_log
from sabot.cli import app
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.presence import Span
from sabot.log.store import open_store
from sabot.notable.kinds import LISTED

START_UNIX_MS = 1_795_000_000_000  # 2026-11-18 12:06:40 in Malta
HOUR_MS = 3_600_000
PAGE = Path(__file__).resolve().parents[3] / "docs" / "surveillance.md"


class TypedRecords:
    """Records of a unit. `at_ms` is the time since START_UNIX_MS; None if the clock is not set."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, kind: str, at_ms: int | None, shoe: int, round_: int = 0, **fields: Any) -> None:
        number = len(self.records) + 1
        given = {"boot": 1, "t_ms": at_ms or number, "shoe": shoe, "round": round_} | fields
        unix_ms = None if at_ms is None else START_UNIX_MS + at_ms
        data = event_bytes(kind, number, **({"unix_ms": unix_ms} | given))
        self.records.append(Record(parse_event(data), data, bytes(16)))


def evening() -> TypedRecords:
    """Three shoes of cards, an hour each. In each the lid is opened in round 1, and round 2 has an
    error. The last error is not cleared.
    """
    log = TypedRecords()
    for shoe in (1, 2, 3):
        at = (shoe - 1) * HOUR_MS
        log.add("shoe_loaded", at, shoe, decks=8, game="mini")
        log.add("betting_open", at + 60_000, shoe, 1)
        log.add("lid", at + 90_000, shoe, 1, open=True)
        log.add("lid", at + 95_000, shoe, 1, open=False)
        log.add("round_void", at + 96_000, shoe, 1)
        log.add("betting_open", at + 100_000, shoe, 2)
        log.add("error", at + 1_800_000, shoe, 2, error="samples_lost")
        if shoe < 3:
            log.add("key", at + 1_860_000, shoe, 2, on=True)
            log.add("error_cleared", at + 1_860_000, shoe, 2, error="samples_lost")
            log.add("key", at + 1_861_000, shoe, 2, on=False)
            log.add("shoe_ended", at + 1_900_000, shoe, 2, reason="cut_card", rounds=0, cards=0)
    return log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with sabot.sqlite: an evening of U1, and of U2 a card without a clock."""
    folder = tmp_path_factory.mktemp("logs")
    other = TypedRecords()
    other.add("boot", None, 5, firmware="1.0")
    other.add("card", None, 5, 9, card="7H", position="player_1", by_hand=True, t_ms=61_500)
    other.add("betting_open", None, 5, 10)  # so the card is not secret any more
    with new_log(folder / "sabot.sqlite") as store:
        store.append("U1", evening().records)
        store.append("U2", other.records)
    yield folder


@pytest.fixture
def sabot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls `sabot incidents` in `folder`, in Malta's zone, and returns both of its outputs."""
    monkeypatch.chdir(folder)

    def call(*arguments: str, code: int = 0) -> tuple[str, str]:
        zone = () if "--zone" in arguments else ("--zone", "Europe/Malta")
        done = CliRunner().invoke(app(), ["incidents", *zone, *arguments], env={"COLUMNS": "200"})
        assert done.exit_code == code, done.output
        return done.stdout, done.stderr

    return call


def found(outputs: tuple[str, str]) -> list[tuple[str, int, int, str]]:
    """Unit, event, shoe of cards and kind from the output of --json."""
    objects = [json.loads(line) for line in outputs[0].splitlines()]
    return [(each["unit"], each["event"], each["shoe"], each["kind"]) for each in objects]


ALL = [
    ("U1", 3, 1, "lid"), ("U1", 5, 1, "void"), ("U1", 7, 1, "error"),
    ("U1", 14, 2, "lid"), ("U1", 16, 2, "void"), ("U1", 18, 2, "error"),
    ("U1", 25, 3, "lid"), ("U1", 27, 3, "void"), ("U1", 29, 3, "error"),
    ("U2", 2, 5, "by_hand"),
]  # fmt: skip


def test_all_are_listed_by_unit_and_event(sabot: Any) -> None:
    assert found(sabot("--json")) == ALL


def test_the_table_says_where_to_look(sabot: Any) -> None:
    lines = sabot("--shoe", "2")[0].splitlines()
    shown = [" ".join(line.split()) for line in lines]
    assert shown == [
        "unit table event time shoe round kind lasted what",
        "U1 14 2026-11-18 13:08:10 +01:00 2 1 lid 5.0 s lid open with a shoe of cards in play",
        "U1 16 2026-11-18 13:08:16 +01:00 2 1 void by the supervisor",
        "U1 18 2026-11-18 13:36:40 +01:00 2 2 error 1 min 00 s samples lost; cleared with the "
        "supervisor's key",
    ]


@pytest.mark.slow
def test_json_and_csv_have_the_same_values(sabot: Any) -> None:
    objects = [json.loads(line) for line in sabot("--json")[0].splitlines()]
    rows = list(csv.DictReader(io.StringIO(sabot("--csv")[0])))
    assert objects[0] == {
        "unit": "U1", "table": "", "kind": "lid", "event": 3, "shoe": 1, "round": 1,
        "time": "2026-11-18T12:08:10.000+01:00", "reckoned": False, "boot": 1, "t_ms": 90_000,
        "lasted_ms": 5000, "stands": False, "detail": "lid open with a shoe of cards in play",
        "nearest": None, "board_number": 1,
    }  # fmt: skip
    for each, row in zip(objects, rows, strict=True):
        for name in ("reckoned", "stands"):
            assert row.pop(name) == json.dumps(each.pop(name))
        assert row == {name: "" if value is None else str(value) for name, value in each.items()}


@pytest.fixture
def absent(tmp_path: Path) -> str:
    """A log of U1, which was away for 90 s and then not logged for an hour."""
    at = START_UNIX_MS
    with open_store(tmp_path / "absent", create=True) as store:
        store.append("U1", evening().records)
        store.keep_presence(
            [
                Span("U1", at, at + 60_000, "attached"),
                Span("U1", at + 60_000, at + 150_000, "waiting"),
                Span("U1", at + 150_000, at + HOUR_MS, "attached"),
                Span("U1", at + 2 * HOUR_MS, at + 3 * HOUR_MS, "attached"),
            ]
        )
    return str(tmp_path / "absent")


def test_absences_come_after_the_other_incidents_in_every_form(sabot: Any, absent: str) -> None:
    outputs = sabot("--db", absent, "--json")
    assert [each for each in found(outputs) if each[1]] == [each for each in ALL if each[0] == "U1"]
    *_, away, not_logged = map(json.loads, outputs[0].splitlines())
    assert away == {
        "unit": "U1", "table": "", "kind": "away", "event": None, "shoe": None, "round": None,
        "time": "2026-11-18T12:07:40.000+01:00", "reckoned": False, "boot": None, "t_ms": None,
        "lasted_ms": 90_000, "stands": False, "nearest": None, "board_number": 1,
        "detail": "the log ran, and had no session with the shoe",
    }  # fmt: skip
    assert not_logged["time"] == "2026-11-18T13:06:40.000+01:00"
    assert not_logged["lasted_ms"] == HOUR_MS
    shown = sabot("--db", absent)[0].splitlines()[-2:]
    assert [" ".join(line.split()) for line in shown] == [
        "U1 2026-11-18 12:07:40 +01:00 away 1 min 30 s until 2026-11-18 12:09:10 +01:00; the log "
        "ran, and had no session with the shoe",
        "U1 2026-11-18 13:06:40 +01:00 not_logged 1 h 00 min until 2026-11-18 14:06:40 +01:00; "
        "no log of the shoe ran",
    ]
    rows = list(csv.DictReader(io.StringIO(sabot("--db", absent, "--csv")[0])))
    assert [(row["kind"], row["event"], row["lasted_ms"]) for row in rows[-2:]] == [
        ("away", "", "90000"), ("not_logged", "", str(HOUR_MS)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--kind", "away"], ["away"]),
        (["--kind", "away", "--kind", "not_logged", "--shoe", "1"], []),
        (["--kind", "away", "--kind", "not_logged", "--to", "2026-11-18T13:00"], ["away"]),
        (["--kind", "away", "--kind", "not_logged", "--from", "2026-11-18T13:30"], ["not_logged"]),
    ],
)
def test_absences_are_filtered_as_other_incidents(
    sabot: Any, absent: str, arguments: list[str], wanted: list[str]
) -> None:
    kinds = [each[3] for each in found(sabot("--db", absent, "--json", *arguments))]
    assert kinds == wanted


def test_missing_cards_name_the_nearest_passes_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = TypedRecords()
    log.add("shoe_loaded", 0, 1, decks=8, game="mini")
    log.add("card", 60_000, 1, 4, card="KC", position="player_1")
    log.add("long_pass", 60_000, 1, 4, card="KC", longer_um=5040)
    log.add("error", HOUR_MS, 1, 9, error="cards_missing")
    with new_log(tmp_path / "sabot.sqlite") as store:
        store.append("U1", log.records)
    monkeypatch.chdir(tmp_path)

    def shown(*options: str) -> str:
        arguments = ["incidents", "--zone", "Europe/Malta", "--from", "2026-11-18T13:00", *options]
        done = CliRunner().invoke(app(), arguments, env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    passes = "nearest passes: event 3, round 4, 12:07:40: K♣, 5.0 mm longer than one card"
    assert shown().endswith(f"error 0.0 s, not over cards missing; {passes}")
    nearest = json.loads(shown("--json"))["nearest"]
    assert [(each["event"], each["card"], each["longer_um"]) for each in nearest] == [
        (3, "KC", 5040)
    ]
    assert '""longer_um"": 5040' in shown("--csv")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--unit", "U2"), lambda unit, event, shoe, kind: unit == "U2"),
        (("--shoe", "2"), lambda unit, event, shoe, kind: shoe == 2),
        (("--shoe", "4"), lambda unit, event, shoe, kind: False),
        (("--kind", "lid"), lambda unit, event, shoe, kind: kind == "lid"),
        (("--kind", "lid", "--kind", "by_hand"),
         lambda unit, event, shoe, kind: kind in ("lid", "by_hand")),
        (("--unit", "U1", "--shoe", "3", "--kind", "error"),
         lambda unit, event, shoe, kind: event == 29),
    ],
)  # fmt: skip
def test_incidents_can_be_filtered(sabot: Any, options: tuple[str, ...], wanted: Any) -> None:
    assert found(sabot("--json", *options)) == [each for each in ALL if wanted(*each)]


@pytest.mark.parametrize(
    ("from_", "to", "events"),
    [
        ("2026-11-18T12:08:10", "2026-11-18T12:08:11", [3]),
        ("2026-11-18T12:08:12", "2026-11-18T12:08:13", [3]),  # open for two seconds
        ("2026-11-18T12:08:16", "2026-11-18T12:08:17", [5]),
        ("2026-11-18T12:37:00", "2026-11-18T12:37:10", [7]),  # within the error, without an event
        ("2026-11-18T12:37:41", "2026-11-18T13:08:10", []),
        ("2026-11-18T13:36:40Z", None, [29]),
        ("2026-11-18T14:00", None, [25, 27, 29]),
        (None, "2026-11-18T13:00", [3, 5, 7]),
        ("2026-11-18T13:00", "2026-11-18T14:00", [14, 16, 18]),
        ("2026-11-18T14:40", None, [29]),  # it is still not over
        ("2027-01-01", None, [29]),
        (None, "2026-11-18", []),
    ],
)  # fmt: skip
def test_incidents_can_be_filtered_by_time(
    sabot: Any, from_: str | None, to: str | None, events: list[int]
) -> None:
    options = [] if from_ is None else ["--from", from_]
    options += [] if to is None else ["--to", to]
    shown = found(sabot("--unit", "U1", "--json", *options))
    assert [event for _, event, _, _ in shown] == events


@pytest.mark.slow
def test_an_incident_without_a_clock_is_listed_for_every_time_with_a_note(sabot: Any) -> None:
    out, problems = sabot("--unit", "U2", "--from", "2026-11-18T12:00")
    assert " ".join(out.splitlines()[1].split()) == (
        "U2 2 no clock, boot 1 + 61.5 s 5 9 by_hand 7♥ as player 1"
    )
    note = "incidents without a clock, perhaps from another time: 1\n"
    assert problems == note
    for option in ("--json", "--csv"):
        out, problems = sabot(option, "--to", "2026-11-18T12:08")
        assert "by_hand" in out and problems == note
    assert sabot("--unit", "U2")[1] == ""


def test_times_are_in_the_requested_zone(sabot: Any) -> None:
    lines = sabot("--unit", "U1", "--kind", "error", "--shoe", "1", "--zone", "Asia/Macau")[0]
    assert "2026-11-18 19:36:40 +08:00" in lines
    options = ("--zone", "Asia/Macau", "--unit", "U1", "--from", "2026-11-18T19:36:40",
               "--to", "2026-11-18T19:36:41")  # fmt: skip
    assert [event for _, event, _, _ in found(sabot("--json", *options))] == [7]


def test_a_time_that_was_reckoned_says_so(tmp_path: Path) -> None:
    log = TypedRecords()
    log.add("shoe_loaded", 0, 1)
    log.add("boot", None, 1, boot=2, t_ms=0)
    log.add("clock_set", 20_000, 1, boot=2, t_ms=10_000)
    with new_log(tmp_path / "log") as store:
        store.append("U1", log.records)
    arguments = ["incidents", "--zone", "Europe/Malta", "--db", str(tmp_path / "log")]
    said = CliRunner().invoke(app(), arguments).stdout
    assert "2026-11-18 12:06:50 +01:00 (reckoned)" in said
    # A reckoned time is filtered like any other.
    early = [*arguments, "--to", "2026-11-18T12:06:50"]
    assert CliRunner().invoke(app(), early).stdout.endswith("no incidents\n")


def test_the_limits_of_long_rounds_and_reveals_are_options(tmp_path: Path) -> None:
    log = TypedRecords()
    log.add("shoe_loaded", 0, 1, game="ez-midi")
    log.add("betting_open", 1000, 1, 1)
    log.add("betting_closed", 2000, 1, 1)
    log.add("result", 32_000, 1, 1)
    log.add("button", 52_000, 1, 1, button="reveal")
    with new_log(tmp_path / "log") as store:
        store.append("U1", log.records)
    for options, wanted in (
        ((), []),
        (("--long-round-s", "29"), ["long_round"]),
        (("--long-round-s", "30"), []),
        (("--long-reveal-s", "19"), ["long_reveal"]),
        (("--long-round-s", "0", "--long-reveal-s", "0"), ["long_round", "long_reveal"]),
    ):
        kinds = ("--kind", "long_round", "--kind", "long_reveal")
        arguments = ["incidents", "--json", "--db", str(tmp_path / "log"), *kinds, *options]
        lines = CliRunner().invoke(app(), arguments).stdout.splitlines()
        assert [json.loads(line)["kind"] for line in lines] == wanted


def test_disagreements_of_the_verifier_are_listed(sabot: Any, tmp_path: Path) -> None:
    log = TypedRecords()
    log.add("shoe_loaded", 0, 1, decks=8)
    log.add("betting_open", 1, 1, 1)
    log.add("betting_closed", 2, 1, 1)
    hands = (("9S", "player_1"), ("2C", "banker_1"), ("KS", "player_2"), ("5C", "banker_2"))
    for card, position in hands:
        log.add("card", 3, 1, 1, card=card, position=position)
    log.add("decision", 4, 1, 1, hand="player", action="natural", total=9)
    log.add("decision", 4, 1, 1, hand="banker", action="stands", total=7)
    log.add("result", 5, 1, 1, winner="banker", player_total=9, banker_total=7,
            player_natural=True, margin=2)  # fmt: skip
    with new_log(tmp_path / "log") as store:
        store.append("U1", log.records)
    said = sabot("--json", "--db", str(tmp_path / "log"), "--kind", "rules")[0]
    (incident,) = [json.loads(line) for line in said.splitlines()]
    assert (incident["event"], incident["round"]) == (10, 1)
    assert incident["detail"].endswith("winner is banker in the log, player by the cards")


def test_a_log_without_incidents_says_so(tmp_path: Path) -> None:
    new_log(tmp_path / "log").close()
    for options, said in (((), f"{tmp_path / 'log'}: no incidents\n"), (("--json",), "")):
        done = CliRunner().invoke(app(), ["incidents", "--db", str(tmp_path / "log"), *options])
        assert (done.exit_code, done.stdout, done.stderr) == (0, said, "")


def test_an_unreadable_record_hides_no_other_incident(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes((folder / "sabot.sqlite").read_bytes())
    (tmp_path / "log").chmod(0o600)
    with closing(sqlite3.connect(tmp_path / "log", isolation_level=None)) as connection:
        connection.execute("UPDATE records SET record = x'00' WHERE number = 15 AND unit = 1")
    arguments = ["incidents", "--json", "--unit", "U1", "--db", str(tmp_path / "log")]
    done = CliRunner().invoke(app(), arguments)
    shown = found((done.stdout, done.stderr))
    assert set(ALL[:9]) - set(shown) <= {("U1", 14, 2, "lid")}
    assert ("U1", 16, 2, "gap") in shown
    assert done.stderr == "records that cannot be read: 1; `sabot verify` shows why\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kind", "nonsense"), "no incident is of kind 'nonsense'; kinds: error, by_hand, void"),
        (("--zone", "Europe/Valetta"), "there is no zone 'Europe/Valetta'"),
        (("--from", "2026-03-29T02:30"), "that the clocks of Europe/Malta skip"),
        (("--to", "2026-10-25T02:30"), "write 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00"),
        (("--from", "2026-11-18T12:00", "--to", "2026-11-18T11:00"), "is not after"),
        (("--from", "soon"), "'soon' is not a time; write it as 2026-11-21T20:15, or 20:15 for"),
        (("--long-round-s", "-1"), "--long-round-s"),
        (("--json", "--csv"), "exclude each other"),
    ],
)  # fmt: skip
def test_wrong_usage(sabot: Any, options: tuple[str, ...], said: str) -> None:
    out, problems = sabot(*options, code=2)
    assert out == "" and said in " ".join(problems.replace("│", " ").split())


def test_text_from_a_shoe_cannot_control_the_terminal(tmp_path: Path) -> None:
    log = TypedRecords()
    hostile = "[/red]\x1b[2J\n"
    log.add("boot", 0, 1, build=b"\1")
    log.add("boot", 1, 1, boot=2, firmware=hostile, game=hostile, build=b"\2")
    with new_log(tmp_path / "log") as store:
        store.append("[/unit]", log.records)
    for options in ((), ("--json",), ("--csv",)):
        done = CliRunner().invoke(app(), ["incidents", "--db", str(tmp_path / "log"), *options])
        assert done.exit_code == 0 and "[/unit]" in done.stdout
        assert "\x1b" not in done.stdout


def test_help_and_the_officers_page_list_every_kind() -> None:
    said = CliRunner().invoke(app(), ["incidents", "--help"], env={"COLUMNS": "80"}).stdout
    assert all(len(line) <= 80 for line in said.splitlines())
    page = PAGE.read_text(encoding="utf-8")
    for name, kind in LISTED.items():
        assert f" {name} " in said and kind.words in said
        assert f"| `{name}` | {kind.words} |" in page
