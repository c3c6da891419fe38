"""A search is read as people type it, or refused in plain words; and the index finds what a plain
look through what `sabot rounds` and `sabot incidents` list finds."""

import json
import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from host.tests.floor.test_index import hands_of, listed
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import new_log, stored
from host.tests.support.pages import DOCS
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.search import ANY, Query
from sabot.floor.rounds.search_line import BadSearch, Known, read_fields, read_line
from sabot.floor.rounds.search_words import OUTCOMES, in_words
from sabot.log.store import open_store
from sabot.notable.kinds import LISTED
from sabot.table_time import zone_of
from sabot_protocol import enums

_MALTA = ZoneInfo("Europe/Malta")
_NOW = datetime(2026, 11, 25, 18, 30, tzinfo=_MALTA)  # a Wednesday
_KNOWN = Known(["3", "12", "VIP 4"], ["SHOE-7", "SHOE-71"])


def _ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def _read(text: str) -> Query:
    return read_line(text, _KNOWN, _MALTA, _ms(_NOW))


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("20:15 to 20:40, Tuesday", (24, 20, 15), (24, 20, 40)),
        ("tue 20:15-20:40", (24, 20, 15), (24, 20, 40)),
        ("8:15 pm to 8:40 p.m., yesterday", (24, 20, 15), (24, 20, 40)),
        ("23:50 to 00:20, Tuesday", (24, 23, 50), (25, 0, 20)),
        ("17:15", (25, 17, 15), (25, 17, 16)),
        ("at 17:15, Monday", (23, 17, 15), (23, 17, 16)),
        ("between 16:00 and 17:00", (25, 16, 0), (25, 17, 0)),
        ("today", (25, 0, 0), (26, 0, 0)),
        ("last 10 minutes", (25, 18, 20), (25, 18, 30)),
        ("in the last hour", (25, 17, 30), (25, 18, 30)),
        ("about 20 minutes ago", (25, 18, 0), (25, 18, 20)),
        ("an hour ago", (25, 17, 0), (25, 18, 0)),
        ("wednesday 17:00 to 19:00", (25, 17, 0), (25, 19, 0)),
        ("wednesday 19:00 to 19:30", (18, 19, 0), (18, 19, 30)),
        ("last wednesday", (18, 0, 0), (19, 0, 0)),
        ("on 21 November", (21, 0, 0), (22, 0, 0)),
        ("Nov 20, 2026 to Nov 22", (20, 0, 0), (23, 0, 0)),
        ("from 20:15, Tuesday", (24, 20, 15), (25, 0, 0)),
        ("until 20:15, Tuesday", (24, 0, 0), (24, 20, 15)),
        ("2026-11-20T23:00 to 2026-11-21T01:00", (20, 23, 0), (21, 1, 0)),
    ],
)
def test_a_time_on_the_clock_of_the_table(
    text: str, begin: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    found = _read(text)
    first, last = (datetime(2026, 11, *each, tzinfo=_MALTA) for each in (begin, end))
    assert (found.begin_unix_ms, found.end_unix_ms) == (_ms(first), _ms(last))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "the round at table 3 in which the banker drew a third card",
            Query(table="3", outcomes=("banker_drew",)),
        ),
        ("table 12", Query(table="12")),
        ("table vip 4, natural", Query(table="VIP 4", outcomes=("natural",))),
        ('table "VIP 4"', Query(table="VIP 4")),
        ("SHOE-71 shoe 3 round 12", Query(unit="SHOE-71", shoe=3, round=12)),
        ("unit shoe-7", Query(unit="SHOE-7")),
        ("round 31 of shoe of cards 4", Query(shoe=4, round=31)),
        ("7H 9d ks", Query(cards=("7H", "9D", "KS"))),
        ("7h9dks", Query(cards=("7H", "9D", "KS"))),
        ("10♠ K", Query(cards=("TS", "K"))),
        ("cards 7 10 A", Query(cards=("7", "T", "A"))),
        ("won by banker, dragon 7", Query(winner="banker", outcomes=("dragon_7",))),
        ("player wins, player pair", Query(winner="player", outcomes=("player_pair",))),
        ("Dragon Bonus on the Player", Query(outcomes=("dragon_bonus_player",))),
        ("a tie, entered by hand", Query(winner="tie", by_hand=True)),
        ("misdeal", Query(void=True)),
        ("ghost hand", Query(ghost=True)),
        ("lid", Query(incident="lid")),
        ("incident long round", Query(incident="long_round")),
        ("with any incident", Query(incident=ANY)),
        ("surrender", Query(outcomes=("surrendered",))),
    ],
)
def test_words_select_what_they_say(text: str, expected: Query) -> None:
    assert _read(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("table 13", "the log has no table '13'; there are: 3, 12, VIP 4"),
        ("naturel", "'naturel' is not understood; did you mean natural?"),
        ("12", "of what is this the number?"),
        ("21/11/2026", "may be two different days; write 2026-11-21"),
        ("25:00", "'25:00' is not a time of day"),
        ("13 pm", "is not a time; write 8:15 pm"),
        ("2026-11-31", "is not a day"),
        ("20:15", "has not come yet, it is 2026-11-25 18:30:00 +01:00"),
        ("15:00 to 14:00", "is not after the begin"),
        ("player banker", "winner is given twice"),
        ("table 3 table 12", "table is given twice, 3 and 12"),
        ("tuesday, monday", "two days are given"),
        ("17:00, 17:30", "two times are given, 17:00 and 17:30"),
        ("cards", "nothing is not a card"),
        ("cards seven", "'seven' is not a card"),
        ("29 March 2026 02:30 to 03:30", "the clocks of Europe/Malta skip"),
        ("25 October 2026, 02:30 to 03:30", "the clocks of Europe/Malta show twice"),
        ("round 99999999999999999999", "is not the number of a round"),
        ("natural \x1b[31m", r"'\\x1b[31m' is not understood"),
        ("x" * 501, "over 500 characters"),
    ],
)
def test_what_cannot_be_understood_is_said(text: str, why: str) -> None:
    with pytest.raises(BadSearch) as refused:
        _read(text)
    assert why in str(refused.value)


