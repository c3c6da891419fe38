"""`--target` and the capabilities as fixtures: `target`, `bench`, `power`, `more_targets`."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hil_tests.targets import Bench, Power, Target, make_target


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--target", default="sim", help="what to test: sim")
    parser.addoption("--seed", type=int, default=None, help="repeat a randomised test")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of a randomised test; pytest prints it where the test fails."""
    given: int | None = request.config.getoption("--seed")
    chosen = random.randrange(2**32) if given is None else given
    print(f"repeat with --seed {chosen}")
    return chosen


@pytest.fixture
def more_targets(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], Target]]:
    """Makes targets by unit id, powered on; all are put away at the end."""
    made: list[Target] = []

    def make(unit: str) -> Target:
        folder = tmp_path / f"flash-{len(made)}"
        target = make_target(request.config.getoption("--target"), unit, folder)
        made.append(target)
        target.power.on()
        return target

    yield make
    for target in made:
        target.close()


@pytest.fixture
def target(more_targets: Callable[[str], Target]) -> Target:
    """One shoe, powered on, no cards in it."""
    return more_targets(f"HIL-{random.randrange(16**6):06X}")


@pytest.fixture
def bench(target: Target) -> Bench:
    """The cards, buttons and outputs of `target`."""
    return target.bench


@pytest.fixture
def power(target: Target) -> Power:
    """The supply of `target`."""
    return target.power
