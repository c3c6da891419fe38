"""Checks a log: nothing missing, doubled or changed, every round as its cards demand."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from protocol import cards, words
from sabot import rules, wire
from sabot.rounds import Round, Rounds
from sabot.store import Filter, Row, Store


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a log must not have: at which event of which unit, and what.

    Kinds: `missing` (numbers that are nowhere), `gap` (numbers that the shoe itself reports as
    lost), `damaged` (a record that cannot be read), `changed` (a record that is not what the
    table says of it), `time` (a clock of the shoe that ran backwards or jumped), `incomplete`
    (a round without an end), `cards` (a composition that the decks cannot give, or that its
    cards do not), `rules` (a draw, decision, order, total, winner, margin, burn or count that
    differs from the recomputed one, a hit that the cards are not, a card marked as entered by hand
    that was not or the other way round), `game` (another game than the one that was loaded, or
    one loaded while cards were in play).

    What a game's wagers ask for is not in the log, so a hit that was not told is not missed.

    A surplus copy is found although the shoe itself has stopped for it: it is in the log.
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
        if not isinstance(unit, str):  # SQLite keeps bytes in a column of text
            yield Finding(repr(unit), 0, "changed", "the table's unit is no text")
            continue
        yield from verify_unit(unit, store.rows(Filter(unit=unit)), summary)


def verify_unit(unit: str, rows: Iterable[Row], summary: Summary) -> Iterator[Finding]:
    """Every finding among the `rows` of one unit, which come in the order of their numbers."""
    check = _UnitCheck(unit, summary)
    for row in rows:
        yield from check.row(row)
    yield from check.end()


# Cards of the shoe that came out with a fault, where it is not one.
_CAME_OUT = {"double_feed": 2, "pushed_back": 0, "foreign_set": 0}
# Faults with which a card that is drawn again has not come out after all.
_STAYED_IN = ("double_feed", "jam", "sensor_fault")

_SHA_SHOWN = 16  # digits of a game's hash

_SHOWN = 3  # of the cards in which a composition differs

_GAPS = {
    "queue_full": "no host took them in time, and the shoe gave them up",
    "restart": "in the shoe's memory when its power went, or numbers never given",
}


class _UnitCheck:
    def __init__(self, unit: str, summary: Summary) -> None:
        self._unit = unit
        self._summary = summary
        self._next = 1
        self._missing: list[tuple[int, int]] = []
        self._gaps: list[tuple[int, int, str]] = []
        self._before: wire.Event | None = None
        self._clock_base: int | None = None  # time of day at the boot, by the clock as it was set
        self._rounds = Rounds(unit)
        self._shoe = _ShoeCheck()
        self._game: bytes | None = None  # SHA-256 of the one in the shoe, as far as known

    def row(self, row: Row) -> Iterator[Finding]:
        self._summary.events += 1
        if not isinstance(row.number, int):  # SQLite keeps text in a column of numbers
            yield self._finding(self._next, "changed", f"the table numbers it {row.number!r}")
            return
        if row.number > self._next:
            self._missing.append((self._next, row.number - 1))
            if row.kind != "boot":  # that voids an open round by itself
                yield from self._not_judged(row.number)
        self._next = row.number + 1
        try:
            event = row.event()
        except wire.WireError as error:
            yield self._finding(row.number, "damaged", f"record cannot be read: {error}")
            yield from self._not_judged(row.number)
            return
        told = (event.number, event.kind, event.unix_ms, event.shoe, event.round)
        stored = (row.number, row.kind, row.unix_ms, row.shoe, row.round)
        if told != stored:
            detail = f"the record says {told}, the table says {stored}"
            yield self._finding(row.number, "changed", detail)
            yield from self._not_judged(row.number)
            return
        yield from self._event(event)

    def end(self) -> Iterator[Finding]:
        declared = _joined([(first, last) for first, last, _ in self._gaps])
        for first, last in self._missing:
            if not any(low <= first and last <= high for low, high in declared):
                detail = f"events {first} to {last} are not in the log"
                yield self._finding(first, "missing", detail)
        for first, last, reason in self._gaps:
            lost = [(a, b) for a, b in self._missing if first <= a and b <= last]
            if lost:
                numbers = ", ".join(f"{a} to {b}" for a, b in lost)
                detail = f"{_GAPS[reason]}: events {numbers}"
                yield self._finding(lost[0][0], "gap", detail)

    def _not_judged(self, number: int) -> Iterator[Finding]:
        """At `number` something is not there: what it was part of cannot be judged."""
        self._shoe.whole = False
        self._game = None
        if self._rounds.open is not None:
            yield self._incomplete(number, self._rounds.open)
            self._rounds.open = None

    def _event(self, event: wire.Event) -> Iterator[Finding]:
        before, self._before = self._before, event
        if before is not None:
            if event.boot < before.boot:
                detail = f"boot {event.boot} after boot {before.boot}"
                yield self._finding(event.number, "time", detail)
            elif event.boot == before.boot and event.t_ms < before.t_ms:
                detail = f"{event.t_ms} ms after {before.t_ms} ms"
                yield self._finding(event.number, "time", detail)
            elif self._clock_jumps(before, event):
                detail = f"{event.unix_ms} ms of the day do not go with {event.t_ms} ms since boot"
                yield self._finding(event.number, "time", detail)
        if event.kind == "gap":
            fields = event.fields
            self._gaps.append((fields["first"], fields["last"], fields["reason"]))
        yield from self._game_of(event)
        was_open = self._rounds.open
        ended = self._rounds.add(event)
        if was_open is not None and ended is None and self._rounds.open is not was_open:
            yield self._incomplete(event.number, was_open)
        for kind, detail in self._shoe.event(event):
            yield self._finding(event.number, kind, detail)
        if ended is not None:
            self._summary.rounds += 1
            for detail in _wrong_with(ended, self._shoe, event):
                where = f"shoe {ended.shoe} round {ended.round}: "
                yield self._finding(event.number, "rules", where + detail)

    def _game_of(self, event: wire.Event) -> Iterator[Finding]:
        if event.kind == "boot" or event.kind == "gap":
            self._game = None  # the log does not have which one was kept
        elif event.kind == "game_loaded":
            if self._shoe.in_play():
                yield self._finding(event.number, "game", "loaded while cards were in play")
            self._game = event.fields["sha256"]
        elif event.kind == "result":
            dealt = event.fields["game"]
            if self._game not in (None, dealt):
                detail = f"{dealt.hex()[:_SHA_SHOWN]} was dealt, {self._game.hex()[:_SHA_SHOWN]} is"
                yield self._finding(event.number, "game", f"{detail} in the shoe")
            self._game = dealt

    def _incomplete(self, number: int, open_round: Round) -> Finding:
        detail = f"round {open_round.round} of shoe {open_round.shoe} has no result"
        return self._finding(number, "incomplete", detail)

    def _clock_jumps(self, before: wire.Event, event: wire.Event) -> bool:
        """Whether the time of day is another than the clock, set once, must show."""
        base = None if event.unix_ms is None else event.unix_ms - event.t_ms
        whole = event.boot == before.boot and event.number == before.number + 1
        if event.kind == "clock_set" or not whole or self._clock_base is None:
            self._clock_base = base
        return base != self._clock_base

    def _finding(self, number: int, kind: str, detail: str) -> Finding:
        return Finding(self._unit, number, kind, detail)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in as few ranges as can be."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


class _ShoeCheck:
    """What must hold over a shoe of cards."""

    def __init__(self) -> None:
        self.whole = False
        """Whether all events of this shoe of cards are there, as far as known."""
        self.decisions: list[str] = []
        """Such as "player draws on 5", in the round that was opened last."""
        self.positions: list[str] = []
        """What the cards of that round's hands were drawn as, in order."""
        self._decks = 0
        self._drawn: Counter[int] = Counter()
        self._unread = 0
        self._results = 0
        self._round = 0
        self._burn_counts = range(1, 2)  # of one that is burned face down
        self._burn_due: int | None = None
        self._burned = 0
        self._entered = False  # by the supervisor, and not dealt yet
        self._ended = False

    def in_play(self) -> bool:
        """Whether a shoe of cards has been loaded and has not ended, as far as known."""
        return self.whole and not self._ended

    def event(self, event: wire.Event) -> Iterator[tuple[str, str]]:
        kind, fields = event.kind, event.fields
        if self._ended and self.whole and kind not in ("composition", "boot", "gap"):
            yield "cards", "the shoe of cards ended without its composition"
            self.whole = False
        if kind == "shoe_loaded":
            self.__init__()  # type: ignore[misc]
            self._decks = fields["decks"]
            self.whole = True
        elif kind == "gap" or kind == "boot":
            self.whole = False
        elif kind == "betting_open":
            yield from self._burnt()
            self.decisions, self.positions = [], []
            self._round += 1
            if self.whole and event.round != self._round:
                yield "rules", f"round {event.round} follows round {self._round - 1}"
            self._round = event.round
        elif kind == "card":
            yield from self._by_hand(fields["card"], fields["position"], fields["by_hand"])
            yield from self._card(fields["card"], fields["position"])
        elif kind == "cut_card":
            self._entered = False
        elif kind == "unreadable":
            self._unread += _CAME_OUT.get(fields["fault"], 1)
        elif kind == "resolved":
            if self.whole and self._entered and fields["error"] == "unreadable":
                yield "rules", "a card was entered by hand before, and it was not dealt"
            self._resolved(fields["fault"], fields["position"], fields["resolution"])
        elif kind == "burn":
            yield from self._burn(fields["count"])
        elif kind == "decision":
            self.decisions.append(_decision(fields["hand"], fields["action"], fields["total"]))
        elif kind == "result":
            self._results += 1
        elif kind == "shoe_ended":
            yield from self._counts(fields["rounds"], fields["cards"])
            self._ended = True
        elif kind == "composition":
            yield from self._composition(fields["counts"], fields["unread"], fields["expected"])
            self.whole = False  # what comes out now is in no shoe of cards

    def _burn(self, count: int) -> Iterator[tuple[str, str]]:
        """So many are to be burned; without a first card face up it is one."""
        self._burn_due = count
        if self.whole and count not in self._burn_counts:
            self._burn_due = self._burn_counts[0]
            due = " or ".join(map(str, self._burn_counts))
            yield "rules", f"{count} cards to burn, {due} by the first card"

    def _resolved(self, fault: str, position: str, resolution: str) -> None:
        """The supervisor's decision; `fault` is "none" for a card that was read."""
        if resolution == "entered":
            self._entered = True
            self._unread -= fault != "none" and _CAME_OUT.get(fault, 1) > 0
        elif resolution == "drawn_again":
            self._unread -= fault in _STAYED_IN
        elif resolution == "unseen":
            self._burned += position == "burn"

    def _by_hand(self, card: int, position: str, by_hand: bool) -> Iterator[tuple[str, str]]:
        if not by_hand and position == "not_due":
            return  # it came while the supervisor was busy with another one
        if self.whole and by_hand != self._entered:
            what = "entered by hand, but nobody has" if by_hand else "read, but one was entered"
            yield "rules", f"{cards.name_of(card)} is said to be {what}"
        self._entered = False

    def _card(self, card: int, position: str) -> Iterator[tuple[str, str]]:
        self._drawn[card] += 1
        self._burned += position == "burn"
        if position.startswith(("player", "banker")):
            self.positions.append(position)
        if card >= cards.DECK_SIZE:
            yield "cards", f"{cards.name_of(card)}, which is no playing card, drawn as {position}"
            return
        if position == "burn_first":
            self._burn_counts = rules.burn_counts(cards.name_of(card))
        if self.whole and self._drawn[card] > self._decks:
            copies = f"copy {self._drawn[card]} of {cards.name_of(card)}"
            yield "cards", f"{copies} in a shoe of {self._decks} decks"

    def _burnt(self) -> Iterator[tuple[str, str]]:
        if self.whole and self._burn_due not in (None, self._burned):
            yield "rules", f"{self._burned} cards burned, {self._burn_due} were to be"
        self._burn_due = None

    def _composition(self, counts: bytes, unread: int, expected: int) -> Iterator[tuple[str, str]]:
        if not self.whole:
            return
        if not self._ended:
            yield "cards", "the composition of a shoe of cards that has not ended"
            return
        logged = [self._drawn[card] for card in range(cards.DECK_SIZE)]
        said = list(counts)
        differing = [
            f"{told} of {cards.name_of(card)}, {right} in the log"
            for card, (told, right) in enumerate(zip(said, logged, strict=False))
            if told != right
        ]
        if len(said) != len(logged):
            differing.append(f"{len(said)} kinds of card")
        if unread != self._unread:
            differing.append(f"{unread} unread, {self._unread} in the log")
        if expected != self._decks * cards.DECK_SIZE:
            differing.append(f"{expected} cards in {self._decks} decks")
        if differing:
            yield "cards", f"the composition says {'; '.join(differing[:_SHOWN])}"

    def _counts(self, rounds: int | None, count: int | None) -> Iterator[tuple[str, str]]:
        drawn = self._drawn.total() + self._unread
        if self.whole and rounds is not None and rounds != self._results:
            yield "rules", f"shoe ended after {rounds} rounds, {self._results} are in the log"
        if self.whole and count is not None and count != drawn:
            yield "rules", f"shoe ended after {count} cards, {drawn} are in the log"


