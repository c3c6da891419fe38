"""What feeds send: each page's part of what has changed on the floor."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sabot.floor.live import Floor

Changed = Mapping[str, Any]
"""What has changed, by name; empty for nothing."""


class Source(Protocol):
    """What one feed sends."""

    def due(self) -> bool:
        """Whether to look at what has changed since the last time. Returns at once."""
        ...

    def since(self, version: int | None) -> tuple[int, Changed]:
        """The version now, and what has changed for a page that has that version, None for nothing.
        Called in a thread of its own."""
        ...


class Parts:
    """The parts of a page, by the id of their element: those that look different than this feed has
    sent them. `render` makes all; it is called only if `key` is another one than before."""

    def __init__(
        self, floor: Floor, key: Callable[[], object], render: Callable[[], Mapping[str, str]]
    ) -> None:
        self._floor, self._key, self._render = floor, key, render
        self._rendered: object = self
        self._sent: dict[str, str] = {}

    def due(self) -> bool:
        """As `Source`."""
        return self._key() != self._rendered

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        now, self._rendered = self._floor.version, self._key()
        if now == version:
            return now, {}
        parts = {id_: html for id_, html in self._render().items() if self._sent.get(id_) != html}
        self._sent |= parts
        return now, {"parts": parts} if parts else {}


class Nothing:
    """Nothing of its own: for a page that does not change, but for the count of open alerts."""

    def due(self) -> bool:
        """As `Source`."""
        return False

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        return version or 0, {}


class WithAlerts:
    """Another source, and how many alerts are open."""

    def __init__(self, floor: Floor, source: Source) -> None:
        self._floor, self._source = floor, source
        self._said: int | None = None

    def due(self) -> bool:
        """As `Source`."""
        return self._floor.alerts.newest != self._said or self._source.due()

    def since(self, version: int | None) -> tuple[int, Changed]:
        """As `Source`."""
        now, changed = self._source.since(version) if self._source.due() else (version, {})
        alerts = self._floor.alerts
        if alerts.newest != self._said:
            self._said = alerts.newest
            still_open = alerts.open
            newest = still_open[0].number if still_open else 0
            changed = {**changed, "alerts": {"open": len(still_open), "newest": newest}}
        return self._floor.version if now is None else now, changed
