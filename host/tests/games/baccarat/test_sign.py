"""The sign at a table, against the texts of the rule documents."""

import re
from dataclasses import replace
from html import unescape

import pytest
from typer.testing import CliRunner

from host.tests.support.table import clause, game
from sabot.cli import app
from sabot.games.baccarat import catalogue, sign
from sabot.games.baccarat.wagers import WAGERS, Prize

MARYLAND = ("md-mini", "md-midi", "ez-mini", "ez-midi")
NAMES = [each.name for each in catalogue.GAMES]

# By wager: what it is for, and what it pays. Maryland, Chapter 12 A to C and F to H.
PAYTABLE_A = {
    "natural winner": "1 to 1", "win by 9 points": "30 to 1", "win by 8 points": "10 to 1",
    "win by 7 points": "6 to 1", "win by 6 points": "4 to 1", "win by 5 points": "2 to 1",
    "win by 4 points": "1 to 1", "equal naturals": "push",
}  # fmt: skip
MARYLAND_ODDS = {
    "Player": {"": "1 to 1", "tie": "push"},
    "Banker": {"": "1 to 1", "tie": "push"},
    "Tie": {"": "8 to 1"},
    "Dragon Bonus on the Player": PAYTABLE_A,
    "Dragon Bonus on the Banker": PAYTABLE_A,
}
EZ_ODDS = MARYLAND_ODDS | {
    "Banker": {"": "1 to 1", "tie": "push", "Dragon 7": "push"},
    "Dragon 7 Insurance": {"Banker wins with 7 of three cards": "40 to 1"},
    "Panda 8 Insurance": {"Player wins with 8 of three cards": "25 to 1"},
}


def odds_on(page: str) -> dict[str, dict[str, str]]:
    """The rows of the odds, by wager and what it is for."""
    found: dict[str, dict[str, str]] = {}
    wager = ""
    row = r'<th scope="row">(.*?)</th><td>(.*?)</td><td class="number">(.*?)</td>'
    for title, what, worth in re.findall(row, page):
        wager = unescape(title) or wager
        assert what not in found.setdefault(wager, {})
        found[wager][what] = worth
    return found


def limits_on(page: str) -> dict[str, tuple[str, str]]:
    row = r'<tr><td>(.*?)</td><td class="number">(.*?)</td><td class="number">(.*?)</td>'
    return {wagers: (least, most) for wagers, least, most in re.findall(row, page)}


@pytest.mark.parametrize("name", MARYLAND)
@clause("Maryland 2 B(3)")
def test_the_odds_of_every_wager_are_on_the_sign(name: str) -> None:
    expected = EZ_ODDS if name.startswith("ez") else MARYLAND_ODDS
    assert odds_on(sign.render(game(name))) == expected
    chosen = odds_on(sign.render(game(name, tie_pays=9, dragon_bonus="C")))
    assert chosen["Tie"] == {"": "9 to 1"}
    assert chosen["Dragon Bonus on the Player"]["win by 7 points"] == "4 to 1"
    assert "Dragon Bonus" not in sign.render(game(name, dragon_bonus="none"))


@pytest.mark.parametrize("name", MARYLAND)
@clause("Maryland 2 B(6)(b)")
def test_the_sign_of_an_ez_table_says_that_a_dragon_7_pushes(name: str) -> None:
    rule = (
        "A wager on the Banker's Hand that results in a Dragon 7 shall push and be returned to "
        "the player."
    )
    assert (rule in sign.render(game(name))) is name.startswith("ez")


@clause("Pennsylvania notice")
def test_the_sign_of_pennsylvania_has_its_notice() -> None:
    notice = "MUST BE 21+. GAMBLING PROBLEM? CALL 1-800-GAMBLER."
    for name in NAMES:
        assert (notice in sign.render(game(name)).upper()) is name.startswith("pa")


def test_treasures_pay_what_the_house_chose() -> None:
    shown = odds_on(sign.render(game("pa-mini", cover_all_pays=7, blazing_7s_mixed_pays=3)))
    assert shown["Cover All"] == {"any of the other four wins": "7 to 1"}
    assert shown["Blazing 7s"] == {
        "both hands 7 of three cards": "200 to 1",
        "both hands 7 of two cards": "50 to 1",
        "7 of two cards against 7 of three": "3 to 1",
    }
    assert len(odds_on(sign.render(game("pa-mini")))["Blazing 7s"]) == 2


def test_the_limits_are_on_the_sign() -> None:
    assert limits_on(sign.render(game("mini"))) == {"all wagers": ("10.00", "5,000.00")}
    limits = "tie:500-100000,side:100-50000,dragon_7:200-50000"
    shown = limits_on(sign.render(game("ez-mini", limits_cents=limits)))
    assert shown == {
        "Player, Banker": ("10.00", "5,000.00"),
        "Tie": ("5.00", "1,000.00"),
        "Dragon 7 Insurance": ("2.00", "500.00"),
        "Panda 8 Insurance, Dragon Bonus on the Player, Dragon Bonus on the Banker": (
            "1.00",
            "500.00",
        ),
    }


def test_the_vigorish_is_on_the_sign() -> None:
    assert "A vigorish of 5% of the amount won is taken on Banker." in sign.render(game("md-mini"))
    up = sign.render(game("md-mini", vigorish_rounding="up_25"))
    assert "is taken on Banker, rounded up to 25 cents." in up
    assert "4.5%" in sign.render(game("mini", vigorish_permille=45))
    assert "A vigorish of" not in sign.render(game("ez-mini"))
    assert "A vigorish of" not in sign.render(game("mini", vigorish_permille=0))


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_the_sign_as_a_whole_page(name: str) -> None:
    done = CliRunner().invoke(app(), ["games", "show", name, "--sign", "--choose", "burn=one"])
    assert done.exit_code == 0 and done.stdout == sign.render(game(name, burn="one"))
    assert done.stdout.startswith("<!DOCTYPE html>") and done.stdout.endswith("</html>\n")
    assert "default-src 'none'" in done.stdout and "<script" not in done.stdout
    assert game(name, burn="one").sha256.hex() in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_no_prize_of_a_bonus_or_side_wager_is_a_blank_row(name: str) -> None:
    played = game(name)
    shown = odds_on(sign.render(played))
    others = {WAGERS[wager].title for wager in played.wagers} - {"Player", "Banker", "Tie"}
    assert not [wager for wager in others if "" in shown[wager]]


def test_a_new_prize_is_on_the_sign_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Prize("sweep", "all six cards red", lambda score: False, lambda house: 300)
    golden = WAGERS["golden_8"]
    longer = replace(golden, prizes=(*golden.prizes, new))
    monkeypatch.setitem(WAGERS, "golden_8", longer)
    assert odds_on(sign.render(game("pa-mini")))["Golden 8"] == {
        "Player wins with 8 of three cards": "25 to 1",
        "all six cards red": "300 to 1",
    }
