"""Maryland's poker rules, Chapter 8 A to K, clause by clause; the amounts are counted by hand."""

from typing import Any

import pytest

from host.tests.support.hands import (
    AFTER,
    ALL_CHECK,
    ANN,
    BOARD,
    BOB,
    CLEO,
    FOLDED,
    LIMPED,
    act,
    after,
    corrected,
    on_flop,
    opened,
    play,
    settled,
    to,
)
from host.tests.support.table import clause
from sabot.errors import BadHand, Forbidden


@clause("A")
def test_only_a_player_who_was_dealt_in_may_act() -> None:
    with pytest.raises(Forbidden, match=r"^preflop, seat 7: no player .*\(Maryland poker, 8 A\)$"):
        play(act(7, "call"))


@clause("B", "B(1)")
def test_a_player_bets_only_with_the_stakes_of_the_beginning() -> None:
    for too_much in (act(CLEO, None, 50_100), act(CLEO, "raise", to_cents=50_100)):
        with pytest.raises(Forbidden, match=r"seat 3 \(Cleo\): .*501\.00 .*500\.00 .*8 B\(1\)"):
            opened(too_much)
    with pytest.raises(Forbidden, match=r"places 501\.00 .*8 B\(1\)"):
        opened(act(CLEO, "call", 50_100))
    assert to(opened(act(CLEO, None, 50_000))) == ("raise", 50_000)


@clause("B(2)")
def test_table_stakes_change_only_between_hands() -> None:
    for change in ({"adds_cents": 1000}, {"removes_cents": 1000}):
        does = next(iter(change)).removesuffix("_cents")
        with pytest.raises(Forbidden, match=rf"{does} 10\.00; .*8 B\(2\)"):
            play({"seat": BOB} | change, *FOLDED)


@clause("B(3)", "E(3)")
def test_notes_count_once_the_dealer_has_converted_them() -> None:
    with pytest.raises(Forbidden, match=r"10\.00 of notes; the dealer converts .*8 B\(3\)"):
        opened(act(CLEO, None, 1000, currency="unconverted"))
    assert to(opened(act(CLEO, None, 1000, currency="converted"))) == ("raise", 1000)


@clause("B(4)")
def test_a_player_needs_ante_blind_and_one_bet_at_the_posted_minimum() -> None:
    house = {"ante_cents": 100}
    play(*FOLDED, stakes={ANN: 400, BOB: 500, CLEO: 300}, house=house)
    for seat, cents in ((ANN, 300), (BOB, 400), (CLEO, 200)):
        stakes = {ANN: 400, BOB: 500, CLEO: 300} | {seat: cents}
        with pytest.raises(Forbidden, match=rf"^seat {seat} .*has {cents / 100:.2f}.*8 B\(4\)"):
            play(*FOLDED, stakes=stakes, house=house)
    # The posted minimum counts, also where the players agreed to a higher one.
    agreed = {"cents": 1000, "by": [ANN, BOB, CLEO]}
    play(*FOLDED, stakes={ANN: 400, BOB: 500, CLEO: 300}, house=house, agreed_minimum=agreed)


@clause("B(5)", "B(5)(a)")
def test_a_player_without_chips_is_all_in_and_wins_what_he_contributed_to() -> None:
    done = play(
        act(CLEO, "raise", to_cents=3000),
        act(ANN, "all_in"),
        act(BOB, "call"),
        stakes={ANN: 1000, BOB: 50_000, CLEO: 50_000},
        betting={"flop": [act(BOB, "check"), act(CLEO, "check")],
                 "turn": [act(BOB, "check"), act(CLEO, "check")],
                 "river": [act(BOB, "check"), act(CLEO, "check")]},
        board=BOARD,
    )  # fmt: skip
    assert done.acts[1].all_in and to(done, 1) == ("call", 1000)
    # Ann's aces are the best hand, and win 10.00 of each player; Bob's kings win the rest.
    assert [(pot.cents, set(pot.seats)) for pot in done.pots] == [
        (3000, {ANN, BOB, CLEO}),
        (4000, {BOB, CLEO}),
    ]
    assert after(done) == {ANN: 3000, BOB: 51_000, CLEO: 47_000}


