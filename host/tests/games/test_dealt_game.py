"""A round of a log is settled and scored by the game that dealt it, from its document."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import error_line_here
from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.table import seat
from sabot.cli import app
from sabot.games.baccarat import catalogue
from sabot.log.store import open_store

EZ = catalogue.document("ez-mini", {"minimum_cents": 500})
MINI = catalogue.document("mini")

# A Dragon 7: in EZ Baccarat a wager on the Banker pushes, in mini baccarat it is paid.
DRAGON_7 = ("2S", "4C", "KD", "KH", "4H", "3D")
POSITIONS = [seat(3, banker=10_000)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a log of U1, which dealt a Dragon 7 and a void round by EZ."""
    log = FirmwareLog(game=EZ).load().draw("AS", "2C")
    log.draw("next", *DRAGON_7, "next", "next", "KS", "7H", "blank", "!void")
    with open_store(tmp_path / "sabot.sqlite", create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(EZ)
        store.keep_game(MINI)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wagers(folder: Path, **fields: Any) -> str:
    (folder / "wagers.json").write_text(json.dumps({"positions": POSITIONS} | fields))
    return "wagers.json"


def as_json(*arguments: str) -> Any:
    done = CliRunner().invoke(app(), [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_dragon_7_of_an_ez_shoe_pushes_the_banker(folder: Path) -> None:
    settled = as_json("settle", wagers(folder), "--round", "1")
    assert settled["totals"]["pushed_cents"] == 10_000 and settled["totals"]["paid_cents"] == 0


def test_a_void_round_is_of_the_game_of_its_shoe_of_cards(folder: Path) -> None:
    settled = as_json("settle", wagers(folder), "--round", "2")
    assert settled["announced"] == "round void: unreadable"
    assert settled["totals"]["returned_cents"] == 10_000


def test_a_round_is_scored_by_the_game_that_dealt_it(folder: Path) -> None:
    scored = as_json("score", "--round", "1")
    assert scored["player"] == ["2S", "KD", "4H"] and scored["banker"] == ["4C", "KH", "3D"]
    assert scored["wagers"]["banker"]["outcome"] == "push"
    assert scored["wagers"]["dragon_7"]["outcome"] == "win"


def test_the_game_may_be_named_with_the_choices_by_which_it_was_dealt(folder: Path) -> None:
    house = {"minimum_cents": 500}
    settled = as_json("settle", wagers(folder, house=house), "--round", "1", "--game", "ez-mini")
    assert settled["totals"]["pushed_cents"] == 10_000
    assert as_json("settle", wagers(folder, house=house), "--round", "1") == settled


@pytest.mark.parametrize(
    ("house", "arguments", "message"),
    [
        ({}, ["--game", "mini"], "U1 shoe 1 round 1 was dealt by ez-mini, document "),
        ({}, ["--game", "ez-mini"], "U1 shoe 1 round 1 was dealt by ez-mini, document "),
        ({"minimum_cents": 600}, [],
         "wagers.json: house.minimum_cents is 600, the round was dealt by ez-mini with 500;"),
        ({"tie_pays": True}, [], "wagers.json: house.tie_pays is yes, the round was dealt by"),
        ({"no_such": 1}, [], "wagers.json: house.no_such is 1, the round was dealt by ez-mini"),
    ],
)  # fmt: skip
def test_another_game_or_choice_than_the_one_that_dealt_is_refused(
    folder: Path, house: dict[str, object], arguments: list[str], message: str
) -> None:
    name = wagers(folder, house=house)
    line = error_line_here(folder, "settle", name, "--round", "1", *arguments, code=34)
    assert line.startswith(message)


@pytest.mark.parametrize("change", ["DELETE FROM games", "UPDATE games SET document = x'a0'"])
def test_a_document_that_is_missing_or_altered_is_an_error_that_says_what_to_do(
    folder: Path, change: str
) -> None:
    with closing(sqlite3.connect(folder / "sabot.sqlite")) as connection, connection:
        connection.execute(change)
    for command in (["settle", wagers(folder)], ["score"]):
        line = error_line_here(folder, *command, "--round", "1", code=34)
        assert line.startswith("U1 shoe 1 round 1: sabot.sqlite does not have its game document")
    house = {"minimum_cents": 500}
    settled = as_json("settle", wagers(folder, house=house), "--round", "1", "--game", "ez-mini")
    assert settled["totals"]["pushed_cents"] == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--player", "2S,KD,4H"], "give --player and --banker"),
        (["--player", "2S,KD,4H", "--banker", "4C,KH,3D", "--round", "1"], "cards are given"),
        (["--round", "1", "--choose", "tie_pays=9"], "the log has the choices of the house"),
    ],
)
def test_score_refuses_options_that_contradict_each_other(
    folder: Path, arguments: list[str], message: str
) -> None:
    done = CliRunner().invoke(app(), ["score", *arguments])
    assert done.exit_code == 2 and message in " ".join(done.stderr.replace("│", "").split())


def test_a_void_round_has_no_score(folder: Path) -> None:
    line = error_line_here(folder, "score", "--round", "2", code=19)
    assert line == "U1 shoe 1 round 2: void (unreadable); its wagers are returned"
