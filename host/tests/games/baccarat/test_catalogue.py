"""The catalogue of games: what each document leaves to the house, and what it forbids."""

import inspect
from dataclasses import replace
from typing import Any

import cbor2
import pytest

from sabot.errors import Forbidden, UnknownGame
from sabot.games.baccarat import catalogue, house_game, odds, score, wagers
from sabot.games.baccarat.catalogue import GAMES, document, find_game
from sabot.games.baccarat.wagers import WAGERS
from sabot.games.choices import Choice
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games as documents
from sabot_protocol.game_rules import game_to_deal

NAMES = [game.name for game in GAMES]
BASE = ["player", "banker", "tie"]
PAIRS = ["player_pair", "banker_pair"]
DRAGON_BONUS = ["dragon_bonus_player", "dragon_bonus_banker"]
TREASURES = ["fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"]
MARYLAND = ("md-mini", "md-midi", "ez-mini", "ez-midi")


def game_of(name: str, **choices: Any) -> baccarat_game.Game:
    return baccarat_game.Game(document(name, choices))


def test_the_games_are_those_of_the_four_documents() -> None:
    assert NAMES == [
        "mini", "mini-pairs", "md-mini", "md-midi", "ez-mini", "ez-midi", "pa-mini", "pa-midi",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_game_by_default_is_a_document_that_a_shoe_takes(name: str) -> None:
    game = game_of(name)
    assert (game.name, game.title) == (name, find_game(name).title)
    assert game.banker_draws == game_of("mini").banker_draws
    assert (game.turned_by, game.shown) == (
        ("players", "after_reveal") if name.endswith("midi") else ("dealer", "at_once")
    )


def some_allowed(choice: Choice) -> set[Any]:
    """Values of a choice that are allowed with those in TOGETHER."""
    if choice.name == "cut_from_end":
        return {17, choice.allowed[-1]}
    if choice.name in ("heavenly_9_pays", "heavenly_9_both_pays"):
        return {11, 999} if choice.name == "heavenly_9_pays" else {11, 1000}
    return {choice.allowed[0], choice.allowed[-1]} | set(choice.allowed[:3])


@pytest.mark.parametrize("name", NAMES)
def test_a_shoe_takes_what_the_catalogue_allows_and_refuses_what_it_forbids(name: str) -> None:
    # Two readings of the rule documents: the catalogue's, and that of the shoe.
    house_game = find_game(name)
    kept = {each.name for each in house_game.choices}
    together = {choice: value for choice, value in TOGETHER.items() if choice in kept}
    for choice in house_game.choices:
        for value in some_allowed(choice):
            hidden = {"shown": "after_reveal"} if value == "players" else {}
            made = document(name, together | hidden | {choice.name: value})
            assert game_to_deal(made).name == name
    fields = cbor2.loads(document(name))
    closed = house_game.choice("betting_closed_by").default
    assert closed == ("dealer" if name[:2] in ("md", "ez", "pa") else "first_card")
    for wrong in (
        {"betting_closed_by": "dealer" if closed == "first_card" else "first_card"},
        {"player_draws": [0, 1, 2, 3, 4]},
        {"house": fields["house"] | {"tie_pays": 7}},
        {"house": fields["house"] | {"vigorish_permille": 51}},
        {"house": fields["house"] | {"ghost_hands": 1}} if name != "mini" else {"decks": 1},
        {"wagers": ["player", "banker"]},
        {"wagers": [*fields["wagers"], "lucky_6"]},
    ):
        with pytest.raises(documents.GameError):
            game_to_deal(cbor2.dumps(fields | wrong, canonical=True))


def test_mini_by_default_is_what_a_shoe_deals_before_a_game_is_loaded() -> None:
    assert document("mini") == baccarat_game.document_of("mini")


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("mini", BASE),
        ("mini-pairs", BASE + PAIRS),
        ("md-mini", BASE + DRAGON_BONUS),
        ("md-midi", BASE + DRAGON_BONUS),
        ("ez-mini", [*BASE, "dragon_7", "panda_8", *DRAGON_BONUS]),
        ("ez-midi", [*BASE, "dragon_7", "panda_8", *DRAGON_BONUS]),
        ("pa-mini", BASE + DRAGON_BONUS + TREASURES),
        ("pa-midi", BASE + DRAGON_BONUS + TREASURES),
    ],
)
def test_the_wagers_are_those_that_the_document_offers(name: str, offered: list[str]) -> None:
    assert game_of(name).wagers == offered


@pytest.mark.parametrize("name", NAMES)
def test_every_wager_has_its_clause_in_the_games_document(name: str) -> None:
    for wager in game_of(name).wagers:
        assert WAGERS[wager].clauses[find_game(name).rules]
    assert set(WAGERS) == set(baccarat_game.HITS_OF_WAGER)


