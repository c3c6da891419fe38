"""The host's audit chain, against the `hmac` module, another library's HMAC and golden vectors."""

import hmac
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from host.tests.support.hashes import Hashes
from host.tests.support.helpers import NaiveChain
from sabot.audit.chain import (
    MOST_EVENTS,
    MOST_SEARCHED,
    Ratchet,
    RevealedKeys,
    epoch_of,
    mac,
)
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot_protocol.chain import chain_id

VECTORS = Path(__file__).resolve().parents[3] / "protocol" / "vectors" / "chain.json"


@pytest.fixture(scope="module")
def vectors() -> Any:
    return json.loads(VECTORS.read_text())


def test_macs_are_hmac_sha_256_cut_to_16_bytes(rng: random.Random) -> None:
    for _ in range(200):
        key, before = rng.randbytes(32), rng.randbytes(16)
        record = rng.randbytes(rng.randrange(200))
        made = mac(key, before, record)
        assert made == hmac.new(key, before + record, "sha256").digest()[:16]
        second = HMAC(key, SHA256())
        second.update(before + record)
        assert made == second.finalize()[:16]


def test_keys_are_those_of_a_naive_chain(rng: random.Random) -> None:
    first_key = rng.randbytes(32)
    naive, ratchet = NaiveChain(first_key), Ratchet(first_key)
    assert ratchet.chain == chain_id(first_key) == naive.id
    for epoch in (0, 0, 1, 2, 7, 7, 3, 0, 5000, 4095, 4096, 4097, 9000, 8192, 1, 8999):
        assert ratchet.mac_key(epoch) == naive.key(epoch), epoch
    for epoch in (rng.randrange(20_000) for _ in range(30)):
        assert ratchet.mac_key(epoch) == naive.key(epoch), epoch


def test_golden_keys(vectors: Any) -> None:
    ratchet = Ratchet(bytes.fromhex(vectors["first_key"]))
    assert ratchet.chain is not None and ratchet.chain.hex() == vectors["chain"]
    for each in (*vectors["epochs"], vectors["far_epoch"]):
        assert ratchet.mac_key(each["epoch"]).hex() == each["mac_key"]


def test_golden_macs(vectors: Any) -> None:
    ratchet = Ratchet(bytes.fromhex(vectors["first_key"]))
    before = bytes.fromhex(vectors["chain"])
    for each in vectors["records"]:
        key = ratchet.mac_key(epoch_of(each["number"]))
        before = mac(key, before, bytes.fromhex(each["record"]))
        assert before.hex() == each["mac"], each["number"]


@pytest.mark.parametrize("revealed", [False, True])
def test_the_golden_log_verifies_without_its_lost_events(vectors: Any, revealed: bool) -> None:
    macs: Any = Ratchet(bytes.fromhex(vectors["first_key"]))
    if revealed:
        keys = {each["epoch"]: bytes.fromhex(each["mac_key"]) for each in vectors["epochs"]}
        macs = RevealedKeys(keys, bytes.fromhex(vectors["chain"]))
    rows = [
        (each["number"], bytes.fromhex(each["record"]), bytes.fromhex(each["mac"]))
        for each in vectors["records"]
        if not each.get("lost")
    ]
    found = UnitChecks("U1", macs=macs).verify(rows, Summary())
    numbers = {each["number"] for each in vectors["records"] if each.get("lost")}
    gaps = {n for n in numbers if n - 1 not in numbers}
    of_chain = {(e.event, e.kind) for e in found if e.kind not in ("incomplete", "time")}
    assert of_chain == {(number, "gap") for number in gaps}


def test_only_revealed_keys_are_known() -> None:
    some = RevealedKeys({3: b"\1" * 32, 9: b"\2" * 32}, b"\3" * 16)
    assert (some.mac_key(3), some.mac_key(9), some.chain) == (b"\1" * 32, b"\2" * 32, b"\3" * 16)
    assert list(some.epochs_near(5, 8)) == [3] and list(some.epochs_near(5, 9)) == [3, 9]
    with pytest.raises(KeyError):
        some.mac_key(4)


def test_each_key_is_derived_once_in_whatever_order_numbers_are_asked_for(
    hashes: Hashes, rng: random.Random
) -> None:
    ratchet, farthest = Ratchet(bytes(32)), 20_000
    for _ in range(100):
        for epoch in (farthest, 0, rng.randrange(farthest), farthest - rng.randrange(70)):
            ratchet.mac_key(epoch)
    assert hashes.count < farthest + 400 * 65


@pytest.mark.parametrize("number", [-1, -(1 << 63), MOST_EVENTS + 4, 1 << 40, 1 << 63])
def test_no_key_is_derived_for_a_number_that_no_shoe_reaches(hashes: Hashes, number: int) -> None:
    ratchet = Ratchet(bytes(32))
    hashes.count = 0
    with pytest.raises(KeyError):
        ratchet.mac_key(epoch_of(number))
    assert hashes.count == 0


def test_the_keys_that_are_tried_for_changed_records_are_few_in_all() -> None:
    ratchet = Ratchet(bytes(32))
    assert list(ratchet.epochs_near(2, 5)) == [0, 1, 2, 3, 4, 5]
    near = ratchet.epochs_near(1 << 21, 1 << 60)
    assert 1 << 21 in near and len(near) == MOST_SEARCHED - 6
    assert not list(ratchet.epochs_near(5, 1 << 60))
    near = Ratchet(bytes(32)).epochs_near(epoch_of(MOST_EVENTS), 1 << 60)
    assert max(near) == epoch_of(MOST_EVENTS)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_first_key_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes"):
        Ratchet(bytes(size))


def test_a_key_is_in_no_repr() -> None:
    first_key = bytes(range(32))
    for keys in (Ratchet(first_key), RevealedKeys({0: first_key})):
        assert first_key.hex() not in repr(keys) and repr(first_key) not in repr(keys)
