"""Events in words: a sentence for each kind, with every field in it."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest

from sabot.log.reading.events import EVENT_KINDS
from sabot.reports.event_words import _WORDS, words_of
from sabot_protocol import enums
from sabot_protocol.events import KINDS
from sabot_protocol.schema import Shape

MAC = "0123456789abcdef" * 2


def values_of(kind: str, name: str) -> list[Any]:
    """Values of a field of this type, as `LogEvent.fields` has them."""
    if name == "hits":
        return [0, *(1 << n for n in range(len(enums.HITS) + 2))]
    if name == "counts":
        return [bytes([8] * 51 + [last]).hex() for last in (8, 7)]
    required = kind.removesuffix("?")
    if required in enums.ENUMERATIONS:
        found: list[Any] = list(enums.ENUMERATIONS[required])
    else:
        found = {
            "uint": [4, 1, 1_000_003],
            "flag": [False, True],
            "text": ["one", "other"],
            "bytes": [MAC, MAC[::-1]],
            "card": ["7H", "TC", "CUT", "TEST"],
        }[required]
    return [*found, None] if kind.endswith("?") else found


def fields_of(shape: Shape) -> dict[str, list[Any]]:
    return {name: values_of(kind, name) for name, kind in shape.fields}


def changed(shape: Shape) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of a kind, each time with another value of one of them."""
    values = fields_of(shape)
    first = {name: of_it[0] for name, of_it in values.items()}
    for name, of_it in values.items():
        for value in of_it[1:]:
            yield name, first | {name: value}


@pytest.mark.parametrize("shape", KINDS, ids=EVENT_KINDS)
def test_every_kind_of_event_has_a_sentence_with_every_field_in_it(shape: Shape) -> None:
    first = {name: of_it[0] for name, of_it in fields_of(shape).items()}
    where = f"host/sabot/reports/event_words.py has no sentence for {shape.name}: add it to _WORDS"
    assert shape.name in (*_WORDS, "clock_set"), where
    sentence = words_of(shape.name, first, UTC)
    assert sentence and sentence.isprintable() and "_" not in sentence.replace(MAC, "")
    for name, fields in changed(shape):
        assert words_of(shape.name, fields, UTC) != sentence, (name, fields[name])


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (
            "result",
            {
                "winner": "banker", "player_total": 2, "banker_total": 7, "player_natural": False,
                "banker_natural": False, "margin": 5, "hits": 4, "game": MAC,
            },
            "Banker wins 7 to 2, dragon 7; game 01234567",
        ),
        (
            "result",
            {
                "winner": "player", "player_total": 9, "banker_total": 8, "player_natural": True,
                "banker_natural": True, "margin": 1, "hits": 1, "game": MAC,
            },
            "Player wins 9 to 8, both natural, player pair; game 01234567",
        ),
        (
            "result",
            {
                "winner": "tie", "player_total": 6, "banker_total": 6, "player_natural": False,
                "banker_natural": False, "margin": 0, "hits": 0, "game": MAC,
            },
            "tie, 6 to 6; game 01234567",
        ),
        (
            "card",
            {
                "card": "TS", "position": "banker_3", "speed_mm_s": 512, "margin_permille": 941,
                "skew_um": 35, "samples": 5020, "by_hand": False,
            },
            "10♠, Banker's third card; 512 mm/s, margin 94.1 %, skew 35 µm, 5,020 samples",
        ),
        (
            "card",
            {
                "card": "4S", "position": "player_2", "speed_mm_s": 0, "margin_permille": 0,
                "skew_um": 0, "samples": 0, "by_hand": True,
            },
            "4♠, Player's second card, entered by hand",
        ),
        ("decision", {"hand": "player", "action": "natural", "total": 8},
         "Player has a natural 8"),
        ("decision", {"hand": "banker", "action": "draws", "total": 0}, "Banker draws on 0"),
        ("cut_card", {"rounds_left": 1}, "the cut card came out, 1 round left"),
        ("shoe_ended", {"reason": "restart", "rounds": None, "cards": 1},
         "by a restart: rounds not known, 1 card drawn"),
        ("gap", {"first": 5, "last": 9, "reason": "queue_full", "mac": MAC},
         "events 5 to 9 lost: queue full; the chain goes on from MAC 01234567"),
        ("journal_fault", {"fault": "erase_failed", "sector": 12, "first": 0, "last": 0},
         "erase failed in sector 12; no event in it is lost"),
        ("clock_set", {"before_unix_ms": 1_768_476_600_250},
         "set by a host; it showed 2026-01-15T11:30:00.250+00:00"),
        ("resolved",
         {"error": "unreadable", "fault": "no_code", "position": "player_2",
          "resolution": "entered"},
         "unreadable (no code), Player's second card: entered from its face"),
        ("composition",
         {"counts": bytes([8] * 49 + [7, 8, 6]).hex(), "unread": 1, "expected": 416},
         "of 416 cards, 413 cards read, 1 not known; 8 of each card, 7 of J♠, 6 of K♠"),
        ("ghost_hand", {"count": 2}, "dealt without wagers: ghost hand 2 of this shoe of cards"),
        ("wrong_macs", {"count": 1}, "1 command with a wrong MAC since the start"),
    ],
)  # fmt: skip
def test_the_sentence_of_an_event(kind: str, fields: dict[str, Any], sentence: str) -> None:
    assert words_of(kind, fields, UTC) == sentence


def test_a_composition_of_another_length_is_shown_as_it_is() -> None:
    fields = {"counts": bytes(51).hex(), "unread": 0, "expected": 416}
    assert bytes(51).hex() in words_of("composition", fields, UTC)
