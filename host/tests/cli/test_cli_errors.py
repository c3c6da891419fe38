"""Every way in which a command fails: its exit code, and one line that names the port or file."""

import json
import os
import random
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    SABOT,
    done_here,
    environment,
    error_line_here,
    running,
    short_deck,
)
from host.tests.support.helpers import (
    FirmwareLog,
    event_bytes,
    new_log,
    parsed,
    shuffled_names,
    stored,
)
from host.tests.support.naive_shoe import Answering
from host.tests.support.terminal import ended_by_ctrl_c
from sabot.cli import app
from sabot.cli.commands import MODULES, imported
from sabot.keys import signing
from sabot.link.ports import Port

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("port", "code", "message"),
    [
        ("/dev/ttyNONE", 3, "/dev/ttyNONE: no such port; `sabot ports` lists"),
        ("SHOE-99", 3, "SHOE-99: no such unit is attached; `sabot ports` lists"),
        ("[red]x[/red]", 3, "[red]x[/red]: no such"),
        ("nonsense://host", 3, "nonsense://host: not a port or pyserial URL"),
        ("socket://host", 3, "socket://host: not a port or pyserial URL"),
        (".//", 5, ".//: not a serial port"),
        ("/dev/null", 5, "/dev/null: not a serial port"),
    ],
)
def test_a_port_where_there_is_no_shoe(tmp_path: Path, port: str, code: int, message: str) -> None:
    assert error_line_here(tmp_path, "log", port, code=code).startswith(message)


def test_an_address_where_no_one_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    line = error_line_here(tmp_path, "log", f"socket://127.0.0.1:{number}", code=3)
    assert "no connection" in line


def test_a_port_that_is_busy_and_one_that_does_not_answer(tmp_path: Path) -> None:
    with Answering(lambda data: b"") as silent:
        line = error_line_here(tmp_path, "log", silent.path, code=5)
        assert line.startswith(f"{silent.path}: no shoe answers there; check its power")
        assert line.endswith("a board without Sabot needs `sabot flash` first")
        with Port(silent.path):
            line = error_line_here(tmp_path, "log", silent.path, code=4)
            assert line.startswith(f"{silent.path}: in use by another program")


def test_a_deck_file_that_does_not_exist(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "demo", "--deck", "none", code=11)
    assert line == "none: cannot be read (No such file or directory); check the name"


@pytest.mark.parametrize("command", ["sim", "demo"])
@pytest.mark.parametrize(
    ("cards", "options", "message"),
    [
        (None, (), "cannot be read (No such file or directory)"),
        ("7H XX", ("--short",), "line 2: 'XX' is not a card"),
        ("7H " * 9, ("--short",), "9 copies of 7H"),
        ("7H TC CUT", (), "2 cards instead of the 416 of 8 decks; complete it, or use --short"),
    ],
)
def test_a_deck_that_cannot_be_dealt(
    tmp_path: Path, command: str, cards: str | None, options: tuple[str, ...], message: str
) -> None:
    if cards is not None:
        (tmp_path / "deck").write_text("\n".join(cards.split()))
    line = error_line_here(tmp_path, command, "--deck", "deck", *options, code=11)
    assert line.startswith("deck") and message in line
    assert not (tmp_path / "sabot-demo.sqlite").exists()


@pytest.mark.parametrize("command", ["rounds", "events", "verify"])
def test_a_database_that_is_not_there(tmp_path: Path, command: str) -> None:
    for options, name in (((), "sabot.sqlite"), (("--db", "x/y"), "x/y")):
        line = error_line_here(tmp_path, command, *options, code=8)
        assert line == f"{name}: no such database; `sabot log` makes one"
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("command", ["rounds", "events", "verify", "log SIM-1", "demo"])
def test_a_file_that_is_not_a_database(tmp_path: Path, command: str) -> None:
    (tmp_path / "letter").write_text("Dear sir or madam,\n" * 100)
    line = error_line_here(tmp_path, *command.split(), "--db", "letter", code=8)
    assert line == "letter: not a Sabot log; name another file with --db"
    assert (tmp_path / "letter").read_text() == "Dear sir or madam,\n" * 100


@pytest.mark.parametrize("command", ["rounds", "verify", "log SIM-1"])
def test_a_database_that_is_newer(tmp_path: Path, command: str) -> None:
    new_log(tmp_path / "new").close()
    with closing(sqlite3.connect(tmp_path / "new", isolation_level=None)) as connection:
        connection.execute("UPDATE about SET value = 7 WHERE name = 'version'")
    line = error_line_here(tmp_path, *command.split(), "--db", "new", code=8)
    assert line.startswith("new: a log of version 7, this sabot reads 2 to 6; update sabot")


def test_a_database_in_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "log", "SIM-1", "--db", "no/log.sqlite", code=8)
    assert line.startswith("no/log.sqlite: ") and "does the folder exist" in line


