"""Settling by the Washington mini-baccarat rules, item by item."""

import json

import pytest

from host.tests.support.helpers import FirmwareLog
from host.tests.support.table import (
    BANKER_WINS,
    PLAYER_WINS,
    TIE,
    clause,
    full,
    game,
    line,
    of_three,
    outcome,
    scored,
    seat,
    settled,
    steps,
)
from sabot.errors import BadWagers, Forbidden, ImpossibleDeal
from sabot.games.baccarat import wager_file
from sabot.link import wire
from sabot.link.events import CardEvent, SealedCardEvent


@clause("Washington 1")
def test_two_hands_of_two_or_three_cards_from_up_to_eight_decks() -> None:
    for hands in (("9S", "KC 7D"), ("9S KD", "KC 7D 2S 3S")):
        with pytest.raises(ImpossibleDeal):
            scored("mini", hands)
    with pytest.raises(Forbidden, match="item 1"):
        game("mini", decks=9)


@clause("Washington 2")
def test_three_betting_positions_in_each_of_nine_areas_at_the_most() -> None:
    assert game("mini").wagers == ["player", "banker", "tie"]
    for wager in ("dragon_7", "player_pair", "dragon_bonus_player"):
        with pytest.raises(Forbidden, match=r"is not offered.*\(Washington, item 2\)"):
            settled("mini", [seat(1, **{wager: 1000})])
    assert settled("mini", [seat(9, tie=1000)]).steps
    with pytest.raises(Forbidden, match=r"^seat 10: .*seats 1 to 9; .*\(Washington, item 2: "):
        settled("mini", [seat(10, tie=1000)])
    with pytest.raises(Forbidden, match=r"areas 10 is forbidden.*item 2"):
        game("mini", areas=10)


@clause("Washington 3")
def test_one_player_an_area() -> None:
    with pytest.raises(Forbidden, match=r"^seat 4: Ann and Bob in one area.*\(Washington, item 3"):
        settled("mini", [seat(4, player=1000), seat(4, "Bob", player=1000)])


@clause("Washington 3")
def test_one_betting_position_or_one_hand_with_tie() -> None:
    for wagers in ("player", "banker", "tie", "player tie", "banker tie"):
        done = settled("mini", [seat(4, **dict.fromkeys(wagers.split(), 1000))])
        assert len({step.wager for step in done.steps}) == len(wagers.split())
    refused = r"Ann wagers on both Player and Banker.*\(Washington, item 3\)"
    with pytest.raises(Forbidden, match=refused):
        settled("mini", [seat(4, player=1000, banker=1000)])
    with pytest.raises(Forbidden, match=refused):
        settled("mini", [seat(4, player=1000, tie=1000, banker=1000)])
    # The item is about players: a player cannot get around it with a second area.
    with pytest.raises(Forbidden, match=refused):
        settled("mini", [seat(4, player=1000), seat(5, banker=1000)])


@clause("Washington 3")
def test_bets_are_closed_by_the_first_card() -> None:
    late = seat(4, changed={"changed_after": "first_card"}, player=1000)
    with pytest.raises(Forbidden, match=r"^seat 4: Ann .*first card.*\(Washington, item 3\)"):
        settled("mini", [late])


@clause("Washington 4")
def test_the_house_may_permit_the_gallery() -> None:
    on_line = [*full(), line(1, "Zoe", player=1000)]
    assert len(settled("mini", on_line).steps) == 10
    with pytest.raises(Forbidden, match=r"^line 1: no line wagers.*items 2 and 4"):
        settled("mini", on_line, house={"gallery": False})


@clause("Washington 4(a)")
def test_a_gallery_wager_lies_on_the_line_between_two_areas() -> None:
    wagers = [*full(3), line(2, "Zoe", player=1000)]
    where = [step[1] for step in steps(settled("mini", wagers, house={"areas": 3}))]
    assert where == ["seat 3", "line 2", "seat 2", "seat 1"]


@clause("Washington 4(b)")
def test_the_gallery_wagers_only_if_all_areas_are_occupied() -> None:
    positions = [*full(), line(8, "Zoe", player=1000)]
    for missing in (0, 4, 8):
        without_one = [each for number, each in enumerate(positions) if number != missing]
        with pytest.raises(
            Forbidden, match=rf"^line 8: .*empty: {missing + 1}; .*\(Washington, item 4\(b\)\)"
        ):
            settled("mini", without_one)


@clause("Washington 4(c)")
def test_one_player_a_line() -> None:
    wagers = [*full(), line(2, "Zoe", player=1000), line(2, "Yan", player=1000)]
    with pytest.raises(Forbidden, match=r"^line 2: Zoe and Yan.*\(Washington, item 4\(c\)\)"):
        settled("mini", wagers)