TOGETHER: dict[str, Any] = {
    "minimum_cents": 1, "maximum_cents": 100_000_000, "cut_from_end": 17,
    "heavenly_9_both_pays": 1000,
}  # fmt: skip
"""Values with which every value of every other choice is allowed."""


@pytest.mark.parametrize("name", NAMES)
def test_every_allowed_value_makes_a_document(name: str) -> None:
    kept = {each.name for each in find_game(name).choices}
    together = {choice: value for choice, value in TOGETHER.items() if choice in kept}
    for choice in find_game(name).choices:
        assert choice.allows(choice.default), choice.name
        for value in some_allowed(choice):
            face_down = value == "players" or choice.name == "voided_cards"
            hidden = {"shown": "after_reveal"} if face_down else {}
            game = game_of(name, **together | hidden | {choice.name: value})
            if choice.name.endswith("_pays") and choice.name != "tie_pays":
                place = list(wagers.TREASURES_PAY).index(choice.name.removesuffix("_pays"))
                assert int(game.house["treasures_pay"].split()[place]) == value
                continue
            in_document = getattr(game, choice.name, game.house.get(choice.name))
            left_out = value in ("none", False, "", "opened") and in_document is None
            assert in_document == value or left_out, choice.name


def test_a_house_deals_face_down_where_its_document_allows_it() -> None:
    # Washington, item 5: face down, face up, or any combination; the pairs document: not said.
    by_name = {
        name: {choice: find_game(name).choice(choice).allowed for choice in ("turned_by", "shown")}
        for name in NAMES
    }
    free = {
        name: {choice for choice, allowed in choices.items() if len(allowed) == 2}
        for name, choices in by_name.items()
    }
    assert free == {name: set() for name in NAMES} | {
        "mini": {"turned_by", "shown"},
        "mini-pairs": {"shown"},
    }
    game = game_of("mini", turned_by="players", shown="after_reveal")
    assert (game.turned_by, game.shown) == ("players", "after_reveal")
    with pytest.raises(Forbidden, match="turned_by players is forbidden with shown at_once"):
        document("mini", {"turned_by": "players"})


@pytest.mark.parametrize(
    ("name", "choice", "value", "clause"),
    [
        ("mini", "tie_pays", 7, "item 8: tie bets pay at least 8 to 1"),
        ("mini", "vigorish_permille", 51, "item 8: a commission of up to 5%"),
        ("mini", "vigorish_permille", -1, "item 8"),
        ("mini", "vigorish_rounding", "up_25", "item 8"),
        ("mini", "decks", 9, "item 1: a multiple deck shoe using up to 8 decks"),
        ("mini", "decks", 1, "item 1: a multiple deck shoe"),
        ("mini", "areas", 10, "item 2: up to nine areas"),
        ("mini", "dragon_bonus", "A", "item 2: the positions are Player, Banker, and Tie"),
        ("mini", "ghost_hands", -1, "Ghost hands"),
        ("mini-pairs", "tie_pays", 9, "paragraph 2: Tie wagers pay 8 to 1"),
        ("mini-pairs", "vigorish_permille", 40, "paragraph 2: a 5% commission"),
        ("mini-pairs", "decks", 6, "paragraph 1: played with eight decks"),
        ("md-mini", "vigorish_permille", 40, "Mini Baccarat, Chapter 12 C: equal to 5 percent"),
        ("md-midi", "vigorish_permille", 60, "Midi Baccarat, Chapter 12 C: equal to 5 percent"),
        ("md-mini", "tie_pays", 7, "Chapter 12 B: odds of at least 8 to 1"),
        ("md-mini", "vigorish_rounding", "up_5", "Chapter 12 D(1)"),
        ("md-midi", "vigorish_when", "tomorrow", "Chapter 12 D(2)"),
        ("md-midi", "dragon_bonus", "D", "Chapters 7 A(4), 12 F"),
        ("md-mini", "announced", False, "Chapter 11 A: the dealer shall announce"),
        ("md-mini", "areas", 10, "Chapter 2 A(1): no more than nine seated players"),
        ("md-mini", "treasures", True, "Chapter 7 A: not among the permissible wagers"),
        ("ez-midi", "vigorish_permille", 50, "Chapter 1 B(2): in EZ Baccarat vigorish is not"),
        ("ez-mini", "vigorish_rounding", "up_25", "Chapter 1 B(2)"),
        ("pa-mini", "vigorish_when", "marked", "paragraph 1: as each wager is settled"),
        ("pa-mini", "dragon_bonus", "B", "Dragon Bonus: its paytable is Maryland's A"),
        ("md-midi", "betting_closed_by", "first_card", "Chapter 7 D: no wager after the dealer"),
        ("pa-mini", "betting_closed_by", "first_card", 'paragraph 2: after announcing "no more'),
        ("mini", "betting_closed_by", "dealer", "item 3: once the first card is dealt"),
        ("mini-pairs", "turned_by", "players", "paragraph 1: all cards are dealt by the dealer"),
        ("pa-mini", "shown", "after_reveal", "the dealer handles and reveals all cards"),
        ("pa-midi", "tie_pays", 9, "paragraph 1: a winning tie bet pays 8 to 1"),
    ],
)
def test_a_forbidden_value_is_refused_with_the_clause(
    name: str, choice: str, value: object, clause: str
) -> None:
    with pytest.raises(Forbidden) as refused:
        document(name, {choice: value})
    message = str(refused.value)
    assert message.startswith(f"{name}: {choice} ") and "\n" not in message
    assert find_game(name).source in message and clause in message


