"""Ctrl-C: quiet in the first moments, later one line that says what was left."""

import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from host.tests.support.commands import SABOT, environment, running, short_deck
from sabot.cli import interrupted
from sabot.cli.commands import MODULES
from sabot.cli.service.parallel import run_in_parallel
from sabot.errors import Interrupted
from sabot.release.update import Progress

pytestmark = pytest.mark.slow

_KILLS = 16
_FIRST_S = 0.5


def test_ctrl_c_in_the_first_half_second_is_quiet(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    for _ in range(_KILLS):
        after_s = chosen.uniform(0, _FIRST_S)
        command = [str(SABOT), *chosen.choice([["rounds"], ["ports"], ["sim"], ["games"]])]
        started = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(after_s)
        started.send_signal(signal.SIGINT)
        _, problems = started.communicate(timeout=200)
        at = f"{command} after {after_s:.4f} s"
        assert "Traceback" not in problems and "Error" not in problems, f"{at}: {problems}"
        lines = [line for line in problems.splitlines() if not line.startswith("Simulated shoe")]
        assert len(lines) <= 1, f"{at}: {problems}"
        if started.returncode in (-signal.SIGINT, 130):
            continue
        # It had ended by itself, or runs until Ctrl-C.
        assert started.returncode == (8 if command[1] == "rounds" else 0), at


def test_a_shell_sees_130_and_no_word_before_the_command_runs(tmp_path: Path) -> None:
    command = ["timeout", "--preserve-status", "--signal=INT", "0.03", str(SABOT), "rounds"]
    for _ in range(3):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (130, -signal.SIGINT)
        assert done.stdout + done.stderr == ""


def test_every_command_has_a_line_or_says_it_itself() -> None:
    assert set(interrupted._LEFT) == set(MODULES)


def test_what_a_log_and_a_simulated_shoe_leave(tmp_path: Path) -> None:
    deck = ("--deck", short_deck(tmp_path), "--short", "--pace", "0")
    with running(tmp_path, "sim", "--unit", "SHOE-7", *deck) as sim:
        sim.first_line()
        with running(tmp_path, "log", "SHOE-7", "--db", "a.sqlite") as log:
            log.wait_for_line("round  6")
            assert log.end() == 0
            assert log.problems[-1].startswith("a.sqlite: all events that came are stored")
        assert sim.end() == 0
        assert sim.problems[-1] == "SHOE-7: switched off; its memory is forgotten"
    with running(tmp_path, "sim", "--unit", "SHOE-7", "--state", "kept", "--pace", "1") as sim:
        sim.first_line()
        with running(tmp_path, "log", "SHOE-7", "--once", "--db", "b.sqlite") as log:
            log.wait_for_line("attached")
            assert log.end() == 130
            assert log.problems[-1].startswith("sabot: interrupted: b.sqlite: all events that came")
        assert sim.end() == 0
        assert sim.problems[-1] == "SHOE-7: switched off; its memory is in kept"


def test_each_of_several_units_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    def work(unit: str, on_progress: object) -> str:
        assert callable(on_progress)
        if unit == "SHOE-1":
            return "SHOE-1: updated"
        on_progress(Progress(unit, "sending", 1, 2, f"{unit} goes on"))
        if unit == "SHOE-3":
            time.sleep(0.3)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.6)
        on_progress(Progress(unit, "sending", 2, 2, f"{unit} goes on"))
        return "not reached"

    with pytest.raises(Interrupted) as ended:
        run_in_parallel(["SHOE-1", "SHOE-2", "SHOE-3"], work)
    assert ended.value.exit_code == 130
    seen = capsys.readouterr()
    lines = [*seen.err.splitlines(), f"sabot: {ended.value}"]
    assert seen.out == "SHOE-1: updated\n"
    assert lines == [
        f"sabot: {unit}: interrupted (sending); {unit} goes on" for unit in ("SHOE-2", "SHOE-3")
    ]
