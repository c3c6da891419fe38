"""Checks a log: nothing missing, doubled or changed, every round as its cards demand."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from protocol import cards
from sabot import rules, wire
from sabot.rounds import Round, Rounds
from sabot.store import Filter, Row, Store


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log must not have: at which event of which unit, and what.

    Kinds: `missing` (numbers that are nowhere), `gap` (numbers that the shoe itself reports as
    lost), `damaged` (a record that cannot be read), `changed` (a record that is not what the
    table says of it), `time` (clock of the shoe running backwards), `incomplete` (a round
    without an end), `cards` (a composition that the decks cannot give), `rules` (a draw, total,
    winner, burn or count that differs from the recomputed one).
    """

    unit: str
    event: int
    kind: str
    detail: str

    def as_json(self) -> dict[str, object]:
        """The finding as `sabot verify --json` prints it."""
        return asdict(self)


@dataclass(slots=True)
class Summary:
    """What was checked."""

    units: int = 0
    events: int = 0
    rounds: int = 0


def verify(store: Store, summary: Summary) -> Iterator[Finding]:
    """Every finding in the log, unit by unit; `summary` counts what was looked at."""
    for unit in store.units():
        summary.units += 1
        yield from verify_unit(unit, store.rows(Filter(unit=unit)), summary)


def verify_unit(unit: str, rows: Iterable[Row], summary: Summary) -> Iterator[Finding]:
    """Every finding among the `rows` of one unit, which come in the order of their numbers."""
    check = _UnitCheck(unit, summary)
    for row in rows:
        yield from check.row(row)
    yield from check.end()


class _UnitCheck:
    def __init__(self, unit: str, summary: Summary) -> None:
        self._unit = unit
        self._summary = summary
        self._next = 1
        self._missing: list[tuple[int, int]] = []
        self._gaps: list[tuple[int, int, str]] = []
        self._before: wire.Event | None = None
        self._rounds = Rounds(unit)
        self._shoe = _ShoeCheck()

    def row(self, row: Row) -> Iterator[Finding]:
        self._summary.events += 1
        if row.number > self._next:
            self._missing.append((self._next, row.number - 1))
        self._next = row.number + 1
        try:
            event = row.event()
        except wire.WireError as error:
            yield self._finding(row.number, "damaged", f"record cannot be read: {error}")
            return
        told = (event.number, event.kind, event.unix_ms, event.shoe, event.round)
        stored = (row.number, row.kind, row.unix_ms, row.shoe, row.round)
        if told != stored:
            detail = f"the record says {told}, the table says {stored}"
            yield self._finding(row.number, "changed", detail)
            return
        yield from self._event(event)

    def end(self) -> Iterator[Finding]:
        declared = [(first, last) for first, last, _ in self._gaps]
        for first, last in self._missing:
            if not any(low <= first and last <= high for low, high in declared):
                detail = f"events {first} to {last} are not in the log"
                yield self._finding(first, "missing", detail)
        for first, last, reason in self._gaps:
            lost = [(a, b) for a, b in self._missing if first <= a and b <= last]
            if lost:
                numbers = ", ".join(f"{a} to {b}" for a, b in lost)
                detail = f"the shoe gave up events {numbers} ({reason})"
                yield self._finding(lost[0][0], "gap", detail)

    def _event(self, event: wire.Event) -> Iterator[Finding]:
        before, self._before = self._before, event
        if before is not None:
            if event.boot < before.boot:
                detail = f"boot {event.boot} after boot {before.boot}"
                yield self._finding(event.number, "time", detail)
            elif event.boot == before.boot and event.t_ms < before.t_ms:
                detail = f"{event.t_ms} ms after {before.t_ms} ms"
                yield self._finding(event.number, "time", detail)
        if event.kind == "gap":
            fields = event.fields
            self._gaps.append((fields["first"], fields["last"], fields["reason"]))
        was_open = self._rounds.open
        ended = self._rounds.add(event)
        if event.kind == "betting_open" and was_open is not None:
            detail = f"round {was_open.round} of shoe {was_open.shoe} has no result"
            yield self._finding(event.number, "incomplete", detail)
        for kind, detail in self._shoe.event(event):
            yield self._finding(event.number, kind, detail)
        if ended is not None:
            self._summary.rounds += 1
            for detail in _wrong_with(ended, self._shoe.decisions):
                where = f"shoe {ended.shoe} round {ended.round}: "
                yield self._finding(event.number, "rules", where + detail)

    def _finding(self, number: int, kind: str, detail: str) -> Finding:
        return Finding(self._unit, number, kind, detail)


