"""Looking through a log for incidents passes over most events, and finds what looking at each one
finds."""

import random
from collections.abc import Iterator
from typing import Any

import cbor2
import pytest

from host.tests.audit.checks.test_decoding import value_of
from host.tests.support.helpers import FirmwareLog, event_bytes, shuffled_names
from host.tests.support.naive_shoe import naive_event
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.games.baccarat import catalogue
from sabot.link.events import Event
from sabot.link.seals import opened
from sabot.link.wire import WireError, parse_event
from sabot.log.reveal import NONE_KEPT, Reveal, ShownGames, without_secret_card
from sabot.notable import incident_search
from sabot.notable.incident import Incident, Limits
from sabot.notable.incident_finder import IncidentFinder
from sabot.notable.incident_search import Notable, Search, Shoe, Wanted, shoes_of
from sabot.notable.kinds import KINDS, Maker
from sabot_protocol import enums, events

Raw = tuple[int, bytes, bytes]

_NAMES = {shape.number: shape.name for shape in events.KINDS}
_OFTEN = ("card", "card", "card", "lock", "decision", "button", "result", "betting_closed")


def random_records(seed: int, count: int = 400) -> list[Raw]:
    """Records that no shoe would make in this order, most of them of the frequent kinds."""
    rng = random.Random(seed)
    by_name = {shape.name: shape for shape in events.KINDS}
    number, boot, t_ms, base, shoe, round_ = 0, 1, 10, rng.choice([None, 1_795_000_000_000]), 0, 0
    found: list[Raw] = []
    for _ in range(count):
        name = rng.choice(_OFTEN) if rng.random() < 0.85 else rng.choice(sorted(by_name))
        if rng.random() < 0.04:
            name, round_ = "betting_open", round_ + 1
        if rng.random() < 0.02:
            name, shoe, round_ = "shoe_loaded", shoe + rng.choice([1, 1, 1, -1]), 0
        if rng.random() < 0.02:
            name, boot, t_ms, base = "boot", boot + 1, 5, None
        if rng.random() < 0.02:
            base = 1_795_000_000_000 + rng.randrange(100_000)
        number += 2 if rng.random() < 0.01 else 1
        t_ms += rng.choice([7, 7, 900, 40_000])
        shape = by_name[name]
        own = [value_of(kind, rng) for _, kind in shape.fields]
        if name == "card" and rng.random() < 0.9:
            own[1], own[-1] = 3, False
        if name in ("boot", "shoe_loaded", "game_loaded"):
            at = [field for field, _ in shape.fields].index("game")
            own[at] = rng.choice(["mini", "midi", "other"])
        where = (max(0, shoe), round_) if rng.random() < 0.98 else (0, 0)
        unix_ms = None if base is None else base + t_ms
        head = [shape.number, number, boot, t_ms, unix_ms, *where]
        record = cbor2.dumps([*head, *own], canonical=True)
        if rng.random() < 0.005:
            record = b"\xff" + record
        if rng.random() > 0.005:
            found.append((number, record, bytes(16)))
    return found


def dealt_records(seed: int) -> list[Raw]:
    """A dealt evening, of which some records are then removed, damaged or changed."""
    rng = random.Random(seed)
    log = FirmwareLog()
    for deck in range(2):
        log.deal_shoe(shuffled_names(10 * seed + deck, cut_from_end=360))
        log.power_on(clock=rng.random() < 0.5)
    records = [(n, bytes(data), data.mac) for n, data in enumerate(log.records, 1)]
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(records))
        number, data, mac = records[at]
        if rng.random() < 0.3:
            del records[at]
        elif rng.random() < 0.3:
            records[at] = (number, b"\xff", mac)
        else:
            values = cbor2.loads(data)
            place = rng.randrange(1, len(values))
            if type(values[place]) is int:
                values[place] = max(0, values[place] + rng.choice([-1, 1, 60_000]))
            elif type(values[place]) is bool:
                values[place] = not values[place]
            records[at] = (number, cbor2.dumps(values, canonical=True), mac)
    return records


