"""A shoe of cards as one page of HTML, to be read, printed and filed.

The page is self-contained, without script, font or network, and the browser may load nothing.
Everything that comes from a shoe is escaped as text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path

from sabot.audit.checks.findings import Finding
from sabot.files import open_to_read
from sabot.games import families
from sabot.html import as_text, page, verdict
from sabot.link.events import (
    CardEvent,
    Event,
    SealedCardEvent,
    ShoeEndedEvent,
    ShoeLoadedEvent,
)
from sabot.link.seals import opened
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.cards import Card
from sabot.log.families.hands import Hand
from sabot.log.reveal import ShownGames, all_shown, hidden_after, without_secret_card
from sabot.log.rounds import Dealt, Round, Rounds, not_understood_text
from sabot.notable.incident import Incident
from sabot.notable.incident_finder import incidents_of
from sabot.reports import svg
from sabot.reports.drawn_roads import MARKS, REPORT, roads_of
from sabot.reports.roads import Outcome, outcomes_of
from sabot.reports.svg import ShownCard
from sabot.table_time import duration_text, iso_of, moment_of, text_of
from sabot.text import card_symbol, counted, spaced
from sabot_protocol import cards


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The content of a report; a field is None if it is not known."""

    unit: str
    shoe: int
    events: Sequence[Event]
    """The unit's events, in order: those of the shoe of cards, and others that belong to it."""
    findings: Sequence[Finding]
    zone: tzinfo
    """The time zone of the table."""
    firmware: str | None
    build_hex: str | None
    game: str | None
    game_sha256_hex: str | None
    checkpoint: tuple[int, str] | None
    """Number of the last event that it covers, and that event's MAC in hex."""
    signer_fingerprint: str | None
    games: ShownGames
    """The games that dealt the rounds."""
    chain_checked: bool = False
    """Whether the check that made `findings` had the keys of the audit chain."""


def is_report(path: Path, unit: str, shoe: int) -> bool:
    """Whether the file is a report of this shoe of cards of `unit`."""
    try:
        with open_to_read(path) as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return f"<title>{as_text(_title(unit, shoe))}</title>".encode() in head


def _title(unit: str, shoe: int) -> str:
    return f"Shoe of cards {shoe} of unit {unit}"


def render(report: ReportInput) -> str:
    """The whole HTML file, without cards that must not be shown yet (sabot/log/reveal.py)."""
    events, final = _of_shoe(report)
    report = replace(report, events=events)
    hidden = hidden_after(report.events, report.games)
    each_event = opened(without_secret_card(event, hidden) for event in report.events)
    report = replace(report, events=opened(all_shown(report.events, report.games)))
    fold = Rounds(report.unit)
    folded = [done for event in report.events if (done := fold.add(event)) is not None]
    ended = {each.first_event: each for each in folded}  # a misdeal ends once more, as void
    dealt = [each for each in (*ended.values(), fold.open) if each and each.shoe == report.shoe]
    rounds = [each for each in dealt if isinstance(each, Round)]
    hands = [each for each in dealt if isinstance(each, Hand)]
    boxes = [each for each in dealt if isinstance(each, BlackjackRound)]
    of_baccarat = not hands and not boxes and report.game not in _OTHER_FAMILIES
    # Events that are not shown must not count as missing.
    incidents = incidents_of(report.unit, each_event, report.findings, games=report.games)
    title = _title(report.unit, report.shoe)
    body = (
        f"<h1>{as_text(title)}</h1>",
        _verdict(report, final=final),
        _facts(report, _counted(rounds) if of_baccarat else _counted_of(hands, boxes)),
        _hands_dealt(report, hands) if hands else "",
        _boxes_dealt(report, boxes) if boxes else "",
        _roads(outcomes_of(rounds)) if of_baccarat else "",
        _rounds(report, rounds) if of_baccarat else "",
        _other_cards(report),
        _incidents(
            report, "Errors", [each for each in incidents if each.kind == "error"], kinds=False
        ),
        _incidents(
            report, "Incidents", [each for each in incidents if each.kind != "error"], kinds=True
        ),
        _findings(report),
    )
    return page(title, _STYLE, (svg.symbols(_cards_in(report.events)), *body))


