"""`sabot settle --phh`: PokerKit, by the authors of the format, reads and plays the file."""

import json
import os
import random
import time
import tomllib
import warnings
from pathlib import Path

import pytest
from pokerkit import (
    CheckingOrCalling,
    CompletionBettingOrRaisingTo,
    Folding,
    HandHistory,
    HoleCardsShowingOrMucking,
)

from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from host.tests.support.hands import hand, settled
from host.tests.support.random_hand import Table
from sabot.errors import BadHand
from sabot.games.holdem.settle import settle
from sabot.games.holdem.shown_as.phh import phh_of

HANDS = int(os.environ.get("SABOT_HANDS", "150"))
_WRITTEN = (CheckingOrCalling, CompletionBettingOrRaisingTo, Folding, HoleCardsShowingOrMucking)
_EXAMPLES = Path(__file__).resolve().parents[4] / "docs" / "example"


def replayed(text: str) -> list[int]:
    """The stacks after the hand, from the left of the button on, as PokerKit plays the file.

    PokerKit adds what a file leaves out, such as a check: nothing may be left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, last = HandHistory.loads(text)
    assert not last.status
    done = [each for each in last.operations if isinstance(each, _WRITTEN)]
    words = [action.split()[1] for action in tomllib.loads(text)["actions"]]
    assert len(done) == sum(word in ("f", "cc", "cbr", "sm") for word in words)
    return [int(stack) for stack in last.stacks]


@pytest.mark.slow
def test_random_hands_are_played_to_the_same_stacks() -> None:
    first = int(os.environ.get("SABOT_SEED", time.time_ns() // 1000 & 0x3FFFFFFF))
    played = 0
    for seed in range(first, first + HANDS):
        print(f"SABOT_HANDS=1 SABOT_SEED={seed}")
        table = Table(random.Random(seed)).deal()
        file = table.file | {"house": table.file["house"] | {"rake_permille": 0}}
        done = settled(**file)
        try:
            text = phh_of(hand(**file), done)
        except BadHand:
            continue
        if table.folded_without_need:
            continue  # PokerKit reads files as of tournaments, where it refuses such a fold
        played += 1
        fields = tomllib.loads(text)
        after = replayed(text)
        # PokerKit joins pots with the same winners, so odd chips may go to another winner.
        most = 0 if len(done.pots) < 2 else len(done.pots) * len(after)
        assert sum(after) == sum(fields["finishing_stacks"])
        for theirs, ours in zip(after, fields["finishing_stacks"], strict=True):
            assert abs(theirs - ours) <= most
    assert played > HANDS // 4 or HANDS < 20


@pytest.mark.slow
def test_the_file_has_names_seats_and_cards(tmp_path: Path) -> None:
    name = str(_EXAMPLES / "hand.json")
    done_here(tmp_path, "settle", "--game", "holdem", name, "--phh", "hand.phh")
    text = (tmp_path / "hand.phh").read_text(encoding="utf-8")
    fields = tomllib.loads(text)
    assert fields["variant"] == "NT" and fields["_unit"] == "cent"
    assert fields["players"] == ["Bob", "Cleo", "Dan", "Ann"]
    assert fields["seats"] == [3, 5, 8, 1]
    assert fields["actions"][2] == "d dh p3 ????"
    assert replayed(text) == fields["finishing_stacks"] == [0, 0, 49_000, 123_000]


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "hand.phh").write_text("kept")
    name = str(_EXAMPLES / "hand.json")
    line = error_line_here(
        tmp_path, "settle", "--game", "holdem", name, "--phh", "hand.phh", code=24
    )
    assert line == "hand.phh: exists already; name another file with --phh"
    assert (tmp_path / "hand.phh").read_text() == "kept"


@pytest.mark.parametrize(
    ("name", "why"),
    [("hand-twice.json", "it was run twice"), ("pot.json", "it has no pot-limit hold'em")],
)
def test_what_the_format_cannot_have_is_refused_and_nothing_is_written(
    tmp_path: Path, name: str, why: str
) -> None:
    text = (_EXAMPLES / ("hand.json" if name == "pot.json" else name)).read_text("utf-8")
    if name == "pot.json":
        text = text.replace('"house": {', '"house": {"limit": "pot_limit", ')
    (tmp_path / name).write_text(text, encoding="utf-8")
    line = error_line_here(tmp_path, "settle", "--game", "holdem", name, "--phh", "x", code=20)
    assert line == f"{name}: PHH cannot have this hand: {why}; leave --phh out"
    assert not (tmp_path / "x").exists()


def test_a_big_blind_who_cannot_be_called_is_not_asked() -> None:
    seats = [
        {"seat": at, "player": f"P{at}", "stakes_cents": cents, "cards": hole}
        for at, cents, hole in ((1, 200, ["AS", "KD"]), (2, 900, ["2C", "7D"]))
    ]
    file = hand(
        button=1, seats=seats, house={"minimum_bet_cents": 100},
        betting={"preflop": [{"seat": 1, "says": "all_in"}]}, board=["3C", "4D", "8H", "9S", "JC"],
    )  # fmt: skip
    text = phh_of(file, settle(file))
    assert tomllib.loads(text)["actions"][2:6] == [
        "p2 cc",
        "p1 sm 2c7d",
        "p2 sm AsKd",
        "d db 3c4d8h",
    ]
    assert replayed(text) == [700, 400]


def test_the_last_player_with_chips_checks_after_another_one_folded_without_need() -> None:
    fields = json.loads((_EXAMPLES / "hand.json").read_text(encoding="utf-8"))
    fields["betting"]["flop"] = [{"seat": 5, "says": "fold"}]
    file = hand(**fields)
    actions = tomllib.loads(phh_of(file, settle(file)))["actions"]
    assert actions[actions.index("d db 2c7dQs") :][1:3] == ["p2 f", "p4 cc"]


def test_a_hostile_name_stays_one_string(tmp_path: Path) -> None:
    name = 'a"\\]\n#'.replace("\n", "")
    seats = [
        {"seat": 1, "player": name, "stakes_cents": 1000, "cards": ["AS", "KD"]},
        {"seat": 2, "player": "Bob", "stakes_cents": 1000},
    ]
    file = hand(button=1, seats=seats, betting={"preflop": [{"seat": 1, "says": "fold"}]})
    assert tomllib.loads(phh_of(file, settle(file)))["players"] == ["Bob", name]
