"""A log checked in spans gives the findings of one pass, whatever was done to it.

One pass over a unit, `verify`, is the oracle. Spans are as short here as a part of a shoe of cards.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cbor2
import pytest

from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.log_tampering import tamper
from host.tests.support.helpers import (
    FirmwareLog,
    NaiveChain,
    RecordWithMac,
    new_log,
    shuffled_names,
    stored,
)
from sabot.audit import spans, workers
from sabot.audit import verify as audit_verify
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.checks.unit_checks import CheckedPart, UnitChecks
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.errors import DatabaseUnusable
from sabot.games.baccarat import catalogue
from sabot.keys.chain_keys import Keys
from sabot.log.store import Store, open_store
from sabot_protocol import events

UNITS = {"SHOE-1": b"\1" * 32, "SHOE-2": b"\2" * 32}
SPAN, WARM_UP = 100, 450
LIST_CHANGES = (
    "DELETE FROM events WHERE unit = :unit AND number = :number",
    "DELETE FROM events WHERE unit = :unit AND number > :number",
    "UPDATE events SET shoe = shoe + 1 WHERE unit = :unit AND number = :number",
    "INSERT OR IGNORE INTO events VALUES (:unit, :number, 'card', NULL, 1, 1)",
    "DELETE FROM records WHERE unit = :unit AND number BETWEEN :number AND :number + 20",
)
"""What SQL makes of the table of events: also rows without a record, and the other way round."""
KEYS = Keys()
for _unit, _key in UNITS.items():
    KEYS.put(_unit, _key)
WITH_KEYS, WITHOUT = VerifyOptions(keys=KEYS), VerifyOptions()


class _OneThread(ThreadPoolExecutor):
    """In place of several processes. Each pool has keys of its own."""

    def __init__(self, _: int, __: object, **given: Any) -> None:
        super().__init__(1, **given)
        audit_verify._MACS.clear()


@pytest.fixture(autouse=True)
def joined(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Short spans, checked in a thread of this process. Returns whether each part was joined."""
    monkeypatch.setattr(spans, "SPAN", SPAN)
    monkeypatch.setattr(spans, "WARM_UP", WARM_UP)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", _OneThread)
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    outcomes: list[bool] = []
    join = UnitChecks.join

    def noted(self: UnitChecks, part: CheckedPart) -> bool:
        outcomes.append(join(self, part))
        return outcomes[-1]

    monkeypatch.setattr(UnitChecks, "join", noted)
    return outcomes


