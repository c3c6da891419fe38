"""Settling by the Maryland standard rules, mini and midi: Chapters 1, 2, 7, 11 and 12."""

from typing import Any

import pytest

from host.tests.support.table import (
    BANKER_WINS,
    DRAGON_7,
    NATURAL_TIES,
    PANDA_8,
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
from sabot.errors import BadWagers, Forbidden
from sabot.games.baccarat import catalogue
from sabot.games.baccarat.settle import InShoe, Settlement

PAYTABLES = {
    "A": (30, 10, 6, 4, 2, 1, 1),
    "B": (20, 8, 7, 4, 3, 1, 1),
    "C": (30, 10, 4, 4, 2, 2, 1),
}
"""What the Dragon Bonus pays for a win by 9, 8, 7, 6, 5 and 4 points, and for a natural."""

both = pytest.mark.parametrize("md", ["md-mini", "md-midi"])
both_ez = pytest.mark.parametrize("ez", ["ez-mini", "ez-midi"])
every = pytest.mark.parametrize("any_md", ["md-mini", "md-midi", "ez-mini", "ez-midi"])


@both_ez
@clause("Maryland 1 A", "Maryland 1 B", "Maryland 1 B(1)", "Maryland 1 B(5)")
def test_dragon_7_and_panda_8_are_of_three_cards_and_win(ez: str) -> None:
    assert "dragon_7" in scored(ez, DRAGON_7).hits
    assert "panda_8" in scored(ez, PANDA_8).hits
    for hands in (("6S QH", "3D 4H"), of_three(7, 7), of_three(8, 7)):
        assert "dragon_7" not in scored(ez, hands).hits
    for hands in (("KS 8H", "3D 4H"), of_three(8, 8), of_three(8, 9), of_three(6, 7)):
        assert "panda_8" not in scored(ez, hands).hits


@both_ez
@clause("Maryland 1 B(2)", "Maryland 11 B(1)", "Maryland 12 C")
def test_no_vigorish_is_collected_in_ez_baccarat(ez: str) -> None:
    done = settled(ez, [seat(1, banker=10_000)], BANKER_WINS)
    assert steps(done) == [("paid", "seat 1", "banker", 10_000)]
    with pytest.raises(Forbidden):
        game(ez, vigorish_permille=50)


@both
@clause("Maryland 1 B(3)")
def test_a_natural_is_8_or_9_of_the_first_two_cards(md: str) -> None:
    for hands in NATURAL_TIES:
        assert scored(md, hands).player_natural and scored(md, hands).banker_natural
    assert not scored(md, of_three(9, 8)).player_natural
    assert not scored(md, TIE).player_natural


@both
@clause("Maryland 1 B(4)", "Maryland 12 C", "Maryland 12 A")
def test_vigorish_is_five_percent_of_what_a_banker_wager_won_and_of_nothing_else(md: str) -> None:
    wagers = [seat(2, player=10_000), seat(1, "Bob", banker=10_000)]
    assert steps(settled(md, wagers, BANKER_WINS)) == [
        ("collected", "seat 2", "player", 10_000),
        ("vigorish collected", "seat 1", "banker", 500),
        ("paid", "seat 1", "banker", 10_000),
    ]
    assert steps(settled(md, wagers, PLAYER_WINS)) == [
        ("collected", "seat 1", "banker", 10_000),
        ("paid", "seat 2", "player", 10_000),
    ]


@every
@clause("Maryland 2 A", "Maryland 2 A(1)")
def test_seats_are_numbered_to_nine_at_the_most(any_md: str) -> None:
    assert settled(any_md, [seat(n, f"P{n}", tie=1000) for n in range(1, 10)]).steps
    with pytest.raises(Forbidden, match=r"^seat 10: .*Chapter 2 A\(1\)"):
        settled(any_md, [seat(10, tie=1000)])
    with pytest.raises(Forbidden, match=r"^seat 7: .*seats 1 to 6; .*Chapter 2 A\(1\)"):
        settled(any_md, [seat(7, tie=1000)], house={"areas": 6})
    with pytest.raises(Forbidden, match=r"line 1: .*Chapter 2 A\(1\): positions for seated"):
        settled(any_md, [{"line": 1, "player": "Ann", "wagers": {"tie": 1000}}])


@every
def test_a_wager_can_only_be_in_a_wagering_area(any_md: str) -> None:
    with pytest.raises(Forbidden, match=r"^seat 0: "):
        settled(any_md, [seat(0, tie=1000)])
    for place in ("dealer", "logo", "cards"):
        with pytest.raises(BadWagers, match=f'unknown key "{place}"'):
            settled(any_md, [{place: 1, "player": "Ann", "wagers": {"tie": 1000}}])


@every
@clause("Maryland 2 B(2)")
def test_each_player_has_a_separate_area_for_banker_player_and_tie(any_md: str) -> None:
    assert settled(any_md, [seat(4, player=1000, banker=2000, tie=3000)]).wagered_cents == 6000
    with pytest.raises(Forbidden, match=r"^seat 4: Ann and Bob in one area.*Chapter 2 B\(2\)"):
        settled(any_md, [seat(4, player=1000), seat(4, "Bob", tie=1000)])


@every
@clause("Maryland 7 A(4)")
def test_the_dragon_bonus_is_on_either_hand_or_both_without_another_wager(
    any_md: str,
) -> None:
    on_both = [seat(1, dragon_bonus_player=1000, dragon_bonus_banker=1000)]
    assert steps(settled(any_md, on_both, of_three(9, 0))) == [
        ("collected", "seat 1", "dragon_bonus_banker", 1000),
        ("paid", "seat 1", "dragon_bonus_player", 30_000),
    ]
    with pytest.raises(Forbidden, match=r"dragon_bonus_player is not offered.*Chapter 7 A"):
        settled(any_md, on_both, house={"dragon_bonus": "none"})


@both
@clause("Maryland 7 A", "Maryland 7 A(5)", "Maryland 7 A(6)")
def test_only_ez_tables_offer_insurance_wagers_and_none_offers_other_wagers(md: str) -> None:
    ez = md.replace("md", "ez")
    for wager in ("dragon_7", "panda_8"):
        assert settled(ez, [seat(1, **{wager: 1000})]).wagered_cents == 1000
        with pytest.raises(Forbidden, match=rf"{wager} is not offered.*\(Maryland, Chapter 7 A\)"):
            settled(md, [seat(1, **{wager: 1000})])
    for name in (md, ez):
        for wager in ("player_pair", "cover_all", "fortune_7"):
            with pytest.raises(Forbidden, match=r"not offered.*\(Maryland, Chapter 7 A\)"):
                settled(name, [seat(1, **{wager: 1000})])


@both
@clause(
    "Maryland 7 A(1)", "Maryland 7 A(1)(a)", "Maryland 7 A(1)(b)", "Maryland 7 A(1)(c)",
    "Maryland 7 A(1)(c)(i)", "Maryland 7 A(1)(c)(ii)",
)  # fmt: skip
def test_banker_wins_loses_ties_and_in_ez_ties_on_a_dragon_7(md: str) -> None:
    ez = md.replace("md", "ez")
    for name in (md, ez):
        assert outcome(name, "banker", BANKER_WINS) == 1
        assert outcome(name, "banker", PLAYER_WINS) == "lose"
        assert outcome(name, "banker", TIE) == "push"
        assert outcome(name, "banker", ("6S QH", "3D 4H")) == 1  # 7 of two cards
    assert outcome(md, "banker", DRAGON_7) == 1
    assert outcome(ez, "banker", DRAGON_7) == "push"


@both
@clause(
    "Maryland 7 A(2)", "Maryland 7 A(2)(a)", "Maryland 7 A(2)(a)(i)", "Maryland 7 A(2)(a)(ii)",
    "Maryland 7 A(2)(b)", "Maryland 7 A(2)(b)(i)", "Maryland 7 A(2)(b)(ii)", "Maryland 7 A(2)(c)",
    "Maryland 12 A",
)  # fmt: skip
def test_player_also_wins_on_a_panda_8_and_loses_on_a_dragon_7(md: str) -> None:
    for name in (md, md.replace("md", "ez")):
        assert outcome(name, "player", PLAYER_WINS) == 1
        assert outcome(name, "player", PANDA_8) == 1
        assert outcome(name, "player", BANKER_WINS) == "lose"
        assert outcome(name, "player", DRAGON_7) == "lose"
        assert outcome(name, "player", TIE) == "push"


@every
@clause("Maryland 7 A(3)", "Maryland 7 A(3)(a)", "Maryland 7 A(3)(b)", "Maryland 12 B")
def test_tie_wins_on_equal_counts_and_pays_at_least_8_to_1(any_md: str) -> None:
    assert outcome(any_md, "tie", TIE) == 8
    assert outcome(any_md, "tie", TIE, tie_pays=9) == 9
    for hands in (PLAYER_WINS, BANKER_WINS, DRAGON_7):
        assert outcome(any_md, "tie", hands) == "lose"
    with pytest.raises(Forbidden, match=r"tie_pays 7 is forbidden.*Chapter 12 B"):
        game(any_md, tie_pays=7)


@every
@clause(
    "Maryland 7 A(4)(a)", "Maryland 7 A(4)(a)(i)", "Maryland 7 A(4)(a)(ii)",
    "Maryland 7 A(4)(a)(iii)", "Maryland 7 A(4)(b)", "Maryland 7 A(4)(b)(i)",
    "Maryland 7 A(4)(b)(ii)", "Maryland 7 A(4)(b)(iii)", "Maryland 7 A(4)(c)",
)  # fmt: skip
def test_the_dragon_bonus_wins_loses_and_ties(any_md: str) -> None:
    player, banker = "dragon_bonus_player", "dragon_bonus_banker"
    natural_9_to_8 = ("9S KD", "TD 8D")
    assert outcome(any_md, player, PLAYER_WINS) == 1
    assert outcome(any_md, player, natural_9_to_8) == 1
    assert outcome(any_md, banker, natural_9_to_8) == "lose"
    for totals in ((4, 4), (0, 0), (4, 5), (0, 9)):
        assert outcome(any_md, player, of_three(*totals)) == "lose"
    for margin in range(1, 10):
        won = (
            outcome(any_md, player, of_three(margin, 0)),
            outcome(any_md, banker, of_three(0, margin)),
        )
        assert (won == ("lose", "lose")) is (margin < 4)
    for hands in NATURAL_TIES:
        assert (outcome(any_md, player, hands), outcome(any_md, banker, hands)) == ("push", "push")


@both_ez
@clause("Maryland 7 A(5)(a)", "Maryland 7 A(5)(b)", "Maryland 12 G")
def test_the_dragon_7_insurance_pays_40_to_1(ez: str) -> None:
    assert outcome(ez, "dragon_7", DRAGON_7) == 40
    for hands in (TIE, BANKER_WINS, PANDA_8, of_three(7, 7)):
        assert outcome(ez, "dragon_7", hands) == "lose"


@both_ez
@clause("Maryland 7 A(6)(a)", "Maryland 7 A(6)(b)", "Maryland 12 H")
def test_the_panda_8_insurance_pays_25_to_1(ez: str) -> None:
    assert outcome(ez, "panda_8", PANDA_8) == 25
    for hands in (TIE, PLAYER_WINS, DRAGON_7, of_three(8, 8)):
        assert outcome(ez, "panda_8", hands) == "lose"


@every
@clause("Maryland 7 C")
def test_a_called_out_wager_must_be_confirmed_and_changed_to_chips(any_md: str) -> None:
    def called(how: str) -> dict[str, object]:
        return seat(2, changed={"called": how}, tie=1000)

    assert settled(any_md, [called("converted")]).wagered_cents == 1000
    for how in ("unconfirmed", "confirmed"):
        with pytest.raises(Forbidden, match=r"^seat 2: .*\(Maryland, Chapter 7 C\)"):
            settled(any_md, [called(how)])


@every
@clause("Maryland 7 D")
def test_nothing_is_wagered_or_changed_after_no_more_bets(any_md: str) -> None:
    for after in ("no_more_bets", "first_card"):
        late = seat(2, changed={"changed_after": after}, tie=1000)
        with pytest.raises(Forbidden, match=r"^seat 2: Ann .*\(Maryland, Chapter 7 D\)"):
            settled(any_md, [late])


@every
@clause("Maryland 11 A", "Maryland 11 A(1)")
def test_counts_and_winner_are_announced(any_md: str) -> None:
    wagers = [seat(1, tie=1000)]
    assert settled(any_md, wagers, PLAYER_WINS).announced == "Player 9, Banker 7: Player wins"
    assert settled(any_md, wagers, BANKER_WINS).announced == "Player 6, Banker 9: Banker wins"
    assert settled(any_md, wagers, TIE).announced == "Player 7, Banker 7: tie hand"
    with pytest.raises(Forbidden, match="Chapter 11 A"):
        game(any_md, announced=False)


@both
@clause("Maryland 11 A(2)", "Maryland 11 A(3)")
def test_dragon_7_and_panda_8_are_announced_at_ez_tables_only(md: str) -> None:
    wagers, ez = [seat(1, tie=1000)], md.replace("md", "ez")
    dragon, panda = "Player 6, Banker 7: Banker wins", "Player 8, Banker 3: Player wins"
    assert settled(md, wagers, DRAGON_7).announced == dragon
    assert settled(md, wagers, PANDA_8).announced == panda
    assert settled(ez, wagers, DRAGON_7).announced == f"{dragon}; Dragon 7"
    assert settled(ez, wagers, PANDA_8).announced == f"{panda}; Panda 8"


@both
@pytest.mark.parametrize(("when", "taken"), [("at_once", "collected"), ("marked", "marked")])
@clause("Maryland 11 B", "Maryland 11 B(1)", "Maryland 11 B(2)", "Maryland 11 B(3)")
def test_losers_come_first_then_the_winners_from_the_highest_seat_down(
    md: str, when: str, taken: str
) -> None:
    wagers = [
        seat(2, "Bob", banker=4000, tie=1000),
        seat(9, "Ida", player=2000),
        seat(1, "Ann", banker=2000),
        seat(7, "Gus", dragon_bonus_banker=1000, banker=6000),
    ]
    assert steps(settled(md, wagers, of_three(0, 5), {"vigorish_when": when})) == [
        ("collected", "seat 9", "player", 2000),
        ("collected", "seat 2", "tie", 1000),
        (f"vigorish {taken}", "seat 7", "banker", 300),
        ("paid", "seat 7", "dragon_bonus_banker", 2000),
        ("paid", "seat 7", "banker", 6000),
        (f"vigorish {taken}", "seat 2", "banker", 200),
        ("paid", "seat 2", "banker", 4000),
        (f"vigorish {taken}", "seat 1", "banker", 100),
        ("paid", "seat 1", "banker", 2000),
    ]


@every
def test_settling_a_round_does_not_affect_the_next(any_md: str) -> None:
    wagers = [seat(1, banker=1000)]
    first = settled(any_md, wagers, BANKER_WINS)
    settled(any_md, wagers, PLAYER_WINS)
    assert settled(any_md, wagers, BANKER_WINS) == first
    assert first.markers == ()


@both
@pytest.mark.parametrize(
    ("rounding", "wagered", "vigorish"),
    [
        ("exact", 1250, 62), ("exact", 10_000, 500), ("exact", 1019, 50),
        ("up_25", 1700, 100), ("up_25", 1500, 75),
        ("up_25", 1001, 75), ("up_25", 1000, 50), ("up_25", 10_001, 525),
    ],
)  # fmt: skip
@clause("Maryland 12 D", "Maryland 12 D(1)")
def test_vigorish_may_be_rounded_to_25_cents(
    md: str, rounding: str, wagered: int, vigorish: int
) -> None:
    done = settled(md, [seat(1, banker=wagered)], BANKER_WINS, {"vigorish_rounding": rounding})
    assert done.totals()["vigorish_collected_cents"] == vigorish


@both
@clause("Maryland 12 D(2)", "Maryland 12 D(2)(a)")
def test_vigorish_is_collected_when_the_payout_is_made(md: str) -> None:
    done = settled(md, [seat(1, banker=10_000)], BANKER_WINS, {"vigorish_when": "at_once"})
    assert done.totals()["vigorish_collected_cents"] == 500 and done.markers == ()
    (choice,) = [each for each in catalogue.find_game(md).choices if each.name == "vigorish_when"]
    assert set(choice.allowed) == {"at_once", "marked"}


MARKED: dict[str, object] = {"vigorish_when": "marked"}
OWED = {"seat": 3, "player": "Cy", "owed_cents": 250}


@both
@clause("Maryland 12 D(2)(b)", "Maryland 12 D(2)(b)(ii)", "Maryland 12 D(2)(b)(iii)")
def test_markers_grow_and_stay_until_collected(md: str) -> None:
    wagers = [seat(3, "Cy", banker=10_000), seat(1, banker=2000)]
    done = settled(md, wagers, BANKER_WINS, MARKED, markers=[OWED])
    assert [(str(m.area), m.player, m.owed_cents) for m in done.markers] == [
        ("seat 3", "Cy", 750),
        ("seat 1", "Ann", 100),
    ]
    assert done.totals()["vigorish_collected_cents"] == 0
    assert done.totals()["vigorish_marked_cents"] == 600
    shown = done.as_json()["markers"]
    for hands in (PLAYER_WINS, TIE, "misdeal"):
        again = settled(md, wagers, hands, MARKED, markers=shown)
        assert again.as_json()["markers"] == shown


@both
@clause("Maryland 12 D(2)(b)(i)")
def test_markers_are_collected_before_a_new_shoe_and_when_the_player_leaves(md: str) -> None:
    wagers = [seat(3, "Cy", banker=10_000), seat(1, banker=2000)]
    leaving = settled(md, wagers, BANKER_WINS, MARKED, markers=[OWED], leaving=["Cy"])
    assert steps(leaving)[-1] == ("marker collected", "seat 3", None, 750)
    assert [(m.player, m.owed_cents) for m in leaving.markers] == [("Ann", 100)]
    ended = settled(md, wagers, BANKER_WINS, MARKED, markers=[OWED], last_of_shoe=True)
    assert steps(ended)[-2:] == [
        ("marker collected", "seat 3", None, 750),
        ("marker collected", "seat 1", None, 100),
    ]
    assert ended.markers == () and ended.totals()["vigorish_collected_cents"] == 850
    with pytest.raises(Forbidden, match=r"^seat 3: Cy left and owes.*Chapter 12 D\(2\)\(b\)\(i\)"):
        settled(md, [seat(3, "Ann", tie=1000)], house=MARKED, markers=[OWED])


@both
@clause("Maryland 12 D(2)(b)(i)")
def test_nothing_outstanding_passes_the_end_of_a_shoe_of_cards_unnoticed(md: str) -> None:
    wagers = [seat(1, banker=2000)]

    def done(in_shoe: InShoe, **more: Any) -> Settlement:
        return settled(md, wagers, BANKER_WINS, MARKED, in_shoe, **more)

    last, middle = InShoe(4, 9, True, False), InShoe(4, 8, False, True)
    for said in ({}, {"last_of_shoe": False}, {"last_of_shoe": True}):
        assert done(last, markers=[OWED], **said).markers == ()  # the log knows better
    shown = done(middle, markers=[OWED | {"shoe": 4}]).as_json()["markers"]
    assert [(each["player"], each["shoe"]) for each in shown] == [("Cy", 4), ("Ann", 4)]
    with pytest.raises(BadWagers, match="round 8 is not the last of shoe of cards 4"):
        done(middle, last_of_shoe=True)
    # one of an earlier shoe of cards; without a shoe, if this is the first round of a shoe
    for in_shoe, owed in ((middle, OWED | {"shoe": 3}), (InShoe(4, 1, False, False), OWED)):
        late = done(in_shoe, markers=[owed])
        assert steps(late)[-1] == ("marker collected", "seat 3", None, 250)
        (notice,) = late.notices
        assert notice.startswith("seat 3: Cy's vigorish of 250 cents was outstanding when")
        assert "Maryland, Chapter 12 D(2)(b)(i)" in notice


@both
@clause("Maryland 12 C")
def test_vigorish_of_less_than_a_cent_is_a_cent(md: str) -> None:
    for name, wagered, vigorish in ((md, 19, 1), (md, 1, 1), ("mini", 19, 0), ("mini", 20, 1)):
        done = settled(name, [seat(1, banker=wagered)], BANKER_WINS, {"minimum_cents": 1})
        assert done.totals()["vigorish_collected_cents"] == vigorish


@both
@clause("Maryland 12 E")
def test_no_vigorish_on_the_dragon_bonus(md: str) -> None:
    done = settled(md, [seat(1, dragon_bonus_banker=10_000)], of_three(0, 9))
    assert steps(done) == [("paid", "seat 1", "dragon_bonus_banker", 300_000)]


@every
@pytest.mark.parametrize("table", PAYTABLES)
@clause(
    "Maryland 12 F",
    *(f"Maryland 12 F({n})" for n in (1, 2, 3)),
    *(f"Maryland 12 F({n})({row})" for n in (1, 2, 3) for row in "abcdefgh"),
)
def test_the_dragon_bonus_pays_by_the_paytable_that_the_house_chose(
    any_md: str, table: str
) -> None:
    *by_margin, natural = PAYTABLES[table]
    chosen = {"dragon_bonus": table}
    for margin, pays in zip(range(9, 3, -1), by_margin, strict=True):
        for hand, hands in (("player", of_three(margin, 0)), ("banker", of_three(0, margin))):
            assert outcome(any_md, f"dragon_bonus_{hand}", hands, **chosen) == pays
    assert outcome(any_md, "dragon_bonus_player", PLAYER_WINS, **chosen) == natural
    assert outcome(any_md, "dragon_bonus_banker", BANKER_WINS, **chosen) == natural
    assert outcome(any_md, "dragon_bonus_banker", NATURAL_TIES[0], **chosen) == "push"