@pytest.mark.slow
def test_nothing_typed_makes_anything_but_a_query_or_a_refusal(rng: random.Random) -> None:
    parts = (
        "20:15", "to", "-", "tuesday", "table", "12", "VIP", "7H", "cards", "K", "natural", ",",
        "from", "at", '"', "shoe", "3", "pm", "2026-11-21", "T10:00", "\u202e", "é", "won by", "🂡",
    )  # fmt: skip
    for _ in range(3000):
        text = rng.choice(("", " ")).join(rng.choices(parts, k=rng.randint(1, 7)))
        try:
            _read(text)
        except BadSearch as refused:
            assert str(refused).isprintable(), text


def test_fields_say_what_words_say_and_may_not_contradict_them() -> None:
    fields = {"day": "Tuesday", "from": "20:15", "to": "20:40", "table": "12", "cards": "7H K",
              "winner": "tie", "outcome": "natural", "incident": "lid", "by_hand": "on",
              "void": "", "unit": "SHOE-7", "shoe": "3", "round": "4"}  # fmt: skip
    words = "20:15 to 20:40, tuesday, table 12, 7H K, tie, natural, lid, by hand, SHOE-7, shoe 3"
    now = _ms(_NOW)
    assert read_fields(fields, _KNOWN, _MALTA, now) == _read(f"{words}, round 4")
    assert read_fields(fields | {"words": "table 12"}, _KNOWN, _MALTA, now)
    for name, value in (
        ("words", "table 3"), ("from", "8"), ("day", "someday"), ("shoe", "-1"), ("cards", "7X"),
        ("winner", "house"), ("outcome", "?"), ("incident", "x"),
    ):  # fmt: skip
        with pytest.raises(BadSearch):
            read_fields(fields | {name: value}, _KNOWN, _MALTA, now)


