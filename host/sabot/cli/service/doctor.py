"""`sabot doctor`: what is wrong with a shoe, and what to do about it."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.several import Every, Reading, Shoes, shoes_of
from sabot.cli.view import console, print_json, problems
from sabot.errors import FINDINGS
from sabot.log import boards
from sabot.log.place import Place
from sabot.log.store import open_store
from sabot.release import build as releases
from sabot.release.layout import build_of
from sabot.reports.units import unit_of
from sabot.service import doctor as doctors
from sabot.terminal import plain
from sabot_protocol.release import Manifest


def doctor(
    units: Shoes = None,
    every: Every = False,
    release: Annotated[
        Path | None,
        typer.Option("--release", metavar="DIR", help="The release that it should run."),
    ] = None,
    db: options.ItsDb = None,
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Have shoes test themselves, and show what is wrong with them and what to do.

    No round may be in play. It changes nothing. A running `sabot log` asks the shoes that it has,
    and goes on logging them. Exit code 1 if it found something. Of several shoes, only what was
    found is listed.
    """
    names = shoes_of(units, every)
    built = None if release is None else releases.load(release)
    shoes = Reading(names, load_command_keys(commands))
    anything = False
    with problems.status(plain(f"{', '.join(names)}: testing")):
        for answers in shoes.each(doctors.examine):
            checks = doctors.checks_of(answers, _expected(answers, built, db))
            anything = anything or any(check.to_do for check in checks)
            with suppress(BrokenPipeError):  # the reader may only want the exit code
                _print(answers.unit, checks, as_json, alone=len(names) == 1)
    shoes.raise_failures()
    if anything:
        raise typer.Exit(FINDINGS)


def _expected(
    answers: doctors.ShoeAnswers, built: releases.Release | None, db: Place | None
) -> doctors.Expectations:
    expected = doctors.Expectations()
    if built is not None:
        version = Manifest(built.manifest).version
        expected = doctors.Expectations(version, build_of(built.files))
    if db is not None:
        with open_store(db) as store:
            newest = (boards.chosen(answers.unit, store.units()) or [answers.unit])[-1]
            rate = unit_of(newest, store).faults_per_10000
            flow = store.flows().get(newest)
        expected = doctors.Expectations(expected.version, expected.build, rate, flow)
    return expected


def _print(unit: str, checks: list[doctors.Check], as_json: bool, *, alone: bool) -> None:
    found = [check for check in checks if check.to_do]
    if as_json:
        print_json({"unit": unit, "checks": [check.as_json() for check in checks]})
        return
    if alone or found:
        console.print(_table(checks if alone else found))
    for check in found:
        console.print(plain(f"{check.name}: {check.to_do}"), soft_wrap=True)
    verdict = f"{len(found)} of {len(checks)} checks found something" if found else "all well"
    console.print(plain(f"{unit}: {verdict}"), soft_wrap=True)


def _table(checks: list[doctors.Check]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("check", "found", "expected", "state"):
        table.add_column(name)
    for check in checks:
        table.add_row(
            check.name, plain(check.found), plain(check.expected), "LOOK" if check.to_do else "ok"
        )
    return table
