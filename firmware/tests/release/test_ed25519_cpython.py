"""SHA-512 and Ed25519, compared with hashlib and `cryptography`."""

import hashlib
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from firmware.tests.release.test_ed25519 import each_vector
from sabot.keys import signing
from sabot_firmware.release.ed25519 import verify
from sabot_firmware.release.sha512 import sha512

_SEED = 20261122


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
