"""Seams: what binds a board of a unit to the board whose place it has taken.

A seam is sealed (keys/signing.py) by the operator. It says that the board of `unit` with the number
`board`, whose audit chain has the id `chain`, goes on where the board before it ended: at event
`last`, which has the MAC `mac`, of the chain `old_chain`. No shoe can say that: the old board is
broken, and the new one has never had its records.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sabot.keys.signing import (
    PUBLIC_SIZE,
    NotSealed,
    PrivateKey,
    fingerprint,
    open_sealed,
    public_of,
    seal,
)
from sabot.log import boards
from sabot.text import local_time, printable
from sabot_protocol.events import MAC_SIZE

FORMAT = "sabot-seam"
VERSION = 1

MOST_BYTES = 4096
"""More than any seam has."""
LONGEST_BY = 100
"""Characters of the name of who replaced a board."""

_LONGEST_UNIT = 300
_LARGEST = (1 << 63) - 1


class SeamUnusable(ValueError):
    """The bytes are not a seam, or were changed since it was signed."""


@dataclass(frozen=True, slots=True)
class Seam:
    """The board `board` of `unit` has taken the place of the one before it."""

    unit: str
    board: int
    """Its number: 2 for the first that takes another's place."""
    chain: bytes
    """The id of its audit chain."""
    old_chain: bytes
    """The id of the audit chain of the board before it."""
    last: int
    """The last event of the board before it in the log."""
    mac: bytes
    """The MAC of that event."""
    by: str
    """Who says so, as that person wrote it; may be empty."""
    unix_ms: int
    """When, by the clock of the host."""
    public_key: bytes
    """Public key of who signed it, 32 raw bytes. Whether it is the operator's, the caller
    compares."""

    @property
    def name(self) -> str:
        """The name of the new board in the log."""
        return boards.name_of(self.unit, self.board)

    @property
    def old_name(self) -> str:
        """The name of the board before it in the log."""
        return boards.name_of(self.unit, self.board - 1)

    def who_text(self) -> str:
        """Who replaced the board, when, and with which key, for people."""
        by = f"by {printable(self.by)}, " if self.by else ""
        return f"{by}on {local_time(self.unix_ms)}, key {fingerprint(self.public_key)}"

    def text(self) -> str:
        """The seam in one phrase, for people."""
        return f"board {self.board} since event {self.last} of {self.old_name}, {self.who_text()}"

    def as_json(self) -> dict[str, Any]:
        """The seam as commands and the API print it."""
        return {
            "board_number": self.board,
            "chain": self.chain.hex(),
            "old_chain": self.old_chain.hex(),
            "last_event": self.last,
            "mac": self.mac.hex(),
            "by": self.by,
            "unix_ms": self.unix_ms,
            "signer": fingerprint(self.public_key),
        }

    @classmethod
    def parse(cls, data: bytes) -> "Seam":
        """Return the seam in these bytes. Its signature is checked with the key in it.

        Raises SeamUnusable.
        """
        if len(data) > MOST_BYTES:
            raise SeamUnusable("not a seam: too long")
        try:
            sealed = open_sealed(data)
        except NotSealed as error:
            raise SeamUnusable(f"not a seam: {error}") from None
        document = sealed.document
        if document.get("format") != FORMAT:
            raise SeamUnusable("not a seam, but another document")
        if not sealed.signed:
            raise SeamUnusable("a seam that was changed since it was signed")
        if document.get("version") != VERSION:
            raise SeamUnusable("a seam of another version; update sabot")
        if not _fits(document):
            raise SeamUnusable("a seam with the wrong fields")
        return cls(**{name: document[name] for name in _FIELDS if name not in _HEAD})


def make(
    private: PrivateKey,
    *,
    unit: str,
    board: int,
    chain: bytes,
    old_chain: bytes,
    last: int,
    mac: bytes,
    by: str,
    unix_ms: int,
) -> bytes:
    """Return a seam, signed with the operator's key. Raises ValueError if it cannot be one."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "unit": unit,
        "board": board,
        "chain": chain,
        "old_chain": old_chain,
        "last": last,
        "mac": mac,
        "by": by,
        "unix_ms": unix_ms,
    }
    if not _fits(document | {"public_key": public_of(private)}):
        raise ValueError("a seam with the wrong fields")
    return seal(private, document)


def usable(data: Iterable[bytes]) -> list[Seam]:
    """Return the seams that can be read; `verify` reports the others."""
    found: list[Seam] = []
    for each in data:
        with suppress(SeamUnusable):
            found.append(Seam.parse(each))
    return found


def no_seam(place: object, name: str) -> str:
    """Return why the log at `place` takes no record of a board without a seam."""
    return f"{name}: {place} has no seam of it any more; start the log again"


def goes_on(name: str, last: int) -> str:
    """Return why a log takes no record of a board whose place another has taken after event
    `last`."""
    return (
        f"{name}: {boards.after(name)} has taken the place of this board after event {last}, and "
        "it goes on: take it off its table; none of its later events is stored"
    )


def another_seam(place: object, name: str) -> str:
    """Return why the log at `place` does not take a seam of a board that has one."""
    return f"{place}: has another seam of {name} already"


def has_records(place: object, name: str) -> str:
    """Return why the seam of a board stays in the log at `place`."""
    return f"{place}: has events of {name}, so that its seam cannot be undone any more"


def seam_too_early(place: object, old: str, newest: int) -> str:
    """Return why the log at `place` does not take a seam: the board before goes on after it."""
    return (
        f"{place}: has events of {old} up to {newest}, after the last one that the seam names; "
        "run the command again"
    )


_HEAD = ("format", "version")
_FIELDS: Mapping[str, type] = {
    "format": str, "version": int, "unit": str, "board": int, "chain": bytes, "old_chain": bytes,
    "last": int, "mac": bytes, "by": str, "unix_ms": int, "public_key": bytes,
}  # fmt: skip


def _fits(document: Mapping[str, Any]) -> bool:
    if {name: type(value) for name, value in document.items()} != _FIELDS:
        return False
    sizes = [len(document[name]) for name in ("chain", "old_chain", "mac", "public_key")]
    return (
        1 <= len(document["unit"]) <= _LONGEST_UNIT
        and "~" not in document["unit"]
        and 2 <= document["board"] <= boards.MOST_BOARDS
        and sizes == [MAC_SIZE, MAC_SIZE, MAC_SIZE, PUBLIC_SIZE]
        and 1 <= document["last"] <= _LARGEST
        and len(document["by"]) <= LONGEST_BY
        and 0 <= document["unix_ms"] <= _LARGEST
    )