@clause("Washington 4(d)")
def test_there_are_eight_lines_and_none_outside_the_areas() -> None:
    lines = [line(number, f"Z{number}", player=1000) for number in range(1, 9)]
    assert len(settled("mini", [*full(), *lines]).steps) == 17
    for number in (0, 9, 10):
        with pytest.raises(Forbidden, match=rf"^line {number}: .*\(Washington, item 4\(d\)\)"):
            settled("mini", [*full(), line(number, "Zoe", player=1000)])
    with pytest.raises(Forbidden, match=r"item 4\(d\)"):
        settled("mini", [*full(5), line(5, "Zoe", player=1000)], house={"areas": 5})


@clause("Washington 4(e)")
def test_nine_areas_a_player_at_the_most() -> None:
    own = [seat(number, "Ann", player=1000) for number in range(1, 10)]
    assert len(settled("mini", own).steps) == 9
    with pytest.raises(Forbidden, match=r"Ann wagers in 10 areas.*\(Washington, item 4\(e\)\)"):
        settled("mini", [*own, line(1, "Ann", player=1000)])
    mixed = [*full()[:1], *own[1:], line(1, "Ann", player=1000)]
    assert len(settled("mini", mixed).steps) == 10


@clause("Washington 5, announcing", "Washington Announcements")
def test_the_house_determines_whether_totals_are_announced() -> None:
    assert [game("mini", announced=chosen).announced for chosen in (True, False)] == [True, False]
    wagers = [seat(1, tie=1000)]
    assert settled("mini", wagers).announced == "Player 9, Banker 7: Player wins"
    assert settled("mini", wagers, house={"announced": False}).announced is None


@pytest.mark.parametrize("name", ["mini", "mini-pairs", "pa-mini", "pa-midi"])
@clause("Washington 5, order", "Pennsylvania paragraph 2, order")
def test_player_and_banker_get_cards_in_turn(name: str) -> None:
    log = FirmwareLog()
    log.dealing.change_game(game(name, burn="none"))
    log.load().draw("next", "KS", "2H", "7C", "5D")
    dealt = [wire.parse_event(record) for record in log.records]
    positions = [each.position for each in dealt if isinstance(each, CardEvent | SealedCardEvent)]
    assert positions == ["player_1", "banker_1", "player_2", "banker_2"]


@clause("Washington 6")
@pytest.mark.parametrize(
    ("value", "cards"), [(0, "TJQK"), (1, "A"), *((n, str(n)) for n in range(2, 10))]
)
def test_tens_and_pictures_count_0_aces_1_and_others_their_value(value: int, cards: str) -> None:
    for card in cards:
        assert scored("mini", (f"KC KD {card}S", "KH 7S")).player_total == value


@clause("Washington 7", "Washington 8")
def test_the_last_digit_counts_and_the_hand_closest_to_nine_wins() -> None:
    assert scored("mini", ("7S 5D KC", "KH 7H")).player_total == 2
    assert scored("mini", ("7S 6D 8C", "KH 7H")).player_total == 1
    for player in range(10):
        for banker in range(10):
            winner = scored("mini", of_three(player, banker)).winner
            expected = "tie" if player == banker else ("player", "banker")[banker > player]
            assert winner == expected


@clause("Washington 8")
def test_even_money_a_commission_of_up_to_five_percent_and_ties() -> None:
    assert outcome("mini", "tie", TIE) == 8
    assert outcome("mini", "tie", PLAYER_WINS) == "lose"
    for permille, vigorish in ((50, 500), (40, 400), (0, 0)):
        done = settled(
            "mini", [seat(1, banker=10_000)], BANKER_WINS, {"vigorish_permille": permille}
        )
        assert done.totals()["vigorish_collected_cents"] == vigorish
        assert done.totals()["paid_cents"] == 10_000
    assert settled("mini", [seat(1, player=10_000)]).totals()["paid_cents"] == 10_000
    for hand in ("player", "banker"):
        done = settled("mini", [seat(1, **{hand: 10_000})], TIE)
        assert steps(done) == [("pushed", "seat 1", hand, 10_000)]
    for choice, value in (("vigorish_permille", 51), ("tie_pays", 7)):
        with pytest.raises(Forbidden, match="item 8"):
            game("mini", **{choice: value})


@clause("Washington 9", "Washington Player Hand Rules")
def test_player_draws_to_five_and_stands_on_six_and_seven() -> None:
    for total in range(8):
        two, three = f"KD {'TA234567'[total]}C", f"KD {'TA234567'[total]}C 9C"
        due, undue = (three, two) if total <= 5 else (two, three)
        assert scored("mini", (due, "KH 7S")).player
        with pytest.raises(ImpossibleDeal):
            scored("mini", (undue, "KH 7S"))


