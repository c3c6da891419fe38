"""Follows a log while others write it: which units have new events, and these events."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from sabot.link.flow import Flow
from sabot.log.found import LARGEST, RawRecord

__all__ = ["Follower", "RawRecord"]


class Follower(ABC):
    """Follows a log, in one thread at a time.

    Every method raises DatabaseUnusable if the log is gone, is not one, is damaged or locked; the
    next call tries again, with whatever log is at that place then.
    """

    @abstractmethod
    def close(self) -> None:
        """Close the log. The next call opens it again."""

    @abstractmethod
    def poll(self) -> dict[str, int]:
        """Return the units whose newest event is another one than at the last call, with its
        number; 0 for a unit that the log does not have any more.

        At the first call, and after the log was replaced, these are all units: what was read
        before may be of another log.
        """

    @abstractmethod
    def records(self, unit: str, after: int, last: int = LARGEST) -> Iterator[RawRecord]:
        """Yield number, record and MAC of the events of `unit` after event `after`, in order, up to
        event `last`."""

    @abstractmethod
    def received_before(self, unit: str, unix_ms: int) -> int:
        """The number of the newest event of `unit` that a log received before a time; 0 if there is
        none."""

    @abstractmethod
    def newest_note(self) -> int:
        """The number of the newest note of the log's desk; 0 if there is none."""

    @abstractmethod
    def noted(self) -> dict[str, tuple[int, int]]:
        """When a log last noted that it had the shoe of each unit, by the host's clock, and a
        number that is another one after each such note."""

    @abstractmethod
    def flows(self) -> dict[str, Flow]:
        """As `Store.flows`."""
