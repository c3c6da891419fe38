"""Reads WAGERS.json, the wagers on the table in a round. The format is in this folder's README.

This module checks the format only. `sabot.games.baccarat.wager_rules` checks what the rules allow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import BadWagers, did_you_mean
from sabot.games.json_fields import (
    card_of,
    cents_of,
    flag_of,
    house_choices,
    json_value,
    list_of,
    name_of,
    number_of,
    object_of,
    quoted,
    read_bytes,
)
from sabot_protocol.baccarat import HITS_OF_WAGER

KINDS = ("seat", "line")
CHANGED_AFTER = ("no_more_bets", "first_card")
CALLED = ("unconfirmed", "confirmed", "converted")
"""How far a called-out wager has come: the dealer has not answered, has confirmed it, or has also
changed its cash to chips."""


@dataclass(frozen=True, slots=True)
class Area:
    """A wagering area: a numbered seat, or the line between the seats `number` and the next."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def place(self) -> int:
        """Sort key along the table, ascending; a line is between its two seats."""
        return 2 * self.number + KINDS.index(self.kind)


@dataclass(frozen=True, slots=True)
class Position:
    """A player's wagers in an area, in cents by the wager's name."""

    area: Area
    player: str
    wagers: Mapping[str, int]
    changed_after: str | None = None
    """One of CHANGED_AFTER if a wager was placed or changed that late."""
    called: str | None = None
    """One of CALLED if the wagers were called out."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker button: vigorish that a player owes, in cents."""

    area: Area
    player: str
    owed_cents: int
    shoe: int | None = None
    """The shoe of cards in which it was placed; None if that is not known."""


@dataclass(frozen=True, slots=True)
class GivenRound:
    """The round as given in the file: cards by name, or why it was voided."""

    player: tuple[str, ...] = ()
    banker: tuple[str, ...] = ()
    void: str | None = None


@dataclass(frozen=True, slots=True)
class WagerFile:
    """The contents of a WAGERS.json."""

    positions: tuple[Position, ...]
    round: GivenRound | None = None
    """None if the round is to be taken from a log."""
    ghost_hand: int | None = None
    """The number of this ghost hand in the shoe; None if the round is not a ghost hand."""
    markers: tuple[Marker, ...] = ()
    leaving: frozenset[str] = frozenset()
    """Players who leave the table after this round."""
    last_of_shoe: bool | None = None
    """Whether new cards come after this round; None if the file does not say."""
    house: Mapping[str, object] = field(default_factory=dict)
    """The house's choices that differ from the defaults, for `catalogue.document`."""
    warned: frozenset[str] = frozenset()
    """Players to whom the table's minimum has been explained."""


def read(path: Path) -> WagerFile:
    """Read a WAGERS.json. Raises BadWagers, with the file's name and what is wrong in it."""
    data = read_bytes(path, "a round's wagers need")
    try:
        return parse(data)
    except BadWagers as error:
        raise BadWagers(f"{path}: {error}") from None


def parse(data: bytes) -> WagerFile:
    """Parse the contents of a WAGERS.json. Raises BadWagers."""
    fields = object_of(json_value(data), "the file", _FILE_KEYS)
    if fields.get("positions") is None:
        raise BadWagers('no "positions"; list who wagers what and where')
    positions: list[Position] = []
    ghost_hand = None
    for number, each in enumerate(list_of(fields["positions"], "positions"), 1):
        where = f"position {number}"
        entry = object_of(each, where, _POSITION_KEYS)
        if "ghost_hand" not in entry:
            positions.append(_position(entry, where))
            continue
        if len(entry) > 1 or ghost_hand is not None:
            raise BadWagers(f'{where}: write a ghost hand as {{"ghost_hand": 1}}, once in a round')
        ghost_hand = number_of(entry["ghost_hand"], f"{where}: ghost_hand")
    if not positions and ghost_hand is None:
        raise BadWagers('no positions; for a round without wagers write {"ghost_hand": 1}')
    markers = tuple(
        _marker(each, f"marker {number}")
        for number, each in enumerate(list_of(fields.get("markers", []), "markers"), 1)
    )
    _once_each(positions)
    _once_each(markers)
    leaving = _names(fields.get("leaving", []), "leaving")
    here = {each.player for each in positions} | {each.player for each in markers}
    for name in sorted(leaving - here):
        raise BadWagers(
            f"leaving: {name} has no wager or marker here; {did_you_mean(name, sorted(here))}"
        )
    return WagerFile(
        positions=tuple(positions),
        round=_round(fields["round"]) if "round" in fields else None,
        ghost_hand=ghost_hand,
        markers=markers,
        leaving=leaving,
        last_of_shoe=flag_of(fields["last_of_shoe"], "last_of_shoe")
        if "last_of_shoe" in fields
        else None,
        house=house_choices(fields.get("house", {})),
        warned=_names(fields.get("warned", []), "warned"),
    )


