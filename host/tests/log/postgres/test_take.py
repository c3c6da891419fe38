"""`sabot.take`: what it stores, what it refuses, and what it says."""

import random
import threading
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from host.tests.support.naive_shoe import naive_event, recorded
from host.tests.support.postgres import Database
from sabot.errors import DatabaseUnusable, NotThisSites
from sabot.log.found import Row
from sabot.log.postgres import sessions
from sabot.log.postgres.store import PostgresStore
from sabot.log.postgres.taking import EndsBefore, Head, NotStored, OtherBytes, take
from sabot.log.store import open_store
from sabot.silences import NOT_STORED
from sabot_protocol.events import MAC_SIZE

_UNIT = "SHOE-7"
_COLUMNS = ("numbers", "records", "macs", "kinds", "times", "shoes", "rounds")


def _row(number: int, data: bytes = b"", shoe: int = 1, unix_ms: int | None = None) -> Row:
    data = data or b"record %d" % number
    return Row(_UNIT, number, "button", unix_ms, shoe, 1, 0, data, number.to_bytes(MAC_SIZE, "big"))


def _rows(first: int, last: int) -> list[Row]:
    return [_row(number) for number in range(first, last + 1)]


class _Taker:
    """Takes records as one role."""

    def __init__(self, database: Database, role: str) -> None:
        self._place = database.place(role)
        self.session = sessions.connected(self._place, sessions.arguments(self._place))

    def __call__(self, rows: Sequence[Row], after: int | None = None, unit: str = _UNIT) -> Head:
        return take(self._place, self.session, unit, rows, after)


@pytest.fixture
def logger(database: Database) -> Iterator[_Taker]:
    taker = _Taker(database, "logger")
    with taker.session:
        yield taker


def _numbers(database: Database) -> list[int]:
    with database.connect("reader") as session:
        found = session.execute("SELECT number FROM sabot.records ORDER BY number")
        return [number for (number,) in found]


def _holes(database: Database) -> list[tuple[int, int]]:
    with database.connect("reader") as session:
        return session.execute("SELECT first, last FROM sabot.holes ORDER BY first").fetchall()  # type: ignore[return-value]


def test_the_head_is_the_newest_record_and_the_count_of_all(
    database: Database, logger: _Taker
) -> None:
    assert logger(_rows(1, 3), 0) == Head(3, _row(3).mac, 3)
    assert logger(_rows(4, 4), 3) == Head(4, _row(4).mac, 4)
    assert _numbers(database) == [1, 2, 3, 4]


def test_what_comes_twice_is_stored_once(database: Database, logger: _Taker) -> None:
    logger(_rows(1, 10), 0)
    assert logger(_rows(1, 10), 0).records == 10
    assert logger(_rows(6, 14), 5) == Head(14, _row(14).mac, 14)
    assert _numbers(database) == list(range(1, 15))


def test_other_bytes_store_nothing_and_are_named(database: Database, logger: _Taker) -> None:
    logger(_rows(1, 10), 0)
    with pytest.raises(OtherBytes) as caught:
        logger([*_rows(9, 9), _row(10, b"other"), *_rows(11, 12)], 8)
    assert caught.value.number == 10
    with pytest.raises(OtherBytes):
        logger([_row(10)._replace(mac=bytes(MAC_SIZE))])
    assert _numbers(database) == list(range(1, 11))


def test_a_log_that_ends_before_the_sender_thinks_takes_nothing(
    database: Database, logger: _Taker
) -> None:
    logger(_rows(1, 10), 0)
    with pytest.raises(EndsBefore) as caught:
        logger(_rows(13, 14), 12)
    assert caught.value.newest == 10
    assert _numbers(database) == list(range(1, 11))


def test_numbers_that_the_sender_lacks_are_a_hole_until_they_come(
    database: Database, logger: _Taker
) -> None:
    logger(_rows(1, 2), 0)
    logger(_rows(6, 7), 2)
    logger([*_rows(8, 8), *_rows(20, 20)], 7)
    assert _holes(database) == [(3, 5), (9, 19)]
    logger(_rows(4, 4))
    assert _holes(database) == [(3, 3), (5, 5), (9, 19)]
    assert logger(_rows(1, 20)).records == 20
    assert _holes(database) == []
    assert _numbers(database) == list(range(1, 21))


