"""`sabot forward` says when events wait and none goes, whatever the forwarder waits for."""

import threading

import pytest

from sabot.cli.centre import forward
from sabot.errors import DatabaseUnusable
from sabot.silences import FORWARDING


class _Progress:
    """What waits, as the test says, one answer after the other; the last one for ever."""

    def __init__(self, *answers: tuple[int, float] | None) -> None:
        self._answers = list(answers)
        self.asked_all = threading.Event()

    def stuck(self) -> tuple[int, float]:
        if len(self._answers) == 1:
            self.asked_all.set()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            raise DatabaseUnusable("the log is locked")
        return answer


def _said(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *answers: tuple[int, float] | None,
) -> str:
    monkeypatch.setattr(forward, "_LOOK_S", 0.001)
    progress = _Progress(*answers)
    with forward._told_if_stuck(progress):  # type: ignore[arg-type]
        assert progress.asked_all.wait(30)
    return capsys.readouterr().err


def test_what_waits_too_long_is_said_once_each_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    after_s = FORWARDING.after_s
    said = _said(
        capsys, monkeypatch,
        (12, 1.0), None, (12, after_s + 1), (13, after_s + 6), (0, 0.0), (1234, after_s), (0, 0.0),
    )  # fmt: skip
    assert FORWARDING.is_told_in(said)
    assert said.splitlines() == [
        FORWARDING.say(events=12, seconds=f"{after_s + 1:.0f}"),
        FORWARDING.say(events="1,234", seconds=f"{after_s:.0f}"),
    ]


def test_a_link_on_which_something_goes_is_not_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _said(capsys, monkeypatch, (100_000, FORWARDING.after_s - 1), (5, 0.0)) == ""
