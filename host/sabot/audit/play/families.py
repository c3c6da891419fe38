"""The checks of the rounds of all families of games: each card and event goes to its family."""

from collections.abc import Iterator

from sabot.audit.checks.decoding import Values
from sabot.audit.play.baccarat import BaccaratChecks
from sabot.audit.play.blackjack import BlackjackChecks
from sabot_protocol import enums, events
from sabot_protocol.baccarat import Game
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.games import BACCARAT, BLACKJACK, FamilyGame

_OWN = 7
"""Index in a record's values where its own fields begin."""
_OF_BLACKJACK = [BlackjackChecks().takes(place) for place in range(len(enums.POSITIONS))]
_OF_A_ROUND = [
    BaccaratChecks().takes(place) or _OF_BLACKJACK[place] for place in range(len(enums.POSITIONS))
]
"""By the index of a position."""
_FAMILY_OF = {events.RESULT.number: BACCARAT, events.BLACKJACK_RESULT.number: BLACKJACK}
"""By the kind of the event that decides a round."""


class AllRounds:
    """The round of one unit, of whatever family; see `round_checks.RoundChecks`."""

    def __init__(self) -> None:
        self._baccarat = BaccaratChecks()
        self._blackjack = BlackjackChecks()

    def begin(self) -> None:
        self._baccarat.begin()
        self._blackjack.begin()

    def takes(self, position: int) -> bool:
        return _OF_A_ROUND[position]

    def sealed(self, position: int) -> None:
        if _OF_BLACKJACK[position]:
            self._blackjack.sealed(position)

    def card(self, card: int, position: int, *, in_round: bool) -> None:
        family = self._blackjack if _OF_BLACKJACK[position] else self._baccarat
        family.card(card, position, in_round=in_round)

    def decision(self, values: Values) -> None:
        family = self._baccarat if values[0] == events.DECISION.number else self._blackjack
        family.decision(values)

    def burn_counts(self, card: str) -> range:
        return self._baccarat.burn_counts(card)

    def wrong_with(self, values: Values, game: FamilyGame | None) -> Iterator[str]:
        *result, _ = values[_OWN:]
        family = _FAMILY_OF[values[0]]
        if game is not None and game.family != family:
            yield f"the result is one of {family}, {game.name} is a game of {game.family}"
        elif family == BLACKJACK:
            # What a round must be depends on the choices of the house. A document that is missing
            # is a finding of its own.
            if isinstance(game, BlackjackGame):
                yield from self._blackjack.wrong_with(result, game)
        else:
            reported = game.hits if isinstance(game, Game) else None
            yield from self._baccarat.wrong_with(result, reported)
