"""The test of a bench board alone, before any shoe is judged with it: `check_bench`.

The check plug is on the board's connector in place of the shoe (hil_tests/wiring). It ties outputs
to senses, which are then compared; it has no part that could be damaged.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sabot_hil.capabilities import BrokenRig
from sabot_hil.targets.bench_board import BenchBoard
from sabot_hil.targets.edge import Edge, RealEdge
from sabot_protocol import enums
from sabot_protocol.rig import rig

PLUG = {
    "lamp_player": ("sensor_e",),
    "lamp_banker": ("sensor_a",),
    "lamp_tie": ("sensor_b",),
    "lock": ("sensor_x",),
    "lamp_ready": ("button_next", "button_burn", "switch_service_on"),
    "lamp_error": ("button_reveal", "switch_lid_open"),
    "buzzer": ("button_void", "switch_key_on"),
}
"""What the check plug ties to each sense. Contacts that share a sense are pulled up there by 10
kilohms, and each of them pulls it down."""

LATE_US = rig.WATCH_US
"""The longest delay of a change: the first look after the change sees it."""

AT_EDGES_US = 10
"""The edges of output and sense and the starts of both clocks take some microseconds together."""

SUPPLY_MS = 200.0
"""Within this time the supply comes up, or goes down into the plug's load of 1 kilohm."""

_CHANNEL_SENSES = ("lamp_player", "lamp_banker", "lamp_tie", "lock")
_OPEN = sum(1 << rig.SENSES.index(sense) for sense in ("lamp_ready", "lamp_error", "buzzer"))
_SUPPLY = 1 << rig.SENSES.index("supply")
_CLOSES_WHEN_ON = {"lid_open": False}  # every other switch closes its contact when on
_HELD_US = 100_000
_RELEASED_S = 0.01
_WAIT_S = 3.0
_STEPS = 400
_SHORTEST_US, _LONGEST_US = 200, 3000


@dataclass(frozen=True, slots=True)
class RigFigure:
    """A line of the table: a measured value and its limits."""

    name: str
    value: float
    unit: str
    at_least: float
    at_most: float

    @property
    def good(self) -> bool:
        """Whether the value is within its limits."""
        return self.at_least <= self.value <= self.at_most


@dataclass(frozen=True, slots=True)
class PatternStep:
    """The levels of the sensor outputs from a time on."""

    t_us: int
    levels: int


def a_pattern(seed: int, steps: int = _STEPS) -> list[PatternStep]:
    """Return steps at irregular times, so that they fall anywhere between two looks; ends low."""
    chance = random.Random(seed)
    pattern, t_us, levels = [], 0, 0
    for _ in range(steps - 1):
        levels ^= 1 << chance.randrange(rig.CHANNELS)
        pattern.append(PatternStep(t_us, levels))
        t_us += chance.randrange(_SHORTEST_US, _LONGEST_US)
    pattern.append(PatternStep(t_us, 0))
    return pattern


def runs_of_pattern(pattern: list[PatternStep]) -> bytes:
    """Return the pattern in the form of sabot_protocol/rig/rig.py."""
    ends = [step.t_us for step in pattern[1:]] + [pattern[-1].t_us + _LONGEST_US]
    return b"".join(
        (end - step.t_us << 4 | step.levels).to_bytes(rig.RUN_BYTES, "little")
        for step, end in zip(pattern, ends, strict=True)
    )


def judge_loopback(
    pattern: list[PatternStep], begun_us: int, seen: Iterable[tuple[int, int]]
) -> list[RigFigure]:
    """Compare what was seen with the pattern. `seen` is the time and the levels of each change."""
    expected, before = [], 0
    for step in pattern:
        if step.levels != before:
            expected.append((begun_us + step.t_us, step.levels))
        before = step.levels
    came = _settled(seen)
    pairs = list(zip(expected, came, strict=False))
    wrong = sum(levels != seen_levels for (_, levels), (_, seen_levels) in pairs)
    wrong += abs(len(expected) - len(came))
    late_us = [seen_us - t_us for (t_us, _), (seen_us, _) in pairs] or [LATE_US * 1000]
    return [
        RigFigure("sensor outputs: changes wrong or missing", wrong, "", 0, 0),
        RigFigure("sensor outputs: seen, the earliest", min(late_us), "us", -AT_EDGES_US, LATE_US),
        RigFigure("sensor outputs: seen, the latest", max(late_us), "us", 0, LATE_US + AT_EDGES_US),
        RigFigure(
            "sensor outputs: seen, the mean",
            round(sum(late_us) / len(late_us), 1),
            "us",
            LATE_US / 2 - AT_EDGES_US,
            LATE_US / 2 + AT_EDGES_US,
        ),
    ]


