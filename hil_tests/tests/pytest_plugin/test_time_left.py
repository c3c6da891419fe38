import json
from pathlib import Path

import pytest

from sabot_hil.pytest_plugin import time_left
from sabot_hil.pytest_plugin.time_left import TimeLeft, durations, expected_s

_SUITE = Path(time_left.__file__).parents[1] / "suite"


@pytest.fixture(autouse=True)
def _table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tests whose durations are known; a test that judges the real table is not changed."""
    if "shipped" not in request.node.name:
        (tmp_path / "durations.json").write_text('{"test_a": 100, "test_b": 20, "test_c": 60}')
        monkeypatch.setattr(time_left, "_TABLE", tmp_path / "durations.json")
        durations.cache_clear()
        request.addfinalizer(durations.cache_clear)


def test_a_test_is_expected_to_take_the_time_of_its_function() -> None:
    assert expected_s("acceptance/test_x.py::test_a") == 100
    assert expected_s("acceptance/test_x.py::test_b[3-a::b/c]") == 20


def test_a_test_that_is_not_in_the_table_is_expected_to_take_the_median() -> None:
    assert expected_s("test_x.py::test_new") == 60


def test_the_time_left_is_shared_by_the_workers() -> None:
    tests = [f"x.py::test_b[{n}]" for n in range(6)]
    assert TimeLeft(tests, 1, 1.0).seconds(0) == 120
    assert TimeLeft(tests, 2, 1.0).seconds(0) == 60


def test_the_time_left_is_not_less_than_that_of_the_longest_test() -> None:
    assert TimeLeft(["x.py::test_a", "x.py::test_b"], 2, 1.0).seconds(0) == 100


def test_a_running_test_has_used_a_part_of_its_time() -> None:
    left = TimeLeft(["x.py::test_a", "x.py::test_b"], 1, 1.0)
    left.begin("x.py::test_a", 1000)
    assert left.seconds(1030) == 90
    assert left.seconds(1500) == 20, "it takes longer than expected"
    assert left.running == {"x.py::test_a": 1000}


def test_tests_that_took_longer_than_expected_make_the_rest_longer() -> None:
    left = TimeLeft([f"x.py::test_a[{n}]" for n in range(40)], 1, 1.0)
    for n in range(30):
        left.begin(f"x.py::test_a[{n}]", 0)
        left.end(f"x.py::test_a[{n}]", 300)
    assert 2900 < left.seconds(0) < 3000


def test_a_skipped_test_says_nothing_about_the_others() -> None:
    left = TimeLeft(["x.py::test_a", "x.py::test_b"], 1, 1.0)
    left.begin("x.py::test_a", 0)
    left.end("x.py::test_a", None)
    assert left.seconds(0) == 20


def test_the_shipped_table_names_only_tests_that_there_are() -> None:
    sources = "".join(path.read_text() for path in _SUITE.rglob("test_*.py"))
    table = json.loads(time_left._TABLE.read_text())
    assert table and [name for name in table if f"def {name}(" not in sources] == []
