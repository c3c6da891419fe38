"""How `sabot hil` runs tests: several at a time, stopped, with a broken rig, with a dead worker.

The tests that are run here use no shoe. They run in a process of their own, as the command runs
them: a worker that ends, or a signal, would otherwise end this test.
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sabot.errors import RigBroken
from sabot_hil import cli
from sabot_hil.kit.waiting import wait_until

pytestmark = pytest.mark.slow

_TIMEOUT_S = 120.0
_TWO_AT_A_TIME = ("--numprocesses", "2", "--maxschedchunk", "1")
_FEW_WORKERS = ("--max-worker-restart", "3")
"""How many ended workers are replaced: pytest-xdist by itself replaces four for each of the two."""
_PARALLEL = [(), _TWO_AT_A_TIME]
_IDS = ["one at a time", "two at a time"]


def _begin(folder: Path, tests: str, *arguments: str, out: int = subprocess.PIPE) -> Any:
    """Begin to run `tests` as `sabot hil --report report` does."""
    (folder / "test_these.py").write_text(tests)
    command = [*cli.PYTEST, "--rootdir", ".", "--repeat-with", "sabot hil", "--seed", "7"]
    command += ["--report", "report", "--junit-xml", "report/junit.xml", *arguments, "."]
    (folder / "report").mkdir()
    return subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, text=True
    )


def _run(folder: Path, tests: str, *arguments: str) -> tuple[int, str, str]:
    run = _begin(folder, tests, *arguments)
    out, problems = run.communicate(timeout=_TIMEOUT_S)
    return run.returncode, out, problems


def _report(folder: Path) -> tuple[str, dict[str, tuple[str, str]]]:
    """Why the run of the report has not finished, and outcome and reason of each test."""
    document = json.loads((folder / "report" / "results.json").read_text())
    results = {
        each["test"].partition("::")[2]: (each["outcome"], each["reason"])
        for each in document["results"]
    }
    return document["unfinished"], results


@pytest.mark.parametrize("parallel", _PARALLEL, ids=_IDS)
def test_each_test_is_shown_by_its_name_with_what_came_of_it_and_the_time_left(
    tmp_path: Path, parallel: tuple[str, ...]
) -> None:
    tests = """
import pytest

def test_good(): pass
def test_bad(measure): measure("lock", 6.5, "ms", at_most=5)
def test_unable(): pytest.skip("no port")
"""
    code, out, _ = _run(tmp_path, tests, *parallel)
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("3 tests on sim" + (", 2 at a time" if parallel else "") + ": about")
    for line in ("passed test_good", "FAILED test_bad", "skipped test_unable"):
        outcome, name = line.split()
        assert re.search(rf"^[123]/3  {outcome} +\d s  {name}( |$)", out, re.MULTILINE), out
    assert "     lock: 6.5 ms, allowed: at most 5" in lines and "     no port" in lines
    assert len(re.findall(r"  \(\d+ s left\)$", out, re.MULTILINE)) == 2
    repeat = lines[lines.index("To repeat test_bad:") + 1]
    assert repeat == "  sabot hil --target sim -k test_bad --seed 7"
    assert lines[-1].startswith("1 failed, 1 passed, 1 skipped in ")


def test_named_tests_run_in_their_order_and_the_failed_one_fails_again(tmp_path: Path) -> None:
    """As the line "To repeat" names them: here a test fails only after another one."""
    tests = """
import os

