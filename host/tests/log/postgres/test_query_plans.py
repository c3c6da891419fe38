"""Each query of a log in PostgreSQL reads few partitions, and these by an index: the server itself
says how it carries out (EXPLAIN) what the store asks it, with and without statistics."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from host.tests.support.postgres import Database, Server, new_log
from sabot.log.postgres.sessions import PostgresConnection
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import Filter, Store

_DAYS, _UNITS, _A_DAY = 30, 20, 400
_FIRST_MS = 1_795_219_200_000  # 2026-11-21, 00:00 UTC
_DAY_MS = 86_400_000
_SHOE = 200  # events of a shoe of cards
_NEWEST = _DAYS * _A_DAY


@pytest.fixture(scope="module", params=[True, False], ids=["with statistics", "without"])
def filled(request: pytest.FixtureRequest, postgres: Server) -> Iterator[Database]:
    """A log of thirty days, 400 events a day of each of twenty units."""
    with new_log(postgres) as database, database.connect() as session:
        session.execute("SET ROLE sabot_keeper")
        session.execute("ALTER TABLE sabot.days SET (autovacuum_enabled = off)")
        session.execute(
            "SELECT sabot.make_partition(date '2026-11-21' + d) FROM generate_series(0, %s) AS d",
            (_DAYS,),
        )
        for day in range(_DAYS):
            session.execute(
                "ALTER TABLE sabot.records_"
                f"{'2026_11' if day < 10 else '2026_12'}_{21 + day if day < 10 else day - 9:02}"
                " SET (autovacuum_enabled = off)"
            )
        numbers = "generate_series(1, %s) AS u, generate_series(1, %s) AS n"
        session.execute(
            "INSERT INTO sabot.records SELECT n, t, t, 1 + n / %s, n %% %s / 10, u,"
            " date '2026-11-21' + (n - 1) / %s, 'record', %s,"
            " CASE WHEN n %% 10 = 1 THEN 'betting_open' ELSE 'card' END"
            f" FROM {numbers}, LATERAL (SELECT %s + (n - 1) * %s::bigint AS t) AS at",
            (_SHOE, _SHOE, _A_DAY, bytes(16), _UNITS, _NEWEST, _FIRST_MS, _DAY_MS // _A_DAY),
        )
        session.execute(
            "INSERT INTO sabot.days SELECT min(number), max(number), min(shoe), max(shoe),"
            " min(unix_ms), max(unix_ms), unit, day FROM sabot.records GROUP BY unit, day"
        )
        session.execute(
            "INSERT INTO sabot.units (newest, records, unit, site, mac)"
            " SELECT %s, %s, 'U' || u, 'x', %s FROM generate_series(1, %s) AS u",
            (_NEWEST, _NEWEST, bytes(16), _UNITS),
        )
        if request.param:
            session.execute("ANALYZE sabot.records, sabot.days, sabot.units")
        yield database


class _Plans:
    """The plans of all that a store asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes: list[dict[str, Any]] = []
        execute, stream = PostgresConnection.execute, PostgresConnection.stream

        def explained(it: PostgresConnection, query: str, given: Sequence[Any] = ()) -> Any:
            self._explain(execute, it, query, given)
            return execute(it, query, given)

        def streamed(it: PostgresConnection, query: str, given: Sequence[Any], chunk: int) -> Any:
            self._explain(execute, it, query, given)
            return stream(it, query, given, chunk)

        monkeypatch.setattr(PostgresConnection, "execute", explained)
        monkeypatch.setattr(PostgresConnection, "stream", streamed)

    def _explain(
        self, execute: Callable[..., Any], it: PostgresConnection, query: str, given: Sequence[Any]
    ) -> None:
        if query.startswith(("SELECT", "WITH")):
            (((plan,),),) = (execute(it, f"EXPLAIN (FORMAT JSON) {query}", given).fetchall(),)
            for each in json.loads(plan) if isinstance(plan, str) else plan:
                self._add(each["Plan"])

    def _add(self, node: dict[str, Any]) -> None:
        self.nodes.append(node)
        for each in node.get("Plans", ()):
            self._add(each)

    @property
    def partitions(self) -> set[str]:
        names = {str(node.get("Relation Name", "")) for node in self.nodes}
        return {name for name in names if name.startswith("records_")}

    @property
    def whole(self) -> set[str]:
        """The tables that are read as a whole."""
        return {node["Relation Name"] for node in self.nodes if node["Node Type"] == "Seq Scan"}


_LAST = f"records_2026_12_{_DAYS - 10:02}"


