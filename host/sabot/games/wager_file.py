"""Reads WAGERS.json, the wagers on the table in a round. The format is in this folder's README.

This module checks the format only. `sabot.games.wager_rules` checks what the rules allow.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import BadWagers, did_you_mean
from sabot.text import card_names
from sabot_protocol.games import HITS_OF_WAGER

MAX_FILE = 1 << 20
"""The largest WAGERS.json, in bytes."""

MAX_CENTS = 10**12
"""The largest amount: more is a typing error."""

MAX_NAME = 40
"""The longest name of a player, in characters."""

MAX_CHOICE = 400
"""The longest choice of the house, in characters."""

MAX_NUMBER = 99
"""The largest number of a seat, a line or a ghost hand."""

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
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadWagers(f"{path}: cannot be read ({error.strerror}); check the name") from None
    if len(data) > MAX_FILE:
        raise BadWagers(f"{path}: over {MAX_FILE:,} bytes; a round's wagers need far less")
    try:
        return parse(data)
    except BadWagers as error:
        raise BadWagers(f"{path}: {error}") from None


def parse(data: bytes) -> WagerFile:
    """Parse the contents of a WAGERS.json. Raises BadWagers."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_object)
    except UnicodeDecodeError:
        raise BadWagers("not UTF-8 text; write JSON") from None
    except json.JSONDecodeError as error:
        raise BadWagers(f"not JSON: {error.msg} in line {error.lineno}; fix it") from None
    except (RecursionError, ValueError):  # thousands of brackets or digits
        raise BadWagers("nested too deeply or a number too long; fix it") from None
    fields = _map(value, "the file", _FILE_KEYS)
    if fields.get("positions") is None:
        raise BadWagers('no "positions"; list who wagers what and where')
    positions: list[Position] = []
    ghost_hand = None
    for number, each in enumerate(_list(fields["positions"], "positions"), 1):
        where = f"position {number}"
        entry = _map(each, where, _POSITION_KEYS)
        if "ghost_hand" not in entry:
            positions.append(_position(entry, where))
            continue
        if len(entry) > 1 or ghost_hand is not None:
            raise BadWagers(f'{where}: write a ghost hand as {{"ghost_hand": 1}}, once in a round')
        ghost_hand = _number(entry["ghost_hand"], f"{where}: ghost_hand")
    if not positions and ghost_hand is None:
        raise BadWagers('no positions; for a round without wagers write {"ghost_hand": 1}')
    markers = tuple(
        _marker(each, f"marker {number}")
        for number, each in enumerate(_list(fields.get("markers", []), "markers"), 1)
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
        last_of_shoe=_flag(fields["last_of_shoe"], "last_of_shoe")
        if "last_of_shoe" in fields
        else None,
        house=_house(fields.get("house", {})),
        warned=_names(fields.get("warned", []), "warned"),
    )


def _house(value: object) -> Mapping[str, object]:
    # The catalogue checks which choices the game has and which values are allowed.
    if not isinstance(value, dict):
        raise BadWagers(f'house: {_quoted(value)} is not an object; write {{"areas": 7}}')
    for name, chosen in value.items():
        _name(name, "house: a choice")
        if isinstance(chosen, str):
            _text(chosen, f"house: {name}", MAX_CHOICE)
        elif not isinstance(chosen, int) or abs(chosen) > MAX_CENTS:
            raise BadWagers(
                f"house: {name}: {_quoted(chosen)} is not a choice; write a number or word"
            )
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
        _one_of(entry, "changed_after", CHANGED_AFTER, area),
        _one_of(entry, "called", CALLED, area),
    )


def _marker(value: object, where: str) -> Marker:
    entry = _map(value, where, _MARKER_KEYS)
    area, player = _who_and_where(entry, where)
    if entry.get("owed_cents") is None:
        raise BadWagers(f'{where}: the amount is missing; write "owed_cents": 250')
    shoe = None
    if "shoe" in entry:
        shoe = _number(entry["shoe"], f"{where}: shoe", most=_MOST_SHOES)
    return Marker(area, player, _cents(entry["owed_cents"], f"{where}: owed_cents"), shoe)