def test_any_batches_end_with_every_record_and_the_holes_between_them(
    database: Database, logger: _Taker, rng: random.Random
) -> None:
    there: set[int] = set()
    for _ in range(60):
        first = rng.randint(1, 120)
        numbers = sorted(rng.sample(range(first, first + 30), rng.randint(1, 12)))
        there |= set(numbers)
        head = logger([_row(number) for number in numbers])
        assert head == Head(max(there), _row(max(there)).mac, len(there))
    assert _numbers(database) == sorted(there)
    missing = [number for first, last in _holes(database) for number in range(first, last + 1)]
    assert missing == sorted(set(range(1, max(there))) - there)


def test_the_limits_of_a_day_are_those_of_its_records(database: Database, logger: _Taker) -> None:
    logger([_row(2, shoe=4, unix_ms=50), _row(3, shoe=3)])
    logger([_row(1, shoe=9), _row(2, shoe=4, unix_ms=50)])
    with database.connect("reader") as session:
        query = "SELECT first, last, first_shoe, last_shoe, first_unix_ms, last_unix_ms"
        assert session.execute(f"{query} FROM sabot.days").fetchall() == [(1, 3, 3, 9, 50, 50)]


_NO_RECORDS: list[list[Row]] = [
    [],
    [_row(2), _row(1)],
    [_row(1), _row(1)],
    [_row(0)],
    [_row(1)._replace(number=-1)],
    [_row(1)._replace(data=b"")],
    [_row(1)._replace(data=bytes(193))],
    [_row(1)._replace(mac=b"short")],
    [_row(1)._replace(kind="")],
    [_row(1)._replace(kind="k" * 41)],
    [_row(1)._replace(kind="a\0b")],
    [_row(1)._replace(kind="\ud800")],
    [_row(1 << 63)],
    [_row(1)._replace(shoe=1 << 63)],
    [_row(1)._replace(data="text")],  # type: ignore[arg-type]
]


def test_a_record_that_is_none_is_refused_with_its_whole_batch(
    database: Database, logger: _Taker
) -> None:
    for rows in _NO_RECORDS:
        with pytest.raises((DatabaseUnusable, psycopg.Error)):
            logger(rows)
            pytest.fail(f"took {rows}")
    assert _numbers(database) == []


_SHAPES = (
    "'{{%s,%s}}'::bigint[]",
    "'{{%s},{%s}}'::bigint[]",
    "'[0:1]={%s,%s}'::bigint[]",
    "'[2:3]={%s,%s}'::bigint[]",
    "'[-5:-4]={%s,%s}'::bigint[]",
)


@pytest.mark.parametrize("shape", _SHAPES)
def test_an_array_of_another_shape_is_refused(
    database: Database, logger: _Taker, shape: str
) -> None:
    """Its items would be stored, and not be those that are looked at by their index."""
    logger(_rows(1, 2), 0)
    numbers = shape % (3, 4)
    records, macs = "ARRAY['a', 'b']::bytea[]", f"ARRAY['{'m' * 16}', '{'n' * 16}']::bytea[]"
    others = ("ARRAY['lid', 'lid']", *["ARRAY[1, 1]::bigint[]"] * 3)
    odd_macs = (shape % ("a", "b")).replace("bigint", "bytea")
    for given in (
        (numbers, records, macs, *others),
        ("ARRAY[3, 4]::bigint[]", records, odd_macs, *others),
    ):
        digest = " || ".join(f"array_send({each})" for each in given)
        query = (
            f"SELECT sabot.take('{_UNIT}', 2, {', '.join(given)}, NULL,"
            f" sha256(convert_to('{_UNIT}', 'UTF8') || {digest}))"
        )
        with database.connect("logger") as session, pytest.raises(psycopg.Error) as caught:
            session.execute(query)
        assert caught.value.sqlstate == "SB400"
    assert _numbers(database) == [1, 2]


def test_the_largest_number_ends_a_unit_and_harms_nothing(
    database: Database, logger: _Taker
) -> None:
    largest = (1 << 63) - 1
    assert logger([_row(largest)]).number == largest
    assert logger([_row(5), _row(largest)]).records == 2
    assert _holes(database) == [(1, 4), (6, largest - 1)]


