"""What to do with a unit when a connection to the centre begins: decided from the two sides alone.

A forwarder never trusts its memory of what it has sent. It asks the centre where its copy of each
unit ends, and compares that with the log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sabot.audit.tombstone import Tombstone
from sabot.centre.alarms import NOT_REFILLED, OTHER_BYTES, SET_BACK, SITE_LACKS, Alarm
from sabot.keys.signing import fingerprint
from sabot.receipts.receipt import Receipt
from sabot.text import utc_time


@dataclass(frozen=True, slots=True)
class Head:
    """Where the centre's copy of a unit ends: its newest event, and how many records it has taken.
    All zero if it has nothing."""

    number: int = 0
    mac: bytes = b""
    records: int = 0
    by_another: bool = False
    """Whether another site sent the newest event: the shoe was moved."""


@dataclass(frozen=True, slots=True)
class Own:
    """What the log of the site has of a unit, as seen from where the centre's copy ends."""

    newest: int
    record: bytes | None
    """The record at the centre's newest event; None if the log does not have it."""
    mac: bytes | None
    """The MAC of that event, from its record or from a tombstone that ends with it; None if the log
    does not have it."""
    pruned: bool
    """Whether a tombstone replaces that event."""
    older: bool
    """Whether the log has anything of the unit before that event."""
    stones: Sequence[Tombstone]
    """The tombstones of events after it."""
    receipt: Receipt | None
    """The receipt that goes furthest."""


@dataclass(frozen=True, slots=True)
class Start:
    """What to do: raise alarms, send tombstones, then records after the centre's newest event,
    unless the two sides have different histories."""

    alarms: Sequence[Alarm]
    stones: Sequence[Tombstone]
    differs: bool
    set_back: bool


def start(unit: str, own: Own, head: Head) -> Start:
    """Decide for a unit that the centre has up to `head`."""
    if own.mac is not None and own.mac != head.mac:
        detail = "the site has this event with another MAC than the centre; nothing more is sent"
        alarm = Alarm(unit, head.number, OTHER_BYTES, detail, own.record, own.mac)
        return Start([alarm], [], differs=True, set_back=False)
    may_send_stones = head.records == 0
    alarms = list(_set_back(unit, own, head))
    set_back = bool(alarms)
    if not may_send_stones:
        alarms += _not_refilled(unit, own, head)
    if _lacks(own, head):
        detail = (
            f"the site has sent this event, and its log does not have it: it ends with {own.newest}"
        )
        if own.newest >= head.number:
            detail = "the site has sent this event, and its log has later ones, but not this"
        alarms.append(Alarm(unit, head.number, SITE_LACKS, detail))
    stones = [stone for stone in own.stones if stone.first > head.number]
    return Start(alarms, stones if may_send_stones else [], differs=False, set_back=set_back)


def _set_back(unit: str, own: Own, head: Head) -> Iterator[Alarm]:
    receipt = own.receipt
    if receipt is not None and receipt.number > head.number:
        when = utc_time(receipt.unix_ms)
        detail = f"the centre signed for it at {when} and has lost it; the site sends it again"
        yield Alarm(unit, receipt.number, SET_BACK, detail)


def _not_refilled(unit: str, own: Own, head: Head) -> Iterator[Alarm]:
    """What the centre lacks and the site has pruned."""
    for stone in own.stones:
        first = max(stone.first, head.number + 1)
        signed = own.receipt is not None and own.receipt.number >= first
        receipt = (
            f"signed for at {utc_time(own.receipt.unix_ms)}, " if signed and own.receipt else ""
        )
        detail = (
            f"events to {stone.last}: {receipt}pruned at the site at "
            f"{utc_time(stone.removed_unix_ms)} by {fingerprint(stone.public_key)}"
        )
        yield Alarm(unit, first, NOT_REFILLED, detail)


def _lacks(own: Own, head: Head) -> bool:
    """Whether the site once had the centre's newest event, and does not have it any more."""
    if not head.number or own.mac is not None or own.pruned or head.by_another:
        return False
    return own.newest < head.number or own.older
