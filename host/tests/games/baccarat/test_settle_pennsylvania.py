"""Settling by "Mini & Midi Baccarat, Dragon Bonus, 5 Treasures" of Pennsylvania."""

from typing import Any

import pytest

from host.tests.support.table import (
    BANKER_WINS,
    NATURAL_TIES,
    PLAYER_WINS,
    TIE,
    clause,
    game,
    of_three,
    outcome,
    scored,
    seat,
    settled,
    steps,
)
from sabot.errors import Forbidden, ImpossibleDeal

every = pytest.mark.parametrize("pa", ["pa-mini", "pa-midi"])
TREASURES = ("fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all")


@every
@clause("Pennsylvania paragraph 1")
def test_eight_decks_three_wagers_and_commission_as_each_wager_is_settled(pa: str) -> None:
    assert game(pa).decks == 8
    assert outcome(pa, "tie", TIE) == 8
    wagers = [seat(3, banker=10_000), seat(5, "Bob", banker=2000)]
    assert steps(settled(pa, wagers, BANKER_WINS)) == [
        ("vigorish collected", "seat 5", "banker", 100),
        ("paid", "seat 5", "banker", 2000),
        ("vigorish collected", "seat 3", "banker", 500),
        ("paid", "seat 3", "banker", 10_000),
    ]
    with pytest.raises(Forbidden, match=r"vigorish_when marked is forbidden.*as each wager"):
        game(pa, vigorish_when="marked")
    with pytest.raises(Forbidden, match=r"dragon_7 is not offered.*\(Pennsylvania, paragraph 1\)"):
        settled(pa, [seat(3, dragon_7=1000)])


@every
@clause("Pennsylvania paragraph 2, no more bets")
def test_nothing_is_wagered_after_no_more_bets(pa: str) -> None:
    for after in ("no_more_bets", "first_card"):
        late = seat(4, changed={"changed_after": after}, player=1000)
        with pytest.raises(Forbidden, match=r"^seat 4: Ann .*\(Pennsylvania, paragraph 2\)"):
            settled(pa, [late])


@every
@clause("Pennsylvania paragraph 2, natural")
def test_no_hand_draws_to_a_natural(pa: str) -> None:
    assert scored(pa, ("9S KD", "KC 3D")).winner == "player"
    assert scored(pa, ("KC 3D", "8S KD")).winner == "banker"
    for hands in (("9S KD", "KC 3D 5S"), ("KC 3D 5S", "8S KD")):
        with pytest.raises(ImpossibleDeal, match="natural"):
            scored(pa, hands)


@every
@clause("Pennsylvania paragraph 2, third card")
def test_a_hand_gets_at_most_one_more_card(pa: str) -> None:
    with pytest.raises(ImpossibleDeal):
        scored(pa, ("JS AD KS KS", "KH 7S"))


@every
@clause("Pennsylvania paragraph 2, who wins")
def test_the_hand_closest_to_nine_wins_even_money_and_a_tie_pushes(pa: str) -> None:
    for player in range(10):
        for banker in range(10):
            winner = scored(pa, of_three(player, banker)).winner
            expected = "tie" if player == banker else ("player", "banker")[banker > player]
            assert winner == expected
    assert outcome(pa, "player", PLAYER_WINS) == 1
    assert outcome(pa, "banker", BANKER_WINS) == 1
    for hand in ("player", "banker"):
        assert steps(settled(pa, [seat(1, **{hand: 1000})], TIE)) == [
            ("pushed", "seat 1", hand, 1000)
        ]


@every
@clause("Pennsylvania paragraph 2, count")
def test_cards_count_their_face_value_aces_1_tens_and_faces_nothing(pa: str) -> None:
    assert scored(pa, ("9S 5D KS", "KH 7S")).player_total == 4
    assert scored(pa, ("JS AD KS", "KH 7S")).player_total == 1
    for value, cards in enumerate(["TJQK", "A", *"23456789"]):
        for card in cards:
            assert scored(pa, (f"KC KD {card}S", "KH 7S")).player_total == value


def handler(name: str, positions: list[dict[str, Any]], **house: object) -> list[str]:
    """Who turns the Player's and the Banker's cards: the seat, or the dealer."""
    handlers = settled(name, positions, PLAYER_WINS, house).handlers
    assert handlers is not None
    return [
        "dealer" if (each := handlers[hand]) is None else f"{each.area} {each.player}"
        for hand in ("player", "banker")
    ]