def test_a_query_in_words_is_understood_as_itself() -> None:
    query = _read("20:15 to 20:40, Tuesday, table 12, 7H K, tie, natural, lid, by hand, shoe 3")
    assert in_words(query, _MALTA) == (
        "2026-11-24 20:15:00 +01:00 to 2026-11-24 20:40:00 +01:00, table 12, shoe 3, "
        "cards 7♥ K, tie, Natural, incident: lid, a card entered by hand"
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "log.sqlite"
    with new_log(path) as store:
        logs = evenings(random.Random(4))
        keep_games(store, logs)
        for unit, each in logs.items():
            store.append(unit, stored(each.records))
    return path


Listed = dict[str, Any]


def _dealt(each: Listed) -> list[str]:
    """The cards of a round of baccarat as they came."""
    return [hand[n] for n in range(3) for hand in (each["player"], each["banker"]) if hand[n:]]


def _has(each: Listed, wanted: tuple[str, ...]) -> bool:
    hands = [hand for hand in hands_of(each) if hand]
    if "player" in each:
        hands.append(_dealt(each))
    for hand in hands:
        for at in range(len(hand) - len(wanted) + 1):
            if all(card.startswith(one) for card, one in zip(hand[at:], wanted, strict=False)):
                return True
    return False


def _selects(query: Query) -> Callable[[Listed], bool]:
    """Whether a round of baccarat, as it is listed, is wanted."""

    def selects(each: Listed) -> bool:
        return (
            query.unit in (None, each["unit"])
            and query.shoe in (None, each["shoe"])
            and query.round in (None, each["round"])
            and query.winner in (None, each.get("winner"))
            and (not query.cards or _has(each, query.cards))
            and (not query.by_hand or bool(each["by_hand"]))
            and (not query.void or each["void"] is not None)
        )

    return selects


@pytest.mark.slow
def test_rounds_are_found_that_a_plain_look_finds(log: Path, rng: random.Random) -> None:
    rounds = listed(log, "rounds --with-void")
    of_baccarat = [each for each in rounds if "player" in each]
    with open_store(log) as store:
        index = RoundIndex(store)
        index.look()
    for _ in range(60):
        chosen = rng.choice(of_baccarat)
        cards = rng.choice(
            [chosen["player"], chosen["banker"], _dealt(chosen), _dealt(chosen)[1:3]]
        )
        cards = [card[: rng.choice([1, 2])] for card in cards][: rng.randint(1, 3)]
        query = Query(
            unit=rng.choice([None, None, chosen["unit"]]),
            shoe=rng.choice([None, chosen["shoe"]]),
            round=rng.choice([None, None, chosen["round"]]),
            winner=rng.choice([None, chosen["winner"]]),
            cards=rng.choice([(), tuple(cards)]),
            by_hand=rng.random() < 0.1,
            void=rng.random() < 0.1,
        )
        found, count = index.rounds(query, 10_000)
        # Of the other families the list has the cards by hands alone, not as they came.
        got = {(each.unit, each.row.first_event, each.row.family) for each in found}
        expected = {(each["unit"], each["first_event"], each.get("family", "baccarat"))
                    for each in rounds if _selects(query)(each)}  # fmt: skip
        assert got >= expected, query
        assert not query.cards or {each[2] for each in got - expected} <= {"blackjack", "holdem"}
        assert query.cards or got == expected
        some, of = index.rounds(query, 3, 2)
        assert some == found[2:5] and of == count == len(found)


@pytest.mark.slow
def test_each_outcome_and_incident_is_that_of_the_lists(log: Path) -> None:
    rounds = {(each["unit"], each["shoe"], each["round"]): each
              for each in listed(log, "rounds --with-void")}  # fmt: skip
    incidents = listed(log, "incidents")
    with open_store(log) as store:
        index = RoundIndex(store)
        index.look()
    for hit in ("natural", *enums.HITS, *enums.OUTCOMES):
        found, _ = index.rounds(Query(outcomes=(hit,)), 10_000)
        got = {(each.unit, each.row.shoe, each.row.round) for each in found}
        expected = {
            place for place, each in rounds.items()
            if hit in each.get("hits", ()) or (hit == "natural" and each.get("natural"))
            or any(hand["outcome"] == hit for box in each.get("boxes", ()) for hand in box)
        }  # fmt: skip
        # A wager or a prize of the same name wins with the hit, in games that have it.
        assert got >= expected and got <= expected | _wins(index)
    for side in ("player", "banker"):
        found, _ = index.rounds(_read(f"{side} third card"), 10_000)
        got = {(each.unit, each.row.shoe, each.row.round) for each in found}
        assert got == {place for place, each in rounds.items() if len(each.get(side, ())) == 3}
    for kind in LISTED:
        found, _ = index.rounds(Query(incident=kind), 10_000)
        places = {(e["unit"], e["shoe"], e["round"]) for e in incidents if e["kind"] == kind}
        got = {(each.unit, each.row.shoe, each.row.round) for each in found}
        assert got == places & rounds.keys()
        only, count = index.incidents(Query(incident=kind), 10_000)
        assert count == len(only) == sum(each["kind"] == kind for each in incidents)
    shown, _ = index.rounds(Query(), 50)
    for each, kinds in zip(shown, index.kinds_of(shown), strict=True):
        at = each.unit, each.row.shoe, each.row.round
        assert set(kinds) == {
            e["kind"] for e in incidents if (e["unit"], e["shoe"], e["round"]) == at
        }


def _wins(index: RoundIndex) -> set[tuple[str, int, int]]:

    found, _ = index.rounds(Query(), 10_000)
    return {(each.unit, each.row.shoe, each.row.round) for each in found
            if each.row.family == "baccarat" and each.unit == "PA"}  # fmt: skip


@pytest.mark.slow
def test_a_time_span_has_the_rounds_that_the_command_lists_for_it(
    log: Path, rng: random.Random
) -> None:
    with open_store(log) as store:
        index = RoundIndex(store)
        index.look()
    zone = zone_of("UTC")
    times = [each["started"] for each in listed(log, "rounds") if each["started"]]
    for _ in range(6):
        begin = datetime.fromisoformat(rng.choice(times)).replace(microsecond=0)
        end = begin + timedelta(seconds=rng.randint(1, 3))
        span = f"--from {begin:%Y-%m-%dT%H:%M:%S} --to {end:%Y-%m-%dT%H:%M:%S} --zone UTC"
        query = read_line(
            f"{begin:%Y-%m-%dT%H:%M:%S} to {end:%Y-%m-%dT%H:%M:%S}", _KNOWN, zone, _ms(end) + 1
        )
        found, _ = index.rounds(query, 10_000)
        expected = listed(log, f"rounds --with-void {span}")
        assert sorted((each.unit, each.row.first_event) for each in found) == sorted(
            (each["unit"], each["first_event"]) for each in expected
        )
        of_span, _ = index.incidents(query, 10_000)
        shown = [each.incident.as_json(zone) for each in of_span]
        wanted = listed(log, f"incidents {span}")
        for each in wanted:
            del each["table"]
        assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, wanted))


def test_every_outcome_has_a_title_and_is_understood_by_its_name() -> None:
    for name, outcome in OUTCOMES.items():
        assert outcome.title and _read(name.replace("_", " ")).outcomes in ((name,), ())


def test_what_the_page_on_the_screens_says_can_be_typed_is_understood() -> None:
    section = (DOCS / "screens.md").read_text().partition("## Search")[2].partition("A day of")[0]
    examples = [each for line in section.splitlines() if line.startswith("| ")
                for each in re.findall("`([^`]+)`", line.split("|")[2])]  # fmt: skip
    assert len(examples) > 25
    for each in examples:
        assert _read(each) != Query(), each