def test_a(): assert "LEFT" not in os.environ
def test_b(): pass
def test_c(): os.environ["LEFT"] = "something"
"""
    named = [f"--test=test_these.py::test_{which}" for which in "ca"]
    code, out, _ = _run(tmp_path, tests, *named)
    shown = re.findall(r"^[12]/2  (passed|FAILED) .* (test_\w)", out, re.MULTILINE)
    assert code == 1 and shown == [("passed", "test_c"), ("FAILED", "test_a")], out


def test_the_tests_that_take_longest_begin_first(tmp_path: Path) -> None:
    tests = "\n".join(f"def {name}(): pass" for name in ("test_x", *_by_duration()[::-1]))
    code, out, _ = _run(tmp_path, tests, "--numprocesses", "1", "--maxschedchunk", "1")
    names = re.findall(r"passed .*?(test_\w+)", out)
    assert code == 0 and len(names) > 3
    assert [name for name in names if name != "test_x"] == _by_duration()


def _by_duration() -> list[str]:
    path = Path(cli.__file__).with_name("pytest_plugin") / "durations.json"
    table: dict[str, float] = json.loads(path.read_text())
    by_seconds = {seconds: name for name, seconds in table.items()}
    return [by_seconds[seconds] for seconds in sorted(by_seconds, reverse=True)][::9]


def test_a_test_whose_worker_ended_has_failed_and_the_run_goes_on(tmp_path: Path) -> None:
    tests = """
import os
import signal

def test_a(): pass
def test_kills_its_worker(): os.kill(os.getpid(), signal.SIGKILL)
def test_b(): pass
def test_c(): pass
"""
    code, out, _ = _run(tmp_path, tests, *_TWO_AT_A_TIME)
    assert code == 1
    unfinished, results = _report(tmp_path)
    assert unfinished == ""
    outcome, reason = results.pop("test_kills_its_worker")
    assert outcome == "failed" and reason.startswith("its worker ended")
    assert results == {f"test_{name}": ("passed", "") for name in "abc"}
    assert re.search(r"FAILED .* test_kills_its_worker", out)
    junit = (tmp_path / "report" / "junit.xml").read_text()
    assert junit.count("<testcase") == 4 and "its worker ended" in junit


def test_workers_that_end_again_and_again_end_the_run_with_a_report(tmp_path: Path) -> None:
    tests = """
import os
import pytest

@pytest.mark.parametrize("n", range(30))
def test_ends_its_worker(n): os._exit(3)
"""
    code, _, _ = _run(tmp_path, tests, *_TWO_AT_A_TIME, *_FEW_WORKERS)
    assert code == 1
    unfinished, results = _report(tmp_path)
    assert unfinished and len(results) == 30
    assert {outcome for outcome, _ in results.values()} == {"failed", "stopped"}


def test_workers_that_end_at_the_same_moment_end_the_run_with_a_report(tmp_path: Path) -> None:
    """Tests for a worker that has ended, too, are then sent while that is not known yet."""
    tests = """
import os
import pathlib
import signal
import time
import pytest

@pytest.mark.parametrize("n", range(30))
def test_ends_both_workers(n):
    folder = pathlib.Path(__file__).parent
    (folder / f"{os.getpid()}.worker").touch()
    others = []
    give_up_s = time.monotonic() + 10
    while not others and time.monotonic() < give_up_s:
        others = [int(each.stem) for each in folder.glob("*.worker")]
        others = [each for each in others if each != os.getpid()]
        time.sleep(0.01)
    for each in others:
        (folder / f"{each}.worker").unlink(missing_ok=True)
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass
    (folder / f"{os.getpid()}.worker").unlink(missing_ok=True)
    os._exit(3)
"""
    code, _, problems = _run(tmp_path, tests, *_TWO_AT_A_TIME, *_FEW_WORKERS)
    assert code == 1, problems
    unfinished, results = _report(tmp_path)
    assert unfinished and len(results) == 30


_LONG = """
import os
import pathlib
import time

import pytest

@pytest.fixture
def shoe_with_power():
    yield
    pathlib.Path(f"off-{os.getpid()}").touch()

def test_a(): pass

@pytest.mark.parametrize("n", range(9))
def test_long(n, shoe_with_power):
    pathlib.Path(f"begun-{os.getpid()}").touch()
    time.sleep(600)
