"""The `sabot` command: a thin layer over the library, with a module for each group of commands.

A module is imported only for its own commands: importing all of them takes longer than most
commands do. The test bench is a package of its own, and its command is found by its entry point.
"""

import os
import select
import signal
import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sabot import __version__
from sabot.cli.interrupted import left_by
from sabot.cli.view import console, print_fault, print_the_rest, problems
from sabot.errors import (
    INTERRUPTED,
    DiskFull,
    InternalError,
    LogConverted,
    Renamed,
    SabotError,
    SuitesMissing,
)
from sabot.text import printable

_BY_TASK: dict[str, dict[str, str | None]] = {
    "Try it": {
        "demo": "sabot.cli.sim",
        "sim": "sabot.cli.sim",
        "sim-do": "sabot.cli.sim",
    },
    "Log shoes": {
        "ports": "sabot.cli.log",
        "log": "sabot.cli.log",
        "replaced": "sabot.cli.records.replaced",
    },
    "See what happened": {
        "rounds": "sabot.cli.records.show",
        "events": "sabot.cli.records.show",
        "incidents": "sabot.cli.records.incidents",
        "tables": "sabot.cli.records.tables",
        "units": "sabot.cli.records.units",
    },
    "The screens": {
        "serve": "sabot.cli.screens.serve",
        "watch": "sabot.cli.screens.watch",
        "users": "sabot.cli.screens.users",
        "desk": "sabot.cli.screens.desk",
    },
    "Send it on": {
        "database": "sabot.cli.centre.database",
        "forward": "sabot.cli.centre.forward",
        "notary": "sabot.cli.centre.notary",
        "feed": "sabot.cli.centre.feed",
    },
    "Prove it, and keep it": {
        "verify": "sabot.cli.records.check",
        "checkpoints": "sabot.cli.records.check",
        "receipts": "sabot.cli.centre.receipts",
        "export": "sabot.cli.records.export",
        "copy": "sabot.cli.records.copy",
        "convert": "sabot.cli.records.convert",
        "retention": "sabot.cli.records.prune",
        "prune": "sabot.cli.records.prune",
        "rebuild": "sabot.cli.records.rebuild",
    },
    "Games and wagers": {
        "games": "sabot.cli.games",
        "score": "sabot.cli.games",
        "settle": "sabot.cli.settle",
        "odds": "sabot.cli.games",
        "load": "sabot.cli.games",
    },
    "Care for shoes": {
        "doctor": "sabot.cli.service.doctor",
        "health": "sabot.cli.service.sensors",
        "capture": "sabot.cli.service.sensors",
        "read": "sabot.cli.samples",
        "waveform": "sabot.cli.samples",
    },
    "Releases and new shoes": {
        "keys": "sabot.cli.service.keys",
        "build": "sabot.cli.service.build",
        "release": "sabot.cli.service.release",
        "flash": "sabot.cli.service.flash",
        "provision": "sabot.cli.service.provision",
        "update": "sabot.cli.service.update",
        "debug": "sabot.cli.service.debug",
    },
    "Judge a firmware or a shoe": {
        "hil": None,
    },
}
"""The module of each command by task, in the order of the help: that of a newcomer. None: found by
its entry point."""
_MODULES = {name: module for commands in _BY_TASK.values() for name, module in commands.items()}
_TASK_OF = {name: task for task, commands in _BY_TASK.items() for name in commands}

_COMPLETING = "_SABOT_COMPLETE"  # set by the scripts of --install-completion

_GROUPS = ("database", "games", "keys", "release", "users")
"""Commands that have subcommands."""

_RENAMED = {
    "operator-key": "keys operator make",
    "keys make": "keys release make",
    "keys public": "keys release show",
}
"""Names that commands had, and those that they have now."""

_ENTRY_POINTS = "sabot.commands"
"""The group of entry points in which another package names its command, a Typer group."""


@cache
def app(only: str = "") -> typer.Typer:
    """The command line with the command `only`, or with all commands."""
    command_line = typer.Typer(
        name="sabot",
        help="Log, verify and show what Sabot dealing shoes record; simulate a shoe.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog="Exit codes: 0 done, 1 findings, 2 wrong usage, "
        "3 and above an error: see docs/exit-codes.md.",
    )
    command_line.callback()(_root)
    for name in [only] if only else _MODULES:
        where = _MODULES[name]
        if where is None:
            _add_test_bench(command_line, name)
            continue
        module = import_module(where)
        if name in _GROUPS:
            command_line.add_typer(module.app, name=name, rich_help_panel=_TASK_OF[name])
        else:
            run_by = command_line.command(name, rich_help_panel=_TASK_OF[name])
            run_by(getattr(module, name.replace("-", "_")))
    return command_line


def _add_test_bench(command_line: typer.Typer, name: str) -> None:
    """Add the command of the test bench. Not installed, it is one that raises SuitesMissing."""
    for point in entry_points(group=_ENTRY_POINTS, name=name):
        try:
            command_line.add_typer(point.load(), name=name, rich_help_panel=_TASK_OF[name])
        except ModuleNotFoundError as error:
            # A module that the test bench itself lacks is a fault of the test bench.
            if error.name != point.module.partition(".")[0]:
                raise
        else:
            return
    takes_anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    run_by = command_line.command(
        name, context_settings=takes_anything, rich_help_panel=_TASK_OF[name]
    )
    run_by(_no_test_bench)


def _no_test_bench() -> None:
    """Judge a firmware or a repaired shoe: needs the test bench, which is not installed."""
    raise SuitesMissing("the test bench")


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
    # Without a callback, Typer would run the only command of a command line without its name.
    pass


def _command_name() -> str:
    """The command that is called, or that a shell wants completed; empty if that is not clear."""
    words = sys.argv
    if _COMPLETING in os.environ:
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
        if len(words) < 3:  # perhaps the command's name itself is completed
            return ""
    return words[1] if len(words) > 1 and words[1] in _MODULES else ""


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
        command_line = app(_command_name())
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
