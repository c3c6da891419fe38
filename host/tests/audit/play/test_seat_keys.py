"""Hole cards with a key for each seat: the verifier takes a good hand, counts what stays closed,
and finds every change of a key, a commitment or a mark."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cbor2
import pytest

from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import parsed
from host.tests.support.sealing import SECRET, round_key, seat_key
from sabot.audit.play.known_games import KnownGames
from sabot.audit.play.play_checks import PlayChecks
from sabot.games.holdem.shoe_game import document
from sabot.link.seals import opened
from sabot_protocol import cards, events

_OWN = 7
Values = list[Any]
_NAMES = {shape.number: shape.name for shape in events.KINDS}
_HAND = "AS KS 2C 3C next 9D KC QC JC reveal burn next reveal"
"""The second of two seats shows a king and a three. The first has folded."""


@cache
def _log(hole_cards: str = "shown") -> HandLog:
    text = _HAND if hole_cards == "shown" else _HAND.removesuffix(" burn next reveal")
    return HandLog(hole_cards=hole_cards).seat(2).play(text)


def _values(hole_cards: str = "shown") -> list[Values]:
    return [cbor2.loads(record) for record in _log(hole_cards).records]


def _checked(values: list[Values], game: bytes | None = None) -> tuple[list[str], PlayChecks]:
    found: list[str] = []
    game = _log().game.document if game is None else game
    checks = PlayChecks(lambda _, kind, detail: found.append(f"{kind}: {detail}"),
                        games=KnownGames(lambda _: game))  # fmt: skip
    for each in values:
        if checks.not_composed:
            checks.end_of(each)
        handler = checks.handlers[each[0]]
        if handler is not None:
            handler(each)
    return found, checks


def _at(values: list[Values], kind: str, nth: int = 0) -> int:
    return [at for at, each in enumerate(values) if _NAMES[each[0]] == kind][nth]


def test_what_stays_closed_is_counted_and_the_composition_is_not_proven_by_so_many_cards() -> None:
    for hole_cards, closed in (("shown", 3), ("never", 5), ("all", 0)):
        found, checks = _checked(_values(hole_cards), _log(hole_cards).game.document)
        assert found == []
        assert (checks.counted.closed.cards, checks.counted.closed.shoes) == (closed, closed > 0)
        noted = [detail for _, _, detail in checks.counted.closed.notes()]
        assert noted == [
            f"{closed} cards of 1 round stay closed by the house's choice: no key opens them; the "
            "composition of 1 shoe of cards is not proven, by so many cards"
        ] * (closed > 0)  # fmt: skip


def test_a_reader_of_the_log_opens_the_seat_that_showed_and_nothing_else() -> None:
    shown = opened([parsed(record) for record in _log().records])
    known = {(each.position, cards.name_of(each.card)) for each in shown if hasattr(each, "card")}
    down = {each for each in known if each[0].startswith(("seat", "board"))}
    assert down == {("seat_2", "KS"), ("seat_2", "3C")}
    assert sum(each.kind == "sealed_card" for each in shown) == 3


def _other_key(values: list[Values]) -> None:
    values[_at(values, "seat_unsealed")][_OWN + 1] = bytes(32)


def _key_of_another_seat(values: list[Values]) -> None:
    number = values[_at(values, "seal")][1]
    values[_at(values, "seat_unsealed")][_OWN + 1] = seat_key(round_key(SECRET, number), 1)


def _another_seat(values: list[Values]) -> None:
    values[_at(values, "seat_unsealed")][_OWN] = 1


def _swapped_commitments(values: list[Values]) -> None:
    one, other = _at(values, "seat_seal", 0), _at(values, "seat_seal", 1)
    values[one][_OWN + 1], values[other][_OWN + 1] = values[other][_OWN + 1], values[one][_OWN + 1]


def _short_commitment(values: list[Values]) -> None:
    values[_at(values, "seat_seal")][_OWN + 1] = bytes(16)


def _no_commitment(values: list[Values]) -> None:
    del values[_at(values, "seat_seal", 1)]


def _late_commitment(values: list[Values]) -> None:
    at = _at(values, "seat_seal", 1)
    values[at], values[at + 1] = values[at + 1], values[at]


def _two_commitments(values: list[Values]) -> None:
    at = _at(values, "seat_seal", 1)
    values.insert(at, values[at])


def _no_seal(values: list[Values]) -> None:
    del values[_at(values, "seal")]


def _not_opened(values: list[Values]) -> None:
    del values[_at(values, "seat_unsealed")]


def _opened_twice(values: list[Values]) -> None:
    at = _at(values, "seat_unsealed")
    values.insert(at, values[at])


def _opened_after_the_end(values: list[Values]) -> None:
    at = _at(values, "unsealed")
    values[at - 1], values[at] = values[at], values[at - 1]


def _never_closed(values: list[Values]) -> None:
    del values[_at(values, "unsealed")]


def _all_opened(values: list[Values]) -> None:
    number = values[_at(values, "seal")][1]
    values[_at(values, "unsealed")][_OWN] = round_key(SECRET, number)


def _other_card(values: list[Values]) -> None:
    each = values[_at(values, "sealed_card", 1)]
    each[_OWN + 1] = bytes([each[_OWN + 1][0] ^ 1]) + each[_OWN + 1][1:]


def _card_of_another_seat(values: list[Values]) -> None:
    one, other = _at(values, "sealed_card", 0), _at(values, "sealed_card", 1)
    values[one][_OWN + 1], values[other][_OWN + 1] = values[other][_OWN + 1], values[one][_OWN + 1]


def _composition_names_a_closed_card(values: list[Values]) -> None:
    each = values[_at(values, "composition")]
    counts = bytearray(each[_OWN])
    counts[cards.number_of("AS")] += 1
    each[_OWN : _OWN + 2] = [bytes(counts), each[_OWN + 1] - 1]


@pytest.mark.parametrize(
    "change",
    [
        _other_key, _key_of_another_seat, _another_seat, _swapped_commitments, _short_commitment,
        _no_commitment, _late_commitment, _two_commitments, _no_seal, _not_opened, _opened_twice,
        _opened_after_the_end, _never_closed, _all_opened, _other_card, _card_of_another_seat,
        _composition_names_a_closed_card,
    ],
    ids=lambda change: change.__name__.strip("_"),
)  # fmt: skip
def test_every_change_is_found(change: Callable[[list[Values]], None]) -> None:
    values = _values()
    change(values)
    assert _checked(values)[0]


def test_a_hand_that_was_sealed_as_another_house_has_chosen_is_found() -> None:
    for dealt, documented, wrong in (
        ("all", "shown", "has a key for each seat, and its cards were not sealed so"),
        ("shown", "all", "although its cards are never to be known"),
        ("shown", "never", "seat 2 was opened, and holdem opens no hole cards"),
    ):
        found, _ = _checked(_values(dealt), document({"hole_cards": documented}))
        assert any(wrong in each for each in found), (dealt, documented, found)


def test_no_seat_is_opened_in_a_void_hand() -> None:
    log = HandLog(hole_cards="shown").seat(2).play("AS KS 2C 3C reveal next key+ void key-")
    values = [cbor2.loads(record) for record in log.records]
    assert _checked(values)[0] == []
    key = seat_key(round_key(SECRET, values[_at(values, "seal")][1]), 1)
    at = _at(values, "unsealed")
    opens = [events.SEAT_UNSEALED.number, *values[at][1:_OWN], 1, key]
    found, _ = _checked([*values[:at], opens, *values[at:]])
    assert "seal: seat 1 was opened in a void round" in found
