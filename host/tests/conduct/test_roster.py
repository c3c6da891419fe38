"""Who was on duty: what was said last counts, who said it is kept, and a name can be erased without
a trace in the log."""

import json
from datetime import UTC
from pathlib import Path

import pytest

from host.tests.support.commands import error_line_here, output_here
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.conduct import shift_file
from sabot.conduct.names import Names
from sabot.desk.desk import Desk
from sabot.desk.notes import Note, NoteUnusable
from sabot.desk.roster import LONGEST_SHIFT_MS, Roster, Shift
from sabot.errors import DeskRefused, RosterUnusable
from sabot.keys.chain_keys import Keys
from sabot_protocol import events

_HOUR = 3_600_000
_T0 = 1_795_000_000_000


def _roster(*shifts: Shift) -> Roster:
    notes = enumerate(shifts, 1)
    return Roster(Note(number, 0, "ada", "on_duty", each.as_fields()) for number, each in notes)


def _shift(person: str, begin: float, end: float | None, task: str = "dealer") -> Shift:
    return Shift(
        "12", task, person, int(_T0 + begin * _HOUR),
        None if end is None else int(_T0 + end * _HOUR), "pit",
    )  # fmt: skip


def _dealer(roster: Roster, hour: float, table: str = "12") -> str | None:
    return roster.on(table, int(_T0 + hour * _HOUR)).get("dealer")


def test_what_was_said_last_counts_where_two_overlap() -> None:
    roster = _roster(_shift("A", 0, 4), _shift("B", 1, 2), _shift("S", 0, 8, "supervisor"))
    assert [_dealer(roster, hour) for hour in (-0.1, 0, 1, 1.99, 2, 3.99, 4)] == [
        None, "A", "B", "B", "A", "A", None,
    ]  # fmt: skip
    assert roster.on("12", _T0) == {"dealer": "A", "supervisor": "S"}
    assert _dealer(roster, 1, "13") is None and roster.on("12", None) == {}


def test_a_sign_on_lasts_until_the_next_until_a_sign_off_and_never_longer_than_a_shift() -> None:
    on = _shift("A", 0, None)
    longest = LONGEST_SHIFT_MS / _HOUR
    assert _dealer(_roster(on), longest - 0.01) == "A" and _dealer(_roster(on), longest) is None
    roster = _roster(on, _shift("B", 2, None), _shift("", 3, None))
    assert [_dealer(roster, hour) for hour in (1, 2, 2.9, 3, 5)] == ["A", "B", "B", None, None]


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (_shift("A", 2, 1), "ends before it begins"),
        (_shift("A", 0, 17), "longer than 16 hours"),
        (_shift("A" * 61, 0, 1), "person is one line"),
        (_shift("A\nB", 0, 1), "person is one line"),
        (_shift("A", 0, 1, "cook"), "the task is one of: dealer, supervisor"),
        (Shift("", "dealer", "A", 0, 1), "the table is missing"),
    ],
)
def test_a_shift_that_cannot_be_is_refused_and_nothing_of_its_file_is_noted(
    tmp_path: Path, shift: Shift, said: str
) -> None:
    with new_log(tmp_path / "log") as store:
        desk = Desk.make(store, tmp_path / "keys", "ada", "a password of a test")
        before = desk.newest_note()
        with pytest.raises(DeskRefused, match=said):
            desk.note_shifts([_shift("B", 0, 1), shift], by="ada")
        assert desk.newest_note() == before


