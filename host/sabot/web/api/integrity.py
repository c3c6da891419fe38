"""What the cards of the log give away, as JSON."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from sabot.web.access import Visit
from sabot.web.api.operations import Open, Operation

_Finding = Annotated[
    Mapping[str, Any],
    Open("IntegrityFinding", "A finding, as `sabot integrity --json` prints it."),
]


class _Study(TypedDict):
    running: bool
    done: int
    of: int
    problem: str
    ended_unix_ms: int | None
    shoes: int | None
    tests: int | None
    findings: Sequence[_Finding]


class _Begun(TypedDict):
    begun: bool


def _study(visit: Visit) -> _Study:
    state = visit.services.study.state
    found = state.found
    return {
        "running": state.running,
        "done": state.done,
        "of": state.of,
        "problem": state.problem,
        "ended_unix_ms": None if found is None else found.unix_ms,
        "shoes": None if found is None else found.shoes,
        "tests": None if found is None else found.tests,
        "findings": [] if found is None else list(found.findings),
    }


def _begin(visit: Visit) -> _Begun:
    return {"begun": visit.services.study.begin(visit.services.store.place, visit.services.zone)}


OPERATIONS = [
    Operation(
        "GET", "/api/integrity", _study, "integrity",
        "What the cards of the log give away: how far the study is, and what the last one found",
    ),
    Operation(
        "POST", "/api/integrity", _begin, "integrity",
        "Begin a study of all shoes of cards that have ended, unless one is running",
    ),
]  # fmt: skip
