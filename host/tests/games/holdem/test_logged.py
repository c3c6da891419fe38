"""A hand settled with the cards of a log, as with its cards in the file."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import new_log, parsed, stored
from sabot.cli import app
from sabot.errors import BadHand, Forbidden, GameDiffers, ImpossibleDeal
from sabot.games.holdem import hand_file
from sabot.games.holdem.logged import with_cards
from sabot.games.holdem.settle import settle
from sabot.keys import signing
from sabot.log.families.hands import Hand
from sabot.log.rounds import dealt_of

ALL_IN = {
    "name": "Table 7",
    "button": 2,
    "seats": [
        {"seat": 2, "player": "Eve", "stakes_cents": 40000},
        {"seat": 4, "player": "Finn", "stakes_cents": 60000},
    ],
    "betting": {
        "preflop": [{"seat": 2, "says": "all_in"}, {"seat": 4, "says": "call"}],
    },
}
# Heads-up the button is the small blind, and gets the second card.
CARDS = "8S AH 7S AC next 2C KS 2S 9D"
ONCE = CARDS + " next 3C 4S next 5C TC reveal"
TWICE = CARDS + " burn next 3C 4S 5C TC 6C 3D 9C JH reveal"
BOARDS = {ONCE: ("KS 2S 9D 4S TC", ""), TWICE: ("KS 2S 9D 4S TC", "3D JH")}


def dealt_by(text: str, **chosen: object) -> tuple[HandLog, Hand]:
    log = HandLog(**chosen).seat(2).play(text)
    (hand,) = dealt_of("U1", [parsed(data) for data in log.records])
    assert isinstance(hand, Hand)
    return log, hand


def file_of(text: str = "", **changed: Any) -> hand_file.HandFile:
    """The file without cards; with those of `text` as a dealer would write them down."""
    fields: dict[str, Any] = json.loads(json.dumps({**ALL_IN, **changed}))
    twice = {"agreed": [2, 4], "asked_after": "flop"}
    if text:
        board, second = (each.split() for each in BOARDS[text])
        fields["board"] = board
        fields["seats"][0]["cards"] = ["AH", "AC"]
        fields["seats"][1]["cards"] = ["8S", "7S"]
        if second:
            fields["run_twice"] = {**twice, "cards": second}
    elif changed.get("run_twice") is True:
        fields["run_twice"] = twice
    return hand_file.parse(json.dumps(fields).encode())


@pytest.mark.parametrize("text", [ONCE, TWICE])
def test_a_hand_with_the_cards_of_the_log_is_settled_as_with_those_of_the_file(text: str) -> None:
    _, dealt = dealt_by(text)
    changed = {"run_twice": True} if text == TWICE else {}
    from_log = settle(with_cards(file_of(**changed), dealt, {}))
    assert from_log.as_json() == settle(file_of(text)).as_json()


def test_players_get_cards_from_the_left_of_the_button_and_who_folded_shows_none(
    rng: random.Random,
) -> None:
    for _ in range(40):
        log = HandLog()
        plan = log.deal_random(rng)
        (dealt,) = dealt_of("U1", [parsed(data) for data in log.records])
        assert isinstance(dealt, Hand)
        numbers = sorted(rng.sample(range(1, 11), plan.seats))
        button = rng.choice(numbers)
        folded = rng.choice(numbers)
        twice = {"agreed": numbers[:2], "asked_after": "flop"}
        fields = {
            "button": button,
            "seats": [
                {"seat": number, "player": f"P{number}", "stakes_cents": 100_000}
                for number in numbers
            ],
            "betting": {"preflop": [{"seat": folded, "says": "fold"}]},
            **({"run_twice": twice} if plan.from_street else {}),
        }
        hand = with_cards(hand_file.parse(json.dumps(fields).encode()), dealt, {})
        at = numbers.index(button) + 1
        for place, number in enumerate(numbers[at:] + numbers[:at], 1):
            due = tuple(name for where, name in plan.dealt if where == f"seat_{place}")
            (seat,) = [each for each in hand.seats if each.number == number]
            assert seat.cards == (() if number == folded else due)
        assert hand.board == tuple(plan.boards()[0])


@pytest.mark.parametrize(
    ("text", "changed", "message"),
    [
        (ONCE, {"run_twice": True}, "run once, which the file contradicts"),
        (TWICE, {}, "run twice from the turn, which the file contradicts"),
        (ONCE, {"board": ["3H", "4H", "5H"]}, "the file has cards too"),
        (ONCE, {"seats": [*ALL_IN["seats"], {"seat": 9, "player": "G", "stakes_cents": 9}]},  # type: ignore[misc]
         "dealt to 2 seats, the file has 3"),
        ("8S AH 7S AC key+ void key-", {}, "the hand is void"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_log_is_refused(
    text: str, changed: dict[str, Any], message: str
) -> None:
    _, dealt = dealt_by(text)
    with pytest.raises(BadHand, match=message):
        with_cards(file_of(**changed), dealt, {})


def test_a_seat_that_stays_closed_has_mucked_or_has_the_cards_that_the_cashier_wrote() -> None:
    mucked = [ALL_IN["seats"][0], {**ALL_IN["seats"][1], "mucked": True}]  # type: ignore[index]
    written = [ALL_IN["seats"][0], {**ALL_IN["seats"][1], "cards": ["8S", "7S"]}]  # type: ignore[index]
    _, dealt = dealt_by(ONCE + " burn next reveal", hole_cards="shown")  # Finn's cards stay closed
    assert [len(cards) for cards in dealt.hands] == [0, 2] and dealt.sealed == 5
    wins = settle(with_cards(file_of(seats=mucked), dealt, {}))
    assert [award.seat.number for award in wins.awards] == [2]
    full = settle(with_cards(file_of(seats=written), dealt, {}))
    assert full.as_json()["pots"] == settle(file_of(ONCE)).as_json()["pots"]
    with pytest.raises(BadHand, match="no cards at the showdown"):
        settle(with_cards(file_of(), dealt, {}))
    known = [{**ALL_IN["seats"][0], "cards": ["AH", "AC"]}, ALL_IN["seats"][1]]  # type: ignore[index]
    with pytest.raises(BadHand, match="the file has cards too"):
        with_cards(file_of(seats=known), dealt, {})
    twice = [ALL_IN["seats"][0], {**ALL_IN["seats"][1], "cards": ["AH", "7S"]}]  # type: ignore[index]
    with pytest.raises(ImpossibleDeal, match="AH is twice"):
        with_cards(file_of(seats=twice), dealt, {})


def test_the_choices_of_the_house_are_those_of_the_game_that_dealt() -> None:
    _, dealt = dealt_by(ONCE)
    assert with_cards(file_of(), dealt, {"rake_permille": 50}).house == {"rake_permille": 50}
    with pytest.raises(GameDiffers, match=r"house\.limit is pot_limit in the file"):
        with_cards(file_of(house={"limit": "pot_limit"}), dealt, {})


def test_a_second_board_without_cards_and_without_a_log_is_refused() -> None:
    fields = {**ALL_IN, "run_twice": {"agreed": [2, 4], "asked_after": "flop"}}
    fields["board"] = ["KS", "2S", "9D", "4S", "TC"]
    with pytest.raises(Forbidden, match="0 cards; the second set is turn and river"):
        settle(hand_file.parse(json.dumps(fields).encode()))


@pytest.mark.slow
def test_from_the_command_line_settled_and_exported_as_phh(tmp_path: Path) -> None:
    log, _ = dealt_by(ONCE, rake_permille=50)
    db = tmp_path / "log.sqlite"
    with new_log(db) as store:
        store.append("U1", stored(log.records))
        store.keep_game(log.game.document)
    (tmp_path / "hand.json").write_text(json.dumps(ALL_IN))
    settling = ["settle", "--game", "holdem", str(tmp_path / "hand.json"), "--db", str(db)]
    shown = CliRunner().invoke(app(), settling, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "board K♠ 2♠ 9♦ 4♠ 10♣" in shown.stdout and "flush 8♠ 7♠ K♠ 2♠ 4♠" in shown.stdout
    slip = CliRunner().invoke(app(), [*settling, "--slip"]).stdout
    assert "The cards are those of U1, shoe of cards 1, in a log." in slip
    assert json.loads(CliRunner().invoke(app(), [*settling, "--json"]).stdout)["totals"]
    signing.make_key_pair(tmp_path / "house")
    key = tmp_path / "house.pem"
    both = ["--phh", str(tmp_path / "hand.phh"), "--hand", str(tmp_path / "hand.json")]
    exporting = ["export", "--unit", "U1", "--shoe", "1", "-o", str(tmp_path / "b.sabot")]
    done = CliRunner().invoke(
        app(), [*exporting, "--db", str(db), "--key", str(key), "--open", *both]
    )
    assert done.exit_code == 0, done.output
    phh = (tmp_path / "hand.phh").read_text()
    assert "d dh p1 8s7s" in phh and "d dh p2 AhAc" in phh and "d db Ks2s9d" in phh
    alone = CliRunner().invoke(app(), [*exporting, "--db", str(db), "--key", str(key), *both[:2]])
    assert alone.exit_code == 2 and "--hand" in alone.output
