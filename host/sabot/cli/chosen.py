"""The options by which commands choose what they read of a log, as dataclasses, and how Typer reads
them: `takes_options` gives a command an option for each field."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import tzinfo
from functools import wraps
from typing import Any, get_type_hints

import typer

from sabot.audit.table_names import Tables
from sabot.cli import options
from sabot.cli.view import Output
from sabot.log.store import Store
from sabot.reports.selected.selection import RoundsWanted, Selection, tables_of, units_named
from sabot.text import card_names
from sabot_protocol import enums


@dataclass(frozen=True)
class Format:
    """How the result is printed."""

    as_json: options.Json = False
    as_csv: options.Csv = False

    @property
    def output(self) -> Output:
        """The format. Both flags at once are wrong usage."""
        return options.output_of(self.as_json, self.as_csv)


@dataclass(frozen=True)
class UnitsInLog:
    """Which units of which log."""

    db: options.Db = options.DEFAULT_DB
    unit: options.UnitNames = None
    table: options.TableName = None
    zone: options.Zone = None

    @property
    def where(self) -> tzinfo:
        """The zone of all times; this machine's without --zone."""
        return options.zone_of(self.zone)

    @property
    def shown_in(self) -> tzinfo | None:
        """The zone of --zone; None without it: JSON then has times in UTC."""
        return None if self.zone is None else self.where

    def units(self, store: Store) -> list[str]:
        """Return the boards of the units, in order. Raises DatabaseUnusable if the log does not
        have one of the units."""
        return units_named(store, self.unit)

    def tables(self, store: Store) -> dict[str, Tables]:
        """Return at which tables each of the boards stood. Raises DatabaseUnusable if none of the
        log ever stood at --table."""
        return tables_of(store, self.units(store), self.table)


@dataclass(frozen=True)
class InTime(UnitsInLog):
    """Which part of the log: a shoe of cards, a time."""

    shoe: options.Shoe = None
    from_: options.From = None
    to: options.To = None

    @property
    def span(self) -> tuple[int | None, int | None]:
        """UTC milliseconds of --from and --to."""
        return options.span_of(self.from_, self.to, self.where)


@dataclass(frozen=True)
class Chosen(InTime):
    """Which rounds, or events of which rounds."""

    round_: options.RoundNumber = None
    at: options.At = None
    winner: options.Winner = None
    natural: options.Natural = False
    cards: options.Cards = None
    last: options.Last = None

    def selection(self, store: Store, last: int | None = None) -> Selection:
        """Return what is to be listed, of each unit only the `last` ones."""
        return Selection(
            self.units(store),
            self.shoe,
            self.round_,
            *self.span,
            options.moment_of(self.at, self.where),
            self.table,
            self.wanted,
            last,
        )

    @property
    def wanted(self) -> RoundsWanted:
        """The rounds that --winner, --natural and --cards select. An unknown winner or card is
        wrong usage."""
        if self.winner not in (None, *enums.WINNERS):
            listed = ", ".join(enums.WINNERS)
            raise typer.BadParameter(f"no round is won by {self.winner!r}; winners: {listed}")
        try:
            names = [] if self.cards is None else card_names(self.cards)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if self.cards is not None and not names:
            raise typer.BadParameter("--cards has no card; write 7H or '10♠ K♦'")
        return RoundsWanted(self.winner, self.natural, tuple(names))

    def check(self) -> None:
        """Refuse values that make no sense, before the log is opened."""
        _ = self.span, options.moment_of(self.at, self.where), self.wanted


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command for Typer: a parameter whose type is a dataclass becomes one option for each
    of its fields, and the command gets the dataclass."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    given: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.parameters.items():
        if name not in groups:
            parts = {name: (hints[name], parameter.default)}
        else:
            of_group = get_type_hints(groups[name], include_extras=True)
            parts = {
                each.name: (of_group[each.name], each.default) for each in fields(groups[name])
            }
        for part, (kind, default) in parts.items():
            given[part] = inspect.Parameter(
                part, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )

    @wraps(command)
    def run(**values: Any) -> None:
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        command(**made, **values)

    run.__signature__ = signature.replace(parameters=list(given.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in given.items()}
    del run.__wrapped__
    return run
