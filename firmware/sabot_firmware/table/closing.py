"""Cards that may never be to be known: which are sealed, and under which key.

Kept as bytes: for each card the seat under whose key it is sealed, and the card. A shoe loads this
module only if its game has such cards.
"""

from sabot_protocol import events
from sabot_protocol.seals import BURNED, seat_of

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.shoe_of_cards import ShoeOfCards
    from sabot_protocol.schema import Shape


def keep(shoe: "ShoeOfCards", card: int, position: int) -> None:
    """Keep a sealed card that came at `position`. The first one of a seat begins its key."""
    seat, kept = BURNED, shoe.sealed_cards
    if shoe.game.by_seat:
        seat = seat_of(position)
        if seat not in [kept[at] for at in range(0, len(kept), 2)]:
            shoe.record(events.SEAT_SEAL, seat)
    shoe.sealed_cards = kept + bytes((seat, card))


def follow(shoe: "ShoeOfCards", shape: "Shape", values: "tuple") -> None:
    """Follow an event of the round. Once a seat has shown its cards they are not kept; at the end,
    with an empty key, what is still kept is never to be known."""
    kept = shoe.sealed_cards
    if shape is events.SEAT_UNSEALED:
        pairs = [kept[at : at + 2] for at in range(0, len(kept), 2)]
        shoe.sealed_cards = b"".join([pair for pair in pairs if pair[0] != values[0]])
    elif shape is events.UNSEALED:
        shoe.sealed_cards = b""
        if values:
            shoe.inventory.forget(bytes([kept[at] for at in range(1, len(kept), 2)]))