@clause("B(5)(b)")
def test_an_all_in_player_gets_all_cards() -> None:
    acts = (act(CLEO, "all_in"), act(ANN, "fold"), act(BOB, "call"))
    for board in ([], BOARD[:3], BOARD[:4]):
        with pytest.raises(Forbidden, match=r"^board: \d cards?; all-in players .*8 B\(5\)\(b\)"):
            play(*acts, board=board)
    assert after(play(*acts, board=BOARD)) == {ANN: 49_900, BOB: 100_100, CLEO: 0}


@clause("B(5)(c)")
def test_the_others_bet_on_in_side_pots_of_any_number() -> None:
    """Ten players with 1,000 to 10,000: each is all-in for his own amount, with nine side pots."""
    ranks = "AKQJT98765"
    seats = [
        {"seat": at, "player": f"P{at}", "stakes_cents": 1000 * at,
         "cards": [rank + "S", rank + "D"]}
        for at, rank in enumerate(ranks, 1)
    ]  # fmt: skip
    order = [*range(3, 11), 1, 2]
    house = {"chip_cents": 1}
    done = settled(
        button=10, seats=seats, house=house, board=["2C", "2D", "3H", "3C", "4H"],
        betting={"preflop": [act(seat, "all_in") for seat in order]},
    )  # fmt: skip
    # The shortest stake has the best hand: each wins the pot of his own layer.
    assert [pot.cents for pot in done.pots] == [1000 * count for count in range(10, 1, -1)]
    assert [each.seat.number for each in done.awards] == list(range(1, 10))
    # Against seat 9, who has most of the others, the last 10.00 of seat 10 cannot be called.
    assert to(done, 7) == ("call", 9000) and corrected(done, 7) == ("takes back", 1000)


@clause("B(5)(c)")
def test_the_others_go_on_betting_beside_an_all_in_player() -> None:
    done = play(
        act(CLEO, "call"), act(ANN, "all_in"), act(BOB, "call"), act(CLEO, "call"),
        stakes={ANN: 1000, BOB: 9000, CLEO: 9000},
        betting={"flop": [act(BOB, "bet", to_cents=500), act(CLEO, "raise", to_cents=1500),
                          act(BOB, "call")],
                 "turn": [act(BOB, "check"), act(CLEO, "check")],
                 "river": [act(BOB, "bet", to_cents=700), act(CLEO, "fold")]},
        board=BOARD,
    )  # fmt: skip
    assert [(pot.cents, set(pot.seats)) for pot in done.pots] == [
        (3000, {ANN, BOB}),
        (3000, {BOB}),
    ]
    # Ann's aces win the main pot; Bob alone is left in the side pot, and gets his 7.00 back.
    assert after(done) == {ANN: 3000, BOB: 9500, CLEO: 6500}
    assert [(each.street, each.cents) for each in done.uncalled] == [("river", 700)]


@clause("B(6)")
def test_a_player_who_leaves_for_a_time_does_not_act() -> None:
    leaves, returns = {"seat": CLEO, "leaves": "counted"}, {"seat": CLEO, "returns_cents": 50_000}
    with pytest.raises(Forbidden, match=r"seat 3 \(Cleo\): is away .*8 B\(6\)\)"):
        play(leaves, act(CLEO, "call"), act(ANN, "fold"), act(BOB, "check"))
    assert to(play(leaves, *FOLDED)) == ("fold", 0)
    assert to(opened(act(CLEO, None, 600), betting={})) == ("raise", 600)
    done = play(leaves, returns, act(CLEO, None, 600), act(ANN, "fold"), act(BOB, "fold"))
    assert to(done) == ("raise", 600)


