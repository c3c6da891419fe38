"""`sabot database`: makes a log in PostgreSQL, and says who may do what with it, and how it is."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.view import console, print_json, problems, verdict
from sabot.log import boards
from sabot.log.place import Address, place_of
from sabot.log.postgres import administration, migrations, status
from sabot.log.postgres.checks import rights
from sabot.log.postgres.status import AlarmRow, Status, UnitStatus
from sabot.receipts.receipt import Receipt, ReceiptUnusable
from sabot.silences import ARCHIVE, GONE, NOTARY
from sabot.terminal import name_text, plain
from sabot.text import counted, local_time, printable

app = typer.Typer(no_args_is_help=True)

_MIB = 1 << 20
_OLDEST = 1_000_000_000  # transactions: half of what the server can count
_LONGEST_NAME, _LONGEST_REMARK = 100, 500  # characters; the log has no room for more


def _address(text: str) -> Address:
    place = place_of(text)
    if not isinstance(place, Address):
        raise typer.BadParameter(f"{text} is not the address of a PostgreSQL database")
    return place


Database = Annotated[
    Address,
    typer.Argument(
        parser=_address, metavar="ADDRESS", help="The database: postgresql://role@host/name."
    ),
]
Role = Annotated[str, typer.Argument(metavar="ROLE", help="A login role of the server.")]
Units = Annotated[list[str], typer.Option("--unit", metavar="UNIT", help="May be repeated.")]
_WHATS = f"One of: {', '.join(administration.GROUPS)}."


@app.command()
def make(address: Database) -> None:
    """Make a log in an empty database, as its owner: roles, tables, functions.

    The owner must be allowed to create roles. Of a log that is there nothing is changed.
    """
    made = list(administration.make(address))
    if made:
        console.print(plain(f"{address}: a new log of version {made[-1]}"), soft_wrap=True)
        return
    version = administration.version_of(address)
    what = f"{address}: a log of version {version} is there"
    if version < migrations.VERSION:
        what += "; `sabot database migrate` leads it on"
    console.print(plain(what), soft_wrap=True)


@app.command()
def migrate(
    address: Database,
    to: Annotated[
        int, typer.Option("--to", help="The version; default: the newest.")
    ] = migrations.VERSION,
) -> None:
    """Lead a log to another version, upward or downward, one version at a time.

    What an older version does not know is kept for the newer one. Programs that write wait
    meanwhile.
    """
    before = administration.version_of(address)
    for version in administration.migrate(address, to):
        console.print(plain(f"{address}: version {version}"), soft_wrap=True)
    if before == to:
        console.print(plain(f"{address}: is of version {to} already"), soft_wrap=True)


@app.command()
def grant(
    address: Database,
    role: Role,
    may: Annotated[str, typer.Option("--may", help=_WHATS)],
    remove: Annotated[bool, typer.Option("--remove", help="Take it back.")] = False,
) -> None:
    """Let a login role use the log: read it, log to it, sign for it, serve its screens, keep it.

    `keep` is for what changes a log: `sabot prune`, `retention`, `rebuild` and `database`.
    """
    if may not in administration.GROUPS:
        raise typer.BadParameter(f"{may}: {_WHATS}", param_hint="--may")
    (administration.revoke if remove else administration.grant)(address, role, may)
    no_longer = "may no longer" if remove else "may"
    console.print(plain(f"{address}: {role} {no_longer} {_WORDS[may]}"), soft_wrap=True)


_WORDS = {
    "read": "read the log",
    "log": "log to it",
    "notary": "sign for it",
    "desk": "serve its screens",
    "keep": "keep it",
}


@app.command()
def site(
    address: Database,
    role: Role,
    unit: Units,
    remove: Annotated[
        bool, typer.Option("--remove", help="Let it forward these units no longer.")
    ] = False,
) -> None:
    """Let a login role forward these units to the log, and no other site."""
    if remove:
        left = administration.end_forwarding(address, role, unit)
        forwards = ", ".join(left) if left else "nothing any more"
    else:
        administration.let_forward(address, role, unit)
        forwards = ", ".join(unit)
    console.print(plain(f"{address}: {role} forwards {forwards}"), soft_wrap=True)


@app.command("status")
def status_(address: Database, as_json: options.Json = False) -> None:
    """Show how a log is: its size, who forwards what, each unit's newest event and receipt.

    Exit code 1: something is not as it was made, or is gone, or someone may do more than a log
    lets anyone.
    """
    found = status.status_of(address)
    wrong = list(_wrong(found))
    with verdict(wrong):
        if as_json:
            print_json(_as_json(found))
            return
        days = f"{counted(found.days, 'day')}"
        if found.first_day is not None:
            days += f" from {found.first_day} to {found.last_day}"
        alarms = counted(found.open_alarms, "open alarm")
        console.print(
            plain(
                f"{address}: version {found.version}, PostgreSQL {found.server}, "
                f"{found.bytes // _MIB:,} MiB, {days}, {alarms}"
            ),
            soft_wrap=True,
        )
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("unit", "site", "events", "newest", "received", "receipt for", "signed"):
            table.add_column(name)
        for unit in found.units:
            table.add_row(*_cells(unit))
        for name, role in found.waiting:
            table.add_row(name_text(name), name_text(role), "0", "", "", "", "")
        if table.row_count:
            console.print(table)
        for line in (*wrong, *_warnings(found)):
            problems.print(plain(f"{address}: {line}"))


@app.command()
def roles(address: Database, as_json: options.Json = False) -> None:
    """List who may do what with a log. Exit code 1: someone may do more than a log lets anyone."""
    found, beyond = status.roles_of(address)
    with verdict(beyond):
        if as_json:
            for each in found:
                print_json(_role_json(each))
            return
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("role", "may"):
            table.add_column(name)
        for each in found:
            if not each.is_of_sabot:
                table.add_row(name_text(each.name), plain("; ".join(each.may)))
        console.print(table)
        for line in beyond:
            problems.print(plain(f"{address}: {line}"))


@app.command()
def alarms(
    address: Database,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that someone has acknowledged.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List what must not be between sites and centre: other bytes, lost events. Exit code 1: some.

    An alarm is open until a person acknowledges it. One of other bytes has those of the site; those
    of the centre are in its log.
    """
    found = status.alarms_of(address)
    open_ones = [each for each in found if not each.acknowledgements]
    with verdict(open_ones):
        shown = found if every else open_ones
        if as_json:
            for each in shown:
                print_json(_alarm_json(each))
            return
        for each in shown:
            where = f"{each.id}: {local_time(each.unix_ms)} {each.unit} event {each.number}"
            line = f"{where}: {each.kind}: {each.detail} (by {each.site})"
            console.print(plain(line), soft_wrap=True)
            for said in each.acknowledgements:
                by = f"{said.person} ({said.role})"
                line = f"   {local_time(said.unix_ms)} acknowledged by {by}: {said.remark}"
                console.print(plain(line), soft_wrap=True)
        if not shown:
            what = "no alarms" if not found else f"no open alarms; {counted(len(found), 'alarm')}"
            more = " with --all" if found else ""
            console.print(plain(f"{address}: {what}{more}"), soft_wrap=True)


