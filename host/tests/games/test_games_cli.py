"""`sabot games`, `sabot score` and `sabot odds` from the command line."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import error_line_here
from sabot.cli import app
from sabot.errors import CommandRefused, Forbidden, SabotError
from sabot.games import families
from sabot.games.baccarat import catalogue
from sabot.games.baccarat.catalogue import GAMES
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.sim.process import SimulatedShoe


def printed(arguments: str) -> str:
    done = CliRunner().invoke(app(), arguments.split(), env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def json_of(arguments: str) -> Any:
    return json.loads(printed(f"{arguments} --json"))


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_games_lists_every_game_with_what_the_house_chooses() -> None:
    listed = json_of("games")
    assert [each["name"] for each in listed] == [game.name for game in families.GAMES]
    mini = listed[0]
    assert mini["title"] == "Mini baccarat"
    assert mini["source"].startswith("Washington State Gambling Commission")
    choices = {choice["name"]: choice for choice in mini["choices"]}
    assert choices["tie_pays"]["allowed"] == [8, 9]
    assert choices["vigorish_permille"]["allowed"] == {"from": 0, "to": 50}
    assert choices["vigorish_permille"]["clause"].startswith("item 8")
    shown = printed("games")
    for game in families.GAMES:
        assert game.name in shown and game.title in shown


@pytest.mark.parametrize("name", [game.name for game in GAMES])
def test_a_rule_card_has_every_wager_and_choice_with_its_clause(name: str) -> None:
    game = next(game for game in GAMES if game.name == name)
    shown = lines_of(printed(f"games show {name}"))
    assert shown[:2] == [game.title, game.source]
    whole = "\n".join(shown)
    for each in game.as_json()["wagers"]:
        assert f"{each['name']} {each['title']} " in whole and each["clause"] in whole
    for choice in game.choices:
        assert any(line.startswith(choice.name) and choice.clause in line for line in shown)
    assert "Banker on 3 draws to a third card of 0 1 2 3 4 5 6 7 9" in shown
    assert "Banker on 7 draws never" in shown


def test_the_rule_card_of_ez_baccarat_shows_that_a_dragon_7_pushes() -> None:
    line = "banker Banker 1 tie, dragon_7 Chapters 7 A(1), 12 C"
    assert line in lines_of(printed("games show ez-mini"))
    assert line.replace(", dragon_7", "") in lines_of(printed("games show md-mini"))


def test_score_shows_totals_winner_and_every_outcome() -> None:
    scored = json_of("score --game pa-mini --player 2S,KD,7H --banker 6c,qh,3d")
    wagers = scored.pop("wagers")
    assert scored == {
        "player": ["2S", "KD", "7H"],
        "banker": ["6C", "QH", "3D"],
        "player_total": 9,
        "banker_total": 9,
        "winner": "tie",
        "player_natural": False,
        "banker_natural": False,
        "margin": 0,
        "hits": ["heavenly_9_both"],
    }
    assert wagers["heavenly_9"] == {
        "outcome": "win",
        "pays_to_one": 75,
        "prize": "heavenly_9_both",
    }
    assert wagers["banker"] == {"outcome": "push", "pays_to_one": 0, "prize": ""}
    shown = lines_of(printed("score --player 9S,KD --banker 8C,QH"))
    assert shown[:3] == ["Player 9 9♠ K♦ natural", "Banker 8 8♣ Q♥ natural", "player wins by 1"]
    assert "tie" in lines_of(printed("score --player 9S,KD --banker 9C,QH"))


@pytest.mark.parametrize(
    ("player", "banker"),
    [
        ("2S,TD,7H", "6C,TH,3D"),
        ("2s 10d 7h", "6c 10h 3d"),
        ("2♠  10♦  7♥", "6♣  10♥  3♦"),
        ("2♠, 10♦, 7♥", " 6♣,10♥,3♦ "),
    ],
)
def test_score_takes_cards_as_sabot_prints_them(player: str, banker: str) -> None:
    done = CliRunner().invoke(
        app(), ["score", "--player", player, "--banker", banker, "--json"], catch_exceptions=False
    )
    scored = json.loads(done.stdout)
    assert scored["player"] == ["2S", "TD", "7H"] and scored["banker"] == ["6C", "TH", "3D"]


@pytest.mark.slow
def test_odds_in_json_are_integers_except_the_edge() -> None:
    counted = json_of("odds --game ez-midi")
    assert counted["total"] == 4_998_398_275_503_360
    for tally in counted["wagers"].values():
        assert tally["win"] + tally["push"] + tally["lose"] == counted["total"]
        assert isinstance(tally["edge"], float)
        prizes = tally.get("pays", {}).values()
        assert not prizes or sum(prize["combinations"] for prize in prizes) == tally["win"]
    pays = counted["wagers"]["dragon_bonus_player"]["pays"]
    assert pays["win_by_9"] == {"pays_to_one": 30, "combinations": 18_409_431_764_992}
    assert "pays" not in counted["wagers"]["dragon_7"]


@pytest.mark.parametrize("game", ["mini", "blackjack"])
def test_two_numbers_of_decks_are_refused(game: str) -> None:
    words = ["odds", "--game", game, "--decks", "2", "--choose", "decks=4"]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app(), words)
    assert done.exit_code == 2 and "--decks 2 and --choose decks=4 contradict" in done.stderr


@pytest.mark.parametrize(
    "words", [("odds",), ("score",), ("score", "--player", "7S KD", "--banker", "9D 2C")]
)
def test_holdem_has_neither_odds_nor_scores(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert error_line_here(tmp_path, *words, "--game", "holdem", code=17) == (
        "there are no odds and no scores of holdem here; `sabot settle --game holdem HAND.json` "
        "settles a hand"
    )


@pytest.mark.slow
def test_odds_of_fewer_decks() -> None:
    counted = json_of("odds --decks 1")
    assert (counted["decks"], counted["total"]) == (1, 52 * 51 * 50 * 49 * 48 * 47)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("games show ez-minni", 17, "unknown game 'ez-minni'; did you mean ez-mini?"),
        ("games show midi", 17, "unknown game 'midi'; did you mean md-midi or ez-midi or pa-midi?"),
        ("odds --game md", 17, "unknown game 'md'; there are: mini, mini-pairs,"),
        ("score --game Mini --player 7S,KD --banker 9C,QH", 17, "did you mean mini?"),
        ("score --player 7S,KD,8H --banker 9C,QH", 19, "Player's third card was not due: Banker"),
        ("score --player 7S,KD --banker 4C,QH", 19, "Banker's third card is missing"),
        ("score --player 7S --banker 4C,QH", 19, "Player has 1 card"),
        ("score --player 7S,KX --banker 4C,QH", 19, "'KX' is not a card; did you mean K"),
        (
            "score --player KS,KS,KS,KS,KS --banker KS,KS,KS,KS",
            19,
            "9 copies of KS in a shoe of 8 decks",
        ),
    ],
)
def test_an_error_is_one_line(tmp_path: Path, arguments: str, code: int, message: str) -> None:
    assert message in error_line_here(tmp_path, *arguments.split(), code=code)


@pytest.mark.parametrize(
    "arguments", ["odds --decks 9", "odds --decks 0", "score --player 7S,KD", "games shaw"]
)
def test_wrong_usage(arguments: str) -> None:
    assert CliRunner().invoke(app(), arguments.split()).exit_code == 2


@pytest.mark.slow
def test_what_the_house_chooses_changes_what_is_printed() -> None:
    chosen = json_of("odds --game mini --choose tie_pays=9")
    assert chosen["wagers"]["tie"]["edge"] == pytest.approx(0.048440, abs=1e-6)
    card = printed("games show pa-mini --choose treasures=no")
    assert "fortune_7" not in card and "dragon_bonus_player" in card


@pytest.mark.parametrize(
    ("choose", "code"),
    [
        ("tie_pays=10", Forbidden.exit_code),
        ("tie_pays=nine", Forbidden.exit_code),
        ("tie_pay=9", Forbidden.exit_code),
        ("tie_pays=", 2),
        ("tie_pays", 2),
    ],
)
def test_an_unknown_or_forbidden_choice_is_an_error(choose: str, code: int) -> None:
    done = CliRunner().invoke(app(), ["odds", "--choose", choose])
    error = done.exception
    assert (error.exit_code if isinstance(error, SabotError) else done.exit_code) == code


def test_a_choice_made_twice_is_wrong_usage() -> None:
    twice = ["--choose", "tie_pays=8", "--choose", "tie_pays=9"]
    assert CliRunner().invoke(app(), ["odds", *twice]).exit_code == 2


@pytest.mark.slow
def test_a_game_can_be_loaded_only_between_shoes_of_cards() -> None:
    document = catalogue.document("ez-midi", {"dragon_bonus": "none"})
    with SimulatedShoe("LOAD-1") as shoe:
        shoe.power_on()
        output = printed(f"load {shoe.port} --game ez-midi --choose dragon_bonus=none")
        assert hashlib.sha256(document).hexdigest() in output
        with Port(shoe.port) as port:
            welcome = Client(port).welcome
        assert welcome.game == "ez-midi"
        assert welcome.game_sha256 == hashlib.sha256(document).digest()
        shoe.bench.switch("lid_open", True)
        shoe.bench.switch("lid_open", False)
        shoe.bench.settle()
        refused = CliRunner().invoke(app(), ["load", shoe.port, "--game", "mini"])
        assert isinstance(refused.exception, CommandRefused), refused.output
