"""No number in a log or a bundle makes its check cost more than the records around it carry.

Work is counted in hashes (docs/security.md, "Bounds on work"), not in seconds.
"""

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.hashes import Hashes
from host.tests.support.helpers import new_log
from sabot.audit import bundle_file, spans, verify
from sabot.audit.bundle import verify_bundle
from sabot.audit.chain import MOST_EVENTS, MOST_SEARCHED, Ratchet
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.excerpt import collect
from sabot.audit.play.known_games import KnownGames
from sabot.audit.verify import VerifyOptions
from sabot.centre.checks import checkers, checking
from sabot.errors import BundleUnusable
from sabot.floor.rounds.proof import Prover
from sabot.keys import signing
from sabot.keys.chain_keys import Keys, add
from sabot.log.store import Store, open_store

_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_A_RECORD = 100
"""Hashes for each record, at most: its MAC, and those that are derived again."""

FAR = [1 << 22, MOST_EVENTS + 1, 1 << 40, (1 << 63) - 9]
"""Numbers that a forger may write. Those up to MOST_EVENTS a shoe could reach."""


@pytest.fixture(scope="module")
def dealt() -> ChainedLog:
    return ChainedLog().power_on().load_game().deal().wait(60_000).deal()


@pytest.fixture
def db(tmp_path: Path, dealt: ChainedLog) -> Path:
    path = tmp_path / "log.sqlite"
    with new_log(path) as store:
        store.append("U1", dealt.stored())
    return path


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    add(tmp_path / "keys", "U1", FIRST_KEY)
    return Keys.load(tmp_path / "keys")


def _renumbered(record: bytes, number: int) -> bytes:
    values = cbor2.loads(record)
    return cbor2.dumps([values[0], number, *values[2:]], canonical=True)


def _write(db: Path, rows: Sequence[tuple[int, bytes]], *, unit: int = 1) -> None:
    """Write rows as a forger does, who can also have the lists say so."""
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.executemany(
            "INSERT OR REPLACE INTO records VALUES (?, ?, 1, ?, ?)",
            [(unit, number, record, b"m" * 16) for number, record in rows],
        )
    with open_store(db) as store:
        store.rebuild()


def _findings(store: Store, keys: Keys) -> list[Finding]:
    return list(verify.verify(store, Summary(), VerifyOptions(keys=keys)))


def _spans(store: Store, keys: Keys) -> None:
    """As the processes of `sabot verify` do, each of which derives keys of its own."""
    for span in spans.spans_of(store, "U1"):
        macs = verify.macs_of(store, "U1", keys)
        games = KnownGames(store.game, 0)
        spans.checked(store, "U1", span, macs, games, lambda count: None)


def _export(store: Store, keys: Keys) -> None:
    for shoe in (1, 2):
        with suppress(BundleUnusable):
            collect(store, "U1", shoe, keys=keys, still_open=True, exported_unix_ms=1)


def _prove(store: Store, keys: Keys) -> None:
    records = [each for each in store.raw("U1") if type(each[0]) is int]
    Prover(keys).fits(store, "U1", records)


def _examine(store: Store, keys: Keys) -> None:
    """As the notary of a centre does."""
    macs = verify.macs_of(store, "U1", keys)
    for span in checkers.spans_of(checking.Span("U1", 1, store.last_number("U1"), None)):
        if not checking.continues(store, span, macs):
            checking.examine(store, span, macs)


