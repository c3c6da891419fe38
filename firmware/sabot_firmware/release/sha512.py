"""SHA-512 (FIPS 180-4), which MicroPython lacks; it is used for the one signature of a release.

It is slow, 40 ms a block on a Pico, and makes garbage: words of 64 bits are heap objects there.
"""

from binascii import unhexlify

_BLOCK = 128
_LENGTH_SIZE = 16
_ROUNDS = 80
_MASK = (1 << 64) - 1

# FIPS 180-4, 4.2.3: the first 64 bits of the fractions of the cube roots of the first 80 primes.
_ADDED = unhexlify(
    "428A2F98D728AE227137449123EF65CDB5C0FBCFEC4D3B2FE9B5DBA58189DBBC3956C25BF348B538"
    "59F111F1B605D019923F82A4AF194F9BAB1C5ED5DA6D8118D807AA98A303024212835B0145706FBE"
    "243185BE4EE4B28C550C7DC3D5FFB4E272BE5D74F27B896F80DEB1FE3B1696B19BDC06A725C71235"
    "C19BF174CF692694E49B69C19EF14AD2EFBE4786384F25E30FC19DC68B8CD5B5240CA1CC77AC9C65"
    "2DE92C6F592B02754A7484AA6EA6E4835CB0A9DCBD41FBD476F988DA831153B5983E5152EE66DFAB"
    "A831C66D2DB43210B00327C898FB213FBF597FC7BEEF0EE4C6E00BF33DA88FC2D5A79147930AA725"
    "06CA6351E003826F142929670A0E6E7027B70A8546D22FFC2E1B21385C26C9264D2C6DFC5AC42AED"
    "53380D139D95B3DF650A73548BAF63DE766A0ABB3C77B2A881C2C92E47EDAEE692722C851482353B"
    "A2BFE8A14CF10364A81A664BBC423001C24B8B70D0F89791C76C51A30654BE30D192E819D6EF5218"
    "D69906245565A910F40E35855771202A106AA07032BBD1B819A4C116B8D2D0C81E376C085141AB53"
    "2748774CDF8EEB9934B0BCB5E19B48A8391C0CB3C5C95A634ED8AA4AE3418ACB5B9CCA4F7763E373"
    "682E6FF3D6B2B8A3748F82EE5DEFB2FC78A5636F43172F6084C87814A1F0AB728CC702081A6439EC"
    "90BEFFFA23631E28A4506CEBDE82BDE9BEF9A3F7B2C67915C67178F2E372532BCA273ECEEA26619C"
    "D186B8C721C0C207EADA7DD6CDE0EB1EF57D4F7FEE6ED17806F067AA72176FBA0A637DC5A2C898A6"
    "113F9804BEF90DAE1B710B35131C471B28DB77F523047D8432CAAB7B40C724933C9EBE0A15C9BEBC"
    "431D67C49C100D4C4CC5D4BECB3E42B6597F299CFC657E2A5FCB6FAB3AD6FAEC6C44198C4A475817"
)
# 5.3.5: of the square roots of the first eight.
_BEGIN = unhexlify(
    "6A09E667F3BCC908BB67AE8584CAA73B3C6EF372FE94F82BA54FF53A5F1D36F1"
    "510E527FADE682D19B05688C2B3E6C1F1F83D9ABFB41BD6B5BE0CD19137E2179"
)


def sha512(data: bytes) -> bytes:
    """Return the digest of `data`, 64 bytes."""
    state = _words(_BEGIN, 0, 8)
    added = _words(_ADDED, 0, _ROUNDS)
    zeros = (_BLOCK - 1 - _LENGTH_SIZE - len(data)) % _BLOCK
    padded = data + b"\x80" + bytes(zeros) + (8 * len(data)).to_bytes(_LENGTH_SIZE, "big")
    for at in range(0, len(padded), _BLOCK):
        _add_block(state, padded, at, added)
    return b"".join([word.to_bytes(8, "big") for word in state])


def _words(data: bytes, at: int, count: int) -> "list[int]":
    return [int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "big") for i in range(count)]


def _turned(word: int, right: int) -> int:
    return word >> right | word << (64 - right)  # more than 64 bits: the caller masks the sum


def _add_block(state: "list[int]", data: bytes, at: int, added: "list[int]") -> None:
    """Do the rounds of 6.4.2."""
    words = _words(data, at, 16)
    a, b, c, d, e, f, g, h = state
    for i in range(_ROUNDS):
        if i < 16:
            word = words[i]
        else:
            early, late = words[(i + 1) & 15], words[(i + 14) & 15]
            word = words[i & 15] + words[(i + 9) & 15]
            word += (_turned(early, 1) ^ _turned(early, 8) ^ early >> 7) & _MASK
            word += (_turned(late, 19) ^ _turned(late, 61) ^ late >> 6) & _MASK
            word &= _MASK
            words[i & 15] = word
        one = h + added[i] + word + (g ^ (e & (f ^ g)))
        one += (_turned(e, 14) ^ _turned(e, 18) ^ _turned(e, 41)) & _MASK
        two = (a & b) | (c & (a | b))
        two += (_turned(a, 28) ^ _turned(a, 34) ^ _turned(a, 39)) & _MASK
        h, g, f, e, d, c, b, a = g, f, e, (d + one) & _MASK, c, b, a, (one + two) & _MASK
    for i, word in enumerate((a, b, c, d, e, f, g, h)):
        state[i] = (state[i] + word) & _MASK
