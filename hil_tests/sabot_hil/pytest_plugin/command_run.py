"""A second plugin, for pytest runs by `sabot hil`: for people who judge a shoe and write no tests.

Ctrl-C ends the run with one line, a broken rig is reported once, as the last line, and the exit
code shows which of these happened (cli.py).
"""

import signal
import sys
from collections.abc import Generator

import pytest

from sabot.errors import RigBroken
from sabot_hil.pytest_plugin.plugin import why_broken

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The process that starts pytest blocks these; they are unblocked once pytest can make the rig
safe."""

_STOPPED = "stopped before its end"


class Stopped(BaseException):
    """SIGINT within a test. To pytest it is a failure of the test, so the rig is made safe as after
    every test; after a KeyboardInterrupt in a fixture it is not."""


class _Stop:
    """The effect of SIGINT: it ends the running test, and no other test begins."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._within = False
        self.judged = False

    def asked(self, *_: object) -> None:
        self._session.shouldstop = _STOPPED
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
        if session.shouldstop:
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
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {_STOPPED}")
        self.judged |= report.failed or (report.when == "call" and report.passed)
        return report


_STOP = pytest.StashKey[_Stop]()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    stop = session.config.stash[_STOP] = _Stop(session)
    session.config.pluginmanager.register(stop, "sabot stop")
    signal.signal(signal.SIGINT, stop.asked)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Give the same status to every test that fails because the rig is broken."""
    if report.failed and why_broken(config) is not None:
        return "not judged", "B", "BROKEN RIG"
    return None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if why_broken(session.config) is not None:
        session.exitstatus = RigBroken.exit_code
    elif exitstatus == pytest.ExitCode.OK and not session.config.stash[_STOP].judged:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_unconfigure(config: pytest.Config) -> None:
    why = why_broken(config)
    if why is not None:
        print(f"sabot: {why}; repair the rig, then run this again", file=sys.stderr)
