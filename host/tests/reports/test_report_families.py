"""The report of a shoe that dealt blackjack or hold'em: its tables have what was dealt."""

import random
from collections.abc import Sequence

import pytest

from host.tests.reports.test_report import ParsedPage, report_of
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.dealt_events import kept_games
from host.tests.support.hand_log import HandLog
from sabot.link import wire
from sabot.log.reveal import NONE_KEPT
from sabot.reports.report import render
from sabot.reports.svg import card_name
from sabot_firmware.table.dealing import KEY


@pytest.fixture
def rng() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return random.Random(seed)


def _page(log: BoxLog | HandLog, document: bytes) -> ParsedPage:
    events = [wire.parse_event(record) for record in log.records]
    unit = {"unit": "U", "shoe": log.dealing.shoe, "games": kept_games(document)}
    return ParsedPage(render(report_of(events, **unit)))


def _label(cards: Sequence[str]) -> str:
    return f"cards: {', '.join(map(card_name, cards))}"


def test_a_round_of_blackjack_has_a_row_for_each_hand_and_one_for_the_dealer() -> None:
    log = BoxLog().load()
    for text in ["burn", "6S", "8H", "9D", "5S", "8C", "TC", "reveal", "TH"]:
        log.give(text)
    for text in ["burn", "next", "3S", "next", "TD", "next"]:
        log.give(text)
    page = _page(log, log.document)
    heading, *rows = page.tables["Rounds"]
    assert heading == ["Round", "", "Cards", "Total", "Result"]
    assert [row[:4] for row in rows] == [
        ["1", "Box 1", _label(["6S", "5S", "TH"]), "21"],
        ["1", "Box 2", _label(["8H", "3S"]), "11"],
        ["1", "Box 2", _label(["8C", "TD"]), "18"],
        ["1", "Dealer", _label(["9D", "TC"]), "19"],
    ]
    assert [row[4] for row in rows[:3]] == ["wins, doubled", "loses", "loses"]
    assert rows[3][4].startswith("ended")
    assert "1 round of blackjack" in dict(page.tables[""])["Rounds"]
    assert "Bead plate" not in page.tables and "Bead plate" not in page.text


@pytest.mark.parametrize("choice", ["opened", "never"])
def test_a_void_round_of_blackjack_shows_its_hole_card_only_if_the_house_opened_it(
    choice: str,
) -> None:
    log = BoxLog({"house": {"voided_cards": choice}}).load()
    for text in ["next", "6S", "9D", "5S", "TC"]:
        log.give(text)
    log.act(log.dealing.switched(KEY, True))
    log.give("void")
    page = _page(log, log.document)
    dealer = page.tables["Rounds"][-1]
    of_dealer = _label(["9D", "TC"]) if choice == "opened" else f"{_label(['9D'])}, sealed card"
    assert dealer[2] == of_dealer
    assert "void (supervisor)" in dealer[4]
    assert (card_name("TC") in str(page.tables)) == (choice == "opened")
    assert dict(page.tables[""])["Rounds"].endswith("voided 1")


def test_a_round_of_blackjack_that_is_played_shows_its_hole_card_as_a_back() -> None:
    log = BoxLog().load()
    for text in ["6S", "9D", "5S", "TC"]:
        log.give(text)
    page = _page(log, log.document)
    assert page.tables["Rounds"][-1][2] == "cards: 9 of diamonds, sealed card"
    assert page.tables["Rounds"][1][2] == _label(["6S", "5S"])
    assert "gap" not in str(page.tables)


def test_a_hand_of_holdem_that_is_played_shows_backs_and_the_board() -> None:
    """Also if the log does not have its game document, as in its first hand."""
    log = HandLog().seat(3).play("2C 3C 4C 5C 6C 7C next 8C 9C TC JC")
    events = [wire.parse_event(record) for record in log.records]
    page = ParsedPage(render(report_of(events, unit="U", games=NONE_KEPT, game="holdem")))
    rows = dict(page.tables["Hand 1"][1:])
    assert [rows[f"Seat {seat}"] for seat in (1, 2, 3)] == ["cards: sealed card, sealed card"] * 3
    assert rows["Board"] == _label(["9C", "TC", "JC"])
    assert rows["Burned"] == "cards: sealed card"
    assert "gap" not in str(page.tables)


@pytest.mark.parametrize("game", ["blackjack", "holdem"])
def test_before_the_first_card_of_another_family_the_page_is_not_one_of_baccarat(game: str) -> None:
    log = BoxLog().load()
    events = [wire.parse_event(record) for record in log.records]
    page = ParsedPage(render(report_of(events, unit="U", game=game)))
    assert "Big Road" not in page.text and "Player" not in page.text
    assert dict(page.tables[""])["Rounds"] == "none yet"


def test_a_hand_of_holdem_has_its_seats_burns_and_boards(rng: random.Random) -> None:
    for _ in range(6):  # one in three is run twice
        log = HandLog()
        plan = log.deal_random(rng, whole=True)
        page = _page(log, log.game.document)
        rows = dict(page.tables["Hand 1"][1:])
        dealt = {place: [name for at, name in plan.dealt if at == place] for place, _ in plan.dealt}
        for seat in range(1, plan.seats + 1):
            assert rows[f"Seat {seat}"] == _label(dealt[f"seat_{seat}"])
        first, second = plan.boards()
        assert rows["Board"] == _label(first)
        assert rows["Burned"] == _label(dealt["board_burn"])
        twice = f"Second board, from the {plan.from_street}"
        assert rows.get(twice) == (_label(second) if second else None)
        assert "1 hand of hold'em" in dict(page.tables[""])["Rounds"]
        assert "Rounds" not in page.tables
