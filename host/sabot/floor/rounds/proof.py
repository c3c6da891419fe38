"""What proves a round: its records, their MACs, its cards recomputed, its seal, its game document.

`sabot verify` checks a whole log. Here one round is checked as it is opened, with the same checks,
so that a dispute is decided on what was just now found true.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest

from sabot.audit import context
from sabot.audit.bundle import ratchet_of
from sabot.audit.chain import MOST_EVENTS, Ratchet, epoch_of, mac
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.play.known_games import KnownGames
from sabot.errors import KeysUnusable
from sabot.keys.chain_keys import Keys
from sabot.link.events import (
    BootEvent,
    Event,
    SealedCardEvent,
    SealEvent,
    SeatSealEvent,
    SeatUnsealedEvent,
    UnsealedEvent,
)
from sabot.link.seals import key_fits
from sabot.link.seals import opened as opened_cards
from sabot.link.wire import WireError, parse_event
from sabot.log.store import Filter, Store
from sabot.text import counted

AGREES, DIFFERS, NOT_CHECKED, WAITS = "agrees", "differs", "not_checked", "waits"
STATES = (AGREES, DIFFERS, NOT_CHECKED, WAITS)
"""Of a proof: it was checked and is right; it is wrong; it cannot be checked here; the round is
open or must not be shown yet."""

_MOST_RECORDS = 20_000  # of a shoe of cards up to a round: ten times what one has
_MOST_NAMED = 5

RawRecord = tuple[int, bytes, bytes]


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that was checked, in plain words."""

    title: str
    state: str
    """One of STATES."""
    text: str


class Prover:
    """Checks MACs with the keys at hand; None for none. Thread-safe."""

    def __init__(self, keys: Keys | None = None) -> None:
        self._keys = keys
        self._ratchets: dict[tuple[str, bytes], Ratchet] = {}
        self._lock = threading.Lock()

    def fits(
        self, store: Store, unit: str, records: Sequence[RawRecord]
    ) -> list[bool | None] | None:
        """Whether the MAC of each record is the one that the unit's key makes; None for one that
        cannot be checked, because the MAC of the event before it is not in the log. None instead of
        all if there is no key of the unit."""
        if self._keys is None or not records:
            return None
        chain_id = _chain_before(store, unit, records[-1][0])
        with self._lock:
            ratchet = self._ratchets.get((unit, chain_id))
            if ratchet is None:
                try:
                    ratchet = ratchet_of(self._keys, unit, chain_id)
                except KeysUnusable:
                    return None
                self._ratchets[unit, chain_id] = ratchet
            number, before = records[0][0] - 1, context.mac_before(store, unit, records[0][0])
            before = before or (ratchet.chain or b"" if number == 0 else b"")
            found: list[bool | None] = []
            for each, data, stored in records:
                known = each == number + 1 <= MOST_EVENTS and bool(before)
                right = mac(ratchet.mac_key(epoch_of(each)), before, data) if known else b""
                found.append(compare_digest(right, stored) if known else None)
                number, before = each, stored
            return found


def of_records(records: Sequence[RawRecord]) -> Proof:
    """Whether the numbers of a round's records follow each other."""
    numbers = [number for number, _, _ in records]
    missing = numbers[-1] - numbers[0] + 1 - len(numbers)
    damaged = [number for number, data, _ in records if _event_in(data) is None]
    what = f"{counted(len(numbers), 'record')}, events {numbers[0]:,} to {numbers[-1]:,}"
    if missing:
        return Proof("Records", DIFFERS, f"{what}: {counted(missing, 'event')} missing")
    if damaged:
        return Proof("Records", DIFFERS, f"{what}: {_named(damaged)} cannot be read")
    return Proof("Records", AGREES, f"{what}, without a gap")


def of_macs(records: Sequence[RawRecord], fits: Sequence[bool | None] | None) -> Proof:
    """What the MACs say; `fits` is from `Prover.fits`."""
    if fits is None:
        return Proof(
            "MACs",
            NOT_CHECKED,
            "no key of this unit is at hand: start sabot serve with --keys, or check a bundle "
            "with sabot verify",
        )
    wrong = [number for (number, _, _), fit in zip(records, fits, strict=True) if fit is False]
    unknown = sum(fit is None for fit in fits)
    if wrong:
        text = f"the MAC of {_named(wrong)} is not the one that the unit's key makes: a record or "
        return Proof("MACs", DIFFERS, text + "its place was changed")
    if unknown:
        text = f"{counted(unknown, 'MAC')} cannot be checked: events before are not in the log"
        return Proof("MACs", NOT_CHECKED, text)
    made = f"all {len(fits)} MACs were made again" if len(fits) > 1 else "the MAC was made again"
    return Proof("MACs", AGREES, f"{made} with the unit's key, which is at hand, and agree")


