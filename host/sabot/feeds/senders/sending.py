"""What a sender does for a feed: one try for each of some messages, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from sabot.feeds.message import Message


class Result(Enum):
    """What came of a try."""

    DELIVERED = auto()
    """The receiver has acknowledged the message."""
    REFUSED = auto()
    """The receiver does not want this message; it may want others."""
    FAILED = auto()
    """The receiver cannot be reached, or cannot take anything now."""
    GONE = auto()
    """The receiver wants nothing more of this feed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a try."""

    result: Result
    why: str = ""
    """For people, if it was not delivered. Has no secret."""
    wait_s: float = 0.0
    """The receiver asks to be left alone for so long."""


DELIVERED = Outcome(Result.DELIVERED)


class Sender(Protocol):
    """Sends the messages of one feed. Called by one thread."""

    width: int
    """How many messages it can send at once."""

    def deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """Try to send messages, each of another unit. Return what came of each, in this order,
        within a time that is bounded."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
