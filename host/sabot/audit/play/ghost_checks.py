"""Checks the ghost hands of a shoe of cards: their number, and that their betting is open."""

from dataclasses import dataclass, field

from sabot.audit.checks.decoding import Values
from sabot.audit.checks.findings import ReportFinding
from sabot_protocol.games import FamilyGame

_NUMBER, _PLACE, _OWN = 1, slice(5, 7), 7
"""Indexes in a record's values: of the shoe of cards and the round, and of its own fields."""


@dataclass(slots=True)
class GhostHands:
    """The ghost hands of the present shoe of cards."""

    events: list[int] = field(default_factory=list)
    last: tuple[int, int] | None = None
    """Shoe of cards and round of the last one."""

    def mark(self, values: Values, report: ReportFinding, *, betting: bool) -> None:
        """Take the values of an event `ghost_hand`; `betting`: its round is open for wagers."""
        number, count = values[_NUMBER], values[_OWN]
        shoe, round_ = place = tuple(values[_PLACE])
        self.events.append(number)
        where = f"shoe {shoe} round {round_}: "
        if not betting:
            report(number, "rules", where + "a ghost hand, but its betting is not open")
        elif self.last == place:
            report(number, "rules", where + "marked twice as a ghost hand")
        if count != len(self.events):
            known = len(self.events)
            detail = f"{where}ghost hand {count}, the log has {known} in this shoe of cards"
            report(number, "rules", detail)
        self.last = shoe, round_

    def check_allowed(self, document: FamilyGame, report: ReportFinding) -> None:
        """Report the ghost hands that the game does not allow."""
        allowed = document.house.get("ghost_hands", 0)
        if not isinstance(allowed, int):
            allowed = 0
        for number in self.events[allowed:]:
            detail = f"a ghost hand too many: {document.name} allows {allowed} in a shoe of cards"
            report(number, "game", detail)
        self.events = self.events[:allowed]
