"""`sabot rounds` and `events` select by unit, table, time, winner, natural and cards, or the last
ones: each compared with what a plain search through everything finds."""

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import FirmwareLog, event_bytes, shuffled_names, stored
from sabot.cli import app
from sabot.errors import SabotError
from sabot.log.sqlite.store import SqliteStore
from sabot.log.store import open_store
from sabot_protocol.baccarat import Game, document_of

_MINI = Game(document_of("mini")).sha256
_BEGUN_MS = 1_795_000_000_000

Objects = list[dict[str, Any]]


def _moved() -> list[bytes]:
    """A unit with four rounds of 5 s, one begins every 20 s; between the second and the third it
    comes from table 4 to table 5, and its clock is set back by an hour."""
    records: list[bytes] = []

    def add(kind: str, at_s: int, round_: int, **given: Any) -> None:
        unix_ms = _BEGUN_MS + 1000 * at_s
        records.append(event_bytes(kind, len(records) + 1, unix_ms=unix_ms, round=round_, **given))

    add("provisioned", 0, 0, table="4", set=0)
    add("shoe_loaded", 10, 0, decks=8, game="mini", set=0)
    for round_, at_s in ((1, 20), (2, 40), (3, 60 - 3600), (4, 80 - 3600)):
        if round_ == 3:
            add("provisioned", at_s, 2, table="5", set=0)
        add("betting_open", at_s, round_)
        add("lid", at_s + 2, round_, open=True)
        add("result", at_s + 5, round_, winner="tie", game=_MINI)
    return records


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """U1 with two shoes of cards, U2 with one, without a table; U3 has moved."""
    path = tmp_path_factory.mktemp("selection") / "log"
    first = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=300))
    first.deal_shoe(shuffled_names(2, cut_from_end=330))
    second = FirmwareLog().deal_shoe(shuffled_names(3, cut_from_end=340))
    with open_store(path, create=True) as store:
        store.append("U1", stored(first.records))
        store.append("U2", stored(second.records))
        store.append("U3", stored(_moved()))
        store.keep_game(document_of("mini"))
    yield path