_NONE = "&#x2013;"
_OTHER_FAMILIES = [
    game.name
    for family in families.FAMILIES
    if family is not families.DEFAULT
    for game in family.games
]

_NOT_CHECKED = "no_key"  # the kind of finding that the audit chain could not be checked

_HEAD_BYTES = 4096

_STYLE = """
body { max-width: 190mm; }
th, td { vertical-align: middle; padding: 2px 6px 2px 0; }
.total { font-size: 14pt; }
.facts th { width: 9em; }
.hash { font-family: "DejaVu Sans Mono", "Liberation Mono", monospace; font-size: 8.5pt;
  overflow-wrap: anywhere; }
.player { color: #1d4ed8; font-weight: bold; } .banker { color: #b91c1c; font-weight: bold; }
.tie { color: #15803d; font-weight: bold; } .void { color: #92400e; font-weight: bold; }
small { color: #444; } time { white-space: nowrap; }
svg text { font-family: Arial, "Liberation Sans", sans-serif; }
svg.defs { position: absolute; } svg.hand { display: block; height: 9mm; width: auto; }
svg.road { display: block; max-width: 100%; height: auto; }
.road text { font-size: 12.5px; font-weight: 700; text-anchor: middle; }
.road text.hit { font-size: 7.5px; } .road text.count { font-size: 9px; }
.road .player { fill: #1d4ed8; } .road .banker { fill: #b91c1c; } .road .tie { fill: #15803d; }
.road .on-disc { fill: #fff; } .road .pair { stroke: #fff; stroke-width: 1.2; }
.road .grid, .road .ring, .road .stroke, .road .natural, .road .mark { fill: none; }
.road .grid { stroke: #ccc; } .road .natural { stroke: #111; stroke-width: 2.2; }
.road .ring { stroke-width: 2.6; } .road .mark { stroke-width: 3.4; }
.road .ring.player, .road .mark.blue { stroke: #1d4ed8; }
.road .ring.banker, .road .mark.red { stroke: #b91c1c; }
.road .stroke.tie { stroke: #15803d; stroke-width: 2.4; }
.road .filled.red { fill: #b91c1c; stroke: none; }
.road .filled.blue { fill: #1d4ed8; stroke: none; }
.derived { display: flex; flex-wrap: wrap; gap: .6em 1.5em; } figure { margin: 0; }
figcaption { margin-top: .15em; }
@page { size: A4; margin: 14mm 12mm; }
@media print {
  body { margin: 0; padding: 0; max-width: none; font-size: 9pt; }
  tr, svg, figure, .verdict { break-inside: avoid; } h2 { break-after: avoid; }
  thead { display: table-header-group; }
}
"""


def _roads(outcomes: Sequence[Outcome]) -> str:
    """The roads of a shoe of cards, with what their marks mean."""
    roads = roads_of(outcomes, REPORT)
    derived = (
        ("Big Eye Boy", "next", roads.big_eye_boy),
        ("Small Road", "second", roads.small_road),
        ("Cockroach Pig", "third", roads.cockroach_pig),
    )
    figures = (
        f"<figure>{picture}<figcaption>{name} <small>each column of the Big Road against the "
        f"{which} to its left</small></figcaption></figure>"
        for name, which, picture in derived
    )
    marked = sorted({hit for each in outcomes for hit in each.hits if hit in MARKS})
    hits = "".join(f"; {MARKS[hit]} {hit.replace('_', ' ')}" for hit in marked)
    return (
        f"<h2>Bead plate</h2>{roads.bead_plate}<h2>Big Road</h2>{roads.big_road}"
        "<p><small>P Player, B Banker, T tie; a bar marks a natural; a dot on the top left a "
        f"Banker pair, on the bottom right a Player pair{hits}. In the Big Road a green stroke is "
        "a tie after the round, a number the count of several ties.</small></p>"
        f'<h2>Derived roads</h2><div class="derived">{"".join(figures)}</div>'
        "<p><small>A mark for each round that Player or Banker won, from the first that can be "
        "compared: red and whole where the Big Road repeats itself, blue and broken in two where "
        "it does not.</small></p>"
    )


