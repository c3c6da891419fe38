"""WAGERS.json: what lies on the table in a round. The format is in this folder's README.

Here a file is only read: whether the rules allow what it says is for `sabot.games.settle`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import BadWagers, did_you_mean
from sabot_protocol.games import HITS_OF_WAGER

MAX_FILE = 1 << 20
"""Bytes of the largest WAGERS.json."""

MAX_CENTS = 10**12
"""The largest amount: more is a slip of the finger."""

MAX_NAME = 40
"""Letters of the longest name of a player."""

MAX_NUMBER = 99
"""The largest number of a seat, a line or a ghost hand."""

KINDS = ("seat", "line")
CHANGED_AFTER = ("no_more_bets", "first_card")
CALLED = ("unconfirmed", "confirmed", "converted")
"""How far a wager that was called out has come: the dealer has confirmed it; its cash is chips."""


@dataclass(frozen=True, slots=True)
class Area:
    """A wagering area: a numbered seat, or the line between the seats `number` and the next."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def place(self) -> int:
        """Ascending along the table; a line is between its two seats."""
        return 2 * self.number + KINDS.index(self.kind)


@dataclass(frozen=True, slots=True)
class Position:
    """What a player has wagered in an area, in cents by wager."""

    area: Area
    player: str
    wagers: Mapping[str, int]
    changed_after: str | None = None
    """One of CHANGED_AFTER where it was placed or changed as late as that."""
    called: str | None = None
    """One of CALLED where it was called out."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker button: vigorish that a player owes, in cents."""

    area: Area
    player: str
    owed_cents: int


@dataclass(frozen=True, slots=True)
class GivenRound:
    """The round as the file has it: cards by name, or why it was voided."""

    player: tuple[str, ...] = ()
    banker: tuple[str, ...] = ()
    void: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A WAGERS.json."""

    positions: tuple[Position, ...]
    round: GivenRound | None = None
    """None where the round is to come out of a log."""
    ghost_hand: int | None = None
    """Which ghost hand of the shoe this round is; None where it is none."""
    markers: tuple[Marker, ...] = ()
    leaving: frozenset[str] = frozenset()
    """Players who leave the table after this round."""
    last_of_shoe: bool = False
    house: Mapping[str, object] = field(default_factory=dict)
    """What the house chose otherwise than by default, as `catalogue.document` takes it."""
    warned: frozenset[str] = frozenset()
    """Players to whom the table's minimum has been explained."""


def read(path: Path) -> Placed:
    """Read a WAGERS.json. Raises BadWagers, which names the file and what is wrong in it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadWagers(f"{path}: cannot be read ({error.strerror}); check the name") from None
    if len(data) > MAX_FILE:
        raise BadWagers(f"{path}: over {MAX_FILE:,} bytes; a round's wagers are far less")
    try:
        return parse(data)
    except BadWagers as error:
        raise BadWagers(f"{path}: {error}") from None


def parse(data: bytes) -> Placed:
    """The contents of a WAGERS.json. Raises BadWagers."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_object)
    except UnicodeDecodeError:
        raise BadWagers("no UTF-8 text; write JSON") from None
    except json.JSONDecodeError as error:
        raise BadWagers(f"no JSON: {error.msg} in line {error.lineno}; mend it") from None
    except (RecursionError, ValueError):  # brackets or digits by the thousand
        raise BadWagers("no JSON that anybody wrote by hand; mend it") from None
    fields = _map(value, "the file", _FILE_KEYS)
    if "positions" not in fields:
        raise BadWagers('no "positions"; list who wagers what and where')
    placed: list[Position] = []
    ghost_hand = None
    for number, each in enumerate(_list(fields["positions"], "positions"), 1):
        where = f"position {number}"
        entry = _map(each, where, _POSITION_KEYS)
        if "ghost_hand" not in entry:
            placed.append(_position(entry, where))
            continue
        if len(entry) > 1 or ghost_hand is not None:
            raise BadWagers(f'{where}: a ghost hand is {{"ghost_hand": its number}}, once a round')
        ghost_hand = _number(entry["ghost_hand"], f"{where}: ghost_hand")
    if not placed and ghost_hand is None:
        raise BadWagers("no positions; a round without wagers is a ghost hand, if asked for")
    markers = tuple(
        _marker(each, f"marker {number}")
        for number, each in enumerate(_list(fields.get("markers", []), "markers"), 1)
    )
    _once_each(placed)
    _once_each(markers)
    leaving = _names(fields.get("leaving", []), "leaving")
    here = {each.player for each in placed} | {each.player for each in markers}
    for name in sorted(leaving - here):
        raise BadWagers(
            f"leaving: {name} has neither wager nor marker here; {did_you_mean(name, sorted(here))}"
        )
    return Placed(
        positions=tuple(placed),
        round=_round(fields["round"]) if "round" in fields else None,
        ghost_hand=ghost_hand,
        markers=markers,
        leaving=leaving,
        last_of_shoe=_flag(fields.get("last_of_shoe", False), "last_of_shoe"),
        house=_house(fields.get("house", {})),
        warned=_names(fields.get("warned", []), "warned"),
    )


