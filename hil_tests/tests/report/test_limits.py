"""The table of limits, against the tests that have them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sabot_hil
from sabot_hil.pytest_plugin import plugin
from sabot_hil.report.limits import LIMITS, limit_of
from sabot_hil.sweeps.locking import judging

_SUITES = Path(str(sabot_hil.__file__)).parent / "suite"


def _limits_in(folder: str) -> Iterator[tuple[str, float]]:
    """The name, as far as it is fixed, and the limit of each measurement in a suite's tests."""
    for file in sorted((_SUITES / folder).rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or "measure" not in ast.unparse(node.func):
                continue
            limits = [each.value for each in node.keywords if each.arg in ("at_most", "at_least")]
            name = node.args[0] if node.args else None
            if isinstance(name, ast.JoinedStr):
                name = name.values[0]
            for limit in limits:
                assert isinstance(name, ast.Constant), ast.unparse(node)
                yield str(name.value).rstrip(", "), _value(limit)


def _value(limit: ast.expr) -> float:
    """A number, or one that the module of the sweep of the lock has."""
    if isinstance(limit, ast.Attribute):
        assert ast.unparse(limit.value) == "judging"
        return float(getattr(judging, limit.attr))
    return float(ast.literal_eval(limit))


def test_every_limit_of_the_acceptance_suite_is_in_the_table_as_it_is_there() -> None:
    found = dict(_limits_in("acceptance"))
    assert len(found) > 10
    for name, limit in found.items():
        row = limit_of(name)
        assert row is not None, f"{name}: no row in LIMITS"
        assert row.emulated == limit, name
    assert {row.what for row in LIMITS} == set(found), "a row without a measurement"


def test_a_real_shoe_may_take_what_it_may_take_and_must_have_what_it_must() -> None:
    for row in LIMITS:
        assert row.board >= row.emulated, row.what
        assert row.on_emulator and row.on_board, row.what


@pytest.mark.parametrize(
    ("target", "value", "good"), [("emulator", 4.5, False), ("board", 4.5, True)]
)
def test_a_measurement_on_a_real_shoe_has_the_limit_of_one(
    target: str, value: float, good: bool
) -> None:
    limit = plugin.limit_on(target, "last mark to lock, a host asks", 4.2)
    assert (value <= limit) == good
    assert plugin.limit_on(target, "of one's own test", 7.0) == 7.0