def _of_shoe(report: ReportInput) -> tuple[Sequence[Event], bool]:
    """The events before the next shoe of cards begins, and whether it begins among them: until then
    a misdeal can void the last round."""
    for at, event in enumerate(report.events):
        if isinstance(event, ShoeLoadedEvent) and event.shoe > report.shoe:
            return report.events[:at], True
    return report.events, False


def _speaks_up_to(report: ReportInput, *, final: bool) -> str:
    """Up to where the page speaks, for people."""
    last = report.events[-1]
    if final:
        return f"Event {last.number:,} is the last before the next shoe of cards."
    if last.unix_ms is None:
        when = ""
    else:
        when = f" of {text_of(last.unix_ms, report.zone)}"
    return (
        f"This page speaks up to event {last.number:,}{when}. The next shoe of cards had not begun "
        "then: what came later is not on it, and a misdeal may have voided the last round."
    )


def _verdict(report: ReportInput, *, final: bool) -> str:
    wrong = [each for each in report.findings if each.kind != _NOT_CHECKED]
    checked = report.chain_checked and len(wrong) == len(report.findings)
    chain = (
        "Records, rounds and the audit chain were checked."
        if checked
        else "Records and rounds were checked; the audit chain was not: its keys are missing."
    )
    if not report.events:
        good, headline = False, "&#x2717; There is nothing to check: no events"
    elif wrong:
        count = counted(len(wrong), "finding")
        good, headline = False, f"&#x2717; Something is wrong: {count}"
    elif later := dict.fromkeys(what for event in report.events for what in event.unknown()):
        count = counted(sum(not event.understood for event in report.events), "event")
        headline = f"&#x2717; Not all could be judged: {count} of a later version of Sabot"
        good, chain = False, f"{chain} Unknown to this version: {as_text(', '.join(later))}."
    else:
        good, headline = True, "&#x2713; Nothing to find fault with"
    if report.events:
        chain = f"{chain} {as_text(_speaks_up_to(report, final=final))}"
    return verdict(good, headline, chain)


def _facts(report: ReportInput, rounds: str) -> str:
    events = report.events
    times = [each.unix_ms for each in events if each.unix_ms is not None]
    span = "no clock"
    if times:
        first, last = min(times), max(times)
        span = f"{_time(first, report.zone)} to {_time(last, report.zone)}"
        span += f" <small>({as_text(str(report.zone))})</small>"
    checkpoint = "none: the shoe of cards has not ended in these events"
    if report.checkpoint is not None:
        covered, mac = report.checkpoint
        checkpoint = f'up to event {covered:,}, MAC <span class="hash">{as_text(mac)}</span>'
    numbers = f"{events[0].number:,} to {events[-1].number:,}" if events else "none"
    rows = (
        ("Unit", as_text(report.unit)),
        ("Shoe of cards", f"{report.shoe}"),
        ("Table time", span),
        ("Events", numbers),
        ("Rounds", rounds),
        ("End", _end_of(report)),
        ("Game", _with_hash(report.game, report.game_sha256_hex)),
        ("Firmware", _with_hash(report.firmware, report.build_hex)),
        ("Checkpoint", checkpoint),
        ("Signed by", _hash(report.signer_fingerprint) if report.signer_fingerprint else "no one"),
    )
    cells = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f'<table class="facts"><tbody>{cells}</tbody></table>'


