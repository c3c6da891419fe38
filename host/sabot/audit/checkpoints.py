"""Checkpoints: how many events a log had, and the MAC of the last one. Keep them outside the log.

A chain is valid up to any of its events. So the chain alone does not show that a log was cut off,
or that a person with the key rewrote it. A checkpoint that is kept elsewhere shows both.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabot.audit.checks import desk_checks
from sabot.audit.checks.findings import Finding
from sabot.audit.context import tombstones
from sabot.desk.notes import UNIT
from sabot.files import read_bounded, replace_whole
from sabot.link import events
from sabot.link.wire import WireError, parse_event
from sabot.log import boards
from sabot.log.found import LARGEST
from sabot.log.store import Filter, Store
from sabot.text import counted, utc_time
from sabot_protocol.events import MAC_SIZE

_MAX_BYTES = 1 << 26
_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`unit` had recorded `records` events; the last of them had this MAC."""

    unit: str
    records: int
    mac: bytes
    shoe: int = 0
    """The shoe of cards that had ended or was in play; 0 if it is not known."""
    time: str | None = None
    """The time of its event, as text; None without a clock."""

    def as_json(self) -> dict[str, Any]:
        """The checkpoint as `sabot checkpoints` prints it."""
        return {
            "unit": boards.unit_of(self.unit),
            "shoe": self.shoe,
            "records": self.records,
            "mac": self.mac.hex(),
            "time": self.time,
            "board_number": boards.board_of(self.unit),
        }


class CheckpointsUnusable(ValueError):
    """The file does not consist of checkpoints."""


def checkpoints_of(store: Store) -> Iterator[Checkpoint]:
    """Yield every checkpoint that the shoes recorded, by unit and number, and after those of a unit
    one for its last event. Then one for the last note of the desk.
    """
    for unit in store.units():
        for row in store.rows(Filter(unit=unit, kinds=("checkpoint",))):
            try:
                recorded = row.event()
            except WireError:
                continue  # `verify` reports it
            if isinstance(recorded, events.CheckpointEvent):
                when = utc_time(row.unix_ms)
                yield Checkpoint(unit, recorded.records, recorded.mac, row.shoe, when)
        last = store.last_number(unit)
        for number, record, mac in store.raw(unit, last, last):
            try:
                event = parse_event(record)
            except WireError:
                continue
            if not isinstance(mac, bytes):  # as the check of the chain reports
                continue
            yield Checkpoint(unit, number, mac, event.shoe, utc_time(event.unix_ms))
    with store.reading() as connection:
        newest = desk_checks.newest(connection)
    if newest is not None:
        number, mac, unix_ms = newest
        yield Checkpoint(UNIT, number, mac, time=utc_time(unix_ms))


def load(path: Path) -> list[Checkpoint]:
    """The checkpoints in a file of JSON lines. Raises CheckpointsUnusable, OSError."""
    lines = read_bounded(path, _MAX_BYTES).splitlines()
    kept = [_checkpoint(path, at, line) for at, line in enumerate(lines, 1) if line.strip()]
    if not kept:
        raise CheckpointsUnusable(f"{path} has no checkpoint")
    return kept


def save(path: Path, kept: Iterable[Checkpoint]) -> None:
    """Write checkpoints as `load` reads them, completely or not at all. Raises OSError."""
    lines = "".join(json.dumps(each.as_json()) + "\n" for each in kept)
    replace_whole(path, lines.encode(), _MODE)


def wrong_with(
    store: Store, unit: str, kept: Iterable[Checkpoint], after: dict[int, bytes]
) -> Iterator[tuple[int, str, str]]:
    """Yield event number, kind and detail where the log of `unit` contradicts its checkpoints, for
    the first contradiction of each kind. `after` has MACs of removed events, by number.
    """
    last = _last(store, unit)
    found = set()
    for each in sorted(kept, key=lambda each: each.records):
        macs = _macs(store, unit, each.records)
        macs += [after[each.records]] if each.records in after else []
        when = each.time or "no known time"
        if each.records > last:
            kind, number = "truncated", last + 1
            known = counted(each.records, "event")
            detail = f"a checkpoint of {when} has {known}, the log ends before them"
        elif macs and macs[0] != each.mac:
            kind, number = "rewritten", each.records
            detail = f"its MAC is {_hex(macs[0])}; a checkpoint of {when} has"
            detail += f" {each.mac.hex()}: this event or earlier ones were rewritten"
        else:
            continue  # unchanged; or missing, which the check of the chain reports
        if kind not in found:
            found.add(kind)
            yield number, kind, detail


def contradictions(store: Store, kept: Sequence[Checkpoint]) -> Iterator[Finding]:
    """Yield where a log contradicts checkpoints of any units, which may be pruned there."""
    for unit in sorted({each.unit for each in kept}):
        after = {each.last: each.after for each in tombstones(store, unit)}
        for found in wrong_with(store, unit, [each for each in kept if each.unit == unit], after):
            yield Finding(unit, *found)


def _last(store: Store, unit: str) -> int:
    if unit != UNIT:
        return store.last_number(unit)
    with store.reading() as connection:
        newest = desk_checks.newest(connection)
    return 0 if newest is None else newest[0]


def _macs(store: Store, unit: str, number: int) -> list[bytes]:
    """The MAC of an event, or of a note of the desk; empty if the log does not have it."""
    if unit != UNIT:
        return [mac for _, _, mac in store.raw(unit, number, number)]
    with store.reading() as connection:
        return desk_checks.macs_of(connection, number)


def _hex(mac: object) -> str:
    return mac.hex() if isinstance(mac, bytes) else repr(mac)


def _checkpoint(path: Path, at: int, line: bytes) -> Checkpoint:
    wrong = CheckpointsUnusable(
        f"{path}, line {at}: not a checkpoint as `sabot checkpoints` prints it"
    )
    try:
        entry = json.loads(line)
        unit, records, mac = entry["unit"], entry["records"], bytes.fromhex(entry["mac"])
        board = entry.get("board_number", 1)  # an older Sabot knew one
    except (ValueError, KeyError, TypeError, RecursionError):
        raise wrong from None
    numbered = type(records) is int and 0 < records <= LARGEST
    numbered = numbered and type(board) is int and 1 <= board <= boards.MOST_BOARDS
    receipt = "what" in entry  # the lines of a file of receipts have all else, too
    valid = isinstance(unit, str) and numbered and len(mac) == MAC_SIZE and not receipt
    if not valid:
        raise wrong
    when = entry.get("time")
    name = boards.name_of(unit, board)
    return Checkpoint(name, records, mac, time=when if isinstance(when, str) else None)
