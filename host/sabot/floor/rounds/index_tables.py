"""The tables of the index of rounds: in memory, made of the records alone."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.floor.rounds.indexed_round import IndexedRound
from sabot.floor.rounds.search import ANY, Query
from sabot.log.found import LARGEST
from sabot.notable.incident import Incident

_TABLES = f"""
CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE);
CREATE TABLE rounds (
    unit INTEGER NOT NULL, place TEXT NOT NULL, low INTEGER, high INTEGER,
    {", ".join(f'"{name}"' for name in IndexedRound._fields)}, PRIMARY KEY (unit, first_event)
) WITHOUT ROWID;
CREATE INDEX rounds_by_time ON rounds (high DESC, unit, first_event DESC, low);
CREATE INDEX rounds_by_number ON rounds (unit, shoe, round);
CREATE TABLE incidents (
    id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, place TEXT NOT NULL, kind TEXT NOT NULL,
    shoe INTEGER, round INTEGER, begin INTEGER, over INTEGER
);
CREATE INDEX incidents_by_round ON incidents (unit, shoe, round);
CREATE INDEX incidents_by_kind ON incidents (kind);
"""
_OWN = ", ".join(f'r."{name}"' for name in IndexedRound._fields)
_INSERT = (
    "INSERT INTO rounds VALUES (?, ?, ?, ?,"
    f" {', '.join('?' * len(IndexedRound._fields))}) ON CONFLICT DO UPDATE SET"
    f" {', '.join(f'{n} = excluded.{n}' for n in ('place', 'low', 'high', *IndexedRound._fields))}"
    " WHERE excluded.last_event >= last_event"
)
_SUITS = "[CDHS]"

TableAt = Callable[[int], str]
"""The table at which a unit stood when it recorded an event."""


@dataclass(frozen=True, slots=True)
class FoundRound:
    """A round of a unit, and the table at which it was dealt; "" if that is not known."""

    unit: str
    table: str
    row: IndexedRound


@dataclass(frozen=True, slots=True)
class FoundIncident:
    """An incident, and the table at which the unit stood; "" if that is not known."""

    incident: Incident
    table: str


class IndexTables:
    """The rounds and incidents of all units. All may be called from any thread."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:", check_same_thread=False, isolation_level=None
        )
        self._connection.executescript(_TABLES)
        self._incidents: dict[int, Incident] = {}
        self._next_incident = 1
        self._longest_ms = 0  # from the earlier to the later time of any round
        self._lock = threading.Lock()

    def put_rounds(self, unit: str, rows: Iterable[IndexedRound], table_at: TableAt) -> None:
        """Add rounds of a unit. A round that is there already is replaced by a later end of it."""
        with self._lock:
            id_ = self._id(unit)
            self._connection.execute("BEGIN")
            for row in rows:
                row = IndexedRound(*map(_in_column, row))
                low, high = _span_of(row)
                place = table_at(row.first_event)
                self._connection.execute(_INSERT, (id_, place, low, high, *row))
                self._longest_ms = max(self._longest_ms, (high or 0) - (low or 0))
            self._connection.execute("COMMIT")

    def put_incidents(
        self, unit: str, incidents: Iterable[Incident], table_of: Callable[[Incident], str]
    ) -> None:
        """Replace all incidents of a unit."""
        with self._lock:
            id_ = self._id(unit)
            self._connection.execute("BEGIN")
            self._drop_incidents(id_)
            for each in incidents:
                number, self._next_incident = self._next_incident, self._next_incident + 1
                self._incidents[number] = each
                begin = _in_column(each.unix_ms)
                over = None if begin is None else _in_column(begin + (each.lasted_ms or 0))
                self._connection.execute(
                    "INSERT INTO incidents VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        number, id_, table_of(each), each.kind, _in_column(each.shoe),
                        _in_column(each.round), begin,
                        LARGEST if each.stands and over is not None else over,
                    ),
                )  # fmt: skip
            self._connection.execute("COMMIT")

    def drop(self, unit: str) -> None:
        """Forget a unit."""
        with self._lock:
            id_ = self._id(unit)
            self._drop_incidents(id_)
            self._connection.execute("DELETE FROM rounds WHERE unit = ?", (id_,))

    def rounds(self, query: Query, most: int, skip: int = 0) -> tuple[list[FoundRound], int]:
        """The rounds that fit, the newest first: at most `most`, after the first `skip`; and how
        many fit in all."""
        with self._lock:
            where, values = _of_rounds(query, self._longest_ms)
            (count,) = self._connection.execute(
                f"SELECT count(*) FROM rounds r WHERE {where}", values
            ).fetchone()
            found = self._connection.execute(
                f"SELECT (SELECT unit FROM units WHERE id = r.unit), r.place, {_OWN} FROM rounds r"
                f" WHERE {where} ORDER BY r.high DESC, r.unit, r.first_event DESC LIMIT ? OFFSET ?",
                [*values, most, skip],
            ).fetchall()
        return [FoundRound(unit, place, IndexedRound(*own)) for unit, place, *own in found], count

    def incidents(self, query: Query, most: int, skip: int = 0) -> tuple[list[FoundIncident], int]:
        """The incidents that fit, the newest first, and how many fit in all. Those without a time
        may be of any time."""
        where, values = _of_incidents(query)
        with self._lock:
            (count,) = self._connection.execute(
                f"SELECT count(*) FROM incidents i WHERE {where}", values
            ).fetchone()
            found = self._connection.execute(
                f"SELECT i.id, i.place FROM incidents i WHERE {where}"
                " ORDER BY i.begin DESC, i.id DESC LIMIT ? OFFSET ?",
                [*values, most, skip],
            ).fetchall()
            return [FoundIncident(self._incidents[id_], place) for id_, place in found], count

    def kinds_of(self, rounds: Sequence[FoundRound]) -> list[list[str]]:
        """The kinds of incidents of each of these rounds."""
        query = (
            "SELECT DISTINCT kind FROM incidents WHERE shoe = ? AND round = ?"
            " AND unit = (SELECT id FROM units WHERE unit = ?) ORDER BY id"
        )
        with self._lock:
            return [
                [kind for (kind,) in self._connection.execute(
                    query, (each.row.shoe, each.row.round, each.unit))]
                for each in rounds
            ]  # fmt: skip

    def beside(self, unit: str, first_event: int) -> tuple[FoundRound | None, FoundRound | None]:
        """The rounds before and after the one that began with an event."""
        found: list[FoundRound | None] = []
        for compared, order in (("<", "DESC"), (">", "ASC")):
            with self._lock:
                row = self._connection.execute(
                    f"SELECT r.place, {_OWN} FROM rounds r WHERE r.first_event {compared} ? AND"
                    " r.unit = (SELECT id FROM units WHERE unit = ?)"
                    f" ORDER BY r.first_event {order} LIMIT 1",
                    (first_event, unit),
                ).fetchone()
            found.append(row and FoundRound(unit, row[0], IndexedRound(*row[1:])))
        return found[0], found[1]

    def counts(self) -> tuple[int, int]:
        """How many rounds and incidents there are."""
        with self._lock:
            (rounds,) = self._connection.execute("SELECT count(*) FROM rounds").fetchone()
            return rounds, len(self._incidents)

    def _id(self, unit: str) -> int:
        self._connection.execute("INSERT OR IGNORE INTO units (unit) VALUES (?)", (unit,))
        (id_,) = self._connection.execute("SELECT id FROM units WHERE unit = ?", (unit,)).fetchone()
        return int(id_)

    def _drop_incidents(self, unit_id: int) -> None:
        query = "SELECT id FROM incidents WHERE unit = ?"
        for (number,) in self._connection.execute(query, (unit_id,)).fetchall():
            del self._incidents[number]
        self._connection.execute("DELETE FROM incidents WHERE unit = ?", (unit_id,))


