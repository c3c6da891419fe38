"""`sabot doctor`: what is wrong with a shoe, and what to do about it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.view import console, plain, print_json, problems
from sabot.errors import FINDINGS
from sabot.link.client import Client
from sabot.link.ports import Port
from sabot.log.store import Filter, Store
from sabot.release import build as releases
from sabot.release.layout import build_of
from sabot.reports.units import unit_of
from sabot.service import doctor as doctors
from sabot_protocol.release import Manifest


def doctor(
    port: options.Port,
    release: Annotated[
        Path | None,
        typer.Option("--release", metavar="DIR", help="The release that it should run."),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option("--db", help="Its log, which shows how many cards it did not read."),
    ] = None,
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Have a shoe test itself, and show what is wrong with it and what to do.

    No round may be in play. It changes nothing. Exit code 1 if it found something.
    """
    built = None if release is None else releases.load(release)
    with Port(port) as opened:
        client = Client(opened, keys=load_command_keys(commands))
        with problems.status(plain(f"{client.unit}: testing itself")):
            answers = doctors.examine(client)
    expected = doctors.Expectations()
    if built is not None:
        version = Manifest(built.manifest).version
        expected = doctors.Expectations(version, build_of(built.files))
    if db is not None:
        with Store(db) as store:
            rate = unit_of(answers.unit, store.rows(Filter(unit=answers.unit))).faults_per_10000
        expected = doctors.Expectations(expected.version, expected.build, rate)
    checks = doctors.checks_of(answers, expected)
    found = [check for check in checks if check.to_do]
    if as_json:
        print_json({"unit": answers.unit, "checks": [check.as_json() for check in checks]})
    else:
        console.print(_table(checks))
        for check in found:
            console.print(plain(f"{check.name}: {check.to_do}"), soft_wrap=True)
        verdict = f"{len(found)} of {len(checks)} checks found something" if found else "all well"
        console.print(plain(f"{answers.unit}: {verdict}"), soft_wrap=True)
    if found:
        raise typer.Exit(FINDINGS)


def _table(checks: list[doctors.Check]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("check", "found", "expected", "state"):
        table.add_column(name)
    for check in checks:
        table.add_row(
            check.name, plain(check.found), plain(check.expected), "LOOK" if check.to_do else "ok"
        )
    return table
