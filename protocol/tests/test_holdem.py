"""The game document of hold'em: what it must have, and what is refused."""

from protocol.tests.helpers import raised
from sabot_protocol import baccarat, games, holdem
from sabot_protocol.game_rules import game_to_deal


def _document(**changed):
    value = dict(holdem.HOLDEM)
    value.update(changed)
    return games.encode(value)


def _refused(**changed):
    return raised(games.GameError, games.game_of, _document(**changed))


def test_the_default_document_is_a_game_of_hold_em():
    game = games.game_of(_document())
    assert isinstance(game, holdem.HoldemGame) and game.family == "holdem"
    assert (game.seats, game.run_it_twice, game.decks, game.burn) == (10, True, 1, "none")
    assert game_to_deal(_document()).sha256 == game.sha256
    assert "holdem" in games.FAMILIES


def test_seats_are_two_to_ten():
    for seats in (2, 6, 10):
        assert games.game_of(_document(seats=seats)).seats == seats
    for seats in (0, 1, 11, -1, True, None, "6"):
        assert _refused(seats=seats), seats


def test_a_hand_is_dealt_from_one_deck_without_burning_or_a_cut_card():
    for field, values in (
        ("decks", (0, 2, 8)),
        ("burn", ("by_first", "one", "")),
        ("burn_ace", (2,)),
        ("cut_from_end", (1, 16, 104)),
        ("rounds_after_cut", (1, 2)),
        ("shown", ("after_reveal",)),
        ("rules", ("washington", "pairs", "pennsylvania", "poker")),
    ):
        for value in values:
            assert _refused(**{field: value}), (field, value)


def test_running_it_twice_is_a_flag_and_not_at_a_tournament_table():
    assert _refused(run_it_twice=1) and _refused(run_it_twice=None)
    assert _refused(house={"tournament": True})
    assert games.game_of(_document(run_it_twice=False, house={"tournament": True}))
    assert games.game_of(_document(house={"tournament": False}))


def test_cards_of_a_void_hand_are_opened_or_never():
    for choice in ("opened", "never"):
        assert games.game_of(_document(house={"voided_cards": choice}))
    for choice in ("", "later", 1, True):
        assert _refused(house={"voided_cards": choice}), choice
    assert games.game_of(_document(house={}))


def test_a_missing_or_an_extra_field_is_refused():
    for field in holdem.HOLDEM:
        value = dict(holdem.HOLDEM)
        value.pop(field)
        assert raised(games.GameError, games.game_of, games.encode(value)), field
    assert _refused(order="PBPB")
    assert raised(games.GameError, baccarat.Game, _document())


def test_a_game_of_another_family_is_not_one():
    assert raised(games.GameError, holdem.HoldemGame, baccarat.document_of("mini"))
    assert _refused(version=2)
