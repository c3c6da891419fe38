"""The verifier recomputes rounds of blackjack, which the firmware has dealt, and finds every change
of a card, a decision or a result."""

import random
from collections.abc import Iterable
from typing import Any

import cbor2
import pytest

from firmware.tests.support import boxes
from host.tests.support.dealt_boxes import PAIRS, BoxLog
from sabot.audit.play.known_games import KnownGames
from sabot.audit.play.play_checks import PlayChecks
from sabot_protocol import cards, enums, events

_OWN = 7
_CARD, _PLAY, _LOOKED = (each.number for each in (events.CARD, events.PLAY, events.LOOKED))
_HAND, _RESULT = events.HAND_RESULT.number, events.BLACKJACK_RESULT.number
_BOX_1 = enums.POSITIONS.index("box_1")


def _values(log: BoxLog) -> list[list[Any]]:
    return [cbor2.loads(record) for record in log.records]


def _found(values: Iterable[list[Any]], document: bytes | None) -> list[str]:
    found: list[str] = []
    games = KnownGames(lambda _: document)
    checks = PlayChecks(lambda number, kind, detail: found.append(detail), games=games)
    for each in values:
        handler = checks.handlers[each[0]]
        if handler is not None:
            handler(each)
    return found


@pytest.fixture
def rng() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.mark.slow
def test_random_rounds_of_all_choices_are_found_right(rng: random.Random) -> None:
    for n in range(60):
        log = BoxLog(boxes.random_house(rng.choice)).load()
        for _ in range(3):
            log.round(rng.randrange(1, 8), rng, PAIRS if n % 2 else cards_of_a_deck())
        assert _found(_values(log), log.document) == [], log.house
        assert _found(_values(log), None) == [], "nothing is judged without the document"


def cards_of_a_deck() -> list[str]:
    return [cards.name_of(card) for card in range(cards.DECK_SIZE)]


def test_every_change_of_a_card_a_decision_or_a_result_is_found(rng: random.Random) -> None:
    changed_kinds = set()
    for n in range(12):
        house = boxes.random_house(rng.choice)
        log = BoxLog(house).load()
        log.round(rng.randrange(1, 5), rng, PAIRS if n % 2 else cards_of_a_deck())
        values = _values(log)
        for place, each in enumerate(values):
            for changed in _changes(each):
                found = _found([*values[:place], changed, *values[place + 1 :]], log.document)
                assert found, (each, changed, house)
                changed_kinds.add(each[0])
            # A double that ends the hand looks like a hit; the chain finds that it is missing.
            doubles = each[0] == _PLAY and each[_OWN + 2] == enums.PLAY_ACTIONS.index("doubles")
            if each[0] in (_PLAY, _HAND) and not doubles:
                without = [*values[:place], *values[place + 1 :]]
                assert _found(without, log.document), ("removed", each)
    assert changed_kinds >= {_CARD, _PLAY, _HAND, _RESULT}


def _changes(values: list[Any]) -> Iterable[list[Any]]:
    """Yield changed values of an event that must be found."""

    def with_own(place: int, value: object) -> list[Any]:
        return [*values[: _OWN + place], value, *values[_OWN + place + 1 :]]

    if values[0] == _CARD and values[_OWN + 1] >= _BOX_1:
        yield with_own(1, values[_OWN + 1] + (1 if values[_OWN + 1] < _BOX_1 + 6 else -3))
    elif values[0] == _PLAY:
        for place in (0, 1, 3):
            yield with_own(place, values[_OWN + place] + 1)
        yield with_own(4, not values[_OWN + 4])
    elif values[0] == _LOOKED:
        yield with_own(0, not values[_OWN])
    elif values[0] == _HAND:
        for place in (0, 1, 3):
            yield with_own(place, values[_OWN + place] + 1)
        yield with_own(2, (values[_OWN + 2] + 1) % len(enums.OUTCOMES))
        yield with_own(4, not values[_OWN + 4])
    elif values[0] == _RESULT:
        yield with_own(0, values[_OWN] + 1)
        yield with_own(1, not values[_OWN + 1])
        yield with_own(2, values[_OWN + 2] + 1)


@pytest.mark.parametrize(
    ("dealt_by", "documented", "finding"),
    [
        ({"soft_17": "hits"}, {"soft_17": "stands"}, "to dealer is not due"),
        ({"soft_17": "stands"}, {"soft_17": "hits"}, "the result comes, a card to dealer is due"),
        ({"looks": "never"}, {"looks": "ace"}, "the dealer has not looked"),
        ({"looks": "ace"}, {"looks": "never"}, "the dealer has looked"),
        ({"boxes": 2}, {"boxes": 1}, "2 boxes are dealt in, the game has 1"),
    ],
)
def test_a_round_that_another_house_would_have_dealt_is_found(
    dealt_by: dict[str, object], documented: dict[str, object], finding: str
) -> None:
    log = BoxLog(dealt_by).load()
    log.give("burn")
    # The dealer has a soft 17.
    script = "next TS TD AH TC TH 6C next next next"
    for text in script.split():
        log.give(text)
    while log.dealing.current_round.open:
        log.give("TS")
    other = BoxLog(documented).document
    assert any(finding in each for each in _found(_values(log), other))


def test_a_result_of_another_family_than_the_documents_is_found() -> None:
    from sabot_protocol import baccarat

    log = BoxLog().load()
    log.round(1, random.Random(1))
    found = _found(_values(log), baccarat.document_of("mini"))
    assert any("the result is one of blackjack, mini is a game of baccarat" in it for it in found)


def test_a_late_surrender_loses_to_a_blackjack_that_no_one_looked_for() -> None:
    """Records of firmware before 0.3 say that it surrendered, and keep their meaning."""
    log = BoxLog({"surrender": "late", "looks": "never"}).load()
    while log.dealing.current_round.boxes != 1:
        log.give("burn")
    for text in ("TS", "KC", "6S", "AC", "burn", "next"):
        log.give(text)
    values = _values(log)
    (at,) = (place for place, each in enumerate(values) if each[0] == _HAND)
    assert enums.OUTCOMES[values[at][_OWN + 2]] == "loses"
    right = ("loses", "surrendered")
    for outcome in enums.OUTCOMES:
        changed = values[at][:]
        changed[_OWN + 2] = list(enums.OUTCOMES).index(outcome)
        found = _found([*values[:at], changed, *values[at + 1 :]], log.document)
        assert (found == []) == (outcome in right), (outcome, found)
