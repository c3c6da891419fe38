"""Rows of a log that do not continue the last good one, held back until it is clear why."""

from dataclasses import dataclass, field

from sabot.audit.checks.decoding import Values

HELD = 256
"""If more rows than this are in doubt, only the first and the last are held back."""


@dataclass(slots=True)
class ChainRow:
    """A row of the table of records that is not the next good one."""

    row: int
    record: bytes
    mac: bytes
    values: Values | None
    at: int
    """The event that should be in this row, according to the rows before it."""
    doubted: bool = False
    """Whether it was held back before it was taken."""

    @property
    def own(self) -> int:
        """The number in the record; `at` if the record cannot be read."""
        return self.at if self.values is None else int(self.values[1])


@dataclass(slots=True)
class Doubt:
    """Rows after the last good one that do not continue it."""

    rows: list[ChainRow] = field(default_factory=list)
    """All of them. If there are more than HELD, only the first and the last: the others were
    yielded."""
    count: int = 0
    foreign: bytes = b""
    """The other chain that a start of the unit in these rows names; empty if none does."""

    @property
    def whole(self) -> bool:
        """Whether `rows` has all of them."""
        return len(self.rows) == self.count
