"""Hold'em as a shoe deals it: its document, by the choices of the house."""

from contextlib import nullcontext

import cbor2
import pytest
from typer.testing import CliRunner

from sabot.cli import app
from sabot.errors import Forbidden, UnknownGame
from sabot.games import families
from sabot.games.holdem.house import CHOICES
from sabot.games.holdem.shoe_game import GAME, document, house_in
from sabot_protocol import games
from sabot_protocol.game_rules import game_to_deal
from sabot_protocol.holdem import HoldemGame


def game_of(**choices: object) -> HoldemGame:
    game = game_to_deal(families.document("holdem", choices))
    assert isinstance(game, HoldemGame)
    return game


def test_the_default_game_has_ten_seats_and_is_run_twice_if_players_agree() -> None:
    game = game_of()
    assert (game.name, game.seats, game.run_it_twice, game.decks) == ("holdem", 10, True, 1)
    assert game.house == {"voided_cards": "opened"} and house_in(game) == {}


def test_what_the_cashier_needs_is_in_the_document_if_it_differs_from_the_default() -> None:
    chosen = {"limit": "pot_limit", "rake_permille": 50, "run_it_twice": False}
    game = game_of(**chosen, seats=6, voided_cards="never")
    assert house_in(game) == chosen
    assert game.house["voided_cards"] == "never" and game.seats == 6


def test_a_tournament_table_does_not_run_it_twice() -> None:
    assert not game_of(tournament=True).run_it_twice


@pytest.mark.parametrize(
    "choice",
    [
        {"seats": 1}, {"seats": 11}, {"seats": True}, {"voided_cards": "later"}, {"decks": 2},
        {"betting_closed_by": "player"}, {"limit": "spread"}, {"run_it_twice": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_allowed_is_refused(choice: dict[str, object]) -> None:
    with pytest.raises(Forbidden):
        document(choice)


def test_a_document_with_most_choices_changed_is_refused_with_what_to_do() -> None:
    other = {
        "limit": "pot_limit", "minimum_bet_cents": 400, "maximum_bet_cents": 80_000,
        "small_blind_cents": 200, "big_blind_cents": 400, "ante_cents": 100, "raises_most": 3,
        "check_and_raise": False, "minimum_increase_most_cents": 1_000, "reopened_by": "half_raise",
        "chip_cents": 50, "odd_chips": "all_to_first", "odd_half": "second", "rake_permille": 50,
        "rake_most_cents": 500,
    }  # fmt: skip
    game = game_of(**other)
    assert house_in(game) == other and len(game.house) == games.MAX_HOUSE
    with pytest.raises(Forbidden, match="a document has room for 16"):
        document({**other, "rake_without_flop": True})
    assert {*other, "rake_without_flop", "run_it_twice", "tournament"} == {c.name for c in CHOICES}


def test_every_choice_has_its_clause_or_is_not_in_the_document() -> None:
    for choice in GAME.choices:
        assert choice.clause.startswith(("not in the document", *"BJKL")), choice.name


def test_it_is_listed_with_the_games_and_only_baccarat_is_scored_as_such() -> None:
    listed = CliRunner().invoke(app(), ["games"])
    assert "holdem" in listed.output and listed.exit_code == 0
    assert cbor2.loads(families.document("holdem"))["family"] == "holdem"
    with pytest.raises(UnknownGame, match="sabot settle --game holdem"):
        families.of_game("holdem").odds("holdem", {}, None, lambda total: nullcontext(int))
    with pytest.raises(UnknownGame, match="did you mean holdem"):
        families.document("holdm")
