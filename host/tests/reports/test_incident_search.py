"""Looking through a log for incidents passes over most events, and finds what looking at each one
finds."""

import random
from collections.abc import Iterator

import cbor2
import pytest

from host.tests.audit.checks.test_decoding import value_of
from host.tests.support.helpers import FirmwareLog, shuffled_names
from host.tests.support.naive_shoe import naive_event
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.events import Event
from sabot.link.wire import WireError, parse_event
from sabot.log.reveal import NONE_KEPT, Reveal, without_secret_card
from sabot.reports import incident_search
from sabot.reports.incident import KINDS, Incident, Limits
from sabot.reports.incident_search import Search
from sabot.reports.incidents import IncidentFinder
from sabot_protocol import events

Raw = tuple[int, bytes, bytes]

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


def one_by_one(
    records: list[Raw], shoe: int | None, begin: int | None, end: int | None
) -> tuple[list[Incident], int]:
    """The incidents by way of every event, each parsed by itself; and how many cannot be read."""
    finder, unreadable = IncidentFinder("U1", Limits(), NONE_KEPT), 0
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
        reveal = Reveal(NONE_KEPT)
        for event in good:
            reveal.add(event)
        findings = UnitChecks("U1", first=group[0][0]).verify(group, Summary())
        finder.add_all([without_secret_card(each, reveal.hidden) for each in good], findings)
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


@pytest.mark.parametrize("records_of", [random_records, dealt_records])
@pytest.mark.parametrize("seed", range(15))
def test_a_search_finds_what_every_event_by_itself_gives(records_of: object, seed: int) -> None:
    records = records_of(seed)  # type: ignore[operator]
    rng = random.Random(seed)
    times = [
        event.unix_ms
        for _, data, _ in records
        if (event := _parsed(data)) is not None and event.unix_ms is not None
    ]
    some = sorted(rng.sample(times, 2)) if len(times) > 2 else [0, 1]
    for shoe, begin, end in (
        (None, None, None),
        (1, None, None),
        (None, *some),
        (2, some[0], None),
    ):
        size = rng.choice([1, 7, 1000])
        chunks = [records[at : at + size] for at in range(0, len(records), size)]
        search = Search(shoe, begin, end, Limits(), NONE_KEPT)
        found = list(search.of_unit("U1", chunks))
        assert (found, search.damaged) == one_by_one(records, shoe, begin, end)


def test_the_random_logs_have_every_kind_of_incident() -> None:
    found = [
        each.kind
        for seed in range(15)
        for records in (random_records(seed), dealt_records(seed))
        for each in Search(None, None, None, Limits(), NONE_KEPT).of_unit("U1", [records])
    ]
    of_the_host = {"away", "not_logged"}  # no event of a shoe says these
    missing = set(KINDS) - set(found) - of_the_host
    assert not missing


def test_a_shoe_of_cards_that_never_ends_is_not_held_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incident_search, "_MOST_TOGETHER", 3000)
    records = [each for each in dealt_records(1)[20:420] if _shoe_of(each) in (0, 1)]
    most = 0
    take = Search._take

    def counted(
        self: Search, finder: IncidentFinder, unit: str, shoe: incident_search._Shoe
    ) -> None:
        nonlocal most
        most = max(most, len(shoe.records))
        take(self, finder, unit, shoe)

    monkeypatch.setattr(Search, "_take", counted)
    list(Search(None, None, None, Limits(), NONE_KEPT).of_unit("U1", (records for _ in range(40))))
    assert 3000 <= most < 3400


@pytest.mark.parametrize("number", [None, "1", b"1", 1.5])
def test_what_a_forger_put_in_place_of_a_number_ends_no_search(number: object) -> None:
    rows = [(number, naive_event(1), bytes(16)), (2, naive_event(2), bytes(16))]
    search = Search(None, None, None, Limits(), NONE_KEPT)
    assert list(search.of_unit("U1", [rows])) == []  # type: ignore[list-item]
