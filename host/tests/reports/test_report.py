"""The report of a shoe of cards: complete, self-contained, and with all text escaped."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from host.tests.support.commands import KNOWN_ROUNDS, SHORT_DECK
from host.tests.support.dealt_events import DealtEvents, kept_games
from host.tests.support.helpers import event_of
from sabot.audit.checks.findings import Finding
from sabot.link.events import Event
from sabot.reports.report import ReportInput, render
from sabot.reports.svg import card_name
from sabot.table_time import zone_of
from sabot_protocol.baccarat import MINI_NAME, document_of

START_UNIX_MS = 1_795_000_000_000
HOSTILE = "<script>alert(1)</script>\"'&\x00\x1b[2J\u202e</td>"
EMPTY = {"br", "meta"}


class ParsedPage(HTMLParser):
    """The tags, text and tables of a page, whose tags must be balanced. `tables` has the text of
    cells, by heading.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self._open: list[str] = []
        self._heading = ""
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)
        if tag == "h2":
            self._heading = ""
        if tag == "tr":
            self.tables.setdefault(self._heading, []).append([])
        if tag in ("td", "th"):
            self.tables[self._heading][-1].append("")
        if tag == "svg" and "td" in self._open:
            self.tables[self._heading][-1][-1] += dict(attrs)["aria-label"] or ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open or "svg" in self._open:
            return
        self.text += data
        if self._open[-1:] == ["h2"]:
            self._heading += data
        if "td" in self._open or "th" in self._open:
            self.tables[self._heading][-1][-1] += data


def report_of(events: list[Event], **given: Any) -> ReportInput:
    """The input for a report of these events; `given` replaces fields."""
    report = ReportInput(
        unit="SHOE-7",
        shoe=1,
        events=events,
        findings=(),
        zone=zone_of("Europe/Malta"),
        firmware="0.1.0",
        build_hex="ab" * 32,
        game="mini",
        game_sha256_hex="cd" * 32,
        checkpoint=(99, "0f" * 16),
        signer_fingerprint="1234567890abcdef",
        games=kept_games(document_of(MINI_NAME)),
        chain_checked=True,
    )
    return replace(report, **given)


@pytest.fixture(scope="module")
def short() -> list[Event]:
    """The events of KNOWN_ROUNDS."""
    return DealtEvents(START_UNIX_MS).deal(SHORT_DECK.split())


def test_the_facts_are_shown(short: list[Event]) -> None:
    page = ParsedPage(render(report_of(short)))
    assert "Shoe of cards 1 of unit SHOE-7" in page.text
    assert "Nothing to find fault with" in page.text
    assert "Records, rounds and the audit chain were checked." in page.text
    facts = {cells[0]: cells[1] for cells in page.tables[""]}
    assert facts == {
        "Unit": "SHOE-7",
        "Shoe of cards": "1",
        "Table time": facts["Table time"],
        "Events": f"1 to {short[-1].number}",
        "Rounds": "6: Player 3, Banker 1, Tie 2",
        "End": "by the cut card, 30 cards drawn",
        "Game": "mini" + "cd" * 32,
        "Firmware": "0.1.0" + "ab" * 32,
        "Checkpoint": "up to event 99, MAC " + "0f" * 16,
        "Signed by": "1234567890abcdef",
    }
    assert facts["Table time"].startswith("2026-11-18 12:06:40 +01:00 to 2026-11-18 12:1")
    assert facts["Table time"].endswith(" +01:00 (Europe/Malta)")


def test_rounds_are_those_written_by_hand(short: list[Event]) -> None:
    shown = ParsedPage(render(report_of(short))).tables["Rounds"]
    columns = ["Round", "Begun", "Ended", "Player", "Total", "Banker", "Total", "Result"]
    assert shown[0] == columns
    assert len(shown) == 1 + len(KNOWN_ROUNDS)
    for number, (cells, known) in enumerate(zip(shown[1:], KNOWN_ROUNDS, strict=True), 1):
        player, banker, player_total, banker_total, winner, natural = known
        assert cells[0] == str(number)
        for cell, name, hand in ((cells[3], "Player", player), (cells[5], "Banker", banker)):
            names = [card_name(card) for card in hand.split()]
            if len(names) == 3:
                names[2] = f"third card {names[2]}"
            assert cell == f"{name}: {', '.join(names)}"
        assert (cells[4], cells[6]) == (str(player_total), str(banker_total))
        said = winner.capitalize() + (", natural" if natural else "")
        assert re.fullmatch(rf"{said}events [\d,]+ to [\d,]+", cells[7])


