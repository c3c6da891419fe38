"""`sabot replaced`: a board takes the place of the one that a unit had."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sabot.audit import replacing
from sabot.cli import options
from sabot.cli.key_files import load_private_key
from sabot.cli.view import console, print_json, problems
from sabot.link.ports import through_log
from sabot.log.seam import LONGEST_BY
from sabot.log.store import open_store
from sabot.terminal import plain
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.provisioning import is_unit


def replaced(
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="The unit whose board was replaced.")],
    chain: Annotated[
        str | None,
        typer.Option(
            "--chain", metavar="HEX", help="The chain of the new board; `sabot log` shows it."
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="NAME.pem", help="The operator's private key.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who has replaced it; signed too.")
    ] = "",
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo it, while no event of the new board was stored.")
    ] = False,
    db: options.Db = options.DEFAULT_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say that another board has taken the place of the one that a unit had.

    A log takes the events of a board only after those that it has of the same board. This command
    signs a seam: the new board goes on where the log ends. Both are one unit then, and no later
    event of the old board is stored. Give it when the old board will send no more.
    """
    if not is_unit(unit):
        raise typer.BadParameter(f"{unit!r} is not the id of a unit; write it without a board")
    if undo:
        if chain is not None or key is not None or by:
            raise typer.BadParameter("--undo takes no --chain, --key or --by")
        with open_store(db) as store:
            name = replacing.undo(store, unit)
        if as_json:
            print_json({"unit": unit, "undone": name})
        else:
            console.print(plain(f"{db}: {name} is no board of {unit} any more"), soft_wrap=True)
        return
    if chain is None or key is None:
        raise typer.BadParameter(
            "name the new board's chain and the operator's key: --chain, --key"
        )
    if len(by) > LONGEST_BY:
        raise typer.BadParameter(f"--by has more than {LONGEST_BY} characters")
    chain_id = _chain_of(chain)
    private = load_private_key(key)
    logged = through_log(unit)
    with open_store(db) as store, problems.status(plain(f"looking through {db}")):
        now_unix_ms = time.time_ns() // 1_000_000
        seam = replacing.replace(store, unit, chain_id, private, by=by, now_unix_ms=now_unix_ms)
    if logged is not None and logged.welcome is not None:
        problems.print(
            plain(
                f"{unit}: `sabot log` (process {logged.process}) has it now; if that is the old "
                f"board, {db} takes none of its later events: take it off its table"
            ),
            soft_wrap=True,
        )
    if as_json:
        print_json({"unit": unit} | seam.as_json())
        return
    console.print(plain(f"{unit}: {seam.text()}"), soft_wrap=True)


def _chain_of(text: str) -> bytes:
    try:
        chain = bytes.fromhex(text)
    except ValueError:
        chain = b""
    if len(chain) != MAC_SIZE:
        raise typer.BadParameter(
            f"{text!r} is not the id of a chain: {2 * MAC_SIZE} hexadecimal digits"
        )
    return chain
