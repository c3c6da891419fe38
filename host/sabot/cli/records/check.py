"""`sabot verify` and `sabot checkpoints`: is a log whole, unchanged, and dealt by the rules?"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sabot.audit import checkpoints as kept_elsewhere
from sabot.audit.bundle import verify_bundle
from sabot.audit.checks.findings import Finding, Note, Summary
from sabot.audit.verify import VerifyOptions, verify_file
from sabot.cli import options
from sabot.cli.view import Output, console, plain, print_objects, problems
from sabot.errors import FINDINGS
from sabot.keys import signing
from sabot.keys.chain_keys import DEFAULT, Keys
from sabot.log.store import Store


def verify(
    bundle: Annotated[
        Path | None, typer.Argument(metavar="[BUNDLE]", help="A bundle, instead of a log.")
    ] = None,
    db: options.Db = options.DEFAULT_DB,
    shoe: options.Shoe = None,
    keys: options.KeyFile = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(help="File of checkpoints that was kept elsewhere (`sabot checkpoints`)."),
    ] = None,
    operator: options.Operator = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help='Print {"ok": ..., "findings": [...], "notes": [...]}.'),
    ] = False,
) -> None:
    """Check a log: audit chain, numbers, records, every round. Exit code 1: findings.

    The audit chain is checked with the units' keys (--keys); that there are none is a finding.
    With --shoe findings and rounds of other shoes of cards are left out; the chain is followed
    through the whole log all the same. A note tells of what a good log can have.
    """
    if bundle is not None:
        if shoe is not None or checkpoints is not None:
            raise typer.BadParameter("--shoe and --checkpoints are for logs, not for a bundle")
        _verify_bundle(bundle, None if keys is None else _keys(keys), operator, as_json)
        return
    against = VerifyOptions(
        keys=_keys(keys or DEFAULT) if keys or DEFAULT.exists() else None,
        operator=None if operator is None else signing.load_public(operator),
        kept=() if checkpoints is None else _checkpoints(checkpoints),
        shoe=shoe,
    )
    columns = (TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Store(db) as store:
        total = sum(store.last_number(unit) for unit in store.units() if isinstance(unit, str))
    with Progress(*columns, console=problems, transient=True) as bar:
        task = bar.add_task("events", total=total)
        findings, summary = verify_file(
            db, against, lambda done: bar.update(task, completed=min(done, total))
        )
    if shoe is not None and not summary.shoe_seen:
        raise typer.BadParameter(f"{db} has no shoe of cards {shoe}; `sabot rounds` lists them")
    if as_json:
        _print_json(findings, summary)
    else:
        told: list[Finding | Note] = [*findings, *summary.notes]
        for each in told:
            console.print(plain(_line(each)), soft_wrap=True)
        verdict = f"{len(findings)} findings" if findings else "nothing to find fault with"
        console.print(
            plain(
                f"{db}: {summary.units} units, {summary.events} events, {summary.rounds} rounds: "
                f"{verdict}"
            ),
            soft_wrap=True,
        )
    if findings:
        raise typer.Exit(FINDINGS)


def checkpoints(
    db: options.Db = options.DEFAULT_DB,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, as it is anyway.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write them to this file.")
    ] = None,
) -> None:
    """Print how far each unit's log has come, to be kept where nobody can write who can write here.

    One JSON object a line: a checkpoint at the end of each shoe of cards, and one of the last
    event. `sabot verify --checkpoints FILE` holds the log against them.
    """
    with Store(db) as store:
        kept = list(kept_elsewhere.checkpoints_of(store))
    if out is None:
        print_objects((each.as_json() for each in kept), Output.JSON)
        return
    kept_elsewhere.save(out, kept)
    console.print(plain(f"{out}: {len(kept)} checkpoints"), soft_wrap=True)


def _verify_bundle(path: Path, keys: Keys | None, operator: Path | None, as_json: bool) -> None:
    verdict = verify_bundle(path, keys, operator)
    if as_json:
        print(json.dumps(verdict.as_json()))
    else:
        for line in verdict.lines():
            console.print(plain(line), soft_wrap=True)
        for finding in verdict.findings:
            console.print(plain(_line(finding)), soft_wrap=True)
        found = verdict.findings
        told = f"{len(found)} findings" if found else "nothing to find fault with"
        summary = verdict.summary
        what = f"{path}: {summary.events} events, {summary.rounds} rounds: {told}"
        console.print(plain(what), soft_wrap=True)
    if verdict.findings:
        raise typer.Exit(FINDINGS)


def _keys(path: Path) -> Keys:
    keys = Keys.load(path)
    if keys.exposed:
        problems.print(plain(f"{path}: others than its owner may read these keys; chmod 600 it"))
    return keys


def _checkpoints(path: Path) -> Sequence[kept_elsewhere.Checkpoint]:
    try:
        return kept_elsewhere.load(path)
    except kept_elsewhere.CheckpointsUnusable as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read ({error.strerror})") from None


def _print_json(findings: Sequence[Finding], summary: Summary) -> None:
    print(
        json.dumps(
            {
                "ok": not findings,
                "findings": [finding.as_json() for finding in findings],
                "notes": [note.as_json() for note in summary.notes],
            }
        )
    )


def _line(told: Finding | Note) -> str:
    where = f"{told.unit} event {told.event}" if told.event else told.unit
    note = "note: " if isinstance(told, Note) else ""
    return f"{where}: {note}{told.kind}: {told.detail}"
