"""The minimum number of days that a log's records must be kept, set in the log itself.

The log keeps every minimum that was ever set, in its fact `retention`. This guards against
mistakes, not against a person who can write to the file. Which records were removed is shown by the
audit chain and the tombstones.
"""

import json
from dataclasses import asdict, dataclass

from sabot.errors import DatabaseUnusable, KeptByLaw
from sabot.log.place import Place
from sabot.log.store import Store
from sabot.text import counted, local_time

DAY_MS = 86_400_000
_NAME = "retention"


@dataclass(frozen=True, slots=True)
class Minimum:
    """The minimum number of days that records must be kept, and when it was set."""

    days: int
    set_unix_ms: int


def minimums(store: Store) -> list[Minimum]:
    """Every minimum that was ever set for a log; the last one is in force.

    Raises DatabaseUnusable.
    """
    return _read(store.place, store.fact(_NAME))


def set_minimum(store: Store, days: int, now_unix_ms: int, *, lower: bool) -> None:
    """Set the minimum number of days that a log's records must be kept.

    Raises KeptByLaw if it is fewer than before and `lower` is false; DatabaseUnusable.
    """

    def with_new(text: str | None) -> str | None:
        before = _read(store.place, text)
        if before and days == before[-1].days:
            return text
        if before and days < before[-1].days and not lower:
            raise KeptByLaw(
                f"{store.place}: the minimum of {counted(before[-1].days, 'day')} was set on "
                f"{local_time(before[-1].set_unix_ms)}, {days} are fewer; --lower sets it anyway, "
                "and the log will show it"
            )
        return json.dumps([asdict(each) for each in (*before, Minimum(days, now_unix_ms))])

    store.change_fact(_NAME, with_new)


def check_keep_days(store: Store, keep_days: int, now_unix_ms: int) -> None:
    """Raise KeptByLaw if `keep_days` is less than the log's minimum."""
    before = minimums(store)
    if before and keep_days < before[-1].days:
        until = local_time(now_unix_ms + before[-1].days * DAY_MS)
        raise KeptByLaw(
            f"{store.place}: records must be kept for {counted(before[-1].days, 'day')}, those "
            f"made now until {until}; --keep-days {keep_days} is fewer"
        )


def _read(db: Place, text: str | None) -> list[Minimum]:
    if text is None:
        return []
    try:
        found = [Minimum(each["days"], each["set_unix_ms"]) for each in json.loads(text)]
        if found and all(_is_count(n) for each in found for n in (each.days, each.set_unix_ms)):
            return found
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise DatabaseUnusable(
        f"{db}: its retention setting cannot be read; nothing is removed from it"
    )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
