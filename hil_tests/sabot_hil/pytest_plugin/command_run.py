"""A second plugin, for pytest runs by `sabot hil`: for people who judge a shoe and write no tests.

It shows each test by its name (progress.py). Ctrl-C ends the run with one line, a broken rig is
reported once, as the last line, and the exit code shows which of these happened (cli.py).

With pytest-xdist the tests run in worker processes, each with a target of its own. Then the longest
begin first, Ctrl-C is passed on to the workers, and a test whose worker has ended has failed.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from sabot.errors import RigBroken
from sabot_hil.pytest_plugin.progress import Progress
from sabot_hil.pytest_plugin.reporter import STOPPED, own_part, why_stopped
from sabot_hil.pytest_plugin.time_left import expected_s
from sabot_hil.report import last_failed

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The process that starts pytest blocks these, and so they are blocked in the workers. They are
unblocked once pytest can make the rig safe."""


class Stopped(BaseException):
    """SIGINT within a test. To pytest it is a failure of the test, so the rig is made safe as after
    every test; after a KeyboardInterrupt in a fixture it is not."""


class _Stop:
    """The effect of SIGINT: it ends the running tests, and no other test begins."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._in_a_worker = _in_a_worker(session.config)
        self._within = False
        self._workers: dict[str, int] = {}
        self.judged = False
        self.broken = ""

    def asked(self, *_: object) -> None:
        self._session.shouldstop = STOPPED
        for process in self._workers.values():
            _interrupt(process)
        if self._within:
            self._within = False
            raise Stopped

    def _interruptible(self) -> Generator[None, object, object]:
        try:
            self._within = True
            if self._session.shouldstop:
                raise Stopped
            return (yield)
        finally:
            self._within = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        if session.shouldstop and not self._in_a_worker:  # it would be replaced by another worker
            raise session.Interrupted(session.shouldstop)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self) -> Generator[None, object, object]:
        return (yield from self._interruptible())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        return (yield from self._interruptible())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, Stopped):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {STOPPED}")
            own_part(report)["stopped"] = STOPPED
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.judged |= report.failed or (report.when == "call" and report.passed)
        self.broken = self.broken or own_part(report).get("broken") or ""
        if self.broken and self._workers and not self._session.shouldstop:
            self.asked()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        node.sendcommand = _sent_if_it_runs(node.sendcommand)
        self._workers[node.gateway.id] = node.gateway._rinfo().pid
        if self._session.shouldstop:
            _interrupt(self._workers[node.gateway.id])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers.pop(node.gateway.id, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: pytest.TestReport) -> None:
        report.longrepr = "its worker ended: the process that ran the test and its target"


_STOP = pytest.StashKey[_Stop]()


def _in_a_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _sent_if_it_runs(send: Callable[..., None]) -> Callable[..., None]:
    """Return pytest-xdist's function that sends a command to a worker, which does nothing if the
    worker has ended: pytest-xdist finds that out in a moment, and gives its tests to another. Its
    own function then raises OSError, which ends the whole run."""

    def send_if_it_runs(name: str, **arguments: object) -> None:
        with contextlib.suppress(OSError):
            send(name, **arguments)

    return send_if_it_runs


def _interrupt(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGINT)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    stop = session.config.stash[_STOP] = _Stop(session)
    session.config.pluginmanager.register(stop, "sabot stop")
    signal.signal(signal.SIGINT, stop.asked)
    if not _in_a_worker(session.config):
        _show_progress(session.config)


def _show_progress(config: pytest.Config) -> None:
    parallel: Any = config.pluginmanager.getplugin("dsession")
    workers = 1
    if parallel is not None:
        parallel.terminal = None  # its lines are about processes
        config.pluginmanager.unregister(name="terminaldistreporter")
        workers = len(config.option.tx)
    config.pluginmanager.register(Progress(config, workers), "sabot progress")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.only_failed:
        wanted = set(last_failed.failed(config.option.run_name))
        config.hook.pytest_deselected(items=[each for each in items if each.nodeid not in wanted])
        items[:] = [each for each in items if each.nodeid in wanted]
    if config.option.test:
        wanted_in_order = list(dict.fromkeys(config.option.test))
        found = {each.nodeid: each for each in items}
        chosen = [found[test] for test in wanted_in_order if test in found]
        config.hook.pytest_deselected(items=[each for each in items if each not in chosen])
        items[:] = chosen
    if _in_a_worker(config):  # then no worker is still busy when the others have nothing to do
        items.sort(key=lambda item: expected_s(item.nodeid), reverse=True)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Give a status of its own to a test that was stopped, by Ctrl-C or a broken rig."""
    return ("stopped", "s", "STOPPED") if why_stopped(report) else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    stop = session.config.stash[_STOP]
    if stop.broken:
        session.exitstatus = RigBroken.exit_code
    elif exitstatus == pytest.ExitCode.OK and not stop.judged:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_unconfigure(config: pytest.Config) -> None:
    stop = config.stash.get(_STOP, None)
    if stop is not None and stop.broken and not _in_a_worker(config):
        print(f"sabot: {stop.broken}; repair the rig, then run this again", file=sys.stderr)
