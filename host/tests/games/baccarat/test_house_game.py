"""The game document that the choices of a house make: its size, and what is refused."""

import itertools
from typing import Any

import pytest

from sabot.errors import Forbidden
from sabot.games.baccarat.catalogue import GAMES, document, find_game
from sabot.games.baccarat.house_game import chosen_in
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games as documents

NAMES = [game.name for game in GAMES]
BASE = ["player", "banker", "tie"]


def game_of(name: str, **choices: Any) -> baccarat_game.Game:
    return baccarat_game.Game(document(name, choices))


def test_a_side_wager_that_is_not_offered_is_not_in_the_document() -> None:
    for name, without in (
        ("mini-pairs", {"pairs": False}),
        ("md-midi", {"dragon_bonus": "none"}),
        ("pa-mini", {"dragon_bonus": "none", "treasures": False}),
    ):
        game = game_of(name, **without)
        assert game.wagers == BASE
        assert without.keys().isdisjoint(game.house)


def longest_choices(name: str) -> dict[str, Any]:
    """The choices that make the longest document, without limits for single wagers."""
    longest = {
        choice.name: max(choice.allowed[0], choice.allowed[-1], key=lambda value: len(repr(value)))
        for choice in find_game(name).choices
        if choice.name not in ("minimum_cents", "heavenly_9_pays", "limits_cents", "decks")
    }
    most = {"dragon_bonus": "A", "treasures": True, "pairs": True}
    return longest | {n: v for n, v in most.items() if find_game(name).choice(n).allows(v)}


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_document_is_short_enough_for_a_shoe(name: str) -> None:
    longest = longest_choices(name)
    for switched in itertools.product((True, False), repeat=2):
        flags = dict(zip(("pairs", "treasures"), switched, strict=True))
        kept = {n: v for n, v in flags.items() if find_game(name).choice(n).allows(v)}
        assert len(document(name, longest | kept)) <= documents.MAX_DOCUMENT


@pytest.mark.parametrize("name", NAMES)
def test_every_game_has_room_for_limits_of_ties_and_of_all_other_wagers(name: str) -> None:
    side = len(game_of(name).wagers) > len(BASE)
    limits = "tie:1000-50000" + ",side:1000-50000" * side
    assert len(document(name, longest_choices(name) | {"limits_cents": limits})) <= 900


def test_choices_that_need_too_long_a_document_are_refused() -> None:
    limits = ",".join(f"{wager}:10000000-100000000" for wager in game_of("pa-midi").wagers)
    with pytest.raises(Forbidden, match=r"^pa-midi: .* over 900 bytes.* give several wagers one"):
        document("pa-midi", {"limits_cents": limits})


@pytest.mark.parametrize(
    ("choice", "value"),
    [("tie_pays", "8"), ("tie_pays", 8.0), ("areas", True), ("gallery", 1), ("burn", None)],
)
def test_a_value_of_another_kind_is_refused(choice: str, value: object) -> None:
    with pytest.raises(Forbidden, match=f"mini: {choice} .* is forbidden, allowed: "):
        document("mini", {choice: value})


def test_a_minimum_above_the_maximum_is_refused() -> None:
    assert game_of("mini", minimum_cents=2500, maximum_cents=2500).house["minimum_cents"] == 2500
    with pytest.raises(Forbidden, match="minimum_cents 2501 is above maximum_cents 2500"):
        document("mini", {"minimum_cents": 2501, "maximum_cents": 2500})


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        # 5 cards of the round in which it came, 6 of each that follows
        ({"rounds_after_cut": 2}, "16 with rounds_after_cut 2: .* 17 cards"),
        ({"rounds_after_cut": 1, "cut_from_end": 10}, "11 cards; choose cut_from_end 11 or more"),
        # the cut card before a round: all six cards of the last round
        ({"rounds_after_cut": 0, "cut_from_end": 5}, "6 cards; choose cut_from_end 6 or more"),
        ({"decks": 1, "cut_from_end": 1, "rounds_after_cut": 2}, "17 cards"),
        ({"decks": 1, "cut_from_end": 52}, "0 cards before the cut card, and burning can take 11"),
        ({"decks": 1, "cut_from_end": 42}, "10 cards before the cut card"),
        ({"decks": 1, "cut_from_end": 41, "burn_ace": 11}, "11 cards .* burning can take 12"),
        ({"decks": 1, "cut_from_end": 52, "burn": "one"}, "burning can take 1;"),
    ],
)
def test_choices_that_cannot_be_dealt_together_are_refused(
    choices: dict[str, Any], why: str
) -> None:
    with pytest.raises(Forbidden, match=f"^md-mini: cut_from_end .*{why}"):
        document("md-mini", choices)


@pytest.mark.parametrize(
    "choices",
    [
        {"rounds_after_cut": 2, "cut_from_end": 17},
        {"rounds_after_cut": 1, "cut_from_end": 11},
        {"rounds_after_cut": 0, "cut_from_end": 6},
        {"decks": 1, "cut_from_end": 41},
        {"decks": 1, "cut_from_end": 40, "burn_ace": 11},
        {"decks": 1, "cut_from_end": 51, "burn": "one"},
        {"decks": 1, "cut_from_end": 52, "burn": "none"},
    ],
)
def test_choices_that_can_just_be_dealt_together_are_taken(choices: dict[str, Any]) -> None:
    assert game_of("md-mini", **choices).decks == choices.get("decks", 8)


def test_both_hands_with_a_heavenly_9_pay_more() -> None:
    with pytest.raises(Forbidden, match=r"both_pays 10 must be above .* 10 .*Heavenly 9\)"):
        document("pa-mini", {"heavenly_9_both_pays": 10})
    without = {"heavenly_9_both_pays": 10, "treasures": False}
    assert "treasures_pay" not in game_of("pa-mini", treasures=False).house
    with pytest.raises(Forbidden):  # refused all the same: the house would notice it too late
        document("pa-mini", without)


def test_what_becomes_of_voided_cards_is_in_the_document_only_where_cards_lie_face_down() -> None:
    for name, choices, wanted in (
        ("ez-midi", {}, None), ("ez-midi", {"voided_cards": "opened"}, None),
        ("ez-midi", {"voided_cards": "never"}, "never"), ("mini", {"voided_cards": "never"}, None),
        ("mini", {"voided_cards": "never", "shown": "after_reveal"}, "never"),
    ):  # fmt: skip
        game = baccarat_game.Game(document(name, choices))
        assert game.house.get("voided_cards") == wanted, (name, choices)
        shown = (wanted or "opened") if game.face_down else None
        assert chosen_in(game, "voided_cards") == shown, (name, choices)
    with pytest.raises(Forbidden, match="allowed: opened or never"):
        document("md-midi", {"voided_cards": "later"})
    with pytest.raises(Forbidden, match="has no choice"):
        document("md-mini", {"voided_cards": "never"})
