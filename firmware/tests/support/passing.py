"""Makes passes from the card code specification, for tests on CPython and on MicroPython."""

# Card code specification, "Geometry" and "The sensor head", in micrometres.
CARD_UM = 63000
FIRST_UM = 7000
PITCH_UM = 3500
WIDTH_UM = 2000
_UV_UM = 6000
_EXIT_UM = 12000
E, A, B, X = 1, 2, 4, 8
_TRACKS = (A, B, A | B)  # of the symbols 0, 1, 2
REST = 600
"""Samples: 30 ms, the least between two cards."""

# "The code": rows of H.
_H = ("011111", "101221", "110122", "121012", "122101", "112210")

FAST_MM_S = 2000


def nibbles_of(data):
    """Return one sample in each byte, of samples as `pass_of` returns them."""
    nibbles = bytearray(2 * len(data))
    for i in range(len(data)):
        nibbles[2 * i] = data[i] & 15
        nibbles[2 * i + 1] = data[i] >> 4
    return nibbles


def code(card, card_set):
    """Return the 14 symbols of a card, built as in the specification."""
    message = 54 * card_set + card
    digits = []
    for power in (243, 81, 27, 9, 3, 1):
        digits.append(message // power % 3)
    checks = []
    for j in range(6):
        checks.append(sum([digits[i] * int(_H[i][j]) for i in range(6)]) % 3)
    return [2] + digits + checks + [0]


def printed(symbols, width_um=WIDTH_UM):
    """Return marks as (begins, width, symbol), the first at the place of the first mark."""
    return [(FIRST_UM + i * PITCH_UM, width_um, symbols[i]) for i in range(len(symbols))]


def pass_of(marks, speed_mm_s=FAST_MM_S, skew_um=0, until_um=_EXIT_UM + CARD_UM):
    """Return the samples of a card with these marks at an even speed, and of the rest after it.

    The card vanishes when its leading edge is at `until_um`. Track B comes `skew_um` after A.
    """
    edges = [(0, E), (CARD_UM, E), (_EXIT_UM, X), (_EXIT_UM + CARD_UM, X)]
    for begins, width, symbol in marks:
        for bit in (A, B):
            if _TRACKS[symbol] & bit:
                at = _UV_UM + begins + (skew_um if bit == B else 0)
                edges.append((at, bit))
                edges.append((at + width, bit))
    edges.sort()
    edges.append((until_um, 0))
    data = bytearray((until_um * 20 // speed_mm_s + 1 + REST) // 2)
    level = since = 0
    for at, bit in edges:
        now = -(-min(at, until_um) * 20 // speed_mm_s)
        for i in range(since, now if level else since):
            data[i >> 1] |= level << 4 * (i & 1)
        since = now
        level ^= bit
        if at >= until_um:
            break
    return data