def slow_records(seed: int) -> list[Raw]:
    """A part of a dealt evening, with a dealer who presses `reveal` after most rounds. Some rounds
    and reveals take just as long as they may, or a little longer. Some are by another game, some
    have no number, some events are of another round, some cards were entered by hand."""
    rng = random.Random(seed)
    face_down = rng.random() < 0.5
    log = FirmwareLog(game=catalogue.document("ez-midi" if face_down else "mini"))
    log.deal_shoe(shuffled_names(seed, cut_from_end=330))
    if rng.random() < 0.5:
        log.power_on(clock=rng.random() < 0.5)
    log.deal_shoe(shuffled_names(seed + 1, cut_from_end=350))
    begin, end = rng.randrange(10), rng.randrange(60)
    found: list[Raw] = []
    closed_ms = later_ms = 0
    game, numbered = rng.choice([1, 2, 3]), True

    def put(values: list[Any]) -> None:
        clock_ms = None if values[4] is None else values[4] + later_ms
        values = [values[0], len(found) + 1, values[2], values[3] + later_ms, clock_ms, *values[5:]]
        found.append((values[1], cbor2.dumps(values, canonical=True), bytes(16)))

    for data in log.records[begin : len(log.records) - end]:
        values = cbor2.loads(data)
        pressed = [[]] * 40 + [[0]]
        match _NAMES[values[0]]:
            case "boot":
                later_ms = 0
            case "betting_open":
                numbered = rng.random() < 0.8
            case "betting_closed":
                closed_ms = values[3] + later_ms
            case "card":
                values[-1] = rng.random() < 0.02
            case "sealed_card":
                values[-1] = rng.random() < 0.02
                later_ms += rng.choice([0, 0, 0, 0, 0, 60_000, 60_001])
            case "result":
                took_ms = rng.choice([0, 0, 0, 0, 30_000, 120_000, 120_001])
                later_ms = max(later_ms, closed_ms + took_ms - values[3])
                values[-1] = bytes([game if rng.random() < 0.9 else rng.choice([1, 2, 3])]) * 32
                pressed = [[0], [7], [30_000], [60_000], [60_001], [9, 9], []]
        values[6] = values[6] if numbered else 0
        put(values)
        for after_ms in rng.choice(pressed):
            later_ms += after_ms
            put([events.BUTTON.number, *values[1:7], enums.BUTTONS.index("reveal")])
        if rng.random() < 0.01:
            put([events.LID.number, *values[1:6], values[6] + rng.choice([0, 1]), True])
    return found


def kept(sha256: bytes) -> bytes | None:
    """Of some games the document is kept, whose cards are shown at once, or after the reveal."""
    name = {b"\1": "mini", b"\2": "md-midi"}.get(sha256[:1])
    return None if name is None else catalogue.document(name)


def one_by_one(
    records: list[Raw],
    shoe: int | None,
    begin: int | None,
    end: int | None,
    limits: Limits = Limits(),
    games: ShownGames = NONE_KEPT,
) -> tuple[list[Incident], int]:
    """The incidents by way of every event, each parsed by itself; and how many cannot be read."""
    finder, unreadable = IncidentFinder("U1", limits, games), 0
    groups = list(_groups(records))
    for at, (number, group) in enumerate(groups):
        parsed = [_parsed(data) for _, data, _ in group]
        first_after = None
        if at + 1 < len(groups):
            following = _parsed(groups[at + 1][1][0][1])
            assert following is not None
            first_after = following.unix_ms
        times = [None if event is None else event.unix_ms for event in parsed]
        known = [time for time in times if time is not None]
        if len(known) == len(times):
            late = end is not None and min(known) >= end
            if late or (
                begin is not None and first_after is not None and max(first_after, *known) < begin
            ):
                finder.skip()
                continue
        if shoe not in (None, number):
            finder.skip()
            continue
        good = [event for event in parsed if event is not None]
        unreadable += len(parsed) - len(good)
        reveal = Reveal(games)
        for event in good:
            reveal.add(event)
        findings = UnitChecks("U1", first=group[0][0]).verify(group, Summary())
        shown = [without_secret_card(each, reveal.hidden) for each in opened(good)]
        finder.add_all(shown, findings)
    found = finder.incidents()
    return [
        each for each in found if shoe in (None, each.shoe) and each.within(begin, end)
    ], unreadable