class _ShoeCheck:
    """What must hold over a shoe of cards."""

    def __init__(self) -> None:
        self.decisions: dict[str, tuple[str, int]] = {}
        """Decision and total by hand, in the round that is open."""
        self._decks = 0
        self._drawn: Counter[int] = Counter()
        self._unreadable = 0
        self._results = 0
        self._round = 0
        self._burn_due: int | None = None
        self._whole = False

    def event(self, event: wire.Event) -> Iterator[tuple[str, str]]:
        kind, fields = event.kind, event.fields
        if kind == "shoe_loaded":
            self.__init__()  # type: ignore[misc]
            self._decks = fields["decks"]
            self._whole = True
        elif kind == "gap" or kind == "boot":
            self._whole = False
        elif kind == "betting_open":
            self.decisions = {}
            self._round += 1
            if self._whole and event.round != self._round:
                yield "rules", f"round {event.round} follows round {self._round - 1}"
            self._round = event.round
        elif kind == "card":
            yield from self._card(fields["card"], fields["position"])
        elif kind == "unreadable":
            self._unreadable += 1
        elif kind == "burn":
            if self._burn_due is not None and fields["count"] != self._burn_due:
                due = f"{self._burn_due} by the first card"
                yield "rules", f"{fields['count']} cards to burn, {due}"
        elif kind == "decision":
            self.decisions[fields["hand"]] = (fields["action"], fields["total"])
        elif kind == "result":
            self._results += 1
        elif kind == "shoe_ended":
            yield from self._ended(fields["rounds"], fields["cards"])

    def _card(self, card: int, position: str) -> Iterator[tuple[str, str]]:
        self._drawn[card] += 1
        if position == "burn_first":
            self._burn_due = rules.burn_count(cards.name_of(card))
        if self._whole and self._drawn[card] > self._decks:
            copies = f"copy {self._drawn[card]} of {cards.name_of(card)}"
            yield "cards", f"{copies} in a shoe of {self._decks} decks"

    def _ended(self, rounds: int | None, count: int | None) -> Iterator[tuple[str, str]]:
        drawn = self._drawn.total() + self._unreadable
        if self._whole and rounds is not None and rounds != self._results:
            yield "rules", f"shoe ended after {rounds} rounds, {self._results} are in the log"
        if self._whole and count is not None and count != drawn:
            yield "rules", f"shoe ended after {count} cards, {drawn} are in the log"


def _wrong_with(ended: Round, decisions: dict[str, tuple[str, int]]) -> Iterator[str]:
    if ended.void is not None:
        return
    verdict = rules.judge(ended.player, ended.banker)
    if verdict.wrong is not None:
        yield verdict.wrong
    for name, told, right in (
        ("Player's total", ended.player_total, verdict.player_total),
        ("Banker's total", ended.banker_total, verdict.banker_total),
        ("winner", ended.winner, verdict.winner),
        ("natural", ended.natural, verdict.natural),
    ):
        if told != right:
            yield f"{name} is {told} in the log, {right} by the cards"
    for name, hand in (("player", ended.player), ("banker", ended.banker)):
        if name in decisions:
            yield from _wrong_decision(name, hand, *decisions[name])


def _wrong_decision(name: str, hand: list[str], action: str, total: int) -> Iterator[str]:
    first_two = rules.total(hand[:2])
    if total != first_two:
        yield f"{name} decided on {total}, the first two cards give {first_two}"
    right = "draws" if len(hand) == 3 else "natural" if first_two >= 8 else "stands"
    if action != right:
        yield f"{name} {action} in the log, {right} by the cards"
