"""Encrypts the key of a round for those two who have the halves of the escrow (protocol README.md,
"Escrow"). The shoe has only the public halves, and makes a key of its own for each round.

X25519 is that of RFC 7748, 5. It need not run in constant time: each secret number serves once.
Only a shoe that was given the halves loads this module.
"""

from hashlib import sha256

from sabot_protocol import seals

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable, Generator

_P = (1 << 255) - 19
_A24 = 121665
_HIGHEST_BIT = 254
_BASE = 9
_SIZE = 32


class Escrow:
    """Makes ready a pad for the key of the next round, in steps of 3 ms on a Pico, for the public
    `halves`. `fresh_secret` returns 32 bytes that no one can know."""

    def __init__(self, halves: bytes, fresh_secret: "Callable[[], bytes]") -> None:
        self._halves = halves
        self._fresh_secret = fresh_secret
        self._begin()

    def _begin(self) -> None:
        self.ready = False
        """Whether the key of a round can be encrypted at once."""
        self._public = self._pad = b""
        self._work = self._make_ready()

    def step(self, count: int) -> None:
        """Go on making ready, for at most this many steps."""
        while count and not self.ready:
            next(self._work)
            count -= 1

    def take(self, key: bytes) -> "tuple[bytes, bytes]":
        """Return the public key of the round and its encrypted `key`; then begin the next pad. If
        the pad is not ready, this takes up to 3 s on a Pico."""
        self.step(4 * (_HIGHEST_BIT + 2))
        public, pad = self._public, self._pad
        self._begin()
        return public, bytes([key[at] ^ pad[at] for at in range(_SIZE)])

    def _make_ready(self) -> "Generator[None, None, None]":
        scalar = int.from_bytes(self._fresh_secret(), "little")
        scalar = (scalar & ((1 << 254) - 8)) | 1 << 254
        public: bytes = yield from _product(scalar, _BASE)
        shared = b""
        for at in range(0, len(self._halves), _SIZE):
            half = int.from_bytes(self._halves[at : at + _SIZE], "little")
            share: bytes = yield from _product(scalar, half & ((1 << 255) - 1))
            shared += share
        self._public = public
        self._pad = sha256(seals.ESCROW_LABEL + public + shared).digest()
        self.ready = True
        yield


def _product(scalar: int, u: int) -> "Generator[None, None, bytes]":
    """Multiply the point with this u by a scalar (the Montgomery ladder of RFC 7748, 5)."""
    x2, z2, x3, z3, swapped = 1, 0, u, 1, 0
    for at in range(_HIGHEST_BIT, -1, -1):
        bit = scalar >> at & 1
        if bit != swapped:
            x2, z2, x3, z3 = x3, z3, x2, z2
        swapped = bit
        a, b = x2 + z2, x2 - z2
        aa, bb = a * a % _P, b * b % _P
        da, bc = (x3 - z3) * a % _P, (x3 + z3) * b % _P
        x3, z3 = da + bc, da - bc
        x3, z3 = x3 * x3 % _P, z3 * z3 % _P * u % _P
        e = aa - bb
        x2, z2 = aa * bb % _P, e * (aa + _A24 * e) % _P
        yield
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, _P - 2, _P) % _P).to_bytes(_SIZE, "little")
