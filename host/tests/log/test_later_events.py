"""Events of a later version in a log: stored, verified, shown, and never taken for understood."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
from typer.testing import CliRunner

from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.later import (
    HOSTILE,
    KIND,
    NOT_CBOR_OF_SHOES,
    LaterLog,
    changed,
    inserted,
    record_of,
)
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.cli import app
from sabot.keys import chain_keys
from sabot.keys.chain_keys import Keys
from sabot.link import wire
from sabot.link.events import UnknownEvent
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.place import Place
from sabot.log.reading.events import logged_events
from sabot.log.reading.rounds import logged_rounds
from sabot.log.rounds import Round
from sabot.log.store import Filter, Store, open_store
from sabot.notable.incident_search import Wanted
from sabot.notable.incident_spans import search_file
from sabot_protocol import baccarat, enums, events

UNIT = "U1"
Change = Callable[[int, list[Any]], list[list[Any]]]


def plain_log() -> ChainedLog:
    """Two shoes of cards without anything unknown."""
    return ChainedLog().power_on().deal().deal()


def number_within_a_round(round_: int = 2) -> int:
    """The number of an event in the middle of a round of the first shoe of cards."""
    parsed = [wire.parse_event(data) for _, data, _ in plain_log().records]
    of_round = [each.number for each in parsed if (each.shoe, each.round) == (1, round_)]
    closed = next(n for n in of_round if parsed[n - 1].kind == "betting_closed")
    return closed + 2  # after its first card


def number_between_rounds(round_: int = 2) -> int:
    """The number after the result of a round."""
    parsed = [wire.parse_event(data) for _, data, _ in plain_log().records]
    return next(
        each.number + 1 for each in parsed
        if (each.kind, each.shoe, each.round) == ("result", 1, round_)
    )  # fmt: skip


def later_log(change: Change) -> ChainedLog:
    return LaterLog(change).power_on().deal().deal()


@pytest.fixture
def store(log_place: Place) -> Iterator[Store]:
    with open_store(log_place, create=True) as made:
        yield made


def put(store: Store, log: ChainedLog) -> None:
    store.append(UNIT, log.stored())
    store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
    store.derive()


def verified(store: Store) -> tuple[list[Finding], Summary]:
    keys, summary = Keys(), Summary()
    keys.put(UNIT, FIRST_KEY)
    return list(verify(store, summary, VerifyOptions(keys=keys))), summary


@pytest.mark.parametrize("own", HOSTILE.values(), ids=HOSTILE)
def test_an_unknown_event_is_read_with_its_header_and_its_own_values(own: tuple[Any, ...]) -> None:
    head = {"boot": 3, "t_ms": 7, "unix_ms": 9, "shoe": 2, "round": 5}
    for kind in (44, KIND, 255, 300, (1 << 64) - 1):
        record = record_of(kind, 12, *own, **head)
        if len(record) > events.MAX_SIZE:
            continue
        event = wire.parse_event(record)
        assert isinstance(event, UnknownEvent)
        assert {name: getattr(event, name) for name in head} == head and event.number == 12
        assert (event.kind, event.understood) == (f"unknown_{kind}", False)
        assert cbor2.dumps([*(event.surplus or ())], canonical=True) == cbor2.dumps(
            [*own], canonical=True
        )


@pytest.mark.parametrize("value", NOT_CBOR_OF_SHOES.values(), ids=NOT_CBOR_OF_SHOES)
def test_values_that_no_shoe_sends_are_damage_in_unknown_events_and_in_surplus_fields(
    value: Any,
) -> None:
    for kind, own in ((KIND, ()), (events.LID.number, (True,))):
        with pytest.raises(wire.WireError):
            wire.parse_event(record_of(kind, 1, *own, value))
        assert not wire.parse_event(record_of(kind, 1, *own, 5)).understood


@pytest.mark.parametrize(
    "head",
    [
        {"number": -1}, {"number": "1"}, {"boot": None}, {"unix_ms": "9"}, {"shoe": -1},
        {"round": 1 << 64}, {"t_ms": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_broken_header_is_damage_whatever_the_kind(head: dict[str, Any]) -> None:
    given = {"number": 1, "boot": 1, "t_ms": 1, "unix_ms": None, "shoe": 1, "round": 1} | head
    for kind in (KIND, events.BETTING_OPEN.number):
        with pytest.raises(wire.WireError):
            wire.parse_event(cbor2.dumps([kind, *given.values()], canonical=True))
    with pytest.raises(wire.WireError):
        wire.parse_event(cbor2.dumps([KIND, 1, 1, 1, None, 1], canonical=True))  # cut off
    with pytest.raises(wire.WireError):
        wire.parse_event(record_of(0, 1))
    with pytest.raises(wire.WireError):
        wire.parse_event(record_of(KIND, 1, bytes(190)))  # over the size of any event


def test_wrong_types_of_known_fields_stay_damage_before_surplus_ones() -> None:
    lid = events.LID.number
    assert wire.parse_event(record_of(lid, 1, True, 8)).surplus == (8,)
    for own in ((1,), (None,), (1, 8), ()):
        with pytest.raises(wire.WireError):
            wire.parse_event(record_of(lid, 1, *own))


@pytest.mark.parametrize("own", HOSTILE.values(), ids=HOSTILE)
def test_a_log_takes_unknown_events_and_its_whole_chain_is_checked(
    store: Store, own: tuple[Any, ...]
) -> None:
    at = number_within_a_round()
    put(store, later_log(inserted(at, *own)))
    (row,) = store.rows(Filter(UNIT, kinds=(f"unknown_{KIND}",)))
    assert (row.number, row.kind) == (at, f"unknown_{KIND}")
    assert [each.number for each in store.rows(Filter(UNIT, kinds=(UNKNOWN_KINDS,)))] == [at]
    found, summary = verified(store)
    assert found == []
    notes = {each.kind: each for each in summary.notes}
    assert set(notes) == {"unknown", "not_judged"} and summary.not_judged == 1
    assert notes["unknown"].event == notes["not_judged"].event == at
    assert f"kind {KIND} is unknown" in notes["unknown"].detail
    assert "update this host" in notes["unknown"].detail
    assert "round 2 is not judged" in notes["not_judged"].detail


def test_a_changed_byte_of_an_unknown_event_is_still_found(tmp_path: Path) -> None:
    at = number_within_a_round()
    log = later_log(inserted(at, b"as it was"))
    number, data, mac = log.records[at - 1]
    log.records[at - 1] = (number, data.replace(b"as it was", b"otherwise"), mac)
    with open_store(tmp_path / "log.sqlite", create=True) as store:
        put(store, log)
        found, _ = verified(store)
    assert [(each.event, each.kind) for each in found] == [(at, "changed")]


def test_a_wrong_round_beside_an_unknown_event_is_still_found(tmp_path: Path) -> None:
    """What is not judged ends with the round: a later one is judged again by its cards."""

    def change(number: int, event: list[Any]) -> list[list[Any]]:
        if number == at:
            return [[KIND], event]
        if event[0] == events.RESULT.number and seen.append(number) is None and len(seen) in (2, 4):
            event[1 + 1] = (event[1 + 1] + 1) % 10  # the Player's total
        return [event]

    at, seen = number_within_a_round(), list[int]()
    with open_store(tmp_path / "log.sqlite", create=True) as store:
        put(store, LaterLog(change).power_on().deal().deal())
        found, _ = verified(store)
    assert {(each.event, each.kind) for each in found} == {(seen[3], "rules")}


def rounds_in(store: Store) -> list[Round]:
    return [each for each in logged_rounds(store, UNIT) if isinstance(each, Round)]


@pytest.mark.parametrize("where", [number_within_a_round, number_between_rounds])
def test_a_round_with_an_unknown_event_in_it_or_after_it_says_so(
    store: Store, where: Callable[[], int]
) -> None:
    at = where()
    put(store, later_log(inserted(at, 7)))
    rounds = rounds_in(store)
    assert [(each.shoe, each.round) for each in rounds if each.not_understood] == [(1, 2)]
    marked = next(each for each in rounds if each.not_understood)
    assert marked.not_understood == at == marked.as_json()["not_understood"]
    assert marked.winner is not None
    assert len(rounds) == len({each.first_event for each in rounds})


_POSITION = [name for name, _ in events.CARD.fields].index("position")
_WINNER = [name for name, _ in events.RESULT.fields].index("winner")
_HITS = [name for name, _ in events.RESULT.fields].index("hits")


def _with(place: int, value: int) -> Callable[[Any], list[Any]]:
    return lambda own: [*own[:place], value, *own[place + 1 :]]


_CHANGES: dict[str, tuple[Any, str, bool]] = {
    "field": (
        (events.CARD.number, lambda own: [*own, 7], 5), "a field after those of card", True,
    ),
    "position": (
        (events.CARD.number, _with(_POSITION, len(enums.POSITIONS) + 3), 5),
        f"word {len(enums.POSITIONS) + 3} of position", False,
    ),
    "winner": ((events.RESULT.number, _with(_WINNER, 9)), "word 9 of winner", False),
    "hit": (
        (events.RESULT.number, _with(_HITS, 1 << len(enums.HITS))),
        f"word {len(enums.HITS)} of hits", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "what", "judged"), _CHANGES.values(), ids=_CHANGES)
def test_unknown_words_and_fields_are_noted_and_never_a_finding(
    store: Store, change: tuple[Any, ...], what: str, judged: bool
) -> None:
    put(store, later_log(changed(*change)))
    found, summary = verified(store)
    assert found == []
    first, *_ = summary.notes
    assert (first.kind, first.detail.partition(" is unknown")[0]) == ("unknown", what)
    assert summary.not_judged == (not judged)
    marked = [each for each in rounds_in(store) if each.not_understood is not None]
    assert [each.not_understood for each in marked] == [first.event]


def test_an_unknown_winner_is_no_known_one_and_can_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, later_log(changed(events.RESULT.number, _with(_WINNER, 9))))
        (first, *_) = rounds_in(store)
    assert first.winner == "unknown_9" and first.winner not in enums.WINNERS
    for command in (["rounds"], ["rounds", "--json"], ["rounds", "--csv"], ["events"]):
        said = CliRunner().invoke(app(), [*command, "--db", str(path)])
        assert said.exit_code == 0, said.output
        assert "unknown" in said.output


def test_an_unknown_event_that_cannot_be_a_round_is_an_incident_once_in_a_shoe_of_cards(
    tmp_path: Path,
) -> None:
    path, at = tmp_path / "log.sqlite", number_within_a_round()

    def change(number: int, event: list[Any]) -> list[list[Any]]:
        return [[KIND, "7H"], event] if number in (at, at + 3, at + 200) else [event]

    with open_store(path, create=True) as store:
        put(store, LaterLog(change).power_on().deal().deal().deal())
    found, damaged = search_file(path, [UNIT], Wanted())
    unknown = [each for each in found[UNIT] if each.kind == "unknown"]
    assert damaged == 0 and len(unknown) == len({each.shoe for each in unknown}) > 1
    assert (unknown[0].event, unknown[0].shoe, unknown[0].round) == (at, 1, 2)
    assert f"kind {KIND}" in unknown[0].detail and "update this host" in unknown[0].detail
    assert "7H" not in unknown[0].detail
    others = [each.kind for each in found[UNIT] if each.kind != "unknown"]
    assert others == [each.kind for each in _incidents_of_plain(tmp_path)]


def _incidents_of_plain(tmp_path: Path) -> list[Any]:
    path = tmp_path / "plain.sqlite"
    with open_store(path, create=True) as store:
        put(store, ChainedLog().power_on().deal().deal().deal())
    return search_file(path, [UNIT], Wanted())[0][UNIT]


@pytest.mark.parametrize("own", HOSTILE.values(), ids=HOSTILE)
def test_events_are_listed_with_what_is_unknown_of_them(
    tmp_path: Path, own: tuple[Any, ...]
) -> None:
    path, at = tmp_path / "log.sqlite", number_within_a_round()
    with open_store(path, create=True) as store:
        put(store, later_log(inserted(at, *own)))
    runner, db = CliRunner(), ["--db", str(path)]
    for kind in (f"unknown_{KIND}", "unknown"):
        said = runner.invoke(app(), ["events", "--kind", kind, "--json", *db])
        (listed,) = [json.loads(line) for line in said.stdout.splitlines()]
        assert (listed["event"], listed["kind"]) == (at, f"unknown_{KIND}")
        assert listed["fields"] == {"unknown": json.loads(json.dumps(_as_json(own)))}
    table = runner.invoke(app(), ["events", "--kind", "unknown", *db]).stdout
    assert f"unknown to this version (kind {KIND})" in " ".join(table.split())
    assert not any(each in table for each in "\x1b\0\x9b\u202e\r")
    csv = runner.invoke(app(), ["events", "--kind", "unknown", "--csv", *db]).stdout
    assert f"unknown_{KIND}" in csv


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return (
        {key: _as_json(each) for key, each in value.items()} if isinstance(value, dict) else value
    )


def test_verify_says_how_many_rounds_are_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, later_log(inserted(number_within_a_round())))
    keys = tmp_path / "sabot.keys"
    chain_keys.add(keys, UNIT, FIRST_KEY)
    asked = ["verify", "--db", str(path), "--keys", str(keys)]
    said = CliRunner().invoke(app(), asked)
    assert said.exit_code == 0
    assert "nothing to find fault with, but 1 round not judged" in said.stdout
    as_json = json.loads(CliRunner().invoke(app(), [*asked, "--json"]).stdout)
    assert as_json["not_judged"] == 1 and as_json["findings"] == []


@pytest.mark.slow
def test_a_round_that_is_not_understood_is_not_scored_or_settled(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, later_log(inserted(number_within_a_round())))
    where = ["--db", str(path), "--unit", UNIT, "--shoe", "1"]
    for round_, fine in (("1", True), ("2", False), ("3", True)):
        said = CliRunner().invoke(app(), ["score", *where, "--round", round_])
        assert (said.exit_code == 0) == fine, said.output
        assert fine or "unknown to this version" in str(said.exception)


def test_logged_events_do_not_change_what_is_stored(store: Store) -> None:
    log = later_log(inserted(number_within_a_round(), "x"))
    put(store, log)
    assert [(n, data, mac) for n, data, mac in store.raw(UNIT)] == log.records
    assert len(list(logged_events(store, Filter(UNIT)))) == len(log.records)
