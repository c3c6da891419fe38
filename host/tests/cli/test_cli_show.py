"""`sabot rounds` and `events`: their output can be parsed, and filters filter."""

import csv
import io
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    done_here,
)
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.helpers import (
    FirmwareLog,
    event_bytes,
    new_log,
    parsed,
    shuffled_names,
    stored,
)
from sabot.cli import app
from sabot.log.store import open_store
from sabot_protocol import cards
from sabot_protocol.baccarat import Game, document_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with log.sqlite: two shoes of cards of U1, one of U2."""
    folder = tmp_path_factory.mktemp("logs")
    first = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=340))
    first.deal_shoe(shuffled_names(2, cut_from_end=370))
    second = FirmwareLog().deal_shoe(shuffled_names(3, cut_from_end=350))
    with new_log(folder / "log.sqlite") as store:
        store.append("U1", stored(first.records))
        store.append("U2", stored(second.records))
    yield folder


@pytest.fixture
def sabot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in `folder`; returns its standard output."""
    monkeypatch.chdir(folder)

    def call(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app(), [*arguments, "--db", "log.sqlite"])
        assert done.exit_code == code, done.output
        return done.stdout

    return call


def objects(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def rows(output: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(output)))


def test_events_are_printed_as_json_with_card_names_and_hex_bytes(sabot: Any, folder: Path) -> None:
    printed = objects(sabot("events", "--json"))
    with open_store(folder / "log.sqlite") as store:
        stored_rows = list(store.rows())
    assert len(printed) == len(stored_rows)
    for each, row in zip(printed, stored_rows, strict=True):
        event = parsed(row.data)
        assert list(each) == [
            "unit", "table", "event", "kind", "boot", "t_ms", "time", "shoe", "round", "fields",
            "board_number",
        ]  # fmt: skip
        assert (each["unit"], each["event"], each["kind"]) == (row.unit, event.number, event.kind)
        assert (each["boot"], each["t_ms"], each["shoe"], each["round"]) == (
            event.boot, event.t_ms, event.shoe, event.round,
        )  # fmt: skip
        if event.unix_ms is None:
            assert each["time"] is None
        else:
            since = datetime.fromisoformat(each["time"]) - datetime(1970, 1, 1, tzinfo=UTC)
            assert since == timedelta(milliseconds=event.unix_ms)
        fields = dict(event.fields)
        if event.kind == "card":
            fields["card"] = cards.name_of(fields["card"])
        if event.kind == "boot":
            fields["build"] = fields["build"].hex()
            fields["chain"] = fields["chain"].hex()
        if event.kind == "checkpoint":
            fields["mac"] = fields["mac"].hex()
        if event.kind == "result":
            fields["game"] = fields["game"].hex()
        if event.kind == "composition":
            fields["counts"] = fields["counts"].hex()
        assert each["fields"] == fields


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_a_list_without_a_match_says_so_beside_what_it_prints(
    folder: Path, form: tuple[str, ...]
) -> None:
    for command in ("rounds", "events"):
        none = done_here(folder, command, "--db", "log.sqlite", "--shoe", "77", *form)
        assert none.stderr == f"log.sqlite: no {command} match\n"
        assert len(none.stdout.splitlines()) == (form == ())  # the names of the columns
        assert done_here(folder, command, "--db", "log.sqlite", "--round", "3", *form).stderr == ""


@pytest.mark.slow
def test_csv_and_json_have_the_same_values(sabot: Any) -> None:
    for each, row in zip(
        objects(sabot("events", "--json")), rows(sabot("events", "--csv")), strict=True
    ):
        assert json.loads(row.pop("fields")) == each.pop("fields")
        assert row == {name: "" if value is None else str(value) for name, value in each.items()}
    for each, row in zip(
        objects(sabot("rounds", "--json")), rows(sabot("rounds", "--csv")), strict=True
    ):
        assert row.pop("natural") == json.dumps(each.pop("natural"))
        for listed in ("player", "banker", "by_hand", "hits"):
            assert row.pop(listed).split() == each.pop(listed)
        assert row == {name: "" if value is None else str(value) for name, value in each.items()}


@pytest.mark.slow
def test_csv_has_the_rounds_of_the_first_family_and_says_how_many_others_there_are(
    tmp_path: Path,
) -> None:
    boxes = BoxLog().load()
    for text in ["6S", "9D", "5S", "TC", "reveal", "TH"]:
        boxes.give(text)
    baccarat = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=380))
    with new_log(tmp_path / "log.sqlite") as store:
        store.keep_game(boxes.document)
        store.append("U1", stored(boxes.records))
        store.append("U2", stored(baccarat.records))
    of_all = objects(done_here(tmp_path, "rounds", "--json", "--db", "log.sqlite").stdout)
    of_boxes = [each for each in of_all if each["unit"] == "U1"]
    done = done_here(tmp_path, "rounds", "--csv", "--db", "log.sqlite")
    (row,) = rows(done.stdout)
    assert [row["unit"]] == [each["unit"] for each in of_boxes]
    left_out = len(of_all) - len(of_boxes)
    assert f"rounds of another family of games left out: {left_out} (--json" in done.stderr


