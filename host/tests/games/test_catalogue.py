"""The catalogue of games: what each document leaves to the house, and what it forbids."""

import inspect
import itertools
from typing import Any

import pytest

from sabot.errors import Forbidden, UnknownGame
from sabot.games import catalogue, odds, score, wagers
from sabot.games.catalogue import GAMES, document, find_game
from sabot.games.wagers import WAGERS
from sabot_protocol import games as documents

NAMES = [game.name for game in GAMES]
BASE = ["player", "banker", "tie"]
PAIRS = ["player_pair", "banker_pair"]
DRAGON_BONUS = ["dragon_bonus_player", "dragon_bonus_banker"]
TREASURES = ["fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"]
MARYLAND = ("md-mini", "md-midi", "ez-mini", "ez-midi")


def game_of(name: str, **choices: Any) -> documents.Game:
    return documents.Game(document(name, choices))


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


def test_mini_by_default_is_what_a_shoe_deals_before_a_game_is_loaded() -> None:
    assert document("mini") == documents.document_of("mini")


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


def test_a_side_wager_that_is_not_offered_is_not_in_the_document() -> None:
    for name, without in (
        ("mini-pairs", {"pairs": False}),
        ("md-midi", {"dragon_bonus": "none"}),
        ("pa-mini", {"dragon_bonus": "none", "treasures": False}),
    ):
        game = game_of(name, **without)
        assert game.wagers == BASE
        assert without.keys().isdisjoint(game.house)


@pytest.mark.parametrize("name", NAMES)
def test_every_wager_has_its_clause_in_the_games_document(name: str) -> None:
    for wager in game_of(name).wagers:
        assert WAGERS[wager].clauses[find_game(name).rules]
    assert set(WAGERS) == set(documents.HITS_OF_WAGER)


@pytest.mark.parametrize("name", NAMES)
def test_every_allowed_value_makes_a_document(name: str) -> None:
    for choice in find_game(name).choices:
        assert choice.allows(choice.default), choice.name
        for value in {choice.allowed[0], choice.allowed[-1]} | set(choice.allowed[:3]):
            bounds = {"minimum_cents": 1, "maximum_cents": 100_000_000}
            game = game_of(name, **bounds | {choice.name: value})
            in_document = getattr(game, choice.name, game.house.get(choice.name))
            assert in_document == value or (value in ("none", False) and in_document is None), (
                choice.name
            )


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_document_is_short_enough_for_a_shoe(name: str) -> None:
    longest = {
        choice.name: max(choice.allowed[0], choice.allowed[-1], key=lambda value: len(repr(value)))
        for choice in find_game(name).choices
        if choice.name != "minimum_cents"
    }
    for switched in itertools.product((True, False), repeat=2):
        flags = dict(zip(("pairs", "treasures"), switched, strict=True))
        kept = {n: v for n, v in flags.items() if find_game(name).choice(n).allows(v)}
        assert len(document(name, longest | kept)) <= documents.MAX_DOCUMENT


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


@pytest.mark.parametrize(
    ("choice", "value"),
    [("tie_pays", "8"), ("tie_pays", 8.0), ("areas", True), ("gallery", 1), ("burn", None)],
)
def test_a_value_of_another_kind_is_refused(choice: str, value: object) -> None:
    with pytest.raises(Forbidden, match=f"mini: {choice} .* is forbidden, allowed: "):
        document("mini", {choice: value})


def test_the_error_for_a_misspelled_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownGame, match=r"'ezmini'; did you mean ez-mini\?"):
        find_game("ezmini")
    with pytest.raises(UnknownGame, match="'chemin de fer'; there are: mini, mini-pairs, md-mini,"):
        document("chemin de fer")
    with pytest.raises(Forbidden, match=r"mini has no choice 'tie_pay'; did you mean tie_pays\?"):
        document("mini", {"tie_pay": 9})
    with pytest.raises(Forbidden, match=r"did you mean nearest_25\?"):
        document("md-mini", {"vigorish_rounding": "nearest25"})


def test_a_minimum_above_the_maximum_is_refused() -> None:
    assert game_of("mini", minimum_cents=2500, maximum_cents=2500).house["minimum_cents"] == 2500
    with pytest.raises(Forbidden, match="minimum_cents 2501 is above maximum_cents 2500"):
        document("mini", {"minimum_cents": 2501, "maximum_cents": 2500})


def test_no_code_depends_on_the_name_of_a_game() -> None:
    table = inspect.getsource(catalogue)
    for name in NAMES:
        assert table.count(f'"{name}"') == (name != "mini"), name
        for module in (wagers, score, odds):
            assert f'"{name}"' not in inspect.getsource(module)
