"""The notes of the desk as records: what is written is read, and nothing else is."""

import random
from typing import Any

import cbor2
import pytest

from sabot.desk.alerts import Alert, AlertLog
from sabot.desk.notes import (
    CONSOLE,
    FIELDS,
    LONGEST_TEXT,
    MOST_BYTES,
    SERVER,
    UNIT,
    Note,
    NoteUnusable,
)
from sabot.desk.roles import RIGHTS, ROLES, may
from sabot_protocol.provisioning import is_unit

_LARGEST = (1 << 63) - 1


def _fields(kind: str, rng: random.Random) -> dict[str, Any]:
    values: dict[Any, Any] = {
        str: lambda: rng.choice(("", "ada", "Żółć 7♥", "x" * LONGEST_TEXT)),
        bytes: lambda: rng.randbytes(32),
        int: lambda: rng.choice((0, 1, _LARGEST)),
        int | None: lambda: rng.choice((None, 0, _LARGEST)),
    }
    return {name: values[type_]() for name, type_ in FIELDS[kind].items()}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_note_is_read_as_it_was_written(kind: str, rng: random.Random) -> None:
    for _ in range(50):
        note = Note(rng.randrange(_LARGEST), 7, "ada", kind, _fields(kind, rng))
        record = note.encode()
        assert Note.parse(record) == note and len(record) <= MOST_BYTES
        assert cbor2.loads(record) == [note.number, 7, "ada", kind, dict(note.fields)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": -1}, {"number": 1 << 63}, {"number": True}, {"number": None}, {"unix_ms": 5.5},
        {"by": "a\nb"}, {"by": "\x1b[2J"}, {"by": "x" * 501}, {"by": b"ada"}, {"kind": "king"},
        {"kind": None}, {"kind": []}, {"fields": {}}, {"fields": {"id": "a", "remark": 5}},
        {"fields": {"id": "a", "remark": "b", "more": "c"}},
        {"fields": {"id": "\u202e", "remark": "b"}},
    ],
)  # fmt: skip
def test_a_note_with_a_value_that_it_cannot_have_is_neither_written_nor_read(
    wrong: dict[str, Any],
) -> None:
    good = {"number": 1, "unix_ms": 5, "by": "ada", "kind": "acknowledged"}
    values: dict[str, Any] = good | {"fields": {"id": "a", "remark": "b"}} | wrong
    with pytest.raises(NoteUnusable):
        Note(**values).encode()
    with pytest.raises(NoteUnusable):
        Note.parse(cbor2.dumps(list(values.values())))


def test_no_bytes_raise_another_error(rng: random.Random) -> None:
    record = Note(1, 5, "ada", "acknowledged", {"id": "U1/lid/7", "remark": "seen"}).encode()
    for _ in range(3000):
        data = bytearray(rng.choice((record, rng.randbytes(rng.randrange(60)))))
        for _ in range(rng.randrange(4) if data else 0):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            Note.parse(bytes(data))
        except NoteUnusable:
            continue
    with pytest.raises(NoteUnusable):
        Note.parse(record + bytes(MOST_BYTES))


def test_no_shoe_can_have_the_names_of_the_desk() -> None:
    assert not any(map(is_unit, (UNIT, SERVER, CONSOLE)))


def test_alerts_are_listed_as_their_notes_say_in_any_mixture(rng: random.Random) -> None:
    """Against a plain list of what was said of each."""
    log = AlertLog()
    said: dict[str, list[str]] = {}
    for number in range(1, 400):
        id_ = f"U1/lid/{rng.randrange(60)}"
        if rng.random() < 0.5:
            alert = Alert(id_, "U1", "lid", 1, 1, 1, 5, "opened")
            log.add(Note(number, 5, "@server", "alert", alert.as_fields()))
            said.setdefault(id_, [])
        else:
            fields = {"id": id_, "remark": f"remark {number}"}
            log.add(Note(number, 5, "ada", "acknowledged", fields))
            if id_ in said:
                said[id_].append(f"remark {number}")
        log.add(Note(number, 5, "ada", "signed_out", {"session": b""}))
    assert [each.alert.id for each in log.open] == [id_ for id_ in reversed(said) if not said[id_]]
    for id_, remarks in said.items():
        raised = log.of(id_)
        assert raised is not None and raised.open == (not remarks)
        assert [each.remark for each in raised.acknowledgements] == remarks
    assert log.of("U1/lid/60") is None


def test_each_role_may_do_what_the_table_in_the_issue_says() -> None:
    """Written by hand, a row for each role."""
    wanted = {
        "board": "boards",
        "floor": "boards wall table round search alerts acknowledge",
        "surveillance": "boards wall table round search records counts alerts acknowledge health"
        " export views integrity",
        "technician": "boards wall table alerts health",
        "administrator": "boards wall users views",
    }
    assert tuple(wanted) == ROLES
    for role, rights in wanted.items():
        assert {right for right in RIGHTS if may(role, right)} == set(rights.split())
    assert not any(may("king", right) for right in RIGHTS)
    with pytest.raises(KeyError):
        may("administrator", "everything")
