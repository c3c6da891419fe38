"""`sabot verify`: is a log whole, unchanged, and dealt by the rules?"""

import json
from typing import Annotated

import typer

from sabot.cli import options
from sabot.errors import FINDINGS
from sabot.store import Store
from sabot.verify import Summary
from sabot.verify import verify as verify_store
from sabot.view import console, problems


def verify(
    db: options.Db = options.DEFAULT_DB,
    as_json: Annotated[
        bool, typer.Option("--json", help='Print {"ok": ..., "findings": [...]}.')
    ] = False,
) -> None:
    """Check a log: numbers, records, and every round against the rules. Exit code 1: findings."""
    summary = Summary()
    with Store(db) as store, problems.status(f"checking {db}"):
        findings = list(verify_store(store, summary))
    if as_json:
        found = [finding.as_json() for finding in findings]
        print(json.dumps({"ok": not found, "findings": found}))
    else:
        for finding in findings:
            console.print(
                f"{finding.unit} event {finding.event}: {finding.kind}: {finding.detail}",
                markup=False,
                soft_wrap=True,
            )
        verdict = f"{len(findings)} findings" if findings else "nothing to find fault with"
        console.print(
            f"{db}: {summary.units} units, {summary.events} events, {summary.rounds} rounds: "
            f"{verdict}",
            soft_wrap=True,
        )
    if findings:
        raise typer.Exit(FINDINGS)
