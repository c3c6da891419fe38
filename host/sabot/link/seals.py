"""Opens sealed cards: those that lay face down, once the key of their round is there.

The definition is in protocol/README.md, "Sealed cards". This is the host's own implementation, with
hashlib and hmac; only sizes and labels are shared with the shoe. What the events say is not
believed: a key that does not fit the commitment opens nothing.
"""

import hmac
import re
from collections.abc import Iterable
from hashlib import sha256

from sabot.link.events import CardEvent, Event, SealedCardEvent, SealEvent, UnsealedEvent
from sabot_protocol import cards, seals

_VERSION = re.compile(r"(\d+)\.(\d+)")
_SEALS_SINCE = (0, 2)


def is_sealing(firmware: str) -> bool | None:
    """Whether this version of the firmware seals the cards that lie face down: from 0.2 on. Older
    ones recorded those of midi, and those dealt face down, in plain. None if it is no version."""
    version = _VERSION.match(firmware)
    return None if version is None else tuple(map(int, version.groups())) >= _SEALS_SINCE


def key_fits(key: bytes, commitment: bytes) -> bool:
    """Whether `commitment` was made of a round's `key`."""
    made = sha256(seals.COMMITMENT_LABEL + key).digest()
    return len(key) == seals.KEY_SIZE and hmac.compare_digest(made, commitment)


def card_in(sealed: bytes, key: bytes, place: int) -> int | None:
    """The card, 0 to 52, that was sealed under a round's `key` at `place` among its sealed cards,
    from 0; None if there is none."""
    if len(sealed) != seals.CARD_SIZE or not 0 <= place < seals.MOST_CARDS:
        return None
    pad = hmac.digest(key, seals.CARD_LABEL + bytes([place]), "sha256")
    card, *zeros = (one ^ other for one, other in zip(sealed, pad, strict=False))
    return card if card <= cards.CUT_CARD and not any(zeros) else None


class RoundSeal:
    """The sealed cards of one unit's present round. It takes the unit's events, in order."""

    def __init__(self) -> None:
        self._seal: SealEvent | None = None
        self._cards: list[SealedCardEvent] = []

    def add(self, event: Event) -> list[CardEvent]:
        """Take the next event. Return the cards that it opens, in the order in which they came:
        none, unless it has the key of the round."""
        if isinstance(event, SealEvent):
            self._seal, self._cards = event, []
        elif isinstance(event, SealedCardEvent):
            if self._seal is not None and _same_round(self._seal, event):
                self._cards.append(event)
        elif isinstance(event, UnsealedEvent):
            seal, drawn = self._seal, self._cards
            self._seal, self._cards = None, []
            if seal is not None:  # not by its round: only its own key fits
                return opened_by(seal, event.seal_key, drawn)
        return []


def opened_by(seal: SealEvent, key: bytes, drawn: Iterable[SealedCardEvent]) -> list[CardEvent]:
    """The cards of the round of `seal` that its `key` opens, each as the event `card` that it would
    have been if it had not lain face down: with the same number, time, position and figures."""
    if not key_fits(key, seal.commitment):
        return []
    found = ((each, card_in(each.sealed, key, each.place)) for each in drawn)
    return [_as_card(each, card) for each, card in found if card is not None]


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
