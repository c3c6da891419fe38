"""Looks for incidents in the records of a log, unit by unit and shoe of cards by shoe of cards.

What must be looked at of a shoe of cards depends on its own records alone. An IncidentFinder then
takes it in order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.decoding import (
    UNKNOWN,
    LaterValues,
    Values,
    event_of,
    values_of,
)
from sabot.audit.checks.findings import Finding, FoundInUnit, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.play.play_checks import PlayChecks
from sabot.link.events import Event, SealedCardEvent
from sabot.link.seals import KINDS, RoundSeal
from sabot.log.reveal import Reveal, ShownGames, without_secret_card
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_finder import IncidentFinder
from sabot_protocol import enums, events

MOST_TOGETHER = 50_000
"""Records in memory at once. A shoe of cards has a tenth of it; one that goes on for longer is
looked through in parts."""

(
    _BETTING_OPEN,
    _BETTING_CLOSED,
    _BUTTON,
    _CARD,
    _SEAL,
    _SEALED_CARD,
    _RESULT,
    _SHOE_ENDED,
    _SHOE_LOADED,
) = (
    shape.number
    for shape in (
        events.BETTING_OPEN,
        events.BETTING_CLOSED,
        events.BUTTON,
        events.CARD,
        events.SEAL,
        events.SEALED_CARD,
        events.RESULT,
        events.SHOE_ENDED,
        events.SHOE_LOADED,
    )
)
_CARDS = (_CARD, _SEALED_CARD)
_OF_SEALS = [shape.number for shape in events.KINDS if shape.name in KINDS]
_REVEAL = enums.BUTTONS.index("reveal")
_NOT_DUE = enums.POSITIONS.index("not_due")
_NUMBER, _T_MS, _UNIX_MS, _SHOE, _OWN = 1, 3, 4, 5, 7
"""Indexes in a record's values; its own fields begin at the last."""
_PLACE = slice(5, 7)
"""Of the shoe of cards and of the round in a record's values."""
_POSITIONS = {
    shape.number: _OWN + [name for name, _ in shape.fields].index("position")
    for shape in (events.CARD, events.SEALED_CARD)
}
"""The index of a card's position, by its kind."""
_BY_HAND = {
    shape.number: _OWN + [name for name, _ in shape.fields].index("by_hand")
    for shape in (events.CARD, events.SEALED_CARD)
}

_MORE_OF_A_CARD = len(events.CARD.fields) + _OWN - 1 - _BY_HAND[events.CARD.number]
"""How many fields of a card come after that."""

_TAKEN = [False] * 256
"""By the number of a kind: whether it is an incident or part of one."""
_LASTING = [False] * 256
"""By the number of a kind: whether it decides about the reveal of later rounds too."""
for _shape in events.KINDS:
    _TAKEN[_shape.number] = hasattr(IncidentFinder, f"_on_{_shape.name}")
for _shape in (
    events.BOOT,
    events.GAP,
    events.GAME_LOADED,
    events.RESULT,
    events.LID,
    events.ERROR,
    events.ERROR_CLEARED,
):
    _LASTING[_shape.number] = True

Decoded = tuple[Sequence[RawRecord], Sequence[Values | None]]
"""Records that follow each other, and the values of each; None for one that cannot be read."""

Step = tuple[Values, Sequence[str] | None]
"""The values of an event and the verifier's disagreements with it; None instead of these for the
last of events that are passed over."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The incidents of one shoe of cards or all, from `begin` to `end`; None: no limit."""

    shoe: int | None = None
    begin: int | None = None
    end: int | None = None
    limits: Limits = field(default_factory=Limits)

    def has(self, incident: Incident) -> bool:
        """Whether this is one of them."""
        return self.shoe in (None, incident.shoe) and incident.within(self.begin, self.end)

    def may_be_in(self, shoe: "Shoe", until: int | None) -> bool:
        """Whether any of them may be in these records, which end before `until`. Those without a
        clock may be of any time."""
        if self.shoe not in (None, shoe.number):
            return False
        if self.begin is None and self.end is None:
            return True
        times = [None if values is None else values[_UNIX_MS] for values in shoe.decoded]
        known = [at for at in times if at is not None]
        if len(known) < len(times):
            return True
        if self.end is not None and min(known) >= self.end:
            return False
        return self.begin is None or until is None or max(until, *known) >= self.begin


