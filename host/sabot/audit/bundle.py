"""Bundles: one shoe of cards out of a log, signed by the operator, to be judged by itself.

A bundle is sealed (signing.py) and holds the records of a shoe of cards as the shoe wrote them,
from shortly before `shoe_loaded` to its `checkpoint`, each with its MAC; the last start, game and
clock before them; what the exporter found wrong with them; and, where the exporter had the unit's
key, the MAC keys of just the epochs that these records stand in.

Those keys let anybody check the audit chain within the bundle, and nobody derive another epoch's
key. But a MAC key makes MACs as well as it checks them: from then on the MACs of these epochs
prove nothing against who has the bundle, or made it, and what counts is the operator's signature.
An operator binds himself more who never had the unit's first key: he exports without keys, and who
has it verifies. An epoch is four events, so the last key that is revealed is also that of up to
three events behind the bundle.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Any

from sabot.audit import chain
from sabot.audit.bundle_file import Bundle, Facts, read, readable
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.tombstone import Standing
from sabot.audit.verify import verify_unit
from sabot.errors import BundleUnusable, KeysUnusable
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.events import Boot, Checkpoint, Event, GameLoaded, Result, ShoeLoaded
from sabot_protocol.chain import EPOCH_RECORDS


@dataclass(frozen=True, slots=True)
class BundleVerdict:
    """What became of checking a bundle."""

    path: Path
    bundle: Bundle
    findings: Sequence[Finding]
    summary: Summary
    signer: str
    """Fingerprint of the key that signed it."""
    vouched: bool
    """Whether that is the key that the verifier knows as the operator's."""
    own_keys: bool
    """Whether the audit chain was checked with the verifier's own key of the unit."""

    def lines(self) -> Iterator[str]:
        """What the bundle is, and what is to be known of it, for people; not the findings."""
        bundle, facts = self.bundle, self.bundle.facts
        what = f"{bundle.unit} shoe {bundle.shoe}: events {bundle.first} to {bundle.last}"
        yield what if bundle.ended else f"{what}, exported before its end"
        yield _told(facts)
        if self.vouched:
            yield f"signed by {self.signer}, the operator's key"
        else:
            yield f"signed by {self.signer}, for which nobody vouches"
        if self.own_keys:
            yield "audit chain checked with the unit's own key"
        elif bundle.keys:
            yield "audit chain checked with the keys in the bundle, for which its signer vouches"
        else:
            yield "audit chain not checked: the bundle has no keys, and none was given"
        for note in self.summary.notes:
            yield f"event {note.event}: note: {note.kind}: {note.detail}"

    def as_json(self) -> dict[str, Any]:
        """The verdict as `sabot verify --json` prints it."""
        bundle, facts = self.bundle, self.bundle.facts
        return {
            "ok": not self.findings,
            "unit": bundle.unit,
            "shoe": bundle.shoe,
            "first_event": bundle.first,
            "last_event": bundle.last,
            "ended": bundle.ended,
            "firmware": facts.firmware,
            "build": None if facts.build is None else facts.build.hex(),
            "game": facts.game,
            "game_sha256": None if facts.game_sha256 is None else facts.game_sha256.hex(),
            "signer": self.signer,
            "vouched": self.vouched,
            "own_keys": self.own_keys,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": [note.as_json() for note in self.summary.notes],
        }


def verify_bundle(path: Path, keys: Keys | None, operator: Path | None) -> BundleVerdict:
    """Check a bundle with nothing but the file: signature, numbers, chain, rules and facts.

    `operator` names the public key that must have signed it; without it who signed it is a
    finding of its own (`signer`). `keys` are the verifier's: with them the chain is checked by
    the unit's own key, and so are the keys in the bundle. Raises BundleUnusable for what is no
    bundle, is damaged or newer, or signed by another than `operator`; KeysUnusable where `keys`
    or `operator` are of no use.
    """
    bundle, public = read(path)
    signer = signing.fingerprint(public)
    findings: list[Finding] = []
    if operator is None:
        detail = f"signed by {signer}, for which nobody vouches; name the operator's key"
        findings.append(Finding(bundle.unit, 0, "signer", f"{detail} with --operator"))
    elif (wanted := signing.load_public(operator)) != public:
        raise BundleUnusable(
            f"{path}: signed by {signer}, not by {signing.fingerprint(wanted)} of {operator}; have "
            "it exported again by the operator"
        )
    own = None if keys is None else unit_keys(keys, bundle.unit, bundle.chain, bundle.epochs())
    summary = Summary(units=1)
    findings += check_bundle(bundle, own, summary)
    # Who exported it may have found what cannot be seen from here.
    findings += [told for told in bundle.findings if told not in findings]
    return BundleVerdict(
        path, bundle, findings, summary, signer, operator is not None, own is not None
    )


