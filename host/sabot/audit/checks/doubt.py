"""Rows of a log that do not go on from the last good one, held back until their place is clear."""

from dataclasses import dataclass, field

from sabot.audit.checks.decoding import Values

HELD = 256
"""Of more rows in doubt than that only the first and the last are held back."""


@dataclass(slots=True)
class ChainRow:
    """A row of the table of records that is not simply the next one."""

    row: int
    record: bytes
    mac: bytes
    values: Values | None
    at: int
    """The event that stands in this row, by the rows before it."""
    doubted: bool = False

    @property
    def own(self) -> int:
        """The number in the record; that by its row where it cannot be read."""
        return self.at if self.values is None else int(self.values[1])


@dataclass(slots=True)
class Doubt:
    """Rows behind the last good one that do not go on from it."""

    rows: list[ChainRow] = field(default_factory=list)
    """All of them; of more than HELD only the first and the last, the others are handed out."""
    count: int = 0
    foreign: bytes = b""
    """The chain that a start of the unit among them names, where it is another; else empty."""

    @property
    def whole(self) -> bool:
        """Whether none was handed out."""
        return len(self.rows) == self.count