def test_only_third_cards_are_sideways(short: list[Event]) -> None:
    html = render(report_of(short))
    table = html[html.index("<h2>Rounds</h2>") : html.index("<h2>Cards outside")]
    sideways = re.findall(r'<use href="#card-(\w+)"[^>]*rotate\(90\)', table)
    upright = re.findall(r'<use href="#card-(\w+)"[^>]* x="', table)
    hands = [hand.split() for known in KNOWN_ROUNDS for hand in known[:2]]  # type: ignore[union-attr]
    assert sideways == [hand[2] for hand in hands if len(hand) == 3]
    assert upright == [card for hand in hands for card in hand[:2]]


def test_cards_outside_the_hands_are_shown(short: list[Event]) -> None:
    shown = ParsedPage(render(report_of(short))).tables["Cards outside the hands"]
    assert [cells[2:] for cells in shown] == [
        ["Card", "Drawn as"], ["ace of spades", "burn first"], ["2 of clubs", "burn"],
    ]  # fmt: skip


def test_there_is_no_script_and_nothing_is_loaded(short: list[Event]) -> None:
    html = render(report_of(short))
    for tag, attributes in ParsedPage(html).tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "a", "form", "base")
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in ("src", "action", "style")
            assert name not in ("href", "xlink:href") or (value or "").startswith("#card-")
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html


def test_every_reference_has_its_card_and_every_picture_its_label(short: list[Event]) -> None:
    tags = ParsedPage(render(report_of(short))).tags
    defined = {given["id"] for tag, given in tags if tag == "symbol"}
    used = {given["href"] for tag, given in tags if tag == "use"}
    assert used == {f"#{name}" for name in defined}
    for tag, given in tags:
        if tag == "svg" and given.get("aria-hidden") != "true":
            assert given["role"] == "img" and given["aria-label"]
        if tag == "th":
            assert given["scope"] in ("row", "col")
    assert [given["lang"] for tag, given in tags if tag == "html"] == ["en"]


def test_pictures_are_valid_xml_and_stay_within_their_bounds(short: list[Event]) -> None:
    for text in re.findall(r"<svg.*?</svg>", render(report_of(short)), re.DOTALL):
        picture = ET.fromstring(text)
        if picture.get("class") != "road":
            continue
        width, height = float(picture.get("width", 0)), float(picture.get("height", 0))
        for ring in picture.iter("circle"):
            x, y, r = (float(ring.get(name, 0)) for name in ("cx", "cy", "r"))
            assert r <= x <= width - r and r <= y <= height - r


def test_roads_have_labels_in_words(short: list[Event]) -> None:
    html = render(report_of(short))
    assert 'aria-label="Bead plate: P P T B P T"' in html
    assert 'aria-label="Big Road: P P T B P T"' in html
    assert 'aria-label="Big Eye Boy: blue"' in html
    assert 'aria-label="Small Road: no marks"' in html
    assert 'aria-label="Cockroach Pig: no marks"' in html
    titles = re.findall(r"<g><title>(.*?)</title>", html)
    rounds = [
        "round 1: player, natural", "round 2: player, Player pair, Banker pair", "round 3: tie",
        "round 4: banker", "round 5: player", "round 6: tie, natural",
    ]  # fmt: skip
    big_road = [
        "round 1: player, natural", "round 2: player, Player pair, Banker pair, ties: 1",
        "round 4: banker", "round 5: player, ties: 1",
    ]  # fmt: skip
    assert titles == rounds + big_road + ["round 5: blue, choppy"]


def test_a_card_entered_by_hand_is_marked_in_the_picture_and_in_words() -> None:
    events = [event_of("shoe_loaded", 1, decks=8), event_of("betting_open", 2)]
    for number, (card, position, by_hand) in enumerate(
        (("7H", "player_1", True), ("2C", "banker_1", False), ("7H", "player_2", False)), 3
    ):
        events.append(event_of("card", number, card=card, position=position, by_hand=by_hand))
    events.append(event_of("round_void", 6, reason="supervisor"))
    html = render(report_of(events))
    (cells,) = ParsedPage(html).tables["Rounds"][1:]
    assert cells[3] == "Player: 7 of hearts, entered by hand, 7 of hearts"
    assert cells[7] == "void (supervisor), by hand: 7♥events 2 to 6"
    assert html.count('stroke-dasharray="4 3"/><text') == 1 and html.count(">H</text>") == 1


