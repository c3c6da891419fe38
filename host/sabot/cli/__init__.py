"""The `sabot` command: thin over the library, a module for each group of commands."""

import os
import sys

import typer

from sabot.cli import (
    build,
    check,
    export,
    games,
    head,
    hil,
    incidents,
    keys,
    log,
    prune,
    rebuild,
    samples,
    settle,
    show,
    sim,
    update,
)
from sabot.errors import DiskFull, SabotError
from sabot.view import problems

app = typer.Typer(
    name="sabot",
    help="Log, verify and show what Sabot dealing shoes record; simulate a shoe.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    epilog="Exit codes: 0 done, 1 findings, 2 wrong usage, 3 and above an error: see README.md.",
)

for command in (
    sim.demo,
    sim.sim,
    log.ports,
    log.log,
    show.rounds,
    show.events,
    incidents.incidents,
    check.verify,
    check.checkpoints,
    export.operator_key,
    export.export,
    prune.prune,
    prune.retention,
    rebuild.rebuild,
    head.capture,
    head.health,
    samples.read,
    samples.waveform,
    games.load,
    games.score,
    games.odds,
    settle.settle,
    build.build,
    update.update,
):
    app.command()(command)
app.add_typer(games.app, name="games")
app.add_typer(keys.app, name="keys")
app.add_typer(hil.app, name="hil")


def run() -> None:
    """Run the command line; an error is one line and its documented exit code."""
    try:
        app()
    except SabotError as error:
        problems.print(f"sabot: {error}", markup=False)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        problems.print(f"sabot: the output cannot be written ({error.strerror})", markup=False)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(DiskFull.exit_code)
