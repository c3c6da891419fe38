"""Reads HAND.json, a hand of hold'em as it was played. The format is in this folder's README.

This module checks the format only: whether the hand can have been played so, and may have been,
is checked by `betting`, `boards` and `settle`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabot.errors import BadHand, BadWagers, ImpossibleDeal, did_you_mean
from sabot.games.holdem.house import CHOICES
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
from sabot.text import counted

STREETS = ("preflop", "flop", "turn", "river")
"""The betting rounds, and the streets after which they are named."""

FOLD, CHECK, CALL, BET, RAISE, ALL_IN = WORDS = ("fold", "check", "call", "bet", "raise", "all_in")
CONVERTED, UNCONVERTED = CURRENCY = ("converted", "unconverted")
ADDS, REMOVES, TAKES, LEAVES, RETURNS = CHANGES = (
    "adds_cents", "removes_cents", "takes_from_pot_cents", "leaves", "returns_cents",
)  # fmt: skip
"""What a player may do to the stakes other than bet. Most of it is forbidden: Chapter 8 B(2), H."""
LEAVING = ("counted", "covered")

MOST_SEATS = 10
MOST_ACTS = 400
"""Entries in a betting round. Ten players who raise by turns need far less."""
MOST_MOTIONS = 20


@dataclass(frozen=True, slots=True)
class Seat:
    """A player who was dealt in."""

    number: int
    player: str
    stakes_cents: int
    """On the table when the hand began."""
    cards: tuple[str, ...] = ()
    """The hole cards; empty if no one saw them."""
    mucked: bool = False
    """Whether the player threw the cards away at the showdown."""

    def __str__(self) -> str:
        return f"seat {self.number} ({self.player})"


@dataclass(frozen=True, slots=True)
class Act:
    """What a player said and placed at his turn."""

    seat: int
    says: str | None = None
    """One of WORDS; None for a player who said nothing."""
    to_cents: int | None = None
    """The announced total of the player's bet in this round."""
    by_cents: int | None = None
    """The announced amount of the raise itself."""
    puts_cents: tuple[int, ...] | None = None
    """What was placed, in cents for each motion; None if the file does not say."""
    single_chip: bool = False
    """Whether what was placed is one chip."""
    incomplete: bool = False
    """Whether the player indicated with the first motion that the bet was not yet complete."""
    currency: str | None = None
    """One of CURRENCY if notes were placed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a player did to stakes or pot, other than bet."""

    seat: int
    kind: str
    """One of CHANGES."""
    cents: int = 0
    """The amount; 0 for LEAVES."""


@dataclass(frozen=True, slots=True)
class RunTwice:
    """The request to run it twice, and the second set of community cards."""

    agreed: frozenset[int]
    """The seats whose players agreed."""
    asked_after: str
    """The last street that had been dealt when the dealer was notified, one of STREETS."""
    cards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HandFile:
    """The contents of a HAND.json."""

    button: int
    """The seat with the dealer button."""
    seats: tuple[Seat, ...]
    """By number of the seat."""
    betting: Mapping[str, tuple[Act | Change, ...]]
    """By betting round, one of STREETS, in order."""
    board: tuple[str, ...] = ()
    run_twice: RunTwice | None = None
    burns: tuple[str, ...] | None = None
    """The burned cards in the order dealt; None if they are not known."""
    agreed_minimum_cents: int | None = None
    """A minimum bet to which players agreed; None for the posted one."""
    agreed_by: frozenset[int] = frozenset()
    pots_cents: tuple[int, ...] | None = None
    """The pots as the dealer made them, the main pot first; None if the file does not say."""
    house: Mapping[str, object] = field(default_factory=dict)
    """The house's choices that differ from the defaults."""
    name: str = ""
    """What the house calls this hand."""


def read(path: Path) -> HandFile:
    """Read a HAND.json. Raises BadHand and ImpossibleDeal, with the file's name."""
    try:
        data = read_bytes(path, "a hand of poker needs")
    except BadWagers as error:
        raise BadHand(str(error)) from None
    with in_file(path):
        return parse(data)


def parse(data: bytes) -> HandFile:
    """Parse the contents of a HAND.json. Raises BadHand; ImpossibleDeal for a card that is there
    twice."""
    try:
        return _parsed(object_of(json_value(data), "the file", _FILE_KEYS))
    except BadWagers as error:
        raise BadHand(str(error)) from None


