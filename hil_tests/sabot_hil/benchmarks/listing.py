"""How fast the commands go through a long log: the time to the first line, processor time, memory.

`python -m sabot_hil.benchmarks.listing --events 1500000` measures them over as many events of one
unit, dealt by the firmware's code; that log takes two minutes to make. `--db` and `--keys` name a
log that is there already.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import FINDINGS
from sabot.keys import chain_keys
from sabot.log.store import open_store
from sabot_hil.benchmarks.verifying import deal_long_log
from sabot_hil.kit.runner import BUILD, output, plain_table, run

EVENTS = 200_000
_UNIT = "U1"
COMMANDS = (
    "rounds",
    "events --json",
    "units",
    "incidents",
    "verify",
    "verify --keys",
)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a command took for a log of `events` events. Processor time is that of all its
    processes, and memory that of the largest one."""

    command: str
    events: int
    first_line_s: float
    elapsed_s: float
    processor_s: float
    memory_bytes: int

    @property
    def per_s(self) -> float:
        """Events per second of elapsed time."""
        return self.events / self.elapsed_s


def measure_listing(events: int = EVENTS) -> Iterator[Listed]:
    """Make a log of one unit in build/, measure the commands over it, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        db, keys = Path(folder) / "log.sqlite", Path(folder) / "sabot.keys"
        made = deal_long_log(db, [_UNIT], events, kept := chain_keys.Keys())
        for chain in kept.chains(_UNIT):
            chain_keys.add(keys, _UNIT, kept.first_key(_UNIT, chain) or b"")
        for command in COMMANDS:
            yield measured(command, db, keys, made)


def measured(command: str, db: Path, keys: Path, events: int) -> Listed:
    """Run a command over the log `db`. Raises RuntimeError if it fails."""
    words = command.split()
    if words[-1] == "--keys":
        words.append(str(keys.resolve()))
    begin_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as elsewhere:  # where there is no key file
        process = subprocess.Popen(
            [sys.executable, "-m", "sabot", *words, "--db", str(db.resolve())],
            cwd=elsewhere,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        first_line_s = time.perf_counter() - begin_s
        while process.stdout.read(1 << 20):
            pass
        problems = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
    elapsed_s = time.perf_counter() - begin_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, FINDINGS):
        raise RuntimeError(f"sabot {command}: {problems.decode(errors='replace')}")
    return Listed(
        command,
        events,
        first_line_s,
        elapsed_s,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def main(events: int = EVENTS, db: Path | None = None, keys: Path = chain_keys.DEFAULT) -> None:
    """Measure how fast the commands go through a long log, and print a table."""
    if db is None:
        figures = measure_listing(events)
    else:
        with open_store(db) as store:
            events = store.count()
        figures = (measured(each, db, keys, events) for each in COMMANDS)
    numbers = ("events", "first line s", "all s", "processor s", "MB", "events/s")
    table = plain_table(None, ["command"], numbers)
    for each in figures:
        table.add_row(
            each.command,
            f"{each.events:,}",
            f"{each.first_line_s:.2f}",
            f"{each.elapsed_s:.1f}",
            f"{each.processor_s:.1f}",
            f"{each.memory_bytes / 1e6:.0f}",
            f"{each.per_s:,.0f}",
        )
    output().print(table)


if __name__ == "__main__":
    run(main)
