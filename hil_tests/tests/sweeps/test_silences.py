"""What stops parts and waits for the words: how it judges, and that it has every way."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sabot.silences import SILENCES, Silence, Where
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.runner import Checked
from sabot_hil.sweeps import silences
from sabot_hil.sweeps.silences import Stop, all_stops
from sabot_hil.sweeps.stopping.all_scenes import SCENES
from sabot_hil.sweeps.stopping.told import LENIENCE_S, Scene, Told, Verdict, watch

ROW = Silence(
    part="a part", figure="what it does", after_s=30.0, words="{unit} has stopped",
    where=(Where.OUTPUT, Where.METRIC), ways={"hangs": "it hangs"}, alarm="SabotStopped",
    alarm_after_s=60.0,
)  # fmt: skip


class _Clock:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.stopped_s: float | None = None

    def stop(self) -> None:
        self.stopped_s = self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def after(self, seconds: float, text: str) -> Callable[[], str]:
        """What shows `text` so long after the stop; a negative time: before it."""

        def seen() -> str:
            stopped_s = self.stopped_s
            if seconds < 0 or (stopped_s is not None and self.now_s - stopped_s >= seconds):
                return text
            return "all is well"

        return seen


@pytest.mark.parametrize(
    ("after_s", "verdict"),
    [
        (3.0, Verdict.IN_TIME),
        (30.0 + LENIENCE_S, Verdict.IN_TIME),
        (31.0 + LENIENCE_S, Verdict.TOO_LATE),
        (1000.0, Verdict.NEVER),
        (-1.0, Verdict.FALSE),
    ],
)
def test_words_come_in_time_too_late_never_or_before_the_stop(
    after_s: float, verdict: Verdict
) -> None:
    clock = _Clock()
    scene = Scene(
        clock.stop,
        {
            Where.OUTPUT: clock.after(after_s, "SHOE-7 has stopped: look at it"),
            Where.METRIC: clock.after(60.0, "SabotOther SabotStopped"),
        },
    )
    told = watch(ROW, scene, patience_s=120, now_s=lambda: clock.now_s, sleep=clock.sleep)
    assert [(each.where, each.verdict) for each in told] == [
        (Where.OUTPUT, verdict),
        (Where.METRIC, Verdict.IN_TIME),
    ]


@pytest.mark.parametrize("shown", ["SHOE-7 has stop", "SabotStoppedTwice"])
def test_other_words_are_not_those_of_the_row(shown: str) -> None:
    clock = _Clock()
    scene = Scene(clock.stop, dict.fromkeys(ROW.where, clock.after(1.0, shown)))
    told = watch(ROW, scene, patience_s=90, now_s=lambda: clock.now_s, sleep=clock.sleep)
    assert [each.verdict for each in told] == [Verdict.NEVER, Verdict.NEVER]


def test_a_scene_that_leaves_out_a_place_is_refused() -> None:
    clock = _Clock()
    scene = Scene(clock.stop, {Where.OUTPUT: clock.after(1.0, "SHOE-7 has stopped")})
    with pytest.raises(ValueError, match="not looked at: rule of Prometheus"):
        watch(ROW, scene, patience_s=1, now_s=lambda: clock.now_s, sleep=clock.sleep)


def test_every_way_of_every_row_has_a_scene_and_no_scene_is_of_none() -> None:
    ways = {(name, way) for name, row in SILENCES.items() for way in row.ways}
    assert set(SCENES) == ways == {(stop.row, stop.way) for stop in all_stops()}


@pytest.mark.slow
def test_people_are_told_that_the_log_of_a_shoe_was_killed(tmp_path: Path) -> None:
    """The sample of `make silences` in `make test`. Its rule takes a minute longer to fire."""
    row = replace(SILENCES["log"], where=(Where.SCREEN, Where.ALERT), alarm="")
    with private_runtime(), SCENES["log", "killed"](tmp_path) as scene:
        told = watch(row, scene, patience_s=200, now_s=time.monotonic, sleep=time.sleep)
    assert {each.verdict for each in told} <= {Verdict.IN_TIME, Verdict.TOO_LATE}  # a busy machine


def test_only_words_in_time_make_the_sweep_pass(capsys: pytest.CaptureFixture[str]) -> None:
    stop = Stop("log", "killed")

    def tried(verdict: Verdict) -> bool:
        told = [Told(Where.ALERT, verdict, None if verdict is Verdict.NEVER else 3.0)]
        return silences.print_table([Checked(stop, told)], Verdict.IN_TIME)

    assert [tried(each) for each in Verdict] == [each is Verdict.IN_TIME for each in Verdict]
    assert not silences.print_table([Checked(stop, None, "it did not start")], Verdict.IN_TIME)
    assert "NEVER" in capsys.readouterr().out
