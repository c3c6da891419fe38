"""The commands of `sabot`: where each is, and how it is found without importing the others.

The list of commands, its help and its completion import no command: what a command does is read
from the docstring in its compiled module. The test bench is a package of its own, and its command
is found by its entry point.
"""

import inspect
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from types import CodeType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from sabot.errors import SuitesMissing

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
        "integrity": "sabot.cli.records.integrity",
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
        "open-seats": "sabot.cli.records.open_seats",
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
MODULES = {name: module for commands in _BY_TASK.values() for name, module in commands.items()}
_TASK_OF = {name: task for task, commands in _BY_TASK.items() for name in commands}

_GROUPS = {
    "database": "A log in PostgreSQL: make it, lead it to another version, let roles use it, see "
    "how it is.",
    "games": "List the games and what the house chooses in each; print a rule card.",
    "hil": "Judge a firmware or a repaired shoe: the same tests on every target.",
    "keys": "Make and show the keys that sign releases, records and receipts; make the halves of "
    "an escrow.",
    "release": "Show what a release holds, or compare two.",
    "users": "Who may sign in at the screens: list, add, role, password, close.",
}
"""What each command does that has subcommands. The other commands say it in their docstrings."""

_ENTRY_POINTS = "sabot.commands"
"""The group of entry points in which another package names its command, a Typer group."""


class Commands(TyperGroup):
    """The group of all commands. Each is a name and its help until it is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        names = sorted(MODULES, key=lambda name: name in _GROUPS)  # as Typer lists them
        self.commands = {name: TyperCommand(name, rich_help_panel=_TASK_OF[name]) for name in names}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave all words to the command if its name is the first of them.

        For each option of `sabot` itself that is not there, Typer would import Pydantic, which
        takes 50 ms.
        """
        if not args or args[0] not in self.commands:
            return super().parse_args(ctx, args)
        ctx._protected_args, ctx.args = args[:1], args[1:]
        return args[1:]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command that has only a name and its help; None if there is none."""
        command = self.commands.get(cmd_name)
        if command is not None and command.help is None:
            command.help = what_it_does(cmd_name)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the first of `args` calls, imported."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else imported(name), rest


def what_it_does(name: str) -> str:
    """Return the help of a command, without importing its module."""
    if name in _GROUPS:
        return _GROUPS[name]
    module = MODULES[name]
    spec = module and find_spec(module)
    assert spec and isinstance(spec.loader, InspectLoader), name
    code = spec.loader.get_code(spec.name)
    function = name.replace("-", "_")
    (found,) = [
        each
        for each in (code.co_consts if code else ())
        if isinstance(each, CodeType) and each.co_name == function
    ]
    return inspect.cleandoc(found.co_consts[0])  # of a function with a docstring, the docstring


def imported(name: str) -> TyperCommand | TyperGroup:
    """Import the module of a command and return the command."""
    holder = typer.Typer()
    where = MODULES[name]
    if where is None:
        _add_test_bench(holder, name)
    elif name in _GROUPS:
        _add_group(holder, name, import_module(where).app)
    else:
        holder.command(name)(getattr(import_module(where), name.replace("-", "_")))
    command = typer.main.get_group(holder).commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


def _add_group(holder: typer.Typer, name: str, group: typer.Typer) -> None:
    holder.add_typer(group, name=name, help=_GROUPS[name])


def _add_test_bench(holder: typer.Typer, name: str) -> None:
    """Add the command of the test bench. Not installed, it is one that raises SuitesMissing."""
    from importlib.metadata import entry_points  # no other command waits for it

    for point in entry_points(group=_ENTRY_POINTS, name=name):
        try:
            _add_group(holder, name, point.load())
        except ModuleNotFoundError as error:
            # A module that the test bench itself lacks is a fault of the test bench.
            if error.name != point.module.partition(".")[0]:
                raise
        else:
            return
    takes_anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    holder.command(name, context_settings=takes_anything)(_no_test_bench)


def _no_test_bench() -> None:
    """Judge a firmware or a repaired shoe: needs the test bench, which is not installed."""
    raise SuitesMissing("the test bench")
