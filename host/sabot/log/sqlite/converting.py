"""Leads a log in a file to another version of its tables, after a copy was made."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from sabot.log.sqlite.store import SqliteStore


@dataclass(frozen=True, slots=True)
class Converted:
    """What was done with a log: the versions that it had and has, and where it is as it was."""

    before: int
    after: int
    copy: Path | None
    """None if it was of that version already."""


def convert(path: Path, to: int) -> Converted:
    """Lead the log at `path` to version `to`, in one transaction in which it is copied first.

    Raises DatabaseUnusable if something would be lost, DatabaseLocked if a program logs to it; then
    there is no copy.
    """
    copies: list[Path] = []
    with SqliteStore(path) as store, store.writer as connection:
        before = store.lead(connection, to, lambda version: copies.append(_copy(store, version)))
    return Converted(before, to, copies[0] if copies else None)


def _copy(store: SqliteStore, version: int) -> Path:
    """Copy a log beside itself. It gets its name only when it is whole."""
    draft = store.path.with_name(f".sabot-{secrets.token_hex(8)}")
    store.copy(draft)
    return draft.rename(_free_name(store.path, version))


def _free_name(path: Path, version: int) -> Path:
    """Return a name beside `path` that no file has, such as `evening.version-4.sqlite`."""
    names = (
        path.with_name(f"{path.stem}.version-{version}{more}{path.suffix}")
        for more in ("", *(f"-{number}" for number in range(2, 1000)))
    )
    return next(name for name in names if not name.exists())
