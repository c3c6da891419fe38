"""Opens the cards of seats by a regulator's order, with both halves of the escrow.

That is noted in the desk's chain before a card is shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sabot.desk.desk import Desk
from sabot.errors import SealsClosed
from sabot.keys import escrow, signing
from sabot.keys.escrow import Half
from sabot.link.events import (
    Event,
    SealedCardEvent,
    SealEscrowEvent,
    SealEvent,
    SeatSealEvent,
    UnsealedEvent,
)
from sabot.link.seals import card_in, key_fits, seat_key, seat_of
from sabot.link.wire import WireError
from sabot.log.store import Filter, Store
from sabot_protocol import cards
from sabot_protocol.seals import BURNED

_KINDS = ("seal", "seat_seal", "seal_escrow", "sealed_card", "unsealed")


@dataclass(frozen=True, slots=True)
class OpenedSeat:
    """The cards of a seat; of seat 0 the burned cards, and those put aside."""

    seat: int
    cards: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The seat as `sabot open-seats --json` prints it."""
        return {"seat": self.seat, "cards": list(self.cards)}


def open_seats(
    store: Store,
    place: tuple[str, int, int],
    seats: Sequence[int],
    halves: tuple[Half, Half],
    *,
    order: str,
) -> list[OpenedSeat]:
    """Open the cards of `seats` of the round at `place`: unit, shoe of cards, round. `order` says
    by whose order; it is noted in the desk, with the fingerprints of the halves.

    Raises SealsClosed if the round is not over, has no such seat, or these halves do not open it;
    DeskMissing without a desk; DeskRefused if `order` cannot be noted.
    """
    unit, shoe, round_ = place
    where = f"{unit} shoe {shoe} round {round_}"
    found = list(_readable(store, Filter(unit, shoe, round_, _KINDS)))
    seal = next((each for each in found if isinstance(each, SealEvent)), None)
    left = next((each for each in found if isinstance(each, SealEscrowEvent)), None)
    if seal is None:
        raise SealsClosed(f"{where}: no sealed cards are in the log; check --unit, --shoe, --round")
    if not any(isinstance(each, UnsealedEvent) for each in found):
        raise SealsClosed(f"{where}: the hand is not over; no card of it is opened before")
    if left is None:
        raise SealsClosed(
            f"{where}: its key has not left the shoe: the unit had no escrow, and no one can open "
            "what stays closed"
        )
    key = next((each for each in _keys(left, halves) if key_fits(each, seal.commitment)), None)
    if key is None:
        raise SealsClosed(f"{where}: these are not both halves of its escrow; name the two others")
    commitments = {each.seat: each.commitment for each in found if isinstance(each, SeatSealEvent)}
    opened = [_opened(where, seat, key, commitments, found) for seat in seats]
    Desk(store).opened_seats(
        unit, shoe, round_, seats=seats, order=order,
        halves=[signing.fingerprint(escrow.public_of(each)) for each in halves],
    )  # fmt: skip
    return opened


def _keys(left: SealEscrowEvent, halves: tuple[Half, Half]) -> Iterable[bytes]:
    """The key by both orders of the halves: the unit was given them in one."""
    for one, other in (halves, halves[::-1]):
        yield escrow.key_in(left.public, left.sealed_key, one, other)


def _opened(
    where: str, seat: int, key: bytes, commitments: dict[int, bytes], found: Sequence[Event]
) -> OpenedSeat:
    of_seat = seat_key(key, seat)
    commitment = commitments.get(seat)
    name = f"seat {seat}" if seat != BURNED else "the burned cards"
    if commitment is None:
        raise SealsClosed(f"{where}: {name} got no cards; check --seat")
    drawn = [each for each in found
             if isinstance(each, SealedCardEvent) and seat_of(each.position) == seat]  # fmt: skip
    made = [card_in(each.sealed, of_seat, each.place) for each in drawn]
    if not key_fits(of_seat, commitment) or None in made:
        raise SealsClosed(f"{where}: {name} was changed in the log; `sabot verify` says more")
    return OpenedSeat(seat, tuple(cards.name_of(card) for card in made if card is not None))


def _readable(store: Store, wanted: Filter) -> Iterable[Event]:
    for row in store.rows(wanted):
        try:
            yield row.event()
        except WireError:
            continue
