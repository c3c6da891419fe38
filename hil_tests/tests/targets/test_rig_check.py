"""The bench board's own check and its findings, on a fake rig with the check plug on it."""

from collections.abc import Callable, Iterable, Sequence

import pytest

from sabot_hil.capabilities import BrokenRig
from sabot_hil.targets import rig_check
from sabot_hil.targets.edge import Edge
from sabot_hil.targets.rig_check import (
    PLUG,
    PatternStep,
    RigFigure,
    a_pattern,
    judge_contact,
    judge_loopback,
    runs_of_pattern,
    table,
)
from sabot_protocol import enums
from sabot_protocol.rig import rig
from sabot_protocol.schema import Shape
from sabot_rig.pins import PINS

_BEGUN_US = 1_000_003
_OPEN = sum(1 << rig.SENSES.index(sense) for sense in ("lamp_ready", "lamp_error", "buzzer"))


def _next_look_us(t_us: int) -> int:
    return -t_us % rig.WATCH_US


def _seen_through(
    pattern: Sequence[PatternStep], late_us: Callable[[int], int] = _next_look_us
) -> list[tuple[int, int]]:
    """Return what a good rig sees of a pattern: each change with the next look."""
    return [
        (_BEGUN_US + step.t_us + late_us(_BEGUN_US + step.t_us), step.levels) for step in pattern
    ]


def _wrong(figures: Iterable[RigFigure]) -> list[str]:
    return [figure.name for figure in figures if not figure.good]


def test_the_plug_ties_every_output_to_just_one_sense() -> None:
    tied = [part for parts in PLUG.values() for part in parts]
    assert len(set(tied)) == len(tied)
    outputs = {"sensor_" + channel for channel in enums.CHANNELS}
    outputs |= {"button_" + button for button in enums.BUTTONS}
    outputs |= {"switch_" + switch for switch in enums.SWITCHES}
    assert set(tied) == outputs
    assert set(PLUG) | {"supply"} == set(rig.SENSES)
    assert outputs < {part for _, part, _ in PINS}


def test_a_pattern_has_no_rhythm_and_ends_low() -> None:
    pattern = a_pattern(1)
    assert len({step.t_us % rig.WATCH_US for step in pattern}) > 40
    assert pattern[-1].levels == 0
    played = [word >> 4 for word in memoryview(runs_of_pattern(pattern)).cast("I")]
    assert len(played) == len(pattern) <= rig.MAX_RUNS
    assert min(played) >= 200 and sum(played[:-1]) == pattern[-1].t_us


def test_a_pattern_that_comes_back_unchanged_is_good() -> None:
    pattern = a_pattern(2)
    assert _wrong(judge_loopback(pattern, _BEGUN_US, _seen_through(pattern))) == []


def test_a_wire_that_is_broken_or_swapped_is_found() -> None:
    pattern = a_pattern(3)
    seen = _seen_through(pattern)
    broken = [(t_us, levels & ~4) for t_us, levels in seen]
    swapped = [(t_us, levels & ~3 | levels >> 1 & 1 | (levels & 1) << 1) for t_us, levels in seen]
    for came in (broken, swapped, [], seen[:-1], seen[1:]):
        wrong = _wrong(judge_loopback(pattern, _BEGUN_US, came))
        assert "sensor outputs: changes wrong or missing" in wrong


@pytest.mark.parametrize("late_us", [-20, 20, 1000])
def test_a_clock_that_is_off_is_found(late_us: int) -> None:
    pattern = a_pattern(4)
    seen = _seen_through(pattern, lambda t_us: -t_us % rig.WATCH_US + late_us)
    assert _wrong(judge_loopback(pattern, _BEGUN_US, seen))


