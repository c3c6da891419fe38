"""`sabot convert`: leads a log in a file to the version of this sabot, or back to an older one."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.view import console, print_json
from sabot.log.sqlite import schema
from sabot.log.sqlite.converting import convert as convert_log
from sabot.terminal import plain


def convert(
    db: options.Db = options.DEFAULT_DB,
    to: Annotated[
        int,
        typer.Option(
            "--to", min=schema.OLDEST, max=schema.VERSION, help="The version; default: this one's."
        ),
    ] = schema.VERSION,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a log of an older version one of this version, after a copy; with --to the other way.

    Going back is refused if something would be lost that only newer versions can have. No program
    may log to it meanwhile; the shoes keep their events.
    """
    if not isinstance(db, Path):
        raise typer.BadParameter(f"{db} is not a file; `sabot database migrate` leads it over")
    done = convert_log(db, to)
    if as_json:
        copy = None if done.copy is None else str(done.copy)
        print_json({"from": done.before, "to": done.after, "copy": copy})
    elif done.copy is None:
        console.print(plain(f"{db}: is of version {to} already"), soft_wrap=True)
    else:
        console.print(
            plain(
                f"{db}: led from version {done.before} to {to}; {done.copy} is the log as it was; "
                f"`sabot convert --db {db} --to {done.before}` leads it back"
            ),
            soft_wrap=True,
        )
