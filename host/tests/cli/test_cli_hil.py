"""`sabot hil`: a suite on a simulated shoe, its report, and what is refused."""

import contextlib
import errno
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial
from serial.tools import list_ports

from host.tests.support.commands import (
    SABOT,
    TIMEOUT_S,
    environment,
    error_line,
    error_line_here,
    run,
    running,
)
from sabot import cli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `report`, the report of a smoke test that passed."""
    folder = tmp_path_factory.mktemp("hil")
    run(folder, "hil", "-k", "answers or without_cards", "--report", "report")
    return folder


def test_a_report_has_a_page_and_results_as_json_and_junit(accepted: Path) -> None:
    report = accepted / "report"
    assert sorted(path.name for path in report.iterdir()) == [
        "junit.xml",
        "report.html",
        "results.json",
        "times.json",
    ]
    document = json.loads((report / "results.json").read_text())
    assert [each["outcome"] for each in document["results"]] == ["passed", "passed"]
    assert {"Target", "Unit", "Firmware", "MicroPython"} <= set(document["about"])
    assert re.search(r"SHA-256 of the program [0-9a-f]{64}$", document["about"]["MicroPython"])


def test_a_report_says_how_to_repeat_it_with_the_same_seed(accepted: Path) -> None:
    document = json.loads((accepted / "report" / "results.json").read_text())
    command = shlex.split(document["about"]["To repeat"])
    assert command[:2] == ["sabot", "hil"] and command[command.index("--seed") + 1].isdigit()
    run(accepted, *command[1:], "--report", "again")
    again = json.loads((accepted / "again" / "results.json").read_text())
    tests = [each["test"] for each in document["results"]]
    assert tests == [each["test"] for each in again["results"]]
    assert again["about"]["To repeat"] == document["about"]["To repeat"]
    for name in ("junit.xml", "results.json"):
        first, second = ((accepted / folder / name).read_bytes() for folder in ("report", "again"))
        assert first == second, name


_OWN = """
from sabot_hil.kit.dealer import load_cards

def test_betting_opens(bench, seed):
    assert load_cards(bench, "AC", "2C").title == "BETTING OPEN"

def test_that_fails(bench):
    assert bench.outputs.title == "NOT THIS", "a text of its own"
