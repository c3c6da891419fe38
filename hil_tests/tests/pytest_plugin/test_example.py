"""The example in hil_tests/README.md runs as it is printed, and its tables are complete."""

import inspect
import re
from pathlib import Path

import pytest

from sabot_hil import capabilities
from sabot_hil.pytest_plugin import plugin

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

_README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
_CAPABILITIES = {
    "shoe": capabilities.ShoeLink,
    "bench": capabilities.Bench,
    "power": capabilities.Power,
    "clock": capabilities.Clock,
    "target": capabilities.Target,
}


def _rows(first_column: str) -> str:
    """The first column of the table with that heading."""
    heading = re.escape(f"| {first_column} | ")
    (table,) = re.findall(rf"^{heading}.*\n\|[-|]+\n((?:\|.*\n)+)", _README, re.MULTILINE)
    return "\n".join(row.split(" | ")[0] for row in table.splitlines())


def _documented(capability: str) -> set[str]:
    """The methods and attributes in its table, methods with the names of their parameters."""
    return set(re.findall(rf"`{capability}\.([^`]+)`", _rows(f"`{capability}`")))


def _public(protocol: type) -> set[str]:
    found = set()
    ours = [each for each in protocol.__mro__ if each.__module__ == capabilities.__name__]
    for name, member in [pair for each in ours for pair in vars(each).items()]:
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            found.add(name)
        else:
            parameters = [each for each in inspect.signature(member).parameters if each != "self"]
            found.add(f"{name}({', '.join(parameters)})")
    return found


@pytest.mark.parametrize("capability", _CAPABILITIES)
def test_every_method_of_a_capability_is_in_its_table(capability: str) -> None:
    assert _documented(capability) == _public(_CAPABILITIES[capability])


def test_every_fixture_is_in_the_table() -> None:
    fixtures = {
        name
        for name, member in vars(plugin).items()
        if type(member).__name__ == "FixtureFunctionDefinition"
    }
    documented = set(re.findall(r"`(\w+)`", _rows("fixture")))
    assert fixtures and documented == fixtures


def test_the_example_runs_on_the_simulator(pytester: pytest.Pytester) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
    pytester.makepyfile(test_power_loss=example)
    ran = pytester.runpytest_inprocess("-p", "sabot_hil.pytest_plugin.plugin", "--target", "sim")
    ran.assert_outcomes(passed=1)
