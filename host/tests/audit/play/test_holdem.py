"""The verifier's checks of a hand of hold'em: random hands are right, changed ones are found."""

import random
from collections.abc import Sequence

import cbor2
import pytest

from host.tests.support.hand_log import HandLog
from sabot.audit.checks.decoding import Values
from sabot.audit.play.known_games import KnownGames
from sabot.audit.play.play_checks import PlayChecks
from sabot.games.holdem.shoe_game import document
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import enums, events

_OWN = 7
_CHANGED = (events.SEALED_CARD, events.CARD, events.BETTING_ENDED, events.RUN_TWICE)
_KINDS = [shape.number for shape in _CHANGED]
_ENDED = events.HAND_ENDED.number


def found_in(values: Sequence[Values], game: bytes | None = None) -> list[str]:
    """What is wrong with hands: the cards are compared elsewhere."""
    found: list[str] = []

    def report(number: int, kind: str, detail: str) -> None:
        if kind != "cards":
            found.append(f"{kind}: {detail}")

    known = None if game is None else KnownGames(lambda _: game)
    checks = PlayChecks(report, games=known)
    for each in values:
        handler = checks.handlers[each[0]]
        if handler is not None:
            handler(each)
    return [each for each in found if "shoe ended after" not in each]


def values_of(log: HandLog) -> list[Values]:
    return [cbor2.loads(record) for record in log.records]


def test_random_hands_are_right(rng: random.Random) -> None:
    for hole_cards in ("all", "shown", "never"):
        log = HandLog(hole_cards=hole_cards)
        for _ in range(60):
            log.deal_random(rng)
        assert found_in(values_of(log), log.game.document) == []
        assert found_in(values_of(log)) == []


@pytest.mark.slow
def test_a_hand_with_an_event_missing_doubled_or_moved_is_found(rng: random.Random) -> None:
    changes = 0
    for _ in range(25):
        log = HandLog()
        log.deal_random(rng, whole=True)
        values = values_of(log)
        for at in [n for n, each in enumerate(values) if each[0] in _KINDS]:
            last = values[at][0] == events.BETTING_ENDED.number and values[at][_OWN] == 3
            if not last:  # the dealer may leave out `next` after the river
                assert found_in(values[:at] + values[at + 1 :]), values[at]
            assert found_in(values[: at + 1] + values[at:]), values[at]
            other = at + 1
            same_place = values[at][0] == values[other][0] and (
                values[at][_OWN + 1] == values[other][_OWN + 1]
            )
            if values[other][0] in _KINDS and not same_place:
                swapped = [*values[:at], values[other], values[at], *values[other + 1 :]]
                burn_and_twice = {values[at][0], values[other][0]} == {
                    events.SEALED_CARD.number,
                    events.RUN_TWICE.number,
                }
                if not burn_and_twice:  # it may be asked before the burn or after it
                    assert found_in(swapped), (values[at], values[other])
            changes += 1
    assert changes > 300


@pytest.mark.parametrize("field", [0, 1, 2])
def test_another_end_of_the_hand_is_found(field: int, rng: random.Random) -> None:
    log = HandLog()
    log.deal_random(rng, whole=True)
    values = values_of(log)
    (ended,) = [each for each in values if each[0] == _ENDED]
    before = ended[_OWN + field]
    ended[_OWN + field] = before + 1 if field == 0 else bytes([7, *before[1:]]) + b"\1"
    assert len(found_in(values)) == 1


def test_more_seats_than_the_game_has_and_running_it_twice_without_the_house_are_found() -> None:
    log = HandLog().seat(9)
    text = "burn next"  # after the flop
    names = [f"{rank}{suit}" for suit in "CD" for rank in "23456789TJQKA"]
    log.play(" ".join(names[:18]) + " next AS " + " ".join(names[18:21]))
    log.play(f"{text} AH 2S QH 3S 2H 4S 3H 5S reveal")
    values = values_of(log)
    game = document({"seats": 6, "run_it_twice": False})
    found = [each for each in found_in(values, game) if "is in the shoe" not in each]
    assert [each.split(",")[0] for each in found] == [
        "game: 9 seats dealt in",
        "game: run twice",
    ]
    baccarat = baccarat_game.document_of("mini")
    assert any("a hand of hold'em, but mini" in each for each in found_in(values, baccarat))


def test_a_second_hand_from_one_deck_is_found(rng: random.Random) -> None:
    log = HandLog()
    log.deal_random(rng, whole=True)
    values = values_of(log)
    for each in values:
        if each[0] == events.HAND_BEGUN.number or each[6]:
            each[6] = 2
    assert any(
        "a second hand of hold'em from one shuffled deck" in each for each in found_in(values)
    )


def test_a_card_of_another_family_in_a_hand_is_found() -> None:
    log = HandLog().seat(2).play("AS KS 2C 3C reveal")
    values = values_of(log)
    assert found_in(values) == []
    at = next(n for n, each in enumerate(values) if each[0] == events.UNSEALED.number)
    card = [10, *values[at][1:7], 3, enums.POSITIONS.index("player_1"), 0, 0, 0, 0, False]
    assert found_in([*values[:at], card, *values[at:]])
