"""Settling by "Mini Baccarat", the rules with Player pair and Banker pair."""

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

NAME = "mini-pairs"


@clause("Pairs paragraph 1")
def test_eight_decks_and_hands_that_never_exceed_nine() -> None:
    assert game(NAME).decks == 8
    with pytest.raises(Forbidden, match="paragraph 1"):
        game(NAME, decks=6)
    totals = {
        (scored(NAME, of_three(p, b)).player_total, scored(NAME, of_three(p, b)).banker_total)
        for p in range(10)
        for b in range(10)
    }
    assert totals == {(p, b) for p in range(10) for b in range(10)}
    assert game(NAME).turned_by == "dealer"


@clause("Pairs paragraph 2")
def test_player_or_banker_and_tie() -> None:
    assert outcome(NAME, "player", PLAYER_WINS) == 1
    assert outcome(NAME, "player", BANKER_WINS) == "lose"
    assert outcome(NAME, "tie", TIE) == 8
    assert outcome(NAME, "tie", PLAYER_WINS) == "lose"
    assert steps(settled(NAME, [seat(3, banker=10_000, tie=1000)], BANKER_WINS)) == [
        ("collected", "seat 3", "tie", 1000),
        ("vigorish collected", "seat 3", "banker", 500),
        ("paid", "seat 3", "banker", 10_000),
    ]
    with pytest.raises(Forbidden, match=r"both Player and Banker.*\(Pairs, paragraph 2\)"):
        settled(NAME, [seat(3, banker=1000, player=1000)])
    late = seat(4, changed={"changed_after": "first_card"}, player=1000)
    with pytest.raises(Forbidden, match=r"first card.*\(Pairs, paragraph 2\)"):
        settled(NAME, [late])


@clause("Pairs pair side bet")
def test_pairs_pay_eleven_to_one_if_the_house_offers_them() -> None:
    of_player, of_banker = ("4S 4D", "KC 9D"), ("KC 9D", "4S 4D")
    assert outcome(NAME, "player_pair", of_player) == 11
    assert outcome(NAME, "player_pair", of_banker) == "lose"
    assert outcome(NAME, "banker_pair", of_banker) == 11
    assert outcome(NAME, "banker_pair", of_player) == "lose"
    with pytest.raises(Forbidden, match="player_pair is not offered"):
        settled(NAME, [seat(3, player_pair=1000)], house={"pairs": False})


@clause("Pairs paragraph 3", "Pairs Player draws")
def test_third_cards_are_not_optional_and_there_is_no_fourth() -> None:
    for total in range(8):
        two = f"KD {'TA234567'[total]}C"
        due, undue = (f"{two} 9C", two) if total <= 5 else (two, f"{two} 9C")
        assert scored(NAME, (due, "KH 7S")).player
        for player in (undue, f"{two} 9C 9S"):
            with pytest.raises(ImpossibleDeal):
                scored(NAME, (player, "KH 7S"))


@clause("Pairs natural")
def test_no_hand_draws_to_a_natural() -> None:
    assert scored(NAME, NATURAL_TIES[0]).winner == "tie"
    for hands in (("9S KD", "KC 3D 5S"), ("KC 3D 5S", "8S KD")):
        with pytest.raises(ImpossibleDeal, match="natural"):
            scored(NAME, hands)


# The third cards of the Player on which the Banker draws, by the Banker's total.
THIRD_CARD_RULE = {"3": "0 1 2 3 4 5 6 7 9", "4": "2 3 4 5 6 7", "5": "4 5 6 7", "6": "6 7"}


@clause(
    "Pairs Banker draws", "Pairs third card 3", "Pairs third card 4", "Pairs third card 5",
    "Pairs third card 6", "Pairs third card 7",
)  # fmt: skip
def test_banker_draws() -> None:
    for total in range(8):
        two = f"KH {'TA234567'[total]}S"
        for third in [*"0123456789", None]:
            if third is None:
                player, draws = "KD 6C", total <= 5
            elif total <= 2:
                player, draws = f"KD QD {'TA23456789'[int(third)]}C", True
            else:
                player = f"KD QD {'TA23456789'[int(third)]}C"
                draws = third in THIRD_CARD_RULE.get(str(total), "").split()
            hands = {True: f"{two} TC", False: two}
            assert scored(NAME, (player, hands[draws])).banker_total == total
            with pytest.raises(ImpossibleDeal):
                scored(NAME, (player, hands[not draws]))


@clause("Pairs third card 8 or 9")
def test_banker_stands_on_a_natural() -> None:
    for total in "89":
        assert scored(NAME, ("KD 2C", f"KH {total}S")).winner == "banker"
        for hands in (("KD 2C", f"KH {total}S TC"), ("KD 2C TS", f"KH {total}S")):
            with pytest.raises(ImpossibleDeal):
                scored(NAME, hands)


@clause("Pairs side wagers")
def test_side_wagers_are_prohibited() -> None:
    for wager in ("dragon_7", "dragon_bonus_player", "cover_all"):
        with pytest.raises(Forbidden, match=rf"{wager} is not offered.*\(Pairs, side wagers\)"):
            settled(NAME, [seat(3, **{wager: 1000})])


@clause("Pairs misdeal")
def test_after_a_misdeal_all_bets_are_returned() -> None:
    wagers = [seat(3, player=900_000, tie=50), seat(8, "Bob", player_pair=1000)]
    done = settled(NAME, wagers, "misdeal")
    assert steps(done) == [
        ("returned", "seat 8", "player_pair", 1000),
        ("returned", "seat 3", "player", 900_000),
        ("returned", "seat 3", "tie", 50),
    ]
    assert {step.why for step in done.steps} == {"void: misdeal (Pairs, misdeal)"}
    assert done.warned == () and done.notices == []


@clause("Pairs maximum")
def test_the_part_over_the_maximum_is_returned_and_the_rest_honoured() -> None:
    done = settled(NAME, [seat(3, player=500_001, tie=500_000)], PLAYER_WINS)
    assert steps(done) == [
        ("returned", "seat 3", "player", 1),
        ("collected", "seat 3", "tie", 500_000),
        ("paid", "seat 3", "player", 500_000),
    ]
    assert done.steps[0].why == "over the maximum of 500000 cents (Pairs, maximum)"


@clause("Pairs minimum")
def test_a_wager_below_the_minimum_is_honoured_once_and_then_returned() -> None:
    wagers = [seat(3, player=999), seat(4, "Bob", player=1000)]
    first = settled(NAME, wagers, PLAYER_WINS)
    assert [step for step in steps(first) if step[1] == "seat 3"] == [
        ("paid", "seat 3", "player", 999)
    ]
    (notice,) = first.notices
    assert notice.startswith("seat 3: Ann's player of 999 cents is below the minimum of 1000")
    assert "honoured this once" in notice and first.warned == ("Ann",)
    again = settled(NAME, wagers, PLAYER_WINS, warned=list(first.warned))
    assert steps(again) == [
        ("returned", "seat 3", "player", 999),
        ("paid", "seat 4", "player", 1000),
    ]
    (notice,) = again.notices
    assert "again: dead, returned (Pairs, minimum)" in notice and again.warned == ("Ann",)
