"""Running it twice: Maryland's poker rules, Chapter 8 L, clause by clause."""

from typing import Any

import pytest

from host.tests.support.hands import (
    ANN,
    BOARD,
    BOB,
    CLEO,
    act,
    after,
    play,
)
from host.tests.support.table import clause
from sabot.errors import BadHand, Forbidden, ImpossibleDeal
from sabot.games.holdem.settle import HandSettlement

TWO = {ANN: 20_000, BOB: 30_000}
ALL_IN = (act(ANN, "all_in"), act(BOB, "call"))


def twice(
    cards: list[str], asked_after: str = "flop", agreed: tuple[int, ...] = (ANN, BOB), **fields: Any
) -> HandSettlement:
    """Ann, with aces, and Bob, with kings, are all-in before the flop and run it twice."""
    again = {"agreed": list(agreed), "asked_after": asked_after, "cards": cards}
    acts = fields.pop("acts", ALL_IN)
    return play(*acts, **{"stakes": TWO, "board": BOARD, "run_twice": again} | fields)


@clause("L")
def test_the_house_may_offer_to_run_it_twice() -> None:
    assert len(twice(["4C", "4D"]).boards) == 2
    with pytest.raises(Forbidden, match=r"^run_twice: the house does not offer it; .*8 L\)"):
        twice(["4C", "4D"], house={"run_it_twice": False})


@clause("L(2)", "L(2)(a)", "L(2)(b)", "L(2)(c)", "L(2)(d)")
def test_to_run_it_twice_two_live_hands_one_all_in_and_both_agree() -> None:
    three = (act(CLEO, "all_in"), act(ANN, "call"), act(BOB, "call"))
    streets = ("flop", "turn", "river")
    checks = {street: [act(BOB, "check"), act(ANN, "check")] for street in streets}
    refused: list[tuple[str, dict[str, Any]]] = [
        (r"tournament table.*\(a\)", {"house": {"tournament": True}}),
        (r"3 players with live hands.*\(b\)", {"acts": three, "stakes": 9000}),
        (r"neither player is all-in.*\(c\)", {
            "acts": (act(ANN, "call"), act(BOB, "check")), "betting": checks}),
        (r"seat 1 \(Ann\) must both agree.*\(d\)", {"agreed": (ANN,)}),
        (r"must both agree.*\(d\)", {"agreed": ()}),
        (r"must both agree.*\(d\)", {"agreed": (ANN, BOB, CLEO)}),
    ]  # fmt: skip
    for text, changed in refused:
        with pytest.raises(Forbidden, match=rf"^run_twice: .*{text}"):
            twice(["4C", "4D"], **changed)
    # A third player who folded is no hindrance.
    folded = (act(CLEO, "fold"), act(ANN, "all_in"), act(BOB, "call"))
    done = twice(["4C", "4D"], acts=folded, stakes=TWO | {CLEO: 9000})
    assert len(done.boards) == 2


@clause("L(2)(e)")
def test_it_is_asked_for_before_the_river() -> None:
    with pytest.raises(Forbidden, match=r"after the river had been dealt; .*8 L\(2\)\(e\)"):
        twice(["4C"], asked_after="river")
    acts = (act(ANN, "call"), act(BOB, "check"))
    betting = {"flop": [act(BOB, "bet", to_cents=500), act(ANN, "all_in"), act(BOB, "call")]}
    with pytest.raises(BadHand, match="asked_after preflop, but there was betting on the flop"):
        twice(["4C", "4D"], asked_after="preflop", acts=acts, betting=betting)
    assert len(twice(["4C", "4D"], acts=acts, betting=betting).boards) == 2


@clause("L(4)", "L(4)(c)", "L(4)(c)(i)", "L(4)(c)(ii)")
def test_the_second_set_is_turn_and_river_or_the_river() -> None:
    for asked, cards in (("preflop", ["4C", "4D"]), ("flop", ["4C", "4D"]), ("turn", ["4C"])):
        done = twice(cards, asked_after=asked)
        assert done.boards == (tuple(BOARD), (*BOARD[: 5 - len(cards)], *cards))
        for wrong in ([], ["4C", "4D", "4H"], ["4C"] if len(cards) == 2 else ["4C", "4D"]):
            with pytest.raises(Forbidden, match=r"; the second set is .*8 L\(4\)\(c\)"):
                twice(wrong, asked_after=asked)
    with pytest.raises(ImpossibleDeal, match="JC is twice in the hand: the board, the second set"):
        twice(["JC", "4D"])


@clause("L(4)(a)")
def test_a_card_is_burned_before_each_up_card_of_both_sets() -> None:
    burned = ["5C", "5D", "5H", "5S", "6C"]
    assert len(twice(["4C", "4D"], burns=burned).boards) == 2
    assert len(twice(["4C"], asked_after="turn", burns=burned[:4]).boards) == 2
    for burns in (burned[:3], burned[:4], []):
        with pytest.raises(Forbidden, match=r"^burns: \d cards; 5 are burned.*8 L\(4\)\(a\)"):
            twice(["4C", "4D"], burns=burns)
    play(*ALL_IN, stakes=TWO, board=BOARD, burns=burned[:3])
    with pytest.raises(ImpossibleDeal, match=r"^burns: 2 cards; 3 are burned"):
        play(*ALL_IN, stakes=TWO, board=BOARD, burns=burned[:2])


@clause("L(5)", "L(5)(a)", "L(5)(b)")
def test_each_board_wins_half_of_each_pot() -> None:
    done = twice(["4C", "KH"])  # aces win on the first board, three kings on the second
    assert [(each.board, each.seat.number, each.cents) for each in done.awards] == [
        (1, ANN, 20_000), (2, BOB, 20_000),
    ]  # fmt: skip
    assert [each.hand.name for each in done.awards if each.hand] == ["one pair", "three of a kind"]
    assert after(done) == {ANN: 20_000, BOB: 30_000}
    done = twice(["KH", "KC"])
    assert [each.seat.number for each in done.awards] == [ANN, BOB]
    done = twice(["4C", "4D"])
    assert [each.seat.number for each in done.awards] == [ANN, ANN]
    assert after(done) == {ANN: 40_000, BOB: 10_000}
