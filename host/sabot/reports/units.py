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
from sabot.link.flow import Flow
from sabot.link.wire import WireError, parse_event
from sabot.log import boards
from sabot.log.seam import Seam
from sabot.log.store import DAMAGED, Filter, Store
from sabot.table_time import iso_of

_PER = 10_000
_AT_ONCE = 8  # events at the end, in which one can usually be read; then ever more
_SUMMARISED = (
    BootEvent,
    CalibratedEvent,
    CleanSensorEvent,
    GameLoadedEvent,
    ProvisionedEvent,
    ResolvedEvent,
    UpdatedEvent,
)
_COUNTED_KINDS = ("card", "sealed_card", "unreadable", "update_undone", DAMAGED)
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
    seam: Seam | None = None
    """How this board has taken the place of the one before it; None for a first board."""

    flow: Flow | None = None
    """How its events came when a log last noted it; None if none has."""

    @property
    def faults_per_10000(self) -> float | None:
        """Cards that could not be read, per 10,000 cards; None if there were no cards."""
        passed = self.cards + self.faults
        return None if not passed else _PER * self.faults / passed

    def as_json(self, zone: tzinfo) -> dict[str, Any]:
        """The unit as `sabot units --json` prints it; times in `zone`, with its offset."""
        rate, flow = self.faults_per_10000, self.flow
        return {
            "unit": boards.unit_of(self.unit),
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
            "board_number": boards.board_of(self.unit),
            "newest_on_shoe": None if flow is None else flow.newest_on_shoe,
            "newest_stored": None if flow is None else flow.newest_stored,
            "held": 0 if flow is None else flow.held,
            "held_since": None if flow is None else iso_of(flow.held_since_unix_ms, zone),
            "damaged_from_shoe": 0 if flow is None else flow.damaged_from_shoe,
            "damaged_to_shoe": 0 if flow is None else flow.damaged_to_shoe,
            "seam": None if self.seam is None else self.seam.as_json(),
        }


def unit_of(name: str, store: Store, before: Iterable[Event] = ()) -> UnitSummary:
    """The summary of the unit `name`; `before` is what is still known of those of its events that
    retention removed. Only the events in the log are counted.

    Most events are only counted: to read all records of a long log takes minutes.
    """
    unit = UnitSummary(name, seam=store.seam_of(name), flow=store.flows().get(name))
    for kept in before:
        _summarise(unit, kept)
    counted = store.counts(name, _COUNTED_KINDS)
    read, sealed, unit.faults, unit.undone, unit.damaged = counted
    unit.cards = read + sealed
    unit.starts = unit.updates = 0
    unit.last_seen_unix_ms = store.last_received(name)
    for row in store.rows(Filter(unit=name, kinds=_SUMMARISED_KINDS)):
        try:
            event = row.event()
        except WireError:
            continue
        if row.kind == "boot":
            unit.up_ms += _up_ms(store, name, row.number - 1)
        _summarise(unit, event)
    unit.up_ms += _up_ms(store, name, store.last_number(name))
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


def _up_ms(store: Store, unit: str, last: int) -> int:
    """How long the unit had run since its start at its last event that can be read, up to event
    `last`."""
    event = _newest_readable(store, unit, last)
    return 0 if event is None else event.t_ms


def _newest_readable(store: Store, unit: str, last: int) -> Event | None:
    """The newest event of `unit` up to event `last` that can be read; None if none can."""
    newest, at_once = None, _AT_ONCE
    while newest is None and last > 0:
        first = max(1, last - at_once + 1)
        for _, data, _ in store.raw(unit, first, last):
            try:
                newest = parse_event(data)
            except WireError:
                continue
        last, at_once = first - 1, 2 * at_once
    return newest
