"""Raises the alerts of a floor at its desk, each once.

A watermark in the log says, for each unit, up to which event alerts were raised: after a pause
what happened meanwhile is raised too. One that is too low does no harm, because the desk takes each
alert once. It is no evidence, and anyone who can write to the file can change it; the alerts
themselves are notes of the desk.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable

from sabot.desk.alerts import Alert, AlertLog
from sabot.desk.desk import Desk
from sabot.desk.notes import SERVER, Note, NoteUnusable
from sabot.log.follow import Follower
from sabot.log.found import ALERTS_UP_TO, numbers_by_unit
from sabot.log.store import Store

WATERMARK = ALERTS_UP_TO

_RAISE_S = 0.05  # for so long alerts are raised, before anything else is looked at again
_KEEP_EVERY_S = 10.0


class AlertRaiser:
    """The alerts of the log that `follower` follows. Without a desk they are kept here alone, and
    lost at the end. Without `raises` so are those that the desk does not have yet: this program
    shows the desk's alerts, and notes none."""

    def __init__(
        self,
        store: Store,
        desk: Desk | None,
        follower: Follower,
        now_unix_ms: Callable[[], int],
        now_s: Callable[[], float],
        raises: bool = True,
    ) -> None:
        self.log = AlertLog()
        self._raises = raises
        self._store, self._desk, self._follower = store, desk, follower
        self._now_unix_ms, self._now_s = now_unix_ms, now_s
        self._seen = 0  # the newest note in `log`
        self.opened_unix_ms: int | None = None
        """When the desk was made; None without one."""
        self._due: deque[Alert] = deque()
        self._up_to: dict[str, int] = {}
        self._kept: dict[str, int] = {}
        self._kept_s = now_s()

    def begin(self) -> None:
        """Read what was raised before."""
        if self._desk is None:
            return
        self._catch_up()
        self._kept = numbers_by_unit(self._store.fact(WATERMARK))
        self._up_to = {**self._kept}

    def up_to(self, unit: str) -> int | None:
        """The last event up to which alerts of a unit were raised; None if only those of events
        from now on are to be: without a desk."""
        if self._desk is None:
            return None
        known = self._up_to.get(unit)
        if known is None:
            opened = self.opened_unix_ms or self._now_unix_ms()
            known = self._up_to[unit] = self._follower.received_before(unit, opened)
        return known

    @property
    def due(self) -> bool:
        """Whether alerts wait to be raised."""
        return bool(self._due)

    def put(self, alerts: Iterable[Alert]) -> None:
        """Have alerts raised, but those that were."""
        self._due.extend(each for each in alerts if self.log.of(each.id) is None)

    def looked(self, unit: str, up_to: int) -> None:
        """Note that all alerts of a unit were put, up to this event."""
        self._up_to[unit] = up_to

    def settle(self) -> set[str]:
        """Raise alerts that are due, some at a time. Return the units whose alerts are others now:
        also because someone acknowledged one."""
        units = set()
        end_s = self._now_s() + _RAISE_S
        while self._due and self._now_s() < end_s:
            alert = self._due[0]
            try:
                if self._desk is None or not self._raises:
                    units |= self._take(self._note(alert))
                else:
                    self._desk.raise_alert(alert)
            except NoteUnusable:  # the desk cannot note the name of its unit
                pass
            self._due.popleft()
        units |= self._catch_up()
        if self._now_s() - self._kept_s >= _KEEP_EVERY_S:
            self.keep()
        return units

    def keep(self) -> None:
        """Keep the watermark, unless alerts are still due."""
        self._kept_s = self._now_s()
        if self._desk is None or not self._raises or self._due or self._up_to == self._kept:
            return
        text = json.dumps(self._up_to)
        self._store.change_fact(WATERMARK, lambda _: text)
        self._kept = {**self._up_to}

    def _catch_up(self) -> set[str]:
        """Take the desk's new notes; return the units that they are about."""
        if self._desk is None or (newest := self._follower.newest_note()) == self._seen:
            return set()
        units = set()
        for note in self._desk.notes(self._seen):
            if note.kind == "desk_opened":
                self.opened_unix_ms = note.unix_ms
            units |= self._take(note)
            self._seen = note.number
        self._seen = max(self._seen, newest)  # those that cannot be read are passed over
        return units

    def _take(self, note: Note) -> set[str]:
        self.log.add(note)
        id_ = note.fields.get("id")
        raised = None if id_ is None else self.log.of(id_)
        return set() if raised is None else {raised.alert.unit}

    def _note(self, alert: Alert) -> Note:
        """An alert as a note that no desk has; numbers of its own only where there is no desk."""
        self._seen += self._desk is None
        return Note(self._seen, self._now_unix_ms(), SERVER, "alert", alert.as_fields())
