"""What a terminal shows: tables of rounds, times, JSON and CSV."""

import ast
import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from sabot import cli
from sabot.cli import view
from sabot.cli.records.rounds_table import ROUND_COLUMNS, round_cells, rounds_table
from sabot.log.rounds import Round
from sabot.reports.terminal.rounds import round_line
from sabot.text import local_time
from sabot_hil import cli as hil_cli


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Sets this machine's time zone by TZ, and restores it."""
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


def a_round(**given: object) -> Round:
    fields = {"unit": "U1", "shoe": 3, "round": 12, "first_event": 1, "started_unix_ms": None}
    return Round(**(fields | given))  # type: ignore[arg-type]


def test_the_table_of_rounds_shows_each_round(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [a_round(round=n, player=["9C"], player_total=9, winner="player") for n in (1, 2)]
    view.print_rows(ROUND_COLUMNS, map(round_cells, rounds), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == list(ROUND_COLUMNS)
    assert [line.split()[2] for line in lines[1:]] == ["1", "2"]
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(rounds_table(rounds))
    of_one_shoe = console.export_text().splitlines()
    assert [line.split() for line in of_one_shoe] == [
        lines[0].split()[3:],
        *(line.split()[2:] for line in lines[1:]),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UTC", "2026-01-15 11:30:00"),
        ("America/New_York", "2026-01-15 06:30:00"),
        ("Europe/Rome", "2026-01-15 12:30:00"),
        ("Asia/Macau", "2026-01-15 19:30:00"),
        ("XYZ-5:45", "2026-01-15 17:15:00"),
    ],
)
def test_times_are_shown_in_this_machines_zone(
    zone: pytest.MonkeyPatch, name: str, text: str
) -> None:
    zone.setenv("TZ", name)
    time.tzset()
    assert local_time(1_768_476_600_000) == text
    assert local_time(1_768_476_600_999) == text


def test_summer_time_depends_on_the_event_and_not_on_today(zone: pytest.MonkeyPatch) -> None:
    zone.setenv("TZ", "Europe/Rome")
    time.tzset()
    assert local_time(1_784_115_000_000) == "2026-07-15 13:30:00"


def test_a_missing_time_is_shown_as_no_clock() -> None:
    assert local_time(None) == "no clock"


@pytest.mark.parametrize("unix_ms", [1 << 50, 1 << 62, (1 << 64) - 1])
def test_a_time_that_no_calendar_has_is_shown_in_milliseconds(unix_ms: int) -> None:
    assert local_time(unix_ms) == f"{unix_ms} ms"


@pytest.mark.parametrize("unit", ["[/x]", "[red]U1", "a\x1b[2Jb", "a\nb"])
def test_a_unit_id_is_shown_without_effect_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unit: str
) -> None:
    ended = a_round(unit=unit, winner="tie")
    view.print_rows(ROUND_COLUMNS, [round_cells(ended)], {})
    _, piped = capsys.readouterr().out.splitlines()
    shown_on = view.Door(width=120, file=io.StringIO(), record=True, force_terminal=True)
    monkeypatch.setattr(view, "console", shown_on)
    view.print_rows(ROUND_COLUMNS, [round_cells(ended)], {})
    shown_on.print(round_line(ended))
    _, row, line = shown_on.export_text().splitlines()
    shown = unit.replace("\x1b", "\\x1b").replace("\n", "\\n")
    assert all(each.startswith(shown) for each in (piped, row, line))


OBJECTS = [
    {"unit": "U,1", "cards": ["7H", "TC"], "fields": {"a": 1, "b": None}, "ok": True, "no": None},
    {"unit": 'U"2"', "cards": [], "fields": {}, "ok": False, "no": 5},
]


def test_objects_can_be_parsed_from_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    view.print_objects(OBJECTS, view.Output.JSON)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == OBJECTS


def test_objects_can_be_parsed_from_csv(capsys: pytest.CaptureFixture[str]) -> None:
    view.print_objects(OBJECTS, view.Output.CSV)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["unit"] for row in rows] == ["U,1", 'U"2"']
    assert [row["cards"] for row in rows] == ["7H TC", ""]
    assert [json.loads(row["fields"]) for row in rows] == [each["fields"] for each in OBJECTS]
    assert [row["ok"] for row in rows] == ["true", "false"]
    assert [row["no"] for row in rows] == ["", "5"]


FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\uff1d1", "a;=1", "a|+1", "a; -1",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("where", [lambda text: text, lambda text: [text], lambda text: [[text]]])
def test_no_cell_of_csv_is_a_formula(
    capsys: pytest.CaptureFixture[str], formula: str, where: Callable[[str], object]
) -> None:
    view.print_objects([{"unit": where(formula), "n": -5}], view.Output.CSV)
    out = capsys.readouterr().out
    (row,) = csv.DictReader(io.StringIO(out))
    for separator in (",", ";", "|", "\t"):  # of spreadsheets in different languages
        for cell in row["unit"].split(separator):
            assert cell.strip()[:1] not in ("=", "+", "-", "@", "\uff1d"), out
    assert row["n"] == "-5"


def test_a_table_takes_no_markup_and_no_controls() -> None:
    shown = view.Door(file=io.StringIO(), record=True, width=200)
    table = Table()
    table.add_column("[red]unit[/red]")
    table.add_row("[bold]\x1b[2Ja\nb :bomb:")
    shown.print(table)
    shown.print("[red]\x1b[2J", "\u202e")
    text = shown.export_text()
    assert "[red]unit[/red]" in text and "[bold]\\x1b[2Ja\\nb :bomb:" in text
    assert "[red]\\x1b[2J \\u202e" in text


_AROUND = {"print", "echo", "secho", "Console", "Text", "from_markup", "from_ansi"}
"""Calls with which a command would go around the door."""


@pytest.mark.slow
def test_no_command_goes_around_the_door() -> None:
    sources = [*Path(cli.__file__).parent.rglob("*.py"), Path(hil_cli.__file__)]
    assert len(sources) > 20
    around = []
    for source in sources:
        if source.name in _DOOR:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call):
                called = node.func
                name = called.id if isinstance(called, ast.Name) else ""
                if isinstance(called, ast.Attribute):
                    name = called.attr
                    if name == "print" and ast.unparse(called.value) in _CONSOLES:
                        continue
                if name in _AROUND or "sys.stdout" in ast.unparse(called):
                    around.append(f"{source.name}:{node.lineno}: {ast.unparse(node)[:60]}")
    assert around == []


_DOOR = {"view.py", "long_table.py"}
_CONSOLES = {"console", "problems", "bar.console"}