@app.command()
def acknowledge(
    address: Database,
    alarm: Annotated[list[int], typer.Argument(metavar="ALARM...", help="As `alarms` lists them.")],
    why: Annotated[str, typer.Option("--why", help="Why it is no longer open.")],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who has looked at it.")],
) -> None:
    """Note who has looked at alarms, and why they are no longer open. It cannot be taken back.

    The note is in the chain of alarms, with the role of the server that it was made with.
    """
    person, remark = (printable(" ".join(text.split())) for text in (by, why))
    if not 1 <= len(person) <= _LONGEST_NAME:
        raise typer.BadParameter(f"a name of 1 to {_LONGEST_NAME} characters", param_hint="--by")
    if not 1 <= len(remark) <= _LONGEST_REMARK:
        raise typer.BadParameter(f"1 to {_LONGEST_REMARK} characters", param_hint="--why")
    status.acknowledge(address, alarm, person, remark)
    what = counted(len(alarm), "alarm")
    console.print(plain(f"{address}: {what} acknowledged by {person}"), soft_wrap=True)


def _wrong(found: Status) -> Iterator[str]:
    """What a person must look at."""
    for each in found.altered:
        yield f"not as it was made: {each}"
    yield from found.escalations
    yield from found.changed_alarms
    for gone in found.missing:
        yield GONE.say(**gone._asdict())
    if found.figures.archives and found.figures.failing_s > ARCHIVE.after_s:
        yield ARCHIVE.say(time=_minutes(found.figures.failing_s))
    if found.figures.transaction_age > _OLDEST:
        yield (
            f"the oldest transaction is {found.figures.transaction_age:,} old; at 2,000,000,000 "
            "the server stops: vacuum it, and see what keeps it from being vacuumed"
        )
    # A notary signs at a centre, which has sites. It counts from the first event that waits: the
    # newest is never old while cards are dealt.
    is_signed = any(unit.receipted or unit.site for unit in found.units)
    for unit in found.units:
        waits_s = time.time() - (unit.unsigned_unix_ms or time.time() * 1000) / 1000
        if is_signed and waits_s > NOTARY.after_s:
            yield NOTARY.say(unit=unit.unit, time=_minutes(waits_s))
        if not unit.has_newest:
            yield GONE.say(unit=unit.unit, first=unit.newest, last=unit.newest)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes"


