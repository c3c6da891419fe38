"""The one round of a log that the options of a command choose."""

from dataclasses import dataclass
from datetime import tzinfo
from types import UnionType
from typing import Any, TypeVar

from sabot.errors import BadWagers
from sabot.log.boards import unit_of
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.hands import Hand
from sabot.log.reading.rounds import refuse_damaged
from sabot.log.rounds import Dealt, Round, not_understood_text
from sabot.log.store import Store
from sabot.reports.selected.selection import Selection, units_of
from sabot.table_time import iso_of

DealtT = TypeVar("DealtT", bound=Dealt)

_OF_OTHER_FAMILY = {
    BlackjackRound: "a round of blackjack; use --game blackjack (settle: with a TABLE.json)",
    Hand: "a hand of hold'em; `sabot settle --game holdem HAND.json` settles it",
}
"""What a round is that is not of baccarat, and what to do."""


@dataclass(frozen=True, slots=True)
class LoggedRound:
    """A round of a log, and at which table its unit stood; "" if that is not known."""

    round: Round
    table: str

    def as_json(self, zone: tzinfo | None = None) -> dict[str, Any]:
        """The round as `sabot rounds --json` prints it: in UTC, or on the clock of `zone`."""
        return json_of(self.round, self.table, zone)


def json_of(ended: Dealt, table: str, zone: tzinfo | None = None) -> dict[str, Any]:
    """Return a round of any family, dealt at `table`, as `sabot rounds --json` prints it: in UTC,
    or on the clock of `zone`."""
    fields = {"unit": "", "table": table} | ended.as_json()
    if zone is not None:
        fields["started"] = iso_of(ended.started_unix_ms, zone)
        fields["ended"] = iso_of(ended.ended_unix_ms, zone)
    return fields


def one_round(
    store: Store, unit: str | None, table: str | None, shoe: int | None, round_: int | None
) -> LoggedRound:
    """Return the round that `one_dealt` finds. Raises as it does, and BadWagers if it is not one
    of baccarat."""
    dealt, at = one_dealt(store, unit, table, shoe, round_)
    return LoggedRound(baccarat(dealt), at)


def one_dealt(
    store: Store, unit: str | None, table: str | None, shoe: int | None, round_: int | None
) -> tuple[Dealt, str]:
    """Return the only round of any family that --unit, --table, --shoe and --round choose, and its
    table; without --round the last of a unit, or of a table.

    Raises BadWagers if no round fits or several do, or if this version does not understand all of
    it; DatabaseUnusable if the log does not have the
    unit or the table.
    """
    return _one(store, Dealt, "rounds", unit, table, shoe, round_)


def baccarat(dealt: Dealt) -> Round:
    """Return a round of baccarat. Raises BadWagers for one of another family."""
    if not isinstance(dealt, Round):
        raise BadWagers(
            f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: {_OF_OTHER_FAMILY[type(dealt)]}"
        )
    return dealt


def one_hand(
    store: Store, unit: str | None, table: str | None, shoe: int | None
) -> tuple[Hand, str]:
    """Return the only hand of hold'em that the options choose, as `one_dealt`, and its table."""
    return _one(store, Hand, "hands", unit, table, shoe, None)


def one_blackjack_round(
    store: Store, unit: str | None, table: str | None, shoe: int | None, round_: int | None
) -> tuple[BlackjackRound, str]:
    """Return the only round of blackjack that the options choose, as `one_dealt`, and its table."""
    return _one(store, BlackjackRound, "rounds of blackjack", unit, table, shoe, round_)


def _one(
    store: Store,
    family: type[DealtT] | UnionType,
    what: str,
    unit: str | None,
    table: str | None,
    shoe: int | None,
    round_: int | None,
) -> tuple[DealtT, str]:
    chosen = Selection(units_of(store, unit), shoe, round_, table=table)
    tables = chosen.tables(store)
    found: list[DealtT] = []
    for name in chosen.units:
        listed = chosen.of_unit(name).rounds(store, tables, refuse_damaged, newest_first=True)
        of_unit = (ended for ended in listed if isinstance(ended, family))
        if round_ is None:
            found += [last for last in [next(of_unit, None)] if last is not None]
        else:
            found += of_unit
    if round_ is None:  # of the boards of a unit, the last round of the newest that has one
        found = list({unit_of(each.unit): each for each in found}.values())
    if table is not None and round_ is None:
        found = _latest(found)
    if len(found) != 1:
        hint = "choose one with --unit, --table, --shoe, --round"
        hint = hint if found else "`sabot rounds` lists them"
        raise BadWagers(f"{store.place}: {len(found) or 'no'} {what} match; {hint}")
    ended = found[0]
    if ended.not_understood is not None:
        raise BadWagers(
            f"{ended.unit} shoe {ended.shoe} round {ended.round}: {not_understood_text(ended)}, so "
            "that its result is not relied on here; update this host"
        )
    return ended, tables[ended.unit].at(ended.first_event)


def _latest(found: list[DealtT]) -> list[DealtT]:
    """The last of rounds at one table, by the clocks of its units; all if one has no clock."""
    times = [each.ended_unix_ms for each in found]
    last = max((time for time in times if time is not None), default=None)
    if last is None or None in times:
        return found
    return [each for each in found if each.ended_unix_ms == last]
