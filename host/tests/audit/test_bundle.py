"""Bundles that are exported from a log of the firmware's dealing, and what adversaries do to
them."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from host.tests.support.chained import (
    BUILD,
    FIRMWARE,
    FIRST_KEY,
    GAME_SHA256,
    ChainedLog,
    chain_id,
    chained_mac,
    mac_key_of,
    secret_of,
)
from host.tests.support.commands import SHORT_DECK
from host.tests.support.helpers import new_log
from sabot.audit import bundle as bundles
from sabot.audit import bundle_file
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.bundle import BundleVerdict, verify_bundle
from sabot.audit.bundle_file import Bundle
from sabot.audit.checks.findings import Finding
from sabot.audit.excerpt import LEAD, collect
from sabot.audit.tombstone import ContextRecord
from sabot.errors import BundleUnusable, DatabaseUnusable, KeysUnusable
from sabot.keys import chain_keys, signing
from sabot.keys.chain_keys import Keys
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import open_store
from sabot_protocol import cards, enums
from sabot_protocol import events as shapes
from sabot_protocol.baccarat import document_of

_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_STRANGER = Ed25519PrivateKey.from_private_bytes(b"stranger" * 4)
_NOW = 1_800_000_000_000
MINI = document_of("mini")


class BundleSetup:
    """A log of three shoes of cards, its keys, and the file of a bundle."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ChainedLog().power_on().load_game().deal().wait(60_000).deal().deal()
        self.db, self.bundle, self.public = folder / "db", folder / "a.sabot", folder / "a.pub.pem"
        with new_log(self.db) as store:
            store.append("U1", self.log.stored())
        chain_keys.add(folder / "keys", "U1", FIRST_KEY)
        self.keys = Keys.load(folder / "keys")
        self.public.write_bytes(_pem_of(_OPERATOR))

    def collect(self, shoe: int = 2, *, revealed: bool = True, still_open: bool = False) -> Bundle:
        """Export a shoe of cards."""
        with open_store(self.db) as store:
            return collect(
                store,
                "U1",
                shoe,
                keys=self.keys if revealed else None,
                still_open=still_open,
                exported_unix_ms=_NOW,
            )

    def sql(self, statement: str, *given: object) -> None:
        """Change the database directly."""
        with closing(sqlite3.connect(self.db, isolation_level=None)) as connection:
            connection.execute(statement, given)

    def check(
        self,
        bundle: Bundle,
        *,
        own: bool = True,
        vouched: bool = True,
        by: Ed25519PrivateKey = _OPERATOR,
    ) -> BundleVerdict:
        """Sign a bundle and verify it, with or without the unit's own key and the operator's."""
        bundle_file.save(self.bundle, bundle, by)
        keys = self.keys if own else None
        return verify_bundle(self.bundle, keys, self.public if vouched else None)

    def found(self, bundle: Bundle, **given: Any) -> set[str]:
        """The kinds of the findings."""
        return {finding.kind for finding in self.check(bundle, **given).findings}


@pytest.fixture
def setup(tmp_path: Path) -> BundleSetup:
    return BundleSetup(tmp_path)


def _pem_of(private: Ed25519PrivateKey) -> bytes:
    public = private.public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_bundle_has_the_document_of_its_game_and_is_held_to_it(setup: BundleSetup) -> None:
    bundle = setup.collect()
    assert bundle.game_document == MINI
    assert setup.found(bundle) == set()
    assert setup.found(replace(bundle, game_document=MINI[:-1])) == {"game"}
    without = setup.check(replace(bundle, game_document=b""))
    assert [each.kind for each in without.findings] == ["game"]
    known = verify_bundle(setup.bundle, setup.keys, setup.public, Elsewhere([GAME_SHA256.hex()]))
    assert known.findings == []
    assert [note.kind for note in known.summary.notes] == ["known_elsewhere"]


