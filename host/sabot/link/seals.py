"""Opens sealed cards: those that lay face down, once the key of their round is there.

The definition is in protocol/README.md, "Sealed cards". This is the host's own implementation, with
hashlib and hmac; only sizes and labels are shared with the shoe. What the events say is not
believed: a key that does not fit the commitment opens nothing.
"""

import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from sabot.link.events import (
    CardEvent,
    Event,
    SealedCardEvent,
    SealEvent,
    SeatSealEvent,
    SeatUnsealedEvent,
    UnsealedEvent,
)
from sabot_protocol import cards, seals

_VERSION = re.compile(r"(\d+)\.(\d+)")
_SEALS_SINCE = (0, 2)

KINDS = ("seal", "seat_seal", "sealed_card", "seat_unsealed", "unsealed")
"""The kinds of events by which sealed cards come and open."""


def is_sealing(firmware: str) -> bool | None:
    """Whether this version of the firmware seals the cards that lie face down: from 0.2 on. Older
    ones recorded those of midi, and those dealt face down, in plain. None if it is no version."""
    version = _VERSION.match(firmware)
    return None if version is None else tuple(map(int, version.groups())) >= _SEALS_SINCE


def key_fits(key: bytes, commitment: bytes) -> bool:
    """Whether `commitment` was made of a round's `key`."""
    made = sha256(seals.COMMITMENT_LABEL + key).digest()
    return len(key) == seals.KEY_SIZE and hmac.compare_digest(made, commitment)


def seat_key(key: bytes, seat: int) -> bytes:
    """The key of a seat, made of the key of its round."""
    return hmac.digest(key, seals.SEAT_LABEL + bytes([seat]), "sha256")


def seat_of(position: str) -> int:
    """The seat under whose key a card at a position is sealed, if each seat has one; BURNED for a
    card that no seat has."""
    return _SEATS.get(position, seals.BURNED)


_SEATS = {f"seat_{seat}": seat for seat in range(1, seals.SEATS + 1)}


def card_in(sealed: bytes, key: bytes, place: int) -> int | None:
    """The card, 0 to 52, that was sealed under a round's `key` at `place` among its sealed cards,
    from 0; None if there is none."""
    if len(sealed) != seals.CARD_SIZE or not 0 <= place < seals.MOST_CARDS:
        return None
    pad = hmac.digest(key, seals.CARD_LABEL + seals.place_bytes(place), "sha256")
    card, *zeros = (one ^ other for one, other in zip(sealed, pad, strict=False))
    return card if card <= cards.CUT_CARD and not any(zeros) else None


class RoundSeal:
    """The sealed cards of one unit's present round. It takes the unit's events, in order."""

    def __init__(self) -> None:
        self._seal: SealEvent | None = None
        self._cards: list[SealedCardEvent] = []
        self._seats: dict[int, bytes] = {}  # commitments, if each seat has a key of its own

    def add(self, event: Event) -> list[CardEvent]:
        """Take the next event. Return the cards that it opens, in the order in which they came:
        none, unless it has the key of the round."""
        if isinstance(event, SealEvent):
            self._seal, self._cards, self._seats = event, [], {}
        elif isinstance(event, SeatSealEvent):
            if self._seal is not None and _same_round(self._seal, event):
                self._seats.setdefault(event.seat, event.commitment)
        elif isinstance(event, SeatUnsealedEvent):
            return self._open_seat(event.seat, event.seat_key)
        elif isinstance(event, SealedCardEvent):
            if self._seal is not None and _same_round(self._seal, event):
                self._cards.append(event)
        elif isinstance(event, UnsealedEvent):
            seal, drawn, seats = self._seal, self._cards, self._seats
            self._seal, self._cards, self._seats = None, [], {}
            if seal is not None:  # not by its round: only its own key fits
                return opened_by(seal, event.seal_key, drawn, seats)
        return []

    def _open_seat(self, seat: int, key: bytes) -> list[CardEvent]:
        """Open the cards of a seat; once opened they are not opened again."""
        commitment = self._seats.get(seat)
        if commitment is None or not key_fits(key, commitment):
            return []
        del self._seats[seat]
        drawn = [each for each in self._cards if seat_of(each.position) == seat]
        self._cards = [each for each in self._cards if seat_of(each.position) != seat]
        return _found(drawn, lambda _: key)


def opened_by(
    seal: SealEvent,
    key: bytes,
    drawn: Iterable[SealedCardEvent],
    seats: Mapping[int, bytes] = {},
) -> list[CardEvent]:
    """The cards of the round of `seal` that its `key` opens, each as the event `card` that it would
    have been if it had not lain face down: with the same number, time, position and figures.
    `seats` are the commitments of the seats, if each has a key of its own."""
    if not key_fits(key, seal.commitment):
        return []
    if not seats:
        return _found(drawn, lambda _: key)
    keys = {seat: made for seat, commitment in seats.items()
            if key_fits(made := seat_key(key, seat), commitment)}  # fmt: skip
    return _found(drawn, lambda each: keys.get(seat_of(each.position)))


def _found(
    drawn: Iterable[SealedCardEvent], key_of: Callable[[SealedCardEvent], bytes | None]
) -> list[CardEvent]:
    made = ((each, key_of(each)) for each in drawn)
    found = ((each, key and card_in(each.sealed, key, each.place)) for each, key in made)
    return [_as_card(each, card) for each, card in found if isinstance(card, int)]


def opened(events: Iterable[Event]) -> list[Event]:
    """The events of one unit, in order. Each sealed card whose key is there is the event `card`
    that `opened_by` makes of it; the others stay sealed."""
    shown, seal = list(events), RoundSeal()
    places: dict[int, int] = {}
    for place, event in enumerate(shown):
        if isinstance(event, SealedCardEvent):
            places[event.number] = place
        for card in seal.add(event):
            shown[places[card.number]] = card
    return shown


def _same_round(one: Event, other: Event) -> bool:
    return (one.shoe, one.round) == (other.shoe, other.round)


def _as_card(drawn: SealedCardEvent, card: int) -> CardEvent:
    return CardEvent(
        drawn.number, drawn.boot, drawn.t_ms, drawn.unix_ms, drawn.shoe, drawn.round, card,
        drawn.position, drawn.speed_mm_s, drawn.margin_permille, drawn.skew_um, drawn.samples,
        drawn.by_hand, surplus=drawn.surplus, understood=drawn.understood,
    )  # fmt: skip