"""


@pytest.mark.parametrize("parallel", _PARALLEL, ids=_IDS)
def test_ctrl_c_stops_the_running_tests_makes_the_rig_safe_and_leaves_a_report(
    tmp_path: Path, parallel: tuple[str, ...]
) -> None:
    run = _begin(tmp_path, _LONG, *parallel)
    workers = 2 if parallel else 1
    assert wait_until(lambda: len([*tmp_path.glob("begun-*")]) == workers, _TIMEOUT_S)
    run.send_signal(signal.SIGINT)
    out, problems = run.communicate(timeout=_TIMEOUT_S)
    assert run.returncode == 2 and problems == "", problems
    processes = [int(path.name.removeprefix("off-")) for path in tmp_path.glob("off-*")]
    assert len(processes) == workers, "no power was switched off"
    assert not [process for process in processes if _runs(process)]
    unfinished, results = _report(tmp_path)
    assert unfinished == "stopped before its end"
    reasons = sorted(results.values())
    assert reasons == sorted(
        [("passed", "")]
        + [("stopped", "stopped before its end")] * workers
        + [("stopped", "stopped before it")] * (9 - workers)
    )
    assert f"1 passed, {workers} stopped" in out and "skipped" not in out
    page = (tmp_path / "report" / "report.html").read_text()
    assert "1 passed, 0 failed, 9 stopped, 0 not tested here" in page


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("moment_s", [0.3, 0.8, 1.5])
def test_ctrl_c_while_the_workers_start_ends_the_run(tmp_path: Path, moment_s: float) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # as the command does
    try:
        run = _begin(tmp_path, _LONG, *_TWO_AT_A_TIME)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    time.sleep(moment_s)
    run.send_signal(signal.SIGINT)
    out, problems = run.communicate(timeout=_TIMEOUT_S)
    assert run.returncode == 2 and "Traceback" not in out + problems
    unfinished, _ = _report(tmp_path)
    assert unfinished == "stopped before its end"


@pytest.mark.parametrize("parallel", _PARALLEL, ids=_IDS)
def test_a_broken_rig_stops_all_tests_with_its_cause_and_fails_none(
    tmp_path: Path, parallel: tuple[str, ...]
) -> None:
    tests = """
import time
import pytest
from sabot_hil.capabilities import BrokenRig

def test_a(): raise BrokenRig("no bench board answers")

@pytest.mark.parametrize("n", range(9))
def test_others(n): time.sleep(0.3)
"""
    code, out, problems = _run(tmp_path, tests, *parallel)
    cause = "the rig is broken: no bench board answers"
    assert code == RigBroken.exit_code
    assert problems == f"sabot: {cause}; repair the rig, then run this again\n"
    unfinished, results = _report(tmp_path)
    assert unfinished == cause and len(results) == 10
    assert results["test_a"] == ("stopped", cause)
    assert {outcome for outcome, _ in results.values()} <= {"stopped", "passed"}
    assert "failed" not in out and "Traceback" not in out


def test_a_pipe_gets_each_line_as_it_comes(tmp_path: Path) -> None:
    run = _begin(tmp_path, "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)\n")
    try:
        assert run.stdout.readline().startswith("2 tests on sim: about ")
        assert "test_a" in run.stdout.readline()
    finally:
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=_TIMEOUT_S)


def test_a_terminal_shows_the_running_test_and_the_time_left_on_its_last_line(
    tmp_path: Path,
) -> None:
    ours, theirs = os.openpty()
    run = _begin(tmp_path, "import time\ndef test_a(): time.sleep(3)\n", out=theirs)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert run.wait(_TIMEOUT_S) == 0
    assert re.search(rb"\r\x1b\[K0/1, \d+ s left: test_a \d s", shown), shown
    assert shown.count(b"\r\x1b[K0/1, ") >= 2, "it is rewritten in place"
    assert re.search(rb"\r\x1b\[K1/1  passed +3 s  test_a\r\n", shown), shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""
