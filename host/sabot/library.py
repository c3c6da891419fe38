"""What `import sabot` offers to other programs: reading a log, with types. See docs/library.md."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sabot.errors import DatabaseUnusable
from sabot.link.events import Event
from sabot.link.wire import WireError
from sabot.log import boards
from sabot.log.boards import board_of, unit_of
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.hands import Hand
from sabot.log.found import UNKNOWN_KINDS
from sabot.log.place import Place, place_of
from sabot.log.reveal import SealedCards, UnknownValues, hidden_round, shown
from sabot.log.rounds import Dealt, Round, dealt_of
from sabot.log.store import DAMAGED, Filter, Row, Store, open_store
from sabot.reports.event_words import fields_of
from sabot.text import utc_moment, utc_time
from sabot_protocol import events as event_shapes

if TYPE_CHECKING:
    from sabot.audit.checks.findings import Finding, Note

EVENT_KINDS = tuple(shape.name for shape in event_shapes.KINDS)
"""Every kind of event that a shoe records."""

_ROUND_KINDS = (
    "boot", "betting_open", "ghost_hand", "card", "seal", "sealed_card", "unsealed", "result",
    "round_void", "shoe_ended", DAMAGED, "hand_begun", "run_twice", "hand_ended",
    "play", "looked", "hand_result", "blackjack_result", UNKNOWN_KINDS,
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)

_DealtT = TypeVar("_DealtT", Round, Hand, BlackjackRound)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event of a log, as a shoe recorded it."""

    unit: str
    """The name of the board that recorded it: "SHOE-7", the id of the unit; "SHOE-7~2" if its
    second board did."""
    number: int
    """The board counts its events from 1, without gaps."""
    kind: str
    """Such as "card" or "result"; protocol/README.md lists all kinds with their fields."""
    boot: int
    """Number of the unit's start, from 1."""
    t_ms: int
    """Milliseconds since that start."""
    unix_ms: int | None
    """The unit's clock, in milliseconds since 1970 (UTC); None if no host had set it."""
    shoe: int
    """Number of the shoe of cards; 0 before the first."""
    round: int
    """Number of the round; 0 outside of rounds."""
    fields: Mapping[str, Any]
    """The event's own fields. Cards are of type `Card`, enumerations are words, bytes are hex
    digits. A `sealed_card` has also the field `card`: None until the log has its round's key."""

    @property
    def time(self) -> datetime | None:
        """The unit's clock in UTC; None if no host had set it, or to a time after the year 9999."""
        return utc_moment(self.unix_ms)

    def as_json(self) -> dict[str, Any]:
        """The event as `sabot events --json` prints it."""
        return {
            "unit": unit_of(self.unit),
            "event": self.number,
            "kind": self.kind,
            "boot": self.boot,
            "t_ms": self.t_ms,
            "time": utc_time(self.unix_ms),
            "shoe": self.shoe,
            "round": self.round,
            "fields": dict(self.fields),
            "board_number": board_of(self.unit),
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking a whole log."""

    findings: tuple["Finding", ...]
    """What is wrong; empty for a good log."""
    notes: tuple["Note", ...]
    """What its reader should know; a good log can have notes."""
    units: int
    """How many units were checked."""
    events: int
    """How many events were checked."""
    rounds: int
    """How many rounds were checked."""

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


class Log:
    """A log that `sabot log` writes, opened for reading; `sabot.open` makes one.

    It may be read while it is written. A list is read step by step, with few events in memory at a
    time; it shows the log as it was when its first item was read. All lists are sorted by unit, and
    by event within a unit. Every method raises DatabaseUnusable if the file is damaged.
    """

    def __init__(self, place: Place) -> None:
        self._store = open_store(place)

    @property
    def place(self) -> Place:
        """Its file, or its address."""
        return self._store.place

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing it twice does nothing."""
        self._store.close()

    def units(self) -> list[str]:
        """The id of every unit in the log, sorted."""
        return boards.units_of(self._store.units())

    def boards(self, unit: str) -> list[str]:
        """The names of a unit's boards in the log, the first one first: "SHOE-7", and "SHOE-7~2" of
        a board that has taken its place. Wherever a unit is asked for, the name of one board may
        be."""
        return boards.chosen(unit, self._store.units())

    def rounds(
        self,
        unit: str | None = None,
        *,
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[Round]:
        """The rounds of baccarat that have a result; with `with_void` also those that were voided.

        `unit` and `shoe` (the number of a shoe of cards) restrict the list. `since` and `until`
        restrict it to rounds whose betting was opened at or after `since` and before `until`, and
        leave out rounds without a time. Raises ValueError for a time without a time zone.
        """
        span = _unix_ms("since", since), _unix_ms("until", until)
        return self._dealt(Round, unit, shoe, span, with_void)

    def hands(
        self,
        unit: str | None = None,
        *,
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[Hand]:
        """The hands of hold'em that have ended; with `with_void` also those that were voided. The
        arguments are those of `rounds`."""
        span = _unix_ms("since", since), _unix_ms("until", until)
        return self._dealt(Hand, unit, shoe, span, with_void)

    def blackjack_rounds(
        self,
        unit: str | None = None,
        *,
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[BlackjackRound]:
        """The rounds of blackjack that have ended; with `with_void` also those that were voided.
        The arguments are those of `rounds`."""
        span = _unix_ms("since", since), _unix_ms("until", until)
        return self._dealt(BlackjackRound, unit, shoe, span, with_void)

    def _dealt(
        self,
        family: type[_DealtT],
        unit: str | None,
        shoe: int | None,
        span: tuple[int | None, int | None],
        with_void: bool,
    ) -> Iterator[_DealtT]:
        return (
            ended
            for name in self._names(unit)
            for ended in logged_rounds(self._store, name, shoe, *span)
            if isinstance(ended, family) and (with_void or ended.void is None)
        )

    def events(
        self,
        unit: str | None = None,
        *,
        shoe: int | None = None,
        round: int | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[LogEvent]:
        """The events; `unit`, `shoe` (of cards), `round` and `kinds` restrict the list.

        In midi, and if they are dealt face down, the cards of a round are sealed until the dealer's
        reveal, and its decisions and result come only then; so does the round in `rounds`. What
        firmware before 0.2 recorded of such a round is not shown before.

        `since` and `until` restrict it to events recorded at or after `since` and before `until`,
        and leave out events without a time. Raises ValueError for a time without a time zone, and
        for an unknown kind. Raises DatabaseUnusable at a damaged event.
        """
        wanted_kinds = None if kinds is None else [kinds] if isinstance(kinds, str) else [*kinds]
        for kind in wanted_kinds or ():
            if kind not in EVENT_KINDS:
                raise ValueError(f"no event is of kind {kind!r}; kinds: {', '.join(EVENT_KINDS)}")
        begin, end = _unix_ms("since", since), _unix_ms("until", until)
        wanted = Filter(None, shoe, round, wanted_kinds, begin, end)
        if unit is None:
            return logged_events(self._store, wanted)
        names = self._names(unit)
        return chain.from_iterable(
            logged_events(self._store, replace(wanted, unit=name)) for name in names
        )

    def _names(self, unit: str | None) -> list[str]:
        """The boards that a caller means."""
        names = self._store.units()
        return names if unit is None else boards.chosen(unit, names)

    def verify(
        self,
        keys: str | os.PathLike[str] | None = None,
        *,
        operator: str | os.PathLike[str] | None = None,
    ) -> Verification:
        """Check the whole log, as `sabot verify` does: its audit chain, numbers, and every round.

        `keys` names the file with the units' keys. Without it the audit chain cannot be checked,
        which is a finding. `operator` names the public key that must have signed for records that
        retention removed; without it, each removal is a finding. Units are checked in parallel if
        the machine has several cores. Raises KeysUnusable.
        """
        from sabot.audit.verify import VerifyOptions, verify_log
        from sabot.keys.chain_keys import Keys
        from sabot.keys.signing import load_public

        against = VerifyOptions(
            keys=None if keys is None else Keys.load(Path(keys)),
            operator=None if operator is None else load_public(Path(operator)),
        )
        findings, summary = verify_log(self.place, against)
        return Verification(
            tuple(findings), tuple(summary.notes), summary.units, summary.events, summary.rounds
        )


def open(place: str | os.PathLike[str]) -> Log:
    """Open the log at `place`, a file or postgresql://host/name, for reading; use it in a `with`
    statement, or close it.

    Raises DatabaseUnusable if there is no such log, or it is not one that this version reads.
    """
    return Log(place_of(os.fspath(place)))


def refuse_damaged(row: Row) -> None:
    """Raise DatabaseUnusable: an event that cannot be read ends the reading."""
    raise DatabaseUnusable(
        f"event {row.number} of {row.unit} is damaged; `sabot verify` lists all that are"
    )


def logged_rounds(
    store: Store,
    unit: str | None = None,
    shoe: int | None = None,
    begin_unix_ms: int | None = None,
    end_unix_ms: int | None = None,
    damaged: Callable[[Row], None] = refuse_damaged,
) -> Iterator[Dealt]:
    """The ended rounds of any family in a log whose betting was opened at or after `begin_unix_ms`
    and before `end_unix_ms`.

    `damaged` is called with each event that cannot be read; the round that it may be part of is
    left out. Without `damaged` such an event raises DatabaseUnusable.
    """
    span = begin_unix_ms, end_unix_ms
    for each in [unit] if unit is not None else store.units():
        wanted = Filter(each, shoe)
        if span != (None, None):
            events = store.rounds_within(each, *span)
            if events is None:
                continue
            wanted = replace(wanted, first=events[0], last=events[1])
        for ended in rounds_between(store, wanted, damaged):
            if _within(ended.started_unix_ms, *span):
                yield ended


def rounds_between(
    store: Store, wanted: Filter, damaged: Callable[[Row], None] = refuse_damaged
) -> Iterator[Dealt]:
    """The rounds of one unit that ended and are whole in the events that a filter selects by unit,
    shoe of cards, round, first and last event. `damaged` as for `logged_rounds`."""
    # Only the kinds of events that make rounds are read: they are a small part of all.
    rows = store.rows(replace(wanted, kinds=_ROUND_KINDS))
    unit = wanted.unit or ""
    hidden: tuple[int, int] | None = None
    begun = False
    for ended in dealt_of(unit, (_event_in(row, damaged) for row in rows)):
        if not begun:
            hidden, begun = hidden_round(store, unit), True
        if (ended.shoe, ended.round) != hidden:
            yield ended


def logged_events(
    store: Store, wanted: Filter, damaged: Callable[[Row], None] = refuse_damaged
) -> Iterator[LogEvent]:
    """The events in a log, without what must not be shown yet (sabot/log/reveal.py). `damaged` is
    called with each one that cannot be read; without it such an event raises DatabaseUnusable."""
    unit, hidden = "", None
    sealed, unknown = SealedCards(store, unit), UnknownValues(store, unit)
    for row in store.rows(wanted):
        if row.unit != unit:
            unit, hidden = row.unit, hidden_round(store, row.unit)
            sealed, unknown = SealedCards(store, unit), UnknownValues(store, unit)
        event = _event_in(row, damaged)
        event = event and shown(event, hidden)
        if event is None:
            continue
        yield LogEvent(
            row.unit,
            event.number,
            event.kind,
            event.boot,
            event.t_ms,
            event.unix_ms,
            event.shoe,
            event.round,
            fields_of(unknown.as_shown(event), sealed),
        )


def _event_in(row: Row, damaged: Callable[[Row], None]) -> Event | None:
    """The event of a row. If it cannot be read, call `damaged` and return None."""
    try:
        return row.event()
    except WireError:
        damaged(row)
        return None


def _within(unix_ms: int | None, begin: int | None, end: int | None) -> bool:
    if begin is None and end is None:
        return True
    return (
        unix_ms is not None
        and (begin is None or unix_ms >= begin)
        and (end is None or unix_ms < end)
    )


def _unix_ms(name: str, moment: datetime | None) -> int | None:
    """The first whole millisecond at or after a moment."""
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise ValueError(
            f"{name}: {moment.isoformat()} has no time zone; write datetime(..., tzinfo=UTC), or "
            "add one with .astimezone()"
        )
    return -((_EPOCH - moment) // _US // 1000)
