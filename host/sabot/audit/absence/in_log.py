"""Collects what names a unit or a desk: the key file, and everything in a log but its records."""

from collections.abc import Iterable, Iterator

from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.absence.named import Here, Named, missing
from sabot.audit.checks.findings import Finding, Note
from sabot.audit.checks.seam_checks import chain_of
from sabot.audit.context import tombstones
from sabot.desk.notes import UNIT as DESK
from sabot.keys.chain_keys import Keys
from sabot.log.found import ALERTS_UP_TO, BEFORE_GAMES, Filter, numbers_by_unit
from sabot.log.store import Store
from sabot.receipts import kept

_LONGEST_NAME = 200  # characters of a unit in the table of presence


def absent(
    store: Store, keys: Keys | None, of_desk: Iterable[Named], elsewhere: Elsewhere, *, desk: bool
) -> Iterator[Finding | Note]:
    """Yield what is named and is not in the log. `of_desk` is what the notes of the desk name;
    `desk`: the log has one."""
    with store.at_one_moment():
        names = [*_of_keys(keys), *of_desk, *_of_log(store)]
        units = [] if keys is None else keys.units()
        chains = {unit: [] if keys is None else keys.chains(unit) for unit in units if unit != DESK}
        here = Here(
            last={name: store.last_number(name) for name in store.units()},
            chain_of=lambda name: chain_of(store, name),
            had_round=lambda name, shoe, round_: _had_round(store, name, shoe, round_),
            desk=desk,
        )
        yield from missing(names, chains, here, elsewhere)


def _of_keys(keys: Keys | None) -> Iterator[Named]:
    for unit in [] if keys is None else keys.units():
        yield Named(unit, "the key file has a key")


def _of_log(store: Store) -> Iterator[Named]:
    """What the log notes of itself. Nothing proves these notes, but they are written after what
    they name."""
    raised = numbers_by_unit(store.fact(ALERTS_UP_TO))
    if raised:
        yield Named(DESK, f"the log's note {ALERTS_UP_TO} speaks")
    for unit, number in raised.items():
        yield Named(unit, f"the log's note {ALERTS_UP_TO} speaks", number)
    for name in (BEFORE_GAMES, kept.SET_BACK):
        for unit, number in numbers_by_unit(store.fact(name)).items():
            yield Named(unit, f"the log's note {name} speaks", number * (name == BEFORE_GAMES))
    for unit, flow in store.flows().items():
        if flow.newest_stored:  # a log may wait for a shoe that never sent an event
            yield Named(unit, "the log's note of how events come speaks", flow.newest_stored)
    with store.reading() as connection:
        if connection.has_table("presence"):
            name = connection.bounded("unit", "text", _LONGEST_NAME)
            for (unit,) in connection.execute(f"SELECT DISTINCT {name} FROM presence").fetchall():
                if unit is not None:
                    yield Named(unit, "the log's notes of presence speak")


def _had_round(store: Store, name: str, shoe: int, round_: int) -> bool:
    if any(shoe == each.shoe for stone in tombstones(store, name) for each in stone.shoes):
        return True
    wanted = Filter(unit=name, shoe=shoe, round=round_ or None)
    return next(store.rows(wanted), None) is not None