@clause("B(6)(a)", "B(6)(b)")
def test_the_stakes_of_a_player_who_left_are_unchanged() -> None:
    for how in ("counted", "covered"):
        for cents in (49_900, 50_100, 0):
            with pytest.raises(Forbidden, match=r"left 500\.00; .*unchanged .*8 B\(6\)\(a\)"):
                play({"seat": CLEO, "leaves": how}, {"seat": CLEO, "returns_cents": cents}, *FOLDED)
        play({"seat": CLEO, "leaves": how}, {"seat": CLEO, "returns_cents": 50_000}, *FOLDED)
    with pytest.raises(BadHand, match='leaves: "hidden"; '):
        play({"seat": CLEO, "leaves": "hidden"}, *FOLDED)


@clause("C")
def test_words_are_binding_whatever_the_chips_say() -> None:
    done = play(act(CLEO, "call", 5000), act(ANN, "fold", 1000), act(BOB, "check", 300), **AFTER)
    assert [to(done, number) for number in range(3)] == [
        ("call", 200), ("fold", 100), ("check", 200)
    ]  # fmt: skip
    assert [corrected(done, number) for number in range(3)] == [
        ("takes back", 4800), ("takes back", 1000), ("takes back", 300),
    ]  # fmt: skip
    correction = done.acts[0].correction
    assert correction is not None and correction.why == "said call (Maryland poker, 8 C)"


@clause("C")
def test_an_announced_amount_is_binding() -> None:
    done = opened(act(CLEO, "raise", to_cents=700))
    assert to(done) == ("raise", 700) and corrected(done) is None
    assert to(opened(act(CLEO, "raise", by_cents=700))) == ("raise", 900)
    # Only within the limits: the minimum raise is by 2.00, to 4.00.
    with pytest.raises(Forbidden, match=r"raises to 3\.00; the minimum is 4\.00 .*8 J"):
        opened(act(CLEO, "raise", to_cents=300))


@clause("C")
def test_words_out_of_turn_are_refused() -> None:
    with pytest.raises(Forbidden, match=r"seat 2 \(Bob\): .*turn of seat 3 \(Cleo\).*8 C"):
        play(act(BOB, "call"))


@clause("D")
def test_chips_are_corrected_to_the_announced_amount() -> None:
    for put, expected in ((600, ("adds", 400)), (1500, ("takes back", 500)), (1000, None)):
        done = opened(act(CLEO, "raise", put, to_cents=1000))
        assert to(done) == ("raise", 1000) and corrected(done) == expected
    correction = opened(act(CLEO, "raise", 600, to_cents=1000)).acts[0].correction
    assert correction is not None and "8 D" in correction.why
    done = on_flop(act(ANN, "bet", 300, to_cents=500), act(BOB, "fold"), act(CLEO, "fold"))
    assert to(done, 3) == ("raise", 500) and corrected(done, 3) == ("adds", 200)


@clause("E", "E(1)", "E(2)")
def test_chips_that_are_placed_are_a_bet() -> None:
    assert to(opened(act(CLEO, None, 600))) == ("raise", 600)
    done = play(act(CLEO, None, 200), act(ANN, None, 100), act(BOB, "check"), **ALL_CHECK)
    assert [to(done, number)[0] for number in range(3)] == ["call", "call", "check"]
    done = on_flop(act(ANN, None, 500), act(BOB, "fold"), act(CLEO, "fold"))
    assert to(done, 3) == ("raise", 500)
    with pytest.raises(BadHand, match=r"places 1\.00, less than the call of 2\.00"):
        opened(act(CLEO, None, 100))


@clause("F")
def test_a_bet_may_not_be_increased_afterwards() -> None:
    refused = r"places 3\.00 and then 2\.00.*return 2\.00 \(Maryland poker, 8 F\)"
    for first in (act(CLEO, None, 300, 200), act(CLEO, "raise", 300, 200)):
        with pytest.raises(Forbidden, match=refused):
            opened(first)
    with pytest.raises(Forbidden, match=refused):
        on_flop(act(ANN, "bet", 300, 200))
    # A call, and more without a word.
    with pytest.raises(Forbidden, match=r"places 2\.00 and then 4\.00.*8 F"):
        opened(act(CLEO, None, 200, 400))
    # An announced amount is no string bet, in however many motions.
    assert to(opened(act(CLEO, "raise", 300, 200, to_cents=500))) == ("raise", 500)


