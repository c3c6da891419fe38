"""Ed25519 by the vectors of RFC 8032, 7.1; test_ed25519_cpython.py compares another library."""

from binascii import unhexlify

from sabot_firmware.release.ed25519 import verify

VECTORS = (  # public key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e3970"
        "1cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613"
        "d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760"
        "984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23"
        "a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c6"
        "6431e0303dca179c138ac17ad9bef1177331a704",
    ),
)
_ORDER = (1 << 252) + 27742317777372353535851937790883648493


def each_vector():
    for vector in VECTORS:
        yield [unhexlify(part) for part in vector]


def test_the_vectors_of_the_rfc_are_right() -> None:
    for public, message, signature in each_vector():
        assert verify(public, signature, message)


def test_another_message_key_or_signature_is_wrong() -> None:
    vectors = list(each_vector())
    for i in range(len(vectors)):
        public, message, signature = vectors[i]
        other_public, _, other_signature = vectors[i - 1]
        assert not verify(public, signature, message + b"\0")
        assert not verify(other_public, signature, message)
        assert not verify(public, other_signature, message)


def test_a_flipped_bit_is_wrong_wherever_it_is() -> None:
    public, message, signature = next(each_vector())
    for bit in range(0, 512, 37):
        flipped = bytearray(signature)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not verify(public, bytes(flipped), message)
    for bit in range(0, 256, 41):
        flipped = bytearray(public)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not verify(bytes(flipped), signature, message)


def test_a_signature_has_one_form_only() -> None:
    public, message, signature = next(each_vector())
    response = int.from_bytes(signature[32:], "little") + _ORDER
    assert not verify(public, signature[:32] + response.to_bytes(32, "little"), message)


def test_a_key_must_be_a_point_in_its_one_form() -> None:
    _, message, signature = next(each_vector())
    p = (1 << 255) - 19
    for y in (2, p, p + 1, (1 << 255) - 1, 1 | 1 << 255, (p - 1) | 1 << 255):
        assert not verify(y.to_bytes(32, "little"), signature, message), y


def test_a_key_and_a_commitment_of_small_order_are_wrong() -> None:
    """With the neutral point as key, S = 0 and the neutral point sign every message."""
    public, message, signature = next(each_vector())
    neutral, response = b"\x01" + bytes(31), bytes(32)
    assert not verify(neutral, neutral + response, message)
    assert not verify(neutral, signature, message)
    assert not verify(public, neutral + signature[32:], message)


def test_another_length_is_wrong() -> None:
    public, message, signature = next(each_vector())
    for size in (0, 31, 33):
        assert not verify((public * 2)[:size], signature, message)
    for size in (0, 63, 65):
        assert not verify(public, (signature * 2)[:size], message)