def test_errors_and_incidents_are_listed() -> None:
    def event(kind: str, number: int, t_ms: int, **fields: Any) -> Event:
        return event_of(kind, number, t_ms=t_ms, unix_ms=START_UNIX_MS + t_ms, **fields)

    events = [
        event("shoe_loaded", 1, 0, decks=8, game="mini"),
        event("error", 2, 10, error="samples_lost"),
        event("key", 3, 40_000, on=True),
        event("error_cleared", 4, 42_010, error="samples_lost"),
        event("service", 5, 60_000, on=True),
        event_of("boot", 6, boot=2, shoe=1, round=0, t_ms=0, reset_cause="watchdog"),
    ]
    page = ParsedPage(render(report_of(events)))
    at = "2026-11-18 12:06:40 +01:00"
    assert page.tables["Errors"] == [
        ["Time", "Event", "Round", "Lasted", "What"],
        [at, "2", "1", "42 s", "samples lost; cleared with the supervisor's key"],
    ]
    assert page.tables["Incidents"] == [
        ["Time", "Event", "Round", "Kind", "Lasted", "What"],
        ["2026-11-18 12:07:40 +01:00", "5", "1", "service", "not over", "service switch on"],
        ["no clock, boot 2 + 0.0 s", "6", "1", "restart", "\u2013",
         "start 2, it hung, restarted by its watchdog, no round open"],
    ]  # fmt: skip


def test_missing_cards_name_the_nearest_passes() -> None:
    events = [
        event_of("shoe_loaded", 1, decks=8, game="mini"),
        event_of("card", 2, card="KC", position="player_1"),
        event_of("long_pass", 3, round=31, card="KC", longer_um=5040, unix_ms=START_UNIX_MS),
        event_of("error", 4, error="cards_missing"),
    ]
    page = ParsedPage(render(report_of(events)))
    assert page.tables["Errors"][1][4] == (
        "cards missing; nearest passes: "
        "event 3, round 31, 12:06:40: K♣, 5.0 mm longer than one card"
    )


def test_findings_are_in_the_verdict(short: list[Event]) -> None:
    finding = Finding("SHOE-7", 12, "rules", "winner is banker in the log, tie by the cards")
    page = ParsedPage(render(report_of(short, findings=[finding])))
    assert "Something is wrong: 1 finding" in page.text
    assert "Nothing to find fault with" not in page.text
    assert page.tables["Findings of the check"][1:] == [["12", "rules", finding.detail]]
    assert page.tables["Incidents"][1][3] == "rules"
    page = ParsedPage(render(report_of(short, findings=[finding] * 3)))
    assert "Something is wrong: 3 findings" in page.text


def test_the_page_says_up_to_where_it_speaks(short: list[Event]) -> None:
    last = short[-1].number
    html = render(report_of(short))
    assert f"This page speaks up to event {last:,}" in html
    assert "a misdeal may have voided the last round" in html
    loaded = next(event for event in short if event.kind == "shoe_loaded")
    following = replace(loaded, number=last + 1, shoe=loaded.shoe + 1)
    html = render(report_of([*short, following]))
    assert f"Event {last:,} is the last before the next shoe of cards." in html
    assert "misdeal" not in html


def test_a_chain_that_was_not_checked_is_mentioned_and_not_a_fault(short: list[Event]) -> None:
    no_key = Finding("SHOE-7", 1, "no_key", "the audit chain was not checked")
    for given in ({"chain_checked": False}, {"findings": [no_key]}):
        page = ParsedPage(render(report_of(short, **given)))
        assert "Nothing to find fault with" in page.text
        assert "the audit chain was not: its keys are missing" in page.text


@pytest.mark.parametrize("field", ["unit", "firmware", "build_hex", "game", "game_sha256_hex",
                                   "signer_fingerprint"])  # fmt: skip
