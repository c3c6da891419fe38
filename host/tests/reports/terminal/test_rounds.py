"""Rounds as text for a terminal: cards, totals, outcomes."""

import pytest

from sabot.log.rounds import Round
from sabot.reports.terminal.rounds import hand_text, outcome_text, round_line
from sabot.terminal import card_text

SUITS = {"C": "\N{BLACK CLUB SUIT}", "D": "\N{BLACK DIAMOND SUIT}"}
SUITS |= {"H": "\N{BLACK HEART SUIT}", "S": "\N{BLACK SPADE SUIT}"}


def a_round(**given: object) -> Round:
    fields = {"unit": "U1", "shoe": 3, "round": 12, "first_event": 1, "started_unix_ms": None}
    return Round(**(fields | given))  # type: ignore[arg-type]


@pytest.mark.parametrize("suit", SUITS)
@pytest.mark.parametrize("rank", "A23456789TJQK")
def test_cards_are_written_as_people_write_them(rank: str, suit: str) -> None:
    text = card_text(rank + suit)
    assert text.plain == ("10" if rank == "T" else rank) + SUITS[suit]
    assert ("red" in str(text.style)) == (suit in "DH")


@pytest.mark.parametrize("card", ["CUT", "TEST"])
def test_other_cards_keep_their_names(card: str) -> None:
    assert card_text(card).plain == card


def test_a_round_is_one_line_with_its_cards_totals_and_winner() -> None:
    totals = {"player_total": 6, "banker_total": 7}
    ended = a_round(player=["TH", "5C", "AD"], banker=["KS", "7D"], winner="banker", **totals)
    words = round_line(ended).plain.split()
    hearts, clubs, diamonds, spades = (SUITS[suit] for suit in "HCDS")
    assert words == [
        "U1", "shoe", "3", "round", "12",
        "P", "6", f"10{hearts}", f"5{clubs}", f"A{diamonds}",
        "B", "7", f"K{spades}", f"7{diamonds}", "banker",
    ]  # fmt: skip


def test_a_natural_has_a_star_and_a_void_round_its_reason() -> None:
    assert outcome_text(a_round(winner="tie", natural=True)).plain == "tie *"
    assert outcome_text(a_round(winner="tie")).plain == "tie"
    assert outcome_text(a_round(void="supervisor")).plain == "void (supervisor)"
    hits = a_round(winner="banker", hits=["banker_pair", "dragon_7"])
    assert outcome_text(hits).plain == "banker, banker pair, dragon 7"
    hits = a_round(winner="banker", natural=True, hits=["banker_pair"])
    assert outcome_text(hits).plain == "banker *, banker pair"
    by_hand = a_round(winner="tie", by_hand=["7H", "TC"])
    assert outcome_text(by_hand).plain == "tie  by hand: 7♥ 10♣"
    assert hand_text(["7H"], None).plain.startswith("-")


def test_hands_of_different_lengths_are_aligned() -> None:
    short = a_round(player=["5C", "AD"], banker=["KS", "7D"], winner="tie")
    long = a_round(player=["TC", "TD", "TH"], banker=["TS", "TC", "TD"], winner="tie")
    lines = [round_line(each).plain for each in (short, long)]
    assert lines[0].index(" B ") == lines[1].index(" B ")
    assert lines[0].index("tie") == lines[1].index("tie")
