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

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sabot_hil.kit.private_runtime import private_runtime
from sabot_hil.kit.runner import Checked, Seed, check_all, output, run
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


def print_table(
    console: Console,
    versions: Mapping[str, Version],
    results: Sequence[Checked[Cell, str]],
) -> None:
    """Print how many of the meetings of each pair went well, then how all went."""
    for other, columns in (("shoe", SHOE_COLUMNS), ("another", HOUSE_COLUMNS)):
        table = Table("host", other, *(column.name for column in columns), box=None)
        for host in versions:
            for shoe in versions:
                row = []
                for column in columns:
                    of_cell = [
                        not each.failure
                        for each in results
                        if (each.case.column, each.case.host, each.case.shoe)
                        == (column.name, host, shoe)
                    ]
                    row.append(f"{sum(of_cell)} of {len(of_cell)}" if of_cell else "-")
                table.add_row(host, shoe, *row)
        console.print(table)
    counts = Counter(
        f"{each.case.column}: {'FAILED' if each.failure else each.result}" for each in results
    )
    for how, count in sorted(counts.items()):
        console.print(f"{count:4} {how}", markup=False)
    for each in results:
        if each.failure:
            text = f"{each.case}: {each.failure[:_LEFT_OF_LINE]}"
            console.print(text, markup=False, soft_wrap=True)


def main(
    seed: Seed = 1,
    only: Annotated[str, typer.Option(help="Only meetings whose description has this.")] = "",
    but: Annotated[str, typer.Option(help="Without those whose description has this.")] = "",
) -> bool:
    """Let hosts of every version meet shoes of every version, and print what happened."""
    console = output()
    begun_s = time.monotonic()
    with all_versions() as versions:
        chosen = [cell for cell in all_cells(versions) if only in str(cell)]
        if but:
            chosen = [cell for cell in chosen if but not in str(cell)]
        # Those that wait for two minutes first: the others pass meanwhile.
        chosen.sort(key=lambda cell: cell.column != "undo, time")
        meet = partial(run_cell, versions, seed)
        results = []
        for result in check_all(meet, chosen, "meetings", processes_a_core=_AT_ONCE):
            results.append(result)
            if result.failure:
                console.print(f"failed: {result.case}", markup=False)
        results.sort(key=lambda result: chosen.index(result.case))
        print_table(console, versions, results)
    failed = sum(bool(result.failure) for result in results)
    console.print(
        f"{len(results)} meetings, {failed} failed, in {time.monotonic() - begun_s:.0f} s"
    )
    return not failed


if __name__ == "__main__":
    run(main)
