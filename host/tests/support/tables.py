"""Rounds of blackjack to settle, and short ways to write them."""

import json
from typing import Any

from sabot.games.blackjack import table_file
from sabot.games.blackjack.settle import Line, Settled, settle

WAGER_CENTS = 1_000


def box(cards: str, *play: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    """A box of Ann's with a wager of 10.00; `cards` are its first two."""
    given = {"box": number, "player": "Ann", "wager_cents": WAGER_CENTS, "cards": cards.split()}
    return given | ({"play": list(play)} if play else {}) | fields


def table(dealer: str, *boxes: dict[str, Any], **house: Any) -> table_file.TableFile:
    """A TABLE.json with these boxes, as read from a file."""
    fields = {"dealer": dealer.split(), "boxes": list(boxes), "house": house}
    return table_file.parse(json.dumps(fields).encode())


def settled(dealer: str, *boxes: dict[str, Any], **house: Any) -> Settled:
    """Settle a round as the command does."""
    return settle(table(dealer, *boxes, **house))


def lines(done: Settled) -> list[tuple[str, str, int, int]]:
    """Each wager: name, outcome, what is returned and paid, in cents."""
    return [(each.wager, each.outcome, each.returned_cents, each.paid_cents) for each in done.lines]


def only(done: Settled) -> Line:
    """The only wager of a round."""
    (line,) = done.lines
    return line
