"""Forwards the log of a site to the centre, over links that fail for days."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sabot.centre.link import Centre
from sabot.centre.pace import BackOff
from sabot.centre.sending import Session
from sabot.centre.site_log import SiteLog, SiteTrouble
from sabot.centre.state import State
from sabot.centre.watcher import Watcher
from sabot.errors import (
    DatabaseLocked,
    DatabaseUnusable,
    DiskFull,
    NoDatabaseServer,
    NotThisSites,
    RightsMissing,
    SabotError,
    SidesDiffer,
)
from sabot.log.postgres.taking import NotStored
from sabot.text import counted

_LOOK_S = 0.25  # between looks at a log that has nothing new
_RECEIPTS_EVERY_S = 5.0
_RECEIPTS_AT_END_S = 0.5
LAST_RECEIPTS_S = 30.0
"""How long `once` waits for the receipts of what it has sent."""
_GIVE_UP_S = 60.0
"""How long `once` goes on trying, if it had a connection."""
_REFUSALS = 3
"""A centre that refuses the first connections so often, one after the other, means it."""

Connect = Callable[[], AbstractContextManager[Centre]]


@dataclass(frozen=True, slots=True)
class Clocks:
    """Time that passes, and how to wait."""

    now_s: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], bool] = lambda stopping, s: stopping.wait(s)


class Forwarder:
    """Forwards a log until `stopping` is set; with `once`, what the log has when it begins."""

    def __init__(
        self,
        log: SiteLog,
        connect: Connect,
        notaries: Sequence[bytes],
        watcher: Watcher,
        stopping: threading.Event,
        *,
        once: bool = False,
        clocks: Clocks = Clocks(),
        back_off: BackOff | None = None,
    ) -> None:
        self._log = log
        self._connect = connect
        self._watcher = watcher
        self._stopping = stopping
        self._once = once
        self._clocks = clocks
        self._back_off = back_off or BackOff()
        self.state = State(notaries)
        self._wanted: dict[str, int] | None = None
        self._went_on_s = clocks.now_s()
        """When something went on last."""
        self._was_connected = False
        self._has_begun = False
        """Whether the centre has ever said what it has."""
        self._lost = False

    def run(self) -> None:
        """Forward. Raises DatabaseUnusable if the site's log is gone, or the centre takes no
        connection of this site from the first on, or its role may not ask it anything
        (RightsMissing); with `once`, NoDatabaseServer if there is no centre, or nothing goes on for
        a minute.
        """
        refusals = 0
        while not self._stopping.is_set():
            connecting = True
            try:
                with self._connect() as centre:
                    connecting = False
                    self._was_connected = True
                    if self._go_on(centre):
                        return
            except SiteTrouble as trouble:
                if not isinstance(trouble.error, DatabaseLocked | DiskFull):
                    raise trouble.error from None
                self._note_lost(trouble.error)
            except SabotError as error:
                self._watcher.connected(False)
                # One word alone may be what a link without TLS has made of another.
                refusals = refusals + 1 if _for_good(error) else 0
                if connecting and not self._was_connected:
                    if self._once or refusals == _REFUSALS:
                        raise
                if isinstance(error, RightsMissing | NotStored) and refusals == _REFUSALS:
                    if self._once or not self._has_begun:
                        raise
                self._note_lost(error)
            self._clocks.wait(self._stopping, self._back_off.next_s())

    def check(self) -> None:
        """Raise SidesDiffer or NotThisSites if some units could not be forwarded."""
        if self.state.differs:
            raise SidesDiffer(
                f"{_listed(self.state.differs)}: the log and the centre differ; `sabot database "
                "alarms` at the centre lists how"
            )
        for unit, why in sorted(self.state.refused.items()):
            more = f"; at the centre: sabot database site --unit {unit}"
            raise NotThisSites(f"{unit}: {why}{'' if 'sabot database' in why else more}")

    def _go_on(self, centre: Centre) -> bool:
        """Forward over one connection. Return whether all is done that was wanted."""
        session = Session(self._log, centre, self.state, self._watcher, self._clocks.now_s)
        session.begin()
        self._has_begun = True
        if self._wanted is None:
            self._wanted = dict(self._log.newest)
        self._watcher.connected(True)
        if self._lost:
            self._watcher.said("the centre is there again")
        self._lost = False
        receipts_s = self._clocks.now_s() - _RECEIPTS_EVERY_S
        end_s: float | None = None
        while not self._stopping.is_set():
            sent = session.step()
            self._went_on_s = now_s = self._clocks.now_s()
            self._back_off.worked()
            every_s = _RECEIPTS_AT_END_S if self._once and not sent else _RECEIPTS_EVERY_S
            if now_s >= receipts_s + every_s:
                session.fetch_receipts()
                receipts_s = now_s
            if self._once and self._all_sent(session):
                end_s = now_s + LAST_RECEIPTS_S if end_s is None else end_s
                if now_s >= end_s or self._all_receipted(session):
                    return True
            if not sent:
                self._clocks.wait(self._stopping, _LOOK_S)
        return True

    def _all_sent(self, session: Session) -> bool:
        return not any(True for _ in self._waiting(session, lambda here: here.number))

    def _all_receipted(self, session: Session) -> bool:
        return not any(True for _ in self._waiting(session, lambda here: here.receipt))

    def _waiting(self, session: Session, reached: Callable[..., int]) -> Iterator[str]:
        """The units that have not come as far as was wanted, and can."""
        for unit, number in (self._wanted or {}).items():
            here = session.units.get(unit)
            if here is None or not (here.going or here.waits):
                continue
            if number > max(reached(here), here.not_sent):
                yield unit

    def _note_lost(self, error: SabotError) -> None:
        """Say once that there is no way on; with `once`, give up after a while."""
        self.state.size.failed()
        if self._once and self._clocks.now_s() - self._went_on_s > _GIVE_UP_S:
            kind = DatabaseUnusable if _for_good(error) else NoDatabaseServer
            raise kind(f"{error}; given up after {_GIVE_UP_S:.0f} s") from None
        if not self._lost:
            self._lost = True
            self._watcher.said(f"{error}; trying again")


def _for_good(error: SabotError) -> bool:
    """Whether trying again cannot help: the address or the role is wrong."""
    return isinstance(error, DatabaseUnusable) and not isinstance(
        error, DatabaseLocked | NoDatabaseServer
    )


def _listed(units: Iterable[str]) -> str:
    names = sorted(units)
    more = f" and {counted(len(names) - 3, 'other unit')}" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
