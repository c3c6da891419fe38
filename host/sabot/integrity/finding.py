"""Findings, and what their chance is worth if many tests were made.

A test asks how likely it is that honest cards look as strange as these, or stranger: its chance.
Who makes a thousand tests finds one chance in a thousand among honest cards too. So each chance is
corrected for the number of all tests by the method of Holm (1979), which is right however the tests
depend on each other: with a limit of 0.01, one report in a hundred about honest cards has any
finding at all.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace
from typing import Any

from sabot.integrity.dealt_shoe import Place

LIMIT = 0.01
"""A finding is listed if its corrected chance is below this."""

MOST_KEPT = 10_000
"""Findings that are kept; of more, the weakest are left out."""

MOST_PLACES = 5
"""Places that one finding names."""

HOLM = (
    "Each chance says how often honest cards would look as strange as these, in this one test. "
    "Because many tests were made, each is corrected (method of Holm): the corrected chance says "
    "how many reports like this one, all about honest cards, would have a finding as strong as "
    "this anywhere in them."
)
"""What the corrected chance means, for an investigator."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that honest cards would hardly show."""

    analysis: str
    """The name of the analysis, such as "shuffle"."""
    test: str
    """The name of the test, such as "neighbours"."""
    about: str
    """What it is about: "SHOE-7 shoe 12", "unit SHOE-7", "machine DM-3"."""
    statistic: str
    """What was counted."""
    value: float
    """What came out."""
    expected: float
    """What honest cards show on average."""
    chance: float
    """How often honest cards show this or more, from 0 to 1."""
    sentence: str
    """What it says, for an investigator."""
    places: tuple[Place, ...] = ()
    """The rounds to look at, at most MOST_PLACES."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A finding with its chance corrected for the number of all tests."""

    finding: Finding
    corrected: float
    tests: int
    """How many tests were made in all."""

    @property
    def how_often(self) -> str:
        """The corrected chance in words."""
        if self.corrected <= 0:
            return "Honest cards can not show this at all."
        if self.corrected < 1e-9:
            return "Of a thousand million reports about honest cards not one would have this."
        return f"Of {1 / self.corrected:,.0f} reports about honest cards one would have this."

    def as_json(self) -> dict[str, Any]:
        """The finding as `sabot integrity --json` prints it."""
        found = self.finding
        return {
            "analysis": found.analysis,
            "test": found.test,
            "about": found.about,
            "statistic": found.statistic,
            "value": float(found.value),
            "expected": float(found.expected),
            "chance": float(found.chance),
            "tests": self.tests,
            "corrected": float(self.corrected),
            "says": found.sentence,
            "places": [place.as_json() for place in found.places],
        }


class Ledger:
    """All tests that were made. It keeps those whose chance could matter."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self.tests = 0
        """How many tests were made."""
        self._kept: list[tuple[float, int, Finding]] = []
        """A heap of the smallest chances, the largest of them first; with the number of the test,
        so that no two are equal."""

    def add(self, chance: float, finding: Callable[[], Finding]) -> None:
        """Note a test. `finding` is called only if its chance is below the limit."""
        self.tests += 1
        if chance >= self.limit:
            return
        if len(self._kept) < MOST_KEPT:
            heappush(self._kept, (-chance, -self.tests, finding()))
        elif -chance > self._kept[0][0]:
            heapreplace(self._kept, (-chance, -self.tests, finding()))

    def count(self, more: int) -> None:
        """Note tests that could not matter."""
        self.tests += more

    def listed(self) -> list[Listed]:
        """The findings, strongest first."""
        order = [finding for _, _, finding in sorted(self._kept, reverse=True)]
        corrected = holm([each.chance for each in order], self.tests)
        pairs = zip(order, corrected, strict=True)
        return [Listed(each, chance, self.tests) for each, chance in pairs if chance < self.limit]


def holm(chances: Sequence[float], tests: int) -> list[float]:
    """Return chances, which are in ascending order and are the smallest of `tests` tests, corrected
    for the number of tests by the method of Holm (Scandinavian Journal of Statistics 6, 1979)."""
    corrected, least = [], 0.0
    for place, chance in enumerate(chances):
        least = max(least, min(1.0, chance * (tests - place)))
        corrected.append(least)
    return corrected


def first_places(places: Iterable[Place]) -> tuple[Place, ...]:
    """The first MOST_PLACES of some places."""
    return tuple(places)[:MOST_PLACES]
