"""The results of the tests, collected for the report, and the command that repeats a test."""

import os
import re
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sabot.errors import SabotError
from sabot_firmware import VERSION
from sabot_hil.capabilities import BrokenRig
from sabot_hil.emulation.uf2 import ENVIRONMENT
from sabot_hil.report import page
from sabot_hil.report import results as result_files
from sabot_hil.report.results import Comparison, Measurement, Result, SuiteRun

STOPPED = "stopped before its end"


def own_part(report: pytest.TestReport) -> dict[str, Any]:
    """Return what this plugin has put into pytest's report; empty if the worker that ran the test
    has ended."""
    found: dict[str, Any] = getattr(report, "sabot", {})
    return found


def why_stopped(report: pytest.TestReport) -> str:
    """Why the test ended without a judgement on the shoe, in one line; empty if it did not."""
    own = own_part(report)
    why: str = own.get("stopped") or (own.get("broken") if report.failed else None) or ""
    return why


def why_failed(report: pytest.TestReport) -> str:
    """Why the test failed, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return str(text).strip().split("\n")[0].removeprefix("Failed: ")


def why_skipped(report: pytest.TestReport) -> str:
    """Why the test was skipped."""
    where = report.longrepr
    text = str(where[2]) if isinstance(where, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ")


_LIVES_ON = ("board", "pico")
"""Targets that all tests share: what a test leaves of one, the next one finds."""
_OF_ITS_PROCESS = 2
"""Of tests that each have an emulated target of their own, so many before a test are repeated: they
share a process, and once a test failed only after another one."""


class Order:
    """Which tests have begun in each process, in order."""

    def __init__(self, target: str) -> None:
        kind = target.partition(":")[0]
        self._most = None if kind in _LIVES_ON else _OF_ITS_PROCESS if kind == "emulator" else 0
        self._begun: dict[str, list[str]] = {}

    def before(self, report: pytest.TestReport) -> list[str]:
        """Note that the test of `report` has begun; return the tests that matter to it: those that
        ran before it on its target, in order."""
        node: Any = getattr(report, "node", None)  # of pytest-xdist
        begun = self._begun.setdefault("" if node is None else node.gateway.id, [])
        if report.nodeid not in begun:
            begun.append(report.nodeid)
        earlier = begun[: begun.index(report.nodeid)]
        return earlier if self._most is None else earlier[max(0, len(earlier) - self._most) :]


def repeat_command(
    config: pytest.Config,
    *,
    test: str = "",
    only: str = "",
    seed: int | None = None,
    before: Sequence[str] = (),
) -> str:
    """Return the command that runs the test with this id again, after the tests `before`; with
    none, all tests that were chosen by `only`, the value of -k. A shell takes it as it is.
    """
    option = config.option
    if option.repeat_with:
        words = shlex.split(option.repeat_with)
        for each in (*before, test) if before else ():
            words += ["--test", each]
        only = "" if before else _expression(test) if test else only
    else:
        words = ["pytest", "-p", "sabot_hil.pytest_plugin.plugin"]
        here = config.invocation_params.dir
        tests = [str(config.rootpath / each) for each in (*before, test)]
        words += tests if test else [str(here / arg) for arg in config.args]
    words += ["--target", option.target]
    words += [] if option.bench is None else ["--bench", option.bench]
    image = option.uf2 or os.environ.get(ENVIRONMENT)
    emulated = option.target in ("emulator", "pico:emulator")
    words += ["--uf2", str(Path(image).resolve())] if image and emulated else []
    words += ["--minutes", f"{option.minutes:g}"] if option.minutes else []
    words += ["-k", only] if only else []
    seed = option.seed if seed is None else seed
    words += [] if seed is None else ["--seed", str(seed)]
    return shlex.join(words)


def _expression(test: str) -> str:
    """Return a value of -k that chooses the test with this id."""
    function, bracket, parameters = test.partition("::")[2].partition("[")
    words = re.findall(r"[\w:+\-.\[\]\\/]+", function.rpartition("::")[2] + bracket + parameters)
    return " and ".join(word for word in words if word not in ("and", "or", "not"))


class Reporter:
    """Collects the results of the tests and writes the report at the end."""

    def __init__(self, config: pytest.Config, handed_in: Callable[[], dict[str, str]]) -> None:
        self._config = config
        self._ask_what_is_judged = handed_in
        self._handed_in: dict[str, str] = {}
        self._folder: Path = config.option.report
        self._begin_s = time.time()
        self._results: dict[str, Result] = {}
        self._about: dict[str, dict[str, str]] = {}  # by test
        self._chosen: Sequence[str] = ()
        self._broken = ""
        self._order = Order(config.option.target)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        with suppress(BrokenRig, SabotError):  # the first test reports it
            self._handed_in = self._ask_what_is_judged()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._chosen = [item.nodeid for item in session.items]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._chosen = ids

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = self._results.setdefault(report.nodeid, Result(report.nodeid, "passed", 0.0))
        result.seconds += report.duration
        before = self._order.before(report)
        own = own_part(report)
        self._about.setdefault(report.nodeid, {}).update(own.get("about", {}))
        self._broken = self._broken or own.get("broken") or ""
        if report.when == "call":
            result.measurements = [Measurement(*each) for each in own.get("measured", [])]
            result.comparisons = [Comparison(**each) for each in own.get("compared", [])]
            result.summary = [(what, said) for what, said in own.get("summary", [])]
        stopped = why_stopped(report)
        if stopped and result.outcome != "failed":
            result.outcome, result.reason = "stopped", stopped
        elif report.skipped:
            result.outcome, result.reason = "skipped", why_skipped(report)
        elif report.failed:
            result.outcome, result.reason = "failed", why_failed(report)
            result.detail = str(report.longrepr)
            result.passes = [(t_us, samples) for t_us, samples in own.get("passes", [])]
            result.link = own.get("link", [])
            seed = own.get("seed")
            result.repeat = repeat_command(
                self._config, test=report.nodeid, seed=seed, before=before
            )

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        not_begun = [test for test in self._chosen if test not in self._results]
        for test in not_begun:
            self._results[test] = Result(test, "stopped", 0.0, "stopped before it")
        began = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(self._begin_s))
        option = self._config.option
        place = {test: at for at, test in enumerate(dict.fromkeys((*self._chosen, *self._results)))}
        in_order = [test for test in self._chosen if test in self._about]
        reported: dict[str, str] = {}
        for test in reversed(in_order):  # what the first test reported counts
            reported.update(self._about[test])
        about = {
            "Target": option.target,
            **self._handed_in,
            **{name: said for name, said in reported.items() if name not in self._handed_in},
            "Suite of": option.own_tests or f"Sabot {VERSION}",
            "Begun": began,
            "Took": f"{time.time() - self._begin_s:.0f} s",
            "To repeat": repeat_command(self._config, only=option.keyword),
        }
        results = sorted(self._results.values(), key=lambda each: place[each.test])
        stopped = exitstatus == pytest.ExitCode.INTERRUPTED
        stopped |= any(result.outcome == "stopped" for result in results)
        run = SuiteRun(about, results, self._broken or (STOPPED if stopped else ""))
        self._folder.mkdir(parents=True, exist_ok=True)
        result_files.write_results(run, self._folder)
        page.write_page(run, self._folder)
