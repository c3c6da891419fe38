"""The pytest plugin of the test bench:
`pytest -p sabot_hil.pytest_plugin.plugin --target sim TESTS`.

It gives tests the capabilities of a target as fixtures, skips a test with a reason if the target
cannot do it, fails every test after the rig broke with the first cause, and writes the report.
"""

import base64
import random
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sabot.errors import ImageUnusable
from sabot_hil.capabilities import (
    Bench,
    BrokenRig,
    Clock,
    Compare,
    Measure,
    Power,
    Prompt,
    ShoeLink,
    Target,
    Unable,
)
from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.report.limits import limit_of
from sabot_hil.report.results import Comparison, Measurement
from sabot_hil.targets import (
    BOARD,
    NoSuchTarget,
    TargetChoice,
    choice_of,
    handed_in,
    make_prompt,
    make_target,
)

if TYPE_CHECKING:  # nothing is imported here that only a test with a target needs
    from sabot_hil.kit.witness import Witness

_BROKEN = pytest.StashKey[str]()
_WITNESSES = pytest.StashKey[list["Witness"]]()
_MEASURED = pytest.StashKey[list[Measurement]]()
_COMPARED = pytest.StashKey[list[Comparison]]()
_PROMPT = pytest.StashKey[Prompt]()
_SUMMARY = pytest.StashKey[dict[str, str]]()
_CHOICE = pytest.StashKey[TargetChoice]()
_ABOUT = pytest.StashKey[dict[str, str]]()
_SEED = pytest.StashKey[int]()
_HANDED_IN = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sabot", "the test bench")
    group.addoption("--target", default="sim", help="what to test: sim, emulator, board:SERIAL")
    group.addoption(
        "--bench", default=None, help="the bench board's USB serial number, or emulator"
    )
    group.addoption("--uf2", type=Path, default=None, help="MicroPython for an emulated Pico")
    group.addoption("--seed", type=int, default=None, help="repeat a randomised test")
    group.addoption("--minutes", type=float, default=0.0, help="how long to soak; 0: one sample")
    group.addoption("--report", type=Path, default=None, help="a new folder for the report")
    group.addoption("--repeat-with", default="", help="the command that the report names")
    group.addoption("--own-tests", default="", help="what these tests are, if not a suite of ours")
    group.addoption("--run-name", default="", help="under which name failed tests are noted")
    group.addoption("--test", action="append", default=[], help="only these, in this order")
    group.addoption("--only-failed", action="store_true", help="only those that failed last time")


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    try:
        config.stash[_CHOICE] = choice_of(option.target, option.uf2, option.seed, option.bench)
    except NoSuchTarget as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_ABOUT] = {}
    stack = ExitStack()
    stack.enter_context(private_runtime())
    config.add_cleanup(stack.close)
    if config.option.report is not None and not hasattr(config, "workerinput"):
        from sabot_hil.pytest_plugin.reporter import Reporter

        reporter = Reporter(config, lambda: handed_in_to(config))
        config.pluginmanager.register(reporter, "sabot report")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    stash = session.config.stash
    if _PROMPT in stash:
        try:
            stash[_PROMPT].close()
        except BrokenRig as cause:
            stash[_BROKEN] = f"the rig is broken: {cause}"
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            print(stash[_BROKEN], file=sys.stderr)
        del stash[_PROMPT]
    # Its summary imports all of Hypothesis, 0.7 s, even if no test has used it.
    manager = session.config.pluginmanager
    if "hypothesis" not in sys.modules and manager.hasplugin("hypothesispytest"):
        manager.unregister(name="hypothesispytest")


def handed_in_to(config: pytest.Config) -> dict[str, str]:
    """Return what is to be judged, as it was before the first test."""
    if _HANDED_IN not in config.stash:
        config.stash[_HANDED_IN] = handed_in(config.stash[_CHOICE])
    return config.stash[_HANDED_IN]


