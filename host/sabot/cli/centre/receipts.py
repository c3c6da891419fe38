"""`sabot receipts`: what the centre signed for, and what the sites said of their logs."""

import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sabot.cli import options
from sabot.cli.view import Output, console, print_objects, print_rows
from sabot.errors import ReceiptsUnusable
from sabot.files import check_is_file
from sabot.log.store import open_store
from sabot.receipts import of_log, statement
from sabot.reports.selected.selection import units_of
from sabot.terminal import name_text, plain
from sabot.text import counted

_COLUMNS = ("unit", "event", "records", "signed", "checked", "by")
_LEAST = {"unit": 8, "event": 10, "records": 10, "signed": 24}


def receipts(
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write them to this file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the receipts of a log: up to which event of each unit the centre had signed for it.

    Of a centre also what the sites last said of their own logs, as `checkpoint`. -o writes a file
    that `sabot verify --receipts` compares a log with, also where there is no network.
    """
    with open_store(db) as store:
        lines = (line for each in units_of(store, unit) for line in of_log.as_json(store, each))
        if out is not None:
            count = _write(out, lines)
            console.print(plain(f"{out}: {counted(count, 'line')}"), soft_wrap=True)
        elif as_json:
            print_objects(lines, Output.JSON)
        else:
            print_rows(_COLUMNS, map(_row, lines), _LEAST)


def _row(line: dict[str, Any]) -> list[Any]:
    is_receipt = line["what"] == statement.RECEIPT
    return [
        name_text(line["unit"] or "?"),
        str(line["event"] or "?"),
        str(line["records"] or "?"),
        line["time"] or "cannot be read",
        (line["checked"] or "") if is_receipt else line["what"],
        line["signer"] or "" if is_receipt else name_text(line["site"]),
    ]


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> int:
    """Write a file of lines, in place of no other than one of receipts. Return how many lines."""
    if path.exists() and path.stat().st_size:
        next(statement.read(path))
    draft = path.with_name(f".sabot-{secrets.token_hex(8)}")
    count = 0
    try:
        check_is_file(path)
        with draft.open("x", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise ReceiptsUnusable(
            f"{path}: cannot be written ({error.strerror}); name another file with -o"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    return count