def check_bundle(
    bundle: Bundle, own: Mapping[int, bytes] | None, summary: Summary
) -> Iterator[Finding]:
    """Every finding in a bundle, but for who signed it. `own` are the unit's MAC keys, by epoch,
    where the verifier has them.
    """
    yield from _wrong_facts(bundle)
    macs: chain.MacKeys | None = None
    if own is not None or bundle.keys:
        yield from _wrong_keys(bundle, own)
        known = bundle.keys if own is None else own
        if known.keys() >= set(bundle.epochs()):
            macs = chain.RevealedKeys(known, bundle.chain or None)
    if macs is not None:
        yield from _wrong_context(bundle, macs)
    before = bundle.before or (bundle.chain if bundle.first == 1 else b"")
    yield from verify_unit(
        bundle.unit,
        bundle.records,
        summary,
        macs=macs,
        first=bundle.first,
        before=before or None,
    )


def unit_keys(keys: Keys, unit: str, name: bytes, epochs: Sequence[int]) -> dict[int, bytes]:
    """The MAC keys of these epochs, ascending, of the chain `name`. Raises KeysUnusable where
    `keys` do not have it.
    """
    ratchet = ratchet_of(keys, unit, name)
    return {epoch: ratchet.mac_key(epoch) for epoch in epochs}


def ratchet_of(keys: Keys, unit: str, name: bytes) -> chain.Ratchet:
    """The keys of a unit's chain `name`; where that is empty, as no record has it, of its only one.

    Raises KeysUnusable where `keys` do not have it.
    """
    if not name and len(keys.chains(unit)) == 1:
        (name,) = keys.chains(unit)
    first_key = keys.first_key(unit, name)
    if first_key is None:
        what = f"the chain {name.hex()}" if name else "a chain that no record names"
        raise KeysUnusable(
            f"{unit}: no key for {what}; name the file that has it with --keys, or leave it out"
        )
    return chain.Ratchet(first_key)


def facts_of(
    shoe: int, context: Sequence[Standing], records: Sequence[tuple[int, bytes, bytes]]
) -> Facts:
    """What the shoe of cards `shoe` was dealt by."""
    boot: Boot | None = None
    game: GameLoaded | None = None
    loaded: ShoeLoaded | None = None
    result: Result | None = None
    checkpoint: Checkpoint | None = None
    for event in [*_standing(context), *readable(record for _, record, _ in records)]:
        if isinstance(event, Boot) and not loaded:  # the last one before it
            boot = event
        elif isinstance(event, GameLoaded) and not loaded:
            game = event
        elif event.shoe != shoe:
            continue
        elif isinstance(event, ShoeLoaded):
            loaded = loaded or event
        elif isinstance(event, Result):
            result = result or event
        elif isinstance(event, Checkpoint):
            checkpoint = checkpoint or event
    return Facts(
        firmware=boot.firmware if boot else None,
        build=boot.build if boot else None,
        game=loaded.game if loaded else None,
        game_sha256=result.game if result else game.sha256 if game else None,
        checkpoint=_checkpoint(checkpoint),
    )


def chain_of(context: Sequence[Standing], records: Sequence[tuple[int, bytes, bytes]]) -> bytes:
    """The name of the audit chain by the starts among these records; empty where there is none."""
    for event in [*_standing(context), *readable(record for _, record, _ in records)]:
        if isinstance(event, Boot):
            return event.chain
    return b""


