"""The options by which commands choose what they read of a log."""

import json
from pathlib import Path

import pytest

from host.tests.support.commands import error_line_here, run_here
from host.tests.support.helpers import event_bytes, new_log
from sabot.link.session import Record
from sabot.link.wire import parse_event


def _records(*events: tuple[str, dict[str, object]]) -> list[Record]:
    made = [
        event_bytes(kind, number, t_ms=1000 * number, **fields)
        for number, (kind, fields) in enumerate(events, 1)
    ]
    return [Record(parse_event(data), data, bytes(16)) for data in made]


_ON: tuple[str, dict[str, object]] = ("service", {"on": True})
_OFF: tuple[str, dict[str, object]] = ("service", {"on": False})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the log of U1, which was moved from table 12 to table 14, and of U2 at table 9.
    The service switch was on once at each table."""
    at_12, at_14, at_9 = (("provisioned", {"table": name}) for name in ("12", "14", "9"))
    with new_log(tmp_path / "log") as store:
        store.append("U1", _records(at_12, _ON, _OFF, at_14, _ON))
        store.append("U2", _records(at_9, _ON))
    return tmp_path


def _found(folder: Path, *arguments: str) -> list[tuple[str, int | None]]:
    out, problems, code = run_here(folder, *arguments, "--db", "log", "--json")
    assert code == 0, problems
    listed = [json.loads(line) for line in out.splitlines()]
    return [(each["unit"], each.get("event")) for each in listed]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((), [("U1", 2), ("U1", 5), ("U2", 2)]),
        (("--unit", "U2", "--unit", "U1"), [("U1", 2), ("U1", 5), ("U2", 2)]),
        (("--unit", "U1"), [("U1", 2), ("U1", 5)]),
        (("--table", "12"), [("U1", 2)]),
        (("--table", "14"), [("U1", 5)]),
        (("--unit", "U2", "--table", "12"), []),
    ],
)
def test_incidents_are_those_of_the_units_while_at_the_table(
    folder: Path, given: tuple[str, ...], wanted: list[tuple[str, int]]
) -> None:
    assert _found(folder, "incidents", *given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((), ["U1", "U2"]),
        (
            (
                "--unit",
                "U2",
            ),
            ["U2"],
        ),
        (("--table", "14"), ["U1"]),
        (("--table", "12"), []),
        (("--table", "9"), ["U2"]),
    ],
)
def test_units_are_those_at_the_table_now(
    folder: Path, given: tuple[str, ...], wanted: list[str]
) -> None:
    assert [unit for unit, _ in _found(folder, "units", *given)] == wanted


@pytest.mark.parametrize("command", ["rounds", "events", "incidents", "units"])
def test_a_table_at_which_no_unit_stood_is_refused(folder: Path, command: str) -> None:
    line = error_line_here(folder, command, "--db", "log", "--table", "99", code=8)
    assert line == "log: has no table 99; there are: 12, 14, 9"


@pytest.mark.parametrize("command", ["rounds", "events"])
@pytest.mark.parametrize(
    "given",
    [
        ("--winner", "dealer"),
        ("--cards", "1X"),
        ("--at", "25:00"),
        ("--from", "25:00"),
        ("--json", "--csv"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_log_is_opened(
    tmp_path: Path, command: str, given: tuple[str, ...]
) -> None:
    _, _, code = run_here(tmp_path, command, "--db", "missing", *given)
    assert code == 2
