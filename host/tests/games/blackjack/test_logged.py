"""A round settled with the cards and the play of a log, as with those in the file."""

import json
import random
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from firmware.tests.support import boxes
from host.tests.support.commands import error_line_here
from host.tests.support.dealt_boxes import PAIRS, BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import new_log, parsed, stored
from sabot.cli import app
from sabot.errors import BadWagers, GameDiffers
from sabot.games.blackjack import table_file
from sabot.games.blackjack.logged import with_cards
from sabot.games.blackjack.score import score_table
from sabot.games.blackjack.settle import MAIN, settle
from sabot.games.blackjack.shoe_game import house_in
from sabot.log.families.boxes import BlackjackRound
from sabot.log.rounds import dealt_of
from sabot_firmware.table.dealing import KEY
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.games import game_of

_OUTCOMES = {
    "wins": "win", "blackjack": "win", "loses": "lose", "pushes": "push", "surrendered": "surrender"
}  # fmt: skip
_ROUNDS = 60
_PACK = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"]

# Box 1 splits eights, doubles on the first hand, stands on the second; box 2 has a blackjack.
PLAYED = "burn next 8S AS 6H 8D KD TC burn next 3C reveal TD TS next 2D"


def _rounds(log: BoxLog) -> list[BlackjackRound]:
    found = list(dealt_of("U1", [parsed(data) for data in log.records]))
    assert all(isinstance(each, BlackjackRound) for each in found)
    return found  # type: ignore[return-value]


def _house(log: BoxLog) -> dict[str, object]:
    game = game_of(log.document)
    assert isinstance(game, BlackjackGame)
    return house_in(game)


def _wagers(count: int, **more: Any) -> dict[str, Any]:
    """A file without cards. The boxes have other numbers on the table than at the shoe, and are not
    in their order."""
    listed = [{"box": 2 + number, "wager_cents": 1000 * (1 + number)} for number in range(count)]
    return {"boxes": listed[::-1]} | more


def played(**house: object) -> BoxLog:
    log = BoxLog(house).load()
    for text in PLAYED.split():
        log.give(text)
    return log


@pytest.mark.slow
def test_rounds_of_a_log_are_settled_with_the_results_of_the_shoe() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for n in range(_ROUNDS):
        house = boxes.random_house(rng.choice)
        own = {"house": {"blackjack_takes": "all"}}
        log = BoxLog({**house, **own}).load()
        log.round(rng.randrange(1, 6), rng, PAIRS if n % 3 else _PACK)
        (dealt,) = _rounds(log)
        full = with_cards(_wagers(len(dealt.boxes)), dealt, _house(log))
        done = settle(table_file.table_of(full))
        numbers = sorted({line.box.number for line in done.lines})
        assert numbers == [2 + place for place in range(len(dealt.boxes))]
        for number, hands in zip(numbers, dealt.boxes, strict=True):
            assert [hand.cards for hand in done.hands[number]] == [[*hand.cards] for hand in hands]
            found = [
                line.outcome
                for line in done.lines
                if line.box.number == number and line.wager == MAIN
            ]
            expected = [_OUTCOMES[str(hand.outcome)] for hand in hands]
            if house["surrender"] == "late" and done.dealer.blackjack:
                expected = ["lose" if each == "surrender" else each for each in expected]
            assert found == expected, (house, full)
        scored = score_table(table_file.table_of(full))
        of_lines = [line.outcome for line in done.lines if line.wager == MAIN]
        of_score = [each.outcome for box in scored.boxes for each in box.hands]
        assert of_score == of_lines


def test_a_round_is_settled_as_with_its_cards_in_the_file() -> None:
    log = played()
    (dealt,) = _rounds(log)
    full = with_cards(_wagers(2), dealt, _house(log))
    first, second = sorted(full["boxes"], key=lambda box: box["box"])
    assert first["cards"] == ["8S", "8D"] and second["cards"] == ["AS", "KD"]
    assert first["play"] == ["split", "3C", "double", "TD", "TS", "stand"] and not second["play"]
    assert full["dealer"] == ["6H", "TC", "2D"]
    done = settle(table_file.table_of(full))
    assert [(line.outcome, line.paid_cents) for line in done.lines] == [
        ("win", 2000),
        ("push", 0),
        ("win", 3000),
    ]


def test_a_double_for_less_is_in_the_file() -> None:
    log = played()
    (dealt,) = _rounds(log)
    fields = _wagers(2)
    fields["boxes"][1]["doubles_cents"] = [500]
    done = settle(table_file.table_of(with_cards(fields, dealt, _house(log))))
    assert (done.lines[0].stake_cents, done.lines[0].paid_cents) == (1500, 1500)
    fields["boxes"][0]["doubles_cents"] = [500]
    with pytest.raises(BadWagers, match="doubles_cents of box 3 has 1, the box doubled 0 times"):
        with_cards(fields, dealt, _house(log))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (_wagers(1), "dealt to 2 boxes, the file has 1; list all that got cards"),
        (
            _wagers(2, dealer=["6H", "TC"]),
            "the file has cards too; leave out dealer, cards and play",
        ),
        ({"boxes": [{"box": 1, "cards": ["8S", "8D"]}, {"box": 2}]}, "the file has cards too; "),
        ({"boxes": 5}, "boxes: 5 is not a list"),
        ({"boxes": [5, 6]}, "boxes: entry 1: 5 is not an object"),
        ({"boxes": [{"box": "x"}, {}]}, "boxes: entry 1: no wager_cents; "),
        (_wagers(2, house=5), "house: 5 is not an object"),
    ],
)
def test_a_file_that_does_not_fit_the_round_is_refused(fields: Any, message: str) -> None:
    log = played()
    (dealt,) = _rounds(log)
    with pytest.raises(BadWagers, match=re.escape(message)):
        table_file.table_of(with_cards(fields, dealt, _house(log)))


