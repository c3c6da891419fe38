"""The messages of a unit follow from its log alone: read in any cut, from any place, as `sabot
rounds`, `sabot events` and `sabot incidents` list them."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import FirmwareLog, RecordWithMac, event_bytes, new_log, stored
from sabot.cli import app
from sabot.feeds.message import Message, Position
from sabot.feeds.unit_messages import Context, messages_between, unit_messages
from sabot.log.store import Store, open_store
from sabot_protocol import events

_ALL = Position(0, 0)
_END = 1 << 60
_CARDS = ("9C", "2S", "KH", "6D")
"""The Player's nine beats the Banker's eight."""


def _cards(rng: random.Random) -> list[str]:
    deck = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * 8
    rng.shuffle(deck)
    return [*deck[:50], "CUT", *deck[50:]]


def busy_log(rng: random.Random, shoes: int = 3, firmware: str = "0.2.0") -> FirmwareLog:
    """Some shoes of cards in which much goes wrong."""
    log = FirmwareLog(firmware=firmware)
    log.record(events.PROVISIONED, 0, 0, ("Table 1", 0))
    for shoe in range(shoes):
        log.load()
        if shoe == 1:
            log.record(events.PROVISIONED, log.dealing.shoe, 0, ("Table 2", 0))
        for name in _cards(rng):
            while log.betting_due():
                log.draw("next")
                if log.dealing.current_round.card_first:
                    break
            trouble = rng.random()
            if trouble < 0.03:
                log.draw("?jam", "!drawn_again")
            elif trouble < 0.05:
                log.power_on(clock=trouble < 0.04)
            log.draw(name)
            if log.over():
                break
            if log.betting_due() and rng.random() < 0.1:
                log.draw("misdeal")
        if log.dealing.error:
            log.draw("key")
        if not log.over():
            log.draw("end")
        if rng.random() < 0.5:
            log.power_on()
    return log


def _dealt(log: FirmwareLog, *cards: str) -> FirmwareLog:
    """Deal a round of these cards."""
    while log.betting_due():
        log.draw("next")
        if log.dealing.current_round.card_first:
            break
    return log.draw(*cards)


def _stored(path: Path, records: Iterable[bytes], document: bytes | None = None) -> Store:
    store = new_log(path)
    if document is not None:
        store.keep_game(document)
    store.append("SHOE-7", stored(records))
    return store


def all_messages(store: Store, unit: str = "SHOE-7") -> list[Message]:
    """The messages of a unit, in one go."""
    return [*messages_between(Context(store), unit, _ALL, _END)]


def _listed(path: Path, command: str) -> list[dict[str, Any]]:
    words = [*command.split(), "--json", "--db", str(path)]
    done = CliRunner().invoke(app(), words, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def _data(messages: list[Message], type_: str) -> list[dict[str, Any]]:
    found = [json.loads(each.body) for each in messages]
    return [each["data"] for each in found if each["type"] == f"sabot.{type_}"]


@pytest.mark.slow
def test_rounds_are_those_that_sabot_rounds_lists(tmp_path: Path, rng: random.Random) -> None:
    log = busy_log(rng)
    messages = all_messages(_stored(tmp_path / "log", log.records))
    listed = _listed(tmp_path / "log", "rounds --with-void")
    last = {(each["shoe"], each["round"]): each for each in _data(messages, "round.ended")}
    assert [*last.values()] == listed and len(listed) > 10
    assert {each["table"] for each in listed} == {"Table 1", "Table 2"}


def test_a_misdeal_is_a_second_message_of_its_round(tmp_path: Path) -> None:
    log = _dealt(FirmwareLog().load().draw("AC", "2C"), *_CARDS).draw("misdeal")
    messages = all_messages(_stored(tmp_path / "log", log.records))
    first, second = _data(messages, "round.ended")
    assert (first["winner"], first["void"]) != (None, "misdeal")
    assert (second["winner"], second["void"]) == (None, "misdeal")
    assert (first["shoe"], first["round"]) == (second["shoe"], second["round"]) == (1, 1)
    rounds = [each for each in messages if each.what == "rounds"]
    assert [each.id for each in rounds] == [
        f"SHOE-7/{first['last_event']}", f"SHOE-7/{second['last_event']}",
    ]  # fmt: skip


@pytest.mark.slow
def test_shoes_of_cards_and_incidents_are_those_of_the_log(
    tmp_path: Path, rng: random.Random
) -> None:
    log = busy_log(rng)
    messages = all_messages(_stored(tmp_path / "log", log.records))
    for kind, type_ in (("shoe_loaded", "shoe.loaded"), ("shoe_ended", "shoe.ended")):
        listed = _listed(tmp_path / "log", f"events --kind {kind}")
        found = _data(messages, type_)
        assert [each["event"] for each in found] == [each["event"] for each in listed]
        assert [each["shoe"] for each in found] == [each["shoe"] for each in listed]
    listed = _listed(tmp_path / "log", "incidents")
    wanted = {(each["kind"], each["event"]) for each in listed if each["event"]}
    found = _data(messages, "incident.found")
    assert {(each["kind"], each["event"]) for each in found} == wanted and wanted
    assert {*found[0]} == {*listed[0]}, "the same fields"


def test_ids_are_unique_and_positions_ascend(tmp_path: Path, rng: random.Random) -> None:
    messages = all_messages(_stored(tmp_path / "log", busy_log(rng).records))
    ids = [each.id for each in messages]
    assert len({*ids}) == len(ids)
    positions = [each.position for each in messages]
    assert positions == sorted(positions) and len({*positions}) == len(positions)


@pytest.mark.slow
@pytest.mark.parametrize("hole", [False, True])
def test_made_again_from_any_place_they_are_the_same(
    tmp_path: Path, rng: random.Random, hole: bool
) -> None:
    log = busy_log(rng)
    if hole:
        first = rng.randrange(20, len(log.records) - 20)
        log.lose(first, first + rng.randrange(12))
    store = _stored(tmp_path / "log", log.records)
    whole = all_messages(store)
    last = log.last_number
    for after in rng.sample(range(last + 1), 10):
        position = Position(after, rng.randrange(3))
        again = [*messages_between(Context(store), "SHOE-7", position, _END)]
        assert again == [each for each in whole if each.position > position], after


@pytest.mark.slow
def test_read_live_in_any_cut_they_are_the_same(tmp_path: Path, rng: random.Random) -> None:
    log = busy_log(rng)
    whole = all_messages(_stored(tmp_path / "whole", log.records))
    store = _stored(tmp_path / "log", log.records[:1])
    made, begin = unit_messages(Context(store), "SHOE-7", 0)
    assert begin == 1
    found: list[Message] = []
    at = 0
    while at < len(log.records):
        upto = min(len(log.records), at + rng.choice((1, 1, 2, 7, 60)))
        store.append("SHOE-7", stored(log.records[at:upto]))
        some = [(n + 1, bytes(log.records[n]), log.records[n].mac) for n in range(at, upto)]
        found += made.add(some)
        at = upto
    assert found == whole


@pytest.mark.slow
def test_another_machine_makes_the_same_bytes(tmp_path: Path, rng: random.Random) -> None:
    """The log of a site and the one of a centre: what they received when is another thing."""
    log = busy_log(rng, shoes=2)
    site = _stored(tmp_path / "site", log.records)
    centre = open_store(tmp_path / "centre", create=True)
    centre.append("OTHER", stored(log.records))
    for at in range(0, len(log.records), 50):
        centre.append("SHOE-7", stored(log.records[at : at + 50]))
    assert all_messages(site) == all_messages(centre)


def test_what_cannot_be_read_costs_its_round_alone(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw("AC", "2C")
    for _ in range(3):
        _dealt(log, *_CARDS)
    store = _stored(tmp_path / "log", log.records)
    before = _data(all_messages(store), "round.ended")
    spoilt = before[1]["last_event"] - 1
    with store.writing() as connection:
        connection.execute("UPDATE records SET record = ? WHERE number = ?", (b"?", spoilt))
        connection.execute("UPDATE events SET kind = 'damaged' WHERE number = ?", (spoilt,))
    after = _data(all_messages(store), "round.ended")
    assert [each["round"] for each in after] == [
        each["round"] for each in before if each["round"] != before[1]["round"]
    ]


def test_names_and_numbers_of_any_kind_make_a_message(tmp_path: Path) -> None:
    store = _stored(tmp_path / "log", FirmwareLog().load().records)
    unit = "a/../\u202e\n\x1b[31m'\""
    far = event_bytes("betting_open", 1, unix_ms=1 << 62, shoe=1 << 60, round=1 << 60)
    void = event_bytes(
        "round_void", 2, unix_ms=1 << 62, shoe=1 << 60, round=1 << 60, reason="misdeal"
    )
    store.append(unit, stored([RecordWithMac(far, b"m"), RecordWithMac(void, b"n")]))
    (message, *_) = [each for each in all_messages(store, unit) if each.what == "rounds"]
    event = json.loads(message.body)
    assert event["data"]["unit"] == unit and message.body.isascii()
    assert "time" not in event and event["data"]["ended"] == f"{1 << 62} ms"