def judge_contact(part: str, levels_open: int, levels_closed: int) -> RigFigure:
    """Judge the senses with all contacts open, and with this one closed."""
    (sense,) = [sense for sense, parts in PLUG.items() if part in parts]
    expected = _OPEN & ~(1 << rig.SENSES.index(sense))
    wrong = ((levels_open ^ _OPEN) | (levels_closed ^ expected)) & ~_SUPPLY
    return RigFigure(f"{part}: senses wrong", wrong.bit_count(), "", 0, 0)


def table(figures: list[RigFigure]) -> str:
    """Return the figures as text: a line for each, with its limits and whether it is within."""
    rows = [("what", "measured", "allowed", "")]
    for each in figures:
        allowed = f"{each.at_least:g} to {each.at_most:g} {each.unit}".strip()
        measured = f"{each.value:g} {each.unit}".strip()
        rows.append((each.name, measured, allowed, "ok" if each.good else "WRONG"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def check_bench(bench: str, say: Callable[[str], None] = print, edge: Edge | None = None) -> bool:
    """Check the bench board with this USB serial number and the check plug on it. Return whether
    all figures are good.

    Raises BrokenRig if the board is missing or stops answering.
    """
    check = _Check(bench, edge or RealEdge())
    try:
        figures = check.run()
    finally:
        check.board.close()
    say(table(figures))
    return all(figure.good for figure in figures)


class _Check:
    def __init__(self, bench: str, edge: Edge) -> None:
        self._edge = edge
        self._changed = edge.condition()
        self._levels = 0
        self._seen: list[tuple[int, int]] = []
        self._supply: dict[int, int] = {}
        self.board = BenchBoard(bench, self._change, edge=edge)

    def run(self) -> list[RigFigure]:
        """Do all checks. The supply comes first: without it nothing is played."""
        self._let_go()
        levels, _ = self.board.levels()
        if levels & ~_SUPPLY != _OPEN:
            raise BrokenRig(
                f"bench board {self.board.name}: no check plug on it, or a wrong one "
                f"({_senses_high(levels)} high instead of {_senses_high(_OPEN)})"
            )
        figures = [self._supply_to(True), *self._loopback(), *self._contacts()]
        figures.append(self._supply_to(False))
        return figures

    def _supply_to(self, on: bool) -> RigFigure:
        _, before_us = self.board.levels()
        self.board.command(rig.POWER, on)
        with self._changed:
            self._changed.wait_for(lambda: self._supply.get(int(on), 0) > before_us, _WAIT_S)
            at_us = self._supply.get(int(on), before_us + round(_WAIT_S * 1e6))
        took_ms = (at_us - before_us) / 1000
        return RigFigure(f"supply {'on' if on else 'off'} within", took_ms, "ms", 0, SUPPLY_MS)

    def _loopback(self) -> list[RigFigure]:
        pattern = a_pattern(1)
        with self._changed:
            self._seen.clear()
        begun_us, _ = self.board.play(runs_of_pattern(pattern))
        self.board.levels()  # with this answer, all earlier reports have arrived
        with self._changed:
            return judge_loopback(pattern, begun_us, list(self._seen))

    def _contacts(self) -> list[RigFigure]:
        figures = []
        for place, button in enumerate(enums.BUTTONS):
            levels_open, _ = self.board.levels()
            levels_closed = self.board.levels_while_pressed(place, _HELD_US)
            figures.append(judge_contact("button_" + button, levels_open, levels_closed))
        for place, switch in enumerate(enums.SWITCHES):
            levels_open, _ = self.board.levels()
            closes = _CLOSES_WHEN_ON.get(switch, True)
            self.board.command(rig.SWITCH, place, closes)
            levels_closed, _ = self.board.levels()
            self.board.command(rig.SWITCH, place, not closes)
            figures.append(judge_contact("switch_" + switch, levels_open, levels_closed))
        return figures

    def _let_go(self) -> None:
        for place, switch in enumerate(enums.SWITCHES):
            self.board.command(rig.SWITCH, place, not _CLOSES_WHEN_ON.get(switch, True))
        self._edge.pass_s(_RELEASED_S)

    def _change(self, t_us: int, what: str, value: int) -> None:
        with self._changed:
            if what == "supply":
                self._supply[value] = t_us
            elif what in ("lamps", "lock"):
                self._note(t_us, what, value)
            self._changed.notify_all()

    def _note(self, t_us: int, what: str, value: int) -> None:
        x = 1 << _CHANNEL_SENSES.index("lock")
        if what == "lock":
            levels = self._levels & ~x | (x if value else 0)
        else:
            levels = self._levels & x | value & (x - 1)
        if levels != self._levels:
            self._levels = levels
            self._seen.append((t_us, levels))


def _settled(seen: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the levels after each look: one look may report two senses, one after the other."""
    came: dict[int, int] = {}
    for t_us, levels in seen:
        came[t_us] = levels
    return list(came.items())


def _senses_high(levels: int) -> str:
    names = [sense for place, sense in enumerate(rig.SENSES) if levels >> place & 1]
    return ", ".join(names) or "none"