def test_another_choice_than_that_of_the_game_is_refused() -> None:
    log = played(soft_17="hits")
    (dealt,) = _rounds(log)
    same = with_cards(_wagers(2, house={"soft_17": "hits"}), dealt, _house(log))
    assert same["house"]["soft_17"] == "hits"
    with pytest.raises(
        GameDiffers, match=r"house\.soft_17 is stands in the file, the game has hits"
    ):
        with_cards(_wagers(2, house={"soft_17": "stands"}), dealt, _house(log))


def test_a_void_round_is_not_settled(tmp_path: Path) -> None:
    log = BoxLog({"house": {"voided_cards": "never"}}).load()
    for text in ["next", "6S", "9D", "5S", "TC"]:
        log.give(text)
    log.act(log.dealing.switched(KEY, True))
    log.give("void")
    (dealt,) = _rounds(log)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
    line = error_line_here(
        tmp_path, "score", "--game", "blackjack", "--db", "log.sqlite", "--round", "1", code=19
    )
    assert "U1 shoe 1 round 1: void (supervisor); its wagers are returned" in line
    with pytest.raises(BadWagers, match=r"void \(supervisor\); its wagers are returned"):
        with_cards(_wagers(1), dealt, {})


def test_the_command_takes_the_round_of_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with new_log(tmp_path / "log.sqlite") as store:
        log = played()
        store.append("U1", stored(log.records))
        store.keep_game(log.document)
    (tmp_path / "table.json").write_text(json.dumps(_wagers(2)))
    settle_it = ["settle", "--game", "blackjack", "table.json", "--db", "log.sqlite"]
    runner = CliRunner(env={"COLUMNS": "200"})
    shown = runner.invoke(app(), settle_it)
    assert shown.exit_code == 0, shown.output
    assert "U1 shoe 1 round  1  dealer 18" in shown.stdout.splitlines()[0]
    assert re.search("^box 2 +8♠ 3♣ 10♦: 21, doubled", shown.stdout, re.MULTILINE)
    slip = unescape(runner.invoke(app(), [*settle_it, "--unit", "U1", "--slip"]).stdout)
    assert "U1 shoe 1 round 1." in slip and "were given" not in slip
    assert "box 2: 8♠ 3♣ 10♦: 21" in slip
    whole = json.loads(runner.invoke(app(), [*settle_it, "--round", "1", "--json"]).stdout)
    assert whole["totals"]["paid_cents"] == 5000
    assert whole["boxes"][0]["player"] is None
    scored = runner.invoke(app(), ["score", "--game", "blackjack", "--db", "log.sqlite", "--json"])
    hands = [hand for box in json.loads(scored.stdout)["boxes"] for hand in box["hands"]]
    assert [(hand["total"], hand["outcome"], hand["pays"]) for hand in hands] == [
        (21, "win", "1 to 1"),
        (18, "push", ""),
        (21, "win", "3 to 2"),
    ]
    line = error_line_here(tmp_path, *settle_it, "--round", "7", code=20)
    assert "no rounds of blackjack match" in line
    (tmp_path / "other.json").write_text(json.dumps(_wagers(3)))
    line = error_line_here(
        tmp_path, "settle", "--game", "blackjack", "other.json", "--db", "log.sqlite", code=20
    )
    assert "other.json: U1 shoe 1 round 1: dealt to 2 boxes, the file has 3" in line


@pytest.mark.slow
def test_a_round_is_scored_by_the_game_that_dealt_it_and_not_settled_as_baccarat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log, hand = played(), HandLog().seat(2)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        store.append("U2", stored(hand.play("8S AH 7S AC burn reveal").records))
        store.keep_game(log.document)
        store.keep_game(hand.game.document)
    score = ["score", "--db", "log.sqlite", "--unit"]
    named = CliRunner().invoke(app(), [*score, "U1", "--game", "blackjack", "--json"])
    assert CliRunner().invoke(app(), [*score, "U1", "--json"]).stdout == named.stdout != ""
    one = "U1 shoe 1 round 1: a round of blackjack; use --game blackjack"
    wager = ["settle", "--db", "log.sqlite", "--wager", "3 banker 100", "--unit", "U1"]
    for words in ([*score, "U1", "--game", "mini"], wager, [*wager, "--round", "1"]):
        assert one in error_line_here(tmp_path, *words, code=20)
    two = "U2 shoe 1 round 1: a hand of hold'em; `sabot settle --game holdem HAND.json` settles it"
    assert two in error_line_here(tmp_path, *score, "U2", code=20)
    line = error_line_here(tmp_path, "score", "--db", "log.sqlite", code=20)
    assert "2 rounds match; choose one with --unit" in line


def test_a_choice_of_a_log_that_is_not_true_or_false_is_refused_as_such() -> None:
    log = played()
    fields = _wagers(2, house={"even_money": "yes"})
    with pytest.raises(BadWagers, match=r'^house: even_money: "yes" must be true or false; '):
        with_cards(fields, _rounds(log)[0], _house(log))
