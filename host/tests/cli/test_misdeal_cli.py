"""A misdeal in every command that reads a log: the round is void, and its result does not count.

The log of U1: round 1 has 9 to 7 and is a misdeal; round 2 has 8 to 0 and stands; round 3, the last
of its shoe of cards, has 9 to 7 and is called a misdeal after the shoe of cards has ended.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import TEST_KEY, FirmwareLog, stored
from sabot.cli import app
from sabot.keys import chain_keys, signing
from sabot.library import open as open_log
from sabot.log.store import open_store
from sabot_protocol.baccarat import document_of

_NINE = ("9S", "KC", "KD", "7D")
_EIGHT = ("8S", "JC", "QD", "TD")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = FirmwareLog().load().draw("AS", "2C", *_NINE, "misdeal", "next", *_EIGHT, "next")
    log.draw("CUT", *_NINE)
    assert log.over()
    log.draw("misdeal").load().draw("AS", "2C", *_EIGHT)
    with open_store(tmp_path / "sabot.sqlite", create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(document_of("mini"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output_of(*arguments: str) -> str:
    done = CliRunner().invoke(app(), arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def rounds(*arguments: str) -> list[tuple[int, int, str | None, str | None]]:
    listed = map(json.loads, output_of("rounds", "--json", *arguments).splitlines())
    return [(each["shoe"], each["round"], each["winner"], each["void"]) for each in listed]


_VOID_1, _VOID_3 = (1, 1, None, "misdeal"), (1, 3, None, "misdeal")
_STAND = [(1, 2, "player", None), (2, 1, "player", None)]


def test_rounds_lists_it_with_the_void_ones_only(folder: Path) -> None:
    assert rounds() == _STAND
    assert rounds("--with-void") == [_VOID_1, _STAND[0], _VOID_3, _STAND[1]]
    assert rounds("--with-void", "--last", "2") == [_VOID_3, _STAND[1]]
    assert rounds("--with-void", "--round", "3") == [_VOID_3]
    assert "void (misdeal)" in output_of("rounds", "--with-void")


def test_a_time_span_that_ends_before_the_misdeal_shows_it_all_the_same(folder: Path) -> None:
    with open_log(folder / "sabot.sqlite") as log:
        for place in (0, 2):
            opened = [each.time for each in log.events(kinds=["betting_open"])][place]
            decided = [each.time for each in log.events(kinds=["result"])][place]
            found = log.rounds(since=opened, until=decided, with_void=True)
            assert [(each.round, each.void) for each in found] == [(place + 1, "misdeal")]
        assert [each.round for each in log.rounds(shoe=1)] == [2]


@pytest.mark.parametrize("round_", ["1", "3"])
def test_settle_returns_all_wagers_without_vigorish(folder: Path, round_: str) -> None:
    seat = {"seat": 3, "player": "Ann", "wagers": {"banker": 10_000, "tie": 1000}}
    (folder / "w.json").write_text(json.dumps({"positions": [seat]}))
    done = output_of("settle", "w.json", "--shoe", "1", "--round", round_, "--json")
    settled: dict[str, Any] = json.loads(done)
    assert settled["announced"] == "round void: misdeal"
    moved = {name: cents for name, cents in settled["totals"].items() if cents}
    assert moved == {"wagered_cents": 11_000, "returned_cents": 11_000}


def test_score_says_that_its_wagers_are_returned(folder: Path) -> None:
    done = CliRunner().invoke(app(), ["score", "--shoe", "1", "--round", "3"])
    assert "void (misdeal); its wagers are returned" in str(done.exception)


def test_incidents_and_events_name_it(folder: Path) -> None:
    found = map(json.loads, output_of("incidents", "--json").splitlines())
    voided = [(each["round"], each["detail"]) for each in found if each["kind"] == "void"]
    said = "a misdeal, called by the supervisor after its result"
    assert voided == [(1, said), (3, said)]
    assert output_of("events", "--kind", "round_void").count("the round is void: misdeal") == 2


def test_a_bundle_has_the_misdeal_after_the_end_and_its_report_no_bead_for_it(folder: Path) -> None:
    chain_keys.add(folder / "keys", "U1", TEST_KEY)
    signing.make_key_pair(folder / "house")
    given = ["--unit", "U1", "--shoe", "1", "--keys", "keys", "--key", "house.pem"]
    output_of("export", *given, "-o", "a.sabot", "--html", "a.html")
    output_of("verify", "a.sabot", "--operator", "house.pub.pem", "--keys", "keys")
    text = (folder / "a.html").read_text(encoding="utf-8")
    assert text.count("(misdeal)") == 2 and "3: Player 1, Banker 0, Tie 0, voided 2" in text


def test_verify_has_nothing_to_find_fault_with(folder: Path) -> None:
    chain_keys.add(folder / "keys", "U1", TEST_KEY)
    output_of("verify", "--keys", "keys")
