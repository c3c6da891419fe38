"""The command that repeats a test, and what the report says of tests that were stopped."""

import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sabot_hil.pytest_plugin.reporter import Order, repeat_command

_IDS = (
    "acceptance/test_draws.py::test_a_natural_ends_the_round[8S KH KS KD]",
    "acceptance/test_draws.py::test_both_draw_by_the_table[3]",
    "acceptance/test_faults.py::test_a_fault_stops_play_and_the_result_follows_from_the_cards"
    "[double_feed-card 1]",
    "acceptance/test_update.py::test_a_release_that_does_not_run_is_given_up_and_the_shoe_deals_on"
    "[does not start]",
)


def _config(**given: object) -> pytest.Config:
    option: dict[str, object] = {
        "repeat_with": "sabot hil --suite acceptance",
        "target": "emulator",
    }
    option |= {"bench": None, "uf2": None, "minutes": 0.0, "seed": None, "keyword": ""}
    known: Any = SimpleNamespace(
        option=SimpleNamespace(**option | given),
        rootpath=Path("/suite"),
        invocation_params=SimpleNamespace(dir=Path("/here")),
        args=["tests/test_a.py::test_b"],
    )
    return cast(pytest.Config, known)


@pytest.fixture(autouse=True)
def _no_image_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SABOT_UF2", raising=False)


def test_it_has_the_image_the_bench_the_seed_and_the_minutes() -> None:
    config = _config(uf2=Path("/a file/p.uf2"), bench="emulator", seed=7, minutes=1.5)
    assert repeat_command(config, test="smoke/test_smoke.py::test_a") == (
        "sabot hil --suite acceptance --target emulator --bench emulator "
        "--uf2 '/a file/p.uf2' --minutes 1.5 -k test_a --seed 7"
    )


def test_an_image_named_by_the_environment_is_in_it_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SABOT_UF2", "p.uf2")
    assert f"--uf2 {tmp_path}/p.uf2" in repeat_command(_config())
    assert "--uf2" not in repeat_command(_config(target="sim")), "the simulator needs none"


def test_the_seed_of_the_test_counts_more_than_that_of_the_run() -> None:
    assert repeat_command(_config(seed=7), test="a.py::test_a", seed=8).endswith("--seed 8")
    assert repeat_command(_config(seed=7), test="a.py::test_a").endswith("--seed 7")


def test_without_sabot_hil_it_has_the_file_and_can_be_pasted_anywhere() -> None:
    config = _config(repeat_with="", target="sim", keyword="a or b")
    plugin = "pytest -p sabot_hil.pytest_plugin.plugin"
    assert repeat_command(config, test="x/test_a.py::test_b[1 2]") == (
        f"{plugin} '/suite/x/test_a.py::test_b[1 2]' --target sim"
    )
    assert repeat_command(config, only="a or b") == (
        f"{plugin} /here/tests/test_a.py::test_b --target sim -k 'a or b'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("test", _IDS)
def test_its_words_choose_this_test_and_no_other(test: str) -> None:
    words = shlex.split(repeat_command(_config(), test=test))
    suite = Path(__file__).resolve().parents[2] / "sabot_hil" / "suite"
    collect = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(suite)]
    collect += ["-p", "sabot_hil.pytest_plugin.plugin", "--collect-only", "-q", "-n", "0"]
    only = ["-k", words[words.index("-k") + 1], str(suite / "acceptance")]
    done = subprocess.run([*collect, *only], capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert found == [test]


def _report(test: str, worker: str = "") -> pytest.TestReport:
    made: Any = SimpleNamespace(nodeid=test)
    if worker:
        made.node = SimpleNamespace(gateway=SimpleNamespace(id=worker))
    return cast(pytest.TestReport, made)


@pytest.mark.parametrize(
    ("target", "expected"),
    [("board:7", ["a", "b", "c"]), ("emulator", ["b", "c"]), ("sim", [])],
)
def test_what_ran_before_on_the_same_target_is_repeated_too(
    target: str, expected: list[str]
) -> None:
    order = Order(target)
    for test in ("a", "b", "c"):
        order.before(_report(test))
    order.before(_report("d"))
    assert order.before(_report("d")) == expected, "each test has three reports"


def test_what_ran_in_another_process_is_not_repeated() -> None:
    order = Order("emulator")
    for test, worker in (("a", "gw0"), ("b", "gw1"), ("c", "gw0")):
        order.before(_report(test, worker))
    assert order.before(_report("d", "gw0")) == ["a", "c"]


def test_the_command_names_the_tests_before_in_their_order() -> None:
    before = ["x/test_a.py::test_b[1 2]", "x/test_a.py::test_c"]
    assert repeat_command(_config(seed=7), test="x/test_d.py::test_e", before=before) == (
        "sabot hil --suite acceptance --test 'x/test_a.py::test_b[1 2]' --test x/test_a.py::test_c "
        "--test x/test_d.py::test_e --target emulator --seed 7"
    )
    without = _config(repeat_with="", target="board:7")
    assert repeat_command(without, test="x/test_d.py::test_e", before=before[1:]) == (
        "pytest -p sabot_hil.pytest_plugin.plugin /suite/x/test_a.py::test_c "
        "/suite/x/test_d.py::test_e --target board:7"
    )
