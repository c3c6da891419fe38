"""A simulated shoe whose journal is full of events that no host has taken."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.client import Client
from sabot.link.events import GapEvent
from sabot.link.ports import Port
from sabot.link.session import Record
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import enter, turn_key
from sabot_hil.kit.flash_image import ChipImage
from sabot_hil.kit.journal_image import entries_in, events_in
from sabot_hil.kit.logbook import received
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.sweeps.aged_journal import RING, aged_image
from sabot_hil.targets.sim import RealClock, SimulatedBench

pytestmark = pytest.mark.slow

Rows = list[tuple[int, bytes, bytes]]
"""Number, record and MAC of events."""

_UNIT = "FULL"
_LAST_SECTOR = RING - 3
_RESERVE = 8  # sectors, firmware/README.md
_SHORT = 300  # cards after the cut card
_PRESSES = 1500  # more than all sectors have room for


@contextmanager
def _old_shoe(
    folder: Path, seed: int, spare: int, settings: Mapping[str, object] | None = None
) -> Iterator[tuple[SimulatedShoe, SimulatedBench, bytes, Rows]]:
    """Yield a shoe that has recorded much, with `spare` sectors left before the events that no host
    has taken, its bench, its first key, and the events that a host has.
    """
    taken = spare + _LAST_SECTOR + 1 - RING
    first_key = random.Random(seed).randbytes(32)
    with SimulatedShoe(_UNIT, state=folder / "new", flash_speed_permille=0) as shoe:
        shoe.power_on()
    entries = entries_in(ChipImage.load(folder / "new" / "journal.nor"))
    state = next(entry.payload for entry in entries if entry.kind == "state")
    image = aged_image(
        first_key,
        last_sector=_LAST_SECTOR,
        newest_slot=17,
        state=state,
        acknowledged=taken,
    )
    held = [(number, entry.record, entry.mac) for number, entry in events_in(image).items()]
    used = folder / "used"
    used.mkdir()
    image.save(used / "journal.nor")
    write_key_files(used, _UNIT, first_key)
    with SimulatedShoe(_UNIT, state=used, flash_speed_permille=0, settings=settings) as shoe:
        shoe.power_on()
        yield shoe, SimulatedBench(shoe), first_key, held[:taken]


def _take(shoe: SimulatedShoe) -> list[Record]:
    """Return all events that a host without any events gets, in order of arrival."""
    with Port(shoe.port) as port:
        client = Client(port)
        client.begin(1)
        return received(client, RealClock())


def _findings(old: Rows, records: list[Record], first_key: bytes) -> list[tuple[str, int]]:
    """Return the verifier's findings: kinds and events. `old` is what another host has taken.

    A round without an end so far is not counted.
    """
    rows = {row[0]: row for row in old}
    rows |= {record.event.number: _row(record) for record in records}
    checks = UnitChecks(_UNIT, macs=Ratchet(first_key))
    return [
        (finding.kind, finding.event)
        for finding in checks.verify(rows.values(), Summary())
        if finding.kind != "incomplete"
    ]


def _row(record: Record) -> tuple[int, bytes, bytes]:
    return record.event.number, record.data, record.mac


def _numbers(records: list[Record]) -> list[int]:
    return [record.event.number for record in records]


def _full(shoe: SimulatedShoe) -> bool:
    return "JOURNAL FULL" in shoe.bench.outputs.display


def test_a_full_journal_stops_the_dealing_between_two_rounds_until_a_host_has_taken_it(
    tmp_path: Path, seed: int
) -> None:
    with _old_shoe(tmp_path, seed, _RESERVE + 3) as (shoe, bench, first_key, old):
        dealing = dealer.BenchDealer(bench, dealer.shuffled_shoe(seed))
        dealing.load()
        while not _full(shoe):
            dealing.deal_round()
        assert dealing.hands, "not before a round was dealt"
        shown = bench.outputs
        assert (shown.title, shown.lock_released) == ("STOP", False)
        assert shown.display[5:7] == ("JOURNAL FULL", "TURN KEY")
        shoe.power_off()
        shoe.power_on()
        assert _full(shoe)
        turn_key(bench)
        dealer.check_cards(bench)  # after the error that stood
        assert _full(shoe), "the key alone makes no room"
        records = _take(shoe)
        assert records[0].event.number <= len(old) + 1, "lost before a host had it"
        assert _numbers(records) == list(range(_numbers(records)[0], _numbers(records)[-1] + 1))
        turn_key(bench)
        assert bench.outputs.title == "NEXT ROUND?"
        bench.press("next")
        for _ in range(3):
            dealing.deal_round()
        assert not _full(shoe)
        records += _take(shoe)
        assert _findings(old, records, first_key) == []
        results = {record.data for record in records if record.event.kind == "result"}
        assert len(results) == len(dealing.hands)


def test_a_round_is_dealt_to_its_end_on_the_sectors_that_are_kept_for_it(
    tmp_path: Path, seed: int
) -> None:
    """None of the cards can be read, and the supervisor enters them all."""
    with _old_shoe(tmp_path, seed, _RESERVE) as (shoe, bench, _, _):
        bench.switch("lid_open", True)
        bench.switch("lid_open", False)
        for card in ("AC", "2C"):
            bench.pull(card)
        assert bench.outputs.lock_released and not _full(shoe)
        for card in ("2C", "3D", "2H", "KS", "9C", "9H"):
            assert not _full(shoe)
            bench.pull_unreadable()
            enter(bench, card)
        assert bench.outputs.display[4] == "PLAYER WINS" and _full(shoe)


def test_a_shoe_that_can_write_no_more_waits_for_a_host_and_goes_on(
    tmp_path: Path, seed: int
) -> None:
    with _old_shoe(tmp_path, seed, _RESERVE) as (shoe, bench, first_key, old):
        bench.switch("lid_open", True)
        bench.switch("lid_open", False)
        while not _full(shoe):
            turn_key(bench)
        for _ in range(_PRESSES):
            bench.press("next")
        assert _full(shoe) and not bench.outputs.lock_released
        records = _take(shoe)
        assert records[0].event.number <= len(old) + 1, "lost before a host had it"
        turn_key(bench)
        turn_key(bench)
        assert not _full(shoe)
        assert _findings(old, records + _take(shoe), first_key) == []


@pytest.mark.parametrize("power_cut", [False, True])
def test_a_house_that_goes_on_learns_which_events_it_has_lost(
    tmp_path: Path, seed: int, power_cut: bool
) -> None:
    settings = {"when_full": "go_on"}
    with _old_shoe(tmp_path, seed, 3, settings) as (shoe, bench, first_key, old):
        dealing = dealer.BenchDealer(bench, dealer.shuffled_shoe(seed, cut_from_end=_SHORT))
        dealing.deal_shoe()
        if power_cut:
            shoe.power_off()
            shoe.power_on()
        before = _take(shoe)
        first = before[0].event.number
        assert first > len(old) + 1, "nothing was overwritten"
        bench.press("next")
        records = _take(shoe)
        events = [record.event for record in records]
        gaps = [event for event in events if isinstance(event, GapEvent)]
        assert [(gap.first, gap.last, gap.reason) for gap in gaps] == [
            (len(old) + 1, first - 1, "queue_full")
        ]
        assert (gaps[0].mac == b"") == power_cut
        assert _findings(old, before + records, first_key) == [("gap", len(old) + 1)]
        results = [record.event for record in records if record.event.kind == "result"]
        assert len(results) == len(dealing.hands)
        shoe.power_off()
        shoe.power_on()
        again = [record.event.kind for record in _take(shoe)]
        assert again.count("gap") == 1, "the gap is recorded once"