@clause("F(1)")
def test_a_bet_that_was_said_to_be_incomplete_may_be_completed() -> None:
    assert to(opened(act(CLEO, None, 300, 200, 100, incomplete=True))) == ("raise", 600)
    assert to(opened(act(CLEO, "raise", 300, 200, incomplete=True))) == ("raise", 500)


@clause("F(2)")
def test_a_call_placed_with_raise_may_be_raised() -> None:
    assert to(opened(act(CLEO, "raise", 200, 400))) == ("raise", 600)
    with pytest.raises(Forbidden, match="8 F"):
        opened(act(CLEO, "raise", 200, 400, 100))


@clause("G")
def test_a_raise_is_stated_or_put_in_at_once() -> None:
    refused = r"announces raise without an amount; state it .*8 G"
    for first in (act(CLEO, "raise"), act(CLEO, "raise", 200)):
        with pytest.raises(Forbidden, match=refused):
            opened(first)
    assert to(opened(act(CLEO, "raise", 700))) == ("raise", 700)
    with pytest.raises(Forbidden, match=r"announces bet without .*8 G"):
        on_flop(act(ANN, "bet"))


FIXED = {"limit": "fixed_limit", "minimum_bet_cents": 200, "maximum_bet_cents": 500}


@clause("G")
def test_in_fixed_limit_the_table_states_the_amount() -> None:
    done = opened(act(CLEO, "raise"), house=FIXED)
    assert to(done) == ("raise", 400) and corrected(done) is None
    done = opened(act(CLEO, "raise", 1000), house=FIXED)
    assert to(done) == ("raise", 400) and corrected(done) == ("takes back", 600)


@clause("H")
def test_no_player_takes_chips_from_the_pot() -> None:
    with pytest.raises(Forbidden, match=r"takes 1\.00 from the pot; .*8 H"):
        play(act(CLEO, "fold"), {"seat": ANN, "takes_from_pot_cents": 100}, act(ANN, "fold"))


@clause("I")
def test_a_single_larger_chip_is_a_call_unless_a_raise_was_announced() -> None:
    chip = {"single_chip": True}
    done = play(act(CLEO, None, 2500, **chip), act(ANN, "fold"), act(BOB, "check"), **AFTER)
    assert to(done) == ("call", 200) and corrected(done) == ("takes back", 2300)
    assert to(opened(act(CLEO, "raise", 2500, **chip))) == ("raise", 2500)
    assert to(opened(act(CLEO, None, 2500))) == ("raise", 2500)  # several chips
    # Where nothing has been bet there is no preceding bet to call.
    done = on_flop(act(ANN, None, 2500, **chip), act(BOB, "fold"), act(CLEO, "fold"))
    assert to(done, 3) == ("raise", 2500)
    # The big blind, who need not add anything, has not raised.
    checks = (act(CLEO, "call"), act(ANN, "call"), act(BOB, None, 500, **chip))
    done = play(*checks, **ALL_CHECK)
    assert to(done, 2) == ("check", 200) and corrected(done, 2) == ("takes back", 500)


@clause("J")
def test_bets_are_within_the_posted_minimum_and_maximum() -> None:
    house = {"minimum_bet_cents": 400, "maximum_bet_cents": 1000}
    folds = (act(BOB, "fold"), act(CLEO, "fold"))
    for cents, refused in ((300, r"minimum is 4\.00"), (1100, r"maximum is 10\.00")):
        with pytest.raises(Forbidden, match=rf"bets to .*; the {refused} \(.* 8 J\)"):
            on_flop(act(ANN, "bet", to_cents=cents), *folds, house=house)
    for cents in (400, 1000):
        on_flop(act(ANN, "bet", to_cents=cents), *folds, house=house)
    # In pot-limit too, where the pot is more: 6.00.
    house = {"limit": "pot_limit", "maximum_bet_cents": 500}
    with pytest.raises(Forbidden, match=r"bets to 6\.00; the maximum is 5\.00 \(.* 8 J\)"):
        on_flop(act(ANN, "bet", to_cents=600), *folds, house=house)


