"""The `sabot` command: a thin layer over the library, with a module for each group of commands.

`commands` imports a module only for its own commands: importing all of them takes longer than most
commands do.
"""

import errno
import os
import select
import signal
import sys
import warnings
from functools import cache
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from sabot import __version__, faults
from sabot.cli.commands import MODULES, Commands
from sabot.cli.faulty_thread import FaultyThread
from sabot.cli.interrupted import left_by
from sabot.cli.view import console, print_the_rest, problems
from sabot.errors import INTERRUPTED, DiskFull, InternalError, LogConverted, Renamed, SabotError
from sabot.text import printable

_RENAMED = {
    "operator-key": "keys operator make",
    "keys make": "keys release make",
    "keys public": "keys release show",
}
"""Names that commands had, and those that they have now."""

_WRONG_USAGE = 2
_OF_THE_OUTPUT = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN)
)
"""Errors of a write, which do not name the file."""


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
    """Run the command line; an error is one line and its documented exit code. A fault in any
    thread ends it too, with the exit code of InternalError."""
    faulty = FaultyThread(problems.print)
    warnings.simplefilter("always", LogConverted)
    warnings.showwarning = _show_warning
    with faulty.watched():
        try:
            _run()
        except SabotError as error:
            problems.print(f"sabot: {error}")
            faulty.end(error.exit_code)
        except TyperException as error:  # wrong usage
            # With a reader of Markdown, for which no command should wait.
            from typer import rich_utils

            error.message = printable(error.message)
            rich_utils.rich_format_error(error)  # type: ignore[arg-type]
            faulty.end(error.exit_code)
        except BrokenPipeError:  # the reader of the output has closed the pipe, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            faulty.end(0)
        except OSError as error:
            if error.filename is None and error.errno in _OF_THE_OUTPUT:
                problems.print(f"sabot: the output cannot be written ({error.strerror})")
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                faulty.end(DiskFull.exit_code)
            if error.errno == errno.ENAMETOOLONG:  # whatever names a file may be too long for one
                problems.print("sabot: the name of a file is too long; name another one")
                faulty.end(_WRONG_USAGE)
            _end_by(error, faulty)  # also of a file that no command has looked after
        except Exception as error:
            _end_by(error, faulty)
        except SystemExit as end:
            faulty.end(end.code)
        except KeyboardInterrupt:
            if not faulty.seen:
                raise
            faulty.end(INTERRUPTED)


def _end_by(error: Exception, faulty: FaultyThread) -> NoReturn:
    problems.print(f"sabot: {faults.text_of(error)}")
    faulty.end(InternalError.exit_code)


def _run() -> NoReturn:
    """Run the command line; end with its exit code, or an error."""
    code = 0
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
    try:
        print_the_rest()  # here, where a closed pipe is expected
    except BrokenPipeError:
        if code:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(code)
        raise
    sys.exit(code)