@clause("Pennsylvania paragraph 2, midi")
def test_in_midi_the_player_with_the_largest_wager_on_a_hand_turns_its_cards() -> None:
    wagers = [
        seat(2, "Bob", player=5000, tie=90_000),
        seat(4, "Cy", player=5001),
        seat(7, "Ida", banker=1000, dragon_bonus_banker=90_000),
    ]
    assert handler("pa-midi", wagers) == ["seat 4 Cy", "seat 7 Ida"]
    assert handler("pa-midi", wagers[:2]) == ["seat 4 Cy", "dealer"]
    # Single wagers count, not the sum of a player's areas; over the maximum nothing counts.
    areas = [seat(1, "Bob", player=3000), seat(2, "Bob", player=3000), seat(3, "Cy", player=4000)]
    assert handler("pa-midi", areas)[0] == "seat 3 Cy"
    over = [seat(1, "Bob", player=900_000), seat(2, "Cy", player=500_000)]
    assert handler("pa-midi", over, equal_largest="lowest_seat")[0] == "seat 1 Bob"
    assert settled("pa-midi", wagers, "misdeal").handlers is None


@clause("Pennsylvania paragraph 2, midi")
def test_equal_largest_wagers_are_the_houses_choice() -> None:
    wagers = [seat(number, f"P{number}", banker=2000) for number in (5, 2, 8)]
    wagers.append(seat(9, "Low", banker=1999))
    for choice, who in (
        ("highest_seat", "seat 8 P8"),
        ("lowest_seat", "seat 2 P2"),
        ("dealer", "dealer"),
    ):
        assert handler("pa-midi", wagers, equal_largest=choice)[1] == who
        assert handler("pa-midi", wagers[-1:], equal_largest=choice)[1] == "seat 9 Low"
    assert handler("pa-midi", wagers)[1] == "seat 8 P8"


@clause("Pennsylvania paragraph 2, mini")
def test_in_mini_the_dealer_turns_all_cards() -> None:
    assert settled("pa-mini", [seat(2, player=5000)]).handlers is None
    assert (game("pa-mini").turned_by, game("pa-midi").turned_by) == ("dealer", "players")


@every
@clause("Pennsylvania Player draws")
def test_player_draws_to_five(pa: str) -> None:
    for total in range(10):
        two = f"KD {'TA23456789'[total]}C"
        due, undue = (f"{two} 9C", two) if total <= 5 else (two, f"{two} 9C")
        assert scored(pa, (due, "KH 7S")).player
        with pytest.raises(ImpossibleDeal):
            scored(pa, (undue, "KH 7S"))


# The chart: Banker's total, third cards on which it draws, and on which it does not.
CHART = {3: ("012345679", "8"), 4: ("234567", "0189"), 5: ("4567", "012389"), 6: ("67", "01234589")}


@every
@clause(
    "Pennsylvania Banker draws", "Pennsylvania Banker having 3", "Pennsylvania Banker having 4",
    "Pennsylvania Banker having 5", "Pennsylvania Banker having 6", "Pennsylvania Banker having 7",
    "Pennsylvania Banker having 8 or 9",
)  # fmt: skip
def test_banker_draws(pa: str) -> None:
    for total in range(8):
        draws_on, stands_on = CHART.get(
            total, ("0123456789", "") if total <= 2 else ("", "0123456789")
        )
        for third in draws_on:
            _check_banker(pa, f"KD QD {'TA23456789'[int(third)]}C", total, True)
        for third in stands_on:
            _check_banker(pa, f"KD QD {'TA23456789'[int(third)]}C", total, False)
        _check_banker(pa, "KD 6C", total, total <= 5)
    for total in (8, 9):
        _check_banker(pa, "KD 2C", total, False)


def _check_banker(pa: str, player: str, total: int, draws: bool) -> None:
    two = f"KH {'TA23456789'[total]}S"
    hands = {True: f"{two} TC", False: two}
    assert scored(pa, (player, hands[draws])).banker_total == total
    with pytest.raises(ImpossibleDeal):
        scored(pa, (player, hands[not draws]))


@every
@clause("Pennsylvania Dragon Bonus")
def test_the_dragon_bonus_is_for_one_hand_and_needs_a_standard_wager(pa: str) -> None:
    for hand in ("player", "banker"):
        for standard in ("player", "banker", "tie"):
            assert settled(pa, [seat(1, **{f"dragon_bonus_{hand}": 1000, standard: 1000})]).steps
    with pytest.raises(Forbidden, match=r"^seat 1: .*standard wager.*Pennsylvania, Dragon Bonus"):
        settled(pa, [seat(1, dragon_bonus_player=1000)])
    # A standard wager in another area does not count.
    with pytest.raises(Forbidden, match=r"^seat 1: .*standard wager.*Pennsylvania, Dragon Bonus"):
        settled(pa, [seat(1, dragon_bonus_player=1000), seat(2, player=1000)])
    refused = r"both hands, not one; .*\(Pennsylvania, Dragon Bonus\)"
    with pytest.raises(Forbidden, match=refused):
        settled(pa, [seat(1, player=1000, dragon_bonus_player=1000, dragon_bonus_banker=1000)])
    # "You may bet either": it is about the player, who cannot get around it with a second area.
    two_areas = [
        seat(1, player=1000, dragon_bonus_player=1000),
        seat(2, player=1000, dragon_bonus_banker=1000),
    ]
    with pytest.raises(Forbidden, match=refused):
        settled(pa, two_areas)
    two_areas[1]["player"] = "Bob"
    assert settled(pa, two_areas).steps


