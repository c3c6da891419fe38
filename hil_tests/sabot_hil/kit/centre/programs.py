"""The programs that are judged, as child processes that can be killed at any moment.

`Programs` says how they are started: `SabotPrograms` are the commands, and the tests have naive
ones of their own, right and faulty, to judge the judge.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sabot_hil.kit.centre import children
from sabot_hil.kit.centre.postgres import DATABASE, OWNER, Server

NOTARY_ROLE = "notary"
_READY_S = 60.0
_END_S = 30.0
_RUN_S = 120.0
_LATER = (
    "import sys; from importlib import import_module; from sabot.cli import run;"
    " import_module(f'sabot.cli.centre.{sys.argv[1]}'); print(flush=True); input(); run()"
)
_LOGGER = "sabot_hil.kit.centre.site_logger"
_ROOT = Path(__file__).resolve().parents[4]


class Programs(Protocol):
    """How the programs of a centre are started."""

    waits: bool
    """Whether a program waits for a line on its input before it begins."""

    def make(self, server: Server, sites: Mapping[str, Sequence[str]]) -> None:
        """Make the centre in a new database; `sites` are roles and the units that each may send."""

    def logger(self, log: Path, seed: int) -> Sequence[str]:
        """The command that logs at a site (`site_logger.py`)."""

    def forward(self, log: Path, address: str, notary: Path) -> Sequence[str]:
        """The command that forwards a site's log."""

    def notary(self, address: str, key: Path, keys: Path) -> Sequence[str]:
        """The command that signs at the centre."""

    def compare(
        self, log: Path, address: str, notary: Path, keys: Path, elsewhere: Sequence[str]
    ) -> Sequence[str]:
        """What the auditor's command finds wrong with a site's log and a centre, but for events
        that the shoe itself says it lost."""


class SabotPrograms:
    """The commands of Sabot."""

    waits = True

    def make(self, server: Server, sites: Mapping[str, Sequence[str]]) -> None:
        """Make the centre in a new database."""
        server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        owner = server.address(OWNER)
        for role in (*sites, NOTARY_ROLE):
            server.sql(f'CREATE ROLE "{role}" LOGIN', database="postgres")
        run_sabot("database", "make", owner)
        run_sabot("database", "grant", owner, NOTARY_ROLE, "--may", "notary")
        for role, units in sites.items():
            named = [part for unit in units for part in ("--unit", unit)]
            run_sabot("database", "site", owner, role, *named)

    def logger(self, log: Path, seed: int) -> Sequence[str]:
        """The logger that stores with Sabot's library."""
        return [sys.executable, "-m", _LOGGER, str(log), str(seed)]

    def forward(self, log: Path, address: str, notary: Path) -> Sequence[str]:
        """`sabot forward`."""
        given = "--db", str(log), "--to", address, "--notary", str(notary)
        return later("forward", *given)

    def notary(self, address: str, key: Path, keys: Path) -> Sequence[str]:
        """`sabot notary`, as often as it can."""
        given = "--db", address, "--key", str(key), "--keys", str(keys), "--every", "1"
        return later("notary", *given)

    def compare(
        self, log: Path, address: str, notary: Path, keys: Path, elsewhere: Sequence[str]
    ) -> Sequence[str]:
        """The findings of `sabot verify --receipts`; `elsewhere` are units of other logs."""
        given = ["--receipts", address, "--notary", str(notary), "--keys", str(keys)]
        for unit in elsewhere:
            given += ["--elsewhere", unit]
        found = run_sabot("verify", "--db", log, *given, "--json", code=None).stdout
        return [
            f"verify: {each['unit']} event {each['event']}: {each['kind']}: {each['detail']}"
            for each in json.loads(found)["findings"]
            if each["kind"] != "gap"
        ]


def later(*arguments: str) -> Sequence[str]:
    """A command of Sabot that imports everything, and then waits for a line."""
    return [sys.executable, "-c", _LATER, *arguments]


def run_sabot(*arguments: object, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a command of Sabot to its end. It must end with `code`, if that is not None."""
    command = [sys.executable, "-m", "sabot", *map(str, arguments)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_RUN_S, cwd=_ROOT
    )
    shown = f"sabot {' '.join(map(str, arguments))}: exit code {run.returncode}\n{run.stderr}"
    assert code is None or run.returncode == code, f"{shown}\n{run.stdout}"
    assert "Traceback" not in run.stderr + run.stdout, shown
    return run


class Program:
    """A child process that was started with a command of `Programs`."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        waits: bool,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it. What it prints goes to the end of the file `output`. One that `waits` begins at
        `begin` only."""
        self._waits = waits
        self._begun = not waits
        self._is_ready = False
        self._output = output
        with output.open("ab") as errors:
            self._process = children.start(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if waits else errors,
                stderr=errors,
                env={**os.environ, **(environment or {})},
                cwd=_ROOT,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def ready(self) -> None:
        """Wait until one that waits has its imports done."""
        if self._waits and not self._is_ready:
            assert self._process.stdout is not None
            self._process.stdout.readline()
            self._is_ready = True

    def begin(self) -> None:
        """Let one that waits begin, as soon as it is ready."""
        if self._begun:
            return
        self.ready()
        self._begun = True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        threading.Thread(target=self._copy_output, daemon=True).start()

    def kill(self) -> None:
        """End it by SIGKILL, if it runs."""
        self._process.kill()
        self._close()

    def end(self) -> int:
        """End it by Ctrl-C; return its exit code."""
        self._process.send_signal(signal.SIGINT)
        return self.wait(_END_S)

    def wait(self, within_s: float) -> int:
        """Wait for its end; return its exit code."""
        try:
            return self._process.wait(within_s)
        finally:
            self.kill()

    def _close(self) -> None:
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def _copy_output(self) -> None:
        assert self._process.stdout is not None
        with self._output.open("ab") as output, suppress(ValueError):
            for line in self._process.stdout:
                output.write(line)
                output.flush()


class Pool:
    """Starts a program again and again, with some that have their imports done already."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        waits: bool,
        environment: Mapping[str, str] | None = None,
        ahead: int = 1,
    ) -> None:
        self._command = command
        self._output = output
        self._waits = waits
        self._environment = environment
        self._waiting = [self._next() for _ in range(ahead if waits else 0)]

    def start(self) -> Program:
        """A program that has begun."""
        self._waiting.append(self._next())
        program = self._waiting.pop(0)
        program.begin()
        return program

    def _next(self) -> Program:
        return Program(
            self._command, self._output, waits=self._waits, environment=self._environment
        )

    def close(self) -> None:
        """End those that wait."""
        for program in self._waiting:
            program.kill()
        self._waiting.clear()