def _calls() -> dict[str, tuple[Callable[[Store], object], int]]:
    """What a store is asked, and how many partitions that may read at most."""
    at = _FIRST_MS + 12 * _DAY_MS + 1000
    unit = "U7"
    of_shoe = _NEWEST // 2 // _SHOE + 1
    return {
        "a round": (lambda s: list(s.rows(Filter(unit, shoe=of_shoe, round=3))), 2),
        "a shoe": (lambda s: list(s.rows(Filter(unit, shoe=of_shoe))), 2),
        "an hour": (
            lambda s: list(s.rows(Filter(unit, from_unix_ms=at, to_unix_ms=at + 3_600_000))), 1,
        ),
        "an hour of all units": (
            lambda s: list(s.rows(Filter(from_unix_ms=at, to_unix_ms=at + 3_600_000))), 1,
        ),
        "from an event on": (lambda s: list(s.rows(Filter(unit, first=_NEWEST - 50))), 1),
        "some kinds": (lambda s: list(s.rows(Filter(unit, kinds=["boot"], shoe=3))), 2),
        "backward": (
            lambda s: next(iter(s.rows(Filter(unit, first=_NEWEST - 9, newest_first=True)))), 1,
        ),
        "records": (lambda s: list(s.raw(unit, 5000, 5300)), 2),
        "one record": (lambda s: list(s.raw(unit, 5000, 5000)), 1),
        "what is derived": (lambda s: list(s.derived(unit, 5000, 5300)), 2),
        "how many within": (lambda s: s.records_within(unit, 5000, 5300), 2),
        "the next event": (lambda s: s.first_from(unit, 5000), 2),
        "no next event": (lambda s: s.first_from(unit, _NEWEST + 1), 0),
        "when it came last": (lambda s: s.last_received(unit), 1),
        "the place at a time": (lambda s: s.place_at(unit, at), 1),
        "the rounds of an hour": (lambda s: s.rounds_within(unit, at, at + 3_600_000), 5),
        "the newest events": (lambda s: [s.last_number(f"U{n}") for n in range(1, _UNITS)], 0),
        "the units": (lambda s: s.units(), 0),
    }  # fmt: skip


@pytest.mark.parametrize("what", _calls())
def test_a_question_reads_few_partitions_and_these_by_an_index(
    filled: Database, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    call, most = _calls()[what]
    with PostgresStore(filled.place("reader")) as store:
        plans = _Plans(monkeypatch)
        call(store)
    assert plans.nodes
    assert len(plans.partitions) <= most
    assert not {name for name in plans.whole if name.startswith(("records", "days"))}


def test_following_asks_one_small_table_and_then_the_partitions_of_what_is_new(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresStore(filled.place("reader")) as store:
        follower = store.follower()
        plans = _Plans(monkeypatch)
        assert len(follower.poll()) == _UNITS
        assert plans.partitions == set()
        assert len(list(follower.records("U7", _NEWEST - 100))) == 100
        assert plans.partitions == {_LAST}
        assert follower.received_before("U7", _FIRST_MS + 3 * _DAY_MS) == 3 * _A_DAY
        assert not {name for name in plans.whole if name.startswith(("records", "days"))}
        follower.close()


def test_a_record_that_comes_again_is_looked_for_on_its_day_only(filled: Database) -> None:
    """By the counters of the server: which partitions were read, and how."""
    query = (
        "SELECT relname::text, seq_scan, idx_scan FROM pg_stat_user_tables"
        " WHERE relname LIKE 'records\\_2%'"
    )

    def counted(session: Any) -> dict[str, tuple[int, int]]:
        session.execute("SELECT pg_stat_clear_snapshot()")
        return {name: (seq, idx) for name, seq, idx in session.execute(query)}

    with filled.connect() as session:
        session.execute("SELECT pg_stat_force_next_flush()")
        before = counted(session)
        numbers = list(range(4010, 4020))
        arrays = (
            numbers, [b"record"] * 10, [bytes(16)] * 10, ["card"] * 10, [None] * 10, [1] * 10,
            [1] * 10,
        )  # fmt: skip
        types = ("bigint", "bytea", "bytea", "text", "bigint", "bigint", "bigint")
        given = ", ".join(f"%s::{each}[]" for each in types)
        sent = " || ".join(f"array_send(%s::{each}[])" for each in types)
        digest = f"sha256(convert_to('U7', 'UTF8') || {sent})"
        session.execute(
            f"SELECT sabot.take('U7', NULL, {given}, NULL, {digest})", [*arrays, *arrays]
        )
        session.execute("SELECT pg_stat_force_next_flush()")
        after = counted(session)
    read = {name for name in after if after[name] != before[name]}
    assert read == {"records_2026_12_01"}
    assert after["records_2026_12_01"][0] == before["records_2026_12_01"][0]
