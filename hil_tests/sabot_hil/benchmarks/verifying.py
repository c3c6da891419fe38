"""How fast the host verifies a log of a million records or more, dealt by the firmware's code."""

import hmac
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cbor2

from host.tests.support.helpers import FirmwareLog, shuffled_names
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.keys.chain_keys import Keys
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import open_store
from sabot_hil.kit.runner import BUILD
from sabot_protocol import baccarat
from sabot_protocol.chain import EPOCH_RECORDS, chain_id
from sabot_protocol.events import MAC_SIZE

_RECORDS = 1_000_000
_DECKS = 20  # different shuffles, dealt in turn; a restart after each time through all
_UNITS_AT_ONCE = 2
_RUNS = 3  # the fastest counts: other programs may be running on this machine


@dataclass(frozen=True, slots=True)
class Verified:
    """The figures for a log of `records` records, with everything derived from it."""

    records: int
    log_bytes: int
    per_s: float
    """Records per second of one core's time: keys, chain, derived tables and rules."""
    bare_per_s: float
    """The same for a bare loop that only reads, decodes and compares MACs."""
    unkeyed_per_s: float
    """The same without a key, so without the chain."""
    at_once_per_s: float
    """Records per second of elapsed time, with two units in parallel processes."""


def measure_verifying(records: int = _RECORDS) -> Verified:
    """Make a log of `records` records in build/, verify it, and delete it."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        one, two = Path(folder) / "one.sqlite", Path(folder) / "two.sqlite"
        keys, keys_two = Keys(), Keys()
        made = deal_long_log(one, ["U1"], records, keys)
        deal_long_log(
            two, [f"V{n}" for n in range(_UNITS_AT_ONCE)], records // _UNITS_AT_ONCE, keys_two
        )
        begin_s = time.perf_counter()
        findings, summary = verify_log(two, VerifyOptions(keys=keys_two))
        at_once_s = time.perf_counter() - begin_s
        assert not findings, findings[:3]
        return Verified(
            made,
            one.stat().st_size,
            made / min(_cpu_s(one, VerifyOptions(keys=keys)) for _ in range(_RUNS)),
            made / min(_bare_cpu_s(one, keys) for _ in range(_RUNS)),
            made / min(_cpu_s(one, VerifyOptions()) for _ in range(_RUNS)),
            summary.events / at_once_s,
        )


def deal_long_log(path: Path, units: list[str], records: int, keys: Keys) -> int:
    """Deal shoes of cards until there are enough records; return how many a unit has. `keys` gets
    the keys of the units."""
    decks = [shuffled_names(seed) for seed in range(_DECKS)]
    with open_store(path, create=True) as store:
        store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
        for unit in units:
            first_key = unit.encode().ljust(32, b"\1")
            keys.put(unit, first_key)
            log = FirmwareLog(first_key)
            while log.last_number < records:
                for deck in decks:
                    if log.last_number < records:
                        log.deal_shoe(deck)
                log.power_on()
                batch = [Record(parse_event(each), bytes(each), each.mac) for each in log.records]
                log.records.clear()
                store.append(unit, batch)
        store.derive()
    return log.last_number


def _cpu_s(path: Path, against: VerifyOptions) -> float:
    with open_store(path) as store:
        begin_s = time.process_time()
        findings = list(verify(store, Summary(), against))
        cpu_s = time.process_time() - begin_s
    assert {each.kind for each in findings} <= {"no_key"}, findings[:3]
    return cpu_s


def _bare_cpu_s(path: Path, keys: Keys) -> float:
    """The time of the least work for each record, with the standard library's HMAC."""
    (unit,) = keys.units()[:1]
    (chain,) = keys.chains(unit)
    ratchet, before, key = Ratchet(keys.first_key(unit, chain) or b""), chain, b""
    assert before == chain_id(keys.first_key(unit, chain) or b"")
    with open_store(path) as store:
        begin_s = time.process_time()
        for (number, record, mac), _ in zip(store.raw(unit), store.derived(unit), strict=True):
            if number % EPOCH_RECORDS == 0 or not key:
                key = ratchet.mac_key(number // EPOCH_RECORDS)
            assert hmac.digest(key, before + record, "sha256")[:MAC_SIZE] == mac
            assert cbor2.loads(record)[1] == number
            before = mac
        return time.process_time() - begin_s


if __name__ == "__main__":
    print(measure_verifying(int(sys.argv[1]) if len(sys.argv) > 1 else _RECORDS))
