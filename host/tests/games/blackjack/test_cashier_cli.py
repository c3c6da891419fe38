"""`sabot settle`, `score` and `games show` for blackjack: what they print, --json, the slip."""

import json
import re
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import error_line_here
from host.tests.support.tables import box, lines, only, settled
from sabot.cli import app
from sabot.games.blackjack.house import CHOICES, House
from sabot.games.blackjack.paytables import PUBLISHED, SOURCES, prizes_of
from sabot.games.blackjack.shoe_game import OF_THE_SHOE
from sabot.games.blackjack.side_wagers import SIDE

TABLE = str(Path(__file__).resolve().parents[4] / "docs" / "example" / "table.json")


def _run(*arguments: str, code: int = 0) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app(), [*arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def test_json_has_each_hand_and_each_wager() -> None:
    shown = json.loads(_run("settle", "--game", "blackjack", TABLE, "--json"))
    assert shown["name"] == "Table 3, 21:40"
    assert shown["dealer"] == {
        "cards": ["6H", "TC", "2D"], "total": 18, "soft": False, "blackjack": False, "bust": False
    }  # fmt: skip
    ann, bob, cleo = shown["boxes"]
    assert [hand["total"] for hand in ann["hands"]] == [21, 18]
    assert ann["hands"][0]["doubled"] and ann["hands"][0]["stake_cents"] == 20_000
    assert [each["outcome"] for each in ann["wagers"]] == ["win", "lose", "win", "push"]
    assert bob["hands"][0]["blackjack"] and bob["totals"]["paid_cents"] == 4250
    assert cleo["hands"][0]["bust"] and cleo["totals"]["house_cents"] == 5000
    assert shown["totals"] == {
        "staked_cents": 39_000, "returned_cents": 33_500, "collected_cents": 5500,
        "paid_cents": 29_250, "house_cents": -23_750,
    }  # fmt: skip


def test_the_slip_has_the_cards_the_wagers_and_places_to_sign() -> None:
    page = unescape(_run("settle", "--game", "blackjack", TABLE, "--slip"))
    text = re.sub(r"<[^>]*>", " ", page.partition("<body>")[2])
    for part in (
        "Table 3, 21:40. The cards were given, not taken from a log.", "dealer: 6♥ 10♣ 2♦: 18",
        "box 1 (Ann): 8♠ 3♣ 10♦: 21, doubled", "box 3 (Bob): A♠ K♦: blackjack",
        "box 4 (Cleo): 10♥ 5♣ 9♠: bust with 24", "house  -237.50", "Dealer", "Floor supervisor",
    ):  # fmt: skip
        assert part in text, (part, text)


@pytest.mark.parametrize(
    "words",
    [
        ["settle", "--game", "blackjack"],
        ["settle", "--game", "blackjack", TABLE, "--slip", "--json"],
        ["settle", "--game", "blackjack", TABLE, "--wager", "3 banker 100"],
        ["settle", "--game", "blackjack", "--unit", "SHOE-7"],
        ["settle", "--game", "blackjack", TABLE, "--unit", "SHOE-7", "--slip", "--json"],
        ["settle", "--game", "blackjack", TABLE, "--phh", "hand.phh"],
        ["score", "--game", "blackjack"],
        ["score", "--game", "blackjack", "--box", "TS 9D"],
        ["score", "--game", "blackjack", "--box", "TS 9D", "--dealer", "6H TC", "--unit", "U1"],
        ["score", "--game", "blackjack", "--unit", "U1", "--choose", "decks=2"],
        ["score", "--game", "blackjack", "--player", "TS 9D", "--banker", "6H TC"],
        ["score", "--box", "TS 9D", "--dealer", "6H TC 2D"],
        ["games", "show", "blackjack", "--sign"],
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(words: list[str]) -> None:
    _run(*words, code=2)


def _score(*words: str) -> Any:
    return json.loads(_run("score", "--game", "blackjack", *words, "--json"))


def test_score_has_totals_outcomes_and_side_wagers() -> None:
    boxes = ("--box", "8S TD / 8H 3C 9D", "--box", "AS KD", "--box", "AH 6C")
    shown = _score(*boxes, "--dealer", "6H TC 2D", "--choose", "blackjack_pays=6_to_5")
    hands = [
        (hand["total"], hand["soft"], hand["outcome"], hand["pays"])
        for each in shown["boxes"]
        for hand in each["hands"]
    ]
    assert hands == [
        (18, False, "push", ""),
        (20, False, "win", "1 to 1"),
        (21, True, "win", "6 to 5"),
        (17, True, "lose", ""),
    ]
    won = {
        each["wager"]: (each["prizes"], each["pays"])
        for each in shown["boxes"][0]["side_wagers"]
        if each["prizes"]
    }
    assert won == {"bet_the_set_21": (["pair"], "10 to 1"), "house_money": (["pair"], "3 to 1")}


def test_side_wagers_are_not_scored_where_the_first_two_cards_are_not_known() -> None:
    shown = _score("--box", "8S TD / 8H 9C / 8C TS", "--dealer", "6H TC 2D")
    assert shown["boxes"][0]["side_wagers"] == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ("--box", "TS 9D 5C 2D", "--dealer", "6H TC"),
            19,
            "box 1: 2♦ was not due: the hand is bu",
        ),
        (
            ("--box", "TS 9D 2C 2D", "--dealer", "6H TC"),
            19,
            "box 1: 2♦ was not due: the hand has 2",
        ),
        (("--box", "TS", "--dealer", "6H TC 2D"), 19, "box 1: 1 card; a hand has at least two"),
        (("--box", "8S TD / 9H 9C", "--dealer", "6H TC 2D"), 19, "box 1: hands with 8♠ and 9♥ fir"),
        (
            ("--box", "KS 9D / TS 9C", "--dealer", "6H TC 2D"),
            19,
            "do not come from a split (split_",
        ),
        (
            ("--box", "8S TD /" * 4 + "8S TD", "--dealer", "6H TC 2D"),
            18,
            "box 1: 5 hands; hands_of",
        ),
        (
            ("--box", "TS 9D") * 8 + ("--dealer", "6H TC 2D"),
            18,
            "8 boxes; the table has 7 boxes (M",
        ),
        (("--box", "TS 9D", "--dealer", "6H TC"), 19, "dealer: a card is missing: the dealer draw"),
        (("--box", "TS 9D", "--dealer", ""), 20, "a hand without cards; write --box"),
        (("--box", "TS 9D", "--dealer", "6H CUT"), 19, "CUT is not a playing card"),
        (("--box", "TS 9X", "--dealer", "6H TC"), 19, "'9X' is not a card; "),
        (("--box", "TS 9D 2C", "--dealer", "AH KC"), 19, "box 1: the dealer looked and had a blac"),
        (("--box", "TS TS", "--dealer", "TS AC", "--choose", "decks=2"), 19, "3 copies of TS in 2"),
    ],
)
def test_hands_that_cannot_be_are_refused(
    tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    line = error_line_here(tmp_path, "score", "--game", "blackjack", *words, code=code)
    assert message in line, line


def test_games_show_has_every_choice_with_its_clause() -> None:
    shown = json.loads(_run("games", "show", "blackjack", "--choose", "soft_17=hits", "--json"))
    chosen = {each["name"]: each for each in shown["choices"]}
    assert list(chosen) == [choice.name for choice in (*CHOICES, *OF_THE_SHOE)]
    assert chosen["soft_17"]["chosen"] == "hits" and chosen["soft_17"]["default"] == "stands"
    assert chosen["boxes"]["allowed"] == {"from": 1, "to": 7}
    assert all(each["clause"] for each in shown["choices"])
    own = {each.name for each in fields(House)} - {"side_wagers"}
    of_cashier = set(chosen) - {each.name for each in OF_THE_SHOE}
    assert own | set(PUBLISHED) | {"hit_and_run_progressive"} == of_cashier


def test_paytables_and_prizes_agree() -> None:
    for wager, published in PUBLISHED.items():
        known = [prize.name for prize in SIDE[wager].prizes]
        assert set(prizes_of(wager)) == set(known)
        for each in published.values():
            assert each.source in SOURCES or wager == "lucky_ladies"
            for pays in each.by_decks.values():
                assert [name for name in known if name in pays] == list(pays)


def test_amounts_of_the_houses_own_are_paid() -> None:
    own = "pair:3,ace_king_suited:25/2"
    wagered = box("AH KH", side={"house_money": 100})
    assert settled("6H TC", wagered, house_money=own).lines[0].paid_cents == 1250
    wagered = box("7H 8H", "stand", side={"house_money": 100})
    assert settled("6H TC 2D", wagered, house_money=own).lines[0].outcome == "lose"


def test_a_chip_that_cannot_be_divided_goes_as_the_house_chose() -> None:
    odd = box("AS KD", wager_cents=550)
    assert only(settled("6H TC", odd)).paid_cents == 800
    assert only(settled("6H TC", odd, odd_cents="up")).paid_cents == 850
    assert only(settled("6H TC", odd, chip_cents=25)).paid_cents == 825


def test_winnings_of_house_money_may_be_added_to_the_wager() -> None:
    added = box("8H 8C", "stand", side={"house_money": 500}, house_money_adds_cents=2000)
    assert lines(settled("6H TC TD", added)) == [
        ("house_money", "win", 500, 1500),
        ("blackjack", "win", 3000, 3000),
    ]


def test_a_misspelled_name_is_answered_with_the_game(tmp_path: Path) -> None:
    for words in (
        ["odds", "--game", "blackjak"],
        ["score", "--game", "blackjak", "--player", "2S,3S", "--banker", "3C,4C"],
        ["settle", "--game", "blackjak", "--wager", "3 banker 100"],
        ["games", "show", "blackjak"],
    ):
        line = error_line_here(tmp_path, *words, code=17)
        assert "unknown game 'blackjak'; did you mean blackjack?" in line, words