def test_a_bundle_of_version_1_is_read(setup: BundleSetup) -> None:
    bundle_file.save(setup.bundle, setup.collect(), _OPERATOR)
    document = dict(signing.open_sealed(setup.bundle.read_bytes()).document)
    for name in ("game_document", "public_key"):
        del document[name]
    setup.bundle.write_bytes(signing.seal(_OPERATOR, document | {"version": 1}))
    known = Elsewhere([GAME_SHA256.hex()[:8]])
    verdict = verify_bundle(setup.bundle, setup.keys, setup.public, known)
    assert verdict.findings == [] and verdict.bundle.game_document == b""


def _without(bundle: Bundle, number: int) -> Bundle:
    kept = tuple(each for each in bundle.records if each[0] != number)
    return replace(bundle, records=kept)


def _with(bundle: Bundle, number: int, record: bytes) -> Bundle:
    changed = tuple((n, record if n == number else data, mac) for n, data, mac in bundle.records)
    return replace(bundle, records=changed)


def _edited(record: bytes, place: int, value: object) -> bytes:
    values = cbor2.loads(record)
    values[place] = value
    return cbor2.dumps(values, canonical=True)


def _event(bundle: Bundle, kind: str) -> int:
    return next(event.number for event in bundle.events() if event.kind == kind)


def _record(bundle: Bundle, number: int) -> bytes:
    return next(data for n, data, _ in bundle.records if n == number)


@pytest.mark.slow
def test_a_bundle_has_the_records_of_the_log_byte_for_byte(setup: BundleSetup) -> None:
    for shoe in (1, 2, 3):
        verdict = setup.check(setup.collect(shoe))
        assert list(verdict.findings) == []
        assert (verdict.vouched, verdict.own_keys) == (True, True)
        assert (verdict.summary.rounds, verdict.summary.units) == (6, 1)
        taken = verdict.bundle
        assert taken == setup.collect(shoe)
        loaded = setup.log.number_of("shoe_loaded", shoe)
        assert max(1, loaded - LEAD) <= taken.first <= loaded
        following = len(setup.log.records) if shoe == 3 else loaded_at(setup, shoe + 1)
        assert (taken.last, taken.final) == (following, shoe != 3)
        assert list(taken.records) == setup.log.records[taken.first - 1 : taken.last]
        assert shoe == 1 or taken.first > setup.log.number_of("checkpoint", shoe - 1)


def loaded_at(setup: BundleSetup, shoe: int) -> int:
    return setup.log.number_of("shoe_loaded", shoe)


def test_a_bundle_has_the_misdeal_after_the_end_of_the_shoe_of_cards(tmp_path: Path) -> None:
    """The supervisor voids the last round after `shoe_ended` and its checkpoint."""
    setup = BundleSetup(tmp_path)
    for shape, *values in (
        (shapes.KEY, True),
        (shapes.ROUND_VOID, enums.VOID_REASONS.index("misdeal")),
        (shapes.KEY, False),
    ):
        setup.log.record(shape, *values, shoe=3, round_=6)
    void = len(setup.log.records) - 1
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored())
    taken = setup.collect(3)
    assert void in {each.number for each in taken.events() if each.kind == "round_void"}
    assert not setup.check(taken).findings
    # One that was made before it, or whose end was cut off, says up to where it speaks.
    checkpoint = setup.log.number_of("checkpoint", 3)
    records = tuple(each for each in taken.records if each[0] <= checkpoint)
    cut = replace(taken, records=records, keys={})
    verdict = setup.check(replace(cut, keys={n: taken.keys[n] for n in cut.epochs()}))
    assert not verdict.findings and verdict.bundle.ended
    assert next(verdict.lines()) == (
        f"U1 shoe 3: events {taken.first} to {checkpoint}; it speaks up to event {checkpoint}: "
        "before the next shoe of cards a misdeal could still have voided the last round"
    )
    assert verdict.as_json()["final"] is False


def test_a_bundle_that_goes_on_to_the_next_shoe_of_cards_is_final(setup: BundleSetup) -> None:
    taken = setup.collect(2)
    assert taken.last == loaded_at(setup, 3) and taken.final
    verdict = setup.check(taken)
    assert not verdict.findings and verdict.as_json()["final"] is True
    assert next(verdict.lines()) == f"U1 shoe 2: events {taken.first} to {taken.last}"
    # Nothing can have been left out before it.
    checkpoint = setup.log.number_of("checkpoint", 2)
    without = tuple(each for each in taken.records if each[0] not in (checkpoint + 1,))
    assert "missing" in setup.found(replace(taken, records=without))