def test_facts_about_a_shoe_are_escaped(short: list[Event], field: str) -> None:
    assert_harmless(render(report_of(short, **{field: HOSTILE})))


def test_text_from_a_shoes_records_is_escaped(short: list[Event]) -> None:
    boot = event_of("boot", 9000, firmware=HOSTILE, board=HOSTILE, game=HOSTILE, build=b"\1")
    second_boot = event_of("boot", 9001, firmware=HOSTILE, boot=2, game=HOSTILE, build=b"\2")
    loaded = event_of("shoe_loaded", 9002, game=HOSTILE)
    finding = Finding("U1", 1, HOSTILE, HOSTILE)
    disagrees = Finding("U1", 9001, "rules", HOSTILE)
    events = [*short, boot, second_boot, loaded]
    html = render(report_of(events, findings=[finding, disagrees], checkpoint=(1, HOSTILE)))
    assert html.count("&lt;script&gt;") >= 5
    assert_harmless(html)


def assert_harmless(html: str) -> None:
    page = ParsedPage(html)
    assert all(tag != "script" for tag, _ in page.tags)
    assert "<script" not in html
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", unescape(html)) is None
    assert r"alert(1)&lt;/script&gt;&quot;&#x27;&amp;\x00\x1b[2J\u202e&lt;/td&gt;" in html


def test_a_shoe_without_events() -> None:
    page = ParsedPage(render(report_of([], checkpoint=None, signer_fingerprint=None, firmware=None,
                                 build_hex=None, game=None, game_sha256_hex=None)))  # fmt: skip
    assert "There is nothing to check: no events" in page.text
    assert "Nothing to find fault with" not in page.text
    facts = {cells[0]: cells[1] for cells in page.tables[""]}
    assert facts["Table time"] == "no clock" and facts["Events"] == "none"
    assert facts["Rounds"] == "0: Player 0, Banker 0, Tie 0"
    assert facts["Game"] == facts["Firmware"] == "not known"
    assert facts["Signed by"] == "no one"
    assert facts["Checkpoint"] == "none: the shoe of cards has not ended in these events"
    assert "Rounds" not in page.tables and "Errors" not in page.tables


def test_a_shoe_with_one_tie_only() -> None:
    # Ace to burn, one card burned, the cut card, and the round: 7 and 7.
    events = DealtEvents(START_UNIX_MS).deal(["AS", "2C", "CUT", "JD", "AD", "7C", "6H"])
    html = render(report_of(events))
    assert re.findall(r"<g><title>(.*?)</title>", html) == ["round 1: tie", "ties: 1"]
    page = ParsedPage(html)
    assert {cells[0]: cells[1] for cells in page.tables[""]}["Rounds"] == (
        "1: Player 0, Banker 0, Tie 1"
    )


def test_a_round_without_an_end_is_shown_with_its_cards(short: list[Event]) -> None:
    last = max(event.number for event in short if event.kind == "card")
    events = [event for event in short if event.number <= last]
    page = ParsedPage(render(report_of(events)))
    cells = page.tables["Rounds"][-1]
    assert cells[0] == "6" and cells[2] == "\u2013" and cells[7].startswith("no endfrom event")
    assert cells[3] == "Player: 9 of diamonds, queen of spades"
    facts = {cells[0]: cells[1] for cells in page.tables[""]}
    assert facts["Rounds"].endswith("without an end 1") and facts["End"] == "not in these events"


def test_rounds_of_other_shoes_of_cards_are_not_shown(short: list[Event]) -> None:
    before = [replace(event, shoe=7) for event in short]
    assert len(ParsedPage(render(report_of(before))).tables.get("Rounds", [])) == 0


def test_every_time_can_be_shown(short: list[Event]) -> None:
    for unix_ms in (None, 0, (1 << 63) - 1, (1 << 64) - 1):
        events = [replace(event, unix_ms=unix_ms) for event in short]
        for zone in (UTC, zone_of(None), zone_of("Europe/Malta")):
            shown = ParsedPage(render(report_of(events, zone=zone))).tables["Rounds"][1][1]
            assert shown == ("no clock" if unix_ms is None else shown)
            assert unix_ms is None or unix_ms == 0 or shown == f"{unix_ms} ms"


def test_the_same_input_gives_the_same_page(short: list[Event]) -> None:
    assert render(report_of(short)) == render(report_of(list(short)))
