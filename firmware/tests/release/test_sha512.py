"""SHA-512 by the examples of the standard; test_ed25519_cpython.py compares it with hashlib."""

from binascii import hexlify

from sabot_firmware.release.sha512 import sha512


def test_the_standards_examples_of_one_block_and_of_two() -> None:
    # NIST, "Examples with Intermediate Values", SHA-512.
    assert hexlify(sha512(b"abc")) == (
        b"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        b"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    )
    two = (
        b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
    )
    two += b"lmnopqrsmnopqrstnopqrstu"
    assert hexlify(sha512(two)) == (
        b"8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
        b"501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
    )


def test_an_empty_message_has_a_digest_too() -> None:
    assert hexlify(sha512(b"")) == (
        b"cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        b"47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
    )