# Fixtures


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a randomised test; pytest prints it if the test fails."""
    given: int | None = request.config.getoption("--seed")
    chosen = random.randrange(2**32) if given is None else given
    request.node.stash[_SEED] = chosen
    print(f"repeat with --seed {chosen}")
    return chosen


@pytest.fixture
def minutes(request: pytest.FixtureRequest) -> float:
    """How many minutes to soak; 0 for a sample."""
    given: float = request.config.getoption("--minutes")
    return given


@pytest.fixture
def more_targets(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], Target]]:
    """A function that makes targets by unit id, powered on; all are closed at the end."""
    from sabot_hil.kit.witness import Witness

    made: list[Target] = []

    def make(unit: str) -> Target:
        if made and request.config.stash[_CHOICE].name == "board":
            raise Unable("there is one shoe on this bench")
        handed_in_to(request.config)  # while no target of this test has the rig
        folder = tmp_path / f"flash-{len(made)}"
        witness = Witness()
        request.node.stash.setdefault(_WITNESSES, []).append(witness)
        target = make_target(request.config.stash[_CHOICE], unit, folder, witness)
        made.append(target)
        target.power.on()
        request.config.stash[_ABOUT].update(target.about())
        return target

    yield make
    for target in made:
        target.close()


@pytest.fixture
def target(request: pytest.FixtureRequest, more_targets: Callable[[str], Target]) -> Target:
    """One shoe, powered on, no cards in it."""
    chance = random.Random(request.config.getoption("--seed"))
    return more_targets(f"HIL-{chance.randrange(16**6):06X}")


@pytest.fixture
def shoe(target: Target) -> ShoeLink:
    """The link to `target`."""
    return target.shoe


@pytest.fixture
def bench(target: Target) -> Bench:
    """The cards, buttons and outputs of `target`."""
    return target.bench


@pytest.fixture
def power(target: Target) -> Power:
    """The supply of `target`."""
    return target.power


@pytest.fixture
def clock(target: Target) -> Clock:
    """The time of `target`."""
    return target.clock


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Measure:
    """`measure(name, value, unit, of, at_most=..., at_least=...)`: into the report, with limits."""

    def note(
        name: str,
        value: float,
        unit: str,
        of: str = "",
        /,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        target = request.config.stash[_CHOICE].name
        at_most = None if at_most is None else limit_on(target, name, at_most)
        at_least = None if at_least is None else limit_on(target, name, at_least)
        measured = Measurement(name, value, unit, at_most, at_least)
        request.node.stash.setdefault(_MEASURED, []).append(measured)
        shown = f"{value:g} {unit}" + (f" ({measured.limits})" if measured.limits else "")
        request.node.user_properties.append((name, shown))
        if not measured.good:
            beyond = f"{name}: {value:g} {unit}, allowed: {measured.limits}"
            pytest.fail(beyond + (f" ({of})" if of else ""))

    return note


def limit_on(target: str, name: str, emulated: float) -> float:
    """Return the limit of a measurement on this target; `emulated` is the emulated Pico's."""
    row = limit_of(name)
    return row.board if target == BOARD and row is not None else emulated


@pytest.fixture
def pico(request: pytest.FixtureRequest) -> Prompt:
    """A bare Pico at its prompt, the same one for all tests."""
    stash = request.config.stash
    if _PROMPT not in stash:
        stash[_PROMPT] = make_prompt(stash[_CHOICE])
        stash[_ABOUT].update(stash[_PROMPT].about())
    return stash[_PROMPT]


@pytest.fixture
def compare(request: pytest.FixtureRequest) -> Compare:
    """`compare(name, value)`: into the report, beside what the emulator has for it."""
    from sabot_hil.emulation.assumptions import TABLE

    compared = request.node.stash.setdefault(_COMPARED, [])
    of_all = request.config.stash.setdefault(_COMPARED, [])

    def note(name: str, measured: float, /) -> None:
        compared.append(TABLE[name].compared(measured))
        of_all.append(compared[-1])

    return note


@pytest.fixture
def summary(request: pytest.FixtureRequest) -> dict[str, str]:
    """What a long test did, and the outcome, in words for the report. It is reported even if the
    test is stopped before its end."""
    kept: dict[str, str] = request.node.stash.setdefault(_SUMMARY, {})
    return kept