def test_a_raise_is_at_least_the_last_one_which_the_chapter_does_not_say() -> None:
    silent = r"\(not in the document: common practice\)"
    # The big blind is a bet, also where it is above the minimum.
    refused = rf"raises to 3\.00; the minimum is 4\.00, after a bet or raise of 2\.00 {silent}"
    with pytest.raises(Forbidden, match=refused):
        opened(act(CLEO, "raise", to_cents=300), house={"minimum_bet_cents": 100})
    refused = rf"raises to 14\.00; the minimum is 16\.00, after a bet or raise of 8\.00 {silent}"
    with pytest.raises(Forbidden, match=refused):
        on_flop(act(ANN, "bet", to_cents=800), act(BOB, "raise", to_cents=1400))
    # Unless it is all-in.
    bets = (act(ANN, "bet", to_cents=800), act(BOB, "all_in"), act(CLEO, "fold"), act(ANN, "fold"))
    done = on_flop(*bets, stakes={ANN: 5000, BOB: 1600, CLEO: 5000})
    assert to(done, 4) == ("raise", 1400)


def test_pot_limit_is_the_pot_after_the_call_which_the_chapter_does_not_say() -> None:
    house = {"limit": "pot_limit"}
    # 1.00 and 2.00 are in the pot. The call makes it 5.00, by which may be raised: to 7.00.
    assert to(opened(act(CLEO, "raise", to_cents=700), house=house)) == ("raise", 700)
    with pytest.raises(Forbidden, match=r"raises to 8\.00; the maximum is 7\.00 \(not in the doc"):
        opened(act(CLEO, "raise", to_cents=800), house=house)
    bets = (act(ANN, "bet", to_cents=600), act(BOB, "raise", to_cents=2400))
    folds = (act(CLEO, "fold"), act(ANN, "fold"))
    on_flop(*bets, *folds, house=house)  # 6.00 and 6.00, and the call of 6.00
    with pytest.raises(Forbidden, match=r"the maximum is 6\.00"):
        on_flop(act(ANN, "bet", to_cents=700), house=house)


@clause("J")
def test_fixed_limit_has_one_amount_before_the_turn_and_one_from_it_on() -> None:
    for cents in (300, 500, 600):
        with pytest.raises(Forbidden, match=r"m..imum is 4\.00"):
            opened(act(CLEO, "raise", to_cents=cents), house=FIXED)
    bet = [act(ANN, "bet"), act(BOB, "raise"), act(CLEO, "fold"), act(ANN, "fold")]
    flop = [act(seat, "check") for seat in (ANN, BOB, CLEO)]
    done = play(*LIMPED, betting={"flop": flop, "turn": bet}, house=FIXED, board=BOARD[:4])
    assert (to(done, 6), to(done, 7)) == (("raise", 500), ("raise", 1000))
    house = FIXED | {"maximum_bet_cents": 0}
    done = play(*LIMPED, betting={"flop": bet}, house=house, board=BOARD[:3])
    assert (to(done, 3), to(done, 4)) == (("raise", 200), ("raise", 400))
    done = play(*LIMPED, betting={"flop": flop, "turn": bet}, house=house, board=BOARD[:4])
    assert (to(done, 6), to(done, 7)) == (("raise", 400), ("raise", 800))


@clause("J", "K", "K(1)")
def test_the_number_of_raises_in_a_round_is_limited() -> None:
    raises = [
        act(CLEO, "raise", to_cents=400), act(ANN, "raise", to_cents=600),
        act(BOB, "raise", to_cents=800), act(CLEO, "fold"), act(ANN, "fold"),
    ]  # fmt: skip
    play(*raises)
    play(*raises, house={"raises_most": 3})
    with pytest.raises(Forbidden, match=r"seat 2 \(Bob\): .*; 2 raises are allowed .*8 J"):
        play(*raises, house={"raises_most": 2})
    # A first bet is no raise.
    bets = (act(ANN, "bet", to_cents=200), act(BOB, "raise", to_cents=400))
    folds = (act(CLEO, "fold"), act(ANN, "fold"))
    on_flop(*bets, *folds, house={"raises_most": 1})


