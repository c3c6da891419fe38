"""The result of a check: findings, notes, and how much was checked."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from sabot.log import boards

ReportFinding = Callable[[int, str, str], None]
"""Takes a finding: event number, kind, detail."""

MOST_OF_A_KIND = 1000
"""This many findings of one kind in one unit are reported one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log must not have: at which event of which unit, and what.

    About the file: `file` (damaged as a database, or with values that no log has).

    About what is missing: `absent` (a unit, a chain, a desk or a round that something names, and
    that the log does not have), and `truncated` and `game` below.

    About the audit chain: `changed` (the bytes of a record or of its MAC), `missing` (events that
    are not in the log), `inserted` (records that do not belong there), `doubled` (events that are
    in the log twice), `reordered` (events in another place), `truncated` (the log once had events
    after its end), `rewritten` (a checkpoint that was kept elsewhere has another MAC),
    `wrong_epoch` (a record made with the key of another epoch, which was stolen), `wrong_key` (the
    log names another chain than the key's), `no_key` (the chain was not checked, because there is
    no key), `checkpoint` (one in the log is wrong), `tombstone` (one was changed or does not
    fit, or removed what may not be removed), `operator` (a tombstone signed by another key than the
    named operator's, or no operator was named).

    About a board that has taken the place of another, also `operator`: `seam` (its seam is missing,
    was changed, is of another board, or does not fit its records; or the board before it does not
    end where the seam says).

    About receipts of a centre, with `--receipts`: `centre_lacks` and `site_lacks` (events that were
    receipted, or that a site said it had, and are not in the log of that side), `receipt_differs`
    (an event has another MAC than its receipt), `receipt_forged` (one that the notary did not sign,
    or that is kept as that of another event).

    About the desk, whose unit is "@desk" and whose notes are numbered as events: `changed`,
    `missing`, `truncated`, `rewritten`, `no_key` and `damaged` as above, and `users` (a user or a
    session that is not as the notes say).

    About the events: `gap` (events that the shoe itself reports as lost), `damaged` (a record that
    is not an event), `derived` (the table that commands read differs from the records), `time` (a
    clock of the shoe that ran backwards or jumped without being set), `incomplete` (a round without
    an end), `cards` (a composition that the decks cannot have, or that the cards contradict, or a
    long pass of another card than the one before it), `rules` (a draw, decision, order, total,
    winner, margin, burn or count that differs from the recomputed one, a hit that the cards do not
    make, a card wrongly marked as entered by hand or wrongly not marked), `game` (another game than
    the one that was loaded, or one loaded while cards were in play), `seal` (a key that does not
    fit its commitment, a sealed card that opens to none or comes out of order, one that lies face
    down in plain, a decision or result before the key, a round that ends without it).

    A missing hit is not a finding, because the log does not say which hits the game's wagers need.
    A surplus copy of a card is a finding, although the shoe itself stopped for it.
    """

    unit: str
    """Id of the unit; empty if it concerns the file."""
    event: int
    """The first event concerned; 0 if it concerns no particular event."""
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The finding as `sabot verify --json` prints it."""
        return asdict(self) | boards.fields(self.unit)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a good log can have, and that its reader should know.

    Kinds: `removed` (records that a tombstone replaces), `clock` (a host set the clock back by more
    than two minutes or ahead by more than a year, or did not set it before rounds were dealt),
    `seam` (which board has taken the place of which), `known_elsewhere` (what would be `absent`,
    and is elsewhere by the word of the person who verifies), `sealed` (sealed rounds that were
    never opened, and why), `closed` (how many sealed cards no key opens, by the house's choice, and
    of how many shoes of cards that leaves the composition unproven), `unread` (what the desk keeps
    secret may not be read by this role, and was not checked), `elsewhere` (findings outside the
    requested shoe of cards), `receipted` (events that a receipt counts, and that the operator
    removed since), `receipts` (those that one side has and the other does not, or whose signer was
    not checked), `other_units` (receipts of units that this site does not have), `unknown` (events
    of later versions: a kind, a field or a word that this version does not know; their chain was
    checked), `not_judged` (the rounds and shoes of cards that an unknown event is in).
    """

    unit: str
    event: int
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The note as `sabot verify --json` prints it."""
        return asdict(self) | boards.fields(self.unit)


@dataclass(slots=True)
class Summary:
    """How much was checked, and the notes."""

    units: int = 0
    events: int = 0
    rounds: int = 0
    not_judged: int = 0
    """Rounds with an event that this version does not know, in which only the chain was checked."""
    notes: list[Note] = field(default_factory=list)
    shoe_seen: bool = False
    """Whether the log has an event of the requested shoe of cards."""

    def add(self, other: "Summary") -> None:
        """Add what another process checked."""
        self.units += other.units
        self.events += other.events
        self.rounds += other.rounds
        self.not_judged += other.not_judged
        self.notes += other.notes
        self.shoe_seen |= other.shoe_seen


class FoundInUnit:
    """The findings of a unit: MOST_OF_A_KIND of each kind, and how many more there are."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._findings: list[Finding] = []
        self._kinds: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def add(self, event: int, kind: str, detail: str) -> None:
        """Take a finding: the first event that it concerns, its kind, and what is wrong."""
        self._kinds[kind] += 1
        if self._kinds[kind] <= MOST_OF_A_KIND:
            self._findings.append(Finding(self._unit, event, kind, detail))
        else:
            self._last[kind] = max(event, self._last.get(kind, 0))

    def clear(self) -> None:
        """Forget all findings."""
        self._findings.clear()
        self._kinds.clear()
        self._last.clear()

    def join(self, other: "FoundInUnit") -> None:
        """Take the findings of another part of the unit, which comes after this one."""
        for each in other._findings:
            self.add(each.event, each.kind, each.detail)
        for kind, event in other._last.items():
            self._kinds[kind] += other._kinds[kind] - MOST_OF_A_KIND
            self._last[kind] = max(event, self._last.get(kind, 0))

    def in_order(self) -> list[Finding]:
        """All findings, by event."""
        for kind, event in self._last.items():
            more = self._kinds[kind] - MOST_OF_A_KIND
            detail = f"the last of {more} more of this kind"
            self._findings.append(Finding(self._unit, event, kind, detail))
        return sorted(self._findings, key=lambda each: each.event)
