"""What a site's log notes of its centre, and what `sabot prune` keeps therefore."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import DAY_MS, START_UNIX_MS, ChainedLog
from host.tests.support.commands import run
from host.tests.support.helpers import new_log
from sabot.audit import prune
from sabot.audit.prune import PrunePlan
from sabot.keys.signing import make_key_pair
from sabot.log.store import Store, open_store
from sabot.receipts import kept
from sabot.receipts.receipt import NUMBERS, make

_NOTARY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
_NOW = START_UNIX_MS


@pytest.fixture
def log() -> ChainedLog:
    """Three shoes of cards, long ago."""
    return ChainedLog(unix_ms=START_UNIX_MS - 400 * DAY_MS).power_on().deal().deal().deal()


@pytest.fixture
def path(tmp_path: Path, log: ChainedLog) -> Path:
    path = tmp_path / "site.sqlite"
    with new_log(path) as store:
        store.append("U1", log.stored())
        store.derive()
    return path


def receipt(log: ChainedLog, number: int, unit: str = "U1", mac: bytes | None = None) -> bytes:
    """A receipt up to an event of the log; with `mac` that of another history."""
    return make(
        _NOTARY,
        unit=unit,
        number=number,
        mac=mac or log.records[number - 1][2],
        records=number,
        unix_ms=_NOW,
        checked=NUMBERS,
    )


def planned(store: Store) -> PrunePlan:
    """What would be removed two days after the log received it."""
    in_two_days = (store.last_received("U1") or 0) + 2 * DAY_MS
    return prune.plan(store, "U1", keep_days=1, now_unix_ms=in_two_days, keys=None)


def removed_shoes(store: Store) -> list[int]:
    return [each.shoe for each in planned(store).going]


def test_a_log_that_was_never_forwarded_waits_for_no_receipt(path: Path) -> None:
    with open_store(path) as store:
        assert kept.covered(store, "U1") is None
        assert removed_shoes(store) == [1, 2] and not planned(store).unreceipted


def test_only_what_a_receipt_covers_is_pruned_of_a_forwarded_log(
    path: Path, log: ChainedLog
) -> None:
    second = log.number_of("shoe_loaded", 2)
    third = log.number_of("shoe_loaded", 3)
    with open_store(path) as store:
        kept.note_forwarding(store, "postgresql://centre/sabot")
        assert kept.forwarded_to(store) == "postgresql://centre/sabot"
        assert removed_shoes(store) == []
        plan = planned(store)
        assert plan.unreceipted and not plan.stuck and "no receipt" in plan.why
        kept.keep(store, "U1", [(second - 2, receipt(log, second - 2))])
        assert removed_shoes(store) == []  # one event of the first shoe is not covered
        kept.keep(store, "U1", [(second - 1, receipt(log, second - 1))])
        assert removed_shoes(store) == [1] and planned(store).unreceipted
        kept.keep(store, "U1", [(third - 1, receipt(log, third - 1))])
        assert removed_shoes(store) == [1, 2] and not planned(store).unreceipted


def test_receipts_that_do_not_fit_the_log_cover_nothing(path: Path, log: ChainedLog) -> None:
    last = len(log.records)
    with open_store(path) as store:
        kept.note_forwarding(store, "centre")
        for wrong in (
            receipt(log, last, unit="U2"),
            receipt(log, last - 1),
            receipt(log, last, mac=bytes(16)),
            receipt(log, last)[:-1],
            b"",
        ):
            with store.writing() as connection:
                connection.execute("DELETE FROM receipts")
            store.keep_receipts("U1", [(last, wrong)])
            assert kept.covered(store, "U1") == 0
        with store.writing() as connection:
            connection.execute("DELETE FROM receipts")
        store.keep_receipts("U1", [(last, receipt(log, last))])
        assert kept.covered(store, "U1") == last


def test_after_a_centre_was_set_back_only_its_new_receipts_count(
    path: Path, log: ChainedLog
) -> None:
    last = len(log.records)
    with open_store(path) as store:
        kept.note_forwarding(store, "centre")
        kept.keep(store, "U1", [(last, receipt(log, last))])
        assert kept.covered(store, "U1") == last
        kept.note_set_back(store, "U1", 40)
        kept.note_set_back(store, "U1", 60)  # found again while it is refilled
        assert kept.covered(store, "U1") == 40
        kept.keep(store, "U1", [(50, receipt(log, 50))])
        assert kept.covered(store, "U1") == 50
        kept.keep(store, "U1", [(55, receipt(log, 55)), (last, receipt(log, last))])
        assert kept.covered(store, "U1") == last and kept.set_back(store) == {}


@pytest.mark.parametrize("text", ["", "x", "[]", '{"U1": "x"}', "7", "[" * 100_000])
def test_a_fact_that_is_damaged_says_nothing(path: Path, text: str) -> None:
    with open_store(path) as store:
        store.change_fact("set_back", lambda before: text)
        assert kept.set_back(store) == {}


@pytest.mark.slow
def test_the_command_says_why_it_keeps_them(path: Path, log: ChainedLog, tmp_path: Path) -> None:
    make_key_pair(tmp_path / "operator")
    with open_store(path) as store:
        kept.note_forwarding(store, "centre")
        with store.writing() as connection:
            connection.execute("UPDATE records SET received_unix_ms = 0")
    arguments = ("--db", str(path), "--key", "operator.pem", "--keep-days", "1")
    done = run(tmp_path, "prune", *arguments, code=23)
    assert "nothing to remove; shoe 1 stays: the centre has no receipt" in done.stdout
    line = done.stderr.splitlines()[-1]
    assert line.startswith("sabot: U1: old shoes are kept until the centre has signed for them")
    with open_store(path) as store:
        assert store.count() == len(log.records)
