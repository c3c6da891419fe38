"""`sabot copy`: a whole copy of a log, also while it is written."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.view import console
from sabot.log.store import open_store
from sabot.terminal import plain
from sabot.text import counted


def copy(
    out: Annotated[Path, typer.Option("-o", "--out", help="The copy to write; a new file.")],
    db: options.Db = options.DEFAULT_DB,
) -> None:
    """Copy a log with all its events, also while `sabot log` writes it. The copy is one file.

    Copying the file in another way can leave out the newest events, which may be in a second file.
    """
    with open_store(db) as store:
        events = store.copy(out)
    console.print(plain(f"{out}: {counted(events, 'event')}"), soft_wrap=True)