def _warnings(found: Status) -> Iterator[str]:
    """What will be wrong some day."""
    if found.short_of_locks:
        yield (
            "programs that read the whole log may be refused: set the server's "
            "max_locks_per_transaction to 512"
        )


def _cells(unit: UnitStatus) -> tuple[Any, ...]:
    signed = _signed_unix_ms(unit)
    return (
        name_text(unit.unit),
        name_text(unit.site),
        f"{unit.records:,}",
        str(unit.newest),
        "" if unit.received_unix_ms is None else local_time(unit.received_unix_ms),
        str(unit.receipted or ""),
        "" if signed is None else local_time(signed),
    )


def _signed_unix_ms(unit: UnitStatus) -> int | None:
    """When the newest receipt was signed."""
    with suppress(ReceiptUnusable):
        return None if unit.receipt is None else Receipt.parse(unit.receipt).unix_ms
    return None


def _as_json(found: Status) -> dict[str, Any]:
    return {
        "version": found.version,
        "server": found.server,
        "bytes": found.bytes,
        "days": found.days,
        "first_day": None if found.first_day is None else str(found.first_day),
        "last_day": None if found.last_day is None else str(found.last_day),
        "alarms": found.alarms,
        "open_alarms": found.open_alarms,
        "changed_alarms": found.changed_alarms,
        "server_figures": found.figures._asdict(),
        "missing": [each._asdict() for each in found.missing],
        "altered": found.altered,
        "escalations": found.escalations,
        "units": [
            {
                "unit": boards.unit_of(each.unit),
                "site": each.site or None,
                "events": each.records,
                "newest": each.newest,
                "has_newest": each.has_newest,
                "received_unix_ms": each.received_unix_ms,
                "receipted": each.receipted or None,
                "signed_unix_ms": _signed_unix_ms(each),
                "board_number": boards.board_of(each.unit),
            }
            for each in found.units
        ]
        + [
            {
                "unit": unit,
                "site": role,
                "events": 0,
                "newest": None,
                "has_newest": None,
                "received_unix_ms": None,
                "receipted": None,
                "signed_unix_ms": None,
                "board_number": 1,
            }
            for unit, role in found.waiting
        ],
    }


def _role_json(each: rights.Role) -> dict[str, Any]:
    return {
        "role": each.name,
        "superuser": each.is_superuser,
        "attributes": list(each.attributes),
        "groups": list(each.groups),
        "may": each.may,
        "units": list(each.units),
    }


def _alarm_json(each: AlarmRow) -> dict[str, Any]:
    return {
        "id": each.id,
        "unit": boards.unit_of(each.unit),
        "event": each.number,
        "alarm": each.kind,
        "detail": each.detail,
        "by": each.site,
        "raised_unix_ms": each.unix_ms,
        "record": None if each.record is None else each.record.hex(),
        "mac": None if each.mac is None else each.mac.hex(),
        "board_number": boards.board_of(each.unit),
        "acknowledgements": [asdict(said) for said in each.acknowledgements],
    }