def _wrong_facts(bundle: Bundle) -> Iterator[Finding]:
    """Where a bundle says of itself what its records do not."""
    for detail in _unlike_records(bundle):
        yield Finding(bundle.unit, bundle.first, "bundle", detail)
    events = bundle.events()
    kinds = {event.kind for event in events if event.shoe == bundle.shoe}
    if "shoe_loaded" not in kinds:
        detail = f"no shoe of cards {bundle.shoe} is loaded in the bundle's records"
        yield Finding(bundle.unit, bundle.first, "bundle", detail)
    if bundle.ended and "shoe_ended" not in kinds:
        detail = f"shoe of cards {bundle.shoe} does not end in the bundle's records"
        yield Finding(bundle.unit, bundle.last, "bundle", detail)
    if "shoe_ended" in kinds and "checkpoint" not in kinds:
        detail = f"no checkpoint behind the end of shoe of cards {bundle.shoe}"
        yield Finding(bundle.unit, bundle.last, "checkpoint", detail)


def _unlike_records(bundle: Bundle) -> Iterator[str]:
    told, right = bundle.facts, facts_of(bundle.shoe, bundle.context, bundle.records)
    if told != right:
        yield f"the bundle says {_told(told)}; its records say {_told(right)}"
    numbers = [each.number for each in bundle.context]
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] >= bundle.first):
        yield "what is said to come before the records does not"
    boots = [event for event in _standing(bundle.context) if isinstance(event, Boot)]
    events = bundle.events()
    if boots and events and events[0].kind != "boot" and events[0].boot != boots[-1].boot:
        yield f"start {boots[-1].boot} is said to come before the records of {events[0].boot}"
    for event in [*boots, *(event for event in events if isinstance(event, Boot))]:
        if event.chain != bundle.chain:
            name = event.chain.hex()
            yield f"the bundle's chain is {bundle.chain.hex()}, that of its records {name}"
            return


def _wrong_keys(bundle: Bundle, own: Mapping[int, bytes] | None) -> Iterator[Finding]:
    """Keys in the bundle that are not the unit's, are missing, or are none of these records'."""
    needed = set(bundle.epochs())
    told = {
        "not the unit's": [
            epoch
            for epoch, key in bundle.keys.items()
            if own is not None and epoch in own and not compare_digest(own[epoch], key)
        ],
        "not in it": sorted(needed - bundle.keys.keys()) if bundle.keys else [],
        "of none of its records": sorted(bundle.keys.keys() - needed),
    }
    for what, epochs in told.items():
        if epochs:
            others = f" and {len(epochs) - 1} more" if len(epochs) > 1 else ""
            detail = f"the bundle's key of epoch {epochs[0]}{others}: {what}"
            yield Finding(bundle.unit, max(1, epochs[0] * EPOCH_RECORDS), "keys", detail)


def _wrong_context(bundle: Bundle, macs: chain.MacKeys) -> Iterator[Finding]:
    for each in bundle.context:
        before = each.before or (bundle.chain if each.number == 1 else b"")
        key = macs.mac_key(chain.epoch_of(each.number))
        if not before:
            detail = "nothing says which MAC it stands behind: its own cannot be checked"
        elif not compare_digest(chain.mac(key, before, each.record), each.mac):
            detail = "its MAC is not that of the chain"
        else:
            continue
        yield Finding(bundle.unit, each.number, "chain", detail)


def _checkpoint(event: Checkpoint | None) -> tuple[int, int, bytes] | None:
    if event is None:
        return None
    return event.number, event.records, event.mac


def _standing(context: Sequence[Standing]) -> list[Event]:
    return list(readable(each.record for each in context))


def _told(facts: Facts) -> str:
    game = f"game {_or(facts.game)}, document {_hex(facts.game_sha256)}"
    return f"firmware {_or(facts.firmware)}, build {_hex(facts.build)}, {game}, {_at_end(facts)}"


def _at_end(facts: Facts) -> str:
    if facts.checkpoint is None:
        return "no checkpoint"
    number, records, mac = facts.checkpoint
    return f"checkpoint {number} over {records} records up to MAC {mac.hex()}"


def _hex(value: bytes | None) -> str:
    return value.hex() if value else "unknown"


def _or(value: str | None) -> str:
    return "unknown" if value is None else value