WORK: dict[str, Callable[[Store, Keys], object]] = {
    "verify": _findings,
    "spans": _spans,
    "export": _export,
    "proof": _prove,
    "notary": _examine,
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("number", FAR)
def test_a_single_far_number_in_a_log_costs_nothing(
    db: Path, keys: Keys, dealt: ChainedLog, hashes: Hashes, work: str, number: int
) -> None:
    """Not even if the record says it too, and if a key is searched for another record."""
    _write(db, [(number, _renumbered(dealt.records[-1][1], number)), (9, dealt.records[9][1])])
    with open_store(db) as store:
        hashes.count = 0
        WORK[work](store, keys)
    assert hashes.count < _A_RECORD * len(dealt.records)


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("number", [each for each in FAR if each > MOST_EVENTS])
def test_numbers_that_no_shoe_reaches_cost_nothing_however_many_there_are(
    db: Path, keys: Keys, dealt: ChainedLog, hashes: Hashes, work: str, number: int
) -> None:
    rows = [(number + n, _renumbered(dealt.records[n][1], number + n)) for n in range(8)]
    _write(db, rows)
    with open_store(db) as store:
        hashes.count = 0
        WORK[work](store, keys)
    assert hashes.count < _A_RECORD * (len(dealt.records) + 8)


@pytest.mark.parametrize("work", WORK)
def test_numbers_that_records_carry_cost_one_hash_for_each_epoch_before_them(
    db: Path, keys: Keys, dealt: ChainedLog, hashes: Hashes, work: str, rng: random.Random
) -> None:
    """In whatever order they come: several runs of records far from each other."""
    rows, farthest = [], 1 << 16
    for _ in range(20):
        first = rng.randrange(1000, farthest)
        rows += [(first + n, _renumbered(dealt.records[n][1], first + n)) for n in range(3)]
    _write(db, rows)
    with open_store(db) as store:
        hashes.count = 0
        WORK[work](store, keys)
        tries = len(spans.spans_of(store, "U1")) if work == "spans" else 1
    searched = 6 * MOST_SEARCHED
    records = len(dealt.records) + len(rows)
    assert hashes.count < tries * farthest // 4 + searched + _A_RECORD * records


def test_verify_finds_a_number_that_no_shoe_reaches(
    db: Path, keys: Keys, dealt: ChainedLog
) -> None:
    _write(db, [(1 << 40, _renumbered(dealt.records[-1][1], 1 << 40))])
    with open_store(db) as store:
        found = _findings(store, keys)
    assert any("which no shoe can have written" in each.detail for each in found)


@pytest.mark.parametrize("begins", [2, 50, 4001])
def test_logs_that_begin_late_or_have_holes_are_checked_as_before(
    tmp_path: Path, keys: Keys, begins: int
) -> None:
    log = ChainedLog().power_on().load_game()
    while len(log.records) < begins + 300:
        log.deal()
    path = tmp_path / "late.sqlite"
    with new_log(path) as store:
        store.append("U1", [each for each in log.stored() if each.event.number >= begins])
    with closing(sqlite3.connect(path)) as connection, connection:
        hole = (begins + 100, begins + 120)
        connection.execute("DELETE FROM records WHERE number BETWEEN ? AND ?", hole)
        connection.execute(
            "UPDATE records SET mac = zeroblob(16) WHERE number = ?", (begins + 200,)
        )
    with open_store(path) as store:
        store.rebuild()
        found = {(each.event, each.kind) for each in _findings(store, keys)}
    assert {(1, "missing"), (begins + 100, "missing"), (begins + 200, "changed")} <= found
    assert not [each for each in found if each[1] in ("wrong_key", "wrong_epoch")]
    assert len([each for each in found if each[1] == "changed"]) == 1


def _bundle(db: Path, keys: Keys) -> bundle_file.Bundle:
    with open_store(db) as store:
        return collect(store, "U1", 2, keys=keys, still_open=False, exported_unix_ms=1)


@pytest.mark.parametrize("number", FAR)
@pytest.mark.parametrize("where", ["last record", "context"])
@pytest.mark.parametrize("claimed", [False, True])
def test_a_far_number_in_a_bundle_costs_nothing(
    db: Path, keys: Keys, hashes: Hashes, number: int, where: str, claimed: bool
) -> None:
    """Of a bundle with hundreds of records the last one, or one of its context, has it."""
    good = _bundle(db, keys)
    if where == "context":
        each = good.context[0]
        changed = replace(good, context=(replace(each, number=number), *good.context[1:]))
    else:
        _, record, mac = good.records[-1]
        last = (number, _renumbered(record, number) if claimed else record, mac)
        changed = replace(good, records=(*good.records[:-1], last))
    path = db.with_name("bundle.sabot")
    # Not `signed`, which refuses to make such a file.
    path.write_bytes(signing.seal(_OPERATOR, bundle_file._document(replace(changed, keys={}))))
    hashes.count = 0
    findings: Sequence[Finding] = []
    try:
        findings = verify_bundle(path, keys, None).findings
        refused = False
    except BundleUnusable:
        refused = True
    assert hashes.count < _A_RECORD * len(good.records)
    assert refused or len(findings) > 1
    assert refused or number <= MOST_EVENTS


@pytest.mark.parametrize("lone", [False, True])
def test_events_that_are_lost_in_a_bundle_leave_the_others_checked(
    db: Path, keys: Keys, lone: bool
) -> None:
    """Also one between two holes, as after two losses."""
    good = _bundle(db, keys)
    middle = len(good.records) // 2
    kept = good.records[:middle] + good.records[middle + 5 : middle + 6] * lone
    changed = replace(good, records=(*kept, *good.records[middle + 12 :]))
    changed = replace(changed, keys={n: good.keys[n] for n in changed.epochs()})
    path = db.with_name("bundle.sabot")
    path.write_bytes(bundle_file.signed(changed, _OPERATOR))
    for own in (keys, None):
        found = {each.kind for each in verify_bundle(path, own, None).findings}
        assert "missing" in found and not found & {"keys", "changed", "no_key"}


def test_a_bundle_whose_first_record_is_far_is_bounded_by_what_a_shoe_can_reach(
    hashes: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a smaller limit in place of MOST_EVENTS, so that the test is short."""
    from sabot.audit import chain

    monkeypatch.setattr(chain, "_LAST_EPOCH", 10_000)
    ratchet = Ratchet(FIRST_KEY)
    for epoch in range(0, 1 << 20, 1000):
        with suppress(KeyError):
            ratchet.mac_key(epoch)
    assert hashes.count < 10_000 + 11 * 65
