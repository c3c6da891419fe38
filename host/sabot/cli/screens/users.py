"""`sabot users`: who may sign in at the screens, and with which role."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.view import Output, console, print_objects
from sabot.desk import passwords, tables
from sabot.desk.desk import Desk
from sabot.desk.notes import CONSOLE
from sabot.desk.roles import ROLES
from sabot.errors import DeskRefused
from sabot.keys.chain_keys import DEFAULT
from sabot.log.store import open_store
from sabot.table_time import iso_of, text_of
from sabot.terminal import name_text, plain

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
_ONE_OF = f"One of: {', '.join(ROLES)}."

_ADMINISTRATOR = "administrator"


@app.command("list")
def list_(
    db: options.Db = options.DEFAULT_DB,
    zone: options.Zone = None,
    as_json: options.Json = False,
) -> None:
    """List every user: name, role, since when, and whether closed."""
    where = options.zone_of(zone)
    with open_store(db) as store:
        users = Desk(store).users()
    if as_json:
        objects = (
            {
                "name": each.name,
                "role": each.role,
                "closed": each.closed,
                "made": iso_of(each.made_unix_ms, where),
            }
            for each in users
        )
        print_objects(objects, Output.JSON)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("name", "role", "since", ""):
        table.add_column(column)
    for each in users:
        closed = "closed" if each.closed else ""
        since = text_of(each.made_unix_ms, where)
        table.add_row(name_text(each.name), name_text(each.role), since, closed)
    console.print(table)


@app.command()
def add(
    name: Name,
    role: Annotated[str, typer.Option("--role", help=_ONE_OF)],
    db: options.Db = options.DEFAULT_DB,
    keys: options.KeyFile = None,
) -> None:
    """Add a user. The terminal asks for the password twice; without a terminal it is the first line
    of the standard input.

    The first user of a log is an administrator. With that one the log gets its desk, whose first
    key goes into the key file: `sabot verify --keys` checks with it who did what.
    """
    with open_store(db) as store:
        if role == _ADMINISTRATOR and not tables.is_made(store):
            path = keys or DEFAULT
            Desk.make(store, path, name, _password(name))
            console.print(plain(f"{path}: has the desk's first key; keep it apart from the log"))
        else:
            desk = Desk(store)
            desk.check_new(name, role)
            desk.add_user(name, role, _password(name), by=CONSOLE)
    console.print(plain(f"{name}: may sign in, as {role}"), soft_wrap=True)


@app.command()
def role(
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help=_ONE_OF)],
    db: options.Db = options.DEFAULT_DB,
) -> None:
    """Give a user another role."""
    with open_store(db) as store:
        Desk(store).change_role(name, role, by=CONSOLE)
    console.print(plain(f"{name}: is {role} now"), soft_wrap=True)


@app.command()
def password(name: Name, db: options.Db = options.DEFAULT_DB) -> None:
    """Set a user's password, asked for as by `sabot users add`; it ends the user's sessions."""
    with open_store(db) as store:
        desk = Desk(store)
        desk.check_open(name)
        desk.set_password(name, _password(name), by=CONSOLE)
    console.print(plain(f"{name}: has another password; all sessions have ended"), soft_wrap=True)


@app.command()
def close(name: Name, db: options.Db = options.DEFAULT_DB) -> None:
    """Let a user sign in no more, and end the user's sessions. The name stays taken."""
    with open_store(db) as store:
        Desk(store).close_user(name, by=CONSOLE)
    console.print(plain(f"{name}: may no longer sign in"), soft_wrap=True)


def _password(name: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        asked = plain(f"Password of {name}").plain
        try:
            typed: str = typer.prompt(asked, hide_input=True, confirmation_prompt=True, err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None  # which typer took
        return typed
    try:
        line = sys.stdin.buffer.readline(_MOST_BYTES) if sys.stdin is not None else b""
        return line.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError):
        raise DeskRefused(
            f"{name}: the standard input has no password; write it on its first line, as UTF-8"
        ) from None


_MOST_BYTES = 4 * passwords.LONGEST + 2
