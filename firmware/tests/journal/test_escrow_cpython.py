"""The escrow of the shoe, compared with the package `cryptography`."""

import hashlib
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from firmware.tests.journal.test_seals import Unit
from firmware.tests.support import hand
from sabot_firmware.journal.escrow import _BASE, Escrow, _product
from sabot_protocol import provisioning
from sabot_protocol.provisioning import ProvisioningError

_KEY = bytes(range(50, 82))


def _numbers(seed: int) -> tuple[X25519PrivateKey, X25519PrivateKey, bytes]:
    rng = random.Random(seed)
    one, other = (X25519PrivateKey.from_private_bytes(rng.randbytes(32)) for _ in range(2))
    return one, other, b"".join(each.public_key().public_bytes_raw() for each in (one, other))


def _opened(taken: tuple[bytes, bytes], one: X25519PrivateKey, other: X25519PrivateKey) -> bytes:
    public, sealed = taken
    point = X25519PublicKey.from_public_bytes(public)
    shared = one.exchange(point) + other.exchange(point)
    pad = hashlib.sha256(b"sabot escrow" + public + shared).digest()
    return bytes(a ^ b for a, b in zip(sealed, pad, strict=True))


def _multiplied(scalar: int, u: int) -> bytes:
    work = _product(scalar, u)
    while True:
        try:
            next(work)
        except StopIteration as over:
            found: bytes = over.value
            return found


def test_products_are_those_of_rfc_7748() -> None:
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    u = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    number = int.from_bytes(scalar, "little") & ((1 << 254) - 8) | 1 << 254
    due = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    assert _multiplied(number, int.from_bytes(u, "little")).hex() == due
    for seed in range(20):
        raw = random.Random(seed).randbytes(32)
        number = int.from_bytes(raw, "little") & ((1 << 254) - 8) | 1 << 254
        own = X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
        assert _multiplied(number, _BASE) == own


def test_only_both_halves_together_open_the_key_of_a_round() -> None:
    one, other, halves = _numbers(1)
    escrow = Escrow(halves, lambda: random.Random(2).randbytes(32))
    taken = escrow.take(_KEY)
    assert _opened(taken, one, other) == _KEY
    stranger = _numbers(3)[0]
    for pair in ((one, one), (other, other), (other, one), (one, stranger), (stranger, other)):
        assert _opened(taken, *pair) != _KEY


def test_each_round_has_a_public_key_of_its_own_and_nothing_of_the_last_one_stays() -> None:
    one, other, halves = _numbers(4)
    rng = random.Random(5)
    escrow, made = Escrow(halves, lambda: rng.randbytes(32)), []
    for _ in range(3):
        while not escrow.ready:
            escrow.step(8)
        pad = escrow._pad
        made.append(escrow.take(_KEY))
        assert _opened(made[-1], one, other) == _KEY
        assert not escrow.ready and not escrow._pad and pad not in vars(escrow).values()
    assert len({public for public, _ in made}) == len({sealed for _, sealed in made}) == 3


def test_the_key_of_the_round_follows_its_seal_and_opens_each_seat() -> None:
    one, other, halves = _numbers(6)
    unit = Unit(hand.game(hole_cards="shown", seats=3))
    unit.seals.begin(77, True)
    taken = Escrow(halves, lambda: random.Random(7).randbytes(32)).take(unit.seals.round_key())
    assert _opened(taken, one, other) == unit.seals.round_key()


@pytest.mark.parametrize("u", [0, 1, (1 << 255) - 20, (1 << 255) - 19, (1 << 255) - 18,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823])  # fmt: skip
def test_a_weak_half_is_refused(u: int) -> None:
    """With such a half `cryptography` refuses to share, because what is shared is zero."""
    weak = u.to_bytes(32, "little")
    with pytest.raises(ValueError, match="shared"):
        _numbers(1)[0].exchange(X25519PublicKey.from_public_bytes(weak))
    good = _numbers(8)[2][:32]
    for halves in (weak + good, good + weak, weak + weak):
        with pytest.raises(ProvisioningError, match="weak"):
            provisioning._escrow(halves)


def test_both_halves_of_one_person_are_refused() -> None:
    half = _numbers(9)[2][:32]
    same = bytes([*half[:31], half[31] | 0x80])  # the highest bit does not count
    for halves in (half + half, half + same, half, b"", 7):
        with pytest.raises(ProvisioningError, match=r"same|two public halves"):
            provisioning._escrow(halves)
