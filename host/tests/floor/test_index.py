"""The index of rounds has what `sabot rounds` and `sabot incidents` list, whatever the family,
however a log is cut into spans, and while it grows."""

import json
import random
import shutil
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import FirmwareLog, event_bytes, new_log, shuffled_names, stored
from sabot.audit import spans, workers
from sabot.cli import app
from sabot.floor.rounds import index as indexes
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.search import Query
from sabot.log.found import LARGEST
from sabot.log.presence import ATTACHED, Span
from sabot.log.store import open_store
from sabot.table_time import zone_of
from sabot.text import utc_time
from sabot_protocol import events

TABLES = ("3", "12", "VIP 4")
_ALL = 1_000_000
_UTC = zone_of("UTC")


class _OneThread(ThreadPoolExecutor):
    """In place of several processes."""

    def __init__(self, _: int, __: object, **given: Any) -> None:
        super().__init__(1)
        workers._begin(*given["initargs"])


@pytest.fixture
def in_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans as short as a part of a shoe of cards, read in a thread of this process."""
    monkeypatch.setattr(spans, "SPAN", 120)
    monkeypatch.setattr(spans, "WARM_UP", 60)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", _OneThread)
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    monkeypatch.setattr(indexes, "_FEW_RECORDS", 0)


def listed(path: Path, command: str) -> list[dict[str, Any]]:
    """What a command lists of a log."""
    arguments = [*command.split(), "--db", str(path), "--json"]
    done = CliRunner().invoke(app(), arguments)
    assert done.stdout or not done.output.startswith("Usage"), done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(index: RoundIndex, path: Path) -> None:
    """Compare an index with what the commands list."""
    rounds, count = index.rounds(Query(), _ALL)
    assert count == len(rounds)
    indexed = {(each.unit, each.row.first_event): each for each in rounds}
    expected = listed(path, "rounds --with-void")
    assert sorted(indexed) == sorted((each["unit"], each["first_event"]) for each in expected)
    for each in expected:
        found = indexed[each["unit"], each["first_event"]]
        row = found.row
        assert found.table == each["table"]
        assert (row.shoe, row.round, row.last_event) == (
            each["shoe"], each["round"], each["last_event"],
        )  # fmt: skip
        assert utc_time(row.started_unix_ms) == each["started"]
        assert utc_time(row.ended_unix_ms) == each["ended"]
        assert row.void == each["void"] and row.sealed == each["sealed"]
        assert row.by_hand == len(each["by_hand"])
        assert row.family == each.get("family", "baccarat")
        assert row.winner == each.get("winner") and row.ghost_hand == each.get("ghost_hand")
        assert ("natural" in row.outcomes.split()) == each.get("natural", False)
        assert set(each.get("hits", ())) <= set(row.outcomes.split())
        assert [cards for _, cards in row.hands_by_name] == [h for h in hands_of(each) if h]
    incidents, count = index.incidents(Query(), _ALL)
    assert count == len(incidents)
    shown = [{"unit": each.incident.unit, "table": each.table} | each.incident.as_json(_UTC)
             for each in incidents]  # fmt: skip
    by_place = sorted(shown, key=lambda each: json.dumps(each))
    expected = listed(path, "incidents --zone UTC")
    assert by_place == sorted(expected, key=lambda each: json.dumps(each))


def hands_of(each: dict[str, Any]) -> list[list[str]]:
    """The hands of a round as the command lists it, in the order of the table."""
    match each.get("family", "baccarat"):
        case "blackjack":
            return [*(hand["cards"] for box in each["boxes"] for hand in box), each["dealer"]]
        case "holdem":
            return [*each["hands"], each["board"], each["second_board"]]
    return [each["player"], each["banker"]]


def damage(path: Path, rng: random.Random) -> None:
    """Make some records unreadable, and remove some."""
    with closing(sqlite3.connect(path)) as connection:
        numbers = connection.execute("SELECT unit, number FROM records").fetchall()
        for place in rng.sample(numbers, 6):
            connection.execute("UPDATE records SET record = x'ff' WHERE (unit, number) = (?, ?)",
                               place)  # fmt: skip
            connection.execute("DELETE FROM events WHERE unit = ?", place[:1])
        for place in rng.sample(numbers, 3):
            connection.execute("DELETE FROM records WHERE (unit, number) = (?, ?)", place)
            connection.execute("DELETE FROM events WHERE unit = ?", place[:1])
        connection.commit()


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
@pytest.mark.parametrize("case", range(2))
def test_a_log_of_all_families_is_indexed_as_it_is_listed(
    tmp_path: Path, rng: random.Random, in_spans: None, damaged: bool, case: int
) -> None:
    path = tmp_path / "log.sqlite"
    logs = evenings(rng)
    with new_log(path) as store:
        keep_games(store, logs)
        for unit, log in logs.items():
            store.append(unit, stored(log.records))
        store.keep_presence([
            Span("MINI", 1_795_000_000_000, 1_795_000_100_000, ATTACHED),
            Span("MINI", 1_795_000_900_000, 1_795_000_950_000, ATTACHED),
        ])  # fmt: skip
    if damaged:
        damage(path, rng)
    with open_store(path) as store:
        index = RoundIndex(store)
        index.look()
        assert index.progress.complete
        check(index, path)


@pytest.mark.slow
def test_an_index_is_kept_up_while_its_log_grows(tmp_path: Path, rng: random.Random) -> None:
    path = tmp_path / "log.sqlite"
    logs = evenings(rng)
    now_s = [0.0]
    with new_log(path) as writing, open_store(path) as store:
        keep_games(writing, logs)
        index = RoundIndex(store, now_s=lambda: now_s[0])
        left = {unit: [*stored(log.records)] for unit, log in logs.items()}
        while any(left.values()):
            for unit in rng.sample([*left], rng.randint(1, len(left))):
                some = rng.choice([1, 3, 40, 200])
                writing.append(unit, left[unit][:some])
                del left[unit][:some]
            for _ in range(2):  # incidents after quiet events are looked for a little later
                now_s[0] += 60
                index.look()
            if rng.random() < 0.3:
                check(index, path)
        check(index, path)


@pytest.mark.slow
def test_a_unit_that_moves_has_each_table_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = FirmwareLog()
    with new_log(path) as writing, open_store(path) as store:
        index = RoundIndex(store)
        for at, table in enumerate(TABLES):
            log.record(events.PROVISIONED, 0, 0, (table, 0))
            log.deal_shoe(shuffled_names(at, cut_from_end=390))
            writing.append("U1", stored(log.records))
            index.look()
        rounds, _ = index.rounds(Query(), _ALL)
        assert index.tables() == sorted(TABLES) and index.units() == ["U1"]
        assert {each.table for each in rounds} == {*TABLES}
        check(index, path)


@pytest.mark.slow
def test_a_log_that_is_replaced_or_pruned_is_read_again(tmp_path: Path, rng: random.Random) -> None:
    path, other = tmp_path / "log.sqlite", tmp_path / "other.sqlite"
    for place, seed in ((path, 1), (other, 2)):
        with new_log(place) as store:
            log = FirmwareLog()
            for shoe in range(2):
                log.deal_shoe(shuffled_names(10 * seed + shoe, cut_from_end=360))
            store.append("U1", stored(log.records))
    now_s = [0.0]
    with open_store(path) as store:
        index = RoundIndex(store, now_s=lambda: now_s[0])
        index.look()
        check(index, path)
        with open_store(path) as pruning:
            pruning.prune("U1", 1, 40, b"")
        now_s[0] += 100
        index.look()
        index.look()
        check(index, path)
        for beside in ("log.sqlite-wal", "log.sqlite-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
        shutil.move(other, path)
        index.look()
        index.look()
        check(index, path)


def test_numbers_and_times_that_no_column_holds_do_not_end_an_index(tmp_path: Path) -> None:
    huge, records = (1 << 64) - 1, []
    for kind, own in (("betting_open", {}), ("lid", {"open": True}), ("result", {"winner": "tie"})):
        number = len(records) + 1
        given = {"unix_ms": huge - 5 + number, "shoe": huge, "round": huge, **own}
        records.append(event_bytes(kind, number, **given))
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(records))
        index = RoundIndex(store)
        index.look()
        assert index.progress.complete
        for begin, end in ((None, None), (5, None), (None, LARGEST)):
            index.rounds(Query(begin_unix_ms=begin, end_unix_ms=end), 10)
            index.incidents(Query(begin_unix_ms=begin, end_unix_ms=end), 10)


@pytest.mark.slow
def test_processes_read_it_and_it_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_FEW_RECORDS", 0)
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    path = tmp_path / "log.sqlite"
    with new_log(path) as store:
        log = FirmwareLog()
        for shoe in range(3):
            log.deal_shoe(shuffled_names(shoe))
        for unit in ("U1", "U2"):
            store.append(unit, stored(log.records))
    with open_store(path) as store, RoundIndex(store) as index:
        assert not index.progress.complete
        while not index.progress.complete:
            assert not index.progress.problem
            time.sleep(0.01)
        assert index.progress.done == index.progress.total == 2 * log.last_number
        check(index, path)
