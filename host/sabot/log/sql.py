"""What the tables of a log are asked through, whichever database has them.

Parts of the program that have tables of their own in a log (sabot/desk, its checks) write SQL that
is the same for SQLite and PostgreSQL, with `?` for a parameter. Everything else asks the `Store`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Cursor(Protocol):
    """The answer to a query."""

    @property
    @abstractmethod
    def rowcount(self) -> int:
        """How many rows a statement changed."""

    @abstractmethod
    def fetchone(self) -> Any:
        """The next row; None after the last one."""

    @abstractmethod
    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """The rows that are left, one after the other."""


class Connection(Protocol):
    """A connection within a transaction, or one that sees the log as it was when it was opened."""

    @abstractmethod
    def execute(self, query: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Carry out a statement."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether the log has this table: one of an older version may not have it."""

    @abstractmethod
    def reads_secrets(self) -> bool:
        """Whether this program may read all of the log: a role of PostgreSQL may be kept from the
        users' hashes, from sessions, and from the secret of the desk."""

    @abstractmethod
    def bounded(self, column: str, kind: str, most: int = 8) -> str:
        """The SQL of a column's value; of NULL if it is not of `kind` ("blob", "integer" or
        "text"), or longer than `most` bytes or characters. A person with a file can put anything
        there, of any size."""