def _in_column(value: Any) -> Any:
    """A value as a column can have it: the shoe's clock and numbers may be larger."""
    return min(value, LARGEST) if isinstance(value, int) else value


def _span_of(row: IndexedRound) -> tuple[int | None, int | None]:
    times = [each for each in (row.started_unix_ms, row.ended_unix_ms) if each is not None]
    return (min(times), max(times)) if times else (None, None)


def _place(query: Query, name: str) -> tuple[list[str], list[object]]:
    """Conditions that rounds and incidents share."""
    conditions, values = ["1"], list[object]()
    if query.unit is not None:
        # All boards of a unit, or one: no id of a unit has a "~".
        conditions.append(
            f"{name}.unit IN (SELECT id FROM units WHERE unit = ? OR substr(unit, 1, ?) = ?)"
        )
        values += [query.unit, len(query.unit) + 1, f"{query.unit}~"]
    for column, wanted in (("place", query.table), ("shoe", query.shoe), ("round", query.round)):
        if wanted is not None:
            conditions.append(f"{name}.{column} = ?")
            values.append(wanted)
    return conditions, values


def _of_rounds(query: Query, longest_ms: int) -> tuple[str, list[object]]:
    conditions, values = _place(query, "r")
    end = query.end_unix_ms
    for condition, value in (
        ("r.low < ?", end),
        ("r.high <= ?", None if end is None else min(end + longest_ms, LARGEST)),  # by the index
        ("r.high >= ?", query.begin_unix_ms),
        ("r.winner = ?", query.winner),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    for outcome in query.outcomes:
        conditions.append("instr(r.outcomes, ?)")
        values.append(f" {outcome} ")
    if query.cards:
        pattern = "".join(card if len(card) > 1 else card + _SUITS for card in query.cards)
        conditions.append("(r.hands GLOB ? OR r.dealt GLOB ?)")
        values += [f"*{pattern}*"] * 2
    conditions += ["r.by_hand > 0"] * query.by_hand
    conditions += ["r.void IS NOT NULL"] * query.void
    conditions += ["r.ghost_hand IS NOT NULL"] * query.ghost
    if query.incident is not None:
        kind = "" if query.incident == ANY else " AND i.kind = ?"
        conditions.append(
            "EXISTS (SELECT 1 FROM incidents i WHERE i.unit = r.unit AND i.shoe = r.shoe"
            f" AND i.round = r.round{kind})"
        )
        values += [query.incident] * bool(kind)
    return " AND ".join(conditions), values


def _of_incidents(query: Query) -> tuple[str, list[object]]:
    conditions, values = _place(query, "i")
    for condition, value in (
        ("(i.begin < ? OR i.begin IS NULL)", query.end_unix_ms),
        ("(i.over >= ? OR i.begin IS NULL)", query.begin_unix_ms),
        ("i.kind = ?", None if query.incident == ANY else query.incident),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return " AND ".join(conditions), values
