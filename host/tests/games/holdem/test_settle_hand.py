"""`sabot settle --game holdem`: the page, --json, the slip, and how shares and rake are counted."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    done_here,
)
from host.tests.support.hands import settled
from sabot.cli import app
from sabot.errors import BadHand, Forbidden
from sabot.games.holdem import hand_file
from sabot.games.holdem.house import CHOICES, house_of
from sabot.games.holdem.pots import halves, shares
from sabot.games.holdem.settle import settle

_EXAMPLES = Path(__file__).resolve().parents[4] / "docs" / "example"
HAND, TWICE = str(_EXAMPLES / "hand.json"), str(_EXAMPLES / "hand-twice.json")


@pytest.mark.slow
def test_the_page_has_actions_pots_winners_and_stakes(tmp_path: Path) -> None:
    output = done_here(tmp_path, "settle", "--game", "holdem", HAND, COLUMNS="160").stdout
    lines = [re.sub(r" +", " ", line).strip() for line in output.splitlines()]
    assert lines == [
        "Texas hold'em, no limit, Table 7, 21:40",
        "board: 2♣ 7♦ Q♠ 9♥ K♥",
        "",
        "where player does bet adds",
        "preflop seat 8 Dan call 10.00 10.00 takes back 15.00: one larger chip is a call (Maryland "
        "poker, 8 I)",
        "seat 1 Ann raise 40.00 40.00 takes back 5.00: said raise (Maryland poker, 8 D)",
        "seat 3 Bob raise 120.00 115.00 all-in",
        "seat 5 Cleo call 120.00 110.00",
        "seat 8 Dan fold",
        "seat 1 Ann call 120.00 80.00",
        "flop seat 5 Cleo check",
        "seat 1 Ann bet 200.00 200.00",
        "seat 5 Cleo call 180.00 180.00 all-in",
        "flop: 20.00 not called, back to seat 1 (Ann)",
        "",
        "pot amount rake may win board won by player receives with",
        "main pot 370.00 0.00 1, 3, 5 1 seat 1 Ann 370.00 three of a kind K♣ K♦ Q♠ 9♥ K♥",
        "side pot 1 360.00 0.00 1, 5 1 seat 1 Ann 360.00 three of a kind K♣ K♦ Q♠ 9♥ K♥",
        "",
        "where player stakes put in returned won after",
        "seat 1 Ann 800.00 320.00 20.00 730.00 1,230.00",
        "seat 3 Bob 120.00 120.00 0.00 0.00 0.00",
        "seat 5 Cleo 300.00 300.00 0.00 0.00 0.00",
        "seat 8 Dan 500.00 10.00 0.00 0.00 490.00",
        "all 750.00 20.00 730.00",
    ]


def test_json_has_each_pot_with_its_winners_by_board() -> None:
    done = CliRunner().invoke(app(), ["settle", "--game", "holdem", TWICE, "--json"])
    result = json.loads(done.stdout)
    (pot,) = result["pots"]
    assert (pot["pot"], pot["amount_cents"], pot["seats"]) == ("main pot", 80_000, [2, 4])
    assert [(each["board"], each["seat"], each["hand"]) for each in pot["awards"]] == [
        (1, 4, "flush"),
        (2, 2, "one pair"),
    ]
    assert result["uncalled"] == [
        {"street": "flop", "seat": 4, "player": "Finn", "amount_cents": 20_000}
    ]
    totals = {"put_cents": 100_000, "returned_cents": 20_000, "rake_cents": 0, "won_cents": 80_000}
    assert result["totals"] == totals


def test_the_slip_is_a_page_to_sign() -> None:
    done = CliRunner().invoke(app(), ["settle", "--game", "holdem", TWICE, "--slip"])
    text = unescape(re.sub(r"<[^>]+>", " ", done.stdout.partition("<body>")[2]))
    words = re.sub(r"\s+", " ", text)
    for part in (
        "Board 1: K♠ 2♠ 9♦ 4♠ 10♣", "Board 2: K♠ 2♠ 9♦ 3♦ J♥", "flop: 200.00 not called, back to",
        "main pot seat 4 Finn board 1: flush, 8♠ 7♠ K♠ 2♠ 4♠ 400.00", "rake 0.00",
        "seat 4 Finn 600.00 600.00", "Dealer", "Floor supervisor", "not taken from a log",
    ):  # fmt: skip
        assert part in words, part
    assert "<script" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([HAND, "--round", "1"], "a hand of poker is in its file; leave out --wager and --round"),
        ([HAND, "--unit", "U1", "--wager", "3 banker 100"], "a hand of poker is in its file"),
        ([HAND, "--slip", "--json"], "--slip and --json exclude each other"),
        ([], "name a HAND.json"),
        (["--wager", "3 banker 100"], "name a HAND.json"),
    ],
)
def test_options_of_logs_and_wagers_are_wrong_usage(words: list[str], message: str) -> None:
    done = CliRunner().invoke(app(), ["settle", "--game", "holdem", *words])
    assert done.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", done.output)


def test_phh_is_for_hands_of_poker_only(tmp_path: Path) -> None:
    done = CliRunner().invoke(app(), ["settle", "--wager", "3 banker 100", "--phh", "x"])
    assert done.exit_code == 2 and "--phh is for --game holdem" in done.output


@pytest.mark.slow
def test_wagers_are_settled_without_importing_pokerkit(tmp_path: Path) -> None:
    wagers = {
        "round": {"player": ["9S", "KD"], "banker": ["KC", "7D"]},
        "positions": [{"seat": 1, "player": "Ann", "wagers": {"player": 1000}}],
    }
    (tmp_path / "wagers.json").write_text(json.dumps(wagers))
    program = (
        "import sys; sys.argv = ['sabot', 'settle', 'wagers.json', '--json']\n"
        "from sabot.cli import run\n"
        "try: run()\n"
        "finally: assert 'pokerkit' not in sys.modules"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def house(**chosen: Any) -> Any:
    return house_of(chosen)


def test_odd_chips_go_one_by_one_from_the_left_of_the_button_or_as_the_house_chose() -> None:
    winners = [4, 7, 2]  # clockwise from the left of the button
    for chosen, expected in (
        ("in_turn", [400, 400, 300]),
        ("all_to_first", [500, 300, 300]),
        ("highest_card", [300, 500, 300]),
    ):
        done = shares(1100, winners, house(odd_chips=chosen), highest_card=7)
        assert done == tuple(zip(winners, expected, strict=True))


def test_the_odd_half_goes_to_the_first_board_or_to_the_second() -> None:
    assert halves(1100, house()) == (600, 500)
    assert halves(1100, house(odd_half="second")) == (500, 600)
    assert halves(1000, house()) == (500, 500)


def tied(**fields: Any) -> Any:
    """Three players of whom each has the straight flush on the board; the pot is 6.00."""
    cards = (["2C", "3C"], ["2D", "3D"], ["2H", "3H"])
    seats = [
        {"seat": at, "player": f"P{at}", "stakes_cents": 2000, "cards": hole}
        for at, hole in enumerate(cards, 1)
    ]
    checks = [{"seat": at, "says": "check"} for at in (2, 3, 1)]
    betting: dict[str, Any] = dict.fromkeys(("flop", "turn", "river"), checks)
    betting["preflop"] = [
        {"seat": 1, "says": "call"}, {"seat": 2, "says": "call"}, {"seat": 3, "says": "check"}
    ]  # fmt: skip
    board = ["AS", "KS", "QS", "JS", "TS"]
    return settled(**{"button": 1, "seats": seats, "betting": betting, "board": board} | fields)


def test_the_rake_is_a_share_of_each_pot_in_whole_chips_up_to_the_most() -> None:
    for chosen, rake in (
        ({"rake_permille": 100}, 0),  # 0.60 is no whole chip of 1.00
        ({"rake_permille": 100, "chip_cents": 1}, 60),
        ({"rake_permille": 100, "chip_cents": 1, "rake_most_cents": 50}, 50),
    ):
        done = tied(house=chosen)
        assert done.totals()["rake_cents"] == rake
        assert done.totals()["won_cents"] == 600 - rake


def test_the_most_of_the_rake_is_taken_of_the_main_pot_first() -> None:
    fields = json.loads(Path(HAND).read_text(encoding="utf-8"))
    fields["house"] |= {"rake_permille": 100, "rake_most_cents": 4500}
    done = settled(**fields)
    assert [pot.rake_cents for pot in done.pots] == [3700, 800]


def test_without_a_flop_there_is_no_rake_unless_the_house_chose_it() -> None:
    fields: dict[str, Any] = {
        "button": 1,
        "seats": [
            {"seat": at, "player": f"P{at}", "stakes_cents": 9000} for at in (1, 2)
        ],
        "betting": {"preflop": [
            {"seat": 1, "says": "raise", "to_cents": 600},
            {"seat": 2, "says": "raise", "to_cents": 2000},
            {"seat": 1, "says": "fold"},
        ]},
    }  # fmt: skip
    assert settled(**fields, house={"rake_permille": 100}).totals()["rake_cents"] == 0
    taken = {"rake_permille": 100, "rake_without_flop": True}
    assert settled(**fields, house=taken).totals()["rake_cents"] == 100  # of 12.00


def test_the_highest_card_is_by_rank_then_by_suit() -> None:
    (pot,) = (done := tied(house={"odd_chips": "highest_card", "ante_cents": 100})).pots
    assert pot.cents == 900 and {each.cents for each in done.awards} == {300}
    done = tied(house={"odd_chips": "highest_card", "rake_permille": 100, "chip_cents": 1,
                       "rake_most_cents": 1})  # fmt: skip
    # 5.99 by three: 1.99, and 0.02 for the three of hearts.
    assert {each.seat.number: each.cents for each in done.awards} == {1: 199, 2: 199, 3: 201}
    holes = {1: ["9C", "2C"], 2: ["7D", "6D"], 3: ["8H", "3H"]}
    seats = [
        {"seat": at, "player": f"P{at}", "stakes_cents": 2000, "cards": hole}
        for at, hole in holes.items()
    ]
    done = tied(seats=seats, house={"odd_chips": "highest_card", "rake_permille": 100,
                                    "chip_cents": 1, "rake_most_cents": 1})  # fmt: skip
    assert {each.seat.number: each.cents for each in done.awards} == {1: 201, 2: 199, 3: 199}


def test_a_hand_that_was_mucked_wins_nothing_and_one_must_be_shown() -> None:
    def mucking(*numbers: int) -> Any:
        seats = [
            {"seat": at, "player": f"P{at}", "stakes_cents": 2000, "cards": hole}
            | ({"mucked": True} if at in numbers else {})
            for at, hole in enumerate((["2C", "3C"], ["2D", "3D"], ["2H", "3H"]), 1)
        ]
        return tied(seats=seats)

    assert {each.seat.number: each.cents for each in mucking(2).awards} == {1: 300, 3: 300}
    (award,) = mucking(1, 2).awards
    assert (award.seat.number, award.cents, award.hand) == (3, 600, None)
    assert award.unshown == "all others mucked"
    with pytest.raises(BadHand, match="main pot: all who may win it mucked; one of them has not"):
        mucking(1, 2, 3)
    # A pot that no one else may win needs no hand.
    fields = json.loads(Path(HAND).read_text(encoding="utf-8"))
    fields["betting"]["flop"][2] = {"seat": 5, "says": "call"}
    fields["betting"]["flop"][1]["puts_cents"] = 10_000
    fields["betting"]["turn"] = [
        {"seat": 5, "says": "check"}, {"seat": 1, "says": "bet", "to_cents": 5000},
        {"seat": 5, "says": "fold"},
    ]  # fmt: skip
    fields["seats"][0]["mucked"] = True
    done = settled(**fields)
    assert [(each.pot.name, each.seat.number) for each in done.awards] == [
        ("main pot", 3), ("side pot 1", 1),
    ]  # fmt: skip
    assert done.awards[1].unshown == "no showdown"


def test_a_hand_won_because_the_other_mucked_is_listed_so(tmp_path: Path) -> None:
    fields = json.loads(Path(TWICE).read_text(encoding="utf-8"))
    fields["seats"][0]["mucked"] = True
    (tmp_path / "hand.json").write_text(json.dumps(fields), encoding="utf-8")
    shown = ["settle", "--game", "holdem", str(tmp_path / "hand.json")]
    for more in ([], ["--slip"]):
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app(), shown + more)
        assert "all others mucked" in done.stdout and "no showdown" not in done.stdout


def reraised(short_cents: int = 1800, **chosen: Any) -> Any:
    """Seat 3 raises by 10.00 to 12.00, seat 1 is all-in for a little more, seat 3 raises again."""
    seats = [
        {"seat": at, "player": f"P{at}", "stakes_cents": cents}
        for at, cents in ((1, short_cents), (2, 9000), (3, 9000))
    ]
    acts = [
        {"seat": 3, "says": "raise", "to_cents": 1200}, {"seat": 1, "says": "all_in"},
        {"seat": 2, "says": "call"}, {"seat": 3, "says": "raise", "to_cents": 3000},
    ]  # fmt: skip
    return settled(button=3, seats=seats, betting={"preflop": acts}, house=chosen)


def test_a_short_all_in_reopens_the_betting_only_if_the_house_chose_half_a_raise() -> None:
    with pytest.raises(Forbidden, match=r"6\.00 does not reopen the betting: .*not in the docum"):
        reraised()
    with pytest.raises(BadHand, match=r"seat 2 .* is next to act"):  # the raise was taken
        reraised(reopened_by="half_raise")
    # The raise was 10.00: 5.00 is half of it, 4.00 is less.
    with pytest.raises(BadHand, match=r"seat 2 .* is next to act"):
        reraised(1700, reopened_by="half_raise")
    with pytest.raises(Forbidden, match=r"4\.00 does not reopen the betting"):
        reraised(1600, reopened_by="half_raise")


def test_the_split_among_winners_of_a_hand_run_twice_with_odd_chips() -> None:
    fields = json.loads(Path(TWICE).read_text(encoding="utf-8"))
    fields.pop("pots_cents")
    fields["house"] = {"chip_cents": 200, "small_blind_cents": 200, "big_blind_cents": 200}
    fields["seats"][0]["stakes_cents"] = 40_200
    fields["betting"]["preflop"][1]["to_cents"] = 2000
    fields["betting"]["flop"][0]["to_cents"] = 2600
    done = settled(**fields)
    assert [each.cents for each in done.awards] == [40_200, 40_200]
    fields["house"] |= {"rake_permille": 100, "rake_most_cents": 200}
    assert [each.cents for each in settled(**fields).awards] == [40_200, 40_000]
    fields["house"]["odd_half"] = "second"
    assert [each.cents for each in settled(**fields).awards] == [40_000, 40_200]


@pytest.mark.slow
def test_the_choices_of_the_house_are_listed_with_their_clauses(tmp_path: Path) -> None:
    shown = ["games", "show", "holdem", "--choose", "limit=pot_limit"]
    result = json.loads(CliRunner().invoke(app(), [*shown, "--json"]).stdout)
    assert [each["name"] for each in result["choices"]] == [
        *("seats", "betting_closed_by", "voided_cards", "hole_cards"),
        *(each.name for each in CHOICES),
    ]
    chosen = {each["name"]: each["chosen"] for each in result["choices"]}
    assert chosen["limit"] == "pot_limit"
    page = CliRunner().invoke(app(), shown).stdout
    for choice in CHOICES:
        assert re.search(rf"^{choice.name}  ", page, re.M), choice.name
    done = done_here(tmp_path, *shown[:3], "--choose", "limit=pot", code=18)
    assert "limit pot is forbidden; allowed: no_limit, pot_limit or fixed_limit (J: " in done.stderr


def test_the_hand_in_the_readme_is_settled() -> None:
    readme = Path(hand_file.__file__).with_name("README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", readme, re.DOTALL)
    done = settle(hand_file.parse(block.encode()))
    corrections = [act.correction for act in done.acts if act.correction is not None]
    assert [(each.do, each.cents) for each in corrections] == [("takes back", 100)]
    assert [each.after_cents for each in done.results] == [40_000, 60_000]
    keys = set(re.findall(r"^\| `(\w+)` \|", readme, re.M))
    known = {*hand_file._FILE_KEYS, *hand_file._ACT_KEYS, "seat"}
    assert keys == known, keys ^ known
    modules = set(re.findall(r"^\| `(\w+\.py)` \|", readme, re.M))
    assert modules == {path.name for path in Path(hand_file.__file__).parent.glob("[a-z]*.py")}