@clause("J(1)")
def test_all_may_agree_to_a_higher_minimum() -> None:
    agreed = {"cents": 1000, "by": [ANN, BOB, CLEO]}
    with pytest.raises(Forbidden, match=r"raises to 11\.00; the minimum is 12\.00"):
        opened(act(CLEO, "raise", to_cents=1100), agreed_minimum=agreed)
    assert to(opened(act(CLEO, "raise", to_cents=1200), agreed_minimum=agreed))[1] == 1200
    refused = r"^agreed minimum of 10\.00: seat 2 \(Bob\) did not agree; .*8 J\(1\)"
    with pytest.raises(Forbidden, match=refused):
        opened(act(CLEO, "fold"), agreed_minimum={"cents": 1000, "by": [ANN, CLEO]})
    with pytest.raises(Forbidden, match=r"is below the posted 2\.00; .*8 J\(1\)"):
        opened(act(CLEO, "fold"), agreed_minimum={"cents": 100, "by": [ANN, BOB, CLEO]})
    done = opened(act(CLEO, "raise"), house=FIXED | {"maximum_bet_cents": 0}, agreed_minimum=agreed)
    assert to(done) == ("raise", 1200)
    # The bet from the turn on is at least the agreed one.
    bet = [act(ANN, "bet"), act(BOB, "fold"), act(CLEO, "fold")]
    checks = [act(seat, "check") for seat in (ANN, BOB, CLEO)]
    rounds: dict[str, Any] = {"flop": checks, "turn": bet}
    done = play(*LIMPED, betting=rounds, house=FIXED, agreed_minimum=agreed, board=BOARD[:4])
    assert to(done, 6) == ("raise", 1000)


@clause("J(2)")
def test_a_player_may_raise_after_a_check_unless_the_sign_forbids_it() -> None:
    acts = [
        act(ANN, "check"), act(BOB, "bet", to_cents=400), act(CLEO, "fold"),
        act(ANN, "raise", to_cents=800), act(BOB, "fold"),
    ]  # fmt: skip
    assert to(on_flop(*acts), 6) == ("raise", 800)
    refused = r"seat 1 \(Ann\): .*forbids to raise after .*8 J\(2\)"
    with pytest.raises(Forbidden, match=refused):
        on_flop(*acts, house={"check_and_raise": False})
    called_first = [
        act(ANN, "check"), act(BOB, "bet", to_cents=400), act(CLEO, "call"), act(ANN, "call"),
    ]  # fmt: skip
    turn = [
        act(ANN, "check"), act(BOB, "bet", to_cents=400), act(CLEO, "raise", to_cents=800),
        act(ANN, "call"), act(BOB, "raise", to_cents=1200), act(CLEO, "call"),
        act(ANN, "raise", to_cents=1600), act(BOB, "fold"), act(CLEO, "fold"),
    ]  # fmt: skip
    rounds: dict[str, Any] = {"flop": called_first, "turn": turn}
    assert to(play(*LIMPED, betting=rounds, board=BOARD[:4]), 13) == ("raise", 1600)
    with pytest.raises(Forbidden, match=refused):
        play(*LIMPED, betting=rounds, board=BOARD[:4], house={"check_and_raise": False})


@clause("K", "K(2)")
def test_a_higher_minimum_is_within_the_submitted_increase() -> None:
    house = {"minimum_increase_most_cents": 800}
    for cents in (1000, 1100):
        agreed = {"cents": cents, "by": [ANN, BOB, CLEO]}
        if cents == 1000:
            play(*FOLDED, house=house, agreed_minimum=agreed)
            continue
        with pytest.raises(Forbidden, match=r"an increase of more than 8\.00; .*8 K\(2\)"):
            play(*FOLDED, house=house, agreed_minimum=agreed)