@dataclass(slots=True)
class Shoe:
    """The records of a shoe of cards, and others between them."""

    number: int = 0
    """Counted by the unit; 0 before the first."""
    records: list[RawRecord] = field(default_factory=list)
    decoded: list[Values | None] = field(default_factory=list)
    """The values of each record; None for one that cannot be read."""


@dataclass(frozen=True, slots=True)
class Notable:
    """What must be looked at of a shoe of cards."""

    steps: Sequence[Step]
    hidden: tuple[int, int] | None
    """Numbers of the shoe of cards and of the round that must not be shown; None for none."""
    damaged: int
    """How many of its records cannot be read."""


class Search:
    """Finds the incidents that are wanted. `games` dealt the rounds."""

    def __init__(self, wanted: Wanted, games: ShownGames) -> None:
        self.damaged = 0
        """Records so far that cannot be read."""
        self._wanted = wanted
        self._games = games

    def of_unit(self, unit: str, records: Iterable[Sequence[RawRecord]]) -> list[Incident]:
        """The incidents in all `records` of a unit, which come some at a time."""
        return self.found(unit, (self.notable(unit, *each) for each in shoes_of(records)))

    def notable(self, unit: str, shoe: Shoe, until: int | None) -> Notable | None:
        """What must be looked at of a shoe of cards, whose records end before the time `until`;
        None if no incident in it is wanted."""
        if not self._wanted.may_be_in(shoe, until):
            return None
        good = [values for values in shoe.decoded if values is not None]
        disagreements: dict[int, list[str]] = {}
        for finding in _findings(unit, shoe, good):
            if finding.kind == "rules":
                disagreements.setdefault(finding.event, []).append(finding.detail)
        steps = _steps(_opened(good), disagreements, self._wanted.limits)
        # To the finder those that cannot be read are a gap: their numbers are missing.
        return Notable(steps, _hidden(good, self._games), len(shoe.decoded) - len(good))

    def found(self, unit: str, shoes: Iterable[Notable | None]) -> list[Incident]:
        """The incidents of a unit, of whose shoes of cards all that is notable comes in order."""
        finder = self.finder(unit)
        for shoe in shoes:
            if shoe is not None:
                self.damaged += shoe.damaged
            take(finder, shoe)
        return [each for each in finder.incidents() if self._wanted.has(each)]

    def finder(self, unit: str) -> IncidentFinder:
        """A finder of the incidents of a unit, which `take` gives its shoes of cards in order."""
        return IncidentFinder(unit, self._wanted.limits, self._games)


def take(finder: IncidentFinder, shoe: Notable | None) -> None:
    """Give a finder what is notable in the next shoe of cards; None if it is passed over."""
    if shoe is None:
        finder.skip()
        return
    for values, disagreements in shoe.steps:
        if disagreements is None:
            finder.pass_over(Event(*values[_NUMBER:_OWN]))
        else:
            event = without_secret_card(event_of(values), shoe.hidden)
            finder.add(event, disagreements)


def disagreements_shown(
    event: Event, disagreements: Sequence[str], hidden: tuple[int, int] | None
) -> Sequence[str]:
    """The verifier's disagreements with an event as they may be shown while the round `hidden` must
    not: they may name its cards."""
    if not disagreements or (event.shoe, event.round) != hidden:
        return disagreements
    return [f"shoe {event.shoe} round {event.round}: what differs is shown after the reveal"]


def shoes_of(
    records: Iterable[Sequence[RawRecord]], until: int | None = None
) -> Iterator[tuple[Shoe, int | None]]:
    """The records of a unit by shoe of cards, each with the time of the next one's first record.

    The time is None if that record has no clock, and `until` for the last one.
    """
    return shoes_in(map(decoded, records), until)


