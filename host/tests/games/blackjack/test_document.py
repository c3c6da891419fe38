"""What Chapters 2 and 13 of Maryland's blackjack rules say, clause by clause."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from host.tests.support.tables import box, lines, only, settled
from sabot.errors import Forbidden
from sabot.games.blackjack.house import house_of
from sabot.games.blackjack.paytables import PUBLISHED, SIDE_WAGERS
from sabot.games.blackjack.side_wagers import SIDE, Prize

_README = Path(__file__).resolve().parents[3] / "sabot" / "games" / "blackjack" / "README.md"

Test = TypeVar("Test", bound=Callable[..., None])


def holds(*clauses: str) -> Callable[[Test], Test]:
    """Mark a test with the clauses that it is about."""

    def marked(test: Test) -> Test:
        test.clauses = clauses  # type: ignore[attr-defined]
        return test

    return marked


@holds("2 A")
def test_a_table_has_at_most_seven_boxes() -> None:
    settled("6H TC 2D", box("TS TD", "stand", number=7))
    with pytest.raises(Forbidden, match=r"box 8 \(Ann\): the table has 7 boxes .*, 2 A"):
        settled("6H TC 2D", box("TS TD", "stand", number=8))
    with pytest.raises(Forbidden, match="boxes 8 is forbidden; allowed: 1 to 7"):
        house_of({"boxes": 8})


@holds("2 B", "2 B(2)", "13 A", "13 A(1)")
def test_a_hand_that_wins_is_paid_1_to_1() -> None:
    assert lines(settled("6H TC 2D", box("TS 9D", "stand"))) == [("blackjack", "win", 1000, 1000)]


@holds("2 B(3)", "2 B(3)(a)", "13 A(2)")
def test_a_blackjack_is_paid_3_to_2() -> None:
    line = only(settled("6H TC", box("AS KD")))
    assert (line.outcome, line.paid_cents, line.pays) == ("win", 1500, "3 to 2")
    assert "2 B(3)(a), 13 A(2)" in line.why


@holds("2 B(3)(b)")
def test_a_blackjack_is_paid_6_to_5_where_the_layout_says_so() -> None:
    line = only(settled("6H TC", box("AS KD"), blackjack_pays="6_to_5"))
    assert (line.outcome, line.paid_cents, line.pays) == ("win", 1200, "6 to 5")
    with pytest.raises(Forbidden, match="blackjack_pays 1_to_1 is forbidden; allowed: 3_to_2 or 6"):
        house_of({"blackjack_pays": "1_to_1"})


@holds("2 B(3)(c)", "13 A(3)")
def test_insurance_is_paid_2_to_1() -> None:
    insured = box("TS 9D", insurance_cents=500)
    assert lines(settled("AH KC", insured)) == [
        ("insurance", "win", 500, 1000),
        ("blackjack", "lose", 0, 0),
    ]
    assert lines(settled("AH 8C", box("TS 9D", "stand", insurance_cents=500))) == [
        ("insurance", "lose", 0, 0),
        ("blackjack", "push", 1000, 0),
    ]


LADIES = [
    ("QH QH", "AS KD", 1000, 1000),
    ("QH QH", "TS 9D", 200, 125),
    ("KS KS", "TS 9D", 25, 19),
    ("QC QC", "AS KD", 25, 19),
    ("KS JS", "TS 9D", 10, 9),
    ("AS 9S", "TS 9D", 10, 9),
    ("QH QS", "AS KD", 4, 4),
    ("AS 9D", "TS 9C", 4, 4),
    ("KS 9D", "TS 9C", 0, 0),
]


def _ladies(cards: str, dealer: str, letter: str) -> int:
    play = () if dealer == "AS KD" else ("stand",)
    wagered = box(cards, *play, side={"lucky_ladies": 100})
    side, _ = settled(dealer, wagered, lucky_ladies=letter).lines
    assert side.outcome == ("win" if side.paid_cents else "lose")
    return side.paid_cents // 100


@holds(
    "2 B(4)", "2 B(4)(a)", "13 A(4)", "13 A(4)(a)", "13 A(4)(a)(i)", "13 A(4)(a)(ii)",
    "13 A(4)(a)(iii)", "13 A(4)(a)(iv)", "13 A(4)(a)(v)",
)  # fmt: skip
@pytest.mark.parametrize(("cards", "dealer", "in_a", "in_b"), LADIES)
def test_the_lucky_ladies_pay_by_paytable_a(cards: str, dealer: str, in_a: int, in_b: int) -> None:
    assert _ladies(cards, dealer, "A") == in_a


@holds(
    "13 A(4)(b)", "13 A(4)(b)(i)", "13 A(4)(b)(ii)", "13 A(4)(b)(iii)", "13 A(4)(b)(iv)",
    "13 A(4)(b)(v)",
)  # fmt: skip
@pytest.mark.parametrize(("cards", "dealer", "in_a", "in_b"), LADIES)
def test_the_lucky_ladies_pay_by_paytable_b(cards: str, dealer: str, in_a: int, in_b: int) -> None:
    assert _ladies(cards, dealer, "B") == in_b


@holds("13 A(4)")
def test_the_lucky_ladies_have_no_other_paytable() -> None:
    for chosen in ("C", "any_20:5"):
        with pytest.raises(Forbidden, match="allowed: none, A or B"):
            house_of({"lucky_ladies": chosen})


SIDE_WINS = [
    # wager, the box's cards, the dealer's up card, prizes, what 1.00 is paid with six decks
    ("match_the_dealer", "7H 9C", "7H", "suited_match", 1100),
    ("match_the_dealer", "7H 9C", "7D", "match", 400),
    ("match_the_dealer", "7H 7C", "7C", "match suited_match", 1500),
    ("match_the_dealer", "7C 7C", "7C", "suited_match suited_match", 2200),
    ("match_the_dealer", "KC 7C", "QC", "", 0),
    ("in_between", "7H 9C", "8D", "one_between", 1000),
    ("in_between", "TC 7H", "8D", "two_between", 600),
    ("in_between", "7H JC", "9D", "three_between", 400),
    ("in_between", "2H AC", "9D", "more_between", 100),
    ("in_between", "7H 7C", "7D", "three_of_a_kind", 3000),
    ("in_between", "7H 9C", "9D", "", 0),
    ("in_between", "7H 8C", "8D", "", 0),
    ("in_between", "2H 5C", "AD", "", 0),
    ("royal_match_21", "KH QH", "2C", "royal_match", 2500),
    ("royal_match_21", "KH JH", "2C", "suited_match", 250),
    ("royal_match_21", "KH QD", "2C", "", 0),
    ("bet_the_set_21", "7H 7H", "2C", "suited_pair", 1500),
    ("bet_the_set_21", "7H 7C", "2C", "pair", 1000),
    ("bet_the_set_21", "KH QH", "2C", "", 0),
    ("kings_bounty", "KS KS", "2C", "kings_of_spades", 10_000),
    ("kings_bounty", "KH KH", "2C", "suited_kings", 3000),
    ("kings_bounty", "QH QH", "2C", "matched_20", 2000),
    ("kings_bounty", "QH TH", "2C", "suited_20", 900),
    ("kings_bounty", "KH KS", "2C", "kings", 600),
    ("kings_bounty", "AH 9S", "2C", "any_20", 400),
    ("kings_bounty", "KH 9S", "2C", "", 0),
    ("three_card_poker", "7H 8H", "9H", "straight_flush", 900),
    ("three_card_poker", "7H 7C", "7H", "three_of_a_kind", 900),
    ("three_card_poker", "KH QC", "AH", "straight", 900),
    ("three_card_poker", "3H 2C", "AH", "straight", 900),
    ("three_card_poker", "3H 5H", "KH", "flush", 900),
    ("three_card_poker", "2H AC", "KH", "", 0),
    ("house_money", "AH KH", "2C", "ace_king_suited", 900),
    ("house_money", "7H 8H", "2C", "straight_flush", 400),
    ("house_money", "AH 2H", "3C", "straight_flush", 400),
    ("house_money", "7H 7C", "2C", "pair", 300),
    ("house_money", "AH KC", "2C", "straight", 100),
    ("house_money", "7H 9H", "2C", "", 0),
]


@holds(
    "2 B(4)(b)", "2 B(4)(c)", "2 B(4)(d)", "2 B(4)(e)", "2 B(4)(f)", "2 B(4)(g)", "2 B(4)(i)",
    "13 A(5)", "13 A(5)(a)",
)  # fmt: skip
@pytest.mark.parametrize(("wager", "cards", "up", "prizes", "paid"), SIDE_WINS)
def test_the_other_side_wagers_pay_as_published(
    wager: str, cards: str, up: str, prizes: str, paid: int
) -> None:
    one, two = cards.split()
    paytable = house_of({}).side_wagers[wager]
    assert SIDE[wager].won((one, two), up, None, paytable.pays) == tuple(prizes.split())
    # The dealer has a ten and stands, or draws a ten: no blackjack but with an ace up.
    dealer = {"A": f"{up} 8S", "8": f"{up} 9S", "9": f"{up} 8S"}.get(up[0], f"{up} 9S")
    play = [] if {one[0], two[0]} in ({"A", "K"}, {"A", "T"}) else ["stand"]
    low = up[0] in "2347"
    drawn = {"2": " TD", "3": " TD", "4": " TD", "7": " TD"}[up[0]] if low and play else ""
    line = settled(dealer + drawn, box(cards, *play, side={wager: 100})).lines[0]
    assert (line.wager, line.paid_cents) == (wager, paid)


@holds("2 B(4)(d)", "2 B(4)(f)")
def test_the_dealers_cards_count_for_the_crown_treasure_and_the_kings_of_spades() -> None:
    crown = settled(
        "QC KC", box("KH QH", "stand", side={"royal_match_21": 100}), royal_match_21="C"
    )
    assert crown.lines[0].paid_cents == 100_000
    kings = settled("AC KC", box("KS KS", side={"kings_bounty": 100}))
    assert kings.lines[0].paid_cents == 100_000


@holds("2 B(4)(h)")
def test_the_hit_and_run_progressive_is_not_offered() -> None:
    assert set(SIDE_WAGERS) - set(PUBLISHED) == {"hit_and_run_progressive"}
    with pytest.raises(Forbidden, match=r"2 B\(4\)\(h\)\), and no published definition was found"):
        settled("6H TC 2D", box("TS TD", "stand", side={"hit_and_run_progressive": 100}))
    with pytest.raises(Forbidden, match="hit_and_run_progressive A is forbidden; allowed: only"):
        house_of({"hit_and_run_progressive": "A"})


def test_the_readme_says_what_each_prize_of_a_side_wager_is_for() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \|$", _README.read_text(), re.MULTILINE)
    assert rows == [
        (name, prize.name, prize.words) for name, side in SIDE.items() for prize in side.prizes
    ]


def test_a_prize_of_a_side_wager_without_words_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="the prize red has no words"):
        Prize("red", "", lambda one, two, up: True)
