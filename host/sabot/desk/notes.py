"""The notes of the desk: what a person or the server did, one CBOR record each.

A record is the array number, time (UTC milliseconds), by whom, kind, and a map of the kind's
fields, in deterministic CBOR. Each has a MAC of a chain (tables.py), and none is ever changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any

import cbor2

from sabot import numbers
from sabot.text import printable, shortened

MOST_BYTES = 4096
"""Of a record."""

UNIT = "@desk"
"""The name of the desk's chain in the key file. No shoe can have it."""

SERVER = "@server"
"""Who wrote the notes of what the server did by itself."""

CONSOLE = "@console"
"""Who wrote the notes of what was done by a command at the log's computer, without signing in."""

LONGEST_NAME = 40
"""Characters of a user's name."""

LONGEST_TEXT = 500
"""Characters of a remark, or of another text in a note."""

FIELDS: dict[str, dict[str, type | UnionType]] = {
    # The first note. The chain's id serves as the MAC before it.
    "desk_opened": {"chain": bytes},
    # `password` is the SHA-256 of the stored hash, so that another hash there is found.
    "user_made": {"name": str, "role": str, "password": bytes},
    "role_changed": {"name": str, "role": str},
    "password_set": {"name": str, "password": bytes},
    "user_closed": {"name": str},
    # `session` is the SHA-256 of the session's token. `origin` is the address it came from.
    "signed_in": {"session": bytes, "origin": str},
    # `name` is empty if there is no such user: people type passwords into the wrong field.
    # `more` is how many were refused since the previous such note, and not noted.
    "sign_in_refused": {"name": str, "origin": str, "more": int},
    "signed_out": {"session": bytes},
    "alert": {
        "id": str,
        "unit": str,
        "kind": str,
        "event": int | None,
        "shoe": int,
        "round": int,
        "unix_ms": int,
        "detail": str,
    },
    "acknowledged": {"id": str, "remark": str},
    "round_opened": {"unit": str, "shoe": int, "round": int},
    # `what` was given out: a bundle or a page. `sha256` is that of the file.
    "exported": {"unit": str, "shoe": int, "round": int, "what": str, "sha256": bytes},
    # Cards that stay closed were opened: `seats` are their numbers, `halves` the fingerprints of
    # the two halves of the escrow, each with spaces between.
    "seats_opened": {
        "unit": str,
        "shoe": int,
        "round": int,
        "seats": str,
        "halves": str,
        "order": str,
    },
    # Who had a task at a table, by a pseudonym; empty for no one (roster.py). `to_unix_ms` is null
    # as long as no one has said when it ended.
    "on_duty": {
        "table": str,
        "task": str,
        "person": str,
        "from_unix_ms": int,
        "to_unix_ms": int | None,
        "given_by": str,
        "source": str,
    },
}
"""The fields of each kind of note, and their types."""

_LARGEST = (1 << 63) - 1


_LONGEST_OTHER = 200  # characters of a text that is not a remark

LONGEST_ORDER = _LONGEST_OTHER
"""Characters of the order by which seats are opened."""


def fitted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a note as a note can have them: a unit or a log may have any text and number."""
    fits = dict(fields)
    for name, value in fields.items():
        if isinstance(value, str):
            most = LONGEST_TEXT if name == "remark" else _LONGEST_OTHER
            fits[name] = shortened(printable(value), most)
        elif isinstance(value, int):
            fits[name] = min(max(value, 0), _LARGEST)
    return fits


class NoteUnusable(ValueError):
    """The bytes are not a note, or a note cannot have these fields."""


@dataclass(frozen=True, slots=True)
class Note:
    """What was done, by whom and when. `by` is a user's name, SERVER or CONSOLE."""

    number: int
    unix_ms: int
    by: str
    kind: str
    fields: Mapping[str, Any]

    def encode(self) -> bytes:
        """The record of the note. Raises NoteUnusable."""
        self._check()
        content = [self.number, self.unix_ms, self.by, self.kind, dict(self.fields)]
        data = cbor2.dumps(content, canonical=True)
        if len(data) > MOST_BYTES:
            raise NoteUnusable(f"a note has at most {MOST_BYTES} bytes")
        return data

    @classmethod
    def parse(cls, data: bytes) -> "Note":
        """The note in a record. Raises NoteUnusable. Only `verify` holds the record to be in the
        deterministic form: the screens have to read a year's notes when they begin."""
        if len(data) > MOST_BYTES:
            raise NoteUnusable(f"a note has at most {MOST_BYTES} bytes")
        try:
            content = cbor2.loads(data)
            if not numbers.fit(content):
                raise ValueError
        except (cbor2.CBORDecodeError, RecursionError, OverflowError, ValueError, TypeError):
            raise NoteUnusable("not CBOR") from None
        if not isinstance(content, list) or len(content) != 5 or not isinstance(content[4], dict):
            raise NoteUnusable("not the array of a note")
        note = cls(*content)
        note._check()
        return note

    def json_fields(self) -> dict[str, object]:
        """The fields as JSON can have them: bytes in hex."""
        return {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in self.fields.items()
        }

    def _check(self) -> None:
        wanted = FIELDS.get(self.kind) if isinstance(self.kind, str) else None
        if wanted is None:
            raise NoteUnusable("an unknown kind of note")
        if self.fields.keys() != wanted.keys():
            raise NoteUnusable(f"a note {self.kind} has other fields")
        values: list[tuple[Any, type | UnionType]]
        values = [(self.number, int), (self.unix_ms, int), (self.by, str)]
        values += [(self.fields[name], type_) for name, type_ in wanted.items()]
        for value, type_ in values:
            if not isinstance(value, type_) or isinstance(value, bool):
                raise NoteUnusable(f"a note {self.kind} has a value of another type")
            if isinstance(value, str) and not (
                len(value) <= LONGEST_TEXT and printable(value) == value
            ):
                raise NoteUnusable(f"a text has at most {LONGEST_TEXT} printable characters")
            if isinstance(value, int) and not 0 <= value <= _LARGEST:
                raise NoteUnusable("a number is out of range")