"""


def test_own_tests_run_and_those_that_failed_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "my tests").mkdir()
    mine = tmp_path / "my tests" / "test_mine.py"
    mine.write_text(_OWN)
    done = run(tmp_path, "hil", "my tests", "--report", "report", "--seed", "7", code=1)
    assert re.search(r"1/2 +passed .* test_betting_opens +\(.* left\)", done.stdout)
    assert re.search(r"2/2 +FAILED .* test_that_fails", done.stdout)
    about = json.loads((tmp_path / "report" / "results.json").read_text())["about"]
    assert about["Suite of"].startswith("not Sabot: own tests in my tests (1 file, SHA-256 ")
    assert shlex.split(about["To repeat"])[:3] == ["sabot", "hil", str(mine.parent)]
    done = run(tmp_path, "hil", "--failed", "my tests", code=1)
    assert "1 test on sim" in done.stdout and "test_betting_opens" not in done.stdout
    mine.write_text(_OWN.replace("NOT THIS", "LOAD CARDS"))
    assert "1 test on sim" in run(tmp_path, "hil", "my tests", "--failed").stdout
    line = error_line(tmp_path, "hil", "my tests", "--failed", code=26)
    assert line.endswith("no test failed when it ran last; leave --failed out")
    assert sorted(path.name for path in mine.parent.iterdir() if path.suffix) == ["test_mine.py"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing",), "no such file or folder of tests, and no command; the commands are compare"),
        ((".", "--suite", "soak"), "name your tests, or a --suite of Sabot, not both"),
    ],
)
def test_own_tests_named_wrongly(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    said = run(tmp_path, "hil", *arguments, code=2).stderr.replace("\u2502", " ")
    assert says in " ".join(said.split())


def test_an_existing_report_folder_is_not_changed(accepted: Path) -> None:
    before = (accepted / "report" / "results.json").read_bytes()
    line = error_line_here(accepted, "hil", "--report", "report", code=24)
    assert line == "report: already exists; name a new folder"
    assert (accepted / "report" / "results.json").read_bytes() == before


def test_a_test_that_failed_since_is_shown_with_exit_code_1(accepted: Path) -> None:
    document = json.loads((accepted / "report" / "results.json").read_text())
    document["results"][0] |= {"outcome": "failed", "reason": "no answer"}
    (accepted / "later").mkdir(exist_ok=True)
    (accepted / "later" / "results.json").write_text(json.dumps(document))
    assert run(accepted, "hil", "compare", "report", "report").stdout == "Nothing changed.\n"
    shown = run(accepted, "hil", "compare", "report", "later", code=1).stdout
    assert shown.endswith("passed -> failed (no answer)\n") and shown.count("\n") == 1


def test_a_comparison_has_its_exit_code_also_if_the_pipe_is_closed(accepted: Path) -> None:
    shutil.copytree(accepted / "report", accepted / "worse")
    results = accepted / "worse" / "results.json"
    results.write_text(results.read_text().replace('"passed"', '"failed"'))
    for how in ("", "--json"):
        subprocess.run(
            f"(sleep 2; {SABOT} hil compare report worse {how}; echo $? >code) | true",
            shell=True, cwd=accepted, timeout=TIMEOUT_S, check=True,
        )  # fmt: skip
        assert (accepted / "code").read_text() == "1\n"


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "hil", "compare", "a", "b", code=24)
    assert line.startswith("a/results.json: cannot be read (No such file or directory)")


def test_a_name_that_matches_no_test_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "hil", "-k", "nosuch", "--report", "report", code=26)
    (line,) = done.stderr.splitlines()
    assert line == "sabot: smoke: no test named 'nosuch' that sim can run; leave -k out to see all"
    assert not (tmp_path / "report").exists(), "the next try would be refused"


def test_a_run_in_which_every_test_is_skipped_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, "hil", "--suite", "acceptance", "-k", "the_heap_has_room", code=26)
    assert "1 skipped" in done.stdout and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("moment", ["at the start", "between two tests", "in a soak"])
def test_ctrl_c_ends_it_with_code_130_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setenv(_MARK, str(tmp_path))
    options = ("--suite", "soak", "--minutes", "60") if moment == "in a soak" else ()
    with running(tmp_path, "hil", *options, "--report", "report") as command:
        command.wait_for_line(" tests on sim" if moment != "in a soak" else "1 test on sim")
        if moment != "at the start":
            _wait(lambda: _shoes_of(tmp_path) != [], "a simulated shoe")
        if moment == "between two tests":
            _wait(lambda: _shoes_of(tmp_path) == [], "an end of its test")
        assert command.end() == 130
    assert command.problems == ["Report: report/report.html"]
    assert "Interrupted: stopped before its end" in command.lines[-2]
    assert _processes_of(tmp_path) == []
    report = tmp_path / "report"
    results = json.loads((report / "results.json").read_text())["results"]
    assert {result["outcome"] for result in results} <= {"passed", "stopped"}
    assert any(result["reason"].startswith("stopped before it") for result in results)
    if moment == "between two tests":
        assert len(results) == 7
    page = (report / "report.html").read_text()
    assert "Not judged to the end" in page and "stopped before its end" in page


def test_a_closed_terminal_ends_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_MARK, str(tmp_path))
    with running(tmp_path, "hil") as command:
        _wait(lambda: _shoes_of(tmp_path) != [], "a simulated shoe")
        assert command.end(by=signal.SIGHUP) == 130
    assert _processes_of(tmp_path) == []


def _wait(done: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not done():
        assert time.monotonic() < deadline_s, f"no {what} within {TIMEOUT_S} s"
        time.sleep(0.005)


_MARK = "SABOT_TEST"
"""A variable that the processes of a run inherit."""


def _processes_of(run_in: Path) -> list[str]:
    """The command lines of the processes of a run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{_MARK}={run_in}\0".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def _shoes_of(run_in: Path) -> list[str]:
    """The command lines of the simulated shoes of a run."""
    return [each for each in _processes_of(run_in) if "sabot_firmware" in each]


