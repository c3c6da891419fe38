"""What the person who verifies knows to be in another place: units, chains and game documents."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from sabot.desk.notes import UNIT as DESK
from sabot.log import boards

_NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<digits>[0-9]{1,18})", re.ASCII | re.DOTALL)
_HEX = re.compile(r"[0-9a-f]{8,64}", re.ASCII | re.IGNORECASE)
_TO = re.compile(r"\s+to\s+")
_MOST_CHARACTERS = 1 << 20
_FEWEST_IN_A_RANGE = 3


class Elsewhere:
    """What may be missing. Each text names one thing or several, with commas or lines between them:
    a unit, one of its boards, several units as `SHOE-2 to SHOE-40` or `MACAU-*`, `@desk`, or the
    chain or the game document whose hash begins with 8 hex digits or more.

    Raises ValueError for a text that names nothing.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._patterns: list[re.Pattern[str]] = []
        self._ranges: list[tuple[str, str]] = []
        self._hashes: list[str] = []
        for text in texts:
            if len(text) > _MOST_CHARACTERS:
                raise ValueError("too long for names of units")
            for each in filter(None, map(str.strip, re.split(r"[,\n]", text))):
                self._add(each)

    def _add(self, text: str) -> None:
        ends = _TO.split(text)
        if len(ends) == 2:
            first, last = (_NUMBERED.fullmatch(end) for end in ends)
            if first is None or last is None or first["prefix"] != last["prefix"]:
                raise ValueError(f"{text!r}: both ends need the same name and a number")
            if int(first["digits"]) > int(last["digits"]):
                raise ValueError(f"{text!r}: the first number is larger than the last")
            self._ranges.append((ends[0], ends[1]))
            return
        if "*" in text:
            self._patterns.append(re.compile(".*".join(map(re.escape, text.split("*")))))
            return
        self._names.add(text)
        if _HEX.fullmatch(text):
            self._hashes.append(text.lower())

    def has_unit(self, name: str) -> bool:
        """Whether a unit, or one of its boards, is known to be elsewhere."""
        return any(
            each in self._names
            or (
                each != DESK
                and (
                    any(pattern.fullmatch(each) for pattern in self._patterns)
                    or any(_within(each, *ends) for ends in self._ranges)
                )
            )
            for each in {name, boards.unit_of(name)}
        )

    def has_hash(self, sha256: bytes) -> bool:
        """Whether a chain or a game document with this hash is known to be elsewhere."""
        return sha256.hex().startswith(tuple(self._hashes)) if self._hashes else False


NOWHERE = Elsewhere()
"""Nothing is known to be elsewhere."""


def named(names: Iterable[str]) -> str:
    """Return names of units for people, in order, and as `Elsewhere` takes them: those that count
    up by one as a range."""
    parts: list[str] = []
    numbered = [(name, _NUMBERED.fullmatch(name)) for name in set(names)]
    parts += [name for name, found in numbered if found is None]
    counting = sorted(
        (found["prefix"], int(found["digits"]), name) for name, found in numbered if found
    )
    for _, run in groupby(enumerate(counting), lambda at: (at[1][0], at[1][1] - at[0])):
        parts += _range([name for _, (_, _, name) in run])
    return ", ".join(sorted(parts))


def _range(run: Sequence[str]) -> list[str]:
    if len(run) < _FEWEST_IN_A_RANGE or not all(_within(name, run[0], run[-1]) for name in run):
        return list(run)
    return [f"{run[0]} to {run[-1]}"]


def _within(name: str, first: str, last: str) -> bool:
    """Whether the number of a name is between those of two others, written in the same way."""
    found = [_NUMBERED.fullmatch(each) for each in (first, name, last)]
    if None in found or len({each["prefix"] for each in found if each}) > 1:
        return False
    low, digits, high = (each["digits"] for each in found if each)
    padded = any(each.startswith("0") and each != "0" for each in (low, digits, high))
    if padded and not len(low) == len(digits) == len(high):
        return False
    return int(low) <= int(digits) <= int(high)
