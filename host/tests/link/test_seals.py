"""Sealed cards are opened as protocol/README.md defines it, and by no other key."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from host.tests.support.helpers import event_of
from host.tests.support.sealing import Sealer, commitment_to, round_key, sealed_card
from sabot.link.events import CardEvent, Event, SealedCardEvent
from sabot.link.seals import card_in, key_fits, opened, seat_key
from sabot_protocol import cards, events

_VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "protocol/vectors/seals.json").read_text()
)
_KEY = bytes.fromhex(_VECTORS["key"])


def _round(drawn: str, seal: int = 10, shoe: int = 1, round_: int = 2) -> list[Event]:
    """The events of a round, up to its key."""
    sealer, place = Sealer(), {"shoe": shoe, "round": round_}
    (commitment,) = sealer.values_of(events.SEAL, (), seal)
    found = [event_of("seal", seal, commitment=commitment, **place)]
    for at, name in enumerate(drawn.split()):
        own = sealer.values_of(events.SEALED_CARD, (cards.number_of(name),), seal)
        figures = {"speed_mm_s": 800 + at, "margin_permille": 900, "skew_um": 7, "samples": 1000}
        given = {"place": own[0], "sealed": own[1], "position": "player_1", "by_hand": at == 1}
        found.append(event_of("sealed_card", seal + 1 + at, **given, **figures, **place))
    found.append(event_of("unsealed", seal + len(found), seal_key=sealer.key, **place))
    return found


def _names(shown: list[Event]) -> list[str]:
    return [cards.name_of(each.card) for each in shown if isinstance(each, CardEvent)]


def test_the_vectors_open_and_the_sealer_of_the_tests_makes_them() -> None:
    secret, number = bytes.fromhex(_VECTORS["secret"]), _VECTORS["seal_number"]
    commitment = bytes.fromhex(_VECTORS["commitment"])
    assert key_fits(_KEY, commitment)
    assert round_key(secret, number) == _KEY and commitment_to(_KEY) == commitment
    for each in _VECTORS["cards"]:
        sealed = bytes.fromhex(each["sealed"])
        assert card_in(sealed, _KEY, each["place"]) == each["card"]
        assert sealed_card(_KEY, each["place"], each["card"]) == sealed


def test_the_vectors_of_seats_follow_from_the_key_of_the_round() -> None:
    for each in _VECTORS["seats"]:
        key, commitment = (bytes.fromhex(each[name]) for name in ("key", "commitment"))
        assert seat_key(_KEY, each["seat"]) == key and key_fits(key, commitment)
        for case in each["cards"]:
            assert card_in(bytes.fromhex(case["sealed"]), key, case["place"]) == case["card"]


def test_cards_beyond_the_256th_of_a_round_open_too() -> None:
    for place in (254, 255, 256, 257, 415):
        assert card_in(sealed_card(_KEY, place, 51), _KEY, place) == 51
        assert card_in(sealed_card(_KEY, place, 51), _KEY, place % 256 + 1) is None


def test_a_card_opens_at_its_own_place_and_under_its_own_key_only() -> None:
    rng = random.Random(5)
    for place in range(0, 255, 17):
        card = rng.randrange(53)
        sealed = sealed_card(_KEY, place, card)
        assert card_in(sealed, _KEY, place) == card
        assert card_in(sealed, _KEY, (place + 1) % 255) is None
        assert card_in(sealed, rng.randbytes(32), place) is None
        assert card_in(sealed, _KEY[:-1], place) is None
        assert card_in(sealed[:-1], _KEY, place) is None and card_in(b"", _KEY, place) is None
        flipped = bytearray(sealed)
        flipped[rng.randrange(1, 16)] ^= 1 << rng.randrange(8)
        assert card_in(bytes(flipped), _KEY, place) is None
    assert card_in(sealed_card(_KEY, 0, 53), _KEY, 0) is None, "the test card"
    assert card_in(sealed_card(_KEY, 0, 5), _KEY, 256) is None, "no place"


def test_a_key_of_another_length_fits_no_commitment() -> None:
    for key in (b"", _KEY[:-1], _KEY + b"\0"):
        assert not key_fits(key, commitment_to(key))
    assert not key_fits(_KEY, b"") and not key_fits(_KEY, commitment_to(_KEY)[:-1])


def test_an_opened_card_has_number_time_position_and_figures_of_the_sealed_one() -> None:
    before = _round("9D 5S TD")
    shown = opened(before)
    assert _names(shown) == ["9D", "5S", "TD"]
    for sealed, card in zip(before, shown, strict=True):
        if isinstance(sealed, SealedCardEvent):
            assert isinstance(card, CardEvent)
            for name in ("number", "boot", "t_ms", "unix_ms", "shoe", "round", *card.fields):
                if name != "card":
                    assert getattr(card, name) == getattr(sealed, name), name
        else:
            assert card is sealed


def test_before_its_key_or_under_another_no_card_is_shown() -> None:
    whole = _round("9D 5S TD")
    assert _names(opened(whole[:-1])) == []
    assert _names(opened([*whole[:-1], event_of("unsealed", 14, seal_key=b"", round=2)])) == []
    other = event_of("unsealed", 14, seal_key=round_key(bytes(32), 10), round=2)
    assert _names(opened([*whole[:-1], other, whole[-1]])) == []
    assert _names(opened(whole[1:])) == [], "without its commitment"


def test_a_card_that_does_not_open_stays_sealed_and_the_others_are_shown() -> None:
    whole = _round("9D 5S TD")
    moved = whole[2]
    assert isinstance(moved, SealedCardEvent)
    whole[2] = replace(moved, place=7)
    shown = opened(whole)
    assert _names(shown) == ["9D", "TD"] and shown[2] is whole[2]


def test_each_round_is_opened_by_its_own_key() -> None:
    one, two = _round("9D 5S", 10, round_=2), _round("TD KC", 20, round_=3)
    assert _names(opened([*one, *two])) == ["9D", "5S", "TD", "KC"]
    assert _names(opened([*one[:-1], *two])) == ["TD", "KC"]
    assert _names(opened([*one[:2], *two[:-1], one[-1]])) == []