def test_a_shift_is_kept_as_evidence_with_who_gave_it_and_who_noted_it(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        desk = Desk.make(store, tmp_path / "keys", "ada", "a password of a test")
        desk.note_shifts([_shift("A", 0, 1)], by="ada")
        (noted,) = desk.roster().all
        assert (noted.noted_by, noted.shift.given_by, noted.shift.person) == ("ada", "pit", "A")
        keys = Keys.load(tmp_path / "keys")
        assert not verify_log(tmp_path / "log", VerifyOptions(keys))[0]
        with store.writing() as connection:
            row = connection.execute("SELECT record FROM desk WHERE number = ?", (noted.note,))
            record = row.fetchone()[0].replace(b"fpersonaA", b"fpersonaB")
            connection.execute("UPDATE desk SET record = ? WHERE number = ?", (record, noted.note))
        assert verify_log(tmp_path / "log", VerifyOptions(keys))[0], "another person in the note"


def _read(path: Path, text: str) -> list[Shift]:
    path.write_text(text)
    names = Names(path.with_name("names"))
    found = shift_file.read(path, UTC, "pit", names.pseudonym_of)
    names.save()
    return found


def test_a_file_of_shifts_is_read_and_names_become_pseudonyms(tmp_path: Path) -> None:
    with_persons = _read(
        tmp_path / "a.csv",
        "table,person,from,to,task\n12,K-1,2026-11-20T20:00,2026-11-20T22:00,\n"
        "12,K-2,2026-11-20T20:00+01:00,2026-11-20T22:00+01:00,supervisor\n",
    )
    assert [(each.person, each.task) for each in with_persons] == [
        ("K-1", "dealer"), ("K-2", "supervisor"),
    ]  # fmt: skip
    assert with_persons[0].from_unix_ms - with_persons[1].from_unix_ms == _HOUR
    assert len(with_persons[0].source) == 64
    line = "12,Ann Lee,2026-11-20T2{0}:00,2026-11-20T2{1}:00\n"
    named = _read(
        tmp_path / "b.csv", "table,name,from,to\n" + line.format(0, 1) + line.format(1, 2)
    )
    assert len({each.person for each in named}) == 1 and named[0].person != "Ann Lee"
    assert Names(tmp_path / "names").of(named[0].person) == "Ann Lee"
    assert {each.source for each in named} == {""}, "a guessed name could be checked by the hash"
    assert (tmp_path / "names").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its first line names the columns"),
        ("table,from,to\n", "its first line names the columns"),
        ("table,person,from,to,wage\n", "its first line names the columns"),
        ("table,person,from,to\n", "has no shifts"),
        ("table,person,from,to\n12,A,20:00,22:00\n", "line 2: '20:00' has no date"),
        (
            "table,person,from,to\n12,A,2026-11-20T22:00,2026-11-20T20:00\n",
            "line 2: it ends before",
        ),
        ("table,person,from,to\n12,,2026-11-20T20:00,2026-11-20T21:00\n", "line 2: the person is"),
        ("table,person,from,to\n12,A,2026-11-20T20:00\n", "line 2: has more or fewer fields"),
        ("table,person,from,to\n12,A,2026-13-20T20:00,2026-11-20T21:00\n", "line 2: '2026-13"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_whole_by_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(RosterUnusable) as caught:
        _read(tmp_path / "a.csv", text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_name_is_erased_and_nothing_in_the_log_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = FirmwareLog()
    log.record(events.PROVISIONED, 0, 0, ("12", 0))
    log.load().draw("AC", "2H", "next", "9C", "KC", "TD", "blank", "!9H")
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("SHOE-7", stored(log.records))
        Desk.make(store, tmp_path / "sabot.keys", "ada", "a password of a test")
    entered = stored(log.records)[-1].event.unix_ms
    assert entered is not None
    (tmp_path / "shifts.csv").write_text(
        "table,name,task,from,to\n12,Ann Lee,supervisor,2026-01-01T00:00Z,2026-01-01T10:00Z\n"
        "12,Bo Day,supervisor,{},{}\n".format(*_around(entered))
    )
    output_here(tmp_path, "roster", "add", "shifts.csv", "--given-by", "pit", "--db", "log.sqlite")
    listed = output_here(tmp_path, "roster", "list", "--json", "--db", "log.sqlite")
    bo = next(json.loads(line) for line in listed.splitlines() if "Bo Day" in line)
    found = output_here(tmp_path, "incidents", "--json", "--db", "log.sqlite")
    on_duty = {
        each["kind"]: each["on_duty"]
        for each in map(json.loads, [line for line in found.splitlines() if line[:1] == "{"])
    }
    assert on_duty["by_hand"] == on_duty["error"] == {"dealer": None, "supervisor": bo["person"]}
    output_here(tmp_path, "roster", "forget", bo["person"])
    assert "Bo Day" not in output_here(tmp_path, "roster", "list", "--db", "log.sqlite")
    for path in tmp_path.iterdir():
        if path.is_file() and path.name != "shifts.csv":
            assert b"Bo Day" not in path.read_bytes(), path
    again = error_line_here(tmp_path, "roster", "forget", bo["person"], code=47)
    assert "has no name" in again


def _around(unix_ms: int) -> tuple[str, str]:
    from sabot.table_time import iso_of

    return str(iso_of(unix_ms - _HOUR, UTC)), str(iso_of(unix_ms + _HOUR, UTC))


def test_a_note_with_other_fields_is_no_note() -> None:
    fields = {**_shift("A", 0, 1).as_fields(), "to_unix_ms": "later"}
    with pytest.raises(NoteUnusable):
        Note(1, 0, "ada", "on_duty", fields).encode()
