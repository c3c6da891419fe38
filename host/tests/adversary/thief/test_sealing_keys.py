"""Who holds every key but the unit's sealing secret opens no card, and who holds the log opens none
as another one.

Keys and pads are computed as protocol/README.md defines them (support/sealing.py).
"""

import hmac
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from firmware.tests.fakes.fake_flash import FIRST_KEY
from host.tests.adversary.thief.rounds import Played, played
from host.tests.adversary.thief.settings import rounds, seed
from host.tests.support.sealing import commitment_to, round_key, sealed_card
from sabot_firmware.journal.seals import Seals
from sabot_protocol.chain import chain_id, command_key

_ROUNDS = (30, 400)
_LABELS = ("round", "seal", "card", "note", "state", "command", "next", "mac", "chain")

_Sealed = dict[tuple[str, int], set[bytes]]


@pytest.fixture(scope="module")
def given_to_pads() -> _Sealed:
    """What was sealed in the journal, by kind and number of the next event."""
    return {}


@pytest.fixture(scope="module")
def midi(given_to_pads: _Sealed) -> Iterator[Played]:
    """Rounds of midi with losses of power, and what was sealed in the journal meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("note", "state"):
            _note_calls(patch, name, given_to_pads)
        with played("midi", seed(), rounds(*_ROUNDS)) as made:
            yield made


def _note_calls(patch: pytest.MonkeyPatch, name: str, given: _Sealed) -> None:
    method = getattr(Seals, name)

    def noted(self: Seals, number: int, content: Any) -> Any:
        given.setdefault((name, number), set()).add(bytes(content))
        return method(self, number, content)

    patch.setattr(Seals, name, noted)


@pytest.mark.slow
def test_the_secret_and_the_keys_of_rounds_that_never_show_leave_no_unit(midi: Played) -> None:
    shoe, unknown = midi.shoe, 0
    for number, commitment, secret in shoe.seals:
        key = round_key(secret, number)
        assert commitment_to(key) == commitment
        assert secret not in shoe.all_sent
        assert (key in shoe.all_sent) == (key in shoe.keys)
        unknown += key not in shoe.keys
    assert unknown > 10 and len({secret for _, _, secret in shoe.seals}) > 1


@pytest.mark.slow
def test_the_secret_is_in_one_document_of_the_board_and_no_card_is_in_any(midi: Played) -> None:
    secret = midi.shoe.kept()
    with_it = [
        path.name for path in Path(midi.shoe.folder.path).iterdir() if secret in path.read_bytes()
    ]
    assert with_it == ["seal_secret.cbor"]


def test_no_pad_of_the_journal_serves_twice(midi: Played, given_to_pads: _Sealed) -> None:
    assert len(midi.strata) and len(given_to_pads) > 100
    assert {kind for kind, _ in given_to_pads} == {"note", "state"}
    assert all(len(contents) == 1 for contents in given_to_pads.values())


def test_who_has_the_first_key_and_the_command_key_derives_no_key_of_a_round(midi: Played) -> None:
    known = [FIRST_KEY, command_key(FIRST_KEY), chain_id(FIRST_KEY), bytes(32)]
    known += midi.shoe.keys[:20]
    secret = FIRST_KEY
    for _ in range(8):
        secret = sha256(b"sabot next" + secret).digest()
        known += [secret, sha256(b"sabot mac" + secret).digest()]
    for number, commitment, of_unit in midi.shoe.seals[-5:]:
        made = {key for each in known for key in _derived(each, number)}
        assert len(made) > 50 * len(known)
        fits = {key for key in made if commitment_to(key) == commitment}
        assert fits <= set(midi.shoe.keys), "those that the shoe has sent"
        assert commitment in {commitment_to(key) for key in _derived(of_unit, number)}


def _derived(key: bytes, number: int) -> Iterator[bytes]:
    """What can be made of a key by the means of the protocol."""
    yield key
    for label in _LABELS:
        text = f"sabot {label}".encode()
        for size in (0, 1, 4, 8):
            for at in {number % 256, number}:
                message = text + (at.to_bytes(8, "big")[-size:] if size else b"")
                yield hmac.new(key, message, sha256).digest()
                yield sha256(message + key).digest()
                yield sha256(text + key + message[len(text) :]).digest()


def test_two_units_with_the_same_keys_seal_the_same_cards_differently() -> None:
    shoes = []
    for another in (0, 1):
        with played("midi", seed(), 6, secrets=another) as made:
            shoes.append(made)
    one, other = shoes
    for place in one.cards:
        assert (one.cards[place] == other.cards[place]).all(), "the same cards"
    assert one.shoe.seals[0][0] == other.shoe.seals[0][0], "the same number"
    assert not {each[1] for each in one.shoe.seals} & {each[1] for each in other.shoe.seals}
    assert not set(one.shoe.sealed) & set(other.shoe.sealed)


def test_a_commitment_is_opened_by_one_key_and_a_sealed_card_is_one_card(midi: Played) -> None:
    for number, commitment, secret in midi.shoe.seals[:3]:
        key = round_key(secret, number)
        for bit in range(256):
            other = bytearray(key)
            other[bit // 8] ^= 1 << bit % 8
            assert commitment_to(bytes(other)) != commitment
        for place in range(6):
            sealed = [sealed_card(key, place, card) for card in range(53)]
            assert len(set(sealed)) == 53
