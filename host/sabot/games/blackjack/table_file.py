"""Reads TABLE.json, a round of blackjack as it was played. The format is in this folder's README.

This module checks the format only: whether the round can have been played so, and may have been, is
checked by `play`, `dealer` and `settle`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import BadWagers, ImpossibleDeal, did_you_mean
from sabot.games.blackjack.house import CHOICES
from sabot.games.blackjack.paytables import SIDE_WAGERS
from sabot.games.json_fields import (
    card_of,
    cents_of,
    flag_of,
    house_choices,
    in_file,
    json_value,
    list_of,
    name_of,
    number_of,
    object_of,
    quoted,
    read_bytes,
)
from sabot.text import card_names, counted

HIT, STAND, DOUBLE, SPLIT, SURRENDER = WORDS = ("hit", "stand", "double", "split", "surrender")
DOUBLE_CENTS = "double_cents"
"""The key of a double for less in a box's play."""

MOST_CARDS = 40
"""Cards in a hand: more than any hand can have with eight decks."""
MOST_PLAY = 200
"""Entries of a box's play: more than four hands need."""


Complete = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Returns the fields of a file with cards and play from elsewhere."""


@dataclass(frozen=True, slots=True)
class Word:
    """What a player decided."""

    says: str
    """One of WORDS."""
    cents: int | None = None
    """What a double adds, if it is not the whole wager."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box with a wager, and what was done at it; amounts in cents."""

    number: int
    player: str
    """Empty if the file names none."""
    cents: int
    cards: tuple[str, str]
    """The first two."""
    play: tuple[Word | str, ...] = ()
    """Decisions, and the cards that came, in order."""
    side: Mapping[str, int] = field(default_factory=dict)
    insurance_cents: int = 0
    even_money: bool = False
    adds_cents: int = 0
    """What was added to the wager from a House Money wager that had won."""
    paid_cents: int | None = None
    """What the dealer paid on all wagers of the box; None if the file does not say."""
    collected_cents: int | None = None
    """What the dealer collected at the box."""

    def __str__(self) -> str:
        return f"box {self.number} ({self.player})" if self.player else f"box {self.number}"


@dataclass(frozen=True, slots=True)
class TableFile:
    """The contents of a TABLE.json."""

    boxes: tuple[Box, ...]
    """By number."""
    dealer: tuple[str, ...]
    """In the order dealt, the up card first."""
    house: Mapping[str, object] = field(default_factory=dict)
    """The house's choices that differ from the defaults."""
    name: str = ""
    """What the house calls this round."""


def read(path: Path, complete: Complete = dict) -> TableFile:
    """Read a TABLE.json. `complete` returns its fields with what comes from elsewhere.

    Raises as `table_of` does, with the path, and what `complete` raises.
    """
    data = read_bytes(path, "a round of blackjack has")
    with in_file(path):
        return table_of(complete(object_of(json_value(data), "the file", _FILE_KEYS)))


def parse(data: bytes) -> TableFile:
    """Read the JSON text of a TABLE.json. Raises as `table_of` does."""
    return table_of(object_of(json_value(data), "the file", _FILE_KEYS))


def table_of(fields: Mapping[str, Any]) -> TableFile:
    """Return the round in the fields of a TABLE.json.

    Raises BadWagers, with the place, for what cannot be read; ImpossibleDeal for cards that no hand
    can have.
    """
    if "boxes" not in fields:
        raise BadWagers('no "boxes"; write "boxes": [...]')
    house = house_choices(fields.get("house", {}), CHOICES)
    if "dealer" not in fields:
        dealt = "the hole card was dealt, and " if house.get("hole_card") == "dealt" else ""
        raise BadWagers(f'{dealt}no "dealer"; write "dealer": ["9H", "7C"]')
    boxes = [_box(each, n) for n, each in enumerate(list_of(fields["boxes"], "boxes"), 1)]
    if not boxes:
        raise BadWagers("boxes: no box; a round has at least one")
    for number, count in Counter(box.number for box in boxes).items():
        if count > 1:
            raise BadWagers(f"boxes: box {number} is listed twice; a box has one wager")
    return TableFile(
        tuple(sorted(boxes, key=lambda box: box.number)),
        _cards(fields["dealer"], "dealer"),
        house,
        name_of(fields["name"], "name") if "name" in fields else "",
    )


