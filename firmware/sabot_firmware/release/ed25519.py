"""Verifies Ed25519 signatures (RFC 8032, 5.1). It never handles a secret, so it need not run in
constant time.
"""

from sabot_firmware.release.sha512 import sha512

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Iterator

    _Point = tuple[int, int, int, int]

PUBLIC_SIZE = 32
SIGNATURE_SIZE = 64

# 5.1, "Parameters", and RFC 7748, 4.1.
_P = (1 << 255) - 19
_ORDER = (1 << 252) + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_BITS = 253
"""Bits of the scalars, which are smaller than the order."""
_SIGN = 1 << 255
_BASE_Y = 4 * pow(5, _P - 2, _P) % _P

_EIGHTH_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022
_WEAK_YS = (0, 1, _P - 1, _EIGHTH_Y, _P - _EIGHTH_Y)
"""The y of the eight points whose order divides 8: a key of these signs what it never saw."""

# A point is (X, Y, Z, T): x = X/Z, y = Y/Z, x*y = T/Z (5.1.4).
_NEUTRAL = (0, 1, 1, 0)


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` (64 bytes) of `message` was made with the key of `public` (32 bytes).

    It verifies without the cofactor, accepts each number only in its shortest form, and no key and
    no commitment of small order: what passes here passes with every implementation that follows
    RFC 8032, with the cofactor or without.
    """
    result = False
    for step in verification(public, signature, message):
        result = step
    return result


def verification(public: bytes, signature: bytes, message: bytes) -> "Iterator[bool]":
    """Verify in steps of 5 ms on a Pico; some at the beginning and the end take 80 ms. Yields False
    until the result is known, and then the result."""
    yield False
    if len(public) != PUBLIC_SIZE or len(signature) != SIGNATURE_SIZE:
        return
    commitment = signature[:PUBLIC_SIZE]
    key = None if is_weak(public) or is_weak(commitment) else _decoded(public)
    response = int.from_bytes(signature[PUBLIC_SIZE:], "little")
    if key is None or response >= _ORDER:
        return
    yield False
    challenge = int.from_bytes(sha512(commitment + public + message), "little") % _ORDER
    yield False
    base: "_Point" = _point(_BASE_Y, 0)  # type: ignore[assignment]
    # S*B = R + k*A, so R is S*B - k*A. Both products are computed together, bit by bit.
    minus_key = (_P - key[0], key[1], 1, _P - key[3])
    steps = (None, base, minus_key, _sum(base, minus_key))
    found = _NEUTRAL
    for bit in range(_BITS - 1, -1, -1):
        yield False
        found = _doubled(found)
        step = steps[response >> bit & 1 | (challenge >> bit & 1) << 1]
        if step is not None:
            found = _sum(found, step)
    yield False
    yield _encoded(found) == commitment


def is_weak(point: bytes) -> bool:
    """Whether these 32 bytes are a point of small order, or are not the shortest form of one."""
    y = int.from_bytes(point, "little") & (_SIGN - 1)
    return y >= _P or y in _WEAK_YS


def _sum(p: "_Point", q: "_Point") -> "_Point":
    """Add two points (5.1.4)."""
    x1, y1, z1, t1 = p
    x2, y2, z2, t2 = q
    a = (y1 - x1) * (y2 - x2) % _P
    b = (y1 + x1) * (y2 + x2) % _P
    c = 2 * t1 * t2 % _P * _D % _P
    d = 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(p: "_Point") -> "_Point":
    x, y, z, _ = p
    a = x * x % _P
    b = y * y % _P
    h = a + b
    e = h - (x + y) * (x + y) % _P
    g = a - b
    f = 2 * z * z % _P + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _decoded(data: bytes) -> "_Point | None":
    """Return the point of 32 bytes, or None (5.1.3)."""
    y = int.from_bytes(data, "little")
    sign = 1 if y & _SIGN else 0
    return _point(y & (_SIGN - 1), sign)


def _point(y: int, sign: int) -> "_Point | None":
    """Return the point with this y and an even x (odd for `sign` 1); None if there is none."""
    square_y = y * y % _P
    u, v = (square_y - 1) % _P, (_D * square_y + 1) % _P
    v3 = v * v % _P * v % _P
    x = u * v3 % _P * pow(u * v3 % _P * v3 % _P * v % _P, (_P - 5) // 8, _P) % _P
    square = v * x % _P * x % _P
    if square != u:
        if square != _P - u:
            return None
        x = x * _ROOT_OF_MINUS_1 % _P
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _encoded(p: "_Point") -> bytes:
    """Return the 32 bytes of a point (5.1.2)."""
    x, y, z, _ = p
    inverse = pow(z, _P - 2, _P)
    x, y = x * inverse % _P, y * inverse % _P
    return (y | (x & 1) << 255).to_bytes(PUBLIC_SIZE, "little")
