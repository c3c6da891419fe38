"""The runner of sweeps and benchmarks: options, exit codes, what happens to cases that fail."""

import os
import signal
import subprocess
import sys
from functools import partial
from typing import Annotated

import pytest
import typer

from sabot_hil.kit.runner import Seed, check_all, run


def _exit_code(work: object, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(work, arguments)  # type: ignore[arg-type]
    code = ended.value.code
    assert isinstance(code, int)
    return code


def _square(but: int, case: int) -> int:
    if case == but:
        raise AssertionError(f"not {but}")
    return case * case


def test_the_parameters_of_a_sweep_are_its_options() -> None:
    given = []

    def sweep(
        seed: Seed = 1,
        cuts: int = 2,
        thorough: Annotated[bool, typer.Option("--thorough")] = False,
    ) -> None:
        given.append((seed, cuts, thorough))

    assert _exit_code(sweep) == 0
    assert _exit_code(sweep, "--seed", "7", "--cuts", "9", "--thorough") == 0
    assert given == [(1, 2, False), (7, 9, True)]


def test_the_help_has_the_docstring_and_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    def sweep(seed: Seed = 1, cuts: int = 2) -> None:
        """Cut the power."""

    assert _exit_code(sweep, "--help") == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("Cut the power.", "--seed", "--cuts"))


def test_a_sweep_that_finds_something_ends_with_1_a_wrong_option_with_2() -> None:
    def sweep(cuts: int = 2) -> bool:
        if cuts > 2:
            raise typer.BadParameter("too many")
        return cuts > 1

    assert _exit_code(sweep) == 0
    assert _exit_code(sweep, "--cuts", "1") == 1
    assert _exit_code(sweep, "--cuts", "3") == 2
    assert _exit_code(sweep, "--cuts", "many") == 2
    assert _exit_code(sweep, "--cut", "1") == 2


def test_ctrl_c_ends_it_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    def sweep() -> None:
        signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert _exit_code(sweep) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    assert "stopped before the end" in capsys.readouterr().err


def test_simulated_shoes_of_a_run_are_in_a_folder_of_its_own() -> None:
    folders = []

    def sweep() -> None:
        folders.append(os.environ["XDG_RUNTIME_DIR"])

    before = os.environ.get("XDG_RUNTIME_DIR")
    assert _exit_code(sweep) == 0
    assert folders != [before] and os.environ.get("XDG_RUNTIME_DIR") == before


def test_a_case_that_fails_says_why_and_the_others_are_still_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check = partial(_square, 3)
    done = {each.case: each for each in check_all(check, range(6), "numbers")}
    assert [done[case].result for case in range(6)] == [0, 1, 4, None, 16, 25]
    assert done[3].failure.startswith("AssertionError: not 3 (test_runner.py:")
    assert not any(done[case].failure for case in range(6) if case != 3)
    assert "6 of 6 numbers, 1 failed" in capsys.readouterr().err


def _ended_by_ctrl_c(_: int) -> int:
    """How a program that a check starts ends by Ctrl-C."""
    program = "import time; print(flush=True); time.sleep(60)"
    waits = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert waits.stdout is not None
    waits.stdout.readline()
    waits.send_signal(signal.SIGINT)
    with waits.stdout:
        return waits.wait(30)


def test_what_a_check_starts_can_be_ended_by_ctrl_c() -> None:
    (checked,) = check_all(_ended_by_ctrl_c, [1], "programs")
    assert checked.failure == "" and checked.result == -signal.SIGINT
