"""Runs the `sabot` command as users do, in a separate process."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from sabot.command import main
from sabot.sim import deck
from sabot.sim.dealer import Dealer
from sabot.sim.process import SimulatedShoe

SABOT = Path(sys.executable).with_name("sabot")
TIMEOUT_S = 240

# Six different rounds, written by hand: see KNOWN_ROUNDS.
SHORT_DECK = """
AS 2C
9S KC KD 7D
TS 8H TD 8D 6S 4C
JD AD 7C 6H
6S 5D QH KH 2D
TC 2H JC AC 8S
CUT 9D 4S QS 5S
"""
# Player's cards, Banker's cards, Player's total, Banker's total, winner, natural.
KNOWN_ROUNDS = [
    ("9S KD", "KC 7D", 9, 7, "player", True),
    ("TS TD 6S", "8H 8D 4C", 6, 0, "player", False),
    ("JD 7C", "AD 6H", 7, 7, "tie", False),
    ("6S QH", "5D KH 2D", 6, 7, "banker", False),
    ("TC JC 8S", "2H AC", 8, 3, "player", False),
    ("9D QS", "4S 5S", 9, 9, "tie", True),
]


def environment() -> dict[str, str]:
    """An environment with 80 columns and without colours."""
    given = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    return {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"} | given


def run(
    folder: Path, *arguments: str, code: int = 0, **given: str
) -> "subprocess.CompletedProcess[str]":
    """Run `sabot` in `folder` until it ends, with this exit code and no traceback."""
    done = subprocess.run(
        [str(SABOT), *arguments],
        cwd=folder,
        env=environment() | given,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done


def error_line(folder: Path, *arguments: str, code: int) -> str:
    """Run a command that fails with this exit code. Return its error line, its only output."""
    done = run(folder, *arguments, code=code)
    return _only_line(done.stdout, done.stderr)


def output_here(folder: Path, *arguments: str) -> str:
    """Run a command in this process; return its output, what it says of problems, and its exit
    code."""
    out, problems, exit_code = run_here(folder, *arguments)
    return f"{out}\n{problems}\n{exit_code}"


def error_line_here(folder: Path, *arguments: str, code: int) -> str:
    """As `error_line`, but in this process, which saves the half second to start another one."""
    out, problems, exit_code = run_here(folder, *arguments)
    assert exit_code == code, problems
    return _only_line(out, problems)


def run_here(folder: Path, *arguments: str) -> tuple[str, str, object]:
    """Run a command in this process; return its output, its problems, and its exit code."""
    out, problems = io.StringIO(), io.StringIO()
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(problems),
        patch.object(sys, "argv", ["sabot", *arguments]),
    ):
        try:
            main()
            exit_code: object = 0
        except SystemExit as end:
            exit_code = end.code or 0
        finally:
            signal.signal(signal.SIGINT, on_ctrl_c)
    return out.getvalue(), problems.getvalue(), exit_code


def done_here(
    folder: Path, *arguments: str, code: int = 0, **given: str
) -> "subprocess.CompletedProcess[str]":
    """As `run`, but in this process: for tests of what a command does. That it starts, and what it
    does with signals and pipes, is tested with `run`, and by the pages in docs/."""
    with patch.dict(os.environ, environment() | given):
        out, problems, exit_code = run_here(folder, *arguments)
    assert exit_code == code, f"exit code {exit_code}: {problems}"
    return subprocess.CompletedProcess(["sabot", *arguments], code, out, problems)


def _only_line(out: str, problems: str) -> str:
    assert out == ""
    (line,) = problems.splitlines()
    assert line.startswith("sabot: ")
    return line.removeprefix("sabot: ")


class RunningCommand:
    """A running `sabot` command; `lines` are what it has printed so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(SABOT), *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.problems: list[str] = []
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in (
                (self.process.stdout, self.lines),
                (self.process.stderr, self.problems),
            )
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe: Iterator[str], into: list[str]) -> None:
        for line in pipe:
            with self._changed:
                into.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for_line(self, text: str, count: int = 1, timeout_s: float = TIMEOUT_S) -> str:
        """Wait until `count` lines of either pipe contain `text`; return the last of these."""

        def found() -> list[str]:
            return [line for line in [*self.lines, *self.problems] if text in line]

        with self._changed:
            there = self._changed.wait_for(lambda: len(found()) >= count, timeout_s)
        assert there, f"no {text!r} in {self.lines} {self.problems}"
        return found()[-1]

    def first_line(self) -> str:
        """Wait for the command's first line, and return it."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.lines, TIMEOUT_S), self.problems
        return self.lines[0]

    def end(self, timeout_s: float = TIMEOUT_S, by: int | None = signal.SIGINT) -> int:
        """Send signal `by` (None for no signal; default: Ctrl-C) and wait; return the exit code."""
        if by is not None:
            self.process.send_signal(by)
        code = self.process.wait(timeout_s)
        for reader in self._readers:
            reader.join(timeout_s)
        assert not any("Traceback" in line for line in self.problems), self.problems
        return code

    def kill(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(TIMEOUT_S)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[RunningCommand]:
    """A `sabot` command that runs during the block."""
    command = RunningCommand(folder, *arguments)
    try:
        yield command
    finally:
        command.kill()


def short_deck(folder: Path) -> str:
    """Write SHORT_DECK to a file in `folder`; return the file's name."""
    (folder / "short.deck").write_text("\n".join(SHORT_DECK.split()), encoding="ascii")
    return "short.deck"


@contextmanager
def simulating(folder: Path, unit: str, *arguments: str) -> Iterator[RunningCommand]:
    """A `sabot sim` of `unit` that deals SHORT_DECK as fast as possible."""
    options = ("--unit", unit, "--deck", short_deck(folder), "--short", "--pace", "0", *arguments)
    with running(folder, "sim", *options) as sim:
        sim.first_line()
        yield sim
        assert sim.end() == 0


@contextmanager
def dealt(folder: Path, unit: str, state: Path | None = None) -> Iterator[SimulatedShoe]:
    """As `simulating`, but with shoe and dealer in this process, which starts faster."""
    with dealt_shoes(folder, unit, 1, state) as shoe:
        yield shoe


@contextmanager
def dealt_shoes(
    folder: Path, unit: str, count: int, state: Path | None = None
) -> Iterator[SimulatedShoe]:
    """As `dealt`, with SHORT_DECK dealt `count` times, each a shoe of cards."""
    cards = deck.read(folder / short_deck(folder), short=True)
    with SimulatedShoe(unit, state=state) as shoe:
        shoe.power_on()
        dealer = Dealer(shoe.bench, cards, card_set=0, pace=0, more=[cards] * (count - 1))
        dealer.start()
        yield shoe
        dealer.stop()
        assert dealer.failure is None
