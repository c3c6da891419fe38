"""Every family of games answers the whole interface, and the registry finds it."""

from dataclasses import MISSING, fields
from typing import get_args

import pytest

from sabot.errors import UnknownGame
from sabot.floor.rounds import rule_card
from sabot.floor.rounds.indexed_round import Indexing
from sabot.games import families
from sabot.games.family import Family
from sabot.log import rounds
from sabot.log.rounds import Dealt
from sabot.reports.selected import selection
from sabot.reports.terminal.rounds import SHOWN
from sabot.web import round_picture
from sabot_protocol import games

_NEEDED = [each.name for each in fields(Family) if each.default is MISSING]


@pytest.mark.parametrize("name", _NEEDED)
def test_a_family_without_one_of_its_answers_cannot_be_made(name: str) -> None:
    given = {each: getattr(families.DEFAULT, each) for each in _NEEDED if each != name}
    with pytest.raises(TypeError, match=name):
        Family(**given)


def test_only_the_open_hand_history_may_be_left_out() -> None:
    assert {each.name for each in fields(Family)} - set(_NEEDED) == {"writes_phh"}


def test_every_family_that_a_shoe_deals_is_in_the_registry_once() -> None:
    assert tuple(family.name for family in families.FAMILIES) == games.FAMILIES
    assert {family.rounds for family in families.FAMILIES} == set(get_args(Dealt))
    names = [game.name for game in families.GAMES]
    keys = [family.file_key for family in families.FAMILIES]
    assert len(set(names)) == len(names) and len(set(keys)) == len(keys)


@pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
def test_the_games_of_a_family_have_documents_of_that_family(family: Family) -> None:
    for game in family.games:
        assert families.of_game(game.name) is family and family.find_game(game.name) is game
        assert games.game_of(families.document(game.name)).family == family.name


@pytest.mark.parametrize(
    ("game", "choices", "after_cut"),
    [
        ("mini", {}, 14),
        ("mini", {"cut_from_end": 12}, 12),
        ("mini", {"cut_from_end": 30, "rounds_after_cut": 2}, 30),
        ("blackjack", {"cut_from_end": 60}, 60),
        ("holdem", {}, None),
    ],
)
def test_a_simulated_shoe_has_the_cards_after_the_cut_card_that_its_game_needs(
    game: str, choices: dict[str, object], after_cut: int | None
) -> None:
    of_game = games.game_of(families.document(game, choices))
    assert families.named(of_game.family).cards_after_cut(of_game, 14) == after_cut


def test_the_rounds_of_every_family_are_made_and_shown() -> None:
    all_rounds = {family.rounds for family in families.FAMILIES}
    indexing = Indexing(lambda sha256: None)
    tables = (rounds._TAKEN, SHOWN, selection._SEQUENCES, round_picture._HANDS_OF)
    for table in (*tables, indexing._of_family):
        assert set(table) == all_rounds
    assert tuple(rule_card._CARDS) == games.FAMILIES


def test_an_unknown_name_is_one_of_the_default_family_unless_another_has_a_near_one() -> None:
    assert families.of_game(None) is families.of_game("midy") is families.DEFAULT
    with pytest.raises(UnknownGame, match="did you mean blackjack"):
        families.of_game("blackjak")


@pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
def test_a_family_has_no_game_of_another(family: Family) -> None:
    others = [game.name for game in families.GAMES if game not in family.games]
    for name in others:
        with pytest.raises(UnknownGame):
            family.find_game(name)
