"""What the sensor head sees when a card is pulled through it: samples from geometry.

Positions and sizes: card code specification, "Geometry" and "The sensor head".
"""

from protocol import cards

SAMPLE_RATE_HZ = 20_000

_CARD_MM = 63.0
_FIRST_MARK_MM = 7.0
_PITCH_MM = 3.5
_MARK_MM = 2.0
_ENTRY_MM = 0.0
_UV_MM = 6.0
_EXIT_MM = 12.0

_E, _A, _B, _X = 1, 2, 4, 8
_SAMPLES_PER_WORD = 8

DEALER_SPEED_MM_S = 800.0
REST_S = 0.03
"""Least time between two cards (card code specification, "What real passes look like")."""


def pass_samples(
    card: int,
    card_set: int,
    *,
    speed_mm_s: float = DEALER_SPEED_MM_S,
    accel_mm_s2: float = 0.0,
    rest_s: float = REST_S,
) -> bytes:
    """Sample words of one clean pass of `card` 0-53, and of the rest before the next.

    `speed_mm_s` is that of the leading edge at the entry; it must stay above zero.
    """
    symbols = cards.marks_of(card, card_set)
    nibbles: list[int] = []
    tick = 0
    while True:
        t_s = tick / SAMPLE_RATE_HZ
        edge_mm = speed_mm_s * t_s + accel_mm_s2 * t_s * t_s / 2
        if edge_mm >= _EXIT_MM + _CARD_MM:
            break
        nibbles.append(_levels(edge_mm, symbols))
        tick += 1
    nibbles += [0] * round(rest_s * SAMPLE_RATE_HZ)
    return pack(nibbles)


def blank_samples(*, speed_mm_s: float = DEALER_SPEED_MM_S, rest_s: float = REST_S) -> bytes:
    """Sample words of a card without any code, pulled at a steady speed."""
    ticks = round((_EXIT_MM + _CARD_MM) / speed_mm_s * SAMPLE_RATE_HZ)
    nibbles = [_levels(tick * speed_mm_s / SAMPLE_RATE_HZ, []) for tick in range(ticks)]
    return pack(nibbles + [0] * round(rest_s * SAMPLE_RATE_HZ))


def pack(nibbles: list[int]) -> bytes:
    """Samples as a recording holds them: eight to a little-endian word, padded with zeros."""
    nibbles = nibbles + [0] * (-len(nibbles) % _SAMPLES_PER_WORD)
    return bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))


def _levels(edge_mm: float, symbols: list[int]) -> int:
    """The four comparators with the card's leading edge `edge_mm` past the entry."""
    level = 0
    if _ENTRY_MM <= edge_mm < _ENTRY_MM + _CARD_MM:
        level |= _E
    if _EXIT_MM <= edge_mm < _EXIT_MM + _CARD_MM:
        level |= _X
    on_card_mm = edge_mm - _UV_MM - _FIRST_MARK_MM
    mark, into_mm = divmod(on_card_mm, _PITCH_MM)
    if 0 <= mark < len(symbols) and into_mm < _MARK_MM:
        level |= (_A, _B, _A | _B)[symbols[int(mark)]]
    return level
