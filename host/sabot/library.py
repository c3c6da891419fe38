"""What `import sabot` offers to other programs: reading a log, with types. See docs/library.md."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sabot.log import boards
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.hands import Hand
from sabot.log.place import Place, place_of
from sabot.log.reading.events import EVENT_KINDS, LogEvent, logged_events
from sabot.log.reading.rounds import logged_rounds
from sabot.log.rounds import Round
from sabot.log.store import Filter, open_store

if TYPE_CHECKING:
    from sabot.audit.checks.findings import Finding, Note

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)

DealtT = TypeVar("DealtT", Round, BlackjackRound, Hand)


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

    @overload
    def rounds(
        self,
        unit: str | None = None,
        *,
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[Round]: ...

    @overload
    def rounds(
        self,
        unit: str | None = None,
        *,
        family: type[DealtT],
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[DealtT]: ...

    def rounds(
        self,
        unit: str | None = None,
        *,
        family: type[Any] = Round,
        shoe: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_void: bool = False,
    ) -> Iterator[Any]:
        """Yield the rounds of one family of games that have ended.

        `family` is `Round` for baccarat, `BlackjackRound`, or `Hand` for hold'em. Rounds that were
        voided are left out, unless `with_void` is true. `unit` and `shoe` (the number of a shoe of
        cards) restrict the list. `since` and `until` restrict it to rounds whose betting was opened
        at or after `since` and before `until`, and leave out rounds without a time. Raises
        ValueError for a time without a time zone.
        """
        span = _unix_ms("since", since), _unix_ms("until", until)
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
        elsewhere: Iterable[str] = (),
    ) -> Verification:
        """Check the whole log, as `sabot verify` does: its audit chain, numbers, and every round.

        `keys` names the file with the units' keys. Without it the audit chain cannot be checked,
        which is a finding. `operator` names the public key that must have signed for records that
        retention removed; without it, each removal is a finding. `elsewhere` names what is known
        to be in another place, as `--elsewhere` does: everything else that is named in the log or
        in the key file must be in the log. Units are checked in parallel if the machine has several
        cores. Raises KeysUnusable; ValueError for an `elsewhere` that names nothing.
        """
        from sabot.audit.absence.elsewhere import Elsewhere
        from sabot.audit.verify import VerifyOptions, verify_log
        from sabot.keys.chain_keys import Keys
        from sabot.keys.signing import load_public

        against = VerifyOptions(
            keys=None if keys is None else Keys.load(Path(keys)),
            operator=None if operator is None else load_public(Path(operator)),
            elsewhere=Elsewhere(elsewhere),
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