def test_a_far_number_after_the_next_one_takes_no_memory_of_the_server(
    database: Database, logger: _Taker
) -> None:
    """A series of all numbers up to it would be larger than any array that PostgreSQL makes."""
    assert logger([_row(1), _row(1 << 60)]).number == 1 << 60
    assert _numbers(database) == [1, 1 << 60]


def test_many_sessions_that_meet_a_new_day_make_its_partition_once(database: Database) -> None:
    takers = [_Taker(database, "keeper") for _ in range(6)]
    day_ms, gate = 1_700_000_000_000, threading.Barrier(len(takers))
    failed: list[BaseException] = []

    def take_of(at: int) -> None:
        taker = takers[at]
        try:
            for day in range(5):
                gate.wait(30)
                place, unit = database.place("keeper"), f"U{at}"
                take(place, taker.session, unit, [_row(day + 1)], day, day_ms * (1 + day))
        except BaseException as error:
            failed.append(error)
            gate.abort()

    threads = [threading.Thread(target=take_of, args=(at,)) for at in range(len(takers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert len(_numbers(database)) == 30


@pytest.mark.parametrize("changed", range(len(_COLUMNS)), ids=_COLUMNS)
def test_a_batch_that_was_changed_on_the_way_is_not_stored(
    database: Database, changed: int
) -> None:
    sent: list[list[object]] = [
        [1, 2], [b"a", b"b"], [bytes(16), bytes(16)], ["lid", "key"], [5, None], [1, 1], [2, 2],
    ]  # fmt: skip
    got = [list(values) for values in sent]
    got[changed].reverse()
    if changed in (2, 5, 6):
        got[changed][1] = bytes(range(16)) if changed == 2 else 3
    types = ("bigint", "bytea", "bytea", "text", "bigint", "bigint", "bigint")
    digest = "sha256(convert_to('U', 'UTF8')"
    digest += "".join(f" || array_send(%s::{each}[])" for each in types) + ")"
    given = ", ".join(f"%s::{each}[]" for each in types)
    query = f"SELECT newest FROM sabot.take('U', 0, {given}, NULL, {digest})"
    with database.connect("logger") as session:
        with pytest.raises(psycopg.Error) as caught:
            session.execute(query, [*got, *sent])
        assert caught.value.sqlstate == "SB422"
        assert session.execute(query, [*sent, *sent]).fetchall() == [(2,)]


def test_a_site_writes_its_own_units_only(database: Database) -> None:
    database.allow("site_1", _UNIT)
    assert _Taker(database, "site_1")(_rows(1, 2), 0).number == 2
    for role in ("site_2", "site_1"):
        with pytest.raises(NotThisSites):
            _Taker(database, role)(_rows(3, 3), unit=_UNIT if role == "site_2" else "OTHER")
    assert _numbers(database) == [1, 2]


_WITHOUT_EFFECT = {
    "strict": "ALTER FUNCTION sabot.take STRICT",
    "hidden": "CREATE RULE hide AS ON INSERT TO sabot.records DO INSTEAD NOTHING",
}


@pytest.mark.parametrize("way", list(NOT_STORED.ways))
def test_what_the_database_does_not_say_that_it_has_is_not_acknowledged(
    database: Database, way: str
) -> None:
    with open_store(database.place("logger"), create=True) as store:
        with database.connect("postgres") as session:
            session.execute(_WITHOUT_EFFECT[way])
        with pytest.raises(NotStored) as caught:
            store.append("U1", [recorded(naive_event(number)) for number in (1, 2)])
    assert NOT_STORED.is_told_in(str(caught.value))
    assert _numbers(database) == []


def test_a_function_that_was_altered_since_the_log_was_opened_takes_no_more(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that answers as if it had stored everything."""
    now_s = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    with PostgresStore(database.place("logger"), create=True) as store:
        with database.connect("postgres") as session:
            (made,) = session.execute(
                "SELECT pg_get_functiondef('sabot.take'::regproc)"
            ).fetchone() or ("",)
            head, _, _ = made.partition("AS $function$")
            session.execute(
                f"{head} AS 'BEGIN newest := numbers[cardinality(numbers)];"
                " newest_mac := macs[cardinality(macs)]; taken := newest; END'"
            )
        store.append("U1", [recorded(naive_event(1))])
        now_s[0] = 61.0
        for _ in range(2):
            with pytest.raises(DatabaseUnusable, match=r"functions were altered \(.* take\("):
                store.append("U1", [recorded(naive_event(2))])
