"""Where a log is: a file, or a database of a PostgreSQL server."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from sabot.errors import DatabaseUnusable
from sabot.text import printable

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = frozenset({"password", "sslpassword"})


@dataclass(frozen=True, slots=True)
class Address:
    """A database of a PostgreSQL server, as its own programs take it (PostgreSQL's manual, 34.1.1.2
    Connection URIs). It has no password, so that it may be shown."""

    uri: str

    def __str__(self) -> str:
        return printable(self.uri)


Place = Path | Address
"""Where a log is."""


def place_of(text: str) -> Place:
    """The place that a person wrote: the address of a database, or a file. Raises DatabaseUnusable
    if it is an address with a password in it: everyone on the machine could read that."""
    if not text.startswith(_SCHEMES):
        return Path(text)
    try:
        parts = urlsplit(text)
        shown, named = parts.password is not None, parse_qs(parts.query, keep_blank_values=True)
    except ValueError as error:
        raise DatabaseUnusable(f"{_bare(text)}: not an address ({error}); check it") from None
    if shown or not _SECRETS.isdisjoint(map(unquote, named)):
        raise DatabaseUnusable(
            f"{_bare(text)}: has a password in it, which others on this machine can see; put it "
            "into ~/.pgpass (mode 0600), and leave it out here"
        )
    return Address(text)


def _bare(text: str) -> str:
    """An address without whatever may be a password in it."""
    scheme, _, rest = text.partition("://")
    return printable(f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}")
