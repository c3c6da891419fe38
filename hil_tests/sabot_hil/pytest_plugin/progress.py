"""What `sabot hil` shows while the tests run: each test by its name, and the time left.

On a terminal the last line is rewritten each second. Into a pipe or a file it goes once a minute,
so that a long test is not silent.
"""

import os
import shutil
import threading
import time
from collections.abc import Generator, Sequence

import pytest

from sabot_hil.pytest_plugin.reporter import (
    Order,
    own_part,
    repeat_command,
    why_failed,
    why_skipped,
    why_stopped,
)
from sabot_hil.pytest_plugin.time_left import TimeLeft
from sabot_hil.report import last_failed

_EVERY_S, _EVERY_S_IN_A_PIPE = 1.0, 60.0
_IN_REAL_TIME = 0.1
"""The time that a test takes on other targets, as a share of its time on the emulated Pico."""

_CLEAR = "\r\x1b[K"


def as_time(seconds: float) -> str:
    """Return a duration in words: "41 s", "12 min", "2 h 5 min"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """The plugin; `workers` is how many tests run side by side."""

    def __init__(self, config: pytest.Config, workers: int) -> None:
        self._config = config
        self._workers = workers
        self._out = os.fdopen(os.dup(1), "w")  # pytest catches what goes to 1 while a test runs
        self._on_a_terminal = self._out.isatty()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._time_left: TimeLeft | None = None
        self._tests = 0
        self._done = 0
        self._outcomes: dict[str, tuple[str, str]] = {}
        self._took_s: dict[str, float] = {}
        self._repeat: list[tuple[str, str]] = []
        self._order = Order(config.option.target)

    # What pytest reports

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if self._time_left is None:
            self._begin(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self._lock:
            if self._time_left is not None:
                self._time_left.begin(nodeid, time.monotonic())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test, before = report.nodeid, self._order.before(report)
        self._took_s[test] = self._took_s.get(test, 0.0) + report.duration
        if self._outcomes.get(test, ("", ""))[0] == "FAILED":
            return
        stopped = why_stopped(report)
        if stopped:
            self._outcomes[test] = "stopped", stopped
        elif report.skipped:
            self._outcomes[test] = "skipped", why_skipped(report)
        elif report.failed:
            self._outcomes[test] = "FAILED", why_failed(report)
            seed = own_part(report).get("seed")
            command = repeat_command(self._config, test=test, seed=seed, before=before)
            self._repeat.append((test, command))
        if report.when not in ("setup", "call", "teardown"):  # its worker has ended
            self.pytest_runtest_logfinish(test)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcome, why = self._outcomes.get(nodeid, ("passed", ""))
        took_s = self._took_s.get(nodeid, 0.0)
        with self._lock:
            if self._time_left is None:
                return
            self._done += 1
            self._time_left.end(nodeid, took_s if outcome in ("passed", "FAILED") else None)
            left = as_time(self._time_left.seconds(time.monotonic()))
            count = f"{self._done}/{self._tests}".rjust(2 * len(str(self._tests)) + 1)
            line = f"{count}  {outcome:7}  {as_time(took_s):>6}  {_short(nodeid)}"
            self._print(line + (f"  ({left} left)" if self._done < self._tests else ""))
            if why:
                self._print(f"{' ' * len(count)}  {why}")
        self._show()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, object], object]:
        """Count the test, but show no letter for it."""
        category, _, word = yield
        return category, "", "" if category else word

    def pytest_sessionfinish(self) -> None:
        self._ended.set()
        of = {test: self._outcomes.get(test, ("passed", ""))[0] for test in self._took_s}
        passed = [test for test, outcome in of.items() if outcome in ("passed", "skipped")]
        now = [test for test, outcome in of.items() if outcome == "FAILED"]
        if self._config.option.run_name:
            last_failed.note(self._config.option.run_name, passed, now)
        with self._lock:
            self._print("", end="")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test, command in self._repeat:
            terminalreporter.write_line(f"To repeat {_short(test)}:")
            terminalreporter.write_line(f"  {command}")

    # What is shown

    def note(self, line: str) -> None:
        """Show a line of the running test."""
        with self._lock:
            self._print(line)
        self._show()

    def _begin(self, tests: Sequence[str]) -> None:
        if not tests:
            return
        target = self._config.option.target
        self._tests = len(tests)
        workers = min(self._workers, len(tests))
        self._time_left = TimeLeft(tests, workers, 1.0 if target == "emulator" else _IN_REAL_TIME)
        left = as_time(self._time_left.seconds(time.monotonic()))
        at_once = f", {workers} at a time" if workers > 1 else ""
        tests_in_words = "1 test" if len(tests) == 1 else f"{len(tests)} tests"
        self._print(f"{tests_in_words} on {target}{at_once}: about {left}")
        self._ticker.start()

    def _tick(self) -> None:
        while not self._ended.wait(_EVERY_S if self._on_a_terminal else _EVERY_S_IN_A_PIPE):
            self._show(also_in_a_pipe=True)

    def _show(self, also_in_a_pipe: bool = False) -> None:
        with self._lock:
            if self._time_left is None or self._ended.is_set() or not self._time_left.running:
                return
            now_s = time.monotonic()
            running = ", ".join(
                f"{_short(test)} {as_time(now_s - begun_s)}"
                for test, begun_s in self._time_left.running.items()
            )
            left = as_time(self._time_left.seconds(now_s))
            line = f"{self._done}/{self._tests}, {left} left: {running}"
            if self._on_a_terminal:
                self._out.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
                self._out.flush()
            elif also_in_a_pipe:
                self._print(line)

    def _print(self, line: str, end: str = "\n") -> None:
        self._out.write((_CLEAR if self._on_a_terminal else "") + line + end)
        self._out.flush()


def _short(test: str) -> str:
    return test.partition("::")[2] or test