def _who_and_where(entry: Mapping[str, Any], where: str) -> tuple[Area, str]:
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise BadWagers(f'{where}: give one area, for example "seat": 3 or "line": 2')
    area = Area(kinds[0], _number(entry[kinds[0]], f"{where}: {kinds[0]}", least=0))
    if entry.get("player") is None:
        raise BadWagers(f'{where}: the player is missing; write "player": "Ann"')
    return area, _name(entry["player"], f"{where}: player")


def _once_each(entries: Iterable[Position | Marker]) -> None:
    for (area, player), count in Counter((each.area, each.player) for each in entries).items():
        if count > 1:
            raise BadWagers(f"{area}: {player} is listed {count} times; make it one entry")


def _round(value: object) -> GivenRound:
    fields = _map(value, "round", ("player", "banker", "void"))
    if set(fields) == {"void"}:
        return GivenRound(void=_name(fields["void"], "round: void"))
    if set(fields) != {"player", "banker"}:
        raise BadWagers('round: give the cards of "player" and "banker", or why it is "void"')
    hands = {name: _list(fields[name], f"round: {name}") for name in fields}
    player, banker = (
        tuple(_card(card, f"round: {name}") for card in hands[name])
        for name in ("player", "banker")
    )
    return GivenRound(player, banker)


def _card(value: object, where: str) -> str:
    with suppress(ValueError):
        names = card_names(value) if isinstance(value, str) else []
        if len(names) == 1:
            return names[0]
    raise BadWagers(f"{where}: {_quoted(value)} is not a card; write 7H, TC")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict as `json` does, but refuse a repeated key, which would silently lose a wager."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise BadWagers(f"{_quoted(twice)} is given twice in one object; keep one of them")
    return fields


def _map(value: object, where: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadWagers(f"{where}: {_quoted(value)} is not an object; write {{...}}")
    for key in value:
        if key not in keys:
            near = did_you_mean(key[:MAX_NAME], keys)
            raise BadWagers(f"{where}: unknown key {_quoted(key)}; {near}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadWagers(f"{where}: {_quoted(value)} is not a list; write [...]")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadWagers(f"{where}: {_quoted(value)} must be true or false")
    return value


def _number(value: object, where: str, least: int = 1, most: int = MAX_NUMBER) -> int:
    if type(value) is not int or not least <= value <= most:
        raise BadWagers(f"{where}: {_quoted(value)} is not a whole number from {least} to {most}")
    return value


def _cents(value: object, where: str) -> int:
    if type(value) is not int or not 0 < value <= MAX_CENTS:
        raise BadWagers(
            f"{where}: {_quoted(value)} is not an amount; write whole cents, from 1 to {MAX_CENTS}"
        )
    return value


def _name(value: object, where: str) -> str:
    if value == "":
        raise BadWagers(f'{where}: "" is not text of 1 to {MAX_NAME} characters')
    return _text(value, where, MAX_NAME)


def _text(value: object, where: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise BadWagers(f"{where}: {_quoted(value)} is not text of 1 to {most} characters")
    return value


def _names(value: object, where: str) -> frozenset[str]:
    return frozenset(_name(each, where) for each in _list(value, where))


def _one_of(entry: Mapping[str, Any], key: str, words: tuple[str, ...], area: Area) -> str | None:
    if key not in entry:
        return None
    value = entry[key]
    if value not in words:
        raise BadWagers(f"{area}: {key}: {_quoted(value)}; {did_you_mean(_quoted(value), words)}")
    return str(value)


def _quoted(value: object) -> str:
    """Return a value of the file as one short line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a number with over 30 digits"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 3]}..."


_FILE_KEYS = ("round", "positions", "markers", "leaving", "last_of_shoe", "house", "warned")
_POSITION_KEYS = (*KINDS, "ghost_hand", "player", "wagers", "changed_after", "called")
_MARKER_KEYS = (*KINDS, "player", "owed_cents", "shoe")
_MOST_SHOES = (1 << 63) - 1