def _parsed(fields: Mapping[str, Any]) -> HandFile:
    for key, example in (("button", '"button": 3'), ("seats", '"seats": [...]')):
        if key not in fields:
            raise BadHand(f'no "{key}"; write {example}')
    seats = [_seat(each, n) for n, each in enumerate(list_of(fields["seats"], "seats"), 1)]
    if not 2 <= len(seats) <= MOST_SEATS:
        raise BadHand(f"seats: {counted(len(seats), 'player')}; hold'em has 2 to {MOST_SEATS}")
    numbers = [seat.number for seat in seats]
    for seat in seats:
        if numbers.count(seat.number) > 1:
            raise BadHand(f"seats: seat {seat.number} is listed twice; one player sits at a seat")
    button = number_of(fields["button"], "button", most=MOST_SEATS)
    if button not in numbers:
        raise BadHand(f"button: no player at seat {button}; there are: {_listed(numbers)}")
    agreed_cents, agreed_by = _agreed_minimum(fields.get("agreed_minimum"))
    burns = fields.get("burns")
    pots = fields.get("pots_cents")
    hand = HandFile(
        button=button,
        seats=tuple(sorted(seats, key=lambda seat: seat.number)),
        betting=_betting(fields.get("betting", {})),
        board=_cards(fields.get("board", []), "board", 5),
        run_twice=_run_twice(fields["run_twice"]) if "run_twice" in fields else None,
        burns=None if burns is None else _cards(burns, "burns", 5),
        agreed_minimum_cents=agreed_cents,
        agreed_by=agreed_by,
        pots_cents=None
        if pots is None
        else tuple(cents_of(each, "pots_cents") for each in list_of(pots, "pots_cents")),
        house=house_choices(fields.get("house", {}), CHOICES),
        name=name_of(fields["name"], "name") if "name" in fields else "",
    )
    check_once_each(hand)
    return hand


def _seat(value: object, place: int) -> Seat:
    where = f"seats: entry {place}"
    entry = object_of(value, where, ("seat", "player", "stakes_cents", "cards", "mucked"))
    for key, example in (("seat", "3"), ("player", '"Ann"'), ("stakes_cents", "50000")):
        if entry.get(key) is None:
            raise BadHand(f'{where}: no {key}; write "{key}": {example}')
    number = number_of(entry["seat"], f"{where}: seat", most=MOST_SEATS)
    where = f"seat {number}"
    cards = _cards(entry.get("cards", []), f"{where}: cards", 2)
    if len(cards) == 1:
        raise ImpossibleDeal(f"{where}: 1 card; a hand has two hole cards")
    return Seat(
        number,
        name_of(entry["player"], f"{where}: player"),
        cents_of(entry["stakes_cents"], f"{where}: stakes_cents"),
        cards,
        flag_of(entry.get("mucked", False), f"{where}: mucked"),
    )


def _betting(value: object) -> dict[str, tuple[Act | Change, ...]]:
    rounds = object_of(value, "betting", STREETS)
    found: dict[str, tuple[Act | Change, ...]] = {}
    for street in STREETS:
        entries = list_of(rounds.get(street, []), f"betting: {street}")
        if len(entries) > MOST_ACTS:
            raise BadHand(f"betting: {street}: {len(entries)} entries; at most {MOST_ACTS}")
        found[street] = tuple(_act(each, f"{street} {n}") for n, each in enumerate(entries, 1))
    return found


def _act(value: object, where: str) -> Act | Change:
    entry = object_of(value, where, ("seat", *_ACT_KEYS, *CHANGES))
    if "seat" not in entry:
        raise BadHand(f'{where}: no seat; write "seat": 3')
    seat = number_of(entry["seat"], f"{where}: seat")
    kinds = [kind for kind in CHANGES if kind in entry]
    if kinds:
        if len(entry) > 2:
            raise BadHand(f"{where}: {kinds[0]} is not an action; write it as an entry of its own")
        return _change(entry, seat, kinds[0], where)
    if "to_cents" in entry and "by_cents" in entry:
        raise BadHand(f"{where}: to_cents and by_cents; give one of them")
    puts = None
    if "puts_cents" in entry:
        given = entry["puts_cents"]
        motions = given if isinstance(given, list) else [given]
        if not 1 <= len(motions) <= MOST_MOTIONS:
            raise BadHand(f"{where}: puts_cents: {len(motions)} motions; 1 to {MOST_MOTIONS}")
        puts = tuple(cents_of(each, f"{where}: puts_cents") for each in motions)
    act = Act(
        seat,
        _one_of(entry, "says", WORDS, where),
        _amount(entry, "to_cents", where),
        _amount(entry, "by_cents", where),
        puts,
        flag_of(entry.get("single_chip", False), f"{where}: single_chip"),
        flag_of(entry.get("incomplete", False), f"{where}: incomplete"),
        _one_of(entry, "currency", CURRENCY, where),
    )
    _check_act(act, where)
    return act