def _wrong_with(ended: Round, shoe: _ShoeCheck, last: wire.Event) -> Iterator[str]:
    if ended.void is not None or {"CUT", "TEST"} & {*ended.player, *ended.banker}:
        return  # the latter has been found already
    verdict = rules.judge(ended.player, ended.banker)
    if verdict.wrong is not None:
        yield verdict.wrong
    for name, told, right in (
        ("Player's total", ended.player_total, verdict.player_total),
        ("Banker's total", ended.banker_total, verdict.banker_total),
        ("winner", ended.winner, verdict.winner),
        ("Player's natural", last.fields["player_natural"], _is_natural(ended.player)),
        ("Banker's natural", last.fields["banker_natural"], _is_natural(ended.banker)),
        ("margin", last.fields["margin"], abs(verdict.player_total - verdict.banker_total)),
        ("order", ", ".join(shoe.positions), ", ".join(_positions(ended))),
        ("decision", ", ".join(shoe.decisions) or "none", ", ".join(_decisions(ended))),
    ):
        if told != right:
            yield f"{name} is {told} in the log, {right} by the cards"
    yield from _wrong_hits(ended, last.fields["hits"])


def _wrong_hits(ended: Round, bits: int) -> Iterator[str]:
    if bits >> len(words.HITS):
        yield f"hits are {bits:#x} in the log, of which some have no name"
    if min(len(ended.player), len(ended.banker)) < 2:
        return  # that has been found already
    right = rules.hits(ended.player, ended.banker)
    for hit in ended.hits:
        if hit not in right:
            yield f"{hit.replace('_', ' ')} in the log, not by the cards"


def _is_natural(hand: list[str]) -> bool:
    return rules.total(hand[:2]) >= 8


def _positions(ended: Round) -> list[str]:
    """What the cards of a round are drawn as, by the lengths of its hands."""
    hands = (("player", ended.player), ("banker", ended.banker))
    return [
        f"{name}_{place}"
        for place in range(1, max(len(ended.player), len(ended.banker)) + 1)
        for name, hand in hands
        if place <= len(hand)
    ]


def _decisions(ended: Round) -> Iterator[str]:
    """The decisions in a round, Player's first."""
    for name, hand in (("player", ended.player), ("banker", ended.banker)):
        action = "draws" if len(hand) == 3 else "natural" if _is_natural(hand) else "stands"
        yield _decision(name, action, rules.total(hand[:2]))


def _decision(hand: str, action: str, on_total: int) -> str:
    return f"{hand} {action} on {on_total}"