def typed_cards(text: str) -> list[str]:
    """Return the cards of a hand as people type them: "8S TD". Raises ImpossibleDeal for what is no
    playing card, BadWagers for no card."""
    try:
        names = card_names(text)
    except ValueError as error:
        raise ImpossibleDeal(str(error)) from None
    if not names:
        raise BadWagers("a hand without cards; write --box '8S TD' and --dealer '9H 7C'")
    for name in names:
        if len(name) != 2:
            raise ImpossibleDeal(f"{name} is not a playing card; write 7H, TC")
    return names


def _box(value: object, place: int) -> Box:
    where = f"boxes: entry {place}"
    entry = object_of(value, where, _BOX_KEYS)
    for key, example in (("box", "3"), ("wager_cents", "5000"), ("cards", '["8H", "8C"]')):
        if entry.get(key) is None:
            raise BadWagers(f'{where}: no {key}; write "{key}": {example}')
    number = number_of(entry["box"], f"{where}: box")
    where = f"box {number}"
    cards = _cards(entry["cards"], f"{where}: cards")
    if len(cards) != 2:
        raise ImpossibleDeal(
            f"{where}: cards: {counted(len(cards), 'card')}; write the first two, and the others "
            "in play"
        )
    return Box(
        number,
        name_of(entry["player"], f"{where}: player") if "player" in entry else "",
        cents_of(entry["wager_cents"], f"{where}: wager_cents"),
        (cards[0], cards[1]),
        _play(entry.get("play", []), f"{where}: play"),
        _side(entry.get("side", {}), f"{where}: side"),
        _cents(entry, "insurance_cents", where) or 0,
        flag_of(entry.get("even_money", False), f"{where}: even_money"),
        _cents(entry, "house_money_adds_cents", where) or 0,
        _cents_or_none(entry, "paid_cents", where),
        _cents_or_none(entry, "collected_cents", where),
    )


def _play(value: object, where: str) -> tuple[Word | str, ...]:
    entries = list_of(value, where)
    if len(entries) > MOST_PLAY:
        raise BadWagers(f"{where}: {len(entries)} entries; at most {MOST_PLAY}")
    return tuple(_play_entry(each, f"{where}: entry {n}") for n, each in enumerate(entries, 1))


def _play_entry(value: object, where: str) -> Word | str:
    if isinstance(value, dict):
        entry = object_of(value, where, (DOUBLE_CENTS,))
        if not entry:
            raise BadWagers(f'{where}: nothing; write {{"{DOUBLE_CENTS}": 2500}}')
        return Word(DOUBLE, cents_of(entry[DOUBLE_CENTS], f"{where}: {DOUBLE_CENTS}"))
    if value in WORDS:
        return Word(str(value))
    try:
        return _playing_card(value, where)
    except BadWagers:
        hint = (
            did_you_mean(value, WORDS)
            if isinstance(value, str)
            else f"write one of: {', '.join(WORDS)}"
        )
        raise BadWagers(
            f"{where}: {quoted(value)} is neither a card nor a decision; {hint}"
        ) from None


def _side(value: object, where: str) -> dict[str, int]:
    entry = object_of(value, where, SIDE_WAGERS)
    return {name: cents_of(cents, f"{where}: {name}") for name, cents in entry.items()}


def _cards(value: object, where: str) -> tuple[str, ...]:
    entries = list_of(value, where)
    if len(entries) > MOST_CARDS:
        raise ImpossibleDeal(f"{where}: {counted(len(entries), 'card')}; at most {MOST_CARDS}")
    return tuple(_playing_card(each, where) for each in entries)


def _playing_card(value: object, where: str) -> str:
    card = card_of(value, where)
    if len(card) != 2:
        raise ImpossibleDeal(f"{where}: {card} is not a playing card; write 7H, TC")
    return card


def _cents(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    return cents_of(entry[key], f"{where}: {key}") if key in entry else None


def _cents_or_none(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    """An amount that may be nothing; None if the file does not say."""
    nothing = key in entry and type(entry[key]) is int and entry[key] == 0
    return 0 if nothing else _cents(entry, key, where)


_FILE_KEYS = ("name", "boxes", "dealer", "house")
_BOX_KEYS = (
    "box", "player", "wager_cents", "cards", "play", "side", "insurance_cents", "even_money",
    "house_money_adds_cents", "paid_cents", "collected_cents",
)  # fmt: skip