@every
@clause("Pennsylvania Dragon Bonus, natural winner", "Pennsylvania Dragon Bonus, way 1")
def test_a_natural_winner_pays_even(pa: str) -> None:
    assert outcome(pa, "dragon_bonus_player", PLAYER_WINS) == 1
    assert outcome(pa, "dragon_bonus_banker", BANKER_WINS) == 1
    assert outcome(pa, "dragon_bonus_player", BANKER_WINS) == "lose"
    for hands in NATURAL_TIES:
        assert outcome(pa, "dragon_bonus_player", hands) == "push"


@every
@clause(
    "Pennsylvania Dragon Bonus, way 2",
    *(f"Pennsylvania Dragon Bonus, by {n}" for n in range(4, 10)),
)
def test_a_win_by_four_points_or_more_pays_by_the_table(pa: str) -> None:
    pays = {9: 30, 8: 10, 7: 6, 6: 4, 5: 2, 4: 1}
    for player in range(10):
        for banker in range(10):
            hands = of_three(player, banker)
            assert outcome(pa, "dragon_bonus_player", hands) == pays.get(player - banker, "lose")
            assert outcome(pa, "dragon_bonus_banker", hands) == pays.get(banker - player, "lose")


@every
@clause("Pennsylvania 5 Treasures Bonus")
def test_treasures_need_a_standard_wager_and_combine_freely(pa: str) -> None:
    everything = dict.fromkeys(TREASURES, 1000)
    assert settled(pa, [seat(1, tie=1000, **everything)]).wagered_cents == 6000
    for wagers in (everything, {"golden_8": 1000}, {"golden_8": 1000, "cover_all": 1000}):
        with pytest.raises(Forbidden, match=r"^seat 1: .*standard wager.*5 Treasures Bonus\)"):
            settled(pa, [seat(1, **wagers)])
    with pytest.raises(Forbidden, match="golden_8 is not offered"):
        settled(pa, [seat(1, tie=1000, golden_8=1000)], house={"treasures": False})


def wins(pa: str, wager: str, hands: tuple[str, str]) -> bool:
    """Whether the wager wins. The document does not say what it pays."""
    return outcome(pa, wager, hands) != "lose"


@every
@clause("Pennsylvania Fortune 7")
def test_fortune_7_is_a_banker_that_wins_with_7_of_three_cards(pa: str) -> None:
    for player in range(10):
        for banker in range(10):
            won = wins(pa, "fortune_7", of_three(player, banker))
            assert won is (banker == 7 and player < 7)
    assert not wins(pa, "fortune_7", ("6S QH", "3D 4H"))


@every
@clause("Pennsylvania Golden 8")
def test_golden_8_is_a_player_that_wins_with_8_of_three_cards(pa: str) -> None:
    for player in range(10):
        for banker in range(10):
            won = wins(pa, "golden_8", of_three(player, banker))
            assert won is (player == 8 and banker < 8)
    assert not wins(pa, "golden_8", ("KS 8H", "3D 4H"))


@every
@clause("Pennsylvania Heavenly 9")
def test_heavenly_9_is_9_of_three_cards_and_pays_more_for_both(pa: str) -> None:
    for player in range(10):
        for banker in range(10):
            won = wins(pa, "heavenly_9", of_three(player, banker))
            assert won is (9 in (player, banker))
    assert not wins(pa, "heavenly_9", NATURAL_TIES[0])
    one, two = (outcome(pa, "heavenly_9", of_three(9, banker)) for banker in (8, 9))
    assert isinstance(one, int) and isinstance(two, int) and two > one


@every
@clause("Pennsylvania Blazing 7s")
def test_blazing_7s_are_two_hands_with_7_of_the_same_number_of_cards(pa: str) -> None:
    assert wins(pa, "blazing_7s", TIE)
    assert wins(pa, "blazing_7s", of_three(7, 7))
    assert not wins(pa, "blazing_7s", ("KD QD 7C", "KH 7S"))
    assert not wins(pa, "blazing_7s", of_three(7, 6))


@every
@clause("Pennsylvania Cover All")
def test_cover_all_wins_if_any_of_the_other_four_would(pa: str) -> None:
    two_card = [TIE, PLAYER_WINS, BANKER_WINS, *NATURAL_TIES, ("KD QD 7C", "KH 7S")]
    for hands in [*two_card, *(of_three(p, b) for p in range(10) for b in range(10))]:
        others = [wins(pa, wager, hands) for wager in TREASURES[:-1]]
        assert wins(pa, "cover_all", hands) is any(others)
