"""`sabot database`: what it prints, and how it fails."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from host.tests.support.commands import error_line_here, output_here
from host.tests.support.hostile import TEXT, UNIT, seen_by
from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database, Server
from sabot.log.postgres import migrations
from sabot.log.postgres.store import PostgresStore, _rows_of
from sabot.log.store import open_store

Sabot = Callable[..., str]


@pytest.fixture
def database_command(tmp_path: Path, database: Database) -> Sabot:
    """Runs `sabot database WORD ADDRESS ...`; the output has ADDRESS in place of the address."""
    place = str(database.place("postgres"))

    def call(word: str, *more: str) -> str:
        return output_here(tmp_path, "database", word, place, *more).replace(place, "ADDRESS")

    return call


def test_a_log_is_made_led_and_made_again(tmp_path: Path, postgres: Server) -> None:
    name = postgres.new_database()
    place, newest = postgres.address(name), migrations.VERSION

    def call(word: str, *more: str) -> str:
        return output_here(tmp_path, "database", word, place, *more).replace(place, "ADDRESS")

    assert "has no Sabot log; `sabot database make`" in call("status")
    assert call("make") == f"ADDRESS: a new log of version {newest}\n\n\n0"
    assert call("make") == f"ADDRESS: a log of version {newest} is there\n\n\n0"
    assert call("migrate") == f"ADDRESS: is of version {newest} already\n\n\n0"
    down = "".join(f"ADDRESS: version {each}\n" for each in range(newest - 1, 0, -1))
    assert call("migrate", "--to", "1") == f"{down}\n\n0"
    assert "version 1 is there; `sabot database migrate` leads it on" in call("make")
    assert f"needs {newest}; its keeper leads it on" in call("status")
    assert call("migrate").startswith("ADDRESS: version 2\n")
    assert "knows versions 1 to" in call("migrate", "--to", "0")
    postgres.drop_database(name)


def test_a_role_is_let_in_and_a_site_gets_its_units(database_command: Sabot) -> None:
    assert database_command("grant", "stranger", "--may", "log").startswith(
        "ADDRESS: stranger may log to it\n"
    )
    assert database_command("grant", "stranger", "--may", "log", "--remove").startswith(
        "ADDRESS: stranger may no longer log to it\n"
    )
    assert "did you mean stranger?" in database_command("grant", "strangr", "--may", "read")
    assert database_command("grant", "stranger", "--may", "rule").endswith("\n2")
    units = ("--unit", "SHOE-1", "--unit", "SHOE-2")
    assert database_command("site", "stranger", *units).startswith(
        "ADDRESS: stranger forwards SHOE-1, SHOE-2\n"
    )
    assert "SHOE-2 is forwarded by stranger" in database_command("site", "site_1", *units[2:])
    assert database_command("site", "stranger", *units[:2], "--remove").startswith(
        "ADDRESS: stranger forwards SHOE-2\n"
    )
    assert database_command("site", "stranger", *units[2:], "--remove").startswith(
        "ADDRESS: stranger forwards nothing any more\n"
    )


def test_the_status_shows_each_unit_and_what_is_wrong(
    database_command: Sabot, database: Database
) -> None:
    database.allow("site_1", "SHOE-1", "SHOE-3")
    with open_store(database.place(), create=True) as store:
        store.append("SHOE-1", [recorded(naive_event(number)) for number in (1, 2, 5)])
        store.append("SHOE-2", [recorded(naive_event(1))])
    shown = database_command("status")
    first, *rows = shown.splitlines()
    assert first.startswith(f"ADDRESS: version {migrations.VERSION}, PostgreSQL ")
    assert first.endswith(", 0 open alarms") and ", 1 day from 20" in first
    assert [row.split()[:4] for row in rows[:4]] == [
        ["unit", "site", "events", "newest"],
        ["SHOE-1", "site_1", "3", "5"],
        ["SHOE-2", "1", "1", rows[2].split()[3]],
        ["SHOE-3", "site_1", "0"],
    ]
    with database.connect("postgres") as session:
        session.execute("ALTER TABLE sabot.holes ADD COLUMN more text")
    assert "not as it was made: has column holes.more: text" in database_command("status")
    assert json.loads(database_command("status", "--json").splitlines()[0])["altered"]


@pytest.mark.parametrize("has_receipt", [True, False])
def test_a_unit_without_a_receipt_is_named_also_while_its_table_deals_on(
    database_command: Sabot, database: Database, has_receipt: bool
) -> None:
    """And not a unit whose first event without one has only just come."""
    database.allow("site_1", "SHOE-1", "SHOE-2")
    now = time.time_ns() // 1_000_000
    with PostgresStore(database.place(), create=True) as store:
        for unit in ("SHOE-1", "SHOE-2"):
            for number, minutes in ((1, 60), (2, 50 if unit == "SHOE-1" else 2), (3, 1)):
                rows = _rows_of(unit, [recorded(naive_event(number))])
                store.take(unit, rows, received_unix_ms=now - minutes * 60_000)
            if has_receipt or unit == "SHOE-2":
                store.keep_receipts(unit, [(1, b"of a notary")])
    minutes = 50 if has_receipt else 60
    shown = database_command("status")
    assert f"SHOE-1 has had no receipt for {minutes} minutes" in shown and shown.endswith("\n1")
    assert "SHOE-2 has had no receipt" not in shown


def test_alarms_are_listed_and_are_findings(database_command: Sabot, database: Database) -> None:
    assert database_command("alarms") == "ADDRESS: no alarms\n\n\n0"
    why = ("--why", "a forged log: kept as evidence", "--by", "Anna")
    refused = database_command("acknowledge", "1", *why)
    assert "has no alarm 1; `sabot database alarms` lists" in refused
    with database.connect() as session:
        query = "SELECT sabot.alarm('SHOE-1', 7, 'other_bytes', 'why', %s, %s)"
        for _ in range(2):
            session.execute(query, (b"\x01", bytes(16)))
    (line,) = database_command("alarms").splitlines()[:1]
    assert line.startswith("1: ")
    assert line.endswith(" SHOE-1 event 7: other_bytes: why (by keeper)")
    assert database_command("alarms").endswith("\n1")
    found = json.loads(database_command("alarms", "--json").splitlines()[0])
    assert (found["record"], found["mac"]) == ("01", "00" * 16)
    assert ", 1 open alarm" in database_command("status")
    assert database_command("acknowledge", "1", *why[:2], "--by", " ").endswith("\n2")
    done = database_command("acknowledge", "1", *why)
    assert done == "ADDRESS: 1 alarm acknowledged by Anna\n\n\n0"
    assert database_command("alarms") == "ADDRESS: no open alarms; 1 alarm with --all\n\n\n0"
    alarm, said, *_ = database_command("alarms", "--all").splitlines()
    assert alarm == line
    assert said.endswith("acknowledged by Anna (postgres): a forged log: kept as evidence")
    with database.connect() as session:  # found again: it stays acknowledged
        session.execute(query, (b"\x01", bytes(16)))
    assert database_command("alarms").endswith("\n0")
    assert ", 0 open alarms" in database_command("status")


def test_who_may_do_what_is_listed_and_more_than_a_log_allows_is_a_finding(
    database_command: Sabot, database: Database
) -> None:
    database.allow("site_1", "SHOE-1")
    shown = database_command("roles")
    assert "site_1    forward SHOE-1" in shown and shown.endswith("\n0")
    with database.connect("postgres") as session:
        session.execute("GRANT sabot_keeper TO site_1")
        try:
            words = "ADDRESS: site_1 forwards to the log, and may also keep the log"
            for word in ("roles", "status"):
                shown = database_command(word)
                assert words in shown and shown.endswith("\n1"), word
        finally:
            session.execute("REVOKE sabot_keeper FROM site_1")
    listed = [line for line in database_command("roles", "--json").splitlines() if line[:1] == "{"]
    (site,) = (
        found for found in map(json.loads, listed)
        if found["role"] == "site_1"
    )  # fmt: skip
    assert site["units"] == ["SHOE-1"] and site["may"] == ["forward SHOE-1"]


def test_what_a_database_has_in_it_is_printed_as_printable_text(
    database_command: Sabot, database: Database
) -> None:
    # PostgreSQL has neither NUL nor half a surrogate pair in a text.
    text, unit = (each.replace("\0", "").replace("\ud800", "")[:100] for each in (TEXT, UNIT))
    with database.connect("postgres") as session:
        role = "\x1b[2Jrole"
        session.execute(f'CREATE ROLE "{role}" LOGIN')
        try:
            database.allow(role, unit, f"{unit}2")
            with open_store(database.place(), create=True) as store:
                store.append(unit, [recorded(naive_event(1))])
            session.execute("SELECT sabot.alarm(%s, 1, %s, %s, NULL, NULL)", (unit, "k", text))
            session.execute(f'ALTER TABLE sabot.holes ADD COLUMN "{role}" text')
            for word in ("status", "alarms"):
                for how in ((), ("--json",)):
                    shown = database_command(word, *how)
                    assert "Traceback" not in shown and seen_by(shown) == []
                    assert "\\x1b" in shown or "\\u001b" in shown
        finally:
            session.execute(f'DROP ROLE "{role}"')


@pytest.mark.parametrize("word", ["make", "status", "alarms", "migrate"])
def test_an_address_without_a_server_is_one_line(tmp_path: Path, word: str) -> None:
    line = error_line_here(tmp_path, "database", word, "postgresql://x@127.0.0.1:1/y", code=41)
    assert line.startswith("postgresql://x@127.0.0.1:1/y: no PostgreSQL server (")
    assert line.endswith("; is it running there?")


def test_a_file_is_no_address(tmp_path: Path) -> None:
    assert output_here(tmp_path, "database", "status", "log.sqlite").endswith("\n2")