def dealt(
    first_key: bytes, shoes: Sequence[int], rng: random.Random, *, clocked: bool = False
) -> FirmwareLog:
    """A log of short shoes of cards, with restarts, and a clock that is set now and then; with
    `clocked` after each restart."""
    log = FirmwareLog(first_key)
    for seed in shoes:
        log.deal_shoe(shuffled_names(seed, cut_from_end=350))
        if rng.random() < 0.3:
            log.power_on(clock=clocked or rng.random() < 0.7)
        elif rng.random() < 0.2:
            log.set_clock(1_790_000_000_000 + rng.randrange(-(10**9), 10**9))
    return log


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of two units, with the lists of all its events."""
    path = tmp_path_factory.mktemp("whole") / "log.sqlite"
    with new_log(path) as store:
        for unit, key in UNITS.items():
            log = dealt(key, range(6), random.Random(1), clocked=True)
            store.append(unit, stored(log.records))
        store.derive()
    return path


Outcome = tuple[list[Finding], Summary] | str


def one_pass(path: Path, options: VerifyOptions) -> Outcome:
    """What one pass over each unit gives."""
    summary = Summary()
    try:
        with open_store(path) as store:
            return list(verify(store, summary, options)), summary
    except DatabaseUnusable as refused:
        return str(refused)


def in_spans(path: Path, options: VerifyOptions) -> Outcome:
    """What the spans give, joined."""
    try:
        return verify_log(path, options)
    except DatabaseUnusable as refused:
        return str(refused)


@pytest.mark.slow
@pytest.mark.parametrize("options", [WITH_KEYS, WITHOUT], ids=["keys", "no keys"])
def test_every_span_of_a_whole_log_is_joined(
    whole: Path, options: VerifyOptions, joined: list[bool]
) -> None:
    with open_store(whole) as store:
        due = sum(len(spans.spans_of(store, unit)) for unit in UNITS)
    assert in_spans(whole, options) == one_pass(whole, options)
    assert joined == [True] * due and due > 20


@pytest.mark.slow
@pytest.mark.parametrize("options", [WITH_KEYS, WITHOUT], ids=["keys", "no keys"])
@pytest.mark.parametrize("firmware", ["0.1.9", "0.2.0"])
def test_sealed_rounds_are_checked_in_spans_as_in_one_pass(
    tmp_path: Path, options: VerifyOptions, firmware: str, joined: list[bool]
) -> None:
    """A start is far before most rounds; in some of these a card, or all, are in plain."""
    document = catalogue.document("ez-midi")
    log = FirmwareLog(UNITS["SHOE-1"], document, firmware)
    for seed in range(8):
        log.deal_shoe(shuffled_names(seed, cut_from_end=350))
    for change in (_as_it_is, _in_plain):
        path = tmp_path / change.__name__
        with new_log(path) as store:
            store.keep_game(document)
            made = [change(n, cbor2.loads(data)) for n, data in enumerate(log.records)]
            store.append("SHOE-1", stored(_with_macs(made)))
            store.derive()
        joined.clear()
        found, summary = outcome = in_spans(path, options)
        assert outcome == one_pass(path, options) and joined and all(joined)
        assert isinstance(summary, Summary) and summary.rounds > 60
        assert ("seal" in {each.kind for each in found}) == (change is _in_plain)


def _as_it_is(_: int, values: list[Any]) -> list[Any]:
    return values


def _in_plain(number: int, values: list[Any]) -> list[Any]:
    """Some sealed cards become plain ones, and in some rounds all events about seals others."""
    if values[0] == events.SEALED_CARD.number and number % 50 == 0:
        return [events.CARD.number, *values[1:7], number % 52, *values[9:]]
    if values[6] % 7 == 3 and values[0] in (events.SEAL.number, events.UNSEALED.number):
        return [events.IDENTIFIED.number, *values[1:7]]
    if values[6] % 7 == 3 and values[0] == events.SEALED_CARD.number:
        return [events.CARD.number, *values[1:7], number % 52, *values[9:]]
    return values


def _with_macs(values: list[list[Any]]) -> list[RecordWithMac]:
    chain, made = NaiveChain(UNITS["SHOE-1"]), list[RecordWithMac]()
    before = chain.id
    for number, each in enumerate(values, 1):
        own = [number - 1, before] if each[0] == events.CHECKPOINT.number else each[7:]
        record = cbor2.dumps([*each[:7], *own], canonical=True)
        before = chain.mac(number, before, record)
        made.append(RecordWithMac(record, before))
    return made


@pytest.mark.slow
def test_a_shoe_of_cards_longer_than_the_warm_up_is_checked_again(
    whole: Path, joined: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "WARM_UP", 50)
    assert in_spans(whole, WITH_KEYS) == one_pass(whole, WITH_KEYS)
    assert False in joined


@pytest.mark.slow
def test_records_without_a_row_in_the_lists_are_no_difference(whole: Path, tmp_path: Path) -> None:
    path = shutil.copyfile(whole, tmp_path / "log.sqlite")
    with open_store(path, create=True) as store, store.writer as connection:
        connection.execute("DELETE FROM events WHERE number > 333")
        store._appends = False  # it would derive them again
    assert in_spans(path, WITH_KEYS) == one_pass(path, WITH_KEYS)


@pytest.mark.slow
def test_events_removed_between_two_spans_are_not_missing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sabot prune` may run meanwhile."""
    path = shutil.copyfile(whole, tmp_path / "log.sqlite")
    checked = spans.checked

    def pruned_first(store: Store, unit: str, span: spans.Span, *rest: Any) -> CheckedPart | None:
        if span.first is not None and not store.tombstone_rows(unit):
            with open_store(path) as other:
                other.prune(unit, 1, 150, b"")
        return checked(store, unit, span, *rest)

    monkeypatch.setattr(audit_verify, "checked", pruned_first)
    found = in_spans(path, WITH_KEYS)
    monkeypatch.setattr(audit_verify, "checked", checked)
    assert found == one_pass(path, WITH_KEYS) == in_spans(path, WITH_KEYS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_file_that_was_tampered_with(whole: Path, tmp_path: Path, batch: int) -> None:
    for seed, rng in cases(batch, sample=8):
        path = shutil.copyfile(whole, tmp_path / "log.sqlite")
        ways = tamper(path, rng)
        options = rng.choice((WITH_KEYS, WITHOUT))
        right = one_pass(path, options)
        assert in_spans(path, options) == right, f"seed {seed}, {ways}"
        for beside in tmp_path.glob("log.sqlite*"):
            beside.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_events_that_were_forged(tmp_path: Path, batch: int) -> None:
    """By one who has the keys, or not; and rows in other places."""
    for seed, rng in cases(batch, sample=8):
        check_forged(tmp_path / f"{seed}.sqlite", seed, rng)


@pytest.mark.slow
def test_forged_events_meet_parts_that_are_joined_and_parts_that_are_checked_again(
    tmp_path: Path, joined: list[bool]
) -> None:
    for seed in (1, 2, 3):
        check_forged(tmp_path / f"{seed}.sqlite", seed, random.Random(seed))
    assert set(joined) == {True, False}


def check_forged(path: Path, seed: int, rng: random.Random) -> None:
    """Make a forged log at `path`, and check that the spans find what one pass finds."""
    write_forged(path, rng)
    options = rng.choice((WITH_KEYS, WITH_KEYS, WITHOUT))
    assert in_spans(path, options) == one_pass(path, options), f"seed {seed}"
    path.unlink()


def write_forged(path: Path, rng: random.Random) -> None:
    """Make a log of two units with forged records, and lists that differ from them."""
    with new_log(path) as store:
        for unit, key in UNITS.items():
            log = dealt(key, [rng.randrange(99) for _ in range(rng.choice((3, 6)))], rng)
            rows = list(forged(log, key, rng))
            store.append(unit, stored(log.records[:1]))
            with store.writer as connection:
                unit_id = store._ids[unit]
                connection.execute("DELETE FROM records WHERE unit = ?", (unit_id,))
                connection.executemany(
                    "INSERT OR IGNORE INTO records VALUES (?, ?, 0, ?, ?)",
                    [(unit_id, *row) for row in rows],
                )
        store.derive()
        with store.writer as connection:
            for _ in range(rng.choice((0, 0, 1, 3))):
                change, number = rng.choice(LIST_CHANGES), rng.randrange(1, 1500)
                connection.execute(change, {"unit": rng.choice((1, 2)), "number": number})
        store._appends = False  # it would derive them again


def forged(log: FirmwareLog, key: bytes, rng: random.Random) -> Iterator[tuple[int, bytes, bytes]]:
    """The rows of a log, changed at one to four places."""
    records = list(log.records)
    for _ in range(rng.randrange(1, 5)):
        if not records:
            break
        at = rng.randrange(len(records))
        match rng.randrange(8):
            case 0:
                del records[at : at + rng.choice((1, 1, 5, 150))]
            case 1:
                records[at:at] = records[at - 2 : at - 2 + rng.choice((1, 2, 5))]
            case 2:
                other = rng.randrange(len(records))
                records[at], records[other] = records[other], records[at]
            case 3:
                records[at] = RecordWithMac(records[at], rng.randbytes(16))
            case 4:
                records[at] = RecordWithMac(records[at][:-1], records[at].mac)
            case 5:
                records = remade(records, key, at, rng)
            case 6:
                log.lose(at + 1, at + 3)
                records = [each for each in records if each in log.records]
            case 7:
                del records[at:]
                records += dealt(b"\3" * 32, [5], rng).records if rng.random() < 0.5 else []
    keep_numbers = rng.random() < 0.5
    for row, record in enumerate(records, 1):
        number = row
        if keep_numbers:
            try:
                number = cbor2.loads(record)[1]
            except Exception:
                number = row
        yield number, bytes(record), record.mac


def remade(
    records: list[RecordWithMac], key: bytes, at: int, rng: random.Random
) -> list[RecordWithMac]:
    """One field of an event is changed, and all MACs from there on are made with the key."""
    values = cbor2.loads(records[at])
    field = rng.randrange(2, len(values))
    if isinstance(values[field], int):
        values[field] = max(0, values[field] + rng.choice((-1, 1, 1000, -1000)))
    chain, before = NaiveChain(key), records[at - 1].mac if at else NaiveChain(key).id
    made = [cbor2.dumps(values, canonical=True), *map(bytes, records[at + 1 :])]
    new: list[RecordWithMac] = []
    for number, data in enumerate(made, at + 1):
        before = chain.mac(number, before, data)
        new.append(RecordWithMac(data, before))
    return [*records[:at], *new]
