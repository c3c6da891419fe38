"""Long logs: constant memory, units in parallel processes, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.tests.support.helpers import (
    TEST_KEY,
    FirmwareLog,
    mac_of,
    new_log,
    parsed,
    shuffled_names,
    stored,
)
from sabot.audit.chain import Ratchet
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.findings import Finding, Note, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.keys import chain_keys
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

UNITS = ("U1", "U2", "U3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with log.sqlite of three units, one of them damaged, and sabot.keys."""
    with new_log(tmp_path / "log.sqlite") as store:
        for at, unit in enumerate(UNITS):
            log = FirmwareLog(bytes([at]) * 32)
            log.deal_shoe(shuffled_names(at, cut_from_end=300 + at))
            records = [data for data in log.records if unit != "U2" or parsed(data).number != 50]
            store.append(unit, stored(records))
            chain_keys.add(tmp_path / "sabot.keys", unit, bytes([at]) * 32)
    return tmp_path


def test_units_in_parallel_give_the_same_as_one_after_the_other(folder: Path) -> None:
    options = VerifyOptions(keys=chain_keys.Keys.load(folder / "sabot.keys"))
    summary, progress = Summary(), []
    with open_store(folder / "log.sqlite") as store:
        findings = list(verify(store, summary, options))
    assert verify_log(folder / "log.sqlite", options, progress.append) == (findings, summary)
    assert [(each.unit, each.event, each.kind) for each in findings] == [
        ("U2", 50, "missing"), ("U2", 51, "incomplete")
    ]  # fmt: skip
    assert progress == sorted(progress) and progress[-1] == summary.events


def endless_records(log: FirmwareLog) -> Iterator[RawRecord]:
    """Yield records of one shoe of cards after the other, without keeping them."""
    deck = shuffled_names(7, cut_from_end=250)
    while True:
        log.deal_shoe(deck)
        for data in log.records:
            yield parsed(bytes(data)).number, bytes(data), mac_of(data)
        log.records.clear()


def peak_bytes(count: int, spoilt: int) -> tuple[int, list[Finding], list[Note]]:
    """The peak memory of the verifier for `count` records, every `spoilt`-th of them changed; its
    findings and notes.
    """
    rows = [row for row, _ in zip(endless_records(FirmwareLog()), range(count), strict=False)]
    if spoilt:
        rows = [(n, d, m[::-1]) if n % spoilt == 0 else (n, d, m) for n, d, m in rows]
    summary = Summary()
    # This allocates what is made once.
    UnitChecks("U1", macs=Ratchet(TEST_KEY)).verify(rows[:2000], summary)
    tracemalloc.start()
    found = UnitChecks("U1", macs=Ratchet(TEST_KEY)).verify(rows, summary)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, found, summary.notes


@pytest.mark.parametrize("spoilt", [0, 3])
def test_a_longer_log_takes_no_more_memory(spoilt: int) -> None:
    """Not even with so many faults that further findings are only counted."""
    short, found, _ = peak_bytes(4_000 if not spoilt else 8_000, spoilt)
    long, more, _ = peak_bytes(20_000, spoilt)
    assert long < short + 100_000
    assert (found, more) == ([], []) if not spoilt else len(more) == len(found)


def test_beyond_the_limit_findings_are_only_counted() -> None:
    _, found, _ = peak_bytes(9_000, 3)
    changed = [each for each in found if each.kind == "changed"]
    assert len(changed) == 1001
    assert changed[-1].detail == "the last of 2000 more of this kind"
    assert changed[-1].event == 9000


def test_a_forged_number_far_away_costs_no_time(folder: Path) -> None:
    """Keys are derived one after the other; a forged number must not cost hours of it."""
    log = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=350))
    rows = [(parsed(bytes(data)).number, bytes(data), mac_of(data)) for data in log.records]
    far = (1 << 62, rows[-1][1], rows[-1][2])
    found = UnitChecks("U1", macs=Ratchet(TEST_KEY)).verify([*rows, far], Summary())
    assert [(each.event, each.kind) for each in found] == [(len(rows) + 1, "changed")]


SLOWLY = """
import sys, time
from pathlib import Path
from sabot import command
from sabot.audit.checks import chain_checks
from sabot.notable import incident_search
whole = chain_checks.values_of
def slowly(records):
    Path("begun").touch()
    time.sleep(0.2)
    return whole(records)
chain_checks.values_of = incident_search.values_of = slowly
command.main()
"""
"""The command, which takes a fifth of a second longer for each thousand records."""


@pytest.fixture(scope="module")
def long_log() -> FirmwareLog:
    """A log that SLOWLY goes through for several seconds."""
    log = FirmwareLog()
    while log.last_number < 20_000:
        log.deal_shoe(shuffled_names(log.last_number, cut_from_end=20))
    return log


@pytest.mark.parametrize("command", ["verify", "incidents"])
@pytest.mark.parametrize("units", [1, 3])
def test_ctrl_c_ends_with_its_code_and_leaves_no_process_behind(
    tmp_path: Path, units: int, command: str, long_log: FirmwareLog
) -> None:
    """One unit is gone through in the process itself, several in child processes."""
    with new_log(tmp_path / "log.sqlite") as store:
        for unit in range(units):
            store.append(f"U{unit}", stored(long_log.records))
    child = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, command, "--db", "log.sqlite"],
        cwd=tmp_path, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not (tmp_path / "begun").exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=200)
    assert child.returncode == 130 and out == "" and "Traceback" not in err, err
    with pytest.raises(ProcessLookupError):
        for _ in range(1000):
            os.killpg(child.pid, 0)
            time.sleep(0.1)
