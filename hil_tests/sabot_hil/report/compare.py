"""The changes from one report to another."""

from collections.abc import Iterator

from sabot_hil.report.results import Measurement, Result, SuiteRun

_OF_THE_RUN = ("Begun", "Took", "To repeat")
_SUITE = "/suite/"
_NOTICEABLE = 0.05
"""A figure that moved by less than this share of its value counts as unchanged."""


def differences(before: SuiteRun, after: SuiteRun) -> Iterator[str]:
    """Yield a line for each difference: in what was tested, in the tests, in the figures."""
    for name in dict.fromkeys((*before.about, *after.about)):
        was, now = before.about.get(name, "nothing"), after.about.get(name, "nothing")
        if was != now and name not in _OF_THE_RUN:
            yield f"{name}: {was} -> {now}"
    was_of, now_of = _by_name(before), _by_name(after)
    for test in dict.fromkeys((*was_of, *now_of)):
        outcomes = [of[test].outcome if test in of else "not there" for of in (was_of, now_of)]
        if outcomes[0] != outcomes[1]:
            reason = now_of[test].reason if test in now_of else ""
            yield f"{test}: {outcomes[0]} -> {outcomes[1]}" + (f" ({reason})" if reason else "")
    yield from _figures_compared(_measured(before), _measured(after))


def worse(before: SuiteRun, after: SuiteRun) -> bool:
    """Whether a test fails now that did not fail before, or one that was there is missing now."""
    was_of, now_of = _by_name(before), _by_name(after)
    failing = {name for name, result in was_of.items() if result.outcome == "failed"}
    fails = {name for name, result in now_of.items() if result.outcome == "failed"}
    return bool(fails - failing) or bool(was_of.keys() - now_of.keys())


def _by_name(run: SuiteRun) -> dict[str, Result]:
    return {_name(result.test): result for result in run.results}


def _name(test: str) -> str:
    """Return the test's name relative to the suite, which may be in any folder."""
    return f"/{test}".rpartition(_SUITE)[2].removeprefix("/")


def _measured(run: SuiteRun) -> dict[str, Measurement]:
    return {f"{_name(test)}: {each.name}": each for test, each in run.measurements}


def _figures_compared(
    before: dict[str, Measurement], after: dict[str, Measurement]
) -> Iterator[str]:
    for name in before.keys() & after.keys():
        was, now = before[name].value, after[name].value
        if abs(now - was) > _NOTICEABLE * max(abs(was), abs(now)):
            share = f", {now / was - 1:+.0%}" if was else ""
            yield f"{name}: {was:g} -> {now:g} {after[name].unit}{share}"
