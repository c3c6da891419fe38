"""Lets hosts of every version meet shoes of every version, and prints a table of what happened.

    python -m sabot_hil.sweeps.versions [--seed N] [--only TEXT] [--but TEXT]

The versions are the released one, from the golden data, today's, and tomorrow's, which is made of
today's sources (kit/versions/tomorrow.py). For each pair: a shoe of cards is logged, the shoe is
examined, updated upward and downward in the middle of a shoe of cards, updated with the power cut
at some points; an update is undone by a loss of power, and because no host confirms it; and another
board takes the place of the shoe's. Nothing may be lost, doubled or changed (matrix/cells.py). Then
hosts meet hosts: each reads the logs of the others, and of versions before; a site of one forwards
to a centre that another has made; a later one leads a centre to its version and back
(matrix/centres.py).

Prints the tables, the counts, and each failure; exit code 1 if there is one.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.sweeps.matrix import cells, centres
from sabot_hil.sweeps.matrix.cells import Pair
from sabot_hil.sweeps.matrix.versions_made import RELEASED, Version, all_versions

_LEFT_OF_LINE = 300  # characters of a failure in the table's list
_AT_ONCE = 3  # meetings for each core: they wait a lot


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: what is done, and for which targets of an update."""

    name: str
    run: Callable[[Pair, Path], str]
    targets: Callable[[Version, Mapping[str, Version]], Sequence[Version]]


def _itself(shoe: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    """No update: the shoe stays as it is."""
    return [shoe]


def _later(shoe: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    return [each for each in versions.values() if each.age > shoe.age]


def _earlier(shoe: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    return [each for each in versions.values() if each.age < shoe.age]


def _others(shoe: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    return [each for each in versions.values() if each is not shoe]


def _next(shoe: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    """The next later version, or else the one before."""
    return _later(shoe, versions)[:1] or _earlier(shoe, versions)[-1:]


def _if_released(of: Version, versions: Mapping[str, Version]) -> Sequence[Version]:
    return [of] if of.name == RELEASED else []


def _old_logs(pair: Pair, folder: Path) -> str:
    for log in centres.LOGS:
        made = folder / str(log)
        made.mkdir()
        centres.open_log(pair.host.host, log, made)
    return "read"


def _log_of(pair: Pair, folder: Path) -> str:
    return centres.open_log_of(pair.host.host, pair.shoe.host, folder)


def _forward(pair: Pair, folder: Path) -> str:
    return centres.forward(pair.host, pair.shoe, folder)


def _migrate(pair: Pair, folder: Path) -> str:
    return centres.migrate(pair.shoe.host, pair.host.host, folder)


SHOE_COLUMNS = (
    Column("log", cells.log, _itself),
    Column("doctor", cells.doctor, _itself),
    Column("update up", cells.update, _later),
    Column("update down", cells.update, _earlier),
    Column("power cuts", cells.power_cuts, _others),
    Column("undo, power", cells.undo_by_power, _others),
    Column("undo, time", cells.undo_by_time, _next),
    Column("new board", cells.replaced, _itself),
)
"""What a host does with a shoe."""

HOUSE_COLUMNS = (
    Column("logs before", _old_logs, _if_released),
    Column("its log", _log_of, _itself),
    Column("forward", _forward, _itself),
    Column("migrate", _migrate, _itself),
)
"""What a host does with the files and the centre of another; that is the pair's `shoe`."""

COLUMNS = (*SHOE_COLUMNS, *HOUSE_COLUMNS)


@dataclass(frozen=True, slots=True)
class Cell:
    """One meeting of a host and a shoe, or another host: the names of the versions, and of the
    column."""

    column: str
    host: str
    shoe: str
    target: str

    def __str__(self) -> str:
        to = "" if self.target == self.shoe else f" to {self.target}"
        return f"{self.column}: host {self.host}, shoe {self.shoe}{to}"


def all_cells(versions: Mapping[str, Version]) -> Iterator[Cell]:
    """Yield every cell of the matrix."""
    for column in COLUMNS:
        for host in versions.values():
            for shoe in versions.values():
                if column.name == "migrate" and host.age <= shoe.age:
                    continue  # it leads a centre to a later version
                for target in column.targets(shoe, versions):
                    yield Cell(column.name, host.name, shoe.name, target.name)


def run_cell(versions: Mapping[str, Version], seed: int, cell: Cell) -> str:
    """Let a host and a shoe meet; return how it went. Raises AssertionError."""
    (column,) = [column for column in COLUMNS if column.name == cell.column]
    pair = Pair(versions, versions[cell.host], versions[cell.shoe], versions[cell.target], seed)
    with tempfile.TemporaryDirectory(prefix="sabot-cell-") as folder, private_runtime():
        return column.run(pair, Path(folder))


def _tried(given: tuple[Mapping[str, Version], int, Cell]) -> tuple[Cell, str, bool]:
    try:
        return given[2], run_cell(*given), True
    except Exception as error:  # any failure is shown with its cell; the others still run
        return given[2], f"{type(error).__name__}: {error}", False


def print_table(
    console: Console,
    versions: Mapping[str, Version],
    results: Sequence[tuple[Cell, str, bool]],
) -> None:
    """Print how many of the meetings of each pair went well, then how all went."""
    for other, columns in (("shoe", SHOE_COLUMNS), ("another", HOUSE_COLUMNS)):
        table = Table("host", other, *(column.name for column in columns), box=None)
        for host in versions:
            for shoe in versions:
                row = []
                for column in columns:
                    of_cell = [
                        good
                        for cell, _, good in results
                        if (cell.column, cell.host, cell.shoe) == (column.name, host, shoe)
                    ]
                    row.append(f"{sum(of_cell)} of {len(of_cell)}" if of_cell else "-")
                table.add_row(host, shoe, *row)
        console.print(table)
    counts = Counter(
        f"{cell.column}: {how}" if good else f"{cell.column}: FAILED" for cell, how, good in results
    )
    for how, count in sorted(counts.items()):
        console.print(f"{count:4} {how}", markup=False)
    for cell, how, good in results:
        if not good:
            console.print(f"{cell}: {how[:_LEFT_OF_LINE]}", markup=False, soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the cards")
    parser.add_argument("--only", default="", help="only meetings whose description has this text")
    parser.add_argument("--but", help="without those whose description has this text")
    options = parser.parse_args(arguments)
    console = Console()
    begun_s = time.monotonic()
    with all_versions() as versions:
        chosen = [cell for cell in all_cells(versions) if options.only in str(cell)]
        if options.but:
            chosen = [cell for cell in chosen if options.but not in str(cell)]
        # Those that wait for two minutes first: the others pass meanwhile.
        chosen.sort(key=lambda cell: cell.column != "undo, time")
        given = [(versions, options.seed, cell) for cell in chosen]
        with ProcessPoolExecutor(_AT_ONCE * (os.cpu_count() or 1)) as pool:
            results = []
            for result in track(pool.map(_tried, given), "meeting", len(given), console=console):
                results.append(result)
                if not result[2]:
                    console.print(f"failed: {result[0]}", markup=False)
        print_table(console, versions, results)
    failed = sum(not good for _, _, good in results)
    console.print(
        f"{len(results)} meetings, {failed} failed, in {time.monotonic() - begun_s:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
