"""Shoes of which nothing comes: no log has them, or their events do not arrive."""

from collections.abc import Iterator

from sabot.desk.alerts import Alert
from sabot.log.follow import Follower
from sabot.log.store import Filter, Store
from sabot.notable import kinds
from sabot.notable.absences import absences_in
from sabot.notable.alerts import alert_of
from sabot.table_time import duration_text

_SAY_WHETHER = ("shoe_loaded", "betting_open", "shoe_ended")
"""Kinds of events after which it is known whether a shoe of cards is in play."""


def silent_now(unit: str, shoe: int, round_: int, since_unix_ms: int) -> Alert:
    """Return the alert for a unit that is silent now, in this round of this shoe of cards."""
    return _alert(unit, shoe, round_, since_unix_ms, kinds.SILENT.words)


def held_now(unit: str, shoe: int, round_: int, since_unix_ms: int, text: str) -> Alert:
    """Return the alert for a unit whose shoe holds events that do not arrive, which `text` says.
    The log's newest event of it is in this round of this shoe of cards."""
    return alert_of(kinds.HELD, unit, None, shoe, round_, since_unix_ms, text)


def never_came(port: str, since_unix_ms: int, text: str) -> Alert:
    """Return the alert for a shoe that a log waits for, and that was never there, which `text`
    says."""
    return alert_of(kinds.NEVER, port, None, 0, 0, since_unix_ms, text)


def silent_before(
    store: Store, follower: Follower, unit: str, from_unix_ms: int, least_ms: int
) -> Iterator[Alert]:
    """The alerts for the times, from `from_unix_ms` on, in which a unit was silent and is no more,
    as the logs noted them. They are the same as if someone had looked on."""
    for each in absences_in(store, unit):
        begin, lasted = each.unix_ms, each.lasted_ms
        if each.stands or begin is None or lasted is None:
            continue
        if begin < from_unix_ms or lasted <= least_ms:
            continue
        last = follower.received_before(unit, begin)
        wanted = Filter(unit, last=last, kinds=_SAY_WHETHER, newest_first=True)
        before = next(iter(store.rows(wanted)), None)
        if before is not None and before.kind != "shoe_ended":
            detail = f"a shoe of cards was in play, and for {duration_text(lasted)} {each.detail}"
            yield _alert(unit, before.shoe, before.round, begin, detail)


def _alert(unit: str, shoe: int, round_: int, since_unix_ms: int, detail: str) -> Alert:
    return alert_of(kinds.SILENT, unit, None, shoe, round_, since_unix_ms, detail)
