"""A cost model: how long the firmware takes on an RP2040, by the lines executed and the cost of a
line.

The count is the same on every machine. The costs were measured with MicroPython 1.28 on an emulated
RP2040 at 125 MHz: for a line of viper (512 bytes of rest, 7 lines each, took 531 us with the call),
and for a line of bytecode (a statement of arithmetic takes 8.9 us, a call 9.8). A loop over local
variables and attributes takes native code 0.63 of the time of bytecode. The README of
firmware/ compares counted figures with times on the emulated chip.
"""

import linecache
import sys
from collections.abc import Callable
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any

from sabot.release.compiling.modules import PACKAGES
from sabot.sim.waveform import pass_samples
from sabot_firmware.cards.reader import NO_CARD, Reader
from sabot_firmware.table.dealing import LID, Dealing
from sabot_protocol import baccarat, cards

VIPER_LINE_US = 0.13
PLAIN_LINE_US = 13.0
NATIVE_LINE_US = 8.2

_OURS = tuple(str(folder) for folder in PACKAGES.values())


@cache
def _kind(code: CodeType) -> str:
    """`viper` or `native` by the function's decorator, which is the first line of its code."""
    decorator = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return decorator.removeprefix("@micropython.") if "@micropython." in decorator else "plain"


def lines_executed(work: Callable[[], object]) -> dict[str, int]:
    """Count the lines of the firmware that `work` executes: `viper`, `native`, and `plain` for
    bytecode."""
    lines = {"viper": 0, "native": 0, "plain": 0}

    def each(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines[_kind(frame.f_code)] += 1
        return each

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return each if frame.f_code.co_filename.startswith(_OURS) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def rp2040_us(work: Callable[[], object]) -> float:
    """Return the microseconds that `work` takes on an RP2040, by its lines."""
    lines = lines_executed(work)
    costs_us = {"viper": VIPER_LINE_US, "native": NATIVE_LINE_US, "plain": PLAIN_LINE_US}
    return sum(costs_us[kind] * count for kind, count in lines.items())


# How long a sample waits until it is read: the shoe's interval and two words more.
_REST_BYTES = 80  # every 8 ms
_PASS_BYTES = 20  # every 2 ms
_LAST_BYTES = 8  # every 0.6 ms, by words
_BYTE_US = 100
_FASTEST_MM_S = 3000

WAIT_US = 400 + 150 + 600 + 600
"""The time from the last mark's end until the reader has its samples: samples come in words of
0.4 ms, an edge is sure after three samples, and board and asyncio take 0.6 ms a turn, one of which
may just have begun."""


def shares() -> tuple[float, float]:
    """Return the reader's share of an RP2040's time in per cent: at rest, and from a card's edge to
    its end at the highest speed, with the decision at its last mark.
    """
    reader = Reader(0)
    rest = bytes(_REST_BYTES)
    reader.read(rest, 0, len(rest))
    rest_us = rp2040_us(lambda: reader.read(rest, 0, len(rest)))
    samples = pass_samples(cards.number_of("7H"), 0, speed_mm_s=_FASTEST_MM_S)
    at, pass_us = 0, 0.0
    while True:
        last = reader.scanner.marks_gone >= 12 and reader.scanner.in_pass
        end = at + (_LAST_BYTES if last else _PASS_BYTES)
        us = rp2040_us(partial(reader.read, samples, at, end))
        if reader.ended:
            break
        at, pass_us = end, pass_us + us
    return 100 * rest_us / (_REST_BYTES * _BYTE_US), 100 * pass_us / (at * _BYTE_US)


def decision_us() -> float:
    """Return the time from the last mark of a card to the lock, on an RP2040. It is the longest
    case: the card that decides whether a third card is drawn."""
    dealing = Dealing(baccarat.Game(baccarat.document_of(baccarat.MINI_NAME)), 0, 0)
    for on in (True, False):
        dealing.switched(LID, on)
    for name in ("AC", "2C", "4C", "2D", "AD"):
        dealing.card_passed(cards.number_of(name))
    samples = pass_samples(cards.number_of("2H"), 0, speed_mm_s=_FASTEST_MM_S)
    reader = Reader(0)
    at, us = 0, 0.0
    while reader.known == NO_CARD:
        end = at + _LAST_BYTES
        us = rp2040_us(partial(reader.read, samples, at, end))
        at = end
    return WAIT_US + us + rp2040_us(lambda: dealing.lock_after(reader.known))
