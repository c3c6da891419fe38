"""`sabot integrity`: what the cards of a log give away afterwards."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from sabot.cli import options
from sabot.cli.chosen import InTime, takes_options
from sabot.cli.view import Output as Printed
from sabot.cli.view import cell_of, console, print_objects, problems, progress, verdict
from sabot.errors import ReportUnusable
from sabot.files import replace_whole
from sabot.html import as_text
from sabot.terminal import name_text, plain
from sabot.text import counted

_FILE_MODE = 0o600
_MOST_ROWS = 60

_Limit = Annotated[
    float,
    typer.Option(
        "--limit",
        min=0.0,
        max=0.5,
        help="List what has a corrected chance below this: 0.01 is one false report in a hundred.",
    ),
]
_Only = Annotated[
    list[str] | None,
    typer.Option(
        "--analysis",
        help="Only this analysis: order, shuffle, composition, favourable; may be repeated.",
    ),
]
_KnownFile = Annotated[
    Path | None,
    typer.Option(
        "--known",
        metavar="FILE.csv",
        help="Which machine, dealer or shift belonged to a unit from when to when: "
        "kind,name,unit,from,to.",
    ),
]
_BetsFile = Annotated[
    Path | None,
    typer.Option(
        "--wagers", metavar="FILE.csv", help="Who wagered when: unit,shoe,round,player,wager."
    ),
]
_RoundsFile = Annotated[
    Path | None,
    typer.Option(
        "--rounds",
        metavar="FILE.csv",
        help="Also write every round before which a wager was favourable, and by how much.",
    ),
]
_Out = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE.html", help="Also write a report.")
]


@takes_options
def integrity(
    chosen: InTime,
    analysis: _Only = None,
    limit: _Limit = 0.01,
    known: _KnownFile = None,
    wagers: _BetsFile = None,
    rounds: _RoundsFile = None,
    out: _Out = None,
    as_json: options.Json = False,
) -> None:
    """Look through all cards of a log for what honest shuffling and dealing would hardly show:
    cards that were shuffled badly, missing cards, and who wagered when the cards favoured it.

    Only shoes of cards that have ended are looked at. The findings come strongest first, each with
    its chance, corrected for the number of tests that were made. With findings, the exit code is 1.
    """
    from sabot.integrity.analyses import ANALYSES, Setting  # SciPy takes half a second
    from sabot.integrity.bettors import read_bets
    from sabot.integrity.known import Known, read_known
    from sabot.integrity.over_log import look_through
    from sabot.log.store import open_store

    for name in analysis or ():
        if name not in ANALYSES:
            raise typer.BadParameter(f"no analysis is {name!r}; there are: {', '.join(ANALYSES)}")
    if out is not None:
        _check_replaceable(out)
    where, db = chosen.where, chosen.db
    with options.usage():
        setting = Setting(
            limit,
            Known() if known is None else read_known(known, where),
            None if wagers is None else read_bets(wagers),
        )
    with open_store(db) as store:
        units = list(chosen.tables(store))
    with (
        _rounds_to(rounds) as each,
        progress(
            TextColumn("shoes of cards"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        ) as bar,
    ):
        task = bar.add_task("shoes of cards", total=None)
        outcome = look_through(
            db, units, setting, only=analysis or (),
            shoe=chosen.shoe, table=chosen.table, span=chosen.span,
            progress=lambda done, of: bar.update(task, completed=done, total=of), each=each,
        )  # fmt: skip
    if out is not None:
        _write(out, outcome, str(db), where)
    with verdict(outcome.findings):
        if as_json:
            print_objects((each.as_json() for each in outcome.findings), Printed.JSON)
        else:
            _show(outcome, str(db))


def _show(outcome: Any, db: str) -> None:
    """Print the findings, and what they are worth."""
    from sabot.integrity.finding import HOLM
    from sabot.integrity.shown.report import chance_text

    looked = f"{counted(outcome.shoes, 'shoe')} of cards of {counted(outcome.units, 'unit')}"
    if not outcome.findings:
        console.print(f"{db}: nothing strange in {looked}", soft_wrap=True)
    else:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("about", "chance", "corrected", "what"):
            table.add_column(name)
        for each in outcome.findings[:_MOST_ROWS]:
            table.add_row(
                name_text(each.finding.about),
                chance_text(each.finding.chance),
                chance_text(each.corrected),
                plain(each.finding.sentence),
            )
        console.print(table)
    more = len(outcome.findings) - _MOST_ROWS
    if more > 0:
        problems.print(f"{counted(more, 'weaker finding')} not shown; --json has all")
    problems.print(f"{looked} looked at, {counted(outcome.tests, 'test')} made")
    if outcome.left_out:
        problems.print(f"shoes of cards in play or not whole, left out: {outcome.left_out}")
    if outcome.findings:
        problems.print(HOLM)


@contextmanager
def _rounds_to(path: Path | None) -> Iterator[Callable[[Any], None]]:
    """Return what writes the favourable rounds of a shoe of cards to a new file; without a path,
    what does nothing. Raises ReportUnusable."""
    from sabot.integrity.favourable import FAVOURABLE, favourable_rounds

    if path is None:
        yield lambda shoe: None
        return
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(FAVOURABLE)
            try:
                yield lambda shoe: rows.writerows(map(_cells, favourable_rounds(shoe)))
            except BaseException:  # a file that stops in the middle would look whole
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise ReportUnusable(f"{path}: exists already; name another file with --rounds") from None
    except OSError as error:
        raise ReportUnusable(
            f"{path}: cannot be written ({error.strerror}); name another file with --rounds"
        ) from None


def _cells(row: tuple[str, int, int, str, float]) -> tuple[object, ...]:
    unit, *others = row
    return (cell_of(unit), *others)


def _check_replaceable(out: Path) -> None:
    """Raise ReportUnusable if the file is something else than such a report."""
    from sabot.integrity.shown.report import TITLE

    try:
        with out.open("rb") as file:
            head = file.read(4096)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ReportUnusable(
            f"{out}: cannot be read ({error.strerror}); name another file"
        ) from None
    if f"<title>{as_text(TITLE)}</title>".encode() not in head:
        raise ReportUnusable(f"{out}: exists, and is no such report; name another file with -o")


def _write(out: Path, outcome: Any, db: str, zone: Any) -> None:
    from sabot.integrity.shown.pictures import pictures_of
    from sabot.integrity.shown.report import render

    data = render(outcome, db, zone, pictures_of(outcome)).encode()
    try:
        replace_whole(out, data, _FILE_MODE)
    except OSError as error:
        raise ReportUnusable(
            f"{out}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
