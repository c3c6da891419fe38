"""The results of a run as data, written to and read from `results.json` in a report folder.

The times of the run are in a file of their own, `times.json`: all else repeats with the same seed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import ReportUnusable

FORMAT = "sabot hil report 1"
FILE = "results.json"
TIMES_FILE = "times.json"
_TIMES = ("Begun", "Took")
"""What a run says of its own times."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure and its limits; None if there is no such limit."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def good(self) -> bool:
        """Whether the figure is within its limits."""
        above = self.at_most is not None and self.value > self.at_most
        below = self.at_least is not None and self.value < self.at_least
        return not (above or below)

    @property
    def limits(self) -> str:
        """The limits in words; empty if there are none."""
        low = "" if self.at_least is None else f"at least {self.at_least:g}"
        high = "" if self.at_most is None else f"at most {self.at_most:g}"
        return " and ".join(part for part in (low, high) if part)

    @property
    def left(self) -> str:
        """How far the figure is from its limit, in percent of the limit; empty if there is none, or
        two, or 0."""
        limit = self.at_least if self.at_most is None else self.at_most
        if not limit or (self.at_least is not None and self.at_most is not None):
            return ""
        return f"{100 * abs(limit - self.value) / limit:.0f} %" if self.good else "none"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of a board beside what the emulator has for it."""

    name: str
    measured: float
    unit: str
    emulated: float
    within: float
    """A larger difference than this is one; in `unit`."""
    change: str
    """What to change in the emulator if it is one."""

    @property
    def agrees(self) -> bool:
        """Whether the emulator is right about it."""
        return abs(self.measured - self.emulated) <= self.within

    @property
    def verdict(self) -> str:
        """What follows from it, for people."""
        return "agrees" if self.agrees else self.change


@dataclass(slots=True)
class Result:
    """The result of one test."""

    test: str
    """The test's name in pytest."""
    outcome: str
    """passed, failed, skipped (the target cannot do it), or stopped (by Ctrl-C or a broken rig, or
    before it began)."""
    seconds: float
    reason: str = ""
    """Why it was skipped or stopped, or why it failed, in one line."""
    detail: str = ""
    """The full text of a failure."""
    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    summary: list[tuple[str, str]] = field(default_factory=list)
    """What was done, and the outcome, for people, in this order."""
    passes: list[tuple[int, str]] = field(default_factory=list)
    """For a failure: the last samples played to the head (us by the target's clock, base64)."""
    link: list[str] = field(default_factory=list)
    """For a failure: the messages on the link before it."""
    repeat: str = ""
    """The command that runs the test again."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """The results of a whole run."""

    about: Mapping[str, str]
    """What was tested, on what rig, when and how: for people, in this order."""
    results: list[Result]
    unfinished: str = ""
    """Why the run did not finish; empty if it did."""

    def counted(self, outcome: str) -> int:
        """How many tests have this outcome."""
        return sum(result.outcome == outcome for result in self.results)

    @property
    def measurements(self) -> list[tuple[str, Measurement]]:
        """Every measurement with its test."""
        return [(result.test, each) for result in self.results for each in result.measurements]

    @property
    def comparisons(self) -> list[Comparison]:
        """Every figure that was compared with the emulator's."""
        return [each for result in self.results for each in result.comparisons]


def write_results(run: SuiteRun, folder: Path) -> None:
    """Write `results.json` and `times.json`. Raises OSError."""
    results = [*map(asdict, run.results)]
    times = {
        "about": {name: said for name, said in run.about.items() if name in _TIMES},
        "seconds": [each.pop("seconds") for each in results],
    }
    document = {
        "format": FORMAT,
        "about": {name: said for name, said in run.about.items() if name not in _TIMES},
        "unfinished": run.unfinished,
        "results": results,
    }
    (folder / FILE).write_text(json.dumps(document, indent=1) + "\n")
    (folder / TIMES_FILE).write_text(json.dumps(times, indent=1) + "\n")


def read_results(folder: Path) -> SuiteRun:
    """Return the run in a report folder. Raises ReportUnusable."""
    path = folder / FILE
    try:
        document = json.loads(path.read_bytes())
        if document["format"] != FORMAT:
            raise ReportUnusable(
                f"{path}: its format is {document['format']!r}, not {FORMAT!r}; "
                "run `sabot hil --report` again"
            )
        results = [_result_of(each) for each in document["results"]]
        about = {str(name): str(text) for name, text in document["about"].items()}
        if (folder / TIMES_FILE).exists():
            times = json.loads((folder / TIMES_FILE).read_bytes())
            about |= {str(name): str(text) for name, text in times["about"].items()}
            for result, seconds in zip(results, times["seconds"], strict=True):
                result.seconds = float(seconds)
        return SuiteRun(about, results, str(document.get("unfinished", "")))
    except OSError as error:
        raise ReportUnusable(
            f"{path}: cannot be read ({error.strerror}); name the folder that `sabot hil --report` "
            "wrote"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ReportUnusable(
            f"{path}: damaged, or not a report; run `sabot hil --report` again"
        ) from None


def _result_of(document: Mapping[str, Any]) -> Result:
    result = Result(**{"seconds": 0.0, **document})
    result.measurements = [Measurement(**each) for each in document["measurements"]]
    result.comparisons = [Comparison(**each) for each in document.get("comparisons", [])]
    result.summary = [(str(what), str(said)) for what, said in document.get("summary", [])]
    result.passes = [(int(t_us), str(samples)) for t_us, samples in document["passes"]]
    return result
