"""`sabot verify` and `sabot checkpoints`: is a log whole, unchanged, and dealt by the rules?"""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sabot.audit import checkpoints as kept_elsewhere
from sabot.audit import receipts as receipted
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.bundle import BundleVerdict, verify_bundle
from sabot.audit.checks.findings import Finding, Note, Summary
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.cli import options
from sabot.cli.key_files import default_keys, load_keys
from sabot.cli.view import (
    Output,
    console,
    events_progress,
    print_json,
    print_objects,
    problems,
    verdict,
)
from sabot.desk.notes import UNIT
from sabot.errors import DiskFull
from sabot.keys import signing
from sabot.log.place import Place, place_of
from sabot.log.store import Store, open_store
from sabot.terminal import plain
from sabot.text import counted


def verify(
    bundle: Annotated[
        Path | None, typer.Argument(metavar="[BUNDLE]", help="A bundle, instead of a log.")
    ] = None,
    db: options.Db = options.DEFAULT_DB,
    shoe: options.Shoe = None,
    keys: options.KeyFile = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(help="File of checkpoints, kept elsewhere (`sabot checkpoints` makes it)."),
    ] = None,
    operator: options.Operator = None,
    receipts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|LOG",
            help="Receipts of the centre: a file of `sabot receipts -o`, or the other side's log. "
            "May be repeated.",
        ),
    ] = None,
    notary: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="NAME.pub.pem",
            help="Public key that must have signed the receipts; may be repeated. Alone, it checks "
            "the log with the receipts that it has itself.",
        ),
    ] = None,
    elsewhere: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Known to be in another log, and not looked for: a unit, 'SHOE-2 to SHOE-40', "
            "'MACAU-*', @desk, or the first digits of a chain or game document; may be repeated.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help='Print {"ok": ..., "findings": [...], "notes": [...]}.'),
    ] = False,
) -> None:
    """Check a log: audit chain, numbers, records, every round. Exit code 1: findings.

    The audit chain is checked with the units' keys (--keys); a unit without a key is a finding.
    What the key file or the log names and the log lacks is a finding, except --elsewhere.
    --shoe leaves out findings and rounds of other shoes of cards, but the chain is still checked
    through the whole log. A note is about something that a good log can have. --receipts finds what
    the site or the centre lacks of what was receipted; a log that is named there is compared too.
    """
    if receipts and not notary:
        raise typer.BadParameter("--receipts needs the notary's public key: --notary NAME.pub.pem")
    try:
        known_elsewhere = Elsewhere(elsewhere or ())
    except ValueError as error:
        raise typer.BadParameter(f"--elsewhere {error}") from None
    if bundle is not None:
        if shoe is not None or checkpoints is not None:
            raise typer.BadParameter("--shoe and --checkpoints are for logs, not for a bundle")
        if notary:
            raise typer.BadParameter("--receipts and --notary are for logs, not for a bundle")
        checked = verify_bundle(bundle, load_keys(keys), operator, known_elsewhere)
        _print_bundle(checked, bundle, as_json)
        return
    against = VerifyOptions(
        keys=default_keys(keys),
        operator=None if operator is None else signing.load_public(operator),
        kept=() if checkpoints is None else _checkpoints(checkpoints),
        shoe=shoe,
        elsewhere=known_elsewhere,
        own_receipts=not notary,
    )
    with open_store(db) as store:
        total = sum(store.last_number(unit) for unit in store.units())
    with events_progress() as bar:
        task = bar.add_task("events", total=total)
        findings, summary = verify_log(
            db, against, lambda done: bar.update(task, completed=min(done, total))
        )
    if notary:
        notaries = [signing.load_public(path) for path in notary]
        others = [place_of(text) for text in receipts or ()]
        found, notes = receipted.check(db, others, notaries, against.operator)
        findings += found
        summary.notes += notes
    if shoe is not None and not summary.shoe_seen:
        raise typer.BadParameter(f"{db} has no shoe of cards {shoe}; `sabot rounds` lists them")
    with verdict(findings):
        if as_json:
            _print_json(findings, summary)
            return
        listed: list[Finding | Note] = [*findings, *summary.notes]
        for each in listed:
            console.print(plain(_line(each, db)), soft_wrap=True)
        console.print(
            plain(
                f"{db}: {counted(summary.units, 'unit')}, {counted(summary.events, 'event')}, "
                f"{counted(summary.rounds, 'round')}: "
                f"{_verdict(findings, summary)}"
            ),
            soft_wrap=True,
        )