def _position(entry: Mapping[str, Any], where: str) -> Position:
    area, player = _who_and_where(entry, where)
    wagers = object_of(entry.get("wagers", {}), f"{area}: wagers", tuple(HITS_OF_WAGER))
    if not wagers:
        raise BadWagers(f"{area}: {player} has no wagers; leave the position out")
    return Position(
        area,
        player,
        {name: cents_of(cents, f"{area}: {name}") for name, cents in wagers.items()},
        _one_of(entry, "changed_after", CHANGED_AFTER, area),
        _one_of(entry, "called", CALLED, area),
    )


def _marker(value: object, where: str) -> Marker:
    entry = object_of(value, where, _MARKER_KEYS)
    area, player = _who_and_where(entry, where)
    if entry.get("owed_cents") is None:
        raise BadWagers(f'{where}: the amount is missing; write "owed_cents": 250')
    shoe = None
    if "shoe" in entry:
        shoe = number_of(entry["shoe"], f"{where}: shoe", most=_MOST_SHOES)
    return Marker(area, player, cents_of(entry["owed_cents"], f"{where}: owed_cents"), shoe)


def _who_and_where(entry: Mapping[str, Any], where: str) -> tuple[Area, str]:
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise BadWagers(f'{where}: give one area, for example "seat": 3 or "line": 2')
    area = Area(kinds[0], number_of(entry[kinds[0]], f"{where}: {kinds[0]}", least=0))
    if entry.get("player") is None:
        raise BadWagers(f'{where}: the player is missing; write "player": "Ann"')
    return area, name_of(entry["player"], f"{where}: player")


def _once_each(entries: Iterable[Position | Marker]) -> None:
    for (area, player), count in Counter((each.area, each.player) for each in entries).items():
        if count > 1:
            raise BadWagers(f"{area}: {player} is listed {count} times; make it one entry")


def _round(value: object) -> GivenRound:
    fields = object_of(value, "round", ("player", "banker", "void"))
    if set(fields) == {"void"}:
        return GivenRound(void=name_of(fields["void"], "round: void"))
    if set(fields) != {"player", "banker"}:
        raise BadWagers('round: give the cards of "player" and "banker", or why it is "void"')
    hands = {name: list_of(fields[name], f"round: {name}") for name in fields}
    player, banker = (
        tuple(card_of(card, f"round: {name}") for card in hands[name])
        for name in ("player", "banker")
    )
    return GivenRound(player, banker)


def _names(value: object, where: str) -> frozenset[str]:
    return frozenset(name_of(each, where) for each in list_of(value, where))


def _one_of(entry: Mapping[str, Any], key: str, words: tuple[str, ...], area: Area) -> str | None:
    if key not in entry:
        return None
    value = entry[key]
    if value not in words:
        raise BadWagers(f"{area}: {key}: {quoted(value)}; {did_you_mean(quoted(value), words)}")
    return str(value)


_FILE_KEYS = ("round", "positions", "markers", "leaving", "last_of_shoe", "house", "warned")
_POSITION_KEYS = (*KINDS, "ghost_hand", "player", "wagers", "changed_after", "called")
_MARKER_KEYS = (*KINDS, "player", "owed_cents", "shoe")
_MOST_SHOES = (1 << 63) - 1
