"""`sabot open-seats`: cards that stay closed, by a regulator's order."""

from pathlib import Path
from typing import Annotated

import typer

from sabot.audit import escrow
from sabot.cli import options
from sabot.cli.key_files import load_half
from sabot.cli.view import console, print_json
from sabot.log.store import open_store
from sabot.terminal import card_text, plain
from sabot_protocol.seals import SEATS

_HALVES = 2


def open_seats(
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="The unit that dealt the hand.")],
    shoe: Annotated[int, typer.Option("--shoe", help="Number of the shoe of cards.", min=1)],
    seat: Annotated[
        list[int],
        typer.Option(
            "--seat",
            help="The seat, 1 to 10; 0 for the burned cards. May be repeated.",
            min=0,
            max=SEATS,
        ),
    ],
    half: Annotated[
        list[Path],
        typer.Option("--half", metavar="NAME.pem", help="A half of the escrow; name both."),
    ],
    order: Annotated[
        str, typer.Option("--order", metavar="TEXT", help="Whose order this is; it is noted.")
    ],
    round_: Annotated[int, typer.Option("--round", help="Number of the round.", min=1)] = 1,
    db: options.Db = options.DEFAULT_DB,
    as_json: options.Json = False,
) -> None:
    """Open cards that stay closed, by a regulator's order, with both halves of the escrow.

    Two persons have the halves: each gives the passphrase of theirs. What is opened, by whose order
    and with which halves is noted in the desk first (`sabot desk`). Nothing else is opened, and
    nothing of a hand that is not over.
    """
    if len(half) != _HALVES:
        raise typer.BadParameter("name both halves: --half ONE.pem --half OTHER.pem")
    one, other = (load_half(path) for path in half)
    seats = sorted(set(seat))
    with open_store(db) as store:
        opened = escrow.open_seats(store, (unit, shoe, round_), seats, (one, other), order=order)
    if as_json:
        place = {"unit": unit, "shoe": shoe, "round": round_}
        print_json(place | {"seats": [each.as_json() for each in opened]})
        return
    for each in opened:
        line = plain(f"seat {each.seat}  " if each.seat else "burned  ")
        for card in each.cards:
            line.append_text(card_text(card)).append(" ")
        console.print(line)
