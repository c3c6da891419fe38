"""A cost model: how long the firmware takes on an RP2040, by the lines executed and the cost of a
line.

The count is the same on every machine. The costs were measured with MicroPython 1.28 on an emulated
RP2040 at 125 MHz: for a line of viper (512 bytes of rest, 7 lines each, took 531 us with the call),
and for a line of bytecode (a statement of arithmetic takes 8.9 us, a call 9.8). The README of
firmware/ compares counted figures with times on the emulated chip.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sabot.release.modules import PACKAGES
from sabot.sim.waveform import pass_samples
from sabot_firmware.cards import marks, scan
from sabot_firmware.cards.reader import NO_CARD, Reader
from sabot_firmware.table.dealing import LID, Dealing
from sabot_protocol import cards, games

VIPER_LINE_US = 0.13
PLAIN_LINE_US = 13.0

_OURS = tuple(str(folder) for folder in PACKAGES.values())


def _viper_functions() -> frozenset[CodeType]:
    found = set()
    for module in (marks, scan):
        source = Path(str(module.__file__)).read_text().splitlines()
        for function in vars(module).values():
            code = getattr(function, "__code__", None)
            # A decorator's line is the first one of a function's code.
            if code is not None and "@micropython.viper" in source[code.co_firstlineno - 1]:
                found.add(code)
    return frozenset(found)


_VIPER = _viper_functions()


def lines_executed(work: Callable[[], object]) -> dict[str, int]:
    """Count the lines of the firmware that `work` executes: `viper`, and `plain` for bytecode."""
    lines = {"viper": 0, "plain": 0}

    def each(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines["viper" if frame.f_code in _VIPER else "plain"] += 1
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
    return lines["viper"] * VIPER_LINE_US + lines["plain"] * PLAIN_LINE_US


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
    dealing = Dealing(games.Game(games.document_of(games.MINI_NAME)), 0, 0)
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
