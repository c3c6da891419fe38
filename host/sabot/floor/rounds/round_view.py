"""Everything that one round's page shows, as far as it may be shown (log/reveal.py).

Which round: a unit counts its shoes of cards and rounds, so that a shoe that lost its memory may
have two of the same numbers. The newest is meant, unless the first event is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from sabot.audit.table_names import Tables
from sabot.floor.rounds import proof
from sabot.floor.rounds.decisions import Decision, WagerVerdict, decisions, verdicts
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.passes import CapturedPass, passes_of
from sabot.floor.rounds.proof import Proof, Prover
from sabot.floor.rounds.rule_card import RuleCard, rule_card
from sabot.floor.rounds.search import Query
from sabot.link.events import DECIDED, Event, GameLoadedEvent, SealedCardEvent
from sabot.link.seals import opened
from sabot.link.wire import WireError
from sabot.log.reading.events import fields_of
from sabot.log.reading.shoe_game import game_in_shoe
from sabot.log.reveal import (
    SealedCards,
    UnknownValues,
    deciding_before,
    hidden_round,
    place_before,
    shown,
)
from sabot.log.rounds import Dealt, Round, Rounds
from sabot.log.store import DAMAGED, Filter, Row, Store
from sabot.notable.incident import Incident
from sabot.reports.event_words import words_of
from sabot_protocol.baccarat import Game
from sabot_protocol.games import FamilyGame, GameError, game_of

_MOST_EVENTS = 3000  # a round has forty; what a forger adds is not shown
_BEFORE_MS, _AFTER_MS = 15_000, 20_000
"""What is shown on the video before the betting is opened and after the round ends: the wagers that
were placed before, and how they were paid."""


@dataclass(frozen=True, slots=True)
class RoundEvent:
    """An event as the page lists it."""

    number: int
    kind: str
    unix_ms: int | None
    words: str
    record: bytes
    """Empty if it has what must not be shown yet."""
    mac: bytes
    fits: bool | None
    """Whether the MAC is right; None if it was not checked."""


@dataclass(frozen=True, slots=True)
class VideoSpan:
    """From when to when to look at the video."""

    begin_unix_ms: int
    end_unix_ms: int
    what: str


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round with all that is known of it."""

    unit: str
    table: str
    """"" if that is not known."""
    shoe: int
    round: int
    first_event: int
    last_event: int
    state: str
    """ "open", "ended", "void"; "hidden": it must not show yet; "unended": the log goes on without
    its end."""
    dealt: Dealt | None
    """None if the events do not make a round."""
    face_down: tuple[tuple[str, int], ...]
    """Positions of cards that are not known, and how many there."""
    begun_unix_ms: int | None
    ended_unix_ms: int | None
    events: tuple[RoundEvent, ...]
    withheld: int
    """How many events are not shown before the reveal."""
    decisions: tuple[Decision, ...]
    verdicts: tuple[WagerVerdict, ...]
    proofs: tuple[Proof, ...]
    card: RuleCard | None
    incidents: tuple[Incident, ...]
    passes: tuple[CapturedPass, ...]
    video: tuple[VideoSpan, ...]
    others: tuple[int, ...]
    """First events of other rounds of this unit with the same numbers."""