def decoded(some: Sequence[RawRecord]) -> Decoded:
    """Records with their values."""
    return some, values_of([record for _, record, _ in some])


def shoes_in(
    records: Iterable[Decoded], until: int | None = None
) -> Iterator[tuple[Shoe, int | None]]:
    """As `shoes_of`, of records that are decoded."""
    shoe, number = Shoe(), 0
    for some, every in records:
        begin = 0
        for at, values in enumerate(every):
            # Events about the unit itself may have no shoe.
            if values is None or values[_SHOE] == number:
                continue
            if values[_SHOE] and values[0] != UNKNOWN:
                shoe.records += some[begin:at]
                shoe.decoded += every[begin:at]
                if shoe.records:
                    yield shoe, values[_UNIX_MS]
                number = values[_SHOE]
                shoe, begin = Shoe(number), at
        shoe.records += some[begin:]
        shoe.decoded += every[begin:]
        if len(shoe.records) >= MOST_TOGETHER:
            yield shoe, None
            shoe = Shoe(number)
    if shoe.records:
        yield shoe, until


def _opened(good: list[Values]) -> list[Values]:
    """The values of events, with those of `card` for each sealed card whose key is there."""
    shown, seal, places = good, RoundSeal(), dict[int, int]()
    for place, values in enumerate(good):
        if values[0] not in _OF_SEALS:
            continue
        event = event_of(values)
        if isinstance(event, SealedCardEvent):
            places[event.number] = place
        for each in seal.add(event):
            if shown is good:
                shown = [*good]
            sealed = good[places[each.number]]
            position, last = _POSITIONS[_SEALED_CARD], _BY_HAND[_SEALED_CARD]
            known = [*sealed[position : last + 1], *[None] * _MORE_OF_A_CARD]
            card = [_CARD, *sealed[1:_OWN], each.card, *known]
            if not each.understood:
                later = LaterValues(card)
                later.event, card = each, later
            shown[places[each.number]] = card
    return shown


class _OrdinaryRound:
    """Whether nothing notable happened in a round since its betting was opened: after no more bets
    came its result in time, and after that the reveal in time, or none; or its sealed cards, and
    the reveal and the result in time after them."""

    def __init__(self, limits: Limits) -> None:
        self._round_ms, self._reveal_ms = 1000 * limits.round_s, 1000 * limits.reveal_s
        self._after: int | None = None  # the kind of the last event; None if something happened
        self._since_ms = self._closed_ms = 0

    @property
    def over(self) -> bool:
        """Whether nothing happened up to its end."""
        return self._after in (_RESULT, _BUTTON)

    def open(self) -> None:
        """Begin a new round."""
        # With a limit of 0 every round is an incident.
        self._after = _BETTING_OPEN if self._round_ms and self._reveal_ms else None

    def take(self, values: Values) -> None:
        """Take the next event that is an incident or part of one."""
        kind, after, t_ms = values[0], self._after, values[_T_MS]
        took_ms, self._since_ms = t_ms - self._since_ms, t_ms
        if kind == _BETTING_CLOSED:
            self._closed_ms = t_ms
            ordinary = after == _BETTING_OPEN
        elif kind == _SEAL:
            ordinary = after == _BETTING_CLOSED
        elif kind in _CARDS:
            ordinary = after in (_SEAL, *_CARDS) and _as_most_cards(values)
        elif kind == _RESULT:
            in_time = after == _BETTING_CLOSED or (after in _CARDS and took_ms <= self._reveal_ms)
            ordinary = in_time and t_ms - self._closed_ms <= self._round_ms
        else:
            ordinary = kind == _BUTTON and after == _RESULT and took_ms <= self._reveal_ms
        self._after = kind if ordinary else None

    def disturbed(self) -> None:
        """Note that something else happened."""
        self._after = None


