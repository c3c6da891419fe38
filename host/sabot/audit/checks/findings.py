"""What a check of a log comes to: findings, notes, and how much was looked at."""

from collections import Counter
from dataclasses import asdict, dataclass, field

MOST_OF_A_KIND = 1000
"""Findings of one kind in one unit that are told one by one; of the others their number."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log must not have: at which event of which unit, and what.

    Of the audit chain: `changed` (the bytes of a record or of its MAC), `missing` (numbers that
    are nowhere), `inserted` (records that do not belong there), `doubled` (events that are there
    again), `reordered` (events that stand elsewhere), `truncated` (events that once were there,
    and the log ends before them), `rewritten` (a checkpoint that was kept elsewhere has another
    MAC), `wrong_epoch` (a record made with the key of another epoch: it was stolen), `wrong_key`
    (the log names another chain than the key's), `no_key` (there is none, so that all this was
    not checked), `checkpoint` (one in the log that is not so), `tombstone` (one that was changed
    or does not fit), `operator` (one signed by another than the operator who was named).

    Of the events: `gap` (numbers that the shoe itself reports as lost), `damaged` (a record that
    is no event), `derived` (what the log shows of a record is not what it says), `time` (a clock
    of the shoe that ran backwards or jumped without being set), `incomplete` (a round without an
    end), `cards` (a composition that the decks cannot give, or that its cards do not), `rules` (a
    draw, decision, order, total, winner, margin, burn or count that differs from the recomputed
    one, a hit that the cards are not, a card marked as entered by hand that was not or the other
    way round), `game` (another game than the one that was loaded, or one loaded while cards were
    in play).

    What a game's wagers ask for is not in the log, so a hit that was not told is not missed.

    A surplus copy is found although the shoe itself has stopped for it: it is in the log.
    """

    unit: str
    event: int
    """The first one concerned; 0 for none in particular."""
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The finding as `sabot verify --json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a good log can have, and that its reader should know.

    Kinds: `removed` (records that a tombstone stands for), `clock` (a host has set the clock back
    by more than two minutes, ahead by more than a year, or never while rounds were dealt),
    `elsewhere` (findings outside of the shoe of cards that was asked for).
    """

    unit: str
    event: int
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The note as `sabot verify --json` prints it."""
        return asdict(self)


@dataclass(slots=True)
class Summary:
    """What was checked, and what is to be told without being a fault."""

    units: int = 0
    events: int = 0
    rounds: int = 0
    notes: list[Note] = field(default_factory=list)
    shoe_seen: bool = False
    """Whether an event of the shoe of cards that was asked for was there."""

    def add(self, other: "Summary") -> None:
        """Count what was checked elsewhere."""
        self.units += other.units
        self.events += other.events
        self.rounds += other.rounds
        self.notes += other.notes
        self.shoe_seen |= other.shoe_seen


class FoundInUnit:
    """The findings of a unit; of too many of a kind only how many more there are."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._findings: list[Finding] = []
        self._kinds: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def tell(self, event: int, kind: str, detail: str) -> None:
        """Take a finding: the event that it concerns first, its kind, and what is wrong."""
        self._kinds[kind] += 1
        if self._kinds[kind] <= MOST_OF_A_KIND:
            self._findings.append(Finding(self._unit, event, kind, detail))
        else:
            self._last[kind] = max(event, self._last.get(kind, 0))

    def in_order(self) -> list[Finding]:
        """All of them by event."""
        for kind, event in self._last.items():
            more = self._kinds[kind] - MOST_OF_A_KIND
            detail = f"the last of {more} more of this kind"
            self._findings.append(Finding(self._unit, event, kind, detail))
        return sorted(self._findings, key=lambda each: each.event)
