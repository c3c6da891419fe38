"""A game of a rule document, and the game document that the choices of a house make of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sabot.errors import Forbidden, did_you_mean, nearest
from sabot.games.baccarat import limits
from sabot.games.baccarat.wagers import TREASURES_PAY, WAGERS
from sabot.games.choices import Choice, Value, value_text
from sabot.text import counted
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games as documents

NOT_OFFERED = ("none", False)
"""The values of a choice with which its wagers in WAGERS_OF_CHOICE are not offered."""

WAGERS_OF_CHOICE = {
    "pairs": ("player_pair", "banker_pair"),
    "dragon_bonus": ("dragon_bonus_player", "dragon_bonus_banker"),
    "treasures": ("fortune_7", "golden_8", "heavenly_9", "blazing_7s", "cover_all"),
}
"""The wagers that a house may offer or not, by the name of the choice."""

DEALING_CHOICES = (
    "decks", "turned_by", "shown", "betting_closed_by", "announced", "burn", "burn_ace",
    "cut_from_end", "rounds_after_cut",
)  # fmt: skip
"""Choices that are fields of the document. All others are in its `house`."""

_TREASURE_CHOICES = tuple(f"{prize}_pays" for prize in TREASURES_PAY)

_, _PLAYERS = baccarat_game.TURNED_BY
_AT_ONCE, _AFTER_REVEAL = documents.SHOWN
_DECK = 52
_MOST_CARDS = 6
"""Cards of the longest round. If the cut card comes before a round, that round is the last; if it
comes within one, at least one of its cards is out already, and `rounds_after_cut` follow."""

VOIDED_CARDS, _OPENED = "voided_cards", "opened"
"""The choice that means nothing if no cards lie face down, and its default."""

ONLY_WITH = {"natural_tie": "dragon_bonus"} | dict.fromkeys(_TREASURE_CHOICES, "treasures")
"""Choices that mean nothing if the wagers of another choice are not offered."""


@dataclass(frozen=True, slots=True)
class HouseGame:
    """A game of a rule document, before the house has made its choices."""

    name: str
    title: str
    rules: str
    """The rule document's name, as `sabot.games.baccarat.catalogue` lists it."""
    source: str
    wagers: tuple[str, ...]
    """The wagers that are always offered."""
    choices: tuple[Choice, ...]
    clauses: Mapping[str, str]
    """The clauses on the deal ("order") and the draws."""

    def choice(self, name: str) -> Choice:
        """Return the choice with this name. Raises Forbidden if the game does not have it."""
        for choice in self.choices:
            if choice.name == name:
                return choice
        names = [choice.name for choice in self.choices]
        raise Forbidden(f"{self.name} has no choice {name!r}; {did_you_mean(name, names)}")

    def document(self, choices: Mapping[str, object] = {}) -> bytes:
        """Return the game's document with the house's choices, for a shoe and for settling wagers.

        A choice that is not in `choices` has its default. Raises Forbidden, with the clause, for a
        value that the rules do not allow.
        """
        for chosen, value in choices.items():
            _check(self, self.choice(chosen), value)
        values: dict[str, Any] = {
            choice.name: choices.get(choice.name, choice.default) for choice in self.choices
        }
        _check_together(self, values)
        wagers = list(self.wagers)
        not_offered = set()
        for choice, offered in WAGERS_OF_CHOICE.items():
            if values.get(choice, NOT_OFFERED[0]) in NOT_OFFERED:
                not_offered.add(choice)
                values.pop(choice, None)
            else:
                wagers.extend(offered)
        for choice, other in ONLY_WITH.items():
            if other in not_offered:
                values.pop(choice, None)
        # A document has room for few choices: without this one the cards are opened.
        if values["shown"] == _AT_ONCE or values[VOIDED_CARDS] == _OPENED:
            values.pop(VOIDED_CARDS, None)
        _pack_treasures(values)
        values["limits_cents"] = limits.checked(values["limits_cents"], wagers)
        if not values["limits_cents"]:
            del values["limits_cents"]
        dealing = {field: values.pop(field) for field in DEALING_CHOICES}
        return _encoded(
            self,
            {
                "version": documents.DOCUMENT_VERSION,
                "rules": self.rules,
                "name": self.name,
                "title": self.title,
                "source": self.source,
                "order": baccarat_game.ORDER,
                "player_draws": baccarat_game.PLAYER_DRAWS,
                "banker_draws": baccarat_game.BANKER_DRAWS,
                "banker_draws_if_player_stood": baccarat_game.BANKER_DRAWS_IF_PLAYER_STOOD,
                "wagers": wagers,
                "house": values,
                **dealing,
            },
        )

    def as_json(self, game: baccarat_game.Game | None = None) -> dict[str, Any]:
        """Return the game as `sabot games --json` prints it, as `game` has it with the house's
        choices; without `game` with the default ones."""
        game = game or baccarat_game.Game(self.document())
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "turned_by": game.turned_by,
            "shown": game.shown,
            "betting_closed_by": game.betting_closed_by,
            "wagers": [
                {
                    "name": name,
                    "title": WAGERS[name].title,
                    "pushes": WAGERS[name].pushes_in(game),
                    "pays": WAGERS[name].pays_to_one(game.house),
                    "clause": WAGERS[name].clauses[self.rules],
                }
                for name in game.wagers
            ],
            "choices": [choice.as_json() for choice in self.choices],
        }


