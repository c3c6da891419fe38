"""What damages the frames on a line, told from the frames that break.

A wrong setting of a device server breaks frames always in the same way. So each setting that people
get wrong is tried as a repair on the frames that broke, and the CRC of a frame says whether it was
that. The setting that repairs most is the cause. What is repaired here is never used for anything
else: what is stored comes from whole frames only.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from sabot.text import shortened
from sabot_protocol.frame import MAX_FRAME, FrameError, read_frame

_KEPT_BYTES = 16_384
"""The newest bytes of a line that are looked at."""
_MOST_BROKEN = 24
"""Different broken frames that are looked at, the shortest first."""
_MOST_SEARCHED = 6
"""And those for which a missing byte of any value is sought: a quarter of a second each at most."""
_LEAST_SHARE = 0.25
"""Of the broken frames a cause repairs at least so many; not one that has two faults."""
_LEAST_BYTES = 64  # without bit 7, before that is no accident
_MOST_LINE_ENDS = 6  # in a frame: each may have been the other one
_GRAM_BYTES = 6  # that two pieces of one frame have in common
_LEAST_LOST = 4  # bytes: a piece that is lost, and not a byte
_MOST_TEXT = 100  # characters of what a server says

_XON_XOFF = (0x11, 0x13)
_LINE_ENDS = (0x0D, 0x0A)
_NEGOTIATION = re.compile(rb"\xff[\xfb-\xfe].|\xff\xfa.*?\xff\xf0", re.DOTALL)
_TEXT = re.compile(rb"[\t\r\n\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class Cause:
    """What damages frames: what is seen, and what to do about it, for people."""

    name: str
    seen: str
    to_do: str

    def __str__(self) -> str:
        return f"{self.seen}: {self.to_do}"


TELNET = Cause(
    "telnet",
    "0xFF comes doubled, as telnet does",
    "set the device server to raw TCP, or name it with rfc2217:// if it speaks RFC 2217",
)
XON_XOFF = Cause(
    "xon_xoff",
    "0x11 and 0x13 do not come, as with XON/XOFF",
    "set the flow control of the device server to none",
)
LINE_ENDS = Cause(
    "line_ends",
    "0x0D and 0x0A come changed, as with a translation of CR and LF",
    "switch off the translation of line ends at the device server",
)
SEVEN_BITS = Cause(
    "seven_bits",
    "bit 7 is always 0, as with 7 data bits",
    "set the device server to 8 data bits, no parity",
)
PARTS = Cause(
    "parts",
    "only parts of the frames come",
    "another program is connected to the same port of the device server and gets the rest: end it, "
    "and let the server take one connection only",
)
UNKNOWN = Cause(
    "unknown",
    "no setting is known that does this",
    "check the line, its speed (115,200 baud, 8 data bits, no parity) and the device server",
)


def _missing(value: int) -> Cause:
    return Cause(
        "missing",
        f"0x{value:02X} does not come",
        "look which setting of the device server takes this byte, and switch it off",
    )


def says_text(name: str, said: str) -> str:
    """What to tell of a device server that says something and closes the connection."""
    return (
        f"{name}: the device server says '{said}' and closes the connection; end the program that "
        "has this port, or ask who looks after the server"
    )


class Damage:
    """Watches the bytes of one line. `feed` costs next to nothing; `cause` may take a second."""

    def __init__(self) -> None:
        self._recent = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes that came."""
        self._recent += data
        if len(self._recent) > 2 * _KEPT_BYTES:
            del self._recent[:-_KEPT_BYTES]

    @property
    def any(self) -> bool:
        """Whether bytes came that are of no whole frame."""
        *parts, rest = bytes(self._recent).split(b"\0")
        return bool(rest) or any(part and not _is_whole(part) for part in parts)

    def said(self) -> str:
        """Return what came as one printable line, if it is text and no frame; else nothing."""
        text = _NEGOTIATION.sub(b"", bytes(self._recent))
        if not _TEXT.fullmatch(text):
            return ""
        return shortened(" ".join(text.decode().split()), _MOST_TEXT)

    def cause(self) -> Cause:
        """Return what damages the frames, as far as they show it."""
        recent = bytes(self._recent)
        parts = [part for part in recent.split(b"\0") if part]
        whole = [part for part in parts if _is_whole(part)]
        broken = sorted({*parts} - {*whole}, key=len)[:_MOST_BROKEN]
        broken = [part for part in broken if len(part) < 2 * MAX_FRAME]
        if not broken:
            return UNKNOWN
        if len(recent) >= _LEAST_BYTES and not whole and max(recent) < 0x80:
            return SEVEN_BITS
        counts: Counter[Cause] = Counter()
        for cause, repairs in _REPAIRS:
            counts[cause] += sum(_any_whole(repairs(part)) for part in broken)
        counts[LINE_ENDS] += _cut_after_returns(parts)
        if not counts.total():
            few = broken[:_MOST_SEARCHED]
            counts[XON_XOFF] = sum(_any_whole(_with_flow_control_twice(part)) for part in few)
        if not counts.total():
            counts = _of_a_missing_byte(recent, broken)
        if not counts.total():
            counts[PARTS] = _pieces(broken, whole)
        if not counts.total() and _NEGOTIATION.match(recent):
            return TELNET
        cause, repaired = counts.most_common(1)[0] if counts else (UNKNOWN, 0)
        return cause if repaired >= _LEAST_SHARE * len(broken) else UNKNOWN