def _check_act(act: Act, where: str) -> None:
    if act.says is None and act.puts_cents is None:
        raise BadHand(f'{where}: no word and no chips; write "says": "check" or "puts_cents": 500')
    announced = act.to_cents is not None or act.by_cents is not None
    if announced and act.says not in (BET, RAISE):
        raise BadHand(f'{where}: an announced amount needs "says": "bet" or "raise"')
    if act.by_cents is not None and act.says != RAISE:
        raise BadHand(f"{where}: by_cents is the amount of a raise; write to_cents")
    if act.puts_cents is None and (act.single_chip or act.incomplete or act.currency):
        raise BadHand(f"{where}: nothing was placed; write puts_cents")
    if act.single_chip and (act.currency or len(act.puts_cents or ()) > 1):
        raise BadHand(f"{where}: single_chip is one motion with one chip, not with notes")


def _change(entry: Mapping[str, Any], seat: int, kind: str, where: str) -> Change:
    if kind != LEAVES:
        most_or_none = entry[kind] == 0 and kind == RETURNS and type(entry[kind]) is int
        return Change(seat, kind, 0 if most_or_none else cents_of(entry[kind], f"{where}: {kind}"))
    _one_of(entry, LEAVES, LEAVING, where)
    return Change(seat, kind)


def _run_twice(value: object) -> RunTwice:
    entry = object_of(value, "run_twice", ("agreed", "asked_after", "cards"))
    for key, example in (("agreed", "[2, 5]"), ("asked_after", '"flop"')):
        if key not in entry:
            raise BadHand(f'run_twice: no {key}; write "{key}": {example}')
    return RunTwice(
        _seats(entry["agreed"], "run_twice: agreed"),
        str(_one_of(entry, "asked_after", STREETS, "run_twice")),
        _cards(entry.get("cards", []), "run_twice: cards", 5),
    )


def _agreed_minimum(value: object) -> tuple[int | None, frozenset[int]]:
    if value is None:
        return None, frozenset()
    entry = object_of(value, "agreed_minimum", ("cents", "by"))
    if set(entry) != {"cents", "by"}:
        raise BadHand('agreed_minimum: write {"cents": 500, "by": [1, 2, 3]}')
    return cents_of(entry["cents"], "agreed_minimum: cents"), _seats(
        entry["by"], "agreed_minimum: by"
    )


def check_once_each(hand: HandFile) -> None:
    """Raise ImpossibleDeal if the hand has a card twice."""
    places = [(str(seat), seat.cards) for seat in hand.seats]
    places += [("the board", hand.board), ("the burned cards", hand.burns or ())]
    if hand.run_twice is not None:
        places.append(("the second set of cards", hand.run_twice.cards))
    where: dict[str, str] = {}
    for place, cards in places:
        for card in cards:
            if card in where:
                raise ImpossibleDeal(
                    f"{card} is twice in the hand: {where[card]}, {place}; a deck has it once"
                )
            where[card] = place


def _cards(value: object, where: str, most: int) -> tuple[str, ...]:
    entries = list_of(value, where)
    if len(entries) > most:
        raise ImpossibleDeal(f"{where}: {counted(len(entries), 'card')}; at most {most}")
    cards = tuple(card_of(each, where) for each in entries)
    for card in cards:
        if len(card) != 2:
            raise ImpossibleDeal(f"{where}: {card} is not a card of the deck; write 7H, TC")
    return cards


def _seats(value: object, where: str) -> frozenset[int]:
    return frozenset(number_of(each, where, most=MOST_SEATS) for each in list_of(value, where))


def _amount(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    return cents_of(entry[key], f"{where}: {key}") if key in entry else None


def _one_of(entry: Mapping[str, Any], key: str, words: tuple[str, ...], where: str) -> str | None:
    if key not in entry:
        return None
    value = entry[key]
    if value not in words:
        raise BadHand(f"{where}: {key}: {quoted(value)}; {did_you_mean(quoted(value), words)}")
    return str(value)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


_FILE_KEYS = (
    "name", "button", "seats", "house", "agreed_minimum", "betting", "board", "run_twice", "burns",
    "pots_cents",
)  # fmt: skip
_ACT_KEYS = (
    "says", "to_cents", "by_cents", "puts_cents", "single_chip", "incomplete", "currency",
)  # fmt: skip
