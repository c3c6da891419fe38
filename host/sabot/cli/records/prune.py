"""`sabot prune` removes old shoes of cards; `sabot retention` sets how long records are kept."""

import time
from typing import Annotated, Any

import typer
from rich.table import Table

from sabot.audit import prune as pruning
from sabot.audit import retention as keeping
from sabot.audit.context import tombstones
from sabot.audit.prune import PrunePlan
from sabot.cli import options
from sabot.cli.key_files import default_keys, for_unit, load_private_key
from sabot.cli.records.export import OperatorKey
from sabot.cli.view import console, print_json, problems, verdict
from sabot.errors import KeptByLaw
from sabot.keys.signing import fingerprint
from sabot.log import boards
from sabot.log.store import open_store
from sabot.reports.selected.selection import units_of
from sabot.terminal import name_text, plain
from sabot.text import counted, local_time

_MOST_DAYS = 36_525
"""A century. Records to be kept for longer should not be removed at all."""


def prune(
    key: OperatorKey,
    keep_days: Annotated[
        int, typer.Option(min=1, max=_MOST_DAYS, help="Keep records younger than this many days.")
    ],
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    keys: options.KeyFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Remove old shoes of cards from a log, and leave a signed tombstone in their place.

    Removes only whole shoes of cards that have ended, the oldest first, and never a unit's last
    one. If a check finds something wrong in them it removes nothing, and the exit code is 1. MACs
    are checked with the units' keys; without a unit's key it says that they were not. Of a log that
    is forwarded to a centre, only what the centre has signed for is removed.
    """
    private = load_private_key(key)
    known = default_keys(keys)
    now_unix_ms = time.time_ns() // 1_000_000
    with open_store(db) as store:
        keeping.check_keep_days(store, keep_days, now_unix_ms)
        units = units_of(store, unit)
        with problems.status(plain(f"checking the records to remove from {db}")):
            plans = [
                pruning.plan(
                    store,
                    each,
                    keep_days=keep_days,
                    now_unix_ms=now_unix_ms,
                    keys=for_unit(known, each, keys),
                )
                for each in units
            ]
        _refuse_if_findings(plans)
        _report_unchecked(plans)
        going = [planned for planned in plans if planned.going]
        if going and not dry_run:
            pruning.carry_out(store, going, private, keep_days=keep_days, now_unix_ms=now_unix_ms)
        for planned in plans:
            if as_json:
                print_json(_line_json(planned, dry_run))
            else:
                console.print(plain(_line(planned, dry_run)), soft_wrap=True)
        if not keeping.minimums(store):
            problems.print("no minimum of days is set for this log; `sabot retention` sets one")
    for planned in plans:
        if planned.stuck and planned.stays is not None:
            raise KeptByLaw(
                f"{planned.unit} shoe {planned.stays.shoe}: its end is not in {db}, so it and all "
                "shoes after it are kept, however old; `sabot export --open` makes a bundle of it"
            )
    waiting = [planned.unit for planned in plans if planned.unreceipted]
    if waiting:
        raise KeptByLaw(
            f"{', '.join(waiting)}: old shoes are kept until the centre has signed for them; run "
            "`sabot forward`, and `sabot notary` at the centre, then try again"
        )


def retention(
    db: options.Db = options.DEFAULT_DB,
    minimum_days: Annotated[
        int | None,
        typer.Option(
            "--minimum-days", min=0, max=_MOST_DAYS, help="Keep records at least this many days."
        ),
    ] = None,
    lower: Annotated[
        bool, typer.Option("--lower", help="Allow fewer days than before; the log records it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show or set how long a log's records must be kept, and show what was removed.

    `sabot prune` never removes younger records. Every minimum that was ever set stays in the log.
    """
    with open_store(db) as store:
        if minimum_days is not None:
            now_unix_ms = time.time_ns() // 1_000_000
            keeping.set_minimum(store, minimum_days, now_unix_ms, lower=lower)
        minimums = keeping.minimums(store)
        removed = [stone for unit in store.units() for stone in tombstones(store, unit)]
    if as_json:
        history = [{"days": each.days, "set_unix_ms": each.set_unix_ms} for each in minimums]
        stones = [
            {
                "unit": boards.unit_of(each.unit),
                "first_event": each.first,
                "last_event": each.last,
                "shoes": [shoe.shoe for shoe in each.shoes],
                "removed_unix_ms": each.removed_unix_ms,
                "keep_days": each.keep_days,
                "signer": fingerprint(each.public_key),
                "board_number": boards.board_of(each.unit),
            }
            for each in removed
        ]
        print_json({"minimums": history, "removed": stones})
        return
    if not minimums:
        console.print(plain(f"{db}: no minimum of days is set"), soft_wrap=True)
    for number, each in enumerate(minimums, 1):
        what = "in force" if number == len(minimums) else "before"
        since = f"set on {local_time(each.set_unix_ms)}"
        console.print(plain(f"{db}: {counted(each.days, 'day')} at least, {since}, {what}"))
    if not removed:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("unit", "shoes", "events", "removed", "kept days", "signed by"):
        table.add_column(name)
    for stone in removed:
        table.add_row(
            name_text(stone.unit),
            _span([shoe.shoe for shoe in stone.shoes]),
            f"{stone.first} to {stone.last}",
            local_time(stone.removed_unix_ms),
            str(stone.keep_days),
            fingerprint(stone.public_key),
        )
    console.print(table)


def _refuse_if_findings(plans: list[PrunePlan]) -> None:
    found = [finding for planned in plans for finding in planned.findings]
    if not found:
        return
    with verdict(found):
        units = sorted({finding.unit for finding in found})
        problems.print(
            plain(
                f"nothing was removed: {counted(len(found), 'finding')} in what would go of "
                f"{', '.join(units)}; a log in dispute is evidence. With --unit, records of "
                "another unit can be removed"
            )
        )
        for finding in found:
            where = f"{finding.unit} event {finding.event}"
            console.print(plain(f"{where}: {finding.kind}: {finding.detail}"), soft_wrap=True)


def _report_unchecked(plans: list[PrunePlan]) -> None:
    units = [planned.unit for planned in plans if planned.going and not planned.macs_checked]
    if units:
        problems.print(
            plain(
                f"MACs not checked, for want of a key: {', '.join(units)}; changed records may be "
                "among those removed. --keys names the file with the key"
            )
        )


def _line(planned: PrunePlan, dry_run: bool) -> str:
    stays = "" if planned.stays is None else f"; shoe {planned.stays.shoe} stays: {planned.why}"
    if not planned.going:
        return f"{planned.unit}: nothing to remove{stays}"
    shoes = _span([stretch.shoe for stretch in planned.going])
    rounds = sum(stretch.rounds for stretch in planned.going)
    verb = "would be removed" if dry_run else "removed"
    return (
        f"{planned.unit}: {verb}: shoes {shoes}, events {planned.first} to {planned.last}, "
        f"{counted(rounds, 'round')}{stays}"
    )


def _line_json(planned: PrunePlan, dry_run: bool) -> dict[str, Any]:
    going, stays = planned.going, planned.stays
    return {
        "unit": boards.unit_of(planned.unit),
        "removed": bool(going) and not dry_run,
        "shoes": [stretch.shoe for stretch in going],
        "first_event": planned.first if going else None,
        "last_event": planned.last if going else None,
        "rounds": sum(stretch.rounds for stretch in going),
        "macs_checked": planned.macs_checked if going else None,
        "stays": None if stays is None else stays.shoe,
        "why": None if stays is None else planned.why,
        "board_number": boards.board_of(planned.unit),
    }


def _span(shoes: list[int]) -> str:
    return str(shoes[0]) if len(shoes) == 1 else f"{shoes[0]} to {shoes[-1]}"