def _parsed(data: bytes) -> Event | None:
    try:
        return parse_event(data)
    except WireError:
        return None


def _shoe_of(record: Raw) -> int:
    event = _parsed(record[1])
    return 0 if event is None else event.shoe


def _groups(records: list[Raw]) -> Iterator[tuple[int, list[Raw]]]:
    shoe, group = 0, list[Raw]()
    for record in records:
        event = _parsed(record[1])
        if event is not None and event.shoe not in (0, shoe):
            if group:
                yield shoe, group
            shoe, group = event.shoe, []
        group.append(record)
    yield shoe, group


@pytest.mark.slow
@pytest.mark.parametrize("records_of", [random_records, dealt_records, slow_records])
@pytest.mark.parametrize("seed", range(8))
def test_a_search_finds_what_every_event_by_itself_gives(records_of: object, seed: int) -> None:
    records = records_of(seed)  # type: ignore[operator]
    rng = random.Random(seed)
    times = [
        event.unix_ms
        for _, data, _ in records
        if (event := _parsed(data)) is not None and event.unix_ms is not None
    ]
    some = sorted(rng.sample(times, 2)) if len(times) > 2 else [0, 1]
    for shoe, begin, end, limits, shown in (
        (None, None, None, Limits(), NONE_KEPT),
        (None, None, None, Limits(), ShownGames(kept)),
        (None, None, None, Limits(0, 30), ShownGames(kept)),
        (None, None, None, Limits(30, 0), ShownGames(kept)),
        (1, None, None, Limits(), NONE_KEPT),
        (None, *some, Limits(), NONE_KEPT),
        (2, some[0], None, Limits(), NONE_KEPT),
    ):
        size = rng.choice([1, 7, 1000])
        chunks = [records[at : at + size] for at in range(0, len(records), size)]
        search = Search(Wanted(shoe, begin, end, limits), shown)
        found = search.of_unit("U1", chunks)
        assert (found, search.damaged) == one_by_one(records, shoe, begin, end, limits, shown)


@pytest.mark.parametrize("reveal", [False, True])
def test_rounds_in_which_nothing_happened_are_not_looked_at(reveal: bool) -> None:
    records = dealt(reveal=reveal)
    rounds = sum(_parsed(data).kind == "result" for _, data, _ in records)  # type: ignore[union-attr]
    search = Search(Wanted(), ShownGames(kept))
    steps = [
        step
        for each in shoes_of([records])
        if (notable := search.notable("U1", *each)) is not None
        for step in notable.steps
    ]
    assert rounds > 60 and len(steps) < 40
    assert (search.of_unit("U1", [records]), 0) == one_by_one(records, None, None, None)


@pytest.mark.parametrize("last", [0, 5])
@pytest.mark.parametrize("game", [1, 2, 3])
def test_an_incident_after_rounds_in_which_nothing_happened(last: int, game: int) -> None:
    """In a round without a number it is of the one before. A card is shown if the game shows it, or
    if it is not in the last round that has a number."""
    order = ("player_1", "banker_1", "player_2", "banker_2")
    decisions = [
        {"hand": hand, "action": "natural", "total": total}
        for hand, total in (("player", 9), ("banker", 8))
    ]
    result = {"winner": "player", "player_total": 9, "banker_total": 8, "margin": 1}
    result |= {"player_natural": True, "banker_natural": True, "game": bytes([game]) * 32}
    found: list[tuple[str, int, dict[str, Any]]] = []
    for round_ in (1, 2, 3, 4, last):
        found += [("betting_open", round_, {}), ("betting_closed", round_, {})]
        for position, card in zip(order, ("9H", "8H", "TH", "TD"), strict=True):
            found.append(("card", round_, {"position": position, "card": card}))
        found += [("decision", round_, each) for each in decisions]
        found.append(("result", round_, result))
    found[-1] = ("card", last, {"position": "player_3", "by_hand": True})
    records = [
        (number, event_bytes(kind, number, t_ms=number, shoe=1, round=round_, **own), bytes(16))
        for number, (kind, round_, own) in enumerate(found, 1)
    ]
    incidents = Search(Wanted(), ShownGames(kept)).of_unit("U1", [records])
    assert (incidents, 0) == one_by_one(records, None, None, None, Limits(), ShownGames(kept))
    assert [(each.kind, each.round) for each in incidents if each.kind == "by_hand"] == (
        [("by_hand", last or 4)] if game == 1 or not last else []
    )


