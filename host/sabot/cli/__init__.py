"""The `sabot` command: a thin layer over the library, with a module for each group of commands.

`commands` imports a module only for its own commands: importing all of them takes longer than most
commands do.
"""

import os
import select
import signal
import sys
import warnings
from functools import cache
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sabot import __version__
from sabot.cli.commands import MODULES, Commands
from sabot.cli.interrupted import left_by
from sabot.cli.view import console, print_fault, print_the_rest, problems
from sabot.errors import INTERRUPTED, DiskFull, InternalError, LogConverted, Renamed, SabotError
from sabot.text import printable

_RENAMED = {
    "operator-key": "keys operator make",
    "keys make": "keys release make",
    "keys public": "keys release show",
}
"""Names that commands had, and those that they have now."""


@cache
def app() -> typer.Typer:
    """Return the command line with all commands."""
    command_line = typer.Typer(
        name="sabot",
        cls=Commands,
        help="Log, verify and show what Sabot dealing shoes record; simulate a shoe.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 done, 1 findings, 2 wrong usage, "
        "3 and above an error: see docs/exit-codes.md.",
    )
    command_line.callback()(_root)
    return command_line


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"sabot {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def _command_name() -> str:
    """Return the command that is called; empty if that is not clear."""
    return sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in MODULES else ""


def _refuse_old_names() -> None:
    """Raise Renamed if the command is called by a name that it had."""
    for old, new in _RENAMED.items():
        words = old.split()
        if sys.argv[1 : 1 + len(words)] == words:
            raise Renamed(f"`sabot {old}` is now `sabot {new}`; call it by that name")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a line; where in the sources it came from is no matter."""
    problems.print(str(message))


def _reader_is_gone() -> bool:
    """Whether the standard output is a pipe that its reader has closed."""
    poll = select.poll()
    poll.register(1, 0)
    return any(state & select.POLLERR for _, state in poll.poll(0))


def run() -> None:
    """Run the command line; an error is one line and its documented exit code."""
    sys.excepthook = print_fault
    warnings.simplefilter("always", LogConverted)
    warnings.showwarning = _show_warning
    code = 0
    try:
        _refuse_old_names()
        command_line = app()
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `sabot.command` leaves it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            code = command_line(prog_name="sabot", standalone_mode=False)
        except SystemExit:  # Typer and rich end with code 1 if the pipe is closed
            if _reader_is_gone():
                raise BrokenPipeError from None
            raise
        if code == INTERRUPTED and (left := left_by(_command_name())):
            problems.print(f"sabot: interrupted: {left}")
        print_the_rest()  # here, where a closed pipe is expected
        sys.exit(code)
    except SabotError as error:
        problems.print(f"sabot: {error}")
        sys.exit(error.exit_code)
    except TyperException as error:  # wrong usage
        from typer import rich_utils  # with a reader of Markdown, for which no command should wait

        error.message = printable(error.message)
        rich_utils.rich_format_error(error)  # type: ignore[arg-type]
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of the output has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(code)
    except OSError as error:
        if error.filename is not None:  # a file that no command has looked after
            problems.print(f"sabot: {error.filename}: {error.strerror}; a fault of sabot itself")
            sys.exit(InternalError.exit_code)
        problems.print(f"sabot: the output cannot be written ({error.strerror})")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(DiskFull.exit_code)