@dataclass(frozen=True, slots=True)
class Sources:
    """From what rounds are shown."""

    store: Store
    index: RoundIndex
    prover: Prover
    zone: tzinfo
    captures: Path | None = None

    def view(
        self, unit: str, shoe: int, round_: int, first_event: int | None = None
    ) -> RoundView | None:
        """The round of a unit; None if the log does not have it."""
        rows = [row for row in self.store.rows(Filter(unit, shoe, round_)) if row.kind != DAMAGED]
        begins = [row.number for row in rows if row.kind == "betting_open"]
        if not rows:
            return None
        begins = begins or [rows[0].number]
        first = begins[-1] if first_event is None else first_event
        if first not in begins:
            return None
        following = next((each for each in begins if each > first), None)
        last = max(row.number for row in rows if following is None or row.number < following)
        return self._view(unit, (shoe, round_), first, last, [b for b in begins if b != first])

    def _view(
        self, unit: str, place: tuple[int, int], first: int, last: int, others: Sequence[int]
    ) -> RoundView:
        hidden_place = hidden_round(self.store, unit)
        rows, readable = self._events(unit, first, last)
        hidden = hidden_place == place
        visible = [each for each in (shown(each, hidden_place) for each in readable)
                   if each is not None]  # fmt: skip
        known = opened(visible)
        dealt = _dealt(unit, visible, game_in_shoe(self.store, unit, first))
        ended = dealt is not None and bool(dealt.last_event) and not hidden
        game = self._game(unit, place, readable, first)
        records = [(row.number, row.data, row.mac) for row in rows]
        fits = self.prover.fits(self.store, unit, records)
        last_of_round = last if dealt is None or not ended else dealt.last_event
        state = "hidden" if hidden else "ended" if ended else "open"
        if ended and dealt is not None and dealt.void is not None:
            state = "void"
        elif not ended and not hidden and place_before(self.store, unit) != place:
            state = "unended"
        play = proof.of_play(self.store, unit, place[0], first, last, over=ended)
        if state == "unended":
            play = Proof(play.title, proof.DIFFERS, "the log goes on without an end of this round")
        seal = proof.of_seal(readable, hidden=hidden)
        sha256 = None if hidden else _decided_by(readable)
        proofs = [
            proof.of_records(records),
            proof.of_macs(records, fits),
            play,
            *([] if seal is None else [seal]),
            proof.of_document(self.store, sha256),
        ]
        incidents = self._incidents(unit, place, first)
        begun = readable[0].unix_ms if readable else None
        whole = ended and dealt is not None and not dealt.sealed
        return RoundView(
            unit=unit,
            table=(self.index.tables_of(unit) or Tables(self.store, unit)).at(first),
            shoe=place[0],
            round=place[1],
            first_event=first,
            last_event=last_of_round,
            state=state,
            dealt=dealt,
            face_down=tuple(_face_down(known)),
            begun_unix_ms=begun,
            ended_unix_ms=dealt.ended_unix_ms if dealt is not None and ended else None,
            events=tuple(self._listed(unit, rows, hidden_place, fits)),
            withheld=len(readable) - len(visible),
            decisions=tuple(decisions(known, game)),
            verdicts=_verdicts(dealt, game) if ended else (),
            proofs=tuple(proofs),
            card=None if game is None else rule_card(game.document),
            incidents=tuple(incidents),
            passes=tuple(passes_of(self.captures, unit, known)) if whole else (),
            video=tuple(_video(readable, last_of_round, incidents)),
            others=tuple(others),
        )

    def _events(self, unit: str, first: int, last: int) -> tuple[list[Row], list[Event]]:
        """The rows from `first` to `last`, and the events of those that can be read."""
        rows, events = list[Row](), list[Event]()
        for row in self.store.rows(Filter(unit, first=first, last=last)):
            rows.append(row)
            try:
                events.append(row.event())
            except WireError:
                continue
            if len(rows) >= _MOST_EVENTS:
                break
        return rows, events

    def _listed(
        self,
        unit: str,
        rows: Sequence[Row],
        hidden: tuple[int, int] | None,
        fits: Sequence[bool | None] | None,
    ) -> list[RoundEvent]:
        sealed, unknown = SealedCards(self.store, unit), UnknownValues(self.store, unit)
        listed = []
        for row, fit in zip(rows, fits or [None] * len(rows), strict=True):
            try:
                event = row.event()
            except WireError:
                words, kind, at = "cannot be read", DAMAGED, None
                record = b"" if (row.shoe, row.round) == hidden else row.data
            else:
                visible = shown(event, hidden)
                if visible is None:
                    continue
                visible = unknown.as_shown(visible)
                words = words_of(visible.kind, fields_of(visible, sealed), self.zone)
                kind, at = visible.kind, visible.unix_ms
                record = row.data if visible is event else b""
            mac = row.mac if isinstance(row.mac, bytes) else b""
            record = record if isinstance(record, bytes) else b""
            listed.append(RoundEvent(row.number, kind, at, words, record, mac, fit))
        return listed

    def _game(
        self, unit: str, place: tuple[int, int], events: Sequence[Event], first: int
    ) -> FamilyGame | None:
        """The game that dealt the round; for one that was not decided the game of its shoe of
        cards, or the last one that any event before names."""
        sha256 = _decided_by(events)
        if sha256 is None:
            kinds = tuple(each.SHAPE.name for each in DECIDED)
            of_shoe = self.store.rows(Filter(unit, place[0], kinds=kinds))
            sha256 = next((_named_by(row) for row in of_shoe), None)
        if sha256 is None:
            for event in reversed(deciding_before(self.store, unit, first)):
                if isinstance(event, GameLoadedEvent):
                    sha256 = event.sha256
                elif isinstance(event, DECIDED):
                    sha256 = event.game
                if sha256 is not None:
                    break
        document = None if sha256 is None else self.store.game(sha256)
        try:
            return None if document is None else game_of(document)
        except GameError:
            return None

    def _incidents(self, unit: str, place: tuple[int, int], first: int) -> list[Incident]:
        shoe, round_ = place
        found, _ = self.index.incidents(Query(unit=unit, shoe=shoe, round=round_), _MOST_EVENTS)
        _, after = self.index.beside(unit, first)
        end = None if after is None else after.row.first_event
        own = [
            each.incident for each in found
            if each.incident.event is not None and first <= each.incident.event
            and (end is None or each.incident.event < end)
        ]  # fmt: skip
        return sorted(own, key=lambda each: each.event or 0)


def _dealt(unit: str, visible: Sequence[Event], in_shoe: str) -> Dealt | None:
    rounds, ended = Rounds(unit, in_shoe), None
    for event in visible:
        ended = rounds.add(event) or ended
    return ended or rounds.open


def _verdicts(dealt: Dealt | None, game: FamilyGame | None) -> tuple[WagerVerdict, ...]:
    if isinstance(dealt, Round) and isinstance(game, Game) and not dealt.sealed:
        return tuple(verdicts(dealt, game))
    return ()


def _decided_by(events: Sequence[Event]) -> bytes | None:
    return next((each.game for each in events if isinstance(each, DECIDED)), None)


def _named_by(row: Row) -> bytes | None:
    try:
        event = row.event()
    except WireError:
        return None
    return event.game if isinstance(event, DECIDED) else None


def _face_down(known: Sequence[Event]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for event in known:
        if isinstance(event, SealedCardEvent):
            counts[event.position] = counts.get(event.position, 0) + 1
    return [*counts.items()]


def _video(events: Sequence[Event], last: int, incidents: Sequence[Incident]) -> list[VideoSpan]:
    """From when to when to look: the round, and each incident that lasts beyond it."""
    times = [each.unix_ms for each in events if each.unix_ms is not None and each.number <= last]
    spans = []
    if times:
        spans.append(VideoSpan(min(times) - _BEFORE_MS, max(times) + _AFTER_MS, "the round"))
    for each in incidents:
        if each.unix_ms is None:
            continue
        begin, end = each.unix_ms - _BEFORE_MS, each.unix_ms + (each.lasted_ms or 0) + _AFTER_MS
        if not spans or begin < spans[0].begin_unix_ms or end > spans[0].end_unix_ms:
            spans.append(VideoSpan(begin, end, each.kind.replace("_", " ")))
    return spans
