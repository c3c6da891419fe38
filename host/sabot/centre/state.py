"""What a forwarder keeps of its units: while a connection lasts, and from one to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sabot.centre.alarms import Alarm
from sabot.centre.pace import BatchSize
from sabot.link.flow import Flow


@dataclass(slots=True)
class Unit:
    """A unit while the connection lasts. Up to `number` the centre has all that it will get."""

    number: int
    mac: bytes
    receipt: int
    """The event up to which receipts were asked for."""
    going: bool = True
    """False once the two sides differ, or the centre refuses it."""
    newest: int = 0
    """The log's newest event when it was looked at last."""
    compared: bool = False
    """Whether the centre has compared the record at `number` with the site's, byte for byte."""
    said: int = -1
    """The event of the last checkpoint that the centre got."""
    waits: bool = False
    """Whether nothing of this board is sent before the centre has all of the board before it."""
    not_sent: int = 0
    """The last row that is not a record, and was passed over."""


@dataclass(slots=True)
class State:
    """What a forwarder keeps from one connection to the next: what it has done, never what the
    centre has."""

    notaries: Sequence[bytes]
    size: BatchSize = field(default_factory=BatchSize)
    alarms: set[Alarm] = field(default_factory=set)
    differs: set[str] = field(default_factory=set)
    """The units with an alarm: the two sides differ."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why the centre does not take a unit."""
    said: set[str] = field(default_factory=set)
    """The refused units that were named to people."""
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By unit an event, and how many events the site's log has up to it."""
    failures: dict[str, int] = field(default_factory=dict)
    """How often a batch of a unit was refused for a reason that may be the link's."""
    spans: dict[str, int] = field(default_factory=dict)
    """By unit the latest end of a span of presence that was sent."""
    flows: dict[str, Flow] = field(default_factory=dict)
    """By unit how its events came when that was sent last."""
