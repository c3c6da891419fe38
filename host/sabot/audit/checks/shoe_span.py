"""Which of a log's events can concern one shoe of cards."""

from sabot.audit.checks.decoding import Values
from sabot.audit.checks.findings import Finding
from sabot.audit.play.play_checks import PlayChecks
from sabot.log.found import LARGEST
from sabot_protocol import events

_OF_ALL_SHOES = ("no_key", "wrong_key", "operator", "truncated", "rewritten")
"""Kinds of findings that concern every shoe of cards of a unit."""


class ShoeSpan:
    """The range of a log's events that can concern one shoe of cards."""

    def __init__(self, shoe: int, play: PlayChecks) -> None:
        self.shoe = shoe
        self.seen = False
        self._play = play
        self._begins, self._ends = 0, LARGEST
        self._rounds_before = self._rounds = 0
        for shape in (events.SHOE_LOADED, events.BETTING_OPEN, events.SHOE_ENDED):
            self._watch(shape.number)

    def _watch(self, kind: int) -> None:
        handler = self._play.handlers[kind]

        def watched(values: Values) -> None:
            number, shoe = values[1], values[5]
            if handler is not None:
                handler(values)
            if shoe < self.shoe:
                self._begins = number + 1
                self._rounds_before = self._play.counted.rounds
            elif shoe == self.shoe:
                self.seen = True
            elif self._ends == LARGEST:
                self._ends = number - 1
                self._rounds = self._play.counted.rounds

        self._play.handlers[kind] = watched

    def rounds(self) -> int:
        """The number of rounds of the shoe of cards."""
        last = self._play.counted.rounds if self._ends == LARGEST else self._rounds
        return last - self._rounds_before if self.seen else 0

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding is about this shoe of cards, or about all."""
        return finding.kind in _OF_ALL_SHOES or self._begins <= finding.event <= self._ends
