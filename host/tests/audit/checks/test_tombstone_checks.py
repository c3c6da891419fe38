"""A person with the log's file and a key of their own removes records, and leaves a tombstone."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import DAY_MS, START_UNIX_MS, ChainedLog
from host.tests.support.commands import run
from host.tests.support.helpers import new_log
from sabot.audit import retention, tombstone
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.tombstone import ContextRecord, RemovedShoe, Tombstone, TombstoneUnusable
from sabot.audit.verify import VerifyOptions, verify
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import public_of
from sabot.log.store import open_store

HOUR_MS = 3_600_000
OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
THIEF = Ed25519PrivateKey.from_private_bytes(b"somebody" * 4)
KEEP_DAYS = 30


@dataclass
class PrunedLog:
    """A log of three shoes of cards, ten days from each to the next, from which events are removed
    without `sabot prune`."""

    path: Path
    log: ChainedLog = field(default_factory=lambda: ChainedLog().power_on().load_game().deal())
    now_unix_ms: int = START_UNIX_MS + 101 * DAY_MS
    """When it is verified."""

    def __post_init__(self) -> None:
        for _ in range(2):
            self.log.wait(10 * DAY_MS).deal()
        with new_log(self.path) as store:
            store.append("U1", self.log.stored())

    def loaded(self, shoe: int) -> int:
        """The number of the event that begins a shoe of cards."""
        return self.log.number_of("shoe_loaded", shoe)

    def remove(self, first: int, last: int, /, **changed: Any) -> None:
        """Remove events, and leave a tombstone of shoe of cards 1 for them."""
        removed = self.log.records[first - 1 : last]
        given: dict[str, Any] = {
            "unit": "U1", "first": first, "last": last,
            "before": b"" if first == 1 else self.log.records[first - 2][2],
            "after": removed[-1][2], "shoes": [RemovedShoe(1, 6, len(removed))],
            "sha256": sha256(b"".join(data + mac for _, data, mac in removed)).digest(),
            "removed_unix_ms": START_UNIX_MS + 100 * DAY_MS, "keep_days": KEEP_DAYS,
            "context": [self.kept(number) for number in (1, 2, 3)],
        }  # fmt: skip
        private = changed.pop("private", OPERATOR)
        with open_store(self.path) as store:
            store.prune("U1", first, last, tombstone.make(private, **given | changed))

    def kept(self, number: int) -> ContextRecord:
        """A record as a tombstone keeps it."""
        before = b"" if number == 1 else self.log.records[number - 2][2]
        return ContextRecord(number, before, *self.log.records[number - 1][1:])

    def found(self, operator: bytes | None = public_of(OPERATOR)) -> list[tuple[int, str]]:
        """Event and kind of all findings."""
        return [(each.event, each.kind) for each in self.findings(operator)]

    def findings(self, operator: bytes | None = public_of(OPERATOR)) -> list[Finding]:
        """All findings."""
        keys = Keys()
        keys.put("U1", self.log.first_key)
        with open_store(self.path) as store:
            options = VerifyOptions(keys=keys, operator=operator, now_unix_ms=self.now_unix_ms)
            return list(verify(store, Summary(), options))


@pytest.fixture
def pruned(tmp_path: Path) -> PrunedLog:
    return PrunedLog(tmp_path / "log.sqlite")


def test_a_whole_shoe_of_cards_removed_by_the_operator_is_no_finding(pruned: PrunedLog) -> None:
    pruned.remove(1, pruned.loaded(2) - 1)
    assert pruned.found() == []


def test_a_signer_who_is_not_known_to_be_the_operator_is_found(pruned: PrunedLog) -> None:
    pruned.remove(1, pruned.loaded(2) - 1, private=THIEF)
    assert pruned.found() == pruned.found(operator=None) == [(1, "operator")]


def test_one_event_cannot_be_removed(pruned: PrunedLog) -> None:
    number = pruned.log.number_of("result")
    pruned.remove(number, number)
    assert (number, "tombstone") in pruned.found()


def test_one_round_cannot_be_removed(pruned: PrunedLog) -> None:
    pruned.remove(pruned.log.number_of("betting_open"), pruned.log.number_of("result"))
    assert (pruned.log.number_of("betting_open"), "tombstone") in pruned.found()


def test_a_shoe_of_cards_that_is_not_whole_cannot_be_removed(pruned: PrunedLog) -> None:
    pruned.remove(1, pruned.log.number_of("result"))
    assert (1, "tombstone") in pruned.found()


def test_a_shoe_of_cards_in_the_middle_cannot_be_removed(pruned: PrunedLog) -> None:
    pruned.remove(pruned.loaded(2), pruned.loaded(3) - 1, shoes=[RemovedShoe(2, 6, 5)])
    assert pruned.found() == [(pruned.loaded(2), "tombstone")]


def test_the_last_shoe_of_cards_cannot_be_removed(pruned: PrunedLog) -> None:
    last = len(pruned.log.records)
    pruned.remove(1, last, shoes=[RemovedShoe(shoe, 6, 9) for shoe in (1, 2, 3)])
    assert pruned.found() == [(0, "file"), (1, "tombstone")]


@pytest.mark.parametrize(
    "shoes",
    [
        [RemovedShoe(2, 6, 20)],
        [RemovedShoe(1, 6, 20), RemovedShoe(1, 6, 20)],
        [RemovedShoe(1, 6, 1_000_000)],
        [RemovedShoe(7, 6, 20)],
    ],
)
def test_other_shoes_of_cards_than_those_removed_are_found(
    pruned: PrunedLog, shoes: list[RemovedShoe]
) -> None:
    pruned.remove(1, pruned.loaded(2) - 1, shoes=shoes)
    assert pruned.found() == [(1, "tombstone")]


@pytest.mark.parametrize(("days", "found"), [(30, []), (31, [(1, "tombstone")])])
def test_the_minimum_that_was_in_force_is_held(
    pruned: PrunedLog, days: int, found: list[tuple[int, str]]
) -> None:
    with open_store(pruned.path) as store:
        retention.set_minimum(store, days, START_UNIX_MS, lower=False)
        retention.set_minimum(store, 9, START_UNIX_MS + 101 * DAY_MS, lower=True)  # afterwards
    pruned.remove(1, pruned.loaded(2) - 1)
    assert pruned.found() == found


def test_a_minimum_set_after_the_removal_does_not_matter(pruned: PrunedLog) -> None:
    pruned.remove(1, pruned.loaded(2) - 1)
    with open_store(pruned.path) as store:
        retention.set_minimum(store, 2000, START_UNIX_MS + 101 * DAY_MS, lower=False)
    assert pruned.found() == []


@pytest.mark.parametrize(("age_days", "found"), [(29, [(1, "tombstone")]), (31, [])])
def test_records_younger_than_the_tombstone_says_are_found(
    pruned: PrunedLog, age_days: int, found: list[tuple[int, str]]
) -> None:
    """The record that the tombstone keeps has its time."""
    removed = START_UNIX_MS + age_days * DAY_MS
    pruned.remove(1, pruned.loaded(2) - 1, removed_unix_ms=removed)
    assert pruned.found() == found


@pytest.mark.parametrize(
    ("removed_unix_ms", "said"),
    [
        (START_UNIX_MS + 101 * DAY_MS + 2 * HOUR_MS, "which is in the future"),
        (1 << 50, "which is in the future"),
        (START_UNIX_MS - 2 * HOUR_MS, "before event 1 of "),
        (0, "before event 1 of "),
    ],
)
def test_a_date_in_the_future_or_before_what_was_removed_is_found(
    pruned: PrunedLog, removed_unix_ms: int, said: str
) -> None:
    """A later date makes records old enough; an earlier one is before any minimum was set."""
    pruned.remove(1, pruned.loaded(2) - 1, removed_unix_ms=removed_unix_ms)
    (finding,) = pruned.findings()
    assert (finding.event, finding.kind) == (1, "tombstone") and said in finding.detail


def _forged(kept: ContextRecord, place: int, value: object) -> ContextRecord:
    values = cbor2.loads(kept.record)
    values[place] = value
    return replace(kept, record=cbor2.dumps(values, canonical=True))


OTHER_GAME = bytes(32)
KEPT: dict[str, tuple[Callable[[PrunedLog], list[ContextRecord]], str]] = {
    "another firmware": (
        lambda log: [_forged(log.kept(1), 8, "9.9.9"), log.kept(2), log.kept(3)],
        "the MAC of event 1, which it keeps, does not fit the chain",
    ),
    "another game": (
        lambda log: [log.kept(1), log.kept(2), _forged(log.kept(3), 8, OTHER_GAME)],
        "the MAC of event 3, which it keeps, does not fit the chain",
    ),
    "another time": (
        lambda log: [log.kept(1), _forged(log.kept(2), 4, START_UNIX_MS + 9), log.kept(3)],
        "the MAC of event 2, which it keeps, does not fit the chain",
    ),
    "a record without the MAC before it": (
        lambda log: [log.kept(1), log.kept(2), replace(log.kept(3), before=b"")],
        "the MAC of event 3, which it keeps, does not fit the chain",
    ),
    "no start": (lambda log: [log.kept(2), log.kept(3)], "it keeps no start of the unit"),
    "nothing": (lambda log: [], "it keeps no start of the unit"),
    "a start of another number": (
        lambda log: [_forged(log.kept(1), 2, 7), log.kept(2), log.kept(3)],
        "it keeps start 7, the record after it is of start 1",
    ),
    "two of a kind": (
        lambda log: [log.kept(1), log.kept(1), log.kept(2), log.kept(3)],
        "it keeps two records of the kind boot",
    ),
    "a card": (
        lambda log: [log.kept(1), log.kept(log.log.number_of("card"))],
        "that no tombstone keeps",
    ),
    "junk": (
        lambda log: [log.kept(1), ContextRecord(2, b"", b"junk", bytes(16))],
        "it keeps a record 2 that no tombstone keeps",
    ),
}


@pytest.mark.parametrize("what", KEPT)
def test_what_a_tombstone_keeps_is_what_was_there(pruned: PrunedLog, what: str) -> None:
    """The operator, who signs it, is not trusted with firmware, game and clock."""
    context, said = KEPT[what]
    pruned.remove(1, pruned.loaded(2) - 1, context=context(pruned))
    assert any(said in each.detail for each in pruned.findings() if each.kind == "tombstone")


def test_a_later_tombstone_keeps_what_the_one_before_it_kept(pruned: PrunedLog) -> None:
    pruned.remove(1, pruned.loaded(2) - 1)
    second = {"shoes": [RemovedShoe(2, 6, 20)], "context": [pruned.kept(1), pruned.kept(2)]}
    pruned.remove(pruned.loaded(2), pruned.loaded(3) - 1, **second)
    (finding,) = pruned.findings()
    assert finding.event == pruned.loaded(2) and finding.detail == (
        "it does not keep event 3 (game_loaded), as the tombstone before it did"
    )


def test_a_minimum_that_cannot_be_read_is_found(pruned: PrunedLog) -> None:
    with open_store(pruned.path) as store:
        store.change_fact("retention", lambda _: "[5")
    assert pruned.found() == [(0, "file")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"shoes": []},
        {"shoes": [RemovedShoe(0, 1, 1)]},
        {"shoes": [RemovedShoe(1 << 64, 1, 1)]},
        {"shoes": [RemovedShoe(1, -1, 1)]},
        {"last": 1 << 63},
        {"removed_unix_ms": -1},
        {"removed_unix_ms": 1 << 64},
        {"keep_days": -1},
    ],
)
def test_a_tombstone_that_no_log_can_have_is_not_usable(
    pruned: PrunedLog, changed: dict[str, Any]
) -> None:
    pruned.remove(1, pruned.loaded(2) - 1, **changed)
    with (
        open_store(pruned.path) as store,
        pytest.raises(TombstoneUnusable, match=r"wrong fields|over 64 bits"),
    ):
        Tombstone.parse(store.tombstones("U1")[0])
    assert pruned.found() == [(1, "tombstone")]
    done = run(pruned.path.parent, "retention", "--db", str(pruned.path))
    assert done.stdout == f"{pruned.path}: no minimum of days is set\n"


@pytest.mark.parametrize("column", ["first = 2", "last = 7", "tombstone = 'text'"])
def test_a_changed_row_of_the_table_is_found(pruned: PrunedLog, column: str) -> None:
    pruned.remove(1, pruned.loaded(2) - 1)
    with closing(sqlite3.connect(pruned.path)) as connection, connection:
        connection.execute(f"UPDATE tombstones SET {column}")
    assert (1, "tombstone") in pruned.found()