def test_the_error_for_a_misspelled_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownGame, match=r"'ezmini'; did you mean ez-mini\?"):
        find_game("ezmini")
    with pytest.raises(UnknownGame, match="'chemin de fer'; there are: mini, mini-pairs, md-mini,"):
        document("chemin de fer")
    with pytest.raises(Forbidden, match=r"mini has no choice 'tie_pay'; did you mean tie_pays\?"):
        document("mini", {"tie_pay": 9})
    with pytest.raises(Forbidden, match=r"did you mean up_25\?"):
        document("md-mini", {"vigorish_rounding": "up25"})


def test_a_rounding_that_can_take_less_than_five_percent_is_forbidden() -> None:
    """Maryland, Chapter 12 D(1): to 25 cents or the next highest multiple, never to a lower one."""
    with pytest.raises(
        Forbidden, match=r"nearest_25 is forbidden, allowed: exact or up_25 .*D\(1\)"
    ):
        document("md-mini", {"vigorish_rounding": "nearest_25"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "choice", "value", "ours"),
    [
        ("mini", "tie_pays", 7, False),
        ("mini", "tie_pays", 10, True),
        ("md-midi", "tie_pays", 10, True),
        ("mini-pairs", "tie_pays", 9, False),
        ("pa-mini", "tie_pays", 9, False),
        ("mini", "areas", 10, False),
        ("md-mini", "areas", 10, False),
        ("pa-mini", "areas", 10, True),
        ("mini-pairs", "areas", 10, True),
        ("mini", "ghost_hands", 100, True),
        ("mini", "decks", 9, False),
        ("md-mini", "decks", 9, True),
        ("mini", "burn_ace", 12, True),
        ("mini", "burn", "two", True),
        ("mini", "maximum_cents", 10**9, True),
        ("pa-mini", "fortune_7_pays", 1001, True),
        ("pa-midi", "equal_largest", "eldest", True),
    ],
)
def test_a_limit_that_no_document_sets_is_called_sabots_own(
    name: str, choice: str, value: object, ours: bool
) -> None:
    with pytest.raises(Forbidden) as refused:
        document(name, {choice: value})
    assert ("(Sabot's own limit, " in str(refused.value)) is ours
    assert (f"({find_game(name).source}, " in str(refused.value)) is not ours


def test_a_limit_of_sabot_is_called_so_where_choices_are_listed() -> None:
    texts = {each.name: each.source_text() for each in find_game("mini").choices}
    assert texts["tie_pays"].endswith("at least 8 to 1; over 9 is Sabot's own limit")
    assert texts["burn_ace"].endswith("the limits are Sabot's own")
    assert "Sabot" not in texts["decks"] + texts["areas"] + texts["vigorish_permille"]


def test_no_code_depends_on_the_name_of_a_game() -> None:
    table = inspect.getsource(catalogue)
    for name in NAMES:
        assert table.count(f'"{name}"') == (name != "mini"), name
        for module in (house_game, wagers, score, odds):
            assert f'"{name}"' not in inspect.getsource(module)


@pytest.mark.parametrize("missing", house_game.WAGERS_OF_CHOICE)
def test_a_rule_document_may_lack_a_choice_of_wagers_and_then_does_not_offer_them(
    missing: str,
) -> None:
    whole = find_game("pa-mini")
    lacking = replace(whole, choices=tuple(each for each in whole.choices if each.name != missing))
    offered = cbor2.loads(lacking.document())["wagers"]
    assert not set(offered) & set(house_game.WAGERS_OF_CHOICE[missing])
    assert cbor2.loads(whole.document())["wagers"][:3] == offered[:3]