def _steps(
    good: Sequence[Values], disagreements: Mapping[int, Sequence[str]], limits: Limits
) -> list[Step]:
    """What a finder must take of the events of a shoe of cards.

    Between two that matter are many that only say that time goes on. A whole round in which nothing
    notable happened leaves the finder as it was when the betting had been opened, but for the
    number of the round.
    """
    steps: list[Step] = []
    opened, ordinary = 0, _OrdinaryRound(limits)
    due, quiet, in_play, sealed, taken = -1, None, False, False, _TAKEN
    boot = shoe = round_ = base = None
    for values in good:
        kind, number, its_boot, t_ms, unix_ms, its_shoe, its_round = values[:_OWN]
        its_base = None if unix_ms is None else unix_ms - t_ms
        follows = (
            number == due
            and its_boot == boot
            and its_shoe == shoe
            and its_base == base
            and number not in disagreements
            and type(values) is list
        )
        due = number + 1
        if not follows:
            ordinary.disturbed()
        elif its_round == round_:
            if (
                not taken[kind]
                or (kind == _CARD and in_play and not sealed and _as_most_cards(values))
                or (kind == _BUTTON and (sealed or values[_OWN] != _REVEAL))
            ):
                quiet = values
                continue
            ordinary.take(values)
        elif kind == _BETTING_OPEN and ordinary.over and its_round:
            del steps[opened:]
            quiet, round_, sealed = values, its_round, False
            ordinary.open()
            continue
        else:
            ordinary.disturbed()
        if quiet is not None:
            steps.append((quiet, None))
            quiet = None
        steps.append((values, disagreements.get(number, ())))
        boot, shoe, round_, base = its_boot, its_shoe, its_round, its_base
        if kind == _BETTING_OPEN:
            opened, in_play, sealed = len(steps), True, False
            ordinary.open()
        elif kind in (_SHOE_LOADED, _SHOE_ENDED):
            in_play = kind == _SHOE_LOADED
        elif kind == _CARD:
            in_play |= values[_POSITIONS[_CARD]] != _NOT_DUE
        elif kind in (_SEAL, _SEALED_CARD):
            sealed = True
            in_play |= kind == _SEALED_CARD
    if quiet is not None:
        steps.append((quiet, None))
    return steps


def _as_most_cards(values: Values) -> bool:
    """Whether a card that was dealt from a shoe of cards in play is no incident."""
    return values[_POSITIONS[values[0]]] != _NOT_DUE and not values[_BY_HAND[values[0]]]


def _findings(unit: str, shoe: Shoe, good: Sequence[Values]) -> Iterable[Finding]:
    """The verifier's findings in the play of a shoe of cards."""
    # A forger can put anything in the place of a number.
    first = next((number for number, _, _ in shoe.records if type(number) is int), 1)
    numbers = [values[1] for values in good]
    whole = numbers == [number for number, _, _ in shoe.records]
    if not whole or numbers != list(range(first, first + len(numbers))):
        return UnitChecks(unit, first=first).verify(shoe.records, Summary())
    found = FoundInUnit(unit)
    play = PlayChecks(found.add)
    handlers = play.handlers
    for values in good:
        if play.not_composed:
            play.end_of(values)
        handler: Any = handlers[values[0]] if type(values) is list else play.later
        if handler is not None:
            handler(values)
    return found.in_order()


def _hidden(good: Sequence[Values], games: ShownGames) -> tuple[int, int] | None:
    """Numbers of the shoe of cards and of the round that must not be shown at the end of these
    events; None for none."""
    good = [values for values in good if values[0] != UNKNOWN]
    last = next((values[_PLACE] for values in reversed(good) if values[6]), None)
    opened = len(good)
    while opened and (good[opened - 1][_PLACE] == last or not good[opened - 1][6]):
        opened -= 1
    lasting = _LASTING
    before = [values for values in good[:opened] if lasting[values[0]]]
    if all(values[_PLACE] != last for values in before):
        # That round begins after all these. Of earlier results only the game of the last matters.
        result = next((values for values in reversed(before) if values[0] == _RESULT), None)
        before = [values for values in before if values[0] != _RESULT or values is result]
    reveal = Reveal(games)
    for values in (*before, *good[opened:]):
        reveal.add(event_of(values))
    return reveal.hidden
