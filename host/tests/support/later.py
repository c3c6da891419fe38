"""Logs of a shoe of a later version: events and fields that this version does not know.

Everything is encoded with cbor2 and chained with hmac and hashlib alone (chained.py).
"""

from collections.abc import Callable, Sequence
from typing import Any

import cbor2

from host.tests.support.chained import ChainedLog
from sabot_protocol.schema import Shape

KIND = 61
UNKNOWN = Shape(KIND, "later", "")
"""What `ChainedLog.record` needs of a kind that this version does not know: its number."""

HOSTILE: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "control characters": ("\x1b[2J\r\n\0\x9b<script>", "\u202e"),
    "four deep": ([[[1, b"\xff"]]], {"a": [{}]}),
    "limits": ((1 << 64) - 1, -(1 << 64), 0, True, False, None),
    "large": (bytes(165),),
}
"""Own values of an unknown event, each of which a host must take and show without harm."""

NOT_CBOR_OF_SHOES: dict[str, Any] = {
    "a float": 1.5,
    "a tag": cbor2.CBORTag(1, 5),
    "undefined": cbor2.undefined,
    "too deep": [[[[1]]]],
    "a number as a key": {1: 2},
    "a large integer": 1 << 64,
}
"""Values that no shoe of any version sends."""


def record_of(kind: int, number: int, *own: Any, **head: Any) -> bytes:
    """The record of an event of any kind."""
    given = {"boot": 1, "t_ms": 5 * number, "unix_ms": None, "shoe": 1, "round": 1} | head
    return cbor2.dumps([kind, number, *given.values(), *own], canonical=True)


class LaterLog(ChainedLog):
    """Deals, and records events of a later version where `changes` says: by the number of the event
    after which they come, or by a change of an event's kind and own values."""

    def __init__(self, change: Callable[[int, list[Any]], list[list[Any]]], **given: Any) -> None:
        super().__init__(**given)
        self._change = change

    def record(self, shape: Shape, *values: Any, shoe: int | None = None, round_: int = 0) -> None:
        """Record an event as it is changed, and those that come with it."""
        for kind, *own in self._change(len(self.records) + 1, [shape.number, *values]):
            super().record(Shape(kind, "any", ""), *own, shoe=shoe, round_=round_)


def inserted(at: int, *own: Any, kind: int = KIND) -> Callable[[int, list[Any]], list[list[Any]]]:
    """A change that puts an unknown event in the place of event `at`, before that one."""
    return lambda number, event: [[kind, *own], event] if number == at else [event]


def changed(kind: int, to: Callable[[Sequence[Any]], list[Any]], which: int = 1) -> Any:
    """A change of the own values of the `which`-th event of a kind."""
    seen = 0

    def change(_: int, event: list[Any]) -> list[list[Any]]:
        nonlocal seen
        if event[0] != kind:
            return [event]
        seen += 1
        return [[kind, *to(event[1:])]] if seen == which else [event]

    return change
