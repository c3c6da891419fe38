"""A log that is looked through in spans has the incidents that one pass finds, whatever was done to
it.

One pass over all records of a unit, `Search.of_unit`, is the oracle; test_incident_search.py
compares it with a look at each event. Spans are as short here as a part of a shoe of cards.
"""

import random
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import cbor2
import pytest

from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.log_tampering import tamper
from host.tests.audit.test_spans import UNITS, whole, write_forged
from host.tests.notable.test_incident_search import random_records, slow_records
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names
from sabot.audit import spans, workers
from sabot.errors import DatabaseUnusable
from sabot.log.reveal import ShownGames
from sabot.log.store import Store, open_store
from sabot.notable import incident_search, incident_spans
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_search import Search, Wanted
from sabot.notable.incident_spans import search_file
from sabot_protocol import events

__all__ = ["whole"]  # a fixture

Outcome = tuple[dict[str, list[Incident]], int] | str
ALL = Wanted()
SPAN = 300


@pytest.fixture(autouse=True)
def again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Short spans, looked through in a thread of this process. Returns the units of which one pass
    had to be made."""
    monkeypatch.setattr(spans, "SPAN", SPAN)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", _OneThread)
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    units: list[str] = []
    in_one_pass = incident_spans._in_one_pass

    def noted(store: Store, unit: str, *rest: Any) -> list[Incident]:
        units.append(unit)
        return in_one_pass(store, unit, *rest)

    monkeypatch.setattr(incident_spans, "_in_one_pass", noted)
    return units


class _OneThread(ThreadPoolExecutor):
    """In place of several processes."""

    def __init__(self, _: int, __: object, **given: Any) -> None:
        super().__init__(1, **given)


def one_pass(path: Path, wanted: Wanted) -> Outcome:
    """What one pass over each unit gives."""
    try:
        with open_store(path) as store:
            search = Search(wanted, ShownGames(store.game))
            found = {unit: search.of_unit(unit, store.raw_chunks(unit)) for unit in store.units()}
            return found, search.damaged
    except DatabaseUnusable as refused:
        return str(refused)


def in_spans(path: Path, wanted: Wanted) -> Outcome:
    """What the spans give."""
    try:
        with open_store(path) as store:
            units = store.units()
        return search_file(path, units, wanted)
    except DatabaseUnusable as refused:
        return str(refused)


def wanted_of(path: Path, rng: random.Random) -> Wanted:
    """A shoe of cards, a time span, limits, or all."""
    limits = rng.choice((Limits(), Limits(0, 0), Limits(30, 30)))
    if rng.random() < 0.4:
        return Wanted(limits=limits)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT unix_ms FROM events WHERE typeof(unix_ms) = 'integer'"
        try:
            times = [time for (time,) in connection.execute(query)]
        except sqlite3.Error:
            times = []
    some = sorted(rng.choice([None, *times]) or 0 for _ in range(2)) if times else [0, 1]
    begin, end = rng.choice(((some[0], None), (None, some[1]), (*some,)))
    return Wanted(rng.choice((None, None, 1, 2)), begin, end, limits)


def logged(path: Path, of_units: dict[str, list[tuple[int, bytes, bytes]]]) -> Path:
    """A log of these rows."""
    with new_log(path) as store, store.writer as connection:
        for id_, (unit, rows) in enumerate(of_units.items(), 1):
            connection.execute("INSERT INTO units VALUES (?, ?)", (id_, unit))
            connection.executemany(
                "INSERT INTO records VALUES (?, ?, 0, ?, ?)", [(id_, *row) for row in rows]
            )
    return path


@pytest.mark.slow
def test_each_span_of_a_whole_log_is_used(whole: Path, again: list[str]) -> None:
    with open_store(whole) as store:
        assert all(len(spans.spans_of(store, unit)) > 3 for unit in UNITS)
    found = in_spans(whole, ALL)
    assert found == one_pass(whole, ALL) and found[0]["SHOE-2"]  # type: ignore[index]
    assert again == []


@pytest.mark.slow
def test_a_game_document_that_is_not_kept_is_asked_for_once_a_span(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(whole) as store:
        due = 1 + sum(len(spans.spans_of(store, unit)) for unit in UNITS)
    asked: list[bytes] = []
    monkeypatch.setattr(Store, "game", lambda _, sha256: asked.append(sha256))
    in_spans(whole, ALL)
    assert set(asked) and len(asked) <= due * len(set(asked))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_and_slow_evenings(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short spans, of which many begin and end in the same shoe of cards."""
    monkeypatch.setattr(spans, "SPAN", 30 + 40 * seed)
    path = logged(tmp_path / "log.sqlite", {"A": random_records(seed), "B": slow_records(seed)})
    rng = random.Random(seed)
    for wanted in (ALL, *(wanted_of(path, rng) for _ in range(4))):
        assert in_spans(path, wanted) == one_pass(path, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_file_that_was_tampered_with(whole: Path, tmp_path: Path, batch: int) -> None:
    for seed, rng in cases(batch, sample=8):
        path = shutil.copyfile(whole, tmp_path / "log.sqlite")
        ways = tamper(path, rng)
        wanted = rng.choice((ALL, Wanted(1), Wanted(begin=1_795_000_020_000)))
        assert in_spans(path, wanted) == one_pass(path, wanted), f"seed {seed}, {ways}"
        for beside in tmp_path.glob("log.sqlite*"):
            beside.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_events_that_were_forged(tmp_path: Path, batch: int) -> None:
    """And rows in other places, and lists that lie."""
    for seed, rng in cases(batch, sample=8):
        path = tmp_path / f"{seed}.sqlite"
        write_forged(path, rng)
        for wanted in (ALL, wanted_of(path, rng)):
            assert in_spans(path, wanted) == one_pass(path, wanted), f"seed {seed}"
        path.unlink()


@pytest.mark.parametrize("row", [SPAN - 1, SPAN])
@pytest.mark.parametrize(
    "number", [SPAN - 0.5, SPAN + 0.5, 0, -(2**62), 2**62, "between", b"between"]
)
def test_a_record_in_a_place_that_no_number_has(
    whole: Path, tmp_path: Path, number: object, row: int
) -> None:
    path = shutil.copyfile(whole, tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        query = "UPDATE records SET number = ? WHERE unit = 1 AND number = ?"
        connection.execute(query, (number, row))
        connection.commit()
    assert in_spans(path, ALL) == one_pass(path, ALL)


@pytest.mark.slow
@pytest.mark.parametrize("removed", [(1, 700), (1, 350)])
def test_events_removed_between_two_spans_are_not_missing(
    whole: Path,
    tmp_path: Path,
    again: list[str],
    monkeypatch: pytest.MonkeyPatch,
    removed: tuple[int, int],
) -> None:
    """`sabot prune` may run meanwhile."""
    path = shutil.copyfile(whole, tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE records SET record = x'ff' WHERE number IN (100, 800)")
        connection.commit()
    records_of = incident_spans.records_of

    def pruned_first(store: Store, unit: str, span: spans.Span) -> Iterator[Any]:
        if span.first is not None and not store.tombstone_rows(unit):
            with open_store(path) as other:
                other.prune(unit, *removed, b"")
        return records_of(store, unit, span)

    monkeypatch.setattr(incident_spans, "records_of", pruned_first)
    assert in_spans(path, ALL) == one_pass(path, ALL)
    assert again == list(UNITS)


def test_a_span_must_be_followed_by_the_first_record_of_the_next(whole: Path) -> None:
    with open_store(whole) as store:
        records = incident_spans.records_of(store, "SHOE-1", spans.Span(None, 10, 19))
        assert [number for rows in records for number, _, _ in rows] == [*range(10, 20)]
        for last in (0, 10_000):
            records = incident_spans.records_of(store, "SHOE-1", spans.Span(None, None, last - 1))
            with pytest.raises(incident_spans.NotAsOnePass):
                list(records)


def disputed_shoe(shoe: int) -> list[list[Any]]:
    """The values of the events of a shoe of cards, of which the last one but a few has another
    number of cards than were dealt, if all of them are looked at together. Some events have no
    number of a shoe."""
    log = FirmwareLog().deal_shoe(shuffled_names(shoe, cut_from_end=300))
    found = [cbor2.loads(data) for data in log.records]
    for values in found:
        values[5] = 0 if values[0] == events.LOCK.number else shoe
        if values[0] == events.SHOE_ENDED.number:
            values[-1] += 1
    return [values for values in found if values[0] != events.BOOT.number]


def rows_of(found: list[list[Any]], damaged: Sequence[int] = ()) -> list[tuple[int, bytes, bytes]]:
    """The rows of these events, a second each."""
    rows = []
    for number, values in enumerate(found, 1):
        t_ms = 1000 * number
        head = [values[0], number, 1, t_ms, 1_795_000_000_000 + t_ms]
        record = cbor2.dumps([*head, *values[5:]], canonical=True)
        rows.append((number, b"\xff" if number in damaged else record, bytes(16)))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("span", [70, 180, 410])
def test_a_shoe_of_cards_in_several_spans_is_looked_at_as_a_whole(
    tmp_path: Path, again: list[str], monkeypatch: pytest.MonkeyPatch, span: int
) -> None:
    monkeypatch.setattr(spans, "SPAN", span)
    shoes = [disputed_shoe(shoe) for shoe in (1, 2, 3, 4, 5)]
    rows = rows_of([values for shoe in shoes for values in shoe], range(50, 2000, 90))
    path = logged(tmp_path / "log.sqlite", {"A": rows})
    whole_length = sum(map(len, shoes))
    for begin in range(0, whole_length, whole_length // 6):
        wanted = Wanted(begin=1_795_000_000_000 + 1000 * begin)
        assert in_spans(path, wanted) == one_pass(path, wanted)
    path = logged(tmp_path / "whole.sqlite", {"A": rows_of([v for shoe in shoes for v in shoe])})
    found = in_spans(path, ALL)
    assert found == one_pass(path, ALL) and again == []
    assert [each.kind for each in found[0]["A"]].count("rules") == len(shoes)  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True], ids=["", "all spans at once"])
@pytest.mark.parametrize("span", [300, 1300])
def test_a_shoe_of_cards_that_never_ends_is_looked_through_in_the_parts_of_one_pass(
    tmp_path: Path, again: list[str], monkeypatch: pytest.MonkeyPatch, span: int, ahead: bool
) -> None:
    """Such a part begins and ends where one pass has so many records, wherever a span does."""
    monkeypatch.setattr(incident_search, "MOST_TOGETHER", 1300)
    monkeypatch.setattr(incident_spans, "MOST_TOGETHER", 1300)
    monkeypatch.setattr(spans, "SPAN", span)
    submit = workers.Workers.submit

    def finished(pool: workers.Workers, work: Any, tasks: Any) -> Sequence[Future[Any]]:
        futures = submit(pool, work, tasks)
        wait(futures)
        return futures

    if ahead:  # the other process is through with all spans before the first is looked at here
        monkeypatch.setattr(workers.Workers, "submit", finished)
    ordinary = [values for shoe in range(1, 8) for values in disputed_shoe(shoe)]
    rows = rows_of([*ordinary, *disputed_shoe(9) * 20, *ordinary], [700])
    path = logged(tmp_path / "log.sqlite", {"A": rows, "B": slow_records(1)})
    counts: list[int] = []
    assert search_file(path, ["A", "B"], ALL, counts.append) == one_pass(path, ALL)
    assert again == ["A"]
    with open_store(path) as store:  # a span that is no longer needed may still be looked through
        assert counts == sorted(counts) and 0 <= counts[-1] - store.count() <= span


def test_one_core_makes_one_pass(
    whole: Path, again: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 1)
    counts: list[int] = []
    found = search_file(whole, list(UNITS), ALL, counts.append)
    assert found == one_pass(whole, ALL)
    assert again == list(UNITS)
    with open_store(whole) as store:
        assert counts == sorted(counts) and counts[-1] == store.count()