def times(everything: list[dict[str, Any]], column: str) -> tuple[str, str]:
    """Two times that divide the list into three parts."""
    known = sorted(each[column] for each in everything if each[column])
    return known[len(known) // 3], known[2 * len(known) // 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--unit", "U2"), lambda each: each["unit"] == "U2"),
        (("--shoe", "2"), lambda each: each["shoe"] == 2),
        (("--shoe", "0"), lambda each: each["shoe"] == 0),
        (("--round", "3"), lambda each: each["round"] == 3),
        (("--unit", "U1", "--shoe", "2", "--round", "3"),
         lambda each: (each["unit"], each["shoe"], each["round"]) == ("U1", 2, 3)),
        (("--kind", "card"), lambda each: each["kind"] == "card"),
        (("--kind", "card", "--kind", "burn", "--round", "0"),
         lambda each: each["kind"] in ("card", "burn") and each["round"] == 0),
    ],
)  # fmt: skip
def test_events_are_filtered(sabot: Any, options: tuple[str, ...], wanted: Any) -> None:
    everything = objects(sabot("events", "--json"))
    assert objects(sabot("events", "--json", *options)) == [e for e in everything if wanted(e)]
    if "--kind" not in options:
        everything = objects(sabot("rounds", "--json"))
        assert objects(sabot("rounds", "--json", *options)) == [e for e in everything if wanted(e)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "first", "last"), [("events", "time", "time"), ("rounds", "started", "ended")]
)
def test_events_are_filtered_by_their_time_and_rounds_by_any_part_of_them(
    sabot: Any, command: str, first: str, last: str
) -> None:
    everything = objects(sabot(command, "--json"))
    begin, end = times(everything, first)
    for options, wanted in (
        (("--from", begin), lambda each: each[last] >= begin),
        (("--to", end), lambda each: each[first] < end),
        (("--from", begin, "--to", end), lambda each: each[first] < end and each[last] >= begin),
    ):
        expected = [each for each in everything if each[first] and wanted(each)]
        assert objects(sabot(command, "--json", *options)) == expected
        assert 0 < len(expected) < len(everything)


@pytest.mark.slow
def test_a_time_without_a_zone_is_local(sabot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, _ = times(objects(sabot("events", "--json")), "time")
    expected = sabot("events", "--json", "--from", begin)
    moment = datetime.fromisoformat(begin)
    try:
        monkeypatch.setenv("TZ", "Asia/Macau")
        time.tzset()
        local = (moment + timedelta(hours=8)).replace(tzinfo=None).isoformat()
        assert sabot("events", "--json", "--from", local) == expected
        zoned = (moment + timedelta(hours=2)).replace(tzinfo=None).isoformat() + "+02:00"
        assert sabot("events", "--json", "--from", zoned) == expected
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.slow
def test_tables_are_not_cut_off_in_a_pipe(sabot: Any, folder: Path) -> None:
    rounds = done_here(folder, "rounds", "--db", "log.sqlite").stdout
    assert "…" not in rounds
    assert not any(line.endswith(" ") for line in rounds.splitlines())
    listed = [line.split()[:3] for line in rounds.splitlines()[1:]]
    everything = objects(sabot("rounds", "--json"))
    assert listed == [[e["unit"], str(e["shoe"]), str(e["round"])] for e in everything]
    events = done_here(folder, "events", "--db", "log.sqlite", "--kind", "boot").stdout
    assert f"build {'01' * 4} for" in events and "…" not in events
    everything = done_here(folder, "events", "--db", "log.sqlite").stdout.splitlines()
    assert len(everything) == 1 + len(objects(sabot("events", "--json")))
    assert not any(line.endswith(" ") or len(line.split()) < 7 for line in everything)


@pytest.mark.parametrize(
    "command", ["rounds", "events", "rounds --json", "events --json", "verify"]
)
def test_any_text_of_a_shoe_can_be_shown(tmp_path: Path, command: str) -> None:
    odd = {"unix_ms": (1 << 63) - 1}
    log = [event_bytes("boot", 1, game="mini", firmware="[/red]\x1b[2J\n", board="[x", **odd)]
    log += [event_bytes("betting_open", 2, **odd)]
    log += [event_bytes("result", 3, game=Game(document_of("mini")).sha256, **odd)]
    with new_log(tmp_path / "log") as store:
        store.append("[/unit]", stored(log))
        store.keep_game(document_of("mini"))
    done = CliRunner().invoke(app(), [*command.split(), "--db", str(tmp_path / "log")])
    assert done.exit_code == (command == "verify"), done.exception
    assert "[/unit]" in done.stdout and "\x1b" not in done.stdout


@pytest.mark.slow
def test_a_log_is_read_while_it_is_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes((folder / "log.sqlite").read_bytes())
    with new_log(tmp_path / "log") as writer:
        writer.append("U3", stored(FirmwareLog().records))
        assert objects(
            done_here(tmp_path, "events", "--db", "log", "--json", "--unit", "U3").stdout
        )
