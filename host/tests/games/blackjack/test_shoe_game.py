"""The game document of blackjack for a shoe, with the house's choices."""

import pytest

from sabot.errors import Forbidden
from sabot.games import families
from sabot.games.blackjack import house
from sabot.games.blackjack.shoe_game import GAME, OF_THE_SHOE, document, house_in
from sabot_protocol import games
from sabot_protocol.blackjack import BlackjackGame


def _game(**choices: object) -> BlackjackGame:
    game = games.game_of(document(choices))
    assert isinstance(game, BlackjackGame)
    return game


def test_the_default_document_has_the_default_choices() -> None:
    game = _game()
    assert (game.family, game.name, game.rules) == ("blackjack", "blackjack", "maryland")
    assert house.house_of(house_in(game)) == house.house_of({})
    for choice in (*house.DEAL_CHOICES, *OF_THE_SHOE):
        if choice.name != "voided_cards":
            assert getattr(game, choice.name) == choice.default, choice.name
    assert game.house == {"voided_cards": "opened"}


@pytest.mark.parametrize("choice", GAME.choices, ids=lambda choice: choice.name)
def test_every_allowed_choice_has_a_document_from_which_it_is_read_again(
    choice: house.Choice,
) -> None:
    allowed = list(choice.allowed) if not isinstance(choice.allowed, range) else [
        choice.allowed[0], choice.allowed[-1],
    ]  # fmt: skip
    for value in allowed:
        chosen: dict[str, object] = {choice.name: value}
        if value == "none" and choice.name == "hole_card":
            chosen["looks"] = "never"
        if "maximum" in choice.name:
            chosen[choice.name.replace("maximum", "minimum")] = 1
        elif "minimum" in choice.name:
            chosen[choice.name.replace("minimum", "maximum")] = value
        if choice.name == "cut_from_end":
            chosen["decks"] = 8
        try:
            game = _game(**chosen)
        except Forbidden as forbidden:
            assert "paytable" in str(forbidden) or "decks" in str(forbidden), chosen
            continue
        if choice.name in {each.name for each in house.CHOICES}:
            assert house_in(game).get(choice.name, choice.default) == value
    assert len(document({choice.name: choice.default})) <= games.MAX_DOCUMENT


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"boxes": 8}, "boxes 8 is forbidden; allowed: 1 to 7"),
        ({"hole_card": "none"}, "no hole card to look at"),
        ({"burn": "two"}, "burn two is forbidden"),
        ({"hands_of_box": 2, "resplit_aces": True}, "a box has at most 2 hands"),
        ({"decks": 1, "cut_from_end": 52}, "leaves no card before the cut card"),
        ({"dealer": "none"}, "blackjack has no choice 'dealer'"),
    ],
)
def test_what_contradicts_itself_is_forbidden(choices: dict[str, object], message: str) -> None:
    with pytest.raises(Forbidden, match=message):
        document(choices)


def test_blackjack_is_among_all_games() -> None:
    assert families.document("blackjack", {"decks": 2}) == document({"decks": 2})
