"""The one round of a log that the options of a command choose."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sabot.errors import BadWagers
from sabot.games import families
from sabot.games.family import Family, FoundRound
from sabot.log.boards import unit_of
from sabot.log.place import Place
from sabot.log.reading.rounds import refuse_damaged
from sabot.log.rounds import Dealt, not_understood_text
from sabot.log.store import Store, open_store
from sabot.reports.selected.selection import Selection, units_of


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the options of a command choose in a log; None for what they leave open."""

    db: Place
    unit: str | None = None
    table: str | None = None
    shoe: int | None = None
    round: int | None = None


@contextmanager
def round_chosen(chosen: Chosen, family: Family | None) -> Iterator[FoundRound]:
    """Open the log, and yield the round of a family that the options choose: `one_round`."""
    with open_store(chosen.db) as store:
        yield one_round(store, chosen, family)


def one_round(store: Store, chosen: Chosen, family: Family | None) -> FoundRound:
    """Return the only round that the options choose, of one family or for None of any; without a
    round's number the last of a unit, or of a table.

    A log is read as one of baccarat: where that is asked for, a round of another family is not
    passed over. Raises BadWagers if it is one, if no round fits or several do, or if this version
    does not understand all of it; DatabaseUnusable if the log does not have the unit or the table.
    """
    wanted = None if family is families.DEFAULT else family
    found = _one(store, chosen, wanted)
    of_round = families.of_round(found.dealt)
    if family not in (None, of_round):
        dealt = found.dealt
        raise BadWagers(f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: {of_round.instead}")
    return found


def _one(store: Store, wanted: Chosen, family: Family | None) -> FoundRound:
    chosen = Selection(units_of(store, wanted.unit), wanted.shoe, wanted.round, table=wanted.table)
    tables = chosen.tables(store)
    found: list[Dealt] = []
    for name in chosen.units:
        listed = chosen.of_unit(name).rounds(store, tables, refuse_damaged, newest_first=True)
        of_unit = (each for each in listed if family in (None, families.of_round(each)))
        if wanted.round is None:
            found += [last for last in [next(of_unit, None)] if last is not None]
        else:
            found += of_unit
    if wanted.round is None:  # of the boards of a unit, the last round of the newest that has one
        found = list({unit_of(each.unit): each for each in found}.values())
    if wanted.table is not None and wanted.round is None:
        found = _latest(found)
    if len(found) != 1:
        hint = "choose one with --unit, --table, --shoe, --round"
        hint = hint if found else "`sabot rounds` lists them"
        what = "rounds" if family is None else family.called
        raise BadWagers(f"{store.place}: {len(found) or 'no'} {what} match; {hint}")
    ended = found[0]
    if ended.not_understood is not None:
        raise BadWagers(
            f"{ended.unit} shoe {ended.shoe} round {ended.round}: {not_understood_text(ended)}, so "
            "that its result is not relied on here; update this host"
        )
    return FoundRound(ended, tables[ended.unit].at(ended.first_event), store)


def _latest(found: list[Dealt]) -> list[Dealt]:
    """The last of rounds at one table, by the clocks of its units; all if one has no clock."""
    times = [each.ended_unix_ms for each in found]
    last = max((time for time in times if time is not None), default=None)
    if last is None or None in times:
        return found
    return [each for each in found if each.ended_unix_ms == last]
