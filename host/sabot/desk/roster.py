"""Who was on duty at which table: what the house said, as notes of the desk.

A note says that a person had a task at a table for a time. It has a pseudonym: the names are apart,
in a file that can be erased (sabot/conduct/names.py). A later note is written over an earlier one
for the same table and task, as paint is: so a mistake is corrected by saying it again, and nothing
that was said is lost. Nothing here is evidence of the shoe; who said it, and when, is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sabot.desk.notes import Note
from sabot.text import printable

KIND = "on_duty"
DEALER, SUPERVISOR = TASKS = ("dealer", "supervisor")
LONGEST_WORD = 60
"""Characters of a table, or a pseudonym."""
LONGEST_SHIFT_MS = 16 * 3_600_000
"""A person who signed on and never off is taken to have left by then."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A person at a table for a time."""

    table: str
    task: str
    """One of TASKS."""
    person: str
    """A pseudonym; empty for no one: the person before has signed off."""
    from_unix_ms: int
    to_unix_ms: int | None
    """None as long as no one says when it ended."""
    given_by: str = ""
    """Who gave it to the person who noted it: an office, a system."""
    source: str = ""
    """SHA-256 of the file that it came from, in hex; empty without one, and of one with names."""

    def as_fields(self) -> dict[str, object]:
        """The fields of its note."""
        return {name: getattr(self, name) for name in self.__slots__}

    def problem(self) -> str:
        """Why this cannot be noted; empty if it can."""
        for name in ("table", "person", "given_by"):
            value: str = getattr(self, name)
            if len(value) > LONGEST_WORD or printable(value) != value or value != value.strip():
                return f"{name} is one line of at most {LONGEST_WORD} characters"
        if not self.table:
            return "the table is missing"
        if self.task not in TASKS:
            return f"the task is one of: {', '.join(TASKS)}"
        if self.to_unix_ms is None:
            return ""
        if self.to_unix_ms <= self.from_unix_ms:
            return "it ends before it begins"
        if self.to_unix_ms - self.from_unix_ms > LONGEST_SHIFT_MS:
            return f"it is longer than {LONGEST_SHIFT_MS // 3_600_000} hours"
        return ""


@dataclass(frozen=True, slots=True)
class OnDuty:
    """Who had a task at a table for a time, and the note that says it."""

    shift: Shift
    note: int
    noted_unix_ms: int
    noted_by: str


class Roster:
    """What the notes of a desk say of shifts."""

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        self.all: list[OnDuty] = []
        """In the order in which they were noted."""
        self._of: dict[str, list[OnDuty]] = {}
        for note in notes:
            self.add(note)

    def add(self, note: Note) -> None:
        """Take the next note; of other kinds it is passed over."""
        if note.kind == KIND:
            found = OnDuty(Shift(**note.fields), note.number, note.unix_ms, note.by)
            self.all.append(found)
            self._of.setdefault(found.shift.table, []).append(found)

    def on(self, table: str, unix_ms: int | None) -> dict[str, str]:
        """Who was on duty at a table at a time: pseudonyms, by task."""
        found: dict[str, str] = {}
        if unix_ms is None:
            return found
        said: set[str] = set()
        for each in reversed(self._of.get(table, ())):
            shift = each.shift
            if shift.task in said or not _covers(shift, unix_ms):
                continue
            said.add(shift.task)
            if shift.person:
                found[shift.task] = shift.person
        return {task: found[task] for task in TASKS if task in found}


def _covers(shift: Shift, unix_ms: int) -> bool:
    end = shift.to_unix_ms
    if end is None:
        end = shift.from_unix_ms + LONGEST_SHIFT_MS
    return shift.from_unix_ms <= unix_ms < end
