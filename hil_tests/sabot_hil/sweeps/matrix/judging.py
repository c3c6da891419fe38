"""Compares a log with what the shoe recorded and with what was dealt, without Sabot's readers."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import cbor2

from sabot.sim.process import JOURNAL
from sabot_hil.kit.dealer import Hand
from sabot_hil.kit.flash_image import ChipImage
from sabot_hil.kit.journal_image import events_in
from sabot_hil.kit.versions.old_host import HostVersion

Bytes = tuple[int, bytes, bytes]
"""An event: its number, its record and its MAC."""

_ROWS = (
    "SELECT number, record, mac FROM records WHERE unit = (SELECT id FROM units WHERE unit = ?)"
    " ORDER BY number"
)


def recorded(state: Path) -> list[Bytes]:
    """Return the events in the journal's chip of the simulated shoe whose memory is in `state`."""
    found = events_in(ChipImage.load(state / JOURNAL))
    return [(number, each.record, each.mac) for number, each in sorted(found.items())]


def kinds_of(state: Path) -> set[int]:
    """Return the kinds of the events in that chip, by their numbers."""
    return {cbor2.loads(record)[0] for _, record, _ in recorded(state)}


def logged(db: Path, name: str) -> list[Bytes]:
    """Return the records that a log has under the name of a unit or of one of its boards."""
    if not db.exists():
        return []
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        return [
            (number, bytes(record), bytes(mac))
            for number, record, mac in connection.execute(_ROWS, (name,))
        ]


def check_prefix(rows: Sequence[Bytes], events: Sequence[Bytes]) -> None:
    """Check that a log has the shoe's first events: nothing left out, doubled or changed."""
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1)), "numbers have a gap"
    assert len(rows) <= len(events), f"{len(rows)} in the log, {len(events)} at the shoe"
    for row, event in zip(rows, events, strict=False):
        assert row == event, f"event {event[0]} is not as the shoe recorded it"


def check_whole(rows: Sequence[Bytes], events: Sequence[Bytes]) -> None:
    """Check that a log has all of the shoe's events, byte for byte."""
    check_prefix(rows, events)
    assert len(rows) == len(events), f"{len(rows)} in the log, {len(events)} at the shoe"


def verified(
    host: HostVersion, db: Path | str, keys: Path, cwd: Path, *more: object
) -> Mapping[str, Any]:
    """Return what `sabot verify` of this host says of a log; it must have no finding."""
    given = "--db", db, "--keys", keys, *host.elsewhere, *more, "--json"
    done = host.run("verify", *given, cwd=cwd, code=None)
    assert done.returncode == 0, f"{host.name} verify: {done.returncode} {done.stdout}{done.stderr}"
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert found["ok"] and found["findings"] == [], found["findings"]
    return found


def check_rounds(host: HostVersion, db: Path, unit: str, hands: Sequence[Hand], cwd: Path) -> None:
    """Check that `sabot rounds` of this host lists exactly these hands of a unit."""
    done = host.run("rounds", "--db", db, "--unit", unit, "--json", cwd=cwd)
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    shown = [(each["player"], each["banker"], each["winner"]) for each in listed]
    assert shown == [(hand.player, hand.banker, hand.winner) for hand in hands], shown
