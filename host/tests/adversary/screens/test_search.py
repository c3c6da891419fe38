"""Whatever is typed into the search, it is understood or refused."""

import random
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from host.tests.adversary.cases import BATCHES, cases
from host.tests.support.screens import Screens
from sabot.floor.rounds.search_line import BadSearch, Known, read_fields
from sabot.floor.rounds.search_words import PHRASES
from sabot.web.pages.search import FIELDS

_KNOWN = Known(["1", "12", "VIP 4", "a.b*(", "İ", "ß"], ["SHOE-1", "SHOE-12", "x y", "["])
_ZONES = UTC, ZoneInfo("Europe/Malta"), ZoneInfo("Pacific/Apia"), ZoneInfo("Africa/Cairo")
_NOW_UNIX_MS = 1_790_000_000_000
_CLOCKS = _NOW_UNIX_MS, 0, 253_402_300_799_000
"""Of the server: one may be set to anything."""
_SAID = [
    *PHRASES, "20:15", "24:00", "99:99", "٢٠:١٥", "12pm", "T20:15", "23:59:59", "23:59:60", "13:60",
    "Z", "+01:00", "-1", "1e5", "0", "²", "2026-11-21", "2026-02-30", "0001-01-01", "9999-12-31",
    "1969-12-31", "2026-W01", "31.12.2026", "12/31", "today", "yesterday", "tuesday", "last", "to",
    "from", "between", "and", "after", "at", "table", "unit", "shoe", "round", "hand", "#", "no.",
    "cards", "7H", "10♠", "K", '"', "\\", "\x00", "İ", "ß", "𝟗", ":", ",", ";", "-", "–", "\ufe0f",
    "\u2028", "30 february", "21 november", "9" * 40, "2026-11-21T20:15",
]  # fmt: skip
_PER_CASE = 40


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_search_of_any_words_is_understood_or_refused(batch: int) -> None:
    for _, rng in cases(batch):
        for _ in range(_PER_CASE):
            fields = {"words": _some(rng, 60)}
            for name in rng.sample(FIELDS[1:], rng.randint(0, 3)):
                fields[name] = _some(rng, 6)
            try:
                read_fields(fields, _KNOWN, rng.choice(_ZONES), rng.choice(_CLOCKS))
            except BadSearch:
                continue


def _some(rng: random.Random, most: int) -> str:
    between = rng.choice(["", " ", ", "])
    said = between.join(rng.choice(_SAID) for _ in range(rng.randint(0, most)))
    return said[: rng.choice([10, 500, 1000])]


@pytest.mark.parametrize(
    "query",
    [
        "words=9999-12-31", "day=0001-01-01", "words=21 november 0001", "round=%00",
        "words=%ff%fe", "shoe=" + "9" * 400, "words=" + "%F0" * 3000, "skip=" + "9" * 400,
        "cards=" + "7" * 400, "outcome=' OR 1", "cards=*%5B", "winner=player&winner=tie",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/search", "/api/search"])
def test_a_search_by_any_address_is_answered(screens: Screens, path: str, query: str) -> None:
    answer = screens.visitor("floor").get(f"{path}?{query}")
    assert answer.status_code in (200, 400)
