"""`sabot roster`: who was on duty at which table, as the house says it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.long_table import Cell
from sabot.cli.view import Output, console, print_objects, print_rows
from sabot.conduct import names as names_file
from sabot.conduct import shift_file
from sabot.conduct.names import Names
from sabot.desk.desk import Desk
from sabot.desk.notes import CONSOLE
from sabot.desk.roster import LONGEST_WORD
from sabot.errors import RosterUnusable
from sabot.log.store import open_store
from sabot.table_time import iso_of, text_of
from sabot.terminal import name_text, plain
from sabot.text import counted

app = typer.Typer(no_args_is_help=True)

NamesFile = Annotated[
    Path,
    typer.Option("--names", metavar="FILE", help="The file with the names, apart from the log."),
]
_COLUMNS = ("note", "table", "task", "person", "from", "to", "given by", "noted by")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(metavar="SHIFTS.csv", help="The shifts.")],
    given_by: Annotated[
        str, typer.Option("--given-by", help="Who gave the file: an office, a system.")
    ],
    db: options.Db = options.DEFAULT_DB,
    names: NamesFile = names_file.DEFAULT,
    zone: options.Zone = None,
) -> None:
    """Note the shifts of a file: CSV with the columns table, person, from, to, and task (dealer or
    supervisor; dealer without it).

    `person` is a pseudonym of the house. With a column `name` in its place a pseudonym is made, and
    the name is kept in the file of names only. What is noted later counts, where two shifts of one
    task at one table overlap: correct a mistake by noting it again.
    """
    if not given_by.strip() or len(given_by) > LONGEST_WORD:
        raise typer.BadParameter(f"--given-by is 1 to {LONGEST_WORD} characters")
    where = options.zone_of(zone)
    known = Names(names)
    with open_store(db) as store:
        desk = Desk(store)
        shifts = shift_file.read(file, where, given_by.strip(), known.pseudonym_of)
        if known.changed:
            known.save()  # before the notes: a pseudonym without its name is of no use
        desk.note_shifts(shifts, by=CONSOLE)
    console.print(plain(f"{db}: {counted(len(shifts), 'shift')} noted"), soft_wrap=True)


@app.command("list")
def list_(
    db: options.Db = options.DEFAULT_DB,
    names: NamesFile = names_file.DEFAULT,
    zone: options.Zone = None,
    as_json: options.Json = False,
) -> None:
    """List what was noted of shifts, in the order in which it was noted, with the names that the
    file of names still has."""
    where, known = options.zone_of(zone), Names(names)
    with open_store(db) as store:
        noted = Desk(store).roster().all
    if as_json:
        objects = (
            {
                "note": each.note,
                "table": each.shift.table,
                "task": each.shift.task,
                "person": each.shift.person,
                "name": known.of(each.shift.person) if each.shift.person in known else None,
                "from": iso_of(each.shift.from_unix_ms, where),
                "to": iso_of(each.shift.to_unix_ms, where),
                "given_by": each.shift.given_by,
                "source": each.shift.source,
                "noted": iso_of(each.noted_unix_ms, where),
                "noted_by": each.noted_by,
            }
            for each in noted
        )
        print_objects(objects, Output.JSON)
        return
    if not noted:
        console.print(plain(f"{db}: no shifts were noted"), soft_wrap=True)
        return
    rows: Iterator[list[Cell]] = (
        [
            str(each.note),
            name_text(each.shift.table),
            each.shift.task,
            name_text(known.of(each.shift.person) or "no one"),
            text_of(each.shift.from_unix_ms, where),
            "open" if each.shift.to_unix_ms is None else text_of(each.shift.to_unix_ms, where),
            name_text(each.shift.given_by),
            name_text(each.noted_by),
        ]
        for each in noted
    )
    print_rows(_COLUMNS, rows, {})


@app.command()
def forget(
    person: Annotated[str, typer.Argument(metavar="PSEUDONYM", help="Whose name is erased.")],
    names: NamesFile = names_file.DEFAULT,
) -> None:
    """Erase a name from the file of names. The log keeps the pseudonym, and no one can say from
    then on whose it was, unless another copy of that file is kept."""
    known = Names(names)
    if not known.forget(person):
        raise RosterUnusable(f"{names}: has no name for {person}")
    known.save()
    console.print(plain(f"{names}: the name of {person} is erased"), soft_wrap=True)