def test_an_unknown_target_is_an_error(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "hil", "--target", "simm", code=2)
    assert line == "no target has the name 'simm'; did you mean sim?"


# A `sabot` for which a package, or the entry point of the test bench, is not installed.
_WITHOUT = """
import importlib.metadata
import sys
from sabot import cli

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *where):
        if name.partition(".")[0] == missing:
            return None
        return self.finder.find_spec(name, *where)

missing = sys.argv.pop(1)
if missing == "entry point":
    importlib.metadata.entry_points = lambda **_: ()
sys.meta_path[:] = map(Without, sys.meta_path)
cli.run()
"""


@pytest.mark.parametrize("arguments", [("--suite", "smoke"), ("compare", "a", "b")])
@pytest.mark.parametrize("missing", ["sabot_hil", "pytest", "entry point"])
def test_a_test_bench_that_is_not_installed_is_reported_with_code_25(
    missing: str, arguments: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", _WITHOUT, missing, "hil", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    what = "pytest" if missing == "pytest" else "the test bench"
    install = "in the checkout: pip install --require-hashes -r .lock/hil.txt"
    assert done.stderr == f"sabot: {what} is not installed; {install}\n"
    assert (done.returncode, done.stdout) == (25, "")


def test_the_library_does_not_import_the_test_bench() -> None:
    sources = Path(cli.__file__).parents[1].rglob("*.py")
    imports = [
        line
        for source in sources
        for line in source.read_text().splitlines()
        if re.match(r"\s*(import|from) (sabot_hil|pytest)\b", line)
    ]
    assert imports == []


def test_a_report_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = error_line_here(tmp_path, "hil", "--report", "file/report", code=24)
    assert line == "file/report: cannot be created (Not a directory); name another folder"


def _plugged_in(monkeypatch: pytest.MonkeyPatch, *serials: str) -> None:
    infos = [
        SimpleNamespace(serial_number=serial, device=f"/dev/ttyACM{n}", product="Pico", vid=0x2E8A)
        for n, serial in enumerate(serials)
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: infos)


@pytest.mark.parametrize(
    ("serials", "arguments", "error"),
    [
        ((), (), "no board is attached beside SHOE-7; plug the bench board in"),
        (("SHOE-7",), (), "no board is attached beside SHOE-7; plug the bench board in"),
        (("B", "SHOE-7", "A"), (), "A or B may be the bench board; name it with --bench"),
        (
            ("SHOE-7", "A"),
            ("--bench", "B"),
            "bench board B: no such unit is attached; `sabot ports` lists those that are",
        ),
        (
            ("B", "B"),
            ("--bench", "B"),
            "bench board B: /dev/ttyACM0 and /dev/ttyACM1 have this name; "
            "name the port, or detach one",
        ),
        (("SHOE-7", "B"), (), "bench board B: no such port"),
    ],
)
def test_a_missing_or_ambiguous_bench_board_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    serials: tuple[str, ...],
    arguments: tuple[str, ...],
    error: str,
) -> None:
    _plugged_in(monkeypatch, *serials)
    monkeypatch.setattr(serial, "serial_for_url", _no_such_port)
    line = error_line_here(
        tmp_path, "hil", "--target", "board:SHOE-7", *arguments, "--report", "report", code=28
    )
    assert line.startswith(error)
    assert not (tmp_path / "report").exists()


def _no_such_port(url: str, **_: object) -> None:
    raise serial.SerialException(errno.ENOENT, f"No such file or directory: {url}")


def test_the_commands_of_the_test_bench_keep_their_names(tmp_path: Path) -> None:
    done = run(tmp_path, "hil", "--help")
    assert done.returncode == 0
    assert "check-bench" in done.stdout and "compare" in done.stdout
