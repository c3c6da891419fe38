"""A game of another family than baccarat that a shoe deals, as `sabot games` lists it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sabot.games.choices import Choice
from sabot_protocol import games


@dataclass(frozen=True, slots=True)
class DealtGame:
    """A game with the choices of the house. `of_choices` makes its document, and raises Forbidden
    for choices that the rules do not allow."""

    name: str
    title: str
    source: str
    choices: tuple[Choice, ...]
    of_choices: Callable[[Mapping[str, object]], bytes]

    def document(self, choices: Mapping[str, object] = {}) -> bytes:
        """Return the game's document; a choice that is not in `choices` has its default."""
        return self.of_choices(choices)

    def as_json(self) -> dict[str, Any]:
        """Return the game as `sabot games --json` prints it."""
        game = games.game_of(self.document())
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "turned_by": "dealer",
            "shown": game.shown,
            "betting_closed_by": game.betting_closed_by,
            "wagers": [],
            "choices": [choice.as_json() for choice in self.choices],
        }

    def card_json(self, chosen: Mapping[str, object]) -> dict[str, Any]:
        """Return the rule card of a house with these choices, as `sabot games show --json` prints
        it. Raises Forbidden."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "choices": [
                each.as_json() | {"chosen": chosen.get(each.name, each.default)}
                for each in self.choices
            ],
            "sha256": games.game_of(self.document(chosen)).sha256.hex(),
        }
