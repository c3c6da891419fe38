"""What a bad link does to a stream of bytes: it is cut, or bytes are delayed, doubled, exchanged,
changed or lost in the middle. Pure: bytes go in, and what is to be done with them comes out.

It knows nothing of what the bytes mean, so faults come at any place of a message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Way = Literal["up", "down"]
UP: Way = "up"
"""From the site to the centre."""
DOWN: Way = "down"
"""And back."""

Kind = Literal[
    "cut",
    "closed",
    "silent",
    "delayed",
    "trickled",
    "doubled",
    "swapped",
    "changed",
    "dropped",
    "call",
]
KINDS: Sequence[Kind] = (
    "cut", "closed", "silent", "delayed", "trickled", "doubled", "swapped", "changed", "dropped",
)  # fmt: skip
"""Those of a link; `call` is for faults of something else that come at a byte."""

_TRICKLED_BYTES = 7
_TRICKLED_S = 0.002
_MOST_TRICKLED = 400


@dataclass(frozen=True, slots=True)
class Send:
    """Pass these bytes on."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Pass nothing on in this direction for a time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Silence:
    """Pass nothing on in either direction, though both sides stay connected; reset them after a
    time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """End the connection on both sides, by a reset or by a close in order."""

    reset: bool


Action = Send | Wait | Silence | End


@dataclass(slots=True)
class LinkFault:
    """Something that happens once, `after_bytes` bytes in the direction `way` after it was armed.

    `size` is how many bytes are doubled, exchanged, changed or lost, `for_s` how long a silence or
    a delay lasts. `call` is called before the byte after those is passed on, and its result says
    whether that may be passed on at all: if not, the connection is reset.
    """

    kind: Kind
    way: Way
    after_bytes: int
    size: int = 1
    for_s: float = 0.0
    call: Callable[[], bool] | None = None
    hit: bool = False
    """Whether it has happened."""
    _passed: int = field(default=0, repr=False)

    def feed(self, way: Way, data: bytes) -> Sequence[Action]:
        """What to do with the next bytes of a direction."""
        if self.hit or way != self.way:
            return [Send(data)]
        place = self.after_bytes - self._passed
        if place >= len(data):
            self._passed += len(data)
            return [Send(data)]
        if self.kind == "swapped" and len(data) - place < 2:
            return [Send(data)]  # two are needed: with the next bytes
        self.hit = True
        before, after = data[:place], data[place:]
        return [*([Send(before)] if before else []), *self._happen(after)]

    def _happen(self, data: bytes) -> Sequence[Action]:
        kind, size = self.kind, self.size
        if kind in ("cut", "closed"):
            return [End(reset=kind == "cut")]
        if kind == "silent":
            return [Silence(self.for_s)]
        if kind == "delayed":
            return [Wait(self.for_s), Send(data)]
        if kind == "trickled":
            return _trickled(data)
        if kind == "doubled":
            return [Send(data[:size] + data)]
        if kind == "swapped":
            half = min(size, len(data) // 2)
            return [Send(data[half : 2 * half] + data[:half] + data[2 * half :])]
        if kind == "changed":
            changed = bytes(byte ^ (1 << at % 8) for at, byte in enumerate(data[:size]))
            return [Send(changed + data[size:])]
        if kind == "dropped":
            return [Send(data[size:])] if data[size:] else []
        assert kind == "call" and self.call is not None
        return [Send(data)] if self.call() else [End(reset=True)]


def _trickled(data: bytes) -> Sequence[Action]:
    actions: list[Action] = []
    slow = min(len(data), _MOST_TRICKLED)
    for at in range(0, slow, _TRICKLED_BYTES):
        actions += [Send(data[at : min(at + _TRICKLED_BYTES, slow)]), Wait(_TRICKLED_S)]
    return [*actions, Send(data[slow:])] if data[slow:] else actions
