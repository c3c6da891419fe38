"""What the commands, the library and the pages show of sealed cards: nothing before the key of
their round, then each card where it came; and for ever nothing of cards that are given up."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sabot
from host.tests.support.helpers import FirmwareLog, stored
from sabot.cli import app
from sabot.games.baccarat import catalogue
from sabot.keys import signing
from sabot.link.events import Event
from sabot.link.wire import parse_event
from sabot.log.rounds import Round, rounds_of
from sabot.log.store import open_store
from sabot.notable.incident_finder import incidents_of

_BURNED = ("AS", "2C")
_ROUND = ("next", "next", "9D", "5S", "TD", "3S")


def _log(*draws: str, voided: str = "opened") -> FirmwareLog:
    game = catalogue.document("ez-midi", {"voided_cards": voided})
    return FirmwareLog(game=game, firmware="0.2.0").load().draw(*_BURNED, *draws)


def _events(log: FirmwareLog) -> list[Event]:
    return [parse_event(data) for data in log.records]


def _kept(log: FirmwareLog, path: Path) -> Path:
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(log.dealing.game.document)
    return path


def _printed(path: Path, command: str) -> str:
    done = CliRunner().invoke(app(), [*command.split(), "--db", str(path)], env={"COLUMNS": "250"})
    assert done.exit_code == 0, done.output
    return done.stdout


def _json(path: Path, command: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _printed(path, f"{command} --json").splitlines()]


def _rounds(log: FirmwareLog) -> list[Round]:
    return list(rounds_of("U1", _events(log)))


def test_a_round_has_its_cards_once_it_is_revealed_and_is_not_listed_before() -> None:
    assert _rounds(_log(*_ROUND)) == []
    (ended,) = _rounds(_log(*_ROUND, "reveal"))
    assert (ended.player, ended.banker) == (("9D", "TD"), ("5S", "3S"))
    assert (ended.winner, ended.natural, ended.sealed) == ("player", True, 0)


def test_a_voided_round_has_its_cards_or_how_many_are_never_to_be_known() -> None:
    voided = (*_ROUND[:4], "blank", "!void")
    (opened,) = _rounds(_log(*voided))
    assert (opened.player, opened.banker, opened.sealed) == (("9D",), ("5S",), 0)
    (never,) = _rounds(_log(*voided, voided="never"))
    assert (never.player, never.banker, never.sealed) == ((), (), 2)
    assert opened.void == never.void == "unreadable"


def test_a_card_that_was_entered_is_among_those_entered_once_it_is_opened() -> None:
    (ended,) = _rounds(_log(*_ROUND[:4], "blank", "!TD", "3S", "reveal"))
    assert ended.by_hand == ("TD",) and ended.player == ("9D", "TD")


@pytest.mark.slow
def test_events_show_a_sealed_card_as_such_and_its_card_once_the_key_is_there(
    tmp_path: Path,
) -> None:
    shut, opened = (
        _kept(_log(*_ROUND), tmp_path / "1"),
        _kept(_log(*_ROUND, "reveal"), tmp_path / "2"),
    )
    for path, known in ((shut, [None] * 4), (opened, ["9D", "5S", "TD", "3S"])):
        found = _json(path, "events --kind sealed_card")
        assert [each["fields"]["card"] for each in found] == known
        assert [each["fields"]["place"] for each in found] == [0, 1, 2, 3]
        text = _printed(path, "events --kind sealed_card")
        assert text.count("sealed card ") == 4 and ("9♦" in text) == (path is opened)
        with sabot.open(path) as log:
            of_one = [each.fields["card"] for each in log.events("U1", kinds="sealed_card")]
        assert of_one == known
    last = _json(opened, "events --kind sealed_card --last 2")
    assert [each["fields"]["card"] for each in last] == ["TD", "3S"]
    assert _json(shut, "rounds") == [] and _json(opened, "rounds --cards 9D")[0]["sealed"] == 0


def test_rounds_say_how_many_cards_are_given_up(tmp_path: Path) -> None:
    path = _kept(_log(*_ROUND[:4], "blank", "!void", voided="never"), tmp_path / "log")
    assert "void (unreadable), 2 sealed cards" in _printed(path, "rounds --with-void")
    (listed,) = _json(path, "rounds --with-void")
    assert (listed["player"], listed["sealed"]) == ([], 2)


@pytest.mark.parametrize("revealed", [False, True])
def test_the_page_of_a_shoe_of_cards_shows_backs_until_the_reveal(
    tmp_path: Path, revealed: bool
) -> None:
    signing.make_key_pair(tmp_path / "house")
    path = _kept(_log(*_ROUND, *(["reveal"] * revealed)), tmp_path / "log")
    page = tmp_path / "page.html"
    _printed(
        path,
        f"export --unit U1 --shoe 1 --open -o {tmp_path}/b.sabot --key {tmp_path}/house.pem "
        f"--html {page}",
    )
    html = page.read_text()
    assert html.count('href="#card-SEALED"') == (0 if revealed else 4)
    assert ("9 of diamonds" in html) == revealed and ("card-9D" in html) == revealed


def test_incidents_name_a_card_that_was_entered_once_it_is_opened(tmp_path: Path) -> None:
    entered = (*_ROUND[:4], "blank", "!TD", "3S")
    shut = _kept(_log(*entered), tmp_path / "1")
    opened = _kept(_log(*entered, "reveal"), tmp_path / "2")
    (before,), (after,) = (_json(each, "incidents --kind by_hand") for each in (shut, opened))
    assert before["detail"] == "a sealed card as player 2" and after["detail"] == "10♦ as player 2"
    assert before["event"] == after["event"]


def test_a_long_reveal_is_from_the_last_sealed_card_to_the_result() -> None:
    def found(reveal_ms: int) -> list[tuple[str, int | None]]:
        log = _log(*_ROUND)
        log._ms += reveal_ms
        log.draw("reveal", "next")
        found = incidents_of("U1", _events(log))
        return [(each.kind, each.event) for each in found if each.kind.startswith("long")]

    last = max(each.number for each in _events(_log(*_ROUND)) if each.kind == "sealed_card")
    assert found(59_000) == []
    assert found(61_000) == [("long_reveal", last)]


def test_settle_and_score_take_a_round_that_was_sealed_and_no_round_that_still_is(
    tmp_path: Path,
) -> None:
    opened = _kept(_log(*_ROUND, "reveal"), tmp_path / "1")
    scored = json.loads(_printed(opened, "score --json"))
    assert (scored["winner"], scored["player"]) == ("player", ["9D", "TD"])
    shut = _kept(_log(*_ROUND), tmp_path / "2")
    done = CliRunner().invoke(app(), ["score", "--db", str(shut)])
    assert "no rounds match" in str(done.exception)
