"""A summary of each unit in a log: firmware, running time, cards read, calibration, updates."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from sabot.link.events import (
    BootEvent,
    CalibratedEvent,
    CleanSensorEvent,
    Event,
    GameLoadedEvent,
    ProvisionedEvent,
    ResolvedEvent,
    UpdatedEvent,
)
from sabot.link.wire import WireError
from sabot.log.store import DAMAGED, Row
from sabot.reports.table_time import iso_of

_PER = 10_000
_SUMMARISED = (
    BootEvent,
    CalibratedEvent,
    CleanSensorEvent,
    GameLoadedEvent,
    ProvisionedEvent,
    ResolvedEvent,
    UpdatedEvent,
)
_SUMMARISED_KINDS = [kind.SHAPE.name for kind in _SUMMARISED]


@dataclass(slots=True)
class UnitSummary:
    """A unit, as its events describe it."""

    unit: str
    firmware: str = ""
    """The version that started last."""
    build: str = ""
    """SHA-256 of that firmware, in hex."""
    board: str = ""
    table: str = ""
    """The table that was set when the unit was provisioned."""
    game: str = ""
    last_seen_unix_ms: int | None = None
    """When the log received its last event, by the host's clock."""
    starts: int = 0
    up_ms: int = 0
    """How long it has run, after all its starts together."""
    cards: int = 0
    """Cards that the sensor head has read."""
    faults: int = 0
    """Cards that the sensor head could not read."""
    calibrated_unix_ms: int | None = None
    dirty: str = ""
    """Sensors due to be cleaned since the last calibration, such as "A C"."""
    updates: int = 0
    undone: int = 0
    """Updates that were tried and undone."""
    damaged: int = 0
    """Records in the log that cannot be read."""

    @property
    def faults_per_10000(self) -> float | None:
        """Cards that could not be read, per 10,000 cards; None if there were no cards."""
        passed = self.cards + self.faults
        return None if not passed else _PER * self.faults / passed

    def as_json(self, zone: tzinfo) -> dict[str, Any]:
        """The unit as `sabot units --json` prints it; times in `zone`, with its offset."""
        rate = self.faults_per_10000
        return {
            "unit": self.unit,
            "firmware": self.firmware,
            "build": self.build,
            "board": self.board,
            "table": self.table,
            "game": self.game,
            "last_seen": iso_of(self.last_seen_unix_ms, zone),
            "calibrated": iso_of(self.calibrated_unix_ms, zone),
            "clean": self.dirty,
            "starts": self.starts,
            "hours": round(self.up_ms / 3_600_000, 2),
            "cards": self.cards,
            "faults": self.faults,
            "faults_per_10000": None if rate is None else round(rate, 2),
            "updates": self.updates,
            "updates_undone": self.undone,
            "damaged": self.damaged,
        }


def unit_of(name: str, rows: Iterable[Row], before: Iterable[Event] = ()) -> UnitSummary:
    """The summary of the unit `name`; `rows` are all its events, `before` what is still known of
    those that retention removed. Only `rows` are counted."""
    unit = UnitSummary(name)
    for kept in before:
        _summarise(unit, kept)
    unit.starts = unit.updates = 0
    last: Row | None = None
    for row in rows:
        unit.last_seen_unix_ms = row.received_unix_ms
        if row.kind == DAMAGED:
            unit.damaged += 1
            continue
        # Most events are only counted: decoding all events of a long log takes minutes.
        if row.kind == "card":
            unit.cards += 1
        elif row.kind == "unreadable":
            unit.faults += 1
        elif row.kind == "update_undone":
            unit.undone += 1
        elif row.kind in _SUMMARISED_KINDS:
            event = _event_in(row)
            if event is not None:
                if row.kind == "boot":
                    unit.up_ms += _up_ms(last)
                _summarise(unit, event)
        last = row
    unit.up_ms += _up_ms(last)
    return unit


def _summarise(unit: UnitSummary, event: Event) -> None:
    if isinstance(event, BootEvent):
        unit.starts += 1
        unit.firmware, unit.build = event.firmware, event.build.hex()
        unit.board, unit.game = event.board, event.game
    elif isinstance(event, GameLoadedEvent):
        unit.game = event.game
    elif isinstance(event, ProvisionedEvent):
        unit.table = event.table
    elif isinstance(event, UpdatedEvent):
        unit.updates += 1
    elif isinstance(event, CalibratedEvent):
        unit.calibrated_unix_ms, unit.dirty = event.unix_ms, ""
    elif isinstance(event, CleanSensorEvent):
        channel = event.channel.upper()
        if channel not in unit.dirty:
            unit.dirty = " ".join(sorted([*unit.dirty.split(), channel]))
    elif isinstance(event, ResolvedEvent) and event.resolution == "entered":
        unit.cards -= 1  # entered by hand: the head did not read it


def _up_ms(last: Row | None) -> int:
    """How long the unit had run since its start at this event."""
    event = None if last is None else _event_in(last)
    return 0 if event is None else event.t_ms


def _event_in(row: Row) -> Event | None:
    try:
        return row.event()
    except WireError:
        return None
