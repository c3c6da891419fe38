"""`sabot settle`: rounds from the file and from a log, the table, --json, and the errors."""

import json
import re
from datetime import datetime, timedelta, timezone
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from host.tests.support.helpers import FirmwareLog, stored
from host.tests.support.table import BANKER_WINS, clause, seat
from sabot.cli import app
from sabot.errors import Forbidden
from sabot.log.store import open_store
from sabot_protocol.baccarat import Game, document_of

ROUND = {"player": BANKER_WINS[0].split(), "banker": BANKER_WINS[1].split()}
POSITIONS = [
    seat(9, "Ida", player=600_000),
    seat(3, "Ann", banker=10_000, tie=1000),
    seat(5, "[red]Bob[/red]", banker=2000),
]
_README = Path(__file__).resolve().parents[3] / "sabot" / "games" / "baccarat" / "README.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a log of U1: a natural, then a voided round."""
    log = FirmwareLog().load().draw("AS", "2C")
    log.draw("9S", "KC", "KD", "7D", "next", "KS", "7H", "blank", "!void")
    with open_store(tmp_path / "sabot.sqlite", create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(document_of("mini"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wagers(folder: Path, **fields: Any) -> str:
    """Write a WAGERS.json with `fields` in place of the defaults; return its name."""
    file = {"positions": POSITIONS} | fields
    (folder / "wagers.json").write_text(json.dumps(file), encoding="utf-8")
    return "wagers.json"


def settled(*arguments: str) -> Any:
    done = CliRunner().invoke(app(), ["settle", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_table_is_in_the_dealers_order_with_totals(folder: Path) -> None:
    output = done_here(folder, "settle", wagers(folder, round=ROUND)).stdout
    lines = [re.sub(r" +", " ", line).strip() for line in output.splitlines()]
    assert lines == [
        "Player 6, Banker 9: Banker wins",
        "what where player wager amount",
        "1 returned seat 9 Ida player 1,000.00 over the maximum of 500000 cents (Washington, not "
        "in the document: common practice)",
        "2 collected seat 9 Ida player 5,000.00",
        "3 collected seat 3 Ann tie 10.00",
        "4 vigorish collected seat 5 [red]Bob[/red] banker 1.00",
        "5 paid seat 5 [red]Bob[/red] banker 20.00 banker: 1 to 1",
        "6 vigorish collected seat 3 Ann banker 5.00",
        "7 paid seat 3 Ann banker 100.00 banker: 1 to 1",
        "",
        "wagered 6,130.00", "returned 1,000.00", "collected 5,010.00", "pushed 0.00", "won 120.00",
        "left 0.00", "paid 120.00", "vigorish collected 6.00", "vigorish marked 0.00",
        "house 4,896.00", "owed 0.00",
    ]  # fmt: skip


def test_json_has_a_list_of_each_kind_with_the_step(folder: Path) -> None:
    result = settled(wagers(folder, round=ROUND))
    assert list(result) == [
        "round", "announced", "handlers", "returned", "collected", "vigorish", "paid", "pushed",
        "left", "markers", "warned", "notices", "totals",
    ]  # fmt: skip
    assert result["paid"][1] == {
        "step": 7, "do": "paid", "seat": 3, "player": "Ann", "amount_cents": 10_000,
        "wager": "banker", "stake_cents": 10_000, "why": "banker: 1 to 1",
    }  # fmt: skip
    assert result["totals"]["house_cents"] == 489_600


@pytest.mark.slow
def test_markers_and_notices_for_the_floor_are_shown(folder: Path) -> None:
    file = wagers(
        folder, round=ROUND, house={"vigorish_when": "marked"}, positions=[seat(3, banker=500)]
    )
    done = done_here(folder, "settle", file, "--game", "mini-pairs")
    assert "marker: seat 3, Ann owes 0.25" in done.stdout
    assert done.stderr.startswith("floor: seat 3: Ann's banker of 500 cents is below the minimum")


def test_the_round_may_come_from_a_log(folder: Path) -> None:
    result = settled(wagers(folder), "--round", "1")
    assert result["announced"] == "Player 9, Banker 7: Player wins"
    result = settled(wagers(folder), "--unit", "U1", "--shoe", "1", "--round", "2")
    assert result["announced"] == "round void: unreadable"
    assert result["totals"]["returned_cents"] == result["totals"]["wagered_cents"] == 613_000


@pytest.mark.parametrize(
    ("fields", "arguments", "code", "message"),
    [
        ({}, "--table 9", 8, "sabot.sqlite: has no table 9; there are: none"),
        ({}, "--shoe 2", 20, "sabot.sqlite: no rounds match; `sabot rounds` lists them"),
        ({}, "--round 9", 20, "sabot.sqlite: no rounds match; `sabot rounds` lists them"),
        ({}, "--db none", 8, "none: no such database; `sabot log` makes one"),
        ({"round": ROUND}, "--game minni", 17, "unknown game 'minni'; did you mean mini?"),
        ({"round": ROUND, "positions": [seat(1, bank=5)]}, "", 20,
         'wagers.json: seat 1: wagers: unknown key "bank"; did you mean banker?'),
        ({"round": ROUND, "positions": [{"ghost_hand": 4}]}, "", 18,
         "wagers.json: ghost hand: number 4 of this shoe, the house allows 3 (Washington, Gh"),
        ({"round": {"player": ["7S"], "banker": []}}, "", 19,
         "wagers.json: Player has 1 card; a hand has two or three"),
        ({"round": ROUND, "house": {"areas": 12}}, "", 18, "wagers.json: mini: areas 12 is forb"),
        ({"round": ROUND, "house": {"area": 1}}, "", 18,
         "wagers.json: mini has no choice 'area'; did you mean areas?"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_nothing_is_settled(
    folder: Path, fields: dict[str, Any], arguments: str, code: int, message: str
) -> None:
    name = wagers(folder, **fields)
    line = error_line_here(folder, "settle", name, *arguments.split(), code=code)
    assert line.startswith(message)


@pytest.mark.slow
def test_what_the_rules_forbid_is_left_to_the_floor_and_the_rest_is_settled(folder: Path) -> None:
    positions = [seat(9, "Ida", player=600_000), seat(3, banker=10_000, tie=10), seat(12, tie=1000)]
    file = wagers(folder, round=ROUND, positions=positions)
    done = done_here(folder, "settle", file, code=18)
    lines = [re.sub(r" +", " ", line).strip() for line in done.stdout.splitlines()]
    below = "tie of 10 cents is below the minimum of 1000; the floor decides what stands"
    practice = "(Washington, not in the document: common practice)"
    assert f"left to the floor seat 3 Ann tie 0.10 {below} {practice}" in lines
    assert "4 paid seat 3 Ann banker 100.00 banker: 1 to 1" in lines
    assert "left 10.10" in lines
    assert done.stderr == (
        f"sabot: left to the floor, the rest is settled: seat 3: {below} {practice}, and 1 more\n"
    )
    result = CliRunner().invoke(app(), ["settle", file, "--json"])
    left = json.loads(result.stdout)["left"]
    assert [(each["seat"], each["wager"], each["amount_cents"]) for each in left] == [
        (3, "tie", 10),
        (12, "tie", 1000),
    ]


@pytest.fixture
def ghosts(folder: Path) -> Path:
    """A log of U1 with a ghost hand, and an ordinary round."""
    (folder / "sabot.sqlite").unlink()
    log = FirmwareLog().load().draw("AS", "2C", "ghost", "9S", "KC", "KD", "7D", "next")
    log.draw("9S", "KC", "KD", "7D")
    with open_store(folder / "sabot.sqlite", create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(document_of("mini"))
    return folder


@clause("Washington Ghost hands")
def test_wagers_on_a_ghost_hand_of_the_log_are_refused(ghosts: Path) -> None:
    done = CliRunner().invoke(app(), ["settle", wagers(ghosts), "--round", "1", "--json"])
    assert isinstance(done.exception, Forbidden)
    left = json.loads(done.stdout)["left"]
    assert [each["amount_cents"] for each in left] == [600_000, 10_000, 1000, 2000]
    assert all("on a ghost hand, which is dealt without wagers" in each["why"] for each in left)
    assert settled(wagers(ghosts), "--round", "2")["totals"]["wagered_cents"] == 613_000
    alone = wagers(ghosts, positions=[{"ghost_hand": 1}])
    assert settled(alone, "--round", "1")["totals"]["wagered_cents"] == 0


@clause("Washington Ghost hands")
def test_a_ghost_hand_is_refused_where_the_shoe_marked_none(ghosts: Path) -> None:
    for number, round_, marked in ((1, 2, "not marked as one"), (2, 1, "marked as number 1")):
        wagers(ghosts, positions=[{"ghost_hand": number}])
        line = error_line_here(ghosts, "settle", "wagers.json", "--round", str(round_), code=20)
        assert f"round {round_} of shoe of cards 1 was {marked} at the shoe" in line


def test_a_missing_file(folder: Path) -> None:
    line = error_line_here(folder, "settle", "none.json", code=20)
    assert line == "none.json: cannot be read (No such file or directory); check the name"


def test_a_round_in_the_file_excludes_one_from_the_log(folder: Path) -> None:
    done = CliRunner().invoke(app(), ["settle", wagers(folder, round=ROUND), "--round", "1"])
    assert done.exit_code == 2 and done.stdout == "" and "contains a round" in done.stderr


def test_the_example_of_the_readme_is_settled(folder: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", _README.read_text(), re.DOTALL)
    (folder / "wagers.json").write_text(example)
    result = settled("wagers.json")
    assert [each["do"] for each in result["vigorish"]] == ["vigorish marked", "marker collected"]
    assert result["totals"]["vigorish_collected_cents"] == 750


def test_wagers_on_the_line_are_settled_on_the_last_round(folder: Path) -> None:
    log = FirmwareLog().load().draw("AS", "2C")
    log.draw("9S", "KC", "KD", "7D", "next", "KS", "KD", "2H", "7D", "4C")
    with open_store(folder / "sabot.sqlite", create=True) as store:
        store.append("U2", stored(log.records))
    result = settled("--unit", "U2", "--wager", "3 Ann banker 100", "--wager", "5 player 50 tie 10")
    assert (result["round"]["unit"], result["round"]["round"]) == ("U2", 2)
    assert result["announced"] == "Player 6, Banker 7: Banker wins"  # K 2 4, K 7
    assert result["totals"]["won_cents"] == 10_000
    assert result["totals"]["collected_cents"] == 6000
    assert [step["amount_cents"] for step in result["vigorish"]] == [500]
    other = settled("--unit", "U1", "--wager", "3 Ann banker 100")
    assert other["announced"] == "round void: unreadable"
    line = error_line_here(folder, "settle", "--wager", "3 tie 5", code=20)
    assert line == (
        "sabot.sqlite: 2 rounds match; choose one with --unit, --table, --shoe, --round"
    )


@pytest.mark.slow
def test_the_round_that_is_settled_is_named_first(folder: Path) -> None:
    done = done_here(folder, "settle", "--wager", "3 banker 100", "--round", "1")
    assert re.match(r"2026-11-18 [0-9:]{8}: U1 shoe 1 round +1  P 9 .* player \*\n", done.stdout)


@pytest.mark.slow
def test_times_are_on_the_clock_of_the_zone_that_is_named(folder: Path) -> None:
    line = ("settle", "--wager", "3 banker 100", "--round", "1")
    ended = datetime.fromisoformat(settled(*line[1:])["round"]["ended"])
    for zone, offset in (("UTC", timedelta()), ("Asia/Macau", timedelta(hours=8))):
        there = ended.astimezone(timezone(offset)).isoformat(" ", "seconds")
        shown = there[:-6] + " " + there[-6:]
        assert done_here(folder, *line, "--zone", zone).stdout.startswith(f"{shown}: U1 shoe 1 ")
        page = done_here(folder, *line, "--zone", zone, "--slip").stdout
        assert f"U1 shoe 1 round 1, {shown}" in page
        listed = settled(*line[1:], "--zone", zone)["round"]["ended"]
        assert datetime.fromisoformat(listed) == ended and listed.endswith(there[-6:])
    wrong = done_here(folder, *line, "--zone", "Mars/Olympus", code=2)
    assert "there is no zone 'Mars/Olympus'" in wrong.stderr


@pytest.mark.slow
def test_the_seat_of_a_player_without_a_name_is_said_once(folder: Path) -> None:
    for player, said in (("", "seat 3 wagers"), ("Ann ", "seat 3: Ann wagers")):
        wager = f"3 {player}player 100 banker 50"
        line = done_here(folder, "settle", "--wager", wager, "--round", "1", code=18).stderr
        assert line.startswith(f"sabot: left to the floor, the rest is settled: {said} on both")


@pytest.mark.slow
def test_wagers_come_from_a_file_or_the_line_and_a_slip_is_no_json(folder: Path) -> None:
    for arguments in ((), (wagers(folder), "--wager", "3 banker 100")):
        assert (
            "name a file of wagers or give"
            in done_here(folder, "settle", *arguments, code=2).stderr
        )
    both = done_here(folder, "settle", "--wager", "3 tie 5", "--slip", "--json", code=2)
    assert "--slip and --json exclude each other" in both.stderr


@pytest.mark.slow
def test_the_slip_has_the_round_the_steps_the_sums_and_lines_to_sign(folder: Path) -> None:
    page = done_here(folder, "settle", wagers(folder), "--round", "1", "--slip").stdout
    text = re.sub(r"<[^>]+>", " ", page.partition("<body>")[2])
    text = unescape(re.sub(r"\s+", " ", text))
    for part in (
        "U1 shoe 1 round 1, 2026-11-18 ",
        "Player 9♠ K♦; Banker K♣ 7♦",
        "Player 9, Banker 7: Player wins",
        "seat 5 [red]Bob[/red] banker collected 20.00",
        "where player wager the dealer amount",
        "seat 9 Ida player paid 5,000.00",
        "house -4,870.00",  # 100.00, 10.00 and 20.00 lose, 5,000.00 wins
        "Dealer Floor supervisor",
        Game(document_of("mini")).sha256.hex(),
    ):
        assert part in text
    assert "<script" not in page and "http:" not in page
    given = done_here(folder, "settle", wagers(folder, round=ROUND), "--slip").stdout
    assert "The cards were given, not taken from a log." in given
