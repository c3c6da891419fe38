"""The order of cards as incidents: which are found, what they name, and of which part of a log."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.shuffles import CUT, honest, new_packs
from sabot.cli import app
from sabot.log.store import Store
from sabot.notable.incident_search import Wanted
from sabot.notable.orders import orders_in
from sabot_protocol import cards

_DICE = random.Random(12)
_FIRST, _SECOND = honest(_DICE)[:90], honest(_DICE)[:90]
_DAY_MS = 86_400_000
_BEGIN_MS = 1_795_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A unit that dealt a shoe a day: the third repeats the first, the fourth is of new packs."""
    log = FirmwareLog(firmware="0.3.0")
    for day, shoe in enumerate((_FIRST, _SECOND, _FIRST, new_packs()[:90])):
        log.set_clock(_BEGIN_MS + day * _DAY_MS)
        names = [cards.name_of(card) for card in shoe]
        log.deal_shoe([*names[:-CUT], "CUT", *names[-CUT:]])
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        yield store


def _found(store: Store, wanted: Wanted = Wanted()) -> list[tuple[str, int | None]]:
    return [(each.kind, each.shoe) for each in orders_in(store, ["U1"], wanted).get("U1", [])]


def test_all_of_a_log_is_found(store: Store) -> None:
    assert _found(store) == [("repeated", 3), ("unshuffled", 4)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(shoe=3), [("repeated", 3)]),
        (Wanted(shoe=1), []),
        (Wanted(shoe=9), []),
        (Wanted(begin=_BEGIN_MS + 3 * _DAY_MS), [("unshuffled", 4)]),
        (Wanted(end=_BEGIN_MS + 3 * _DAY_MS), [("repeated", 3)]),
        (Wanted(begin=_BEGIN_MS + 3 * _DAY_MS // 2, end=_BEGIN_MS + 5 * _DAY_MS // 2),
         [("repeated", 3)]),
        (Wanted(end=_BEGIN_MS), []),
    ],
)  # fmt: skip
def test_a_part_of_a_log_has_the_incidents_that_the_whole_has_there(
    store: Store, wanted: Wanted, found: list[tuple[str, int]]
) -> None:
    assert _found(store, wanted) == found


def test_the_earlier_shoe_is_named_once_the_later_one_has_ended(store: Store) -> None:
    for wanted in (Wanted(), Wanted(shoe=3), Wanted(end=_BEGIN_MS + 3 * _DAY_MS)):
        (detail,) = (e.detail for e in orders_in(store, ["U1"], wanted)["U1"] if e.shoe == 3)
        assert "repeat the order of U1 shoe 1" in detail


def test_while_it_is_dealt_no_incident_names_it(tmp_path: Path) -> None:
    log = FirmwareLog(firmware="0.3.0")
    names = [cards.name_of(card) for card in _FIRST]
    log.deal_shoe([*names[:-CUT], "CUT", *names[-CUT:]]).load()
    for name in names[:20]:
        while log.betting_due():
            log.draw("next")
        log.draw(name)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        for wanted in (Wanted(), Wanted(shoe=2)):
            ((detail),) = (each.detail for each in orders_in(store, ["U1"], wanted)["U1"])
            assert "an earlier shoe of cards of this table" in detail and "shoe 1" not in detail


def test_the_house_chooses_how_many_false_alarms_there_may_be(store: Store) -> None:
    strict = orders_in(store, ["U1"], false_alarms=0.001)["U1"]
    first = orders_in(store, ["U1"])["U1"]
    assert [(a.event or 0) > (b.event or 0) for a, b in zip(strict, first, strict=True)] == [
        True
    ] * 2


def test_the_command_lists_them(store: Store, tmp_path: Path) -> None:
    command = ["incidents", "--db", str(tmp_path / "log.sqlite"), "--kind", "repeated", "--json"]
    (line,) = CliRunner().invoke(app(), command).stdout.splitlines()
    assert json.loads(line)["kind"] == "repeated"
    wrong = CliRunner().invoke(app(), [*command, "--false-alarms", "nan"])
    assert wrong.exit_code == 2