def dealt(*, reveal: bool) -> list[Raw]:
    """A dealt shoe of cards; with `reveal` that button is pressed after each result."""
    log = FirmwareLog().deal_shoe(shuffled_names(1))
    found: list[Raw] = []
    for data in log.records:
        values = cbor2.loads(data)
        if reveal and values[0] == events.LOCK.number and not values[-1]:  # closed after a result
            values[0], values[-1] = events.BUTTON.number, enums.BUTTONS.index("reveal")
        found.append((values[1], cbor2.dumps(values, canonical=True), data.mac))
    return found


@pytest.mark.parametrize("cut", ["face down", "revealed"])
@pytest.mark.parametrize("change", ["field", "word"])
def test_what_is_not_known_of_a_sealed_card_is_an_incident_before_and_after_the_reveal(
    change: str, cut: str
) -> None:
    log = FirmwareLog(game=catalogue.document("ez-midi")).load().draw("AS", "2C")
    log.draw("next", "next", "9D", "5S", "TD", "3S")
    if cut == "revealed":
        log.draw("reveal")
    values = [cbor2.loads(data) for data in log.records]
    kinds = [each[0] for each in values]
    assert (events.UNSEALED.number in kinds) is (cut == "revealed")
    sealed = values[kinds.index(events.SEALED_CARD.number)]
    if change == "field":
        sealed.append("later")
    else:
        sealed[7 + [name for name, _ in events.SEALED_CARD.fields].index("position")] = 99
    records = [(each[1], cbor2.dumps(each, canonical=True), bytes(16)) for each in values]
    found = Search(Wanted(), NONE_KEPT).of_unit("U1", [records])
    assert [each.event for each in found if each.kind == "unknown"] == [sealed[1]]
    assert (found, 0) == one_by_one(records, None, None, None)


@pytest.mark.slow
def test_the_random_logs_have_nearly_every_kind_of_incident() -> None:
    """A new kind of event changes all random logs, and then one rare kind may be in none."""
    found = [
        each.kind
        for seed in range(25)
        for records in (random_records(seed), dealt_records(seed))
        for each in Search(Wanted(), NONE_KEPT).of_unit("U1", [records])
    ]
    missing = {kind.name for kind in KINDS.values() if kind.maker is Maker.EVENTS} - set(found)
    assert len(missing) <= 1, missing


def test_a_shoe_of_cards_that_never_ends_is_not_held_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incident_search, "MOST_TOGETHER", 3000)
    records = [each for each in dealt_records(1)[20:420] if _shoe_of(each) in (0, 1)]
    most = 0
    notable = Search.notable

    def counted(self: Search, unit: str, shoe: Shoe, until: int | None) -> Notable | None:
        nonlocal most
        most = max(most, len(shoe.records))
        return notable(self, unit, shoe, until)

    monkeypatch.setattr(Search, "notable", counted)
    Search(Wanted(), NONE_KEPT).of_unit("U1", (records for _ in range(40)))
    assert 3000 <= most < 3400


@pytest.mark.parametrize("number", [None, "1", b"1", 1.5])
def test_what_a_forger_put_in_place_of_a_number_ends_no_search(number: object) -> None:
    rows = [(number, naive_event(1), bytes(16)), (2, naive_event(2), bytes(16))]
    search = Search(Wanted(), NONE_KEPT)
    assert search.of_unit("U1", [rows]) == []  # type: ignore[list-item]
