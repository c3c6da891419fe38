"""What came out of the present shoe of cards, and what of it contradicts its end or its game."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sabot.audit.play.burned_cards import BurnedCards
from sabot.audit.play.drawn_cards import DrawnCards
from sabot.audit.play.ghost_checks import GhostHands
from sabot.text import counted
from sabot_protocol import cards, enums
from sabot_protocol.games import FamilyGame


@dataclass(slots=True)
class ShoeDealt:
    """A shoe of cards."""

    drawn: DrawnCards
    game: str = ""
    """The name of the game that was loaded with it."""
    burned: BurnedCards = field(default_factory=BurnedCards)
    ghosts: GhostHands = field(default_factory=GhostHands)
    results: int = 0
    """Rounds with a result that is in force."""
    closed: int = 0
    """Cards that no key opens."""
    round: int = 0
    """The number of the last round."""
    ended: bool = False

    def begun(self, round_: int) -> str | None:
        """Take the begin of a round. Return what is wrong with its number."""
        before, self.round = self.round, round_
        return None if round_ == before + 1 else f"round {round_} follows round {before}"

    def too_many(self, card: int, position: int, *, whole: bool) -> str | None:
        """Count a card 0-53. Return why it is one too many; of copies only if the shoe of cards is
        `whole`, without a missing event."""
        if not self.drawn.add(card):
            return None
        name = cards.name_of(card)
        if card >= cards.DECK_SIZE:
            return f"{name}, which is not a playing card, drawn as {enums.POSITIONS[position]}"
        if not whole:
            return None
        of = counted(self.drawn.decks, "deck")
        return f"copy {self.drawn.known[card]} of {name} in a shoe of {of}"

    def unlike(self, document: FamilyGame) -> Iterator[str]:
        """Yield what contradicts the document of its game."""
        if self.drawn.decks != document.decks:
            yield f"{counted(self.drawn.decks, 'deck')} loaded, the game has {document.decks}"
        if self.game != document.name:
            yield f"{self.game} was loaded, {document.name} was dealt"
        burned = self.burned.unlike(document)
        if burned is not None:
            yield burned

    def unlike_end(self, rounds: int | None, count: int | None) -> Iterator[str]:
        """Yield what contradicts the fields of its event `shoe_ended`; None is not stated."""
        drawn = self.drawn.total()
        if rounds is not None and rounds != self.results:
            yield f"shoe ended after {counted(rounds, 'round')}, the log has {self.results}"
        if count is not None and count != drawn:
            yield f"shoe ended after {counted(count, 'card')}, the log has {drawn}"