def test_a_long_pass_of_the_last_card_is_in_the_bundle(tmp_path: Path) -> None:
    setup = BundleSetup(tmp_path)
    number = setup.log.number_of("checkpoint", 3) + 1
    del setup.log.records[number - 1 :]  # those that a shoe records before its checkpoint
    for table in ("records", "events"):
        setup.sql(f"DELETE FROM {table} WHERE number >= ?", number)
    last_card = cards.number_of(SHORT_DECK.split()[-1])
    setup.log.record(shapes.LONG_PASS, last_card, 2000, round_=6)
    setup.log.record(shapes.LID, True)
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored()[number - 1 :])
    taken = setup.collect(3)
    assert taken.last == number + 1 and not setup.check(taken).findings
    assert setup.collect(2).last == loaded_at(setup, 3)


@pytest.mark.slow
def test_a_bundle_names_firmware_game_and_checkpoint(setup: BundleSetup) -> None:
    for shoe in (1, 3):
        taken = setup.collect(shoe)
        number = setup.log.number_of("checkpoint", shoe)
        assert (taken.facts.firmware, taken.facts.build) == (FIRMWARE, BUILD)
        assert (taken.facts.game, taken.facts.game_sha256) == ("mini", GAME_SHA256)
        mac = setup.log.records[number - 2][2]
        assert taken.facts.checkpoint == (number, number - 1, mac)
        assert taken.chain == chain_id(FIRST_KEY)
    assert setup.collect(1).context == ()
    assert [each.number for each in setup.collect(3).context] == [1, 2, 3]
    assert setup.collect(1).before == b""
    third = setup.collect(3)
    assert third.before == setup.log.records[third.first - 2][2]