@pytest.fixture
def progress(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """A function that shows a line on the terminal while the test runs."""
    manager = request.config.pluginmanager

    def show(line: str) -> None:
        run_by_command = manager.getplugin("sabot progress")
        terminal = manager.getplugin("terminalreporter")
        if run_by_command is not None:
            run_by_command.note(line)
        elif terminal is not None:  # a parallel worker has none
            capture = manager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                terminal.ensure_newline()
                terminal.write_line(line)

    return show


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say where the emulator is wrong about a bare Pico, and what to change."""
    compared = config.stash.get(_COMPARED, [])
    if not compared:
        return
    differ = [each for each in compared if not each.agrees]
    agree = f"{len(compared) - len(differ)} of {len(compared)} figures"
    terminalreporter.write_line(f"The emulator agrees with this Pico in {agree}.")
    for each in differ:
        terminalreporter.write_line(
            f"  {each.name}: {each.measured:.4g} {each.unit} here, {each.emulated:.4g} on the "
            f"emulator; {each.change}"
        )


# The outcome of a test


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # The time limit is meant for the simulator; other targets may take longer.
    if config.stash[_CHOICE].name != "sim" and config.pluginmanager.hasplugin("timeout"):
        for item in items:
            item.add_marker(pytest.mark.timeout(0))


def pytest_runtest_setup(item: pytest.Item) -> None:
    broken = why_broken(item.config)
    if broken is not None:
        pytest.fail(broken, pytrace=False)
    if item.config.option.seed is not None:
        random.seed(item.config.option.seed)  # a host's session takes its number from `random`


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    return (yield from _handling_bench_errors(request.config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _handling_bench_errors(item.config))


def _handling_bench_errors(config: pytest.Config) -> Generator[None, object, object]:
    try:
        return (yield)
    except (Unable, ImageUnusable) as why:
        pytest.skip(str(why))
    except BrokenRig as cause:
        config.stash[_BROKEN] = f"the rig is broken: {cause}"
        pytest.fail(config.stash[_BROKEN], pytrace=False)


def why_broken(config: pytest.Config) -> str | None:
    """Why no more tests can be judged, in one line; None if the rig works."""
    return config.stash.get(_BROKEN, None)


def _other_firmware(config: pytest.Config, witnesses: "list[Witness]") -> str:
    """Return why the test has not judged the firmware that was handed in, or leaves another one on
    a real shoe, in one line; empty if neither is so."""
    expected = config.stash.get(_HANDED_IN, {}).get("Firmware", "")
    for witness in witnesses:
        began, runs = witness.about.get("Firmware", expected), witness.runs or expected
        if began != expected:
            return f"the test began with firmware {began}; handed in was {expected}"
        if runs != expected and config.stash[_CHOICE].name == "board":
            return f"the test left firmware {runs} on the shoe; put {expected} back"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    stash = item.stash
    witnesses = stash.get(_WITNESSES, [])
    known: dict[str, str] = item.config.stash[_ABOUT]
    about = dict(known)
    for witness in reversed(witnesses):  # what the first of several reported
        about.update(witness.about)
    other = _other_firmware(item.config, witnesses)
    if report.when == "teardown" and report.passed and other:
        report.outcome, report.longrepr = "failed", other
    passes: list[list[object]] = []
    link: list[str] = []
    if report.failed:
        for witness in witnesses:
            passes += [
                [t_us, base64.b64encode(samples).decode()] for t_us, samples in witness.passes
            ]
            link += list(witness.link)
    # Plain values: with parallel workers the report is sent from one process to another. pytest
    # sends extra attributes of a report too, by design.
    vars(report)["sabot"] = {
        "measured": [
            [each.name, each.value, each.unit, each.at_most, each.at_least]
            for each in stash.get(_MEASURED, [])
        ],
        "compared": [asdict(each) for each in stash.get(_COMPARED, [])],
        "about": about,
        "summary": list(stash.get(_SUMMARY, {}).items()),
        "seed": stash.get(_SEED, None),
        "passes": passes,
        "link": link,
        "broken": why_broken(item.config),
    }
    return report
