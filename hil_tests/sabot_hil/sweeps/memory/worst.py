"""Searches the states of an emulated shoe for those with the least memory:
`python -m sabot_hil.sweeps.memory.worst`, or `make memory`."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Printed

from sabot.errors import ImageUnusable
from sabot_hil.emulation.uf2 import find_image
from sabot_hil.kit.runner import check_all, output, plain_table, run, write_figures
from sabot_hil.sweeps.memory.units import BEGINS, TABLES, Table
from sabot_hil.sweeps.memory.walk import Note, walk

FREE_BYTES = 20_000
"""What must be free in every state, after a collection of garbage."""
PIECE_BYTES = 640
"""What must be free in one piece. The largest that is asked for in service is 528 bytes, a frame
that comes in pieces; work that asks for more, such as to open a file, is given the spare piece
(firmware README.md, "Heap")."""

_SHOWN = 6
Case = tuple[Table, str, int]


def worst(notes: Sequence[Note], what: str) -> list[Note]:
    """Return the note with the least of `what`, an attribute of Room, for each table and doing."""
    found: dict[tuple[str, str, str], Note] = {}
    for note in notes:
        key = note.table, note.begin, note.doing
        if key not in found or getattr(note.room, what) < getattr(found[key].room, what):
            found[key] = note
    return sorted(found.values(), key=lambda note: (note.table, getattr(note.room, what)))


def table_of(notes: Sequence[Note], what: str, least: int) -> Printed:
    """Return the worst states of each table by what is free, or by the largest free piece."""
    printed = plain_table(
        f"Least {'free' if what == 'free' else 'in one piece'}, of {least} bytes",
        ["table", "unit", "doing", "after", "display before"],
        ["free", "in one piece", "largest made"],
    )
    rows = worst(notes, what)
    for name in dict.fromkeys(note.table for note in rows):
        for note in [note for note in rows if note.table == name][:_SHOWN]:
            words = (note.table, note.begin, note.doing, note.after, note.at)
            figures = note.room.free, note.room.largest, note.made
            printed.add_row(*words, *map(str, figures))
    return printed


def faults(notes: Sequence[Note]) -> list[str]:
    """Return what is wrong, in words."""
    found = []
    for note in notes:
        where = (
            f"{note.table}, {note.begin}, step {note.step}: {note.doing} after {note.after} "
            f"at {note.at!r}"
        )
        if note.trouble:
            found.append(f"{where}: {note.trouble}")
        if note.room.free < FREE_BYTES:
            found.append(f"{where}: {note.room.free} bytes free")
        if note.room.largest < PIECE_BYTES:
            found.append(f"{where}: {note.room.largest} bytes in one piece")
    return found


def _walk(case: Case, steps: int, image: Path) -> list[Note]:
    table, begin, seed = case
    with tempfile.TemporaryDirectory() as folder:
        return walk(table, begin, seed, steps, Path(folder), image)


def main(
    seed: Annotated[int | None, typer.Option(help="Repeat a walk; else a new one.")] = None,
    steps: Annotated[int, typer.Option(help="Of each walk.")] = 60,
    table: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    begin: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    uf2: Annotated[Path | None, typer.Option(help="MicroPython's image; else SABOT_UF2.")] = None,
) -> bool:
    """Drive an emulated shoe from each state into others, and look what its heap has left."""
    try:
        image = find_image(uf2)
    except ImageUnusable as error:
        raise typer.BadParameter(str(error)) from None
    chosen = random.randrange(2**32) if seed is None else seed
    output().print(f"--seed {chosen}")
    cases: list[Case] = [
        (each, how, chosen)
        for how in reversed(BEGINS)
        for each in TABLES
        if each.name in (table or [each.name]) and how in (begin or [how])
    ]
    if not cases:
        raise typer.BadParameter(f"tables: {[each.name for each in TABLES]}; begins: {[*BEGINS]}")
    notes: list[Note] = []
    good = True
    for checked in check_all(partial(_walk, steps=steps, image=image), cases, "walks"):
        if checked.result is None:
            good = False
            output().print(f"{checked.case[0].name}, {checked.case[1]}: {checked.failure}")
        else:
            notes += checked.result
    output().print(table_of(notes, "free", FREE_BYTES))
    output().print(table_of(notes, "largest", PIECE_BYTES))
    for fault in faults(notes):
        good = False
        output().print(fault)
    write_figures("memory.json", [asdict(note) for note in notes])
    return good


if __name__ == "__main__":
    run(main)
