"""TABLE.json that cannot be read, or cannot have been played so, is refused whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.commands import error_line_here
from host.tests.support.tables import box
from sabot.games.json_fields import MAX_FILE

_EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "example" / "table.json"


def round_(dealer: str = "6H TC 2D", *boxes: dict[str, Any], **house: Any) -> dict[str, Any]:
    return {"dealer": dealer.split(), "boxes": list(boxes), "house": house}


def one(cards: str, *play: Any, dealer: str = "6H TC 2D", **fields: Any) -> dict[str, Any]:
    """A round of one box."""
    house = fields.pop("house", {})
    return round_(dealer, box(cards, *play, **fields), **house)


STAND = box("TS 9D", "stand")
MANY = [box("2S 2D", "stand", number=number) for number in range(1, 9)]

BAD: list[tuple[Any, int, str]] = [
    # What the file is
    ([], 20, "the file: a list is not an object"),
    ({"dealer": []}, 20, 'no "boxes"; write "boxes": [...]'),
    ({"boxes": []}, 20, 'no "dealer"; write "dealer": ["9H", "7C"]'),
    ({"boxes": [STAND], "house": {"hole_card": "dealt"}}, 20,
     'the hole card was dealt, and no "dealer"; write '),
    (round_(), 20, "boxes: no box; a round has at least one"),
    (round_("6H TC 2D", STAND, STAND), 20, "boxes: box 1 is listed twice; a box has one wager"),
    (round_("6H", STAND), 20, "dealer: 1 card; up card and hole card are needed, because hole_"),
    (round_("", STAND, hole_card="none", looks="never"), 20, "dealer: 0 cards; the up card is n"),
    (round_("6H", STAND, hole_card="none", looks="never"), 19, "dealer: 1 card; a hand depends"),
    ({"seats": [], "dealer": [], "boxes": []}, 20, 'the file: unknown key "seats"'),
    # Boxes and wagers
    (round_("6H TC 2D", *MANY, decks=8), 18, "box 8 (Ann): the table has 7 boxes (Maryland"),
    (round_("6H TC 2D", box("TS 9D", "stand", number=3), boxes=2), 18, "box 3 (Ann): the table "),
    (one("TS 9D", "stand", number=0), 20, "boxes: entry 1: box: 0 is not a whole number from 1"),
    (one("TS 9D", "stand", wager_cents=0), 20, "box 1: wager_cents: 0 is not an amount"),
    (one("TS 9D", "stand", wager_cents=True), 20, "box 1: wager_cents: true is not an amount"),
    (one("TS 9D", "stand", wager_cents=450), 18, "box 1 (Ann): wager of 4.50 is outside 5.00 to"),
    (one("TS 9D", "stand", player=None), 20, "box 1: player: null is not text"),
    (round_("6H TC 2D", {"box": 1, "wager_cents": 1000, "cards": ["TS", "9D"]}), 20,
     "box 1: play: ends with 10♠ 9♦ on 19"),
    (one("TS 9D", "stand", wager_cents=600_000), 18, "box 1 (Ann): wager of 6,000.00 is outside"),
    (one("TS 9D", "stand", wager_cents=1010), 20, "box 1 (Ann): wager of 10.10 is not a number of"),
    (one("TS 9D", "stand", player="x" * 41), 20, "box 1: player: "),
    (one("TS 9D", "stand", wager=5), 20, 'boxes: entry 1: unknown key "wager"; did you mean wager'),
    (one("TS 9D 2C", "stand"), 19, "box 1: cards: 3 cards; write the first two, and the others in"),
    (one("TS CUT", "stand"), 19, "box 1: cards: CUT is not a playing card; write 7H, TC"),
    (one("TS 1D", "stand"), 20, 'box 1: cards: "1D" is not a card'),
    (one("TS 9D", "stand", side={"lucky_lady": 100}), 20, "box 1: side: unknown key "),
    (one("TS 9D", "stand", side={"lucky_ladies": 50}), 18, "box 1 (Ann): lucky_ladies of 0.50 is"),
    (one("TS 9D", "stand", side={"lucky_ladies": 100}, house={"lucky_ladies": "none"}), 18,
     "box 1 (Ann): lucky_ladies is not offered with 6 decks and the choices of this house; "),
    (one("TS 9D", "stand", side={"match_the_dealer": 100}, house={"decks": 1}), 18,
     "box 1 (Ann): match_the_dealer is not offered with 1 deck"),
    # Cards
    (one("TS TS", "stand", house={"decks": 1}), 19, "2 copies of TS in 1 deck; check the cards"),
    (one("TS 9D", "stand", dealer="TS TS TS"), 19, "dealer: 10♠ was not due: the dealer stands on"),
    (one("TS 9D", "stand", dealer="6H TC 2D 9C"), 19, "dealer: 9♣ was not due: the dealer stands "),
    (one("TS 9D", "stand", dealer="6H TC"), 19, "dealer: a card is missing: the dealer draws on"),
    (one("TS 9D", "stand", dealer="6H AC", house={"soft_17": "hits"}), 19,
     "dealer: a card is missing: the dealer draws on soft 17 (soft_17 hits)"),
    (one("TS 9D", "stand", dealer="6H AC 4C"), 19, "dealer: 4♣ was not due: the dealer stands on"),
    (one("TS 6D", "hit", "9C", dealer="6H TC 2D"), 19, "dealer: 2♦ was not due: no hand depends"),
    (one("AS KD", dealer="6H TC 2D"), 19, "dealer: 2♦ was not due: no hand depends on it"),
    (one("TS 9D", dealer="AH KC 2D"), 19, "dealer: 2♦ was not due: the dealer has a blackjack"),
    (one("TS 6D", "hit", "9C", dealer="6H TC", house={"hole_card": "none", "looks": "never"}), 19,
     "dealer: 10♣ was not due: nothing depends on it"),
    # The play
    (one("TS 9D", "stnd"), 20, 'box 1: play: entry 1: "stnd" is neither a card nor a decision; di'),
    (one("TS 9D", 5), 20, "box 1: play: entry 1: 5 is neither a card nor a decision; write "),
    (one("TS 9D", {}), 20, "box 1: play: entry 1: nothing; write "),
    (one("TS 9D", *["hit"] * 201), 20, "box 1: play: 201 entries; at most 200"),
    (one("TS 9D"), 20, "box 1 (Ann): play: ends with 10♠ 9♦ on 19; write stand, or what was done"),
    (one("TS 4D", "hit"), 19, "box 1 (Ann): play: entry 2: the card of a hit is missing: the play"),
    (one("TS 4D", "hit", "stand"), 19, "box 1 (Ann): play: entry 2: the card of a hit is missing"),
    (one("TS 4D", "2C"), 19, "box 1 (Ann): play: entry 1: 2♣ without a decision on 14; write hit"),
    (one("TS 4D", "hit", "7C", "hit", "2C"), 19, "box 1 (Ann): play: entry 3: hit was not due: the "
     "hand has 21"),
    (one("TS 4D", "hit", "7C", "2C"), 19, "box 1 (Ann): play: entry 3: 2♣ was not due: the hand h"),
    (one("TS 4D", "hit", "9C", "2C", dealer="6H TC"), 19, "box 1 (Ann): play: entry 3: 2♣ was not "
     "due: the hand is bust with 23"),
    (one("TS 4D", "stand", "2C"), 19, "box 1 (Ann): play: entry 2: 2♣ was not due: the hand stan"),
    (one("AS KD", "hit", "2C", dealer="6H TC"), 19, "box 1 (Ann): play: entry 1: hit was not due: "
     "the hand is a blackjack"),
    (one("6S 5D", "double", "2C", "hit", "3C"), 19, "box 1 (Ann): play: entry 3: hit was not due: a"
     " double gets one card"),
    (one("AS 9D", "hit", "9C", "stand", dealer="AH KC"), 19, "box 1 (Ann): play: the dealer look"),
    # Doubles
    (one("6S 3D", "hit", "2C", "double", "9C"), 18, "box 1 (Ann): play: entry 3: doubles with 3 "),
    (one("6S 2D", "double", "9C", house={"double_on": "9_to_11"}), 18,
     "box 1 (Ann): play: entry 1: doubles on 8; allowed: double_on 9_to_11"),
    (one("6S 3D", "double", "9C", house={"double_on": "10_or_11"}), 18, "box 1 (Ann): play: entr"),
    (one("AS 8D", "double", "9C", house={"double_on": "9_to_11"}), 18,
     "box 1 (Ann): play: entry 1: doubles on soft 19; allowed: double_on 9_to_11"),
    (one("8S 8D", "split", "3C", "double", "TC", "TD", "stand",
         house={"double_after_split": False}), 18,
     "box 1 (Ann): play: entry 3: doubles after a split; allowed: double_after_split no"),
    (one("6S 5D", {"double_cents": 1050}, "9C"), 18, "box 1 (Ann): play: entry 1: doubles with 1"),
    (one("6S 5D", {"double_cents": 500}, "9C", house={"double_for_less": False}), 18,
     "box 1 (Ann): play: entry 1: doubles with 5.00; allowed: double_for_less no"),
    (one("6S 5D", {"double_cents": 510}, "9C"), 20, "box 1 (Ann): play: entry 2: double_cents: 5"),
    (one("6S 5D", "double"), 19, "box 1 (Ann): play: entry 2: the card of a double is missing: t"),
    # Splits
    (one("6S 5D", "split", "9C", "stand"), 18, "box 1 (Ann): play: entry 1: splits 6♠ 5♦; allowe"),
    (one("KS TD", "split", "9C", "stand", "9D", "stand"), 18,
     "box 1 (Ann): play: entry 1: splits K♠ 10♦; allowed: split_by rank"),
    (one("4S 2D", "hit", "2C", "split", "9C"), 18, "box 1 (Ann): play: entry 3: splits 3 cards; "),
    (one("8S 8D", "split", "8C", "split", "8H", "split", house={"hands_of_box": 3}), 18,
     "box 1 (Ann): play: entry 5: splits 3 hands; allowed: hands_of_box 3"),
    (one("AS AD", "split", "AC", "split", "9C", "9D", "8C"), 18,
     "box 1 (Ann): play: entry 3: splits aces again; allowed: resplit_aces no"),
    (one("AS AD", "split", "AC", "split", "9C", "stand", house={"split_aces": "play_on"}), 18,
     "box 1 (Ann): play: entry 3: splits aces again; allowed: resplit_aces no"),
    (one("AS AD", "split", "9C", "split", "8C", "8D", "9H"), 18,
     "box 1 (Ann): play: entry 3: splits A♠ 9♣; allowed: split_by rank"),
    (one("AS AD", "split", "9C", "8C", "hit", "2C"), 18,
     "box 1 (Ann): play: entry 4: hits a split ace; allowed: split_aces one_card (not in the"),
    (one("AS AD", "split", "5H", "hit", "2C", "8C"), 18,
     "box 1 (Ann): play: entry 3: hits a split ace; allowed: split_aces one_card"),
    (one("AS AD", "split", "TH", {"double_cents": 500}, "2C", "8C"), 18,
     "box 1 (Ann): play: entry 3: doubles a split ace; allowed: split_aces one_card"),
    (one("AS AD", "split", "AC", "hit", "2C", "8C", house={"resplit_aces": True}), 18,
     "box 1 (Ann): play: entry 3: hits a split ace; allowed: split_aces one_card"),
    (one("AS AD", "split", "TH", "split", "2C", "8C"), 18,
     "box 1 (Ann): play: entry 3: splits A♠ 10♥; allowed: split_by rank"),
    (one("AS AD", "split", "9C", "8C", "2C"), 19,
     "box 1 (Ann): play: entry 4: 2♣ was not due: split aces get one card"),
    (one("AS AD", "split", "TC", "8C", "2C"), 19,
     "box 1 (Ann): play: entry 4: 2♣ was not due: split aces get one card"),
    (one("AS AD", "split", "9C", "stand", "8C"), 19,
     "box 1 (Ann): play: entry 3: the second card of hand 2 is missing: stand instead"),
    (one("8S 8D", "split", "3C", "stand"), 19,
     "box 1 (Ann): play: entry 4: the second card of hand 2 is missing: the play ends"),
    # Surrender
    (one("TS 6D", "surrender", dealer="TH 7C"), 18, "box 1 (Ann): play: entry 1: surrenders its "),
    (one("TS 2D", "hit", "4C", "surrender", house={"surrender": "late"}), 18,
     "box 1 (Ann): play: entry 3: surrenders after other play; allowed: only the first two cards"),
    # Insurance and even money
    (one("TS 9D", "stand", insurance_cents=500), 18, "box 1 (Ann): insurance without an ace: the"),
    (one("TS 9D", "stand", dealer="AH 8C", insurance_cents=550), 18,
     "box 1 (Ann): insurance of 5.50 is more than 5.00, 50 % of the wager"),
    (one("TS 9D", "stand", dealer="AH 8C", insurance_cents=510, house={
        "insurance_most_percent": 100}), 20, "box 1 (Ann): insurance of 5.10 is not a number of "),
    (one("TS 9D", "stand", dealer="AH 8C", insurance_cents=500, house={"insurance": False}), 18,
     "box 1 (Ann): insurance is not offered: insurance no (Maryland blackjack, 13 A(3))"),
    (one("TS 9D", "stand", dealer="AH 8C", even_money=True), 18, "box 1 (Ann): even money without a"
     " blackjack"),
    (one("AS KD", even_money=True, dealer="TH 8C"), 18, "box 1 (Ann): even money without an ace: "),
    (one("AS KD", even_money=True, dealer="AH 8C", house={"even_money": False}), 18,
     "box 1 (Ann): even money is not offered: even_money no"),
    (one("AS KD", even_money=True, insurance_cents=500, dealer="AH 8C"), 18,
     "box 1 (Ann): even money and insurance; one of them"),
    (one("TS 9D", "stand", even_money=1), 20, "box 1: even_money: 1 must be true or false"),
    # House Money
    (one("7S 7D", "stand", house_money_adds_cents=500), 18, "box 1 (Ann): house_money_adds_cents"),
    (one("7S 7D", "stand", side={"house_money": 100}, house_money_adds_cents=450), 18,
     "box 1 (Ann): house_money_adds_cents 4.50: house_money brought 4.00; at most that is added"),
    (one("7S 7D", side={"house_money": 100}, house_money_adds_cents=400, dealer="AH KC"), 18,
     "box 1 (Ann): house_money_adds_cents 4.00: the dealer has a blackjack, so that nothing is ad"),
    # Amounts that do not add up
    (one("TS 9D", "stand", paid_cents=1500), 20, "box 1 (Ann): paid_cents: the file has 15.00, t"),
    (one("TS 7D", "stand", collected_cents=0), 20, "box 1 (Ann): collected_cents: the file has 0"),
    # The house
    (one("TS 9D", "stand", house={"sof_17": "hits"}), 18, "blackjack has no choice 'sof_17'; did "),
    (one("TS 9D", "stand", house={"soft_17": "draws"}), 18, "blackjack: soft_17 draws is forbidd"),
    (one("TS 9D", "stand", house={"hole_card": "none"}), 18, "blackjack: looks is ace_or_ten, bu"),
    (one("TS 9D", "stand", house={"decks": 9}), 18, "blackjack: decks 9 is forbidden; allowed: 1"),
    (one("TS 9D", "stand", house={"double_after_split": 1}), 20,
     "house: double_after_split: 1 must be true or false"),
    (one("TS 9D", "stand", house={"insurance": "no"}), 20,
     'house: insurance: "no" must be true or false; write true or false without quotes'),
    (one("TS 9D", "stand", house={"minimum_cents": 600_000}), 18, "blackjack: the minimum of 6,0"),
    (one("TS 9D", "stand", house={"kings_bounty": "B"}), 18, "blackjack: kings_bounty B was publ"),
    (one("TS 9D", "stand", house={"house_money": "pear:3"}), 18, "blackjack: house_money has no "),
    (one("TS 9D", "stand", house={"house_money": "pair"}), 18, "blackjack: house_money pair cann"),
    (one("TS 9D", "stand", house={"house_money": "pair:0"}), 18, "blackjack: house_money: pair 0"),
    (one("TS 9D", "stand", house={"house_money": "pair:3,pair:4"}), 18, "blackjack: house_money:"),
    ({"boxes": [STAND], "dealer": [], "house": 5}, 20, "house: 5 is not an object"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "code", "message"), BAD)
def test_a_bad_table_is_refused_with_what_is_wrong(
    tmp_path: Path, fields: Any, code: int, message: str
) -> None:
    (tmp_path / "table.json").write_text(json.dumps(fields), encoding="utf-8")
    line = error_line_here(tmp_path, "settle", "--game", "blackjack", "table.json", code=code)
    assert line.startswith(f"table.json: {message}"), line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "table.json: not JSON: "),
        ('{"boxes": [], "boxes": []}', 'table.json: "boxes" is given twice in one object'),
        ("[" * 100_000, "table.json: nested too deeply"),
        ("9" * 5000, "table.json: nested too deeply or a number too long"),
        ("\ud800", ""),
        (" " * (MAX_FILE + 1), "over 1,048,576 bytes; a round of blackjack has far less"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "table.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    line = error_line_here(tmp_path, "settle", "--game", "blackjack", "table.json", code=20)
    assert message in line, line


def test_a_file_of_another_game_is_named(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(_EXAMPLE.read_text(encoding="utf-8"))
    hand = _EXAMPLE.with_name("hand.json").read_text(encoding="utf-8")
    (tmp_path / "hand.json").write_text(hand)
    (tmp_path / "wagers.json").write_text('{"positions": []}')
    for game, file, hint in (
        ((), "table.json", "it has a round of blackjack; settle it with --game blackjack"),
        (("--game", "mini"), "table.json", "settle it with --game blackjack"),
        (("--game", "holdem"), "table.json", "settle it with --game blackjack"),
        ((), "hand.json", "it has a hand of hold'em; settle it with --game holdem"),
        (("--game", "blackjack"), "hand.json", "settle it with --game holdem"),
        (("--game", "blackjack"), "wagers.json", "it has wagers on baccarat; "),
        (("--game", "holdem"), "wagers.json", "it has wagers on baccarat; "),
    ):
        assert hint in error_line_here(tmp_path, "settle", *game, file, code=20)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "settle", "--game", "blackjack", "none.json", code=20)
    assert "none.json: cannot be read" in line