def test_a_contact_must_pull_down_its_own_sense_and_no_other() -> None:
    ready = 1 << rig.SENSES.index("lamp_ready")
    error = 1 << rig.SENSES.index("lamp_error")
    assert judge_contact("button_next", _OPEN, _OPEN & ~ready).good
    assert judge_contact("switch_lid_open", _OPEN, _OPEN & ~error).good
    for closed in (_OPEN, _OPEN & ~error, _OPEN & ~ready & ~error, 0):
        assert not judge_contact("button_next", _OPEN, closed).good
    assert not judge_contact("button_next", _OPEN & ~ready, _OPEN & ~ready).good  # stuck


def test_the_table_says_what_is_wrong() -> None:
    shown = table([RigFigure("a", 1, "us", 0, 2), RigFigure("bcd", 12.5, "ms", 0, 2)])
    assert shown.split("\n") == [
        "what  measured  allowed",
        "a     1 us      0 to 2 us  ok",
        "bcd   12.5 ms   0 to 2 ms  WRONG",
    ]


class _Plugged:
    """In place of `BenchBoard`: a rig with the check plug on it, good except for `broken`."""

    broken = ""
    name = "PLUGGED"

    def __init__(self, name: str, on_change: Callable[[int, str, int], None], edge: Edge) -> None:
        self._on_change = on_change
        self._now_us = _BEGUN_US
        self._closed: set[str] = set()
        self._power = 0

    def close(self) -> None:
        pass

    def command(self, shape: Shape, *values: int) -> int:
        self._now_us += 1000
        if shape is rig.POWER:
            self._power = int(values[0])
            self._on_change(self._now_us + 3000, "supply", self._power)
        elif shape is rig.SWITCH:
            part = "switch_" + enums.SWITCHES[values[0]]
            closed = values[1] != (part == "switch_lid_open")
            (self._closed.add if closed else self._closed.discard)(part)
        return 0

    def levels(self) -> tuple[int, int]:
        self._now_us += 1000
        levels = self._power << rig.SENSES.index("supply")
        for sense, parts in PLUG.items():
            if not parts[0].startswith("sensor") and self.broken != "plug":
                pulled = any(part in self._closed and part != self.broken for part in parts)
                levels |= (not pulled) << rig.SENSES.index(sense)
        return levels, self._now_us

    def levels_while_pressed(self, button: int, us: int) -> int:
        part = "button_" + enums.BUTTONS[button]
        self._closed.add(part)
        levels, _ = self.levels()
        self._closed.discard(part)
        return levels

    def play(self, played: bytes) -> tuple[int, int]:
        at_us, before = self._now_us, 0
        for word in memoryview(played).cast("I"):
            levels = word & 15 & ~(2 if self.broken == "sensor_a" else 0)
            seen_us = at_us + -at_us % rig.WATCH_US
            if (levels ^ before) & 7:
                self._on_change(seen_us, "lamps", levels & 7 | 0x18)
            if (levels ^ before) & 8:
                self._on_change(seen_us, "lock", levels >> 3)
            before = levels
            at_us += word >> 4
        begun_us, self._now_us = self._now_us, at_us
        return begun_us, at_us


def _checked(broken: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    monkeypatch.setattr(rig_check, "BenchBoard", _Plugged)
    monkeypatch.setattr(_Plugged, "broken", broken)
    said: list[str] = []
    return rig_check.check_bench("PLUGGED", said.append), "\n".join(said)


def test_a_good_rig_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    good, said = _checked("", monkeypatch)
    assert good and "WRONG" not in said, said
    for part in ("button_void", "switch_lid_open", "supply on", "supply off", "sensor outputs"):
        assert part in said


@pytest.mark.parametrize("broken", ["sensor_a", "button_reveal", "switch_lid_open"])
def test_a_broken_part_is_named(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good, said = _checked(broken, monkeypatch)
    assert not good
    wrong = [line for line in said.split("\n") if line.endswith("WRONG")]
    name = "sensor outputs" if broken == "sensor_a" else broken
    assert wrong and all(line.startswith(name) for line in wrong), said


def test_without_its_plug_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenRig, match="no check plug"):
        _checked("plug", monkeypatch)
