"""SHA-512 and Ed25519, compared with hashlib and `cryptography`."""

import hashlib
import json
import os
import random
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from firmware.tests.release.test_ed25519 import each_vector
from sabot.keys import signing
from sabot_firmware.release.ed25519 import is_weak, verify
from sabot_firmware.release.sha512 import sha512

_SEED = 20261122
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P


def test_every_length_around_the_blocks_has_hashlibs_digest() -> None:
    random_bytes = random.Random(_SEED).randbytes
    for size in (*range(260), 1000, 4097):
        data = random_bytes(size)
        assert sha512(data) == hashlib.sha512(data).digest(), (size, _SEED)


def test_what_cryptography_has_signed_is_right() -> None:
    some = random.Random(_SEED)
    for size in range(40):
        private = Ed25519PrivateKey.from_private_bytes(some.randbytes(32))
        message = some.randbytes(size)
        public = private.public_key().public_bytes_raw()
        assert verify(public, private.sign(message), message), (size, _SEED)


@pytest.mark.slow
def test_both_libraries_agree_on_damaged_signatures() -> None:
    some = random.Random(_SEED)
    for _ in range(150):
        for public, message, signature in each_vector():
            parts = [bytearray(public), bytearray(signature), bytearray(message)]
            part = some.choice([each for each in parts if each])
            part[some.randrange(len(part))] ^= 1 << some.randrange(8)
            damaged = [bytes(each) for each in parts]
            assert verify(*damaged) is signing.verify(*damaged) is False, (damaged, _SEED)


Point = tuple[int, int]


def _added(one: Point, two: Point) -> Point:
    """The addition law of RFC 8032, 5.1, in x and y alone."""
    (x1, y1), (x2, y2) = one, two
    both = _D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + both, -1, _P)
    y = (y1 * y2 + x1 * x2) * pow(1 - both, -1, _P)
    return x % _P, y % _P


def _times(factor: int, point: Point) -> Point:
    result = (0, 1)
    while factor:
        if factor & 1:
            result = _added(result, point)
        point, factor = _added(point, point), factor >> 1
    return result


def _points_of_small_order() -> list[Point]:
    """The eight multiples of a point of order 8: any point of the curve, times the large prime."""
    some = random.Random(_SEED)
    while True:
        y = some.randrange(_P)
        square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
        x = pow(square, (_P + 3) // 8, _P)
        if x * x % _P != square:
            x = x * pow(2, (_P - 1) // 4, _P) % _P
        if x * x % _P == square:
            eighth = _times(_L, (x, y))
            if _times(4, eighth) != (0, 1):
                return [_times(factor, eighth) for factor in range(8)]


def _encoded(point: Point, more: int = 0) -> bytes:
    """The 32 bytes of a point; with `more` = p in a longer form, which is refused too."""
    return (point[1] + more | (point[0] & 1) << 255).to_bytes(32, "little")


def _openssl_takes(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_no_point_of_small_order_signs_although_openssl_takes_it() -> None:
    points = _points_of_small_order()
    assert len(set(points)) == 8
    taken = 0
    for key in points:
        for commitment in points:
            public, signature = _encoded(key), _encoded(commitment) + bytes(32)
            assert is_weak(public)
            for number in range(40):
                message = b"%d" % number
                taken += _openssl_takes(public, signature, message)
                assert verify(public, signature, message) is False
                assert signing.verify(public, signature, message) is False
    assert taken > 100  # each is a signature that no key has made


def test_a_holder_of_a_key_cannot_sign_with_a_commitment_of_small_order() -> None:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    digest = bytearray(hashlib.sha512(private.private_bytes_raw()).digest()[:32])
    digest[0] &= 248
    digest[31] = digest[31] & 127 | 64
    secret = int.from_bytes(digest, "little")
    commitment, message = _encoded((0, 1)), b"a release"
    challenge = int.from_bytes(hashlib.sha512(commitment + public + message).digest(), "little")
    response = challenge * secret % _L
    signature = commitment + response.to_bytes(32, "little")
    assert _openssl_takes(public, signature, message)
    assert verify(public, signature, message) is signing.verify(public, signature, message) is False


def test_a_longer_form_of_a_key_is_wrong_on_both_sides() -> None:
    _, message, signature = next(iter(each_vector()))
    for y in range(19):  # those below 19 have one
        public = _encoded((0, y), _P)
        assert is_weak(public)
        for verified in (verify, signing.verify):
            assert not verified(public, signature, message)


@pytest.mark.skipif(
    "SABOT_WYCHEPROOF" not in os.environ, reason="SABOT_WYCHEPROOF names no ed25519_test.json"
)
def test_both_sides_judge_as_wycheproof_does() -> None:
    """Project Wycheproof, testvectors_v1/ed25519_test.json; it is not in this repository."""
    groups = json.loads(Path(os.environ["SABOT_WYCHEPROOF"]).read_text())["testGroups"]
    judged = 0
    for group in groups:
        public = bytes.fromhex(group["publicKey"]["pk"])
        for test in group["tests"]:
            message, signature = bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"])
            right = test["result"] == "valid"
            assert verify(public, signature, message) is right, test["tcId"]
            assert signing.verify(public, signature, message) is right, test["tcId"]
            judged += 1
    assert judged >= 150
