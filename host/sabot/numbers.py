"""The one place that makes numbers of what came from outside: text, JSON and CBOR.

Python makes integers of any size, and refuses to write or read one of over 4,300 digits with a
ValueError that no reader expects. No number of Sabot has more than 64 bits.
"""

from collections.abc import Iterable

LARGEST = (1 << 63) - 1
"""The largest number that a column of a log holds."""

_MOST = (1 << 64) - 1
_LEAST = -(1 << 63)


def whole(text: str, most: int = LARGEST) -> int | None:
    """Return the number that `text` writes in the digits 0 to 9, and nothing else; None if it is
    none, or larger than `most`."""
    if not (text.isascii() and text.isdecimal()):
        return None
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(most)):
        return None
    number = int(digits)
    return number if number <= most else None


def fit(value: object) -> bool:
    """Whether every integer in a decoded value, at any depth, has at most 64 bits."""
    left: list[object] = [value]
    while left:
        each = left.pop()
        if type(each) is int:
            if not _LEAST <= each <= _MOST:
                return False
        elif isinstance(each, dict):
            left += _of(each.items())
        elif isinstance(each, (list, tuple, set, frozenset)):
            left += each
    return True


def _of(pairs: Iterable[tuple[object, object]]) -> list[object]:
    return [each for pair in pairs for each in pair]
