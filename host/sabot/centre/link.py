"""What a forwarder asks of a centre. The real one is in postgres_centre.py."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sabot.centre.alarms import Alarm
from sabot.centre.start import Head
from sabot.errors import SabotError
from sabot.link.flow import Flow
from sabot.log.found import RawRecord
from sabot.log.presence import Span
from sabot.log.store import SeamRow


class Damaged(SabotError):
    """The link changes bytes: the same question had two answers."""

    def __init__(self) -> None:
        super().__init__("the link to the centre changes bytes; use TLS, and check it")


class EndsBefore(Exception):
    """The centre's copy of the unit ends before the event after which records were sent."""


class OtherBytes(Exception):
    """The centre has event `number` with other bytes. It has stored nothing of the batch."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Refused(Exception):
    """The centre does not take this unit; the text says why. It takes others."""


class SeamDiffers(Exception):
    """The centre does not take a seam, or records that contradict one; the text says why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of a unit that are to go with those of others."""

    unit: str
    before: RawRecord | None
    """The site's record before the first, if it has it."""
    rows: Sequence[RawRecord]
    after: int
    """The event after which the centre's copy ends."""
    said: int
    """How many events the site has had up to the last of these."""


class Centre(Protocol):
    """One connection to a centre.

    Every method raises SabotError if the connection is lost, or if the centre cannot do it now:
    then the connection is to be closed, and another one begun.
    """

    def heads(self, units: Sequence[str]) -> dict[str, Head]:
        """Where the centre's copies of these units end; without those that this site may not
        send."""

    def holes(self) -> list[tuple[str, int, int]]:
        """Unit, first and last event of what the centre lacks between events that it has, of the
        units that this site may send."""

    def take(
        self, unit: str, before: RawRecord | None, rows: Sequence[RawRecord], after: int | None
    ) -> Head:
        """Store records of a unit, all or none; on return they are durable, and the centre's copy
        ends as returned. What it has already is passed over.

        `before` is the site's record before the first, if it has it; `after` the event after which
        the centre's copy ends as far as the site knows, None if it fills a hole. Raises EndsBefore,
        OtherBytes, SeamDiffers, Refused.
        """

    def take_all(self, batches: Sequence[Batch]) -> list[Head | None]:
        """Store records of many units at once, as `take` does with those of one. Return the head of
        each unit; None if nothing of it was stored: then it has to be sent alone, by `take`."""

    def open_alarms(self) -> dict[str, int] | None:
        """How many alarms of the units of this site no one at the centre has acknowledged, by kind;
        None if the centre does not know."""

    def keep_seam(self, row: SeamRow) -> None:
        """Keep the seam of a board, whose predecessor the centre has; the same one twice is one.
        Raises SeamDiffers, Refused."""

    def keep_games(self, documents: Sequence[bytes]) -> None:
        """Keep game documents."""

    def keep_presence(self, spans: Sequence[Span]) -> None:
        """Keep when the site had sessions with shoes that it may send."""

    def keep_flows(self, flows: Sequence[Flow]) -> None:
        """Keep how the events of shoes come, if the centre is of a version that has a place for
        it."""

    def keep_tombstone(
        self, unit: str, first: int, last: int, after: bytes, tombstone: bytes
    ) -> None:
        """Keep the tombstone of events before all that the centre has of a unit; `after` is the MAC
        of the last of them. Raises Refused."""

    def checkpoints(self, of: Iterable[tuple[str, int, bytes, int]]) -> None:
        """Keep what the site says of its log: unit, event, its MAC, and how many events there are
        up to it."""

    def receipts_after(self, numbers: Mapping[str, int]) -> list[tuple[str, int, bytes]]:
        """Unit, event and receipt of the next receipts of each unit up to events after a number, in
        order; there may be more."""

    def alarm(self, alarm: Alarm) -> None:
        """Keep an alarm; the same one twice is one. Raises Refused."""