def test_a_bundle_reveals_the_keys_of_its_epochs_only(setup: BundleSetup) -> None:
    taken = setup.collect(2)
    numbers = [1, 2, 3, *range(taken.first, taken.last + 1)]
    assert taken.keys == {n // 4: mac_key_of(FIRST_KEY, n // 4) for n in numbers}
    setup.check(taken)
    written = setup.bundle.read_bytes()
    last = len(setup.log.records) // 4
    for epoch in range(last + 2):
        assert secret_of(FIRST_KEY, epoch) not in written
        assert (mac_key_of(FIRST_KEY, epoch) in written) == (epoch in taken.keys)
    setup.check(setup.collect(2, revealed=False))
    written = setup.bundle.read_bytes()
    assert not any(mac_key_of(FIRST_KEY, epoch) in written for epoch in range(last + 2))


def test_without_the_units_key_the_bundles_own_keys_check_the_chain(setup: BundleSetup) -> None:
    verdict = setup.check(setup.collect(), own=False)
    assert (list(verdict.findings), verdict.own_keys) == ([], False)
    assert "keys in the bundle" in "\n".join(verdict.lines())


def test_a_chain_that_cannot_be_checked_is_a_finding(setup: BundleSetup) -> None:
    silent = setup.collect(revealed=False)
    assert silent.keys == {} and silent.findings == ()
    assert setup.found(silent, own=False) == {"no_key"}
    assert setup.found(silent, own=True) == set()


def test_an_unchecked_signer_is_a_finding(setup: BundleSetup) -> None:
    verdict = setup.check(setup.collect(), vouched=False)
    (finding,) = verdict.findings
    assert finding.kind == "signer" and "--operator" in finding.detail
    assert verdict.signer in finding.detail and not verdict.vouched
    assert signing.fingerprint(signing.public_of(_OPERATOR)) == verdict.signer
    assert "not checked against the operator's key" in "\n".join(verdict.lines())
    assert verdict.as_json()["ok"] is False


def test_a_bundle_that_another_key_signed_is_refused(setup: BundleSetup) -> None:
    with pytest.raises(BundleUnusable, match=r"signed by [0-9a-f]{16}, not by [0-9a-f]{16}"):
        setup.check(setup.collect(), by=_STRANGER)
    assert setup.found(setup.collect(), by=_STRANGER, vouched=False) == {"signer"}


def test_the_verifiers_keys_must_have_the_units_key(setup: BundleSetup) -> None:
    chain_keys.add(setup.folder / "others", "U2", FIRST_KEY)
    chain_keys.add(setup.folder / "others", "U1", bytes(32))
    bundle_file.save(setup.bundle, setup.collect(), _OPERATOR)
    with pytest.raises(KeysUnusable, match=r"U1: no key for the chain [0-9a-f]{32}"):
        verify_bundle(setup.bundle, Keys.load(setup.folder / "others"), setup.public)


Change = Callable[[Bundle], Bundle]


def _drop_card(bundle: Bundle) -> Bundle:
    return _without(bundle, _event(bundle, "card"))


def _change_card(bundle: Bundle) -> Bundle:
    number = _event(bundle, "card")
    return _with(bundle, number, _edited(_record(bundle, number), 7, 40))


def _cut_lead(bundle: Bundle) -> Bundle:
    return replace(bundle, records=bundle.records[1:])


def _cut_end(bundle: Bundle) -> Bundle:
    return replace(bundle, records=bundle.records[: bundle.facts.checkpoint[0] - bundle.first])


def _cut_middle(bundle: Bundle) -> Bundle:
    return replace(bundle, records=bundle.records[:20] + bundle.records[40:])


def _swap_mac(bundle: Bundle) -> Bundle:
    number, record, mac = bundle.records[5]
    changed = (number, record, bytes([mac[0] ^ 1]) + mac[1:])
    return replace(bundle, records=(*bundle.records[:5], changed, *bundle.records[6:]))


def _swap_before(bundle: Bundle) -> Bundle:
    return replace(bundle, before=bytes(16))


def _renumber(bundle: Bundle) -> Bundle:
    def moved(raw: tuple[int, bytes, bytes]) -> tuple[int, bytes, bytes]:
        return raw[0] + 4, _edited(raw[1], 1, raw[0] + 4), raw[2]

    return replace(bundle, records=tuple(map(moved, bundle.records)))


def _exchange_checkpoint(bundle: Bundle) -> Bundle:
    number = _event(bundle, "checkpoint")
    return _with(bundle, number, _edited(_record(bundle, number), 8, bytes(16)))


@pytest.mark.parametrize(
    "change",
    [
        _drop_card, _change_card, _cut_lead, _cut_end, _cut_middle, _swap_mac, _swap_before,
        _renumber, _exchange_checkpoint,
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [True, False])
def test_a_change_by_the_operator_is_found(setup: BundleSetup, change: Change, own: bool) -> None:
    assert setup.found(change(setup.collect()), own=own) - {"signer"}


def test_a_change_that_a_stranger_signs_is_found_without_the_operators_key(
    setup: BundleSetup,
) -> None:
    changed = _drop_card(setup.collect())
    found = setup.found(changed, own=False, by=_STRANGER, vouched=False)
    assert {"signer", "missing"} <= found


def test_a_replaced_key_is_found(setup: BundleSetup) -> None:
    taken = setup.collect()
    epoch = taken.first // 4 + 3
    replaced = replace(taken, keys={**taken.keys, epoch: mac_key_of(bytes(32), epoch)})
    assert setup.found(replaced, own=True) == {"keys"}
    assert setup.found(replaced, own=False) & {"chain", "changed"}
    everything = replace(taken, keys={n: mac_key_of(bytes(32), n) for n in taken.keys})
    assert setup.found(everything, own=False)


def test_missing_and_surplus_keys_are_found(setup: BundleSetup) -> None:
    taken = setup.collect()
    fewer = {epoch: key for epoch, key in taken.keys.items() if epoch != taken.first // 4 + 3}
    assert setup.found(replace(taken, keys=fewer), own=True) == {"keys"}
    assert setup.found(replace(taken, keys=fewer), own=False) == {"keys", "no_key"}
    later = max(taken.keys) + 1
    more = replace(taken, keys={**taken.keys, later: mac_key_of(FIRST_KEY, later)})
    assert setup.found(more, own=True) == {"keys"}


def test_a_whole_chain_under_another_first_key_is_found(setup: BundleSetup) -> None:
    other = ChainedLog(first_key=b"\7" * 32).power_on().load_game().deal()
    records = tuple(other.records)
    taken = setup.collect(1)
    forged = replace(
        taken,
        records=records,
        chain=chain_id(b"\7" * 32),
        keys={n // 4: mac_key_of(b"\7" * 32, n // 4) for n, _, _ in records},
        facts=bundles.facts_of(1, (), records),
    )
    assert setup.found(forged, own=False) == set()  # its signer vouches for its keys
    with pytest.raises(KeysUnusable, match="no key for the chain"):
        setup.check(forged, own=True)
    assert setup.found(replace(forged, chain=taken.chain), own=True) >= {"bundle"}


def test_the_keys_of_a_bundle_can_forge_it_but_not_its_signature(setup: BundleSetup) -> None:
    taken = setup.collect()
    number = _event(taken, "card")
    forged = _with(taken, number, _edited(_record(taken, number), 10, 998))
    mac, records = taken.before, []
    for n, record, _ in forged.records:
        mac = chained_mac(taken.keys[n // 4], mac, record)
        records.append((n, record, mac))
    forged = replace(forged, records=tuple(records), facts=replace(taken.facts, checkpoint=None))
    forged = replace(forged, facts=bundles.facts_of(2, forged.context, forged.records))
    assert setup.found(forged, by=_STRANGER, vouched=False) >= {"signer"}
    with pytest.raises(BundleUnusable, match="not by"):
        setup.check(forged, by=_STRANGER)
    after = setup.log.records[taken.last]
    assert after[2] != chained_mac(mac_key_of(FIRST_KEY, after[0] // 4), mac, after[1])


@pytest.mark.parametrize(
    "changed",
    [
        {"firmware": "9.9.9"}, {"firmware": None}, {"build": bytes(32)}, {"build": None},
        {"game": "midi"}, {"game_sha256": bytes(32)}, {"checkpoint": None},
        {"checkpoint": (100, 99, bytes(16))},
    ],
    ids=str,
)  # fmt: skip
def test_the_facts_of_a_bundle_must_be_those_of_its_records(
    setup: BundleSetup, changed: dict[str, Any]
) -> None:
    taken = setup.collect()
    assert setup.found(replace(taken, facts=replace(taken.facts, **changed))) == {"bundle"}


def test_the_context_must_be_of_the_unit(setup: BundleSetup) -> None:
    taken = setup.collect()
    boot, *others = taken.context
    record = _edited(boot.record, 8, "6.6.6")
    assert parse_event(record).fields["firmware"] == "6.6.6"
    context = (replace(boot, record=record), *others)
    facts = bundles.facts_of(2, context, taken.records)
    assert facts.firmware == "6.6.6"
    for own in (True, False):
        assert setup.found(replace(taken, context=context, facts=facts), own=own) == {"chain"}
    facts = bundles.facts_of(2, tuple(others), taken.records)
    keys = {n: taken.keys[n] for n in bundle_file.epochs_of(others, taken.records)}
    rest = replace(taken, context=tuple(others), facts=facts, keys=keys)
    assert setup.found(rest) <= {"bundle"}
    assert "firmware unknown" in "\n".join(setup.check(rest).lines())


def test_the_start_in_the_context_must_be_that_of_the_records(tmp_path: Path) -> None:
    setup = BundleSetup(tmp_path)
    setup.log.power_on().deal()
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored())
    taken = setup.collect(4)
    boot = next(event for event in taken.events() if event.kind == "boot")
    assert boot.boot == 2
    late = replace(taken, records=tuple(r for r in taken.records if r[0] > boot.number))
    late = replace(late, before=setup.log.records[boot.number - 1][2])
    keys = {n: mac_key_of(FIRST_KEY, n) for n in late.epochs()}
    late = replace(late, keys=keys, facts=bundles.facts_of(4, late.context, late.records))
    assert setup.found(late) == {"bundle"}
    assert any("start 1" in each.detail for each in setup.check(late).findings)


def test_the_context_must_come_before_the_records_in_order(setup: BundleSetup) -> None:
    taken = setup.collect()
    number, record, mac = taken.records[3]
    inside = ContextRecord(number, taken.records[2][2], record, mac)
    assert "bundle" in setup.found(replace(taken, context=(*taken.context, inside)))
    assert "bundle" in setup.found(replace(taken, context=taken.context[::-1]))


def test_a_bundle_of_another_unit_or_shoe_is_found(setup: BundleSetup) -> None:
    taken = setup.collect()
    assert "bundle" in setup.found(replace(taken, shoe=1))
    with pytest.raises(KeysUnusable, match="U7: no key"):
        setup.check(replace(taken, unit="U7"))
    assert "bundle" in setup.found(replace(taken, ended=True, records=taken.records[:30]))


def test_findings_of_the_exporter_are_passed_on(setup: BundleSetup) -> None:
    taken = setup.collect()
    finding = Finding("U1", taken.first, "chain", "seen by the exporter")
    verdict = setup.check(replace(taken, findings=(finding,)))
    assert list(verdict.findings) == [finding]


@pytest.mark.slow
def test_a_disputed_shoe_of_cards_is_exported_with_its_findings(setup: BundleSetup) -> None:
    number = setup.log.number_of("card", 2)
    record = _edited(setup.log.records[number - 1][1], 7, 40)
    setup.sql("UPDATE records SET record = ? WHERE number = ?", record, number)
    taken = setup.collect(2)
    assert number in {finding.event for finding in taken.findings}
    assert _record(taken, number) == record
    silent = setup.collect(2, revealed=False)
    assert "no_key" not in {finding.kind for finding in silent.findings}
    verdict = setup.check(taken)
    assert set(taken.findings) <= set(verdict.findings)
    assert not setup.collect(1).findings and not setup.collect(3).findings


def test_damaged_records_are_exported_as_they_are(setup: BundleSetup) -> None:
    setup.sql("UPDATE records SET record = x'00' WHERE number = 120")
    taken = setup.collect(2)
    assert _record(taken, 120) == b"\0"
    assert "damaged" in setup.found(taken)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET record = 'text' WHERE number = 120",
        "UPDATE records SET mac = 'text' WHERE number = 120",
        "UPDATE records SET number = 'x' WHERE number = 120",
        "UPDATE records SET number = 1 << 40 WHERE number = 120",
    ],
)
def test_records_that_no_bundle_can_have_are_not_exported(
    setup: BundleSetup, statement: str
) -> None:
    """Else the file could not be read again, or keys were made for a number without end."""
    setup.sql("DELETE FROM records WHERE number > 130")
    setup.sql(statement)
    with pytest.raises(BundleUnusable, match="`sabot verify` reports"):
        bundle_file.signed(setup.collect(2, revealed=False, still_open=True), _OPERATOR)


def test_a_shoe_of_cards_that_has_not_ended_is_exported_on_request(tmp_path: Path) -> None:
    setup = BundleSetup(tmp_path)
    setup.log.deal(("AS", "2C", "9S", "KC"))
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored())
    with pytest.raises(BundleUnusable, match=r"U1 shoe 4: has not ended .* --open"):
        setup.collect(4)
    taken = setup.collect(4, still_open=True)
    assert not taken.ended and taken.last == len(setup.log.records)
    verdict = setup.check(taken)
    assert not verdict.findings
    assert "before its end" in next(verdict.lines())


def test_an_unknown_shoe_of_cards_or_unit_is_refused(setup: BundleSetup) -> None:
    with pytest.raises(DatabaseUnusable, match=r"no shoe of cards 9 of U1, it has 1 to 3"):
        setup.collect(9)
    with open_store(setup.db) as store, pytest.raises(DatabaseUnusable, match="has no unit U2"):
        collect(store, "U2", 1, keys=None, still_open=False, exported_unix_ms=0)


def test_an_export_with_keys_needs_the_units_key(setup: BundleSetup) -> None:
    setup.keys = Keys()
    with pytest.raises(KeysUnusable, match="U1: no key for the chain"):
        setup.collect()


def test_lost_events_are_exported_with_their_gap(tmp_path: Path) -> None:
    setup = BundleSetup(tmp_path)
    setup.log.deal()
    lost = range(setup.log.number_of("result", 4) + 2, setup.log.number_of("result", 4) + 9)
    mac = setup.log.records[lost[-1] - 1][2]
    reason = 2  # journal_damaged
    setup.log.record(shapes.KEY, True)
    setup.log.record(shapes.GAP, lost[0], lost[-1], reason, mac, shoe=0)
    with new_log(setup.db) as store:
        store.append("U1", [r for r in setup.log.stored() if r.event.number not in lost])
    taken = setup.collect(4)
    assert taken.last == len(setup.log.records)
    found = {finding.kind for finding in setup.check(taken).findings}
    assert "chain" not in found and "missing" not in found


def _small(setup: BundleSetup) -> bytes:
    """The bytes of a bundle with very few records."""
    setup.log.deal(("AS",))
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored())
    bundle_file.save(setup.bundle, setup.collect(4, still_open=True), _OPERATOR)
    return setup.bundle.read_bytes()


@pytest.mark.slow
def test_every_changed_bit_of_a_bundle_is_found(setup: BundleSetup) -> None:
    data = _small(setup)
    assert not verify_bundle(setup.bundle, setup.keys, setup.public).findings
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            with pytest.raises(BundleUnusable):
                bundle_file.parse(bytes(changed), setup.bundle)


def test_every_cut_off_or_inserted_byte_is_found(setup: BundleSetup, rng: random.Random) -> None:
    data = _small(setup)
    for cut in range(len(data)):
        with pytest.raises(BundleUnusable):
            bundle_file.parse(data[:cut], setup.bundle)
    for _ in range(300):
        at = rng.randrange(len(data) + 1)
        longer = data[:at] + rng.randbytes(rng.randrange(1, 5)) + data[at:]
        with pytest.raises(BundleUnusable):
            bundle_file.parse(longer, setup.bundle)


def test_the_error_says_why_a_file_is_not_a_bundle(setup: BundleSetup) -> None:
    data = _small(setup)
    newer = signing.seal(_OPERATOR, {"format": "sabot-bundle", "version": 4, "anything": 1})
    odd = signing.seal(_OPERATOR, {"format": "sabot-bundle", "version": 1, "anything": 1})
    other = signing.seal(_OPERATOR, {"format": "sabot-tombstone", "version": 1})
    half = bytearray(data)
    half[len(data) // 2] ^= 0x40
    for content, reason in (
        (b"", "not a Sabot bundle"),
        (b"Dear sir or madam,\n" * 99, "not a Sabot bundle"),
        (b"\x82" * 99, "not a Sabot bundle"),
        (setup.db.read_bytes(), "a database, not a bundle; of a log: sabot verify --db "),
        (other, "not a Sabot bundle"),
        (data[: len(data) // 2], "damaged or cut off"),
        (data[:-1], "damaged or cut off"),
        (data + b"\0", "damaged or cut off"),
        (bytes(half), "damaged"),
        (newer, "of version 4, this sabot reads 1 to 3; update sabot"),
        (odd, "its fields are not those of a bundle"),
        (b"\0" * (bundle_file.MAX_SIZE + 1), "over 16,777,216 bytes"),
    ):
        setup.bundle.write_bytes(content)
        with pytest.raises(BundleUnusable) as caught:
            bundle_file.read(setup.bundle)
        assert str(caught.value).startswith(f"{setup.bundle}: ") and reason in str(caught.value)
    with pytest.raises(BundleUnusable, match=r"cannot be read \(No such file"):
        bundle_file.read(setup.folder / "none")
    with pytest.raises(BundleUnusable, match=r"cannot be read \(Is a directory"):
        bundle_file.read(setup.folder)


_ODD = (
    ("unit", (None, 1, b"U1", [])),
    ("shoe", (None, "1", 1.0, True)),
    ("chain", (None, "", bytes(15), bytes(17))),
    ("before", (None, "", bytes(15), bytes(17))),
    ("context", (None, {}, [1], [[1, b"", b""]], [[0, b"", b"", b""]], [[1, "", b"", b""]])),
    ("records", (None, [], [[]], [[0, b"", b""]], [[1, b""]], [[1, b"", ""]], [[1.0, b"", b""]])),
    ("records", ([[True, b"", b""]], [[1 << 40, b"", b""]], [[2, b"", b""], [1, b"", b""]])),
    ("records", ([[1, b"", b""], [1, b"", b""]], {"1": b""})),
    ("keys", (None, {}, [[1, bytes(31)]], [[-1, bytes(32)]], [[1, bytes(32)], [1, bytes(32)]])),
    ("firmware", (1, b"")),
    ("build", (1, "")),
    ("game", (1, b"")),
    ("game_sha256", (1, "")),
    ("checkpoint", (1, [], [1, 2], [1, 2, "x"], [1, 2, b"", b""])),
    ("ended", (None, 0, 1)),
    ("findings", (None, {}, [1], [["1", "x", "y"]], [[1, "x"]])),
    ("exported_unix_ms", (None, "1", 1.5, False)),
)


def test_a_signed_document_with_wrong_fields_is_refused(setup: BundleSetup) -> None:
    document = cbor2.loads(cbor2.loads(_small(setup))[0])
    changed = [{**document, name: odd} for name, odds in _ODD for odd in odds]
    changed += [{**document, "more": 1}]
    for name in document.keys() - {"public_key"}:  # signing adds it again
        changed.append({key: value for key, value in document.items() if key != name})
    for each in changed:
        setup.bundle.write_bytes(signing.seal(_OPERATOR, each))
        with pytest.raises(BundleUnusable):
            bundle_file.read(setup.bundle)


def test_random_documents_are_refused(setup: BundleSetup, rng: random.Random) -> None:
    for _ in range(2000):
        with pytest.raises(BundleUnusable):
            bundle_file.parse(b"\x82" + rng.randbytes(rng.randrange(60)), setup.bundle)


def test_a_bundle_is_written_completely_or_not_at_all(
    setup: BundleSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.bundle.write_bytes(b"the old one")
    for error in (KeyboardInterrupt(), OSError(28, "No space left on device")):

        def fails(descriptor: int, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr("os.fsync", fails)
        with pytest.raises((KeyboardInterrupt, BundleUnusable)):
            bundle_file.save(setup.bundle, setup.collect(), _OPERATOR)
        assert setup.bundle.read_bytes() == b"the old one"
    assert not [path for path in setup.folder.iterdir() if path.name.startswith(".")]


def test_a_bundle_that_is_too_large_is_not_written(
    setup: BundleSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = setup.collect()
    monkeypatch.setattr(bundle_file, "MAX_SIZE", 2000)
    with pytest.raises(BundleUnusable, match=r"U1 shoe 2: not exported: it makes [\d,]+ bytes"):
        bundle_file.save(setup.bundle, taken, _OPERATOR)
    assert not setup.bundle.exists()
    monkeypatch.setattr("sabot.audit.excerpt.MAX_SIZE", 2000)
    with pytest.raises(BundleUnusable, match="too large for a bundle"):
        setup.collect()


def test_a_clock_that_was_set_back_is_noted(tmp_path: Path) -> None:
    setup = BundleSetup(tmp_path)
    assert setup.log.unix_ms is not None
    setup.log.deal(("AS",))
    setup.log.unix_ms -= 3_600_000
    setup.log.record(shapes.CLOCK_SET, setup.log.unix_ms + 3_600_000)
    with new_log(setup.db) as store:
        store.append("U1", setup.log.stored())
    verdict = setup.check(setup.collect(4, still_open=True))
    assert not verdict.findings
    assert any("the clock was set back by 36" in line for line in verdict.lines())
    assert [note["kind"] for note in verdict.as_json()["notes"]] == ["clock"]


def test_records_keep_arriving_while_a_shoe_of_cards_is_exported(setup: BundleSetup) -> None:
    with new_log(setup.db) as store:
        before = setup.collect(3)
        setup.log.deal()
        store.append("U1", [Record(r.event, r.data, r.mac) for r in setup.log.stored()])
        after = setup.collect(3)
        assert after.records[: len(before.records)] == before.records
        assert (before.final, after.final) == (False, True) and before.ended
        assert setup.collect(4).ended
