"""HAND.json that cannot be read, or cannot have been played so, is refused whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.commands import error_line_here
from sabot.games.holdem.hand_file import MOST_ACTS
from sabot.games.json_fields import MAX_FILE

_EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "example" / "hand.json"


def example(**changed: Any) -> dict[str, Any]:
    """The hand of docs/example with other fields; None leaves one out."""
    fields = json.loads(_EXAMPLE.read_text(encoding="utf-8")) | changed
    return {name: value for name, value in fields.items() if value is not None}


def seat(number: int, **changed: Any) -> list[dict[str, Any]]:
    """The seats of the example, that of a number changed."""
    seats = example()["seats"]
    return [each | (changed if each["seat"] == number else {}) for each in seats]


def betting(street: str, at: int, *entries: dict[str, Any], instead: bool = False) -> Any:
    """The betting of the example with more entries, or others, at a place of a round."""
    rounds = example()["betting"]
    rounds.setdefault(street, [])[at : at + instead] = entries
    return rounds


FOLD, CALL = {"says": "fold"}, {"says": "call"}

BAD: list[tuple[dict[str, Any], int, str]] = [
    # What the file is
    ({"button": None}, 20, 'no "button"; write "button": 3'),
    ({"seats": None}, 20, 'no "seats"; '),
    ({"sets": []}, 20, 'the file: unknown key "sets"; did you mean seats?'),
    ({"button": 2}, 20, "button: no player at seat 2; there are: 1, 3, 5, 8"),
    ({"button": "1"}, 20, 'button: "1" is not a whole number from 1 to 10'),
    # Seats
    ({"seats": seat(3)[:1]}, 20, "seats: 1 player; hold'em has 2 to 10"),
    ({"seats": [*seat(3), seat(3)[1]]}, 20, "seats: seat 3 is listed twice"),
    ({"seats": seat(3, stakes_cents=None)}, 20, "seats: entry 2: no stakes_cents; "),
    ({"seats": seat(3, stakes_cents=0)}, 20, "seat 3: stakes_cents: 0 is not an amount"),
    ({"seats": seat(3, stakes_cents=10**13)}, 20, "seat 3: stakes_cents: 10000000000000 is not"),
    ({"seats": seat(3, stakes_cents=12_050)}, 20, "seat 3 (Bob): 120.50 is not a number of chips"),
    ({"seats": seat(3, player="")}, 20, 'seat 3: player: "" is not text of 1 to 40'),
    ({"seats": seat(3, player="x" * 41)}, 20, "seat 3: player: "),
    # Cards
    ({"seats": seat(3, cards=["AS"])}, 19, "seat 3: 1 card; a hand has two hole cards"),
    ({"seats": seat(3, cards=["AS", "AD", "2H"])}, 19, "seat 3: cards: 3 cards; at most 2"),
    ({"seats": seat(3, cards=["AS", "AS"])}, 19, "AS is twice in the hand: seat 3 (Bob), seat 3"),
    ({"seats": seat(3, cards=["AS", "KC"])}, 19, "KC is twice in the hand: seat 1 (Ann), seat 3"),
    ({"seats": seat(3, cards=["AS", "CUT"])}, 19, "seat 3: cards: CUT is not a card of the deck"),
    ({"seats": seat(3, cards=["AS", "1D"])}, 20, 'seat 3: cards: "1D" is not a card'),
    ({"seats": seat(3, cards=[])}, 20, "seat 3 (Bob): no cards at the showdown; add cards"),
    ({"seats": seat(8, mucked=True)}, 20, "seat 8 (Dan): mucked without a showdown"),
    ({"board": ["2C", "7D", "QS", "9H", "KC"]}, 19, "KC is twice in the hand: seat 1 (Ann), the b"),
    ({"board": ["2C", "7D", "QS", "9H"]}, 18, "board: 4 cards; all-in players get all 5"),
    ({"board": ["2C"] * 6}, 19, "board: 6 cards; at most 5"),
    # The order of the actions
    ({"betting": betting("preflop", 0, {"seat": 1} | FOLD)}, 18, "preflop, seat 1 (Ann): acts out"),
    ({"betting": {}}, 20, "preflop: seat 8 (Dan) is next to act; add the action"),
    ({"betting": betting("flop", 3, {"seat": 1} | CALL)}, 20, "flop, seat 1 (Ann): the betting r"),
    ({"betting": betting("turn", 0, {"seat": 1} | CALL)}, 20, "turn, seat 1 (Ann): the betting r"),
    ({"betting": betting("flop", 0, {"seat": 8} | CALL)}, 20, "flop, seat 8 (Dan): has folded"),
    ({"betting": betting("flop", 0, {"seat": 4} | CALL)}, 18, "flop, seat 4: no player there"),
    ({"betting": {"flop": [], "rivr": []}}, 20, 'betting: unknown key "rivr"; did you mean river'),
    ({"betting": betting("flop", 0, *[{"seat": 5} | FOLD] * MOST_ACTS)}, 20, "betting: flop: 403"),
    # An action
    ({"betting": betting("flop", 0, {"says": "fold"})}, 20, "flop 1: no seat; "),
    ({"betting": betting("flop", 0, {"seat": 5})}, 20, "flop 1: no word and no chips; "),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "chek"})}, 20,
     'flop 1: says: "chek"; did you mean check?'),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "raise", "to_cents": 1, "by_cents": 1})},
     20, "flop 1: to_cents and by_cents; give one of them"),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "call", "to_cents": 100})}, 20,
     'flop 1: an announced amount needs "says": "bet" or "raise"'),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "bet", "by_cents": 100})}, 20,
     "flop 1: by_cents is the amount of a raise"),
    ({"betting": betting("flop", 0, {"seat": 5, "puts_cents": []})}, 20, "flop 1: puts_cents: 0 m"),
    ({"betting": betting("flop", 0, {"seat": 5, "puts_cents": [100] * 21})}, 20, "flop 1: puts_ce"),
    ({"betting": betting("flop", 0, {"seat": 5, "puts_cents": 150})}, 20,
     "flop, seat 5 (Cleo): 1.50 is not a number of chips of 1.00"),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "check", "single_chip": True})}, 20,
     "flop 1: nothing was placed; write puts_cents"),
    ({"betting": betting("flop", 0, {"seat": 5, "puts_cents": [1, 2], "single_chip": True})}, 20,
     "flop 1: single_chip is one motion with one chip"),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "call"})}, 20,
     "flop, seat 5 (Cleo): says call with nothing to call; write check"),
    ({"betting": betting("flop", 0, {"seat": 5, "says": "raise", "to_cents": 2000})}, 20,
     "flop, seat 5 (Cleo): says raise, and there is no bet; write bet"),
    ({"betting": betting("flop", 2, {"seat": 5, "says": "check"}, instead=True)}, 20,
     "flop, seat 5 (Cleo): says check facing 200.00"),
    ({"betting": betting("flop", 2, {"seat": 5, "says": "bet", "to_cents": 40000}, instead=True)},
     20, "flop, seat 5 (Cleo): says bet, and there is a bet of 200.00; write raise"),
    ({"betting": betting("flop", 1, {"seat": 1, "puts_cents": 70000}, instead=True)}, 18,
     "flop, seat 1 (Ann): places 700.00 with 680.00 on the table"),
    ({"betting": betting("flop", 0, {"seat": 5, "leaves": "counted", "says": "fold"})}, 20,
     "flop 1: leaves is not an action; write it as an entry of its own"),
    ({"betting": betting("flop", 0, {"seat": 5, "returns_cents": 18000})}, 20,
     "flop, seat 5 (Cleo): returns without having left"),
    # The pots, and the rest
    ({"pots_cents": [37_000, 35_900]}, 20,
     "pots_cents: the file has 370.00, 359.00, the betting makes 370.00, 360.00; count again"),
    ({"pots_cents": [73_000]}, 20, "pots_cents: the file has 730.00, the betting makes 370.00, 36"),
    ({"run_twice": {"agreed": [1, 3], "asked_after": "flop", "cards": ["3C", "4C"]}}, 18,
     "run_twice: 3 players with live hands; there must be two; remove run_twice"),
    ({"run_twice": {"agreed": [1, 3], "cards": ["3C", "4C"]}}, 20, "run_twice: no asked_after; "),
    ({"agreed_minimum": {"cents": 500}}, 20, 'agreed_minimum: write {"cents": 500, "by": [1, 2, 3'),
    ({"agreed_minimum": {"cents": 1250, "by": [1, 3, 5, 8]}}, 20,
     "agreed_minimum: 12.50 is not a number of chips of 1.00"),
    ({"burns": ["3C"]}, 19, "burns: 1 card; 3 are burned"),
    ({"house": {"limits": "none"}}, 18, "holdem has no choice 'limits'; did you mean limit?"),
    ({"house": {"limit": "spread"}}, 18, "holdem: limit spread is forbidden; allowed: no_limit, p"),
    ({"house": {"tournament": "yes"}}, 20,
     'house: tournament: "yes" must be true or false; write true or false without quotes'),
    ({"house": {"small_blind_cents": 300}}, 18, "holdem: the small blind of 3.00 is above the big"),
    ({"house": {"ante_cents": 50}}, 18, "holdem: ante_cents 50 cannot be paid with chips of 100"),
    ({"house": {"maximum_bet_cents": 100}}, 18, "holdem: the maximum bet of 1.00 is below the min"),
    ({"house": {"tournament": True, "rake_permille": 50}}, 18, "holdem: tournament chips"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "code", "message"), BAD, ids=[each[2][:40] for each in BAD])
def test_bad_input_is_one_line_and_nothing_is_settled(
    tmp_path: Path, changed: dict[str, Any], code: int, message: str
) -> None:
    (tmp_path / "hand.json").write_text(json.dumps(example(**changed)), encoding="utf-8")
    line = error_line_here(tmp_path, "settle", "--game", "holdem", "hand.json", code=code)
    assert line.startswith(f"hand.json: {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "not JSON: "),
        (b"[]", "the file: a list is not an object"),
        (b"\xff", "not UTF-8 text; write JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"button": ' + b"9" * 5000 + b"}", "nested too deeply or a number too long"),
        (b'{"button": 1, "button": 2}', '"button" is given twice in one object'),
        (b" " * (MAX_FILE + 1), "over 1,048,576 bytes; a hand of poker needs far less"),
    ],
)
def test_a_file_that_is_no_hand_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "hand.json").write_bytes(data)
    line = error_line_here(tmp_path, "settle", "--game", "holdem", "hand.json", code=20)
    assert line.startswith(f"hand.json: {message}")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "settle", "--game", "holdem", "none.json", code=20)
    assert line == "none.json: cannot be read (No such file or directory); check the name"