def _counted(rounds: Sequence[Round]) -> str:
    parts = [
        f"{name} {sum(each.winner == winner for each in rounds)}"
        for winner, name in _WINNERS.items()
    ]
    void = sum(each.void is not None for each in rounds)
    still_open = sum(each.winner is None and each.void is None for each in rounds)
    parts += [f"voided {void}"] * bool(void) + ["without an end 1"] * bool(still_open)
    return f"{len(rounds)}: {', '.join(parts)}"


def _counted_of(hands: Sequence[Hand], boxes: Sequence[BlackjackRound]) -> str:
    dealt: list[Hand | BlackjackRound] = [*hands, *boxes]
    void = sum(each.void is not None for each in dealt)
    what = [f"{counted(len(hands), 'hand')} of hold'em"] * bool(hands)
    what += [f"{counted(len(boxes), 'round')} of blackjack"] * bool(boxes)
    return ", ".join(what or ["none yet"]) + f", voided {void}" * bool(void)


def _boxes_dealt(report: ReportInput, rounds: Iterable[BlackjackRound]) -> str:
    """The rounds of blackjack: the hands of each box with their outcomes, the dealer's hand."""
    rows = []
    for dealt in rounds:
        for box, hands in enumerate(dealt.boxes, 1):
            for hand in hands:
                total = "-" if hand.total is None else str(hand.total)
                outcome = (hand.outcome or "-") + ", doubled" * hand.doubled
                rows.append((str(dealt.round), f"Box {box}", _cards(hand.cards), total, outcome))
        total = "-" if dealt.dealer_total is None else str(dealt.dealer_total)
        end = _end_of_hand(report, dealt)
        hole = _face_down(report, dealt, "hole")
        rows.append((str(dealt.round), "Dealer", _cards(dealt.dealer, hole), total, end))
    return _table("Rounds", ("Round", "", "Cards", "Total", "Result"), rows)


def _hands_dealt(report: ReportInput, hands: Iterable[Hand]) -> str:
    """The hands of hold'em: what each seat had, what was burned, the board."""
    parts = []
    for hand in hands:
        rows = [
            *(
                (f"Seat {seat}", _cards(cards, _face_down(report, hand, f"seat_{seat}")))
                for seat, cards in enumerate(hand.hands, 1)
            ),
            ("Burned", _cards(hand.burned, _face_down(report, hand, "board_burn"))),
            ("Board", _cards(hand.board)),
        ]
        rows += [(f"Second board, from the {hand.run_twice}", _cards(hand.second))] * bool(
            hand.run_twice
        )
        rows.append(("End", _end_of_hand(report, hand)))
        parts.append(_table(f"Hand {hand.round}", ("", "Cards"), rows))
    return "".join(parts)


def _cards(shown: Sequence[Card], face_down: int = 0) -> str:
    """Cards as a picture, those that are sealed as backs; a dash if none came."""
    return _hand("cards", [ShownCard(card) for card in (*shown, *[svg.FACE_DOWN] * face_down)])


def _face_down(report: ReportInput, dealt: Hand | BlackjackRound, position: str) -> int:
    """How many cards of a round that came to this position are sealed still."""
    return sum(
        isinstance(event, SealedCardEvent)
        and (event.shoe, event.round, event.position) == (dealt.shoe, dealt.round, position)
        for event in report.events
    )


def _end_of_hand(report: ReportInput, hand: Hand | BlackjackRound) -> str:
    end = f'<span class="void">void</span> ({as_text(hand.void)})' if hand.void else "ended"
    end = end if hand.last_event else '<span class="void">no end</span>'
    end = ", ".join([end, *_not_understood(hand)])
    if hand.by_hand:
        end += f", by hand: {as_text(' '.join(map(card_symbol, hand.by_hand)))}"
    return f"{end}, {_time(hand.ended_unix_ms, report.zone)}" if hand.last_event else end