def of_play(store: Store, unit: str, shoe: int, first: int, last: int, *, over: bool) -> Proof:
    """Whether the round, recomputed by a second implementation of the rules, agrees with what the
    shoe recorded. `over`: it has ended and may be shown."""
    title = "Round recomputed"
    if not over:
        return Proof(title, WAITS, "not yet: the round is open, or must not be shown yet")
    begin = _loaded_before(store, unit, shoe, first)
    records = [each for each in store.raw(unit, begin, last) if type(each[0]) is int]
    if len(records) > _MOST_RECORDS:
        return Proof(title, NOT_CHECKED, "the shoe of cards has too many records")
    checks = UnitChecks(unit, first=begin, games=KnownGames(store.game))
    summary = Summary()
    found = [each for each in checks.verify(records, summary) if each.kind != "no_key"]
    own = [each for each in found if first <= each.event <= last]
    if own:
        details = "; ".join(each.detail for each in own[:_MOST_NAMED])
        return Proof(title, DIFFERS, f"{counted(len(own), 'finding')}: {details}")
    unjudged = [each.event for each in summary.notes if each.kind == "not_judged"]
    of_round = [number for number in unjudged if first <= number <= last]
    if of_round:
        text = f"{_named(of_round)} of it is unknown to this version of Sabot: update this host"
        return Proof(title, NOT_CHECKED, text)
    text = "by the rules from its cards, with all cards of the shoe before it: agrees"
    if unjudged:
        text = (
            "by the rules from its cards: agrees; the shoe before it was not counted, because "
            f"{_named(unjudged[:1])} is unknown to this version of Sabot"
        )
    others = len(found)
    if others:
        text += f"; {counted(others, 'finding')} in earlier rounds of this shoe of cards"
    return Proof(title, AGREES, text)


def of_seal(events: Sequence[Event], *, hidden: bool) -> Proof | None:
    """Whether the cards that lay face down are those that were sealed; None if none were."""
    seal = next((each for each in events if isinstance(each, SealEvent)), None)
    sealed = sum(isinstance(each, SealedCardEvent) for each in events)
    if seal is None and not sealed:
        return None
    opened = next((each for each in events if isinstance(each, UnsealedEvent)), None)
    title, cards = "Sealed cards", counted(sealed, "card")
    if opened is None or hidden:
        return Proof(title, WAITS, f"{cards} face down: no one has the key of this round yet")
    if not opened.seal_key:
        return _of_closed(events, title, sealed)
    if seal is None or not key_fits(opened.seal_key, seal.commitment):
        return Proof(title, DIFFERS, "the key does not fit what the shoe had committed to")
    return Proof(
        title,
        AGREES,
        f"{cards} opened by the key to which the shoe had committed in event {seal.number:,}, "
        "before the first card",
    )


def _of_closed(events: Sequence[Event], title: str, sealed: int) -> Proof:
    """What is known of sealed cards which the key of their round does not open."""
    seats = {each.seat: each.commitment for each in events if isinstance(each, SeatSealEvent)}
    shown = [each for each in events if isinstance(each, SeatUnsealedEvent)]
    if not seats:
        cards = counted(sealed, "card")
        return Proof(title, NOT_CHECKED, f"{cards} of a void round, never to be known")
    if not all(key_fits(each.seat_key, seats.get(each.seat, b"")) for each in shown):
        return Proof(title, DIFFERS, "a seat's key does not fit what the shoe had committed to")
    closed = sum(isinstance(each, SealedCardEvent) for each in opened_cards(events))
    text = f"{counted(closed, 'card')} stay closed by the house's choice"
    if not shown:
        return Proof(title, NOT_CHECKED, text)
    numbers = ", ".join(str(each.seat) for each in shown)
    return Proof(
        title,
        AGREES,
        f"{counted(sealed - closed, 'card')} of seat {numbers} opened by keys to which the shoe "
        f"had committed; {text}",
    )


def of_document(store: Store, sha256: bytes | None) -> Proof:
    """Whether the document of the game that dealt a round is in the log."""
    title = "Game document"
    if sha256 is None:
        return Proof(title, WAITS, "no event names the game of this round yet")
    if store.game(sha256) is None:
        return Proof(title, NOT_CHECKED, f"{sha256.hex()[:16]} is not in the log")
    return Proof(
        title, AGREES, f"kept in the log, and named by the result: SHA-256 {sha256.hex()[:16]}"
    )


def _chain_before(store: Store, unit: str, number: int) -> bytes:
    """The id of the audit chain in which event `number` is: from the last start before it."""
    boots = Filter(unit, kinds=("boot",), last=number, newest_first=True)
    events = (_event_in(row.data) for row in store.rows(boots))
    started = next((each for each in events if isinstance(each, BootEvent)), None)
    for each in context.kept_of_removed(store, unit) if started is None else ():
        if isinstance(each, BootEvent) and each.number <= number:
            started = each
    return b"" if started is None else started.chain


def _loaded_before(store: Store, unit: str, shoe: int, first: int) -> int:
    """The event with which the shoe of cards in play at event `first` was loaded."""
    loaded = Filter(unit, shoe, kinds=("shoe_loaded",), last=first, newest_first=True)
    return next((row.number for row in store.rows(loaded)), first)


def _event_in(data: bytes) -> Event | None:
    try:
        return parse_event(data)
    except WireError:
        return None


def _named(numbers: Sequence[int]) -> str:
    listed = ", ".join(f"{number:,}" for number in numbers[:_MOST_NAMED])
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return f"event{'s' * (len(numbers) > 1)} {listed}{more}"


def worst(proofs: Sequence[Proof]) -> str:
    """The state of all proofs together: the first of these that any of them has."""
    states = {each.state for each in proofs}
    return next(state for state in (DIFFERS, WAITS, NOT_CHECKED, AGREES) if state in states)
