"""Finds the incidents in a log: what a surveillance officer may want to see on the video.

An incident is not a fault: cards are entered by hand, lids are opened. Faults in a log are found by
`sabot.audit.verify`. Of its findings, only disagreements about a recomputed round are incidents
too.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from sabot.audit.checks.findings import Finding
from sabot.link.events import (
    BettingClosedEvent,
    BettingOpenEvent,
    BlackjackResultEvent,
    BootEvent,
    ButtonEvent,
    CardEvent,
    CleanSensorEvent,
    ClockSetEvent,
    CompositionEvent,
    CutCardEvent,
    DebugOpenedEvent,
    ErrorClearedEvent,
    ErrorEvent,
    Event,
    GapEvent,
    HandBegunEvent,
    HandEndedEvent,
    JournalFaultEvent,
    KeyEvent,
    LidEvent,
    LongPassEvent,
    ResolvedEvent,
    ResultEvent,
    RoundVoidEvent,
    SealedCardEvent,
    SealEvent,
    ServiceEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
    UnknownEvent,
    UnreadableEvent,
    WrongMacsEvent,
)
from sabot.log.reveal import NONE_KEPT, SECRET_CARD, ShownGames
from sabot.notable import clock_changes, kinds
from sabot.notable.incident import (
    CLEARED,
    RESOLVED,
    VOIDED,
    Incident,
    Limits,
    NearPass,
    change_text,
    error_text,
    numbers_text,
)
from sabot.notable.kinds import Kind
from sabot.table_time import duration_text
from sabot.text import card_symbol, counted, printable, spaced, start_cause
from sabot_protocol import cards, enums

CLOCK_TOLERANCE_MS = clock_changes.TOLERANCE_MS

_HANDS = tuple(f"{hand}_" for hand in enums.HANDS)
_MOST_NEAREST = 3  # how many passes nearest to a missing card are named
# Up to this many cards that were not seen are named: those that may lie after a cut card, and some.
_MOST_NOT_SEEN = 20


def incidents_of(
    unit: str,
    events: Iterable[Event],
    findings: Iterable[Finding] = (),
    limits: Limits = Limits(),
    games: ShownGames = NONE_KEPT,
) -> list[Incident]:
    """The incidents, by event, in the `events` of one unit, which come in order. `findings` are
    the verifier's findings in these events, `games` dealt them. Sealed cards that are opened
    (link/seals.py) have their card here."""
    finder = IncidentFinder(unit, limits, games)
    finder.add_all(events, findings)
    return finder.incidents()


@dataclass(slots=True, eq=False)
class _Draft:
    """An incident before its length and time are known."""

    kind: str
    """The name of a kind of the table."""
    begin: Event
    shoe: int
    round: int
    detail: str
    end: Event | None = None
    over: bool = True
    """Whether no later event can end it."""
    least_ms: int = 0
    """It is an incident only if it is known to be longer than this; 0 for any length."""
    before: Event | None = None
    """For a restart, the last event before it."""
    long_passes: list[LongPassEvent] | None = None
    """For missing cards, all long passes of the shoe of cards."""


class IncidentFinder:
    """Finds the incidents in the events of one unit, which come in order."""

    def __init__(self, unit: str, limits: Limits = Limits(), games: ShownGames = NONE_KEPT) -> None:
        self._unit = unit
        self._limits = limits
        self._drafts: list[_Draft] = []
        self._last: Event | None = None
        self._whole = False  # whether the next event must have the next number
        self._shoe = self._round = 0
        self._in_play = False
        self._round_open = False
        self._key_on: bool | None = None
        self._build: bytes | None = None
        self._games = games
        self._shows_at_once: bool | None = None  # None if it is not known
        self._sealed = False  # whether cards of this round are sealed, or were
        self._drawn: CardEvent | None = None  # the last card of a sealed round, if it is known
        # Of this shoe of cards. The list goes on growing after a draft has it: the pass that ends a
        # shoe of cards is recorded after its end.
        self._long_passes: list[LongPassEvent] = []
        self._cut_card_came = False
        self._unknown = set[str]()  # in this shoe of cards
        self._not_seen = ""  # at its end, for people
        self._ended_early: _Draft | None = None
        self._last_unix_ms: int | None = None
        # Time of day at the start of the unit, by the clock as last set and, by boot, as first set.
        self._clock_base: int | None = None
        self._first_bases: dict[int, int] = {}
        self._errors: list[_Draft] = []  # not cleared yet; the first is on the display
        self._first_error = ""  # its detail
        self._open: dict[str, _Draft] = {}  # by the name of the kind
        self._missing: list[tuple[int, int, _Draft]] = []
        self._gaps: list[tuple[int, int]] = []

    def add_all(self, events: Iterable[Event], findings: Iterable[Finding] = ()) -> None:
        """Take the next events, and the verifier's findings in them."""
        disagreements: dict[int, list[str]] = {}
        for finding in findings:
            if finding.kind == "rules":
                disagreements.setdefault(finding.event, []).append(finding.detail)
        for event in events:
            self.add(event, disagreements.get(event.number, ()))

    def add(self, event: Event, disagreements: Sequence[str] = ()) -> None:
        """Take the next event, and the verifier's disagreements with it."""
        self._place(event)
        self._clock(event)
        if not event.understood:
            self._later(event)
        take = getattr(self, f"_on_{event.kind}", None)
        if take is not None:
            take(event)
        for detail in disagreements:
            self._put(kinds.RULES, event, detail)
        self._last = event
        self._whole = True

    def pass_over(self, last: Event) -> None:
        """Take the `last` of events that are no part of an incident and follow each other without a
        gap, in the same start and shoe of cards, by the same clock as the event before, and in the
        same round or in a later one whose betting is open, as it was before."""
        self._last = last
        if last.shoe:
            self._round = last.round or self._round
        if last.unix_ms is not None:
            self._last_unix_ms = last.unix_ms

    def skip(self) -> None:
        """Note that events are left out here: what began before them has no known end."""
        self._break()
        self._whole = False

    def copy(self) -> "IncidentFinder":
        """A finder of its own that goes on from here."""
        return deepcopy(self, {id(self._games): self._games})

    def state(self) -> dict[str, Any]:
        """What this finder knows, as a copy that can be sent to another process."""
        return {name: value for name, value in vars(self.copy()).items() if name != "_games"}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned, which is then this finder's own."""
        vars(self).update(state)

    def forget(self) -> None:
        """Forget the incidents that are over. Call it only after the first event of a shoe of
        cards: an event may still change those of the one before."""
        self._drafts = [draft for draft in self._drafts if not draft.over]
        self._missing, self._gaps = [], []
        boots = {draft.begin.boot for draft in (*self._drafts, *self._open.values())}
        boots |= set() if self._last is None else {self._last.boot}
        self._first_bases = {b: base for b, base in self._first_bases.items() if b in boots}

    @property
    def waits(self) -> bool:
        """Whether there is an incident as soon as enough time has passed."""
        return any(draft.least_ms for draft in self._open.values())

    def incidents(self, waited_ms: int = 0) -> list[Incident]:
        """All incidents so far, in the order of their events; those that are not over have lasted
        until `waited_ms` after the last event."""
        reported = sorted(self._gaps)
        covered = {
            id(draft) for first, last, draft in self._missing if _covers(reported, first, last)
        }
        drafts = [*self._drafts, *self._open.values()]
        made = [self._made(draft, waited_ms) for draft in drafts if id(draft) not in covered]
        return sorted((each for each in made if each), key=lambda each: each.event or 0)

    # A method for each kind of event that is an incident or part of one.

    def _on_boot(self, event: BootEvent) -> None:
        if event.number > 1:
            where = "a round open" if self._round_open else "no round open"
            detail = f"start {event.boot}, {start_cause(event.reset_cause)}, {where}"
            if self._build not in (None, event.build):
                version = printable(event.firmware)
                detail += f"; other firmware than before, {version} now"
            self._put(kinds.RESTART, event, detail).before = self._last
        opened = [
            what
            for what, was in (("lid", event.lid_opened), ("compartment", event.compartment_opened))
            if was
        ]
        if opened:
            where = "a shoe of cards in play" if self._in_play else "no cards in play"
            self._put(kinds.OPENED, event, f"{' and '.join(opened)} opened, {where}")
        self._build = event.build

    def _on_lid(self, event: LidEvent) -> None:
        if not event.open:
            self._end(kinds.LID, event)
        elif self._in_play:
            self._end(kinds.LID, event)
            self._begin(kinds.LID, event, "lid open with a shoe of cards in play")

    def _on_service(self, event: ServiceEvent) -> None:
        self._end(kinds.SERVICE, event)
        if event.on:
            self._begin(kinds.SERVICE, event, "service switch on")

    def _on_debug_opened(self, event: DebugOpenedEvent) -> None:
        self._put(kinds.DEBUG, event, "MicroPython's prompt opened, until the next start")

    def _on_wrong_macs(self, event: WrongMacsEvent) -> None:
        self._put(kinds.STRANGER, event, f"{event.count} wrong MACs since the start")

    def _on_key(self, event: KeyEvent) -> None:
        self._key_on = event.on

    def _on_button(self, event: ButtonEvent) -> None:
        if event.button == "reveal" and not self._sealed:
            self._end(kinds.LONG_REVEAL, event)

    def _on_shoe_loaded(self, event: ShoeLoadedEvent) -> None:
        self._drop(kinds.LONG_REVEAL)
        self._in_play = True
        self._round_open = False

    def _on_betting_open(self, event: BettingOpenEvent) -> None:
        # If no reveal came before the next round, none was due: the game shows cards at once.
        self._drop(kinds.LONG_REVEAL)
        self._drop(kinds.LONG_ROUND)
        self._in_play = self._round_open = True
        self._sealed, self._drawn = False, None

    def _on_seal(self, event: SealEvent) -> None:
        self._sealed = True

    def _on_betting_closed(self, event: BettingClosedEvent) -> None:
        detail = "from no more bets to the result"
        self._begin(kinds.LONG_ROUND, event, detail, 1000 * self._limits.round_s)

    def _on_cut_card(self, event: CutCardEvent) -> None:
        self._cut_card_came = True

    def _on_long_pass(self, event: LongPassEvent) -> None:
        if event.card is None and self._drawn is not None:
            event = replace(event, card=self._drawn.card)
        self._long_passes.append(event)

    def _on_composition(self, event: CompositionEvent) -> None:
        decks = event.expected // cards.DECK_SIZE
        not_seen = [max(0, decks - count) for count in event.counts[: cards.DECK_SIZE]]
        total = sum(not_seen)
        self._not_seen = f"{counted(total, 'card')} not seen"
        if not 0 < total <= _MOST_NOT_SEEN:
            return
        names = [[card_symbol(cards.name_of(card))] * n for card, n in enumerate(not_seen)]
        self._not_seen += f": {' '.join(chain.from_iterable(names))}"
        if self._ended_early is not None and not self._cut_card_came:
            self._lacks_cards(self._ended_early)  # dealt to its last card, and the decks had more

    def _on_card(self, event: CardEvent) -> None:
        number, position = event.card, event.position
        secret = number == SECRET_CARD
        card = (
            "a card of a round that is not revealed"
            if secret
            else card_symbol(cards.name_of(number))
        )
        if not self._in_play:  # of no shoe of cards
            self._long_passes = []
        self._in_play = self._in_play or position != "not_due"
        self._drawn = event if self._sealed and not event.by_hand else None
        self._came(event, card)

    def _on_sealed_card(self, event: SealedCardEvent) -> None:
        self._in_play = self._sealed = True
        self._drawn = None
        self._came(event, "a sealed card")

    def _came(self, event: CardEvent | SealedCardEvent, card: str) -> None:
        """Take a card that came out; `card` is what people read."""
        if event.by_hand:
            self._put(kinds.BY_HAND, event, f"{card} as {spaced(event.position)}")
        if event.position == "not_due":
            self._put(kinds.NOT_DUE, event, card)
        elif self._sealed and event.position.startswith(_HANDS):
            self._begin_reveal(event)  # the lock shows the last card, no event does

    def _on_unreadable(self, event: UnreadableEvent) -> None:
        self._drawn = None
        fault, position = event.fault, event.position
        if position == "not_due":
            self._put(kinds.NOT_DUE, event, f"no readable card: {spaced(fault)}")
        if fault == "power_lost":
            self._put(kinds.POWER_LOST, event, f"a card was passing as {spaced(position)}")

    def _on_result(self, event: ResultEvent) -> None:
        self._round_open = False
        self._end(kinds.LONG_ROUND, event)
        self._shows_at_once = self._games.at_once(event.game)
        if self._sealed:
            self._end(kinds.LONG_REVEAL, event)
        elif self._shows_at_once is not True:
            self._begin_reveal(event)

    def _on_blackjack_result(self, event: BlackjackResultEvent) -> None:
        self._round_open = False
        self._end(kinds.LONG_ROUND, event)

    def _on_hand_begun(self, event: HandBegunEvent) -> None:
        self._drop(kinds.LONG_ROUND)  # its players bet between the cards, as long as they like

    def _on_hand_ended(self, event: HandEndedEvent) -> None:
        self._round_open = False

    def _begin_reveal(self, event: Event) -> None:
        detail = "from the last card to the reveal"
        self._begin(kinds.LONG_REVEAL, event, detail, 1000 * self._limits.reveal_s)

    def _on_round_void(self, event: RoundVoidEvent) -> None:
        self._round_open = False
        self._end(kinds.LONG_ROUND, event)
        self._drop(kinds.LONG_REVEAL)
        self._put(kinds.VOID, event, VOIDED.get(event.reason, spaced(event.reason)))

    def _on_error(self, event: ErrorEvent) -> None:
        self._drawn = None
        detail = error_text(event)
        if self._errors:
            detail += f", while not cleared: {self._first_error}"
        else:
            self._first_error = detail
        draft = self._put(kinds.ERROR, event, detail)
        if event.error == "cards_missing":
            self._lacks_cards(draft)
        draft.over = False
        self._errors.append(draft)

    def _on_resolved(self, event: ResolvedEvent) -> None:
        for draft in self._errors[:1]:
            draft.detail += f"; {RESOLVED.get(event.resolution, spaced(event.resolution))}"

    def _on_error_cleared(self, event: ErrorClearedEvent) -> None:
        for draft in self._errors:
            draft.detail += f"; {CLEARED[self._key_on]}"
            draft.end, draft.over = event, True
        self._errors = []

    def _on_shoe_ended(self, event: ShoeEndedEvent) -> None:
        self._drop(kinds.LONG_REVEAL)
        self._in_play = self._round_open = False
        if event.reason == "supervisor":
            after = event.rounds
            detail = "" if after is None else f" after {counted(after, 'round')}"
            detail = f"ended by the supervisor{detail}"
            self._ended_early = self._put(kinds.ENDED_EARLY, event, detail)

    def _on_clock_set(self, event: ClockSetEvent) -> None:
        before = event.before_unix_ms
        if event.unix_ms is None:
            return
        if before is not None:
            change = event.unix_ms - before
            if abs(change) > CLOCK_TOLERANCE_MS:
                self._put(kinds.CLOCK, event, f"set {change_text(change)}")
        elif self._last_unix_ms is not None:
            change = event.unix_ms - self._last_unix_ms
            if change < -CLOCK_TOLERANCE_MS:
                detail = f"set {change_text(change)} from its time before the restart"
                self._put(kinds.CLOCK, event, detail)

    def _on_gap(self, event: GapEvent) -> None:
        self._gaps.append((event.first, event.last))
        self._put(kinds.GAP, event, f"{numbers_text(event)} lost: {spaced(event.reason)}")

    def _on_clean_sensor(self, event: CleanSensorEvent) -> None:
        channel, mean = event.channel.upper(), event.mean_permille
        self._put(kinds.SENSOR, event, f"channel {channel} to be cleaned, mean {mean / 10:.1f} %")

    def _on_journal_fault(self, event: JournalFaultEvent) -> None:
        detail = f"{spaced(event.fault)}, sector {event.sector}"
        if event.last:
            detail += f", {numbers_text(event)} cannot be read any more"
        self._put(kinds.JOURNAL, event, detail)

    def _later(self, event: Event) -> None:
        """Take an event that is not understood in full; the first of each in a shoe of cards."""
        new = [what for what in event.unknown() if what not in self._unknown]
        if new:
            self._unknown.update(new)
            what = " and ".join(new)
            self._put(
                kinds.UNKNOWN, event, f"{what}: unknown to this version of Sabot; update this host"
            )

    def _place(self, event: Event) -> None:
        """Note the event's shoe of cards and round, and the events that are missing before it."""
        last = self._last
        if self._whole and last is not None and event.number > last.number + 1:
            self._break()
            first, before = last.number + 1, event.number - 1
            one = first == before
            which = f"event {first} is" if one else f"events {first} to {before} are"
            detail = f"{which} missing, or cannot be read"
            self._missing.append((first, before, self._put(kinds.GAP, event, detail)))
        # Events about the unit itself may have no shoe of cards, and of an unknown one it does not
        # count what it says.
        if event.shoe and not isinstance(event, UnknownEvent):
            if event.shoe != self._shoe:
                self._round = 0
                self._long_passes, self._ended_early = [], None
                self._sealed, self._drawn = False, None
                self._cut_card_came, self._not_seen = False, ""
                self._unknown.clear()
            self._shoe = event.shoe
            self._round = event.round or self._round

    def _break(self) -> None:
        """Note that events are missing: an open incident may have ended in them."""
        for draft in self._errors:
            draft.detail += "; its end is not in the log"
            draft.over = True
        for draft in self._open.values():
            self._cut_off(draft)
        self._open.clear()
        self._errors = []
        self._key_on = self._clock_base = None

    def _clock(self, event: Event) -> None:
        if event.unix_ms is None:
            return
        base = event.unix_ms - event.t_ms
        if self._last is not None and self._last.boot != event.boot:
            self._clock_base = None
        self._first_bases.setdefault(event.boot, base)
        jumped = None if self._clock_base is None else base - self._clock_base
        may_be_set = isinstance(event, ClockSetEvent | UnknownEvent)
        if not may_be_set and jumped is not None and abs(jumped) > CLOCK_TOLERANCE_MS:
            self._put(kinds.CLOCK, event, f"jumped {change_text(jumped)} without being set")
        self._clock_base = base
        if event.kind != "clock_set":
            self._last_unix_ms = event.unix_ms

    def _lacks_cards(self, draft: _Draft) -> None:
        """Note what may explain the missing cards: which were not seen, and the long passes."""
        if self._not_seen:
            draft.detail += f"; {self._not_seen}"
        draft.long_passes = self._long_passes

    def _nearest(self, draft: _Draft) -> tuple[NearPass, ...] | None:
        if draft.long_passes is None:
            return None
        longest = sorted(draft.long_passes, key=lambda each: (-each.longer_um, each.number))
        return tuple(
            NearPass(
                each.number, each.round, each.boot, each.t_ms, self._unix_ms(each),
                None if each.card is None else cards.name_of(each.card), each.longer_um,
            )
            for each in longest[:_MOST_NEAREST]
        )  # fmt: skip

    def _put(self, kind: Kind, event: Event, detail: str) -> _Draft:
        draft = self._draft(kind, event, detail)
        self._drafts.append(draft)
        return draft

    def _draft(self, kind: Kind, event: Event, detail: str) -> _Draft:
        return _Draft(kind.name, event, self._shoe, self._round, detail)

    def _begin(self, kind: Kind, event: Event, detail: str, least_ms: int = 0) -> None:
        self._drop(kind)
        draft = self._open[kind.name] = self._draft(kind, event, detail)
        draft.over, draft.least_ms = False, least_ms

    def _end(self, kind: Kind, event: Event) -> None:
        draft = self._open.pop(kind.name, None)
        if draft is None:
            return
        draft.end, draft.over = event, True
        length_known = draft.begin.boot == event.boot  # a clock that is set later may show it
        if not length_known or event.t_ms - draft.begin.t_ms > draft.least_ms or not draft.least_ms:
            self._drafts.append(draft)

    def _drop(self, kind: Kind) -> None:
        """End a draft at an unknown time. Drop it if only its length would make it an incident."""
        draft = self._open.pop(kind.name, None)
        if draft is not None:
            self._cut_off(draft)

    def _cut_off(self, draft: _Draft) -> None:
        if not draft.least_ms:
            draft.over = True
            self._drafts.append(draft)

    def _made(self, draft: _Draft, waited_ms: int) -> Incident | None:
        stands = not draft.over
        is_due = self._sealed or self._shows_at_once is not None
        if draft.kind == kinds.LONG_REVEAL.name and stands and not is_due:
            return None  # it is not known whether a reveal is due
        end = self._last if stands else draft.end
        lasted = None if end is None else self._ms_between(draft.begin, end)
        if lasted is not None and stands:
            lasted += waited_ms
        if draft.least_ms and (lasted is None or lasted <= draft.least_ms):
            return None
        detail = draft.detail
        if draft.before is not None:
            pause = self._ms_between(draft.before, draft.begin)
            if pause is not None:
                detail += f"; {duration_text(pause)} after the event before"
        begin = draft.begin
        unix_ms = self._unix_ms(begin)
        return Incident(
            self._unit, draft.kind, begin.number, draft.shoe, draft.round, begin.boot, begin.t_ms,
            unix_ms, begin.unix_ms is None and unix_ms is not None, lasted, stands, detail,
            self._nearest(draft),
        )  # fmt: skip

    def _unix_ms(self, event: Event) -> int | None:
        if event.unix_ms is not None:
            return event.unix_ms
        base = self._first_bases.get(event.boot)
        return None if base is None else base + event.t_ms

    def _ms_between(self, begin: Event, end: Event) -> int | None:
        """The time between two events: by the time since the start if they have the same, else by
        the clock, which can be set.
        """
        if begin.boot == end.boot:
            return max(0, end.t_ms - begin.t_ms)
        first, last = self._unix_ms(begin), self._unix_ms(end)
        return None if first is None or last is None or last < first else last - first


def _covers(ranges: Iterable[tuple[int, int]], first: int, last: int) -> bool:
    """Whether sorted `ranges` together contain every number from `first` to `last`."""
    following = first
    for low, high in ranges:
        if low <= following <= high:
            following = high + 1
    return following > last