def _house(value: object) -> Mapping[str, object]:
    # Which choices there are, and what is allowed, is for the game to say.
    if not isinstance(value, dict):
        raise BadWagers(f'house: {_said(value)} is no object; write as {{"areas": 7}}')
    for name, chosen in value.items():
        _name(name, "house: a choice")
        if isinstance(chosen, str):
            _name(chosen, f"house: {name}")
        elif not isinstance(chosen, int) or abs(chosen) > MAX_CENTS:
            raise BadWagers(f"house: {name}: {_said(chosen)} is no choice; write a number or word")
    return value


def _position(entry: Mapping[str, Any], where: str) -> Position:
    area, player = _who_and_where(entry, where)
    wagers = _map(entry.get("wagers", {}), f"{area}: wagers", tuple(HITS_OF_WAGER))
    if not wagers:
        raise BadWagers(f"{area}: {player} has no wagers; leave the position out")
    return Position(
        area,
        player,
        {name: _cents(cents, f"{area}: {name}") for name, cents in wagers.items()},
        _word(entry, "changed_after", CHANGED_AFTER, area),
        _word(entry, "called", CALLED, area),
    )


def _marker(value: object, where: str) -> Marker:
    entry = _map(value, where, _MARKER_KEYS)
    area, player = _who_and_where(entry, where)
    return Marker(area, player, _cents(entry.get("owed_cents"), f"{where}: owed_cents"))


def _who_and_where(entry: Mapping[str, Any], where: str) -> tuple[Area, str]:
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise BadWagers(f'{where}: name one area, as "seat": 3 or "line": 2')
    area = Area(kinds[0], _number(entry[kinds[0]], f"{where}: {kinds[0]}", least=0))
    return area, _name(entry.get("player"), f"{where}: player")


def _once_each(entries: Iterable[Position | Marker]) -> None:
    for (area, player), count in Counter((each.area, each.player) for each in entries).items():
        if count > 1:
            raise BadWagers(f"{area}: {player} is there {count} times; make it one entry")


def _round(value: object) -> GivenRound:
    fields = _map(value, "round", ("player", "banker", "void"))
    if set(fields) == {"void"}:
        return GivenRound(void=_name(fields["void"], "round: void"))
    if set(fields) != {"player", "banker"}:
        raise BadWagers('round: name the cards of "player" and "banker", or why it is "void"')
    hands = {name: _list(fields[name], f"round: {name}") for name in fields}
    for name, hand in hands.items():
        for card in hand:
            if not isinstance(card, str) or len(card) > _LONGEST_CARD:
                raise BadWagers(f"round: {name}: {_said(card)} is no card; write 7H, TC")
    return GivenRound(tuple(hands["player"]), tuple(hands["banker"]))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """As `dict`, but a key that comes twice would silently lose money."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise BadWagers(f"{_said(twice)} comes twice in one object; leave one of them")
    return fields


def _map(value: object, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadWagers(f"{where}: {_said(value)} is no object; write {{...}}")
    for key in value:
        if key not in keys:
            near = did_you_mean(key[:MAX_NAME], keys)
            raise BadWagers(f"{where}: nothing is called {_said(key)}; {near}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadWagers(f"{where}: {_said(value)} is no list; write [...]")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadWagers(f"{where}: {_said(value)} is neither true nor false")
    return value


def _number(value: object, where: str, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= MAX_NUMBER:
        raise BadWagers(f"{where}: {_said(value)} is no whole number from {least} to {MAX_NUMBER}")
    return value


def _cents(value: object, where: str) -> int:
    if type(value) is not int or not 0 < value <= MAX_CENTS:
        raise BadWagers(
            f"{where}: {_said(value)} is no amount; write whole cents, from 1 to {MAX_CENTS}"
        )
    return value


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise BadWagers(f"{where}: {_said(value)} is no text of 1 to {MAX_NAME} letters")
    return value


def _names(value: object, where: str) -> frozenset[str]:
    return frozenset(_name(each, where) for each in _list(value, where))


def _word(entry: Mapping[str, Any], key: str, words: tuple[str, ...], area: Area) -> str | None:
    if key not in entry:
        return None
    value = entry[key]
    if value not in words:
        raise BadWagers(f"{area}: {key}: {_said(value)}; {did_you_mean(_said(value), words)}")
    return str(value)


def _said(value: object) -> str:
    """A value of the file, in one short line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a number of over 30 digits"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 3]}..."


_LONGEST_CARD = 3
"""Letters; "10H" is told as a misspelled TH."""

_FILE_KEYS = ("round", "positions", "markers", "leaving", "last_of_shoe", "house", "warned")
_POSITION_KEYS = (*KINDS, "ghost_hand", "player", "wagers", "changed_after", "called")
_MARKER_KEYS = (*KINDS, "player", "owed_cents")
