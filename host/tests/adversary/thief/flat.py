"""What a thief has seen in a round as numbers by name, and of many rounds as one table."""

from typing import Any
from zlib import crc32

import numpy as np

from host.tests.adversary.thief.guessing import Numbers

_MOST_BYTES = 16
"""Of a text or of bytes, whose length is seen too. The counts of a composition are more."""
_NULL = -1
_ABSENT = -1 << 40


class Seen:
    """What was seen in one round: `features` by name, and its events in order."""

    def __init__(self) -> None:
        self.features: dict[str, int] = {}
        self.events: list[tuple[str, list[Any]]] = []
        self.figures: set[int] = set()
        """The cards whose figures were somewhere in what was seen, byte for byte."""

    def note(self, name: str, value: Any) -> None:
        """Note a value of a message, an event or an entry as one number or more."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.features[f"{name}.length"] = len(value)
            for at, octet in enumerate(bytes(value[:_MOST_BYTES])):
                self.features[f"{name}.{at}"] = octet
            self.features[f"{name}.rest"] = crc32(bytes(value[_MOST_BYTES:]))
        elif isinstance(value, str):
            self.features[name] = crc32(value.encode())
        elif isinstance(value, (list, tuple)):
            self.features[f"{name}.length"] = len(value)
            for at, each in enumerate(value):
                self.note(f"{name}.{at}", each)
        else:
            self.features[name] = _NULL if value is None else int(value)

    def count(self, kind: str) -> int:
        """How many events of this kind there were."""
        return sum(name == kind for name, _ in self.events)


class Table:
    """What was seen in many rounds, one row for each."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._rows: list[tuple[Numbers, Numbers]] = []

    def add(self, seen: Seen) -> None:
        """Add a round."""
        at = self._at
        places = [at.setdefault(name, len(at)) for name in seen.features]
        self._rows.append((np.array(places), np.array(list(seen.features.values()))))

    def columns(self) -> dict[str, Numbers]:
        """The features of all rounds: of each that is not always the same its values by round, a
        very low number in a round that has not got it."""
        values = np.full((len(self._rows), len(self._at)), _ABSENT, np.int64)
        for row, (places, numbers) in enumerate(self._rows):
            values[row, places] = numbers
        moves = (values != values[0]).any(0)
        return {name: values[:, at] for name, at in self._at.items() if moves[at]}
