"""Takes the events of hands of hold'em for `PlayChecks`."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from sabot.audit.checks.decoding import Values
from sabot.audit.play.holdem import HoldemChecks
from sabot_protocol import events
from sabot_protocol.games import FamilyGame
from sabot_protocol.schema import Shape

_OWN = 7
_FIRST = 1
"""The number of the only hand of a shoe of cards."""
_ROUND = 6


class Play(Protocol):
    """What `PlayChecks` has for the events of a family."""

    def of_open_round(self, values: Values) -> bool:
        """Whether a round is open and this event belongs to it."""
        ...

    def round_decided(
        self, values: Values, game: bytes, what: str
    ) -> tuple[FamilyGame | None, bool]:
        """Take `what` decides a round, dealt by the game with this SHA-256. Return the document of
        the game, if it is known, and whether the round was open."""
        ...

    def report_rules(self, values: Values, details: Iterable[str]) -> None:
        """Report what is wrong with the round of an event by the rules."""

    def report_game(self, values: Values, details: Iterable[str]) -> None:
        """Report what contradicts the document of the game."""


class HandEvents:
    """Gives the events of a hand to `hand`, and reports to `play` what is wrong."""

    def __init__(self, play: Play, hand: HoldemChecks) -> None:
        self._play = play
        self._hand = hand

    def handlers(self) -> Iterator[tuple[Shape, Callable[[Values], None]]]:
        """Yield the kinds of events, and what takes them."""
        yield events.HAND_BEGUN, self._begun
        yield events.BETTING_ENDED, self._betting_ended
        yield events.RUN_TWICE, self._run_twice
        yield events.HAND_ENDED, self._ended

    def _begun(self, values: Values) -> None:
        if self._play.of_open_round(values):
            self._play.report_rules(values, self._hand.begun(values[_OWN]))
            if values[_ROUND] > _FIRST:
                detail = "a second hand of hold'em from one shuffled deck"
                self._play.report_rules(values, [detail])

    def _betting_ended(self, values: Values) -> None:
        if self._play.of_open_round(values):
            self._hand.betting_ended(values[_OWN])

    def _run_twice(self, values: Values) -> None:
        if self._play.of_open_round(values):
            self._hand.run_twice(values[_OWN])

    def _ended(self, values: Values) -> None:
        seats, board, second, game = values[_OWN : _OWN + 4]
        document, was_open = self._play.round_decided(values, game, "the end of a hand")
        if was_open:
            self._play.report_rules(values, self._hand.wrong_with(seats, board, second))
            if document is not None:
                self._play.report_game(values, self._hand.unlike(document))