def chosen_in(game: baccarat_game.Game, name: str) -> object:
    """Return the value that a game has for a choice; None if it does not have the choice."""
    if name in _TREASURE_CHOICES:
        packed = game.house.get("treasures_pay")
        return None if packed is None else int(packed.split()[_TREASURE_CHOICES.index(name)])
    if name == VOIDED_CARDS and game.face_down:
        return game.house.get(name, _OPENED)
    return game.house.get(name, getattr(game, name, None))


def _encoded(game: HouseGame, fields: dict[str, object]) -> bytes:
    try:
        return documents.encode(fields)
    except documents.GameError:
        raise Forbidden(
            f"{game.name}: with these choices its document is over {documents.MAX_DOCUMENT} bytes, "
            "more than a shoe takes; give several wagers one limit: side:100-50000"
        ) from None


def _pack_treasures(values: dict[str, Any]) -> None:
    """Put what the 5 Treasures pay into one text: a document has room for few choices."""
    pays = [values.pop(choice) for choice in _TREASURE_CHOICES if choice in values]
    if pays:
        values["treasures_pay"] = " ".join(map(str, pays))


def _check_together(game: HouseGame, values: Mapping[str, Any]) -> None:
    """Refuse choices that are allowed one by one but not together."""
    least, most = values["minimum_cents"], values["maximum_cents"]
    if least > most:
        raise Forbidden(
            f"{game.name}: minimum_cents {least} is above maximum_cents {most}; choose a lower "
            "minimum"
        )
    if values["turned_by"] == _PLAYERS and values["shown"] == _AT_ONCE:
        raise Forbidden(
            f"{game.name}: turned_by {_PLAYERS} is forbidden with shown {_AT_ONCE}: the shoe would "
            f"show what the players have not turned; choose shown {_AFTER_REVEAL}"
        )
    one, both = (values.get(f"{prize}_pays", 0) for prize in ("heavenly_9", "heavenly_9_both"))
    if one and both <= one:
        raise Forbidden(
            f"{game.name}: heavenly_9_both_pays {both} must be above heavenly_9_pays {one} "
            f"({game.source}, 5 Treasures Bonus, Heavenly 9)"
        )
    cut, rounds = values["cut_from_end"], values["rounds_after_cut"]
    needed = max(_MOST_CARDS, _MOST_CARDS - 1 + _MOST_CARDS * rounds)
    if cut < needed:
        raise Forbidden(
            f"{game.name}: cut_from_end {cut} with rounds_after_cut {rounds}: these rounds can "
            f"take {counted(needed, 'card')}; choose cut_from_end {needed} or more"
        )
    burned = {"by_first": 1 + max(10, values["burn_ace"]), "one": 1, "none": 0}[values["burn"]]
    before = _DECK * values["decks"] - cut
    if before < burned:
        raise Forbidden(
            f"{game.name}: cut_from_end {cut} with decks {values['decks']}: "
            f"{counted(max(before, 0), 'card')} before the cut card, and burning can take "
            f"{burned}; choose a lower cut_from_end"
        )


def _check(game: HouseGame, choice: Choice, value: object) -> None:
    if choice.allows(value):
        return
    shown = value_text(value) if isinstance(value, Value) else repr(value)
    words = [each for each in choice.allowed if isinstance(each, str)]
    near = nearest(value, words) if isinstance(value, str) else None
    hint = f"; did you mean {near}?" if near else ""
    whose = "Sabot's own limit" if choice.only_sabot_refuses(value) else game.source
    raise Forbidden(
        f"{game.name}: {choice.name} {shown} is forbidden, allowed: {choice.allowed_text()} "
        f"({whose}, {choice.clause}){hint}"
    )
