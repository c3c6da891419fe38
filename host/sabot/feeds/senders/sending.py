"""What a sender does for a feed: one try for each of some messages, and what came of it."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

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
CANCELLED = Outcome(Result.FAILED, "sabot feed ends")


async def outcomes_of(
    tries: Sequence[Coroutine[Any, Any, Outcome]], ended: asyncio.Event, lost: Outcome
) -> list[Outcome]:
    """What came of tries that are made at once; `lost` of those that have not ended when `ended` is
    set."""
    tasks = [asyncio.create_task(each) for each in tries]
    waiting = asyncio.create_task(ended.wait())
    pending = {*tasks}
    while pending and not ended.is_set():
        _, rest = await asyncio.wait({*pending, waiting}, return_when=asyncio.FIRST_COMPLETED)
        pending = {each for each in tasks if each in rest}
    waiting.cancel()
    for each in pending:
        each.cancel()
    if pending:
        await asyncio.wait(pending)
    return [lost if each in pending else each.result() for each in tasks]


class Sender(Protocol):
    """Sends the messages of one feed. Called by one thread."""

    width: int
    """How many messages it can send at once."""

    def deliver(self, messages: Sequence[Message]) -> Sequence[Outcome]:
        """Try to send messages, each of another unit. Return what came of each, in this order,
        within a time that is bounded."""
        ...

    def cancel(self) -> None:
        """End the tries that are under way, from another thread. What came of them is not known:
        they count as failed."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
