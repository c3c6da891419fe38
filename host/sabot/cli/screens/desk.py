"""`sabot desk`: what people did at the screens, and the server."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

from sabot.cli import options
from sabot.cli.view import Output, print_objects, print_rows, problems
from sabot.desk import tables
from sabot.desk.notes import Note
from sabot.errors import DeskMissing
from sabot.log.store import Store, open_store
from sabot.table_time import iso_of, text_of
from sabot.terminal import name_text, plain

_COLUMNS = ("note", "time", "by", "kind", "what")
_LEAST = {"by": 12, "kind": 15, "what": 40}


def desk(
    db: options.Db = options.DEFAULT_DB,
    zone: options.Zone = None,
    as_json: options.Json = False,
) -> None:
    """List what was noted: who signed in, opened which round, acknowledged which alert with which
    remark, and who changed the users. `sabot verify --keys` finds notes that were changed or
    removed.
    """
    where = options.zone_of(zone)
    damaged = 0

    def notes(store: Store) -> Iterator[Note]:
        nonlocal damaged
        for _, note in tables.rows(store):
            if note is None:
                damaged += 1
            else:
                yield note

    with open_store(db) as store:
        if not tables.is_made(store):
            raise DeskMissing(
                f"{db}: has no desk; `sabot users add NAME --role administrator` makes one"
            )
        if as_json:
            print_objects((_object(each, where) for each in notes(store)), Output.JSON)
        else:
            cells = (_cells(each, where) for each in notes(store))
            print_rows(_COLUMNS, cells, _LEAST)
    if damaged:
        problems.print(f"notes that cannot be read: {damaged}; `sabot verify` finds them")


def _object(note: Note, zone: tzinfo) -> dict[str, Any]:
    return {
        "number": note.number,
        "time": iso_of(note.unix_ms, zone),
        "by": note.by,
        "kind": note.kind,
        "fields": note.json_fields(),
    }


def _cells(note: Note, zone: tzinfo) -> list[Any]:
    when = text_of(note.unix_ms, zone)
    kind = note.kind.replace("_", " ")
    return [str(note.number), when, name_text(note.by), kind, plain(_what(note.kind, note.fields))]


def _what(kind: str, fields: Mapping[str, Any]) -> str:
    """What a note says, for people."""
    place = f"{fields.get('unit')} shoe {fields.get('shoe')} round {fields.get('round')}"
    if kind == "user_made":
        return f"{fields['name']}, {fields['role']}"
    if kind == "seats_opened":
        return f"{place}, seats {fields['seats']}, by the order: {fields['order']}"
    if kind == "role_changed":
        return f"{fields['name']} is {fields['role']} now"
    if kind in ("password_set", "user_closed"):
        return str(fields["name"])
    if kind == "signed_in":
        return f"from {fields['origin']}" if fields["origin"] else ""
    if kind == "sign_in_refused":
        more = f", and {fields['more']} more before" if fields["more"] else ""
        return f"{fields['name'] or 'an unknown name'} from {fields['origin']}{more}"
    if kind == "alert":
        return f"{fields['id']}: {fields['detail']}"
    if kind == "acknowledged":
        return f"{fields['id']}: {fields['remark']}"
    if kind == "round_opened":
        return place
    if kind == "on_duty":
        return f"{fields['table']}: {fields['person'] or 'no one'}, {fields['task']}"
    if kind == "exported":
        return f"{fields['what']} of {place}, SHA-256 {fields['sha256'].hex()}"
    return ""