def _end_of(report: ReportInput) -> str:
    for event in report.events:
        if isinstance(event, ShoeEndedEvent) and event.shoe == report.shoe:
            count = "" if event.cards is None else f", {counted(event.cards, 'card')} drawn"
            return f"{as_text(_ENDED.get(event.reason, spaced(event.reason)))}{count}"
    return "not in these events"


def _rounds(report: ReportInput, rounds: Iterable[Round]) -> str:
    rows = [_round(report, each) for each in rounds]
    if not rows:
        return "<h2>Rounds</h2><p>none</p>"
    table = _table(
        "Rounds", ("Round", "Begun", "Ended", "Player", "Total", "Banker", "Total", "Result"), rows
    )
    return (
        f"{table}<p><small>Cards in the order in which they were drawn, third cards turned "
        "sideways. A dashed frame and an H mark a card that the supervisor entered from its face; "
        "a grey back a sealed card, which no one knows yet.</small></p>"
    )


def _round(report: ReportInput, ended: Round) -> tuple[str, ...]:
    # A round without an end has no last event, and all that follow belong to it.
    last = ended.last_event or report.events[-1].number
    drawn = [
        event
        for event in report.events
        if isinstance(event, _DRAWN) and ended.first_event <= event.number <= last
    ]
    hands: list[str] = []
    for name, total in (("player", ended.player_total), ("banker", ended.banker_total)):
        shown = [_shown_card(each) for each in drawn if each.position.startswith(name)]
        hands += [_hand(name.capitalize(), shown), _total(total)]
    return (
        str(ended.round),
        _stacked_time(ended.started_unix_ms, report.zone),
        _stacked_time(ended.ended_unix_ms, report.zone) if ended.last_event else _NONE,
        *hands,
        _result(ended, [_shown_card(each) for each in drawn]),
    )


def _not_understood(dealt: Dealt) -> list[str]:
    if dealt.not_understood is None:
        return []
    return [f'<span class="void">{as_text(not_understood_text(dealt))}</span>']


def _total(total: int | None) -> str:
    return _NONE if total is None else f'<strong class="total">{total}</strong>'


def _shown_card(event: CardEvent | SealedCardEvent) -> ShownCard:
    return ShownCard(_name_of(event), event.position.endswith("_3"), event.by_hand)


def _name_of(event: CardEvent | SealedCardEvent) -> str:
    return cards.name_of(event.card) if isinstance(event, CardEvent) else svg.FACE_DOWN


def _hand(name: str, shown: Sequence[ShownCard]) -> str:
    if not shown:
        return _NONE
    return svg.hand(shown, f"{name}: " + ", ".join(map(_card_label, shown)))


def _card_label(shown: ShownCard) -> str:
    third = "third card " if shown.sideways else ""
    return f"{third}{svg.card_name(shown.card)}{', entered by hand' if shown.by_hand else ''}"


def _result(ended: Round, drawn: Iterable[ShownCard]) -> str:
    if ended.winner is not None:
        winner = _WINNERS.get(ended.winner, spaced(ended.winner))
        parts = [f'<span class="{ended.winner}">{winner}</span>']
        parts += ["natural"] * ended.natural
        parts += [as_text(hit.replace("_", " ")) for hit in ended.hits]
    elif ended.void is not None:
        parts = [f'<span class="void">void</span> ({as_text(ended.void)})']
    else:
        parts = ['<span class="void">no end</span>']
    parts += _not_understood(ended)
    parts += [f"ghost hand {ended.ghost_hand}"] * (ended.ghost_hand is not None)
    by_hand = [
        "sealed card" if each.card == svg.FACE_DOWN else card_symbol(each.card)
        for each in drawn
        if each.by_hand
    ]
    parts += [f"by hand: {' '.join(map(as_text, by_hand))}"] * bool(by_hand)
    where = f"from event {ended.first_event:,}"
    if ended.last_event:
        where = f"events {ended.first_event:,} to {ended.last_event:,}"
    return f"{', '.join(parts)}<br><small>{where}</small>"


