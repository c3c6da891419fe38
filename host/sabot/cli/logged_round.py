"""The one round of a log that the options of a command choose."""

from sabot.cli import options
from sabot.errors import BadWagers
from sabot.library import logged_rounds
from sabot.log.rounds import Round
from sabot.log.store import Store


def one_round(store: Store, unit: str | None, shoe: int | None, round_: int | None) -> Round:
    """Return the only round that --unit, --shoe and --round choose. Raises BadWagers if there are
    more or none, DatabaseUnusable if the log does not have the unit."""
    options.units_of(store, unit)
    found = [each for each in logged_rounds(store, unit, shoe) if round_ in (None, each.round)]
    if len(found) != 1:
        hint = "choose one with --unit, --shoe, --round" if found else "`sabot rounds` lists them"
        raise BadWagers(f"{store.path}: {len(found) or 'no'} rounds match; {hint}")
    return found[0]
