"""Alerts: what the floor or surveillance must look at. They stay open until acknowledged.

An acknowledgement cannot be taken back; another one can follow it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from sabot.desk.notes import Note


@dataclass(frozen=True, slots=True)
class Alert:
    """Something at a table. `id` is "UNIT/KIND/EVENT", or "UNIT/silent/UNIX_MS" and the like for
    what no event reports."""

    id: str
    unit: str
    kind: str
    event: int | None
    shoe: int
    round: int
    unix_ms: int
    detail: str

    def as_fields(self) -> dict[str, object]:
        """The fields of its note."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who has looked at an alert, when, and what that person wrote."""

    number: int
    """Of the note."""
    unix_ms: int
    by: str
    remark: str


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    """An alert that was raised, and its acknowledgements, the oldest first."""

    number: int
    """Of the note."""
    raised_unix_ms: int
    alert: Alert
    acknowledgements: Sequence[Acknowledgement] = field(default=())

    @property
    def open(self) -> bool:
        """Whether no one has acknowledged it."""
        return not self.acknowledgements


class AlertLog:
    """All alerts of the desk's notes. Take each note once, by number, in one thread; others may
    read meanwhile."""

    def __init__(self) -> None:
        self._raised: dict[str, RaisedAlert] = {}
        self._open: dict[str, None] = {}  # ids, the oldest first
        self.newest = 0
        """Number of the last note about an alert; 0 for none."""

    def add(self, note: Note) -> None:
        """Take a note. Those that are about no alert change nothing."""
        if note.kind in ("alert", "acknowledged"):
            self.newest = note.number
        if note.kind == "alert":
            alert = Alert(**note.fields)
            if alert.id not in self._raised:
                self._raised[alert.id] = RaisedAlert(note.number, note.unix_ms, alert)
                self._open[alert.id] = None
        elif note.kind == "acknowledged":
            id_ = note.fields["id"]
            before = self._raised.get(id_)
            if before is not None:
                more = Acknowledgement(note.number, note.unix_ms, note.by, note.fields["remark"])
                self._raised[id_] = RaisedAlert(
                    before.number,
                    before.raised_unix_ms,
                    before.alert,
                    (*before.acknowledgements, more),
                )
                self._open.pop(id_, None)

    @property
    def open(self) -> list[RaisedAlert]:
        """The alerts that no one has acknowledged, the newest first."""
        return [self._raised[id_] for id_ in [*self._open][::-1]]

    @property
    def all(self) -> list[RaisedAlert]:
        """Every alert, the newest first."""
        return [*self._raised.values()][::-1]

    def of(self, alert_id: str) -> RaisedAlert | None:
        """The alert with this id, and its acknowledgements; None if there is none."""
        return self._raised.get(alert_id)