@pytest.fixture
def listed(log: Path) -> Callable[[str], Objects]:
    """Runs `sabot COMMAND OPTIONS --json`; returns the objects."""

    def call(command: str) -> Objects:
        arguments = [*command.split(), "--db", str(log), "--json"]
        done = CliRunner().invoke(app(), arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    return call


Listed = Callable[[str], Objects]


def _round_of(each: dict[str, Any], rounds: Objects) -> dict[str, Any] | None:
    """The round that an event belongs to."""
    for ended in rounds:
        if ended["unit"] == each["unit"]:
            if ended["first_event"] <= each["event"] <= ended["last_event"]:
                return ended
    return None


def _has(ended: dict[str, Any], cards: list[str]) -> bool:
    dealt = [hand[n] for n in range(3) for hand in (ended["player"], ended["banker"]) if hand[n:]]
    texts = [" ".join(each) for each in (ended["player"], ended["banker"], dealt)]
    return any(" ".join(cards) in text for text in texts)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rounds", "events"])
def test_several_units_are_listed_in_order(listed: Listed, command: str) -> None:
    everything = listed(command)
    found = listed(f"{command} --unit U3 --unit U1 --unit U3")
    assert found == [each for each in everything if each["unit"] != "U2"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rounds", "events"])
def test_a_table_selects_what_its_units_recorded_there(listed: Listed, command: str) -> None:
    everything = listed(command)
    assert {each["table"] for each in everything} >= {"", "4", "5"}
    for table in ("4", "5"):
        found = listed(f"{command} --table {table}")
        assert found == [each for each in everything if each["table"] == table]
        assert {each["unit"] for each in found} == {"U3"}
    assert listed(f"{command} --table 4 --unit U1") == []


def test_an_event_has_the_table_of_the_last_provisioning_before_it(listed: Listed) -> None:
    of_u3 = listed("events --unit U3")
    moved = next(each["event"] for each in of_u3 if each["fields"].get("table") == "5")
    assert [each["table"] for each in of_u3] == ["4" if e["event"] < moved else "5" for e in of_u3]


@pytest.mark.parametrize("command", ["rounds", "events"])
def test_a_table_that_no_unit_had_is_an_error_that_names_those_that_are(
    log: Path, command: str
) -> None:
    done = CliRunner().invoke(app(), [command, "--db", str(log), "--table", "12"])
    assert isinstance(done.exception, SabotError) and done.exception.exit_code == 8
    assert str(done.exception) == f"{log}: has no table 12; there are: 4, 5"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rounds", "events"])
@pytest.mark.parametrize("last", [1, 7, 60, 100_000])
def test_the_last_ones_of_each_unit(listed: Listed, command: str, last: int) -> None:
    everything = listed(command)
    expected = [
        each
        for unit in ("U1", "U2", "U3")
        for each in [e for e in everything if e["unit"] == unit][-last:]
    ]
    assert listed(f"{command} --last {last}") == expected
    wins = listed("rounds --unit U1 --winner banker")
    assert listed(f"rounds --unit U1 --winner banker --last {last}") == wins[-last:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("--winner player", lambda each: each["winner"] == "player"),
        ("--winner tie", lambda each: each["winner"] == "tie"),
        ("--natural", lambda each: each["natural"]),
        ("--natural --winner banker", lambda each: each["natural"] and each["winner"] == "banker"),
        ("--cards 7h", lambda each: _has(each, ["7H"])),
        ("--cards 10♠ --winner banker --shoe 1",
         lambda each: _has(each, ["TS"]) and each["winner"] == "banker" and each["shoe"] == 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("last", ["", " --last 3"])
def test_rounds_and_their_events_are_selected_by_what_was_dealt(
    listed: Listed, options: str, wanted: Any, last: str
) -> None:
    rounds = listed("rounds")
    expected = [each for each in rounds if wanted(each)]
    assert 0 < len(expected) < len(rounds)
    events = [each for each in listed("events") if _round_of(each, expected)]
    if last:
        for found in (expected, events):
            tails = [[e for e in found if e["unit"] == unit][-3:] for unit in ("U1", "U2", "U3")]
            found[:] = [each for tail in tails for each in tail]
    assert listed(f"rounds {options}{last}") == expected
    assert listed(f"events {options}{last}") == events


@pytest.mark.slow
def test_a_sequence_of_cards_is_in_a_hand_or_in_the_order_of_dealing(
    log: Path, listed: Listed, rng: random.Random
) -> None:
    rounds = [each for each in listed("rounds") if each["player"]]
    for _ in range(6):
        chosen = rng.choice(rounds)
        player, banker = chosen["player"], chosen["banker"]
        dealt = [player[0], banker[0], player[1], banker[1]]
        cards = rng.choice([player, banker, dealt, dealt[1:3]])
        arguments = ["rounds", "--db", str(log), "--json", "--cards", " ".join(cards)]
        done = CliRunner().invoke(app(), arguments, catch_exceptions=False)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found == [each for each in rounds if _has(each, cards)]
        assert chosen in found


def _clock(at_s: int) -> str:
    return datetime.fromtimestamp(_BEGUN_MS / 1000 + at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize(
    ("at_s", "round_"),
    [(19, 0), (20, 1), (23, 1), (30, 1), (40, 2), (45, 2), (5000, 2), (-3500, 4), (-3535, 3)],
)
def test_at_a_time_is_the_round_in_play_or_the_last_before_it(
    listed: Listed, at_s: int, round_: int
) -> None:
    at = f"--unit U3 --at {_clock(at_s)} --zone UTC"
    assert [each["round"] for each in listed(f"rounds {at}")] == ([round_] if round_ else [])
    plain = [each for each in listed("events --unit U3 --zone UTC") if each["round"] == round_]
    assert listed(f"events {at}") == plain
    assert listed(f"events {at} --round 99") == []


@pytest.mark.parametrize(
    ("from_s", "to_s", "rounds"),
    [
        (21, 23, [1]),  # within a round: neither its begin nor its end
        (23, 24, [1]),  # no event of it
        (26, 39, []),
        (25, 41, [1, 2]),
        (None, 20, [3, 4]),  # an hour back
        (-3536, -3520, [3]),
        (None, None, [1, 2, 3, 4]),
    ],
)
def test_rounds_of_a_time_span_are_found_although_the_clock_was_set_back(
    listed: Listed, from_s: int | None, to_s: int | None, rounds: list[int]
) -> None:
    span = "" if from_s is None else f" --from {_clock(from_s)}"
    span += "" if to_s is None else f" --to {_clock(to_s)}"
    found = listed(f"rounds --unit U3 --zone UTC{span}")
    assert [each["round"] for each in found] == rounds


def test_a_time_span_reads_only_its_own_events(
    monkeypatch: pytest.MonkeyPatch, listed: Listed
) -> None:
    """By count: before, all rounds of the unit were read."""
    rounds = listed("rounds --unit U1")
    middle = rounds[len(rounds) // 2]
    rows, read = SqliteStore.rows, 0

    def counted_rows(self: SqliteStore, *wanted: Any) -> Iterator[Any]:
        nonlocal read
        for row in rows(self, *wanted):
            read += 1
            yield row

    monkeypatch.setattr(SqliteStore, "rows", counted_rows)
    found = listed(f"rounds --unit U1 --from {middle['started']} --to {middle['ended']}")
    assert middle in found and len(found) <= 2
    assert read < 100


def test_times_are_in_the_zone(listed: Listed, log: Path) -> None:
    plain = listed("rounds --unit U3")[0]
    assert plain["started"].endswith("Z")
    malta = listed("rounds --unit U3 --zone Asia/Macau")[0]
    assert malta["started"].endswith("+08:00")
    assert datetime.fromisoformat(malta["started"]) == datetime.fromisoformat(plain["started"])
    assert listed("events --unit U3 --zone Asia/Macau")[0]["time"].endswith("+08:00")
    for command in ("rounds", "events"):
        arguments = [command, "--db", str(log), "--unit", "U3", "--zone", "Asia/Macau"]
        shown = CliRunner().invoke(app(), arguments).stdout.splitlines()
        assert all("+08:00" in line for line in shown[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rounds --winner dealer", "no round is won by 'dealer'; winners: player, banker, tie"),
        ("events --cards 7X", "'7X' is not a card"),
        ("rounds --cards=", "--cards has no card"),
        ("rounds --last 0", "--last"),
        ("events --zone Europe/Maltta", "there is no zone 'Europe/Maltta'"),
        ("events --at noon", "'noon' is not a time"),
    ],
)
def test_wrong_usage(log: Path, arguments: str, message: str) -> None:
    done = CliRunner().invoke(app(), [*arguments.split(), "--db", str(log)], env={"COLUMNS": "200"})
    assert done.exit_code == 2 and message in " ".join(done.output.replace("│", " ").split())


def test_what_is_not_derived_yet_is_selected_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "log", create=True) as store:
        store.append("U3", stored(_moved()))
        store.keep_game(document_of("mini"))
        assert not list(store.derived("U3"))
        arguments = ["--db", str(tmp_path / "log"), "--json", "--zone", "UTC"]
        for options, rounds in (
            (["--last", "2"], [3, 4]),
            (["--at", _clock(23)], [1]),
            (["--from", _clock(21), "--to", _clock(41)], [1, 2]),
        ):
            done = CliRunner().invoke(app(), ["rounds", *arguments, *options])
            found = [json.loads(line)["round"] for line in done.stdout.splitlines()]
            assert found == rounds, options