def _other_cards(report: ReportInput) -> str:
    rows = [
        (
            _time(event.unix_ms, report.zone),
            f"{event.number:,}",
            svg.hand([shown], _card_label(shown)),
            as_text(event.position.replace("_", " ")),
        )
        for event in report.events
        if isinstance(event, _DRAWN) and not event.position.startswith(_IN_TABLES)
        for shown in [_shown_card(event)]
    ]
    if not rows:
        return ""
    return _table("Cards outside the hands", ("Time", "Event", "Card", "Drawn as"), rows)


def _incidents(report: ReportInput, title: str, found: Sequence[Incident], *, kinds: bool) -> str:
    if not found:
        return f"<h2>{title}</h2><p>none</p>"
    rows = [
        (
            _when(each, report.zone),
            f"{each.event:,}",
            _place(each, report.shoe),
            *([as_text(each.kind.replace("_", " "))] * kinds),
            _lasted(each),
            as_text(each.what(report.zone)),
        )
        for each in found
    ]
    columns = ("Time", "Event", "Round", *(["Kind"] * kinds), "Lasted", "What")
    return _table(title, columns, rows)


def _when(incident: Incident, zone: tzinfo) -> str:
    if incident.unix_ms is None:
        assert incident.t_ms is not None  # what a report shows began with an event
        return f"no clock, boot {incident.boot} + {duration_text(incident.t_ms)}"
    reckoned = "<br><small>reckoned</small>" if incident.reckoned else ""
    return _time(incident.unix_ms, zone) + reckoned


def _place(incident: Incident, shoe: int) -> str:
    round_ = str(incident.round) if incident.round else _NONE
    return round_ if incident.shoe == shoe else f"shoe {incident.shoe}, {round_}"


def _lasted(incident: Incident) -> str:
    return as_text(incident.lasted_text()) or _NONE


def _findings(report: ReportInput) -> str:
    if not report.findings:
        return "<h2>Findings of the check</h2><p>none</p>"
    rows = [
        (f"{each.event:,}", as_text(each.kind.replace("_", " ")), as_text(each.detail))
        for each in report.findings
    ]
    return _table("Findings of the check", ("Event", "Kind", "What"), rows)


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A heading and a table. The cells are HTML."""
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<h2>{title}</h2><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def _time(unix_ms: int | None, zone: tzinfo) -> str:
    if unix_ms is None:
        return "no clock"
    if moment_of(unix_ms, zone) is None:
        return f"{unix_ms} ms"
    return f'<time datetime="{iso_of(unix_ms, zone)}">{text_of(unix_ms, zone)}</time>'


def _stacked_time(unix_ms: int | None, zone: tzinfo) -> str:
    """The time of day, with date and offset below it, for a narrow column."""
    if unix_ms is None or moment_of(unix_ms, zone) is None:
        return _time(unix_ms, zone)
    date, of_day, offset = text_of(unix_ms, zone).split(" ")
    iso = iso_of(unix_ms, zone)
    return f'<time datetime="{iso}">{of_day}<br><small>{date} {offset}</small></time>'


def _with_hash(name: str | None, hash_hex: str | None) -> str:
    parts = [as_text(name) if name else "not known"]
    if hash_hex:
        parts.append(_hash(hash_hex))
    return "<br>".join(parts)


def _hash(text: str) -> str:
    return f'<span class="hash">{as_text(text)}</span>'


def _cards_in(events: Iterable[Event]) -> Iterator[str]:
    return (_name_of(each) for each in events if isinstance(each, _DRAWN))


_DRAWN = (CardEvent, SealedCardEvent)

_HANDS = ("player", "banker")
_IN_TABLES = (*_HANDS, "box", "dealer", "hole", "seat", "board_burn", "flop", "turn", "river")

_WINNERS = {"player": "Player", "banker": "Banker", "tie": "Tie"}

_ENDED = {
    "cut_card": "by the cut card",
    "supervisor": "by the supervisor",
    "restart": "by a restart",
    "round": "with its only round",
}