DRAWS_ON = {3: "012345679", 4: "234567", 5: "4567", 6: "67", 7: ""}


@clause("Washington 9", "Washington Banker Hand Rules")
def test_banker_draws_by_players_third_card() -> None:
    for total in range(8):
        for third in range(10):
            player = f"KD QD {'TA23456789'[third]}C"
            _check_banker(player, total, str(third) in DRAWS_ON.get(total, "0123456789"))
        _check_banker("KD 6C", total, total <= 5)


def _check_banker(player: str, total: int, draws: bool) -> None:
    two = f"KH {'TA234567'[total]}S"
    hands = {True: f"{two} TC", False: two}
    assert scored("mini", (player, hands[draws])).banker_total == total
    with pytest.raises(ImpossibleDeal):
        scored("mini", (player, hands[not draws]))


@clause("Washington 10")
def test_no_hand_draws_to_a_natural_and_nine_beats_eight() -> None:
    assert scored("mini", ("9S KD", "TD 8D")).winner == "player"
    for hands in (("9S KD", "KC 3D 5S"), ("KC 3D 5S", "8S KD")):
        with pytest.raises(ImpossibleDeal, match="natural"):
            scored("mini", hands)
    with pytest.raises(ImpossibleDeal, match="third card is missing"):
        scored("mini", ("KS 2D", "KC 3D"))


@clause("Washington Ghost hands")
def test_ghost_hands_are_dealt_without_wagers_as_often_as_the_house_allows() -> None:
    ghost = [{"ghost_hand": 3}]
    done = settled("mini", ghost)
    assert done.steps == [] and done.announced == "Player 9, Banker 7: Player wins"
    assert set(done.totals().values()) == {0}
    with pytest.raises(Forbidden, match=r"number 3 of this shoe.*\(Washington, Ghost hands"):
        settled("mini", ghost, house={"ghost_hands": 2})
    with pytest.raises(Forbidden, match=r"number 1 .*\(Washington, Ghost hands"):
        settled("mini", [{"ghost_hand": 1}], house={"ghost_hands": 0})
    with pytest.raises(Forbidden, match=r"^seat 2: Ann wagers on a ghost hand.*Ghost hands"):
        settled("mini", [{"ghost_hand": 1}, seat(2, tie=1000)])
    for name in ("md-mini", "pa-mini", "mini-pairs"):
        with pytest.raises(Forbidden, match="no ghost hands"):
            settled(name, [{"ghost_hand": 1}])


def test_the_first_card_closes_the_betting_not_an_announcement() -> None:
    called = seat(4, changed={"changed_after": "no_more_bets"}, player=1000)
    assert settled("mini", [called]).totals()["wagered_cents"] == 1000


@clause("Washington Announcements 2", "Washington Announcements 3")
def test_the_hands_are_called_and_after_the_decision_the_result() -> None:
    wagers = [seat(1, tie=1000)]
    announced = {hands: settled("mini", wagers, hands).announced for hands in (BANKER_WINS, TIE)}
    assert announced == {
        BANKER_WINS: "Player 6, Banker 9: Banker wins",
        TIE: "Player 7, Banker 7: tie hand",
    }


@clause("Washington Irregularities")
def test_after_a_misdeal_all_wagers_are_returned_as_they_lay() -> None:
    wagers = [seat(2, player=900_000, tie=1), seat(1, "Bob", banker=1000)]
    done = settled("mini", wagers, "misdeal")
    assert steps(done) == [
        ("returned", "seat 2", "player", 900_000),
        ("returned", "seat 2", "tie", 1),
        ("returned", "seat 1", "banker", 1000),
    ]
    assert all("(Washington, Irregularities" in step.why for step in done.steps)
    assert done.announced == "round void: misdeal"


def test_a_wager_below_the_minimum_is_refused() -> None:
    with pytest.raises(Forbidden, match=r"^seat 2: tie of 999 cents is below the minimum of 1000"):
        settled("mini", [seat(2, tie=999)])
    assert settled("mini", [seat(2, tie=1000)]).steps


def test_only_a_house_that_marks_vigorish_has_markers() -> None:
    file = {"positions": [seat(1, tie=1000)], "markers": [seat(1) | {"owed_cents": 5}]}
    del file["markers"][0]["wagers"]
    assert wager_file.parse(json.dumps(file).encode()).markers
    beyond = [file["markers"][0] | {"seat": 10}]
    with pytest.raises(Forbidden, match=r"^seat 10: .*item 2"):
        settled("mini", file["positions"], house={"vigorish_when": "marked"}, markers=beyond)
    with pytest.raises(BadWagers, match=r"^markers: this house does not mark vigorish"):
        settled("mini", file["positions"], markers=file["markers"])
