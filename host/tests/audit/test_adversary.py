"""An adversary has a good log, its tables and all tools, and changes it in every possible way.

Each test names all findings of the audit chain that there must be, with their events. Findings from
the events alone are tested in test_verify.py. A second implementation of the chain (`NaiveChain`)
makes the adversary's MACs.
"""

import os
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.editable_log import (
    EVENT_KINDS,
    FILE_NUMBERS,
    GAP,
    NOW_UNIX_MS,
    OPERATOR,
    REMOVED,
    EditableLog,
    rows_of,
    tombstone_of,
)
from host.tests.support.helpers import (
    TEST_KEY,
    FirmwareLog,
    NaiveChain,
    edited,
    event_bytes,
    new_log,
    parsed,
    shuffled_names,
)
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.chain import RevealedKeys
from sabot.audit.checkpoints import Checkpoint, checkpoints_of
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.verify import VerifyOptions, verify
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.rounds import rounds_of
from sabot.log.store import open_store
from sabot_protocol.chain import chain_id

pytestmark = pytest.mark.slow

OTHER_KEY = b"\7" * 32
CHAIN = NaiveChain()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> EditableLog:
    return EditableLog(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def log(made: EditableLog) -> EditableLog:
    """A copy of the log, to be changed."""
    return made.copy()


TIMES = range(2)
"""How often a test repeats at random places, each time with its own seed."""


@pytest.fixture(params=TIMES)
def rng(request: pytest.FixtureRequest) -> random.Random:
    """A generator whose seed pytest prints if the test fails; SABOT_SEED=... sets the seed."""
    seed = int(os.environ.get("SABOT_SEED", time.time_ns() // 1000 + request.param & 0x3FFFFFFF))
    print(f"SABOT_SEED={seed}")
    return random.Random(seed)


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def forged_card(log: EditableLog, number: int) -> bytes:
    """A record of an event that never happened."""
    old = parsed(log.row(number)[0])
    given = {"boot": old.boot, "t_ms": old.t_ms, "unix_ms": old.unix_ms, "shoe": old.shoe}
    return event_bytes("card", number, card="9S", position="not_due", round=old.round, **given)


def test_the_good_log_has_no_findings_and_its_tombstone_is_a_note(log: EditableLog) -> None:
    assert log.found() == [] and len(log.rows) > 1000
    assert [(note.event, note.kind) for note in log.summary.notes] == [(1, "removed")]
    assert signing.fingerprint(signing.public_of(OPERATOR)) in log.summary.notes[0].detail


def test_a_changed_byte_of_a_record_is_changed(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng)
    data, mac = log.row(number)
    log.put(number, flipped(data, rng), mac)
    assert log.found() == [(number, "changed")]


def test_a_changed_byte_of_a_mac_is_changed(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng)
    data, mac = log.row(number)
    log.put(number, data, flipped(mac, rng))
    assert log.found() == [(number, "changed")]


def test_a_changed_record_with_a_changed_mac_is_changed(
    log: EditableLog, rng: random.Random
) -> None:
    number = log.random_number(rng)
    data, mac = log.row(number)
    log.put(number, flipped(data, rng), flipped(mac, rng))
    assert log.found() == [(number, "changed")]


@pytest.mark.parametrize("which", ["record", "mac", "both"])
@pytest.mark.parametrize("place", ["first", "after the gap", "before the gap", "last", "gap"])
def test_a_change_next_to_missing_events_is_changed(
    log: EditableLog, which: str, place: str
) -> None:
    random_ = random.Random(which + place)
    number = {
        "first": REMOVED[-1] + 1, "after the gap": GAP[-1] + 1, "before the gap": GAP[0] - 1,
        "last": log.last, "gap": log.gap_number,
    }[place]  # fmt: skip
    data, mac = log.row(number)
    event = parsed(data)
    if which != "mac":
        data = edited(event, t_ms=event.t_ms + 1, unix_ms=event.unix_ms and event.unix_ms + 1)
    log.put(number, data, mac if which == "record" else flipped(mac, random_))
    found = log.found()
    if place == "after the gap" and which != "record":
        # The MAC of the next event continues from this one.
        assert found == [(number, "changed"), (number + 1, "changed")]
    else:
        assert found == [(number, "changed")]


def test_every_one_of_many_changes_is_found(log: EditableLog, rng: random.Random) -> None:
    numbers = sorted({log.random_number(rng) // 10 * 10 + 5 for _ in range(20)})
    numbers = [n for n in numbers if n > REMOVED[-1] + 2 and not {n, n + 1, n - 1} & set(GAP)]
    for number in numbers:
        data, mac = log.row(number)
        log.put(number, flipped(data, rng), mac)
    assert log.found() == [(number, "changed") for number in numbers]


def test_a_thief_of_the_last_key_cannot_change_what_was_before(
    log: EditableLog, rng: random.Random
) -> None:
    """The stolen key is that in the shoe: of the epoch of its last event, or of the next one."""
    number = log.random_number(rng, last=log.last - 12)
    event = parsed(log.row(number)[0])
    record = edited(event, t_ms=event.t_ms + 1)
    stolen = log.last // 4 + rng.randrange(2)
    log.put(number, record, CHAIN.mac(number, log.before(number), record, epoch=stolen))
    assert log.found() == [(number, "wrong_epoch")]
    assert f"epoch {stolen}, but it is of epoch {number // 4}" in " ".join(log.details)


def test_a_thief_who_rewrites_the_log_from_an_event_on_is_found_there(
    log: EditableLog, rng: random.Random
) -> None:
    number = log.random_number(rng, first=log.gap_number + 3, last=log.last - 12)
    stolen, before = log.last // 4, log.before(number)
    for row, data, _ in log.rows:
        if row >= number:
            event = parsed(data)
            record = edited(event, t_ms=event.t_ms + 1) if event.kind == "card" else data
            before = CHAIN.mac(row, before, record, epoch=stolen)
            log.put(row, record, before)
    assert log.found() == [(number, "wrong_epoch")]


def test_a_deleted_record_is_missing(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng)
    log.remove(number, number)
    assert log.found() == [(number, "missing")]


def test_many_deleted_records_are_missing_from_the_first_on(
    log: EditableLog, rng: random.Random
) -> None:
    first = log.random_number(rng, last=GAP[0] - 1)
    log.remove(first, rng.randrange(first, GAP[0] - 1))
    assert log.found() == [(first, "missing")]


def test_records_deleted_around_the_gap_are_missing(log: EditableLog) -> None:
    log.remove(GAP[0] - 5, GAP[-1] + 5)
    found = log.found()
    assert found == [(GAP[0] - 5, "missing")]


def test_deleted_records_with_the_rows_closed_up_are_missing(
    log: EditableLog, rng: random.Random
) -> None:
    first = log.random_number(rng, first=log.gap_number + 3, last=log.last - 60)
    log.remove(first, last := first + rng.randrange(50))
    log.close_up(last + 1, last + 1 - first)
    assert log.found() == [(first, "missing")]
    assert f"events {first} to {last} are not" in " ".join(log.details)


def test_deleted_first_records_are_missing(log: EditableLog, rng: random.Random) -> None:
    log.remove(1, last := REMOVED[-1] + rng.randrange(1, 100))
    assert log.found() == [(REMOVED[-1] + 1, "missing")]
    log.tombstones = []
    assert log.found() == [(1, "missing")]
    assert f"events 1 to {last}" in " ".join(log.details)


def test_the_deleted_tombstone_leaves_its_events_missing(log: EditableLog) -> None:
    log.tombstones = []
    assert log.found() == [(1, "missing")]


@pytest.mark.parametrize("where", ["after it", "in place of the next"])
def test_a_doubled_record_is_doubled(log: EditableLog, rng: random.Random, where: str) -> None:
    number = log.random_number(rng)
    if where == "after it":
        log.insert(number + 1, log.row(number))
    else:
        log.put(number + 1, *log.row(number))
    assert log.found() == [(number + 1, "doubled")]


def test_the_last_record_doubled_is_doubled(log: EditableLog) -> None:
    log.insert(log.last + 1, log.row(log.last))
    assert log.found() == [(log.last + 1, "doubled")]


@pytest.mark.parametrize("how_many", [1, 2, 40, 600])
@pytest.mark.parametrize("mac", ["random", "of the last key"])
def test_inserted_records_are_inserted(
    log: EditableLog, rng: random.Random, mac: str, how_many: int
) -> None:
    number = log.random_number(rng, last=log.last - 12 - how_many)
    forged, before = [], log.before(number)
    for at in range(number, number + how_many):
        record = edited(parsed(forged_card(log, number)), number=at)
        stolen = CHAIN.mac(at, before, record, epoch=log.last // 4)
        before = stolen if mac == "of the last key" else rng.randbytes(16)
        forged.append((record, before))
    log.insert(number, *forged)
    assert log.found() == [(number, "inserted")]


def test_an_old_record_inserted_elsewhere_is_inserted(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng, first=500, last=GAP[0] - 3)
    log.insert(number, log.row(rng.randrange(REMOVED[-1] + 1, number - 5)))
    assert log.found() == [(number, "inserted")]


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 50, 300])
def test_two_swapped_records_are_reordered(
    log: EditableLog, rng: random.Random, apart: int
) -> None:
    number = log.random_number(rng, first=REMOVED[-1] + 2, last=GAP[0] - 4 - apart)
    first, second = log.row(number), log.row(number + apart)
    log.put(number, *second)
    log.put(number + apart, *first)
    assert log.found() == [(number, "reordered")]


def test_two_swapped_ranges_are_reordered(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng, first=log.gap_number + 3, last=log.last - 60)
    rows = [log.row(n) for n in range(number, number + 30)]
    size = rng.randrange(2, 10)
    moved = rows[-size:] + rows[size:-size] + rows[:size]
    for at, (data, mac) in enumerate(moved, number):
        log.put(at, data, mac)
    assert log.found() == [(number, "reordered")]


def test_two_swapped_macs_are_two_changed_events(log: EditableLog, rng: random.Random) -> None:
    number = log.random_number(rng, last=GAP[0] - 10)
    (one, one_mac), (other, other_mac) = log.row(number), log.row(number + 5)
    log.put(number, one, other_mac)
    log.put(number + 5, other, one_mac)
    assert log.found() == [(number, "changed"), (number + 5, "changed")]


def a_round(log: EditableLog, rng: random.Random) -> range:
    """The events of one round."""
    events = [parsed(data) for _, data, _ in log.rows]
    rounds = list(rounds_of("U1", [event for event in events if event.number < GAP[0] - 1]))
    chosen = rng.choice(rounds[1:-8])
    return range(chosen.first_event, chosen.last_event + 1)


def test_an_old_round_inserted_again_is_doubled(log: EditableLog, rng: random.Random) -> None:
    old = a_round(log, rng)
    number = log.random_number(rng, first=old[-1] + 20, last=GAP[0] - 3)
    log.insert(number, *[log.row(n) for n in old])
    assert log.found() == [(number, "doubled")]


def test_an_old_round_in_place_of_other_events_is_doubled(
    log: EditableLog, rng: random.Random
) -> None:
    old = a_round(log, rng)
    number = log.random_number(rng, first=log.gap_number + 3, last=log.last - 60)
    for at, n in enumerate(old, number):
        log.put(at, *log.row(n))
    assert log.found() == [(number, "doubled")]


def test_an_old_round_at_the_end_is_doubled(log: EditableLog, rng: random.Random) -> None:
    old = a_round(log, rng)
    log.insert(log.last + 1, *[log.row(n) for n in old])
    assert log.found() == [(log.last + 1, "doubled")]


def checkpoints(log: EditableLog) -> list[Checkpoint]:
    """The checkpoints of the log before any change, as kept elsewhere."""
    with open_store(log.store()) as store:
        return list(checkpoints_of(store))


def test_a_log_cut_off_at_its_end_is_found_only_by_checkpoints(
    log: EditableLog, rng: random.Random
) -> None:
    kept = checkpoints(log)
    last = log.random_number(rng, first=GAP[-1] + 3)
    log.remove(last + 1, log.last)
    # The gap is a finding only if the event `gap` is cut off too.
    assert log.found() in ([], [(GAP[0], "missing")])
    assert (last + 1, "truncated") in log.found(kept=kept)
    assert (last + 1, "truncated") not in log.found(kept=[c for c in kept if c.records <= last])


def test_a_unit_that_is_missing_altogether_is_truncated(log: EditableLog) -> None:
    assert log.found(kept=[Checkpoint("U9", 17, bytes(16))]) == [(1, "truncated")]


def test_a_person_with_the_keys_cannot_rewrite_what_a_checkpoint_covers(
    log: EditableLog, rng: random.Random
) -> None:
    """All records from one on get good MACs. Only a checkpoint that is kept elsewhere shows it."""
    kept = checkpoints(log)
    number = log.random_number(rng, first=log.gap_number + 3, last=kept[-2].records)
    before = log.before(number)
    for row, data, _ in log.rows:
        if row >= number:
            event = parsed(data)
            if row == number:
                data = edited(event, t_ms=event.t_ms + 1, unix_ms=(event.unix_ms or 0) + 1)
            if event.kind == "checkpoint":
                data = edited(event, mac=before)
            before = CHAIN.mac(row, before, data)
            log.put(row, data, before)
    covered = next(each.records for each in kept if each.records >= number)
    assert log.found() == []
    assert log.found(kept=kept) == [(covered, "rewritten")]


def test_an_edited_checkpoint_does_not_fit(log: EditableLog, rng: random.Random) -> None:
    kept = checkpoints(log)
    at = rng.randrange(1, len(kept))
    assert log.found(kept=kept) == []
    edited_one = replace(kept[at], mac=flipped(kept[at].mac, rng))
    assert log.found(kept=[edited_one]) == [(kept[at].records, "rewritten")]
    longer = replace(kept[at], records=log.last + 9)
    assert log.found(kept=[longer]) == [(log.last + 1, "truncated")]


def test_a_checkpoint_of_removed_events_is_compared_with_the_tombstone(log: EditableLog) -> None:
    good = Checkpoint("U1", REMOVED[-1], log.whole[REMOVED[-1] - 1][2])
    assert log.found(kept=[good]) == []
    assert log.found(kept=[replace(good, mac=bytes(16))]) == [(REMOVED[-1], "rewritten")]


def test_records_moved_to_another_unit_are_changed_there_and_missing_here(
    log: EditableLog, rng: random.Random
) -> None:
    other = FirmwareLog(OTHER_KEY)
    other.deal_shoe(shuffled_names(77, cut_from_end=340))
    theirs = rows_of(other)
    number = log.random_number(rng, last=GAP[0] - 30)
    cut = next(n for n, (row, _, _) in enumerate(theirs) if row == len(theirs))
    moved = [row for row in log.rows if number <= row[0] < number + 20]
    ours = len(theirs) + 1
    path = log.folder / f"{next(FILE_NUMBERS)}.sqlite"
    with new_log(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO units VALUES (?, ?)", [(1, "U1"), (2, "U2")])
        insert = "INSERT INTO records VALUES (?, ?, 0, ?, ?)"
        kept = [row for row in log.rows if row not in moved]
        connection.executemany(insert, [(1, *row) for row in kept])
        connection.executemany(insert, [(2, *row) for row in theirs[: cut + 1]])
        renumbered = [(2, ours + n, *rest) for n, (_, *rest) in enumerate(moved)]
        connection.executemany(insert, renumbered)
        insert = "INSERT INTO tombstones VALUES (1, ?, ?, ?)"
        connection.execute(insert, (REMOVED[0], REMOVED[-1], log.tombstones[0]))
        connection.commit()
    keys = Keys()
    keys.put("U1", TEST_KEY)
    keys.put("U2", OTHER_KEY)
    with open_store(path) as store:
        found = [
            (each.unit, each.event, each.kind)
            for each in verify(
                store,
                Summary(),
                VerifyOptions(
                    keys=keys, operator=signing.public_of(OPERATOR), now_unix_ms=NOW_UNIX_MS
                ),
            )
            if each.kind not in EVENT_KINDS and each.kind != "gap"
        ]
    has_start = any(parsed(data).kind == "boot" for _, data, _ in moved)  # it names the chain
    kind = "wrong_key" if has_start else "changed"
    assert found == [("U1", number, "missing"), ("U2", ours, kind)]


def test_a_log_without_a_key_is_not_called_good(log: EditableLog) -> None:
    assert log.found(None) == [(1, "no_key")]


@pytest.mark.parametrize("tombstones", [True, False])
@pytest.mark.parametrize("key", [OTHER_KEY, bytes(32)])
def test_keys_of_another_unit_are_the_wrong_key(
    log: EditableLog, key: bytes, tombstones: bool
) -> None:
    if not tombstones:
        log.rows, log.tombstones = [row for row in log.whole if row[0] not in GAP], []
    assert log.found(key) == [(1, "wrong_key")]


def test_a_second_chain_within_a_log_is_the_wrong_key(log: EditableLog) -> None:
    other = FirmwareLog(OTHER_KEY)
    other.deal_shoe(shuffled_names(78, cut_from_end=330))
    log.rows += [(log.last + row, data, mac) for row, data, mac in rows_of(other)]
    assert log.found() == [(log.last + 1, "wrong_key")]


def test_of_several_keys_of_a_unit_the_one_that_made_its_records_is_used(
    log: EditableLog,
) -> None:
    for first, second in ((TEST_KEY, OTHER_KEY), (OTHER_KEY, TEST_KEY)):
        keys = Keys()
        keys.put("U1", first)
        keys.put("U1", second)
        with open_store(log.store()) as store:
            options = VerifyOptions(
                keys=keys,
                operator=signing.public_of(OPERATOR),
                elsewhere=Elsewhere([chain_id(OTHER_KEY).hex()]),
                now_unix_ms=NOW_UNIX_MS,
            )
            found = list(verify(store, Summary(), options))
        assert [each.kind for each in found] == ["gap", "incomplete"]


def test_an_edit_of_the_derived_table_is_derived_and_the_chain_is_good(
    log: EditableLog, rng: random.Random
) -> None:
    path = log.store()
    with open_store(path) as store:
        store.rebuild()
    number = log.random_number(rng)
    assert log.found_in_file(path) == []
    change = rng.choice(["kind = 'lid'", "round = round + 1", "shoe = 0", "unix_ms = 5"])
    if parsed(log.row(number)[0]).kind == "lid":
        change = "round = 99"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE events SET {change} WHERE number = ?", (number,))
        connection.commit()
    assert log.found_in_file(path) == [(number, "derived")]
    with open_store(path) as store:
        store.rebuild()
    assert log.found_in_file(path) == []


def test_events_that_only_the_derived_table_has_are_truncated(log: EditableLog) -> None:
    path = log.store()
    with open_store(path) as store:
        store.rebuild()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM records WHERE number > ?", (log.last - 50,))
        connection.commit()
    assert log.found_in_file(path) == [(log.last - 49, "truncated")]


def test_an_edited_byte_of_a_tombstone_is_found(log: EditableLog, rng: random.Random) -> None:
    log.tombstones = [flipped(log.tombstones[0], rng)]
    assert log.found() == [(1, "tombstone")]


@pytest.mark.parametrize(
    "changed",
    [{"last": 304}, {"last": 306}, {"first": 2, "before": bytes(16)}, {"after": bytes(16)}],
)
def test_a_signed_tombstone_that_does_not_fit_is_found(
    log: EditableLog, changed: dict[str, Any]
) -> None:
    log.tombstones = [tombstone_of(log.whole, **changed)]
    wanted = {
        "{'last': 304}": [(1, "tombstone"), (305, "missing")],
        "{'last': 306}": [(1, "tombstone"), (306, "tombstone")],
        "{'first': 2, 'before': bytes(16)}": [(1, "missing"), (2, "tombstone")],
        "{'after': bytes(16)}": [(306, "changed")],
    }
    name = str(changed).replace(repr(bytes(16)), "bytes(16)")
    assert sorted(set(log.found())) == wanted[name]


def test_a_tombstone_of_another_unit_is_found(log: EditableLog) -> None:
    log.tombstones = [tombstone_of(log.whole, unit="U2")]
    assert log.found() == [(1, "tombstone")]


def test_a_tombstone_with_another_signer_is_found_if_the_operator_is_named(
    log: EditableLog,
) -> None:
    assert log.found() == []
    other = signing.public_of(Ed25519PrivateKey.generate())
    assert log.found(operator=other) == [(1, "operator")]


def test_a_tombstone_is_found_if_no_operator_is_named(log: EditableLog) -> None:
    assert log.found(operator=None) == [(1, "operator")]
    assert "--operator" in " ".join(log.details)


def test_a_tombstone_of_events_that_are_in_the_log_is_found(log: EditableLog) -> None:
    log.rows = sorted([*log.rows, *log.whole[: REMOVED[-1]]])
    assert (1, "tombstone") in log.found()


def test_an_invented_gap_is_changed(log: EditableLog, rng: random.Random) -> None:
    """To declare deleted events as lost, the adversary would have to record a gap."""
    first = log.random_number(rng, last=GAP[0] - 40)
    last, at = first + 5, GAP[0] - 20
    after = log.row(last)[1]
    log.remove(first, last)
    given = {"first": first, "last": last, "reason": "queue_full", "mac": after}
    log.put(at, event_bytes("gap", at, **given), log.row(at)[1])
    assert log.found() == [(first, "gap"), (at, "changed")]


def test_the_keys_of_some_epochs_verify_only_these_epochs(log: EditableLog) -> None:
    """As in a bundle."""
    rows = [row for row in log.rows if 600 <= row[0] < 700]
    revealed = RevealedKeys({epoch: CHAIN.key(epoch) for epoch in range(150, 175)}, CHAIN.id)
    given: dict[str, Any] = {"first": 600, "before": log.before(600)}
    kinds = EVENT_KINDS
    found = UnitChecks("U1", macs=revealed, **given).verify(rows, Summary())
    assert [each for each in found if each.kind not in kinds] == []
    rows[50] = (650, rows[50][1], bytes(16))
    found = UnitChecks("U1", macs=revealed, **given).verify(rows, Summary())
    assert [(e.event, e.kind) for e in found if e.kind not in kinds] == [(650, "changed")]
    few = RevealedKeys({epoch: CHAIN.key(epoch) for epoch in range(150, 160)}, CHAIN.id)
    found = UnitChecks("U1", macs=few, **given).verify(rows[:50], Summary())
    assert [(e.event, e.kind) for e in found if e.kind not in kinds] == [(640, "changed")]


def test_random_changes_are_always_found(log: EditableLog, rng: random.Random) -> None:
    """Several changes at once: it matters only that something is found, not what."""
    for _ in range(6):
        forged = log.copy()
        for _ in range(rng.randrange(1, 4)):
            number = forged.random_number(rng)
            other = forged.random_number(rng)
            data, mac = forged.row(number)
            match rng.randrange(6):
                case 0:
                    forged.put(number, flipped(data, rng), mac)
                case 1:
                    forged.put(number, data, flipped(mac, rng))
                case 2:
                    forged.remove(min(number, other), max(number, other))
                case 3:
                    forged.insert(number, forged.row(other))
                case 4:
                    forged.put(other, data, mac)
                case 5:
                    forged.remove(number, number)
                    forged.close_up(number, 1)
        if forged.rows != log.rows:
            assert forged.found(), "nothing was found"


@pytest.mark.parametrize("by", [-1000, -(1 << 62), 1 << 40])
def test_rows_with_numbers_that_no_shoe_writes_are_found_also_with_several_keys(
    log: EditableLog, by: int
) -> None:
    log.rows = [(row + by, data, mac) for row, data, mac in log.rows[:80]]
    keys = Keys()
    for key in (TEST_KEY, OTHER_KEY):
        keys.put("U1", key)
    with open_store(log.store()) as store:
        assert list(verify(store, Summary(), VerifyOptions(keys=keys, now_unix_ms=NOW_UNIX_MS)))
