"""What shows what a forwarder does: the terminal, and the metrics."""

from collections.abc import Mapping
from typing import Protocol

from sabot.centre.alarms import Alarm


class Watcher(Protocol):
    """Called in the forwarder's thread."""

    def said(self, line: str) -> None:
        """Something that a person should read, once."""

    def connected(self, is_connected: bool) -> None:
        """The connection to the centre was made, or is lost."""

    def batch(self, unit: str, records: int, took_s: float) -> None:
        """The centre has committed a batch."""

    def reached(self, numbers: Mapping[str, int], newest: Mapping[str, int]) -> None:
        """Up to which event the centre has each unit, and the newest one in the site's log."""

    def open_alarms(self, by_kind: Mapping[str, int]) -> None:
        """How many alarms of this site's units no one at the centre has acknowledged."""

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        """A receipt up to event `number` of `unit` was kept, which was signed at this time."""

    def alarm(self, alarm: Alarm) -> None:
        """An alarm was raised that this forwarder had not raised before."""