def checkpoints(
    db: options.Db = options.DEFAULT_DB,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line; this is the default.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write them to this file.")
    ] = None,
) -> None:
    """Print how far each unit's log has come. Keep it where people who can write the log cannot.

    One JSON object a line: a checkpoint at the end of each shoe of cards, and one at the last
    event. `sabot verify --checkpoints FILE` compares the log with them. -o replaces a file only if
    it has checkpoints, and the log agrees with all of them; otherwise the exit code is 1.
    """
    with open_store(db) as store:
        kept = list(kept_elsewhere.checkpoints_of(store))
        if out is not None and out.exists() and not out.is_dir():
            _check_replaceable(out, store)
    if out is None:
        print_objects((each.as_json() for each in kept), Output.JSON)
        return
    try:
        kept_elsewhere.save(out, kept)
    except OSError as error:
        raise _unwritable(out, error) from None
    console.print(plain(f"{out}: {counted(len(kept), 'checkpoint')}"), soft_wrap=True)


def _check_replaceable(path: Path, store: Store) -> None:
    """Keep a file that is not of checkpoints, or that shows that the log was cut off or rewritten:
    it may be the only proof."""
    try:
        kept = kept_elsewhere.load(path) if path.stat().st_size or not path.is_file() else []
    except (kept_elsewhere.CheckpointsUnusable, OSError):
        raise typer.BadParameter(
            f"{path} exists, and is not a file of checkpoints; name another file with -o"
        ) from None
    found = list(kept_elsewhere.contradictions(store, kept))
    with verdict(found):
        if found:
            problems.print(plain(f"{path} was kept: {store.place} contradicts its checkpoints"))
        for finding in found:
            console.print(plain(_line(finding, path)), soft_wrap=True)


def _print_bundle(checked: BundleVerdict, path: Path, as_json: bool) -> None:
    with verdict(checked.findings):
        if as_json:
            print_json(checked.as_json())
            return
        for line in checked.lines():
            console.print(plain(line), soft_wrap=True)
        for finding in checked.findings:
            console.print(plain(_line(finding, path)), soft_wrap=True)
        summary = checked.summary
        counts = f"{counted(summary.events, 'event')}, {counted(summary.rounds, 'round')}"
        console.print(
            plain(f"{path}: {counts}: {_verdict(checked.findings, summary)}"), soft_wrap=True
        )


def _verdict(findings: Sequence[Finding], summary: Summary) -> str:
    verdict = counted(len(findings), "finding") if findings else "nothing to find fault with"
    if summary.not_judged:
        verdict += f", but {counted(summary.not_judged, 'round')} not judged"
    return verdict


def _unwritable(path: Path, error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{path}: not written, the disk is full; make room, then try again")
    return typer.BadParameter(
        f"{path} cannot be written ({error.strerror}); name another file with -o"
    )


def _checkpoints(path: Path) -> Sequence[kept_elsewhere.Checkpoint]:
    try:
        return kept_elsewhere.load(path)
    except kept_elsewhere.CheckpointsUnusable as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read ({error.strerror})") from None


def _print_json(findings: Sequence[Finding], summary: Summary) -> None:
    print_json(
        {
            "ok": not findings,
            "findings": [finding.as_json() for finding in findings],
            "notes": [note.as_json() for note in summary.notes],
            "units": summary.units,
            "events": summary.events,
            "rounds": summary.rounds,
            "not_judged": summary.not_judged,
        }
    )


def _line(each: Finding | Note, file: Path | Place) -> str:
    what = "note" if each.unit == UNIT else "event"
    where = f"{each.unit} {what} {each.event}" if each.event else each.unit or file
    note = "note: " if isinstance(each, Note) else ""
    return f"{where}: {note}{each.kind}: {each.detail}"
