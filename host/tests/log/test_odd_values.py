"""Whatever is in the columns of a log, no command that reads it ends by a fault (exit code 15).

The log has a row in each table. A sample of the values that a forger may write, from a seed.
"""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from host.tests.audit.test_bounds import dealt
from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.commands import run_here
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.desk.desk import Desk
from sabot.floor.rounds.index import RoundIndex
from sabot.keys import chain_keys
from sabot.log.dealt import game_sha256_of
from sabot.log.found import NO_TIME
from sabot.log.presence import Span
from sabot.log.store import Filter, open_store

__all__ = ["dealt"]

_CASES = 20
_DIGITS = "9" * 5000
VALUES = [
    None, b"", b"\xff" * 40, _DIGITS, _DIGITS.encode(), "", "\x1b[2J", -1, 0, 1 << 62,
    (1 << 63) - 1, -(1 << 63), 1.5, float("inf"), b"[1]", "[" * 5000, f'{{"a":{_DIGITS}}}', "1e999",
    '{"U1":1e400}', f'[{{"days":{"9" * 3000},"set_unix_ms":1}}]', "x" * 100_000, "\0", "٣",
]  # fmt: skip
COMMANDS = [
    "rounds", "rounds --json --last 2", "events --last 3", "verify --keys sabot.keys", "units",
    "tables", "incidents", "checkpoints", "desk --keys sabot.keys", "users list", "retention",
    "receipts", "copy -o copy.sqlite", "convert --to 5", "rebuild",
]  # fmt: skip
KNOWN = [
    ("records", "mac", -1, "checkpoints"),
    ("events", "unix_ms", b"[1]", "tables"),
    ("events", "unix_ms", _DIGITS + "x", "checkpoints"),
    ("events", "unix_ms", -(1 << 63), "tables"),
    ("events", "shoe", b"\xff" * 40, "checkpoints"),
]
"""Those that ended by a fault once."""


@pytest.mark.parametrize("number", ["x", b"x", 1 << 40, 12.5, -1])
def test_a_record_at_a_place_that_is_no_number_neither_ends_the_index_nor_has_it_begin_again(
    base: Path, number: object
) -> None:
    """The search of `sabot serve` ended, or was never ready."""
    with closing(sqlite3.connect(base)) as connection, connection:
        connection.execute(
            "INSERT INTO records SELECT unit, ?, received_unix_ms, record, mac FROM records"
            " LIMIT 1",
            (number,),
        )
    with open_store(base) as store:
        index = RoundIndex(store)
        for _ in range(3):
            index.look()
            assert index.progress.complete
        assert index.units() == ["U1"]


def test_an_event_that_the_lists_call_a_result_says_no_game(tmp_path: Path) -> None:
    """`verify` finds that; `settle` and `score` ended by a fault."""
    log = FirmwareLog().load().draw("AC", "2C", "next", "9C", "KC", "TD", "9H")
    path = tmp_path / "log.sqlite"
    with new_log(path) as store:
        store.append("U1", stored(log.records))
        store.derive()
        dealt = SimpleNamespace(unit="U1", shoe=1, round=1, first_event=10_000)
        said = game_sha256_of(store, dealt)
        assert said is not None
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET kind = 'result' WHERE kind IN ('card', 'lock')")
    with open_store(path) as store:
        assert game_sha256_of(store, dealt) == said


@pytest.fixture
def base(tmp_path: Path, dealt: ChainedLog) -> Path:
    path = tmp_path / "base.sqlite"
    with new_log(path) as store:
        store.append("U1", dealt.stored())
        store.keep_presence([Span("U1", 5, 60_000, "attached")])
        store.keep_receipts("U1", [(3, b"x" * 100)])
        Desk.make(store, tmp_path / "sabot.keys", "ada", "four words of hers")
        store.copy(tmp_path / "copied.sqlite")
    with open_store(tmp_path / "copied.sqlite") as store:
        store.rebuild()
    chain_keys.add(tmp_path / "sabot.keys", "U1", FIRST_KEY)
    return tmp_path / "copied.sqlite"


def _columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c"
        return connection.execute(f"{query} WHERE m.type = 'table'").fetchall()


def _faults(base: Path, table: str, column: str, value: object, command: str) -> list[str]:
    path = base.with_name("log.sqlite")
    shutil.copyfile(base, path)
    path.chmod(0o600)
    for name in ("copy.sqlite", "log.sqlite-wal", "log.sqlite-shm"):
        base.with_name(name).unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        try:
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        except sqlite3.Error:  # the column takes no such value
            return []
    _, problems, code = run_here(base.parent, *command.split(), "--db", path.name)
    return [f"{table}.{column} = {value!r:.30}: {command}: {problems}"] if code == 15 else []


def test_no_value_in_a_column_is_a_fault(base: Path, rng: random.Random) -> None:
    columns, found = _columns(base), list[str]()
    for case in KNOWN:
        found += _faults(base, *case)
    for _ in range(_CASES):
        place, value = rng.choice(columns), rng.choice(VALUES)
        found += _faults(base, *place, value, rng.choice(COMMANDS))
    assert found == []


def test_rows_with_other_values_than_numbers_are_read_as_none(base: Path) -> None:
    with closing(sqlite3.connect(base)) as connection, connection:
        connection.execute("UPDATE events SET unix_ms = 'x', shoe = x'00', round = 1.5")
        connection.execute("UPDATE records SET received_unix_ms = 'y', mac = 'z'")
    with open_store(base) as store:
        rows = list(store.rows())
    assert rows and {each[3:7] + each[8:] for each in rows} == {(None, 0, 0, NO_TIME, b"")}


def test_a_filter_beyond_64_bits_selects_what_it_says(base: Path) -> None:
    """A row may have the smallest number of 64 bits, and a reader asks for the one before it."""
    with open_store(base) as store:
        unit = store.units()[0]
        count = len(list(store.rows(Filter(unit))))
        for least in (-(1 << 63) - 1, -(1 << 80)):
            assert len(list(store.rows(Filter(unit, first=least)))) == count
            assert list(store.rows(Filter(unit, last=least))) == []
            assert list(store.rows(Filter(unit, first=-least))) == []