def _is_whole(part: bytes) -> bool:
    try:
        read_frame(part)
    except FrameError:
        return False
    return True


def _any_whole(candidates: Iterable[bytes]) -> bool:
    return any(map(_is_whole, candidates))


def _undoubled(part: bytes) -> Iterator[bytes]:
    """What a telnet server had, which doubles 0xFF."""
    if b"\xff" in part:
        yield _NEGOTIATION.sub(b"", part).replace(b"\xff\xff", b"\xff")
        yield part.replace(b"\xff\xff", b"\xff")


def _with_one_more(part: bytes, values: Iterable[int]) -> Iterator[bytes]:
    """The frame with one more byte, of one of these values."""
    for value in values:
        more = bytes([value])
        for at in range(len(part) + 1):
            yield part[:at] + more + part[at:]


def _with_flow_control(part: bytes) -> Iterator[bytes]:
    yield from _with_one_more(part, _XON_XOFF)


def _with_flow_control_twice(part: bytes) -> Iterator[bytes]:
    for once in _with_flow_control(part):
        yield from _with_flow_control(once)


def _with_line_ends(part: bytes) -> Iterator[bytes]:
    """What there was before line ends were translated."""
    for new, old in product((b"\r\n", b"\r\r", b"\n\n"), (b"\r", b"\n")):
        if new in part:
            yield part.replace(new, old)
    places = [at for at, value in enumerate(part) if value in _LINE_ENDS]
    if len(places) <= _MOST_LINE_ENDS:
        changed = bytearray(part)
        for values in product(_LINE_ENDS, repeat=len(places)):
            for at, value in zip(places, values, strict=True):
                changed[at] = value
            yield bytes(changed)
    yield from _with_one_more(part, _LINE_ENDS)


_REPAIRS: Sequence[tuple[Cause, Callable[[bytes], Iterator[bytes]]]] = (
    (TELNET, _undoubled),
    (XON_XOFF, _with_flow_control),
    (LINE_ENDS, _with_line_ends),
)
"""What a broken frame may have been, by the cause."""


def _cut_after_returns(parts: Sequence[bytes]) -> int:
    """How many frames were cut in two by a zero after each 0x0D, as terminals of telnet get it."""
    return sum(
        first.endswith(b"\r") and _is_whole(first + second) for first, second in pairwise(parts)
    )


def _of_a_missing_byte(recent: bytes, broken: Sequence[bytes]) -> Counter[Cause]:
    """For each byte value that never comes, how many frames it repairs."""
    absent = {*range(1, 256)} - {*recent}
    counts: Counter[Cause] = Counter()
    searched = broken[:_MOST_SEARCHED]
    for part in searched:
        for value in absent:
            if _any_whole(_with_one_more(part, (value,))):
                counts[_missing(value)] += len(broken) // len(searched)
                break
    return counts


def _pieces(broken: Sequence[bytes], whole: Sequence[bytes]) -> int:
    """How many broken frames lack a piece that another copy of the same frame has."""
    known = [*broken, *dict.fromkeys(whole)]
    places: dict[bytes, list[tuple[int, int]]] = {}
    for number, part in enumerate(known):
        for end in range(_GRAM_BYTES, len(part) + 1):
            places.setdefault(part[end - _GRAM_BYTES : end], []).append((number, end))
    return sum(_lacks_a_piece(part, known, places) for part in broken)


def _lacks_a_piece(
    part: bytes, known: Sequence[bytes], places: dict[bytes, list[tuple[int, int]]]
) -> bool:
    joined = {
        each
        for end in range(_GRAM_BYTES, len(part) + 1)
        for number, at in places[part[end - _GRAM_BYTES : end]]
        for each in (part[:end] + known[number][at:], known[number][:at] + part[end:])
        if each not in part  # else it has all of the frame, and something before it
        and abs(len(each) - len(part)) >= _LEAST_LOST
        and len(each) < MAX_FRAME
    }
    return _any_whole(joined)