_NEEDED = {
    "export": "--shoe 1 -o new.sabot --key house.pem --keys no.keys",
    "prune": "--keep-days 30 --key house.pem",
    "settle": "wagers.json",
}
"""What commands with --unit need besides it."""


def test_an_unknown_unit_is_an_error_that_names_those_in_the_log(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        for unit in ("SHOE-7", "SHOE-8"):
            store.append(unit, stored([event_bytes("betting_open", 1)]))
    (tmp_path / "wagers.json").write_text('{"positions": [{"ghost_hand": 1}]}')
    signing.make_key_pair(tmp_path / "house")
    found = {
        name
        for name in MODULES
        if {"--unit", "--db"} <= {each for option in imported(name).params for each in option.opts}
    } - {"demo"}  # which gives the unit its name
    assert {"rounds", "events", "incidents", "units", *_NEEDED} <= found
    for name in found:
        needed = _NEEDED.get(name, "").split()
        line = error_line_here(tmp_path, name, *needed, "--db", "log", "--unit", "shoe-7", code=8)
        assert line == "log: has no unit shoe-7; there are: SHOE-7, SHOE-8", name
        if name not in _NEEDED:
            given = (name, "--json", "--db", "log", "--unit", "U1")
            assert "there are: SHOE-7" in error_line_here(tmp_path, *given, code=8)


@pytest.mark.parametrize("name", ["gone/kept", "kept"])
def test_checkpoints_that_cannot_be_written_are_no_full_disk(tmp_path: Path, name: str) -> None:
    new_log(tmp_path / "log").close()
    (tmp_path / "kept").mkdir()
    done = done_here(tmp_path, "checkpoints", "--db", "log", "-o", name, code=2)
    message = " ".join(done.stderr.replace("│", " ").split())
    assert f"{name} cannot be written (" in message and "disk" not in message


def test_verify_prints_nothing_on_standard_error_without_a_screen(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored([event_bytes("betting_open", 1)]))
    assert done_here(tmp_path, "verify", "--db", "log", code=1).stderr == ""
    assert done_here(tmp_path, "rebuild", "--db", "log").stderr == ""


def test_ctrl_c_at_a_passphrase_ends_with_its_code(tmp_path: Path) -> None:
    command = [str(SABOT), "keys", "release", "make", "-o", str(tmp_path / "house")]
    code, seen = ended_by_ctrl_c(command, environment(), b"Passphrase of")
    assert code == 130, seen
    assert "Traceback" not in seen and "Aborted" not in seen
    assert not (tmp_path / "house.pem").exists()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("command", ["rounds", "events"])
def test_a_damaged_record_is_named_and_all_others_are_shown(
    tmp_path: Path, command: str, seed: int
) -> None:
    """Of the rounds, those without a damaged event within them."""
    log = FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=340)).records
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(log))
    good = done_here(tmp_path, command, "--db", "log", "--json").stdout.splitlines()
    cards = [event.number for event in map(parsed, log) if event.kind in ("card", "result")]
    damaged = sorted(random.Random(seed).sample(cards, 1 + seed // 3))
    with closing(sqlite3.connect(tmp_path / "log", isolation_level=None)) as connection:
        for number in damaged:
            connection.execute("UPDATE records SET record = x'00' WHERE number = ?", (number,))
    done = done_here(tmp_path, command, "--db", "log", "--json", code=8)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sabot: event {damaged[0]} of U1 is damaged")
    assert "`sabot verify`" in line and (len(damaged) == 1 or f"{len(damaged) - 1} more" in line)

    def spoilt(shown: dict[str, Any]) -> bool:
        span = (shown["event"],) * 2 if command == "events" else _span(shown)
        return any(span[0] <= number <= span[1] for number in damaged)

    assert done.stdout.splitlines() == [each for each in good if not spoilt(json.loads(each))]
    table = done_here(tmp_path, command, "--db", "log", code=8).stdout.splitlines()
    assert table[0].startswith("unit") and len(table) > len(done.stdout.splitlines())


def _span(shown: dict[str, Any]) -> tuple[int, int]:
    return shown["first_event"], shown["last_event"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rounds --json --csv", "--json and --csv exclude each other"),
        ("events --json --csv", "--json and --csv exclude each other"),
        ("events --kind nonsense", "no event is of kind 'nonsense'; kinds: boot, lid"),
        ("rounds --from yesterday", "'yesterday' is not a time; write it as 2026-11-21T20:15"),
        ("events --to 25:00", "'25:00' is not a time"),
        ("events --from 0001-01-01", "is not a time"),
        ("rounds --shoe x", "--shoe"),
        ("events --shoe -1", "--shoe"),
        ("events --shoe 99999999999999999999", "--shoe"),
        ("rounds --round 99999999999999999999", "--round"),
        ("sim --set 13", "--set"),
        ("sim --pace -1", "--pace"),
        ("demo --pace nan", "--pace"),
        ("sim --seed x", "--seed"),
        ("sim --unit a/b", "'a/b' is not a unit id"),
        ("sim --unit ..", "'..' is not a unit id"),
        ("sim --unit=", "'' is not a unit id"),
        ("demo --unit " + 300 * "x", "is not a unit id"),
        ("log", "port"),
        ("log --db x", "port"),
        ("capture", "UNIT|PORT"),
        ("health --json", "UNIT|PORT"),
        ("capture U1 --all", "--all"),
        ("shuffle", "shuffle"),
        ("verify --nonsense", "--nonsense"),
        ("verify more more", "more"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app(), arguments.split(), env={"COLUMNS": "200"})
    assert isinstance(done.exception, SystemExit) and done.exit_code == 2
    assert done.stdout == ""
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_wrong_usage_has_exit_code_2(tmp_path: Path) -> None:
    done = done_here(tmp_path, "events", "--json", "--csv", code=2)
    assert "exclude each other" in done.stderr and done.stdout == ""


def test_a_memory_that_cannot_be_used_ends_the_simulator(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = error_line_here(tmp_path, "sim", "--state", "file", code=12)
    assert line.startswith("file: cannot store the unit's memory (File exists)")
    line = error_line_here(tmp_path, "sim", "--state", "/proc/none", code=12)
    assert "cannot store" in line and "--state" in line
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "game.cbor").write_bytes(b"\xa0nonsense")
    line = error_line_here(tmp_path, "sim", "--unit", "U7", "--state", "state", code=12)
    assert line.startswith("simulated shoe U7: ") and "game is damaged" in line


@pytest.mark.parametrize("command", ["sim", "demo"])
def test_an_unknown_game_is_an_error_with_the_nearest_name(tmp_path: Path, command: str) -> None:
    line = error_line_here(tmp_path, command, "--game", "ez-mid", code=17)
    assert line == "unknown game 'ez-mid'; did you mean ez-midi?"


def test_a_simulated_shoe_that_dies_ends_the_simulator(tmp_path: Path) -> None:
    with running(tmp_path, "sim", "--deck", short_deck(tmp_path), "--short") as sim:
        sim.first_line()
        children = Path(f"/proc/{sim.process.pid}/task/{sim.process.pid}/children")
        if not children.exists():
            pytest.skip("this kernel does not list child processes")
        (child,) = children.read_text().split()
        os.kill(int(child), 9)
        assert sim.end(by=None) == 12
        assert sim.problems[-1].startswith("sabot: simulated shoe SIM-")


def test_a_closed_pipe_gives_no_traceback(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(event_bytes("identified", n) for n in range(1, 2000)))
    pipe = f"{SABOT} events --db log --json | head -n 1"
    done = subprocess.run(
        pipe, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=True
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["games", "games show mini", "games --json", "odds"])
def test_a_pipe_that_is_closed_at_once_is_no_error(tmp_path: Path, command: str) -> None:
    pipe = f"sleep 2; {SABOT} {command}; echo $? >code"
    done = subprocess.run(
        f"({pipe}) | true",
        shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    assert (done.stderr, (tmp_path / "code").read_text()) == ("", "0\n")


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_no_fault_and_nothing_is_written_into_the_log(
    tmp_path: Path, closed: str
) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(FirmwareLog().load().records))
    before = (tmp_path / "log").read_bytes()
    for command, code in (("events --db log --json", 0), ("verify --db log", 1)):
        shell = f"{SABOT} {command} {closed}"
        done = subprocess.run(
            shell, shell=True, cwd=tmp_path, stderr=subprocess.PIPE, timeout=200, check=False
        )
        assert (done.returncode, done.stderr) == (code, b"")
    assert (tmp_path / "log").read_bytes() == before


@pytest.mark.parametrize("how", ["", "--json", "bundle"])
def test_findings_are_in_the_exit_code_also_if_the_pipe_is_closed(tmp_path: Path, how: str) -> None:
    with new_log(tmp_path / "log") as store:  # `verify` has no key for it
        store.append("U1", stored(FirmwareLog().deal_shoe(shuffled_names(1)).records))
    what = f"--db log {how}"
    if how == "bundle":
        signing.make_key_pair(tmp_path / "house")
        export = "export --db log --unit U1 --shoe 1 -o b.sabot --key house.pem"
        subprocess.run(f"{SABOT} {export}", shell=True, cwd=tmp_path, timeout=200, check=False)
        what = "b.sabot"
    subprocess.run(
        f"(sleep 2; {SABOT} verify {what}; echo $? >code) | true",
        shell=True, cwd=tmp_path, timeout=200, check=True,
    )  # fmt: skip
    assert (tmp_path / "code").read_text() == "1\n"


def test_output_to_a_full_disk_is_an_error(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored(event_bytes("identified", n) for n in range(1, 2000)))
    done = subprocess.run(
        f"{SABOT} events --db log --json > /dev/full",
        shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert line == "sabot: the output cannot be written (No space left on device)"
    assert done.returncode == 9
